"""Does the answer depend on a factor? Design points compared with one another, in words."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from craits_sim.sequential import Differences, sequence_interval
from craits_sim.stats import (
    Floats,
    Verdict,
    equal_means,
    equivalence_p_value,
    games_to_detect,
    games_to_show_equivalence,
    holm,
    interval_text,
    mean_interval,
    number_text,
    p_value_text,
    round_up,
    simultaneous_level,
    verdict,
)
from craits_sim.studies.base import level_text, verdict_text
from craits_sim.studies.stopping import verdict_columns
from craits_sim.text import levels_text

if TYPE_CHECKING:
    import pandas as pd


BOTS_MATTER = "So the answer depends on the bots: it holds for games among those that it was measured with."


class Answer(NamedTuple):
    """What a study asks for at one design point: a number that means the same at every other."""

    name: str
    estimate: float
    se: float
    unit: str
    """The unit of the number and its margin, with the space before it where there is one."""
    signed: bool


def dependence(summary: "pd.DataFrame", answers: Sequence[Sequence[Answer]]) -> Iterator[str]:
    """Say for each factor whether the answers depend on it: a sentence with a verdict against the margin.

    A factor's levels are compared by their means over the levels of the other factors, and design points as if they
    played independently, which is cautious (`equal_means`). Where a study asks for several numbers, such as one a
    position, those that every design point has are compared, tests adjusted by Holm, and the most different is named.

    Parameters
    ----------
    summary
        With the largest difference that does not matter in ``attrs["margin"]``.
    answers
        The answers at each design point, in the order of `craits_sim.plots.parts`.
    """
    from craits_sim.plots import factor_columns

    factors = factor_columns(summary)
    points = summary[factors].drop_duplicates().to_dict("records")
    by_name = [{answer.name: answer for answer in point} for point in answers]
    names = [name for name in by_name[0] if all(name in point for point in by_name)]
    for factor in factors:
        levels = list(dict.fromkeys(point[factor] for point in points))
        if len(levels) < 2:
            continue
        members = [[k for k, point in enumerate(points) if point[factor] == level] for level in levels]
        # Rows are answers, columns are levels.
        table = [[_mean([by_name[k][name] for k in of_level]) for of_level in members] for name in names]
        averaged = " (averaged over the other factors)" * (len(factors) > 1)
        row = summary.iloc[0]
        sequence = "sequence" in set(summary["ci_kind"])
        decision, shown = _compared(
            factor, levels, table, summary.attrs["margin"], row["ci_level"], int(row["n"]), sequence
        )
        matters = factor == "bots" and (shown or bots_matter(summary))
        yield f"Does it depend on {factor}{averaged}? {decision}{f' {BOTS_MATTER}' * matters}"


def _mean(answers: Sequence[Answer]) -> Answer:
    """Average the answers of design points that are taken as independent."""
    count = len(answers)
    return answers[0]._replace(
        estimate=sum(answer.estimate for answer in answers) / count,
        se=float(np.sqrt(sum(answer.se**2 for answer in answers))) / count,
    )


def _compared(
    factor: str,
    levels: Sequence[object],
    table: Sequence[Sequence[Answer]],
    margin: float,
    level: float,
    games: int,
    sequence: bool,
) -> tuple[str, bool]:
    """Compare the levels of a factor; ``table`` has a row for each answer and a column for each level.

    Gives the sentence, and whether it finds a difference that was not shown to be negligible.

    Parameters
    ----------
    sequence
        Whether the run ended because of what it found, so that confidence sequences of all differences, which hold
        together, take the place of tests and intervals.
    """
    pairs = list(combinations(range(len(levels)), 2))
    differences = np.array([[row[b].estimate - row[a].estimate for a, b in pairs] for row in table])
    errors = np.array([[np.hypot(row[a].se, row[b].se) for a, b in pairs] for row in table])

    most, pair = map(int, np.unravel_index(np.argmax(np.abs(differences)), differences.shape))
    named, (lower, higher) = table[most], pairs[pair]
    if named[lower].estimate > named[higher].estimate:
        lower, higher = higher, lower
    estimate, se = abs(float(differences[most, pair])), float(errors[most, pair])
    if sequence:
        all_pairs = Differences(differences.ravel(), errors.ravel(), games, margin)
        columns = verdict_columns(all_pairs, level, all_pairs.count)
        low, high = map(float, sequence_interval(estimate, se, games, level, all_pairs.count))
    else:
        columns = _tested(table, differences, errors, margin, level, games)
        low, high = map(float, mean_interval(estimate, se, games, simultaneous_level(level, differences.size)))
    judged = columns | {"margin": margin, "ci_low": low, "ci_high": high}
    unit, signed = named[0].unit, named[0].signed
    sides = " and ".join(
        f"{number_text(named[k].estimate, se, signed)}{unit} with {levels_text({factor: levels[k]})}"
        for k in (lower, higher)
    )
    decision = verdict_text(judged, unit, "difference")
    text = (
        f"{decision[0].upper()}{decision[1:]}, {p_value_text(judged['p_value'])}: {named[0].name} differs "
        f"most, {sides}, by {number_text(estimate, se)}{unit} ({level_text(level)} simultaneous interval "
        f"{interval_text(low, high, se)})."
    )
    return text, judged["verdict"] == Verdict.ADVANTAGE


def bots_matter(summary: "pd.DataFrame") -> bool:
    """Tell whether verdicts depend on the bots, of a summary whose design varies them.

    They do where of rows that differ in nothing but the bots one shows a difference and another that it is negligible,
    or where their intervals do not meet, with estimates farther apart than the margin.
    """
    from craits_sim.plots import factor_columns

    factors = factor_columns(summary)
    if "bots" not in factors or "verdict" not in summary:
        return False
    judged = summary[summary["verdict"].notna()]
    alike = [name for name in (*factors, "estimand") if name != "bots"]
    for _, rows in judged.groupby(alike, sort=False, dropna=False):
        small = rows["verdict"].isin([str(Verdict.NEGLIGIBLE), str(Verdict.REAL_BUT_NEGLIGIBLE)])
        if small.any() and (~small & (rows["verdict"] != str(Verdict.INCONCLUSIVE))).any():
            return True
        apart = rows["ci_low"].max() > rows["ci_high"].min()
        if apart and np.ptp(rows["estimate"]) > rows["margin"].min():
            return True
    return False


def _tested(
    table: Sequence[Sequence[Answer]], differences: Floats, errors: Floats, margin: float, level: float, games: int
) -> dict[str, Any]:
    """Test after a fixed number of games whether the levels differ, and whether all of them lie within the margin."""
    tests = [equal_means([cell.estimate for cell in row], [cell.se for cell in row]) for row in table]
    adjusted = np.nan_to_num(holm([test.p_value for test in tests]), nan=1)
    clearest = int(np.argmin(adjusted))
    p_value = float(adjusted[clearest])
    p_equivalence = float(np.max(equivalence_p_value(differences, errors, margin)))
    needed = min(
        games_to_detect(tests[clearest].statistic, tests[clearest].df, games, level),
        games_to_show_equivalence(differences, errors, games, margin, level),
    )
    return {
        "p_value": p_value,
        "verdict": verdict(p_value, p_equivalence, level),
        "games_needed": round_up(needed),
    }
