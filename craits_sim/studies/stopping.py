"""When a study has played enough, and what its table says then (`craits_sim.sequential` has the statistics)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING

import numpy as np

from craits_sim.sequential import (
    games_to_decide,
    is_decided,
    sequence_interval,
    sequence_p_value,
    sequence_verdict,
)
from craits_sim.stats import Interval, Moments, Verdict, counted, holm, round_up

if TYPE_CHECKING:
    from craits_sim.design import Experiment
    from craits_sim.studies.base import Ints, Row, Study


class StoppingRule:
    """Decides at each look whether a run has played enough, and remembers where and why it ended."""

    def __init__(self, study: "Study", experiment: "Experiment") -> None:
        self._study, self._experiment = study, experiment
        self._reason = ""
        self.games = experiment.games

    def __call__(self, games: int, sums: "Mapping[str, Ints]") -> bool:
        """Look at the sums of the first ``games`` games; say whether they are enough."""
        self.games = games
        self._reason = reason_to_stop(self._study, sums, self._experiment)
        return bool(self._reason)

    @property
    def sentence(self) -> str:
        """Where the run ended and why, in words."""
        reason = self._reason or "these are the most that were allowed, and what was asked for is not reached"
        text = f"Stopped after {counted(self.games, 'game')}: {reason}."
        if self._experiment.until_decided:
            text += (
                f" The intervals are those of a {100 * self._experiment.level:g}% confidence sequence, which hold "
                "wherever one stops."
            )
        return text


def reason_to_stop(study: "Study", sums: "Mapping[str, Ints]", experiment: "Experiment") -> str:
    """Say why an experiment that looks needs no more games; nothing where it needs them."""
    if experiment.precision is not None:
        name, half_width = study.headline(sums, experiment)
        if half_width <= experiment.precision:
            return f"the interval is narrow enough ({name}: ± {half_width:.3g}, at most {experiment.precision:g})"
        return ""
    margin = study.margin if experiment.margin is None else experiment.margin
    intervals = (_interval(differences, experiment.level) for differences in study.differences(sums))
    if all(is_decided(interval, margin) for interval in intervals):
        return f"the verdict against the margin ({margin:g}, in {study.margin_unit}) is certain"
    return ""


def in_sequence(rows: "Sequence[Row]", differences: Moments, margin: float, level: float) -> "Iterator[Row]":
    """Turn the rows of one design point into those of a run that ended because its verdict was certain.

    Intervals, the verdict and the p-values of differences from zero become those of confidence sequences; p-values are
    adjusted by Holm for all rows of an estimand, and other ones left out. Shares of rare outcomes and quantiles keep
    the intervals of a fixed number of games.

    Parameters
    ----------
    differences
        What the row with a verdict judges: K differences from zero, in its unit.
    """
    of_estimand = Counter(row["estimand"] for row in rows)
    adjusted = _adjusted_p_values(rows, level)
    for number, row in enumerate(rows):
        # Not "se > 0": dividing a sum of squares may leave a last bit of what never varies.
        if row["ci_kind"] not in ("pointwise", "simultaneous") or not row["se"] > 1e-9:
            yield row
            continue
        together = of_estimand[row["estimand"]] if row["ci_kind"] == "simultaneous" else 1
        if "verdict" in row:
            together = len(differences.mean)
        low, high = sequence_interval(row["estimate"], row["se"], row["n"], level, together)
        changed: Row = {"ci_low": float(low), "ci_high": float(high), "ci_kind": "sequence"}
        if "p_value" in row:
            changed |= {"p_value": _p_value(row, level), "p_adjusted": adjusted[number]}
        if "verdict" in row:
            changed |= _verdict(differences, margin, level)
        yield row | changed


def _adjusted_p_values(rows: "Sequence[Row]", level: float) -> dict[int, float]:
    """Adjust the p-values of each estimand; by the number of the row."""
    adjusted: dict[int, float] = {}
    for estimand in {row["estimand"] for row in rows}:
        numbers = [k for k, row in enumerate(rows) if row["estimand"] == estimand and "p_value" in row]
        adjusted |= zip(numbers, map(float, holm([_p_value(rows[k], level) for k in numbers])), strict=True)
    return adjusted


def _p_value(row: "Row", level: float) -> float:
    if row["reference"] != 0:
        return nan
    return float(sequence_p_value(row["estimate"], row["se"], row["n"], level))


def _verdict(differences: Moments, margin: float, level: float) -> "Row":
    decision = sequence_verdict(_interval(differences, level), margin)
    together = len(differences.mean)
    p_values = sequence_p_value(differences.mean, differences.se, differences.games, level, together)
    p_value = min(together * float(np.nanmin(p_values)), 1.0)
    needed = games_to_decide(differences, margin, level)
    return {
        "statistic": None,
        "df": None,
        "p_value": p_value,
        "p_adjusted": p_value,
        "verdict": str(decision),
        "games_needed": round_up(needed) if decision == Verdict.INCONCLUSIVE else None,
    }


def _interval(differences: Moments, level: float) -> Interval:
    return sequence_interval(differences.mean, differences.se, differences.games, level, len(differences.mean))
