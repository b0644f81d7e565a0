"""When a study has played enough, and what its table says then (`craits_sim.sequential` has the statistics)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import nan
from typing import TYPE_CHECKING

from craits_sim.sequential import (
    Differences,
    Judged,
    games_to_decide,
    is_decided,
    sequence_interval,
    sequence_p_value,
    sequence_verdict,
)
from craits_sim.stats import Verdict, counted, holm, round_up

if TYPE_CHECKING:
    from craits_sim.design import Experiment
    from craits_sim.studies.base import Ints, Row, Study


class StoppingRule:
    """Decides at each look whether a run has played enough, and remembers where and why it ended."""

    def __init__(self, study: "Study", experiment: "Experiment") -> None:
        self._study, self._experiment = study, experiment
        self._reason = self._missing = ""
        self.games = experiment.games

    def __call__(self, games: int, sums: "Mapping[str, Ints]") -> bool:
        """Look at the sums of the first ``games`` games; say whether they are enough."""
        self.games = games
        self._reason, self._missing = look(self._study, sums, self._experiment)
        return bool(self._reason)

    @property
    def sentence(self) -> str:
        """Where the run ended and why, in words."""
        reason = self._reason or f"these are the most that were allowed, and {self._missing}"
        text = f"Stopped after {counted(self.games, 'game')}: {reason}."
        if self._experiment.until_decided:
            text += (
                f" The intervals are those of a {100 * self._experiment.level:g}% confidence sequence, which hold "
                "wherever one stops."
            )
        return text


def look(study: "Study", sums: "Mapping[str, Ints]", experiment: "Experiment") -> tuple[str, str]:
    """Say why an experiment that looks needs no more games, or else what is missing; the other text is empty."""
    if experiment.precision is not None:
        name, half_width = study.headline(sums, experiment)
        if half_width <= experiment.precision:
            return f"the interval is narrow enough ({name}: ± {half_width:.3g}, at most {experiment.precision:g})", ""
        return "", f"the interval is not narrow enough ({name}: ± {half_width:.3g})"
    judged = study.judged(sums, experiment)
    together = sequences_of(judged)
    undecided = sum(not is_decided(one.interval(experiment.level, together), one.margin) for one in judged)
    if undecided:
        which = "the verdict" if len(judged) == 1 else f"{undecided} of {len(judged)} verdicts"
        return "", f"{which} {'is' if undecided == 1 else 'are'} not certain"
    return f"{'the verdict' if len(judged) == 1 else f'each of {len(judged)} verdicts'} is certain", ""


def sequences_of(judged: Sequence[Judged]) -> int:
    """Give the number of sequences that all verdicts of a run rest on, and that must hold together."""
    return sum(one.count for one in judged)


def in_sequence(rows: "Sequence[Row]", judged: Judged, level: float, together: int) -> "Iterator[Row]":
    """Turn the rows of one design point into those of a run that ended because its verdicts were certain.

    Intervals, the verdict and the p-values of differences from zero become those of confidence sequences. The sequences
    of the rows with a verdict hold together, at all design points (Bonferroni); those of another estimand as their rows
    say, and their p-values are adjusted by Holm for all rows of it. Other p-values are left out. Shares of rare
    outcomes without a verdict, and quantiles, keep the intervals of a fixed number of games.

    Parameters
    ----------
    judged
        What the row with a verdict judges.
    together
        The number of sequences that all verdicts of the run rest on.
    """
    of_estimand = Counter(row["estimand"] for row in rows)
    adjusted = _adjusted_p_values(rows, level)
    for number, row in enumerate(rows):
        if "verdict" in row:
            yield row | _verdict_row(row, judged, level, together)
            continue
        # Not "se > 0": dividing a sum of squares may leave a last bit of what never varies.
        if row["ci_kind"] not in ("pointwise", "simultaneous", "clustered") or not row["se"] > 1e-9:
            yield row
            continue
        simultaneous = of_estimand[row["estimand"]] if row["ci_kind"] == "simultaneous" else 1
        low, high = sequence_interval(row["estimate"], row["se"], row["n"], level, simultaneous)
        changed: Row = {"ci_low": float(low), "ci_high": float(high), "ci_kind": "sequence"}
        if "p_value" in row:
            changed |= {"p_value": _p_value(row, level), "p_adjusted": adjusted[number]}
        yield row | changed


def _verdict_row(row: "Row", judged: Judged, level: float, together: int) -> "Row":
    low, high = judged.interval(level, together)
    changed: Row = {
        "ci_low": float(low[judged.farthest]),
        "ci_high": float(high[judged.farthest]),
        "ci_kind": "sequence",
        **verdict_columns(judged, level, together),
    }
    return changed | {name: None for name in ("statistic", "df") if name in row}


def verdict_columns(judged: Judged, level: float, together: int) -> "Row":
    """Give the columns of a verdict of a run that ended because its verdicts were certain."""
    decision = sequence_verdict(judged.interval(level, together), judged.margin)
    needed = games_to_decide(judged, level, together) if decision == Verdict.INCONCLUSIVE else None
    columns: Row = {"verdict": str(decision), "games_needed": None if needed is None else round_up(needed)}
    if isinstance(judged, Differences):
        p_value = judged.p_value(level, together)
        columns |= {"p_value": p_value, "p_adjusted": min(p_value * together / judged.count, 1.0)}
    return columns


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
