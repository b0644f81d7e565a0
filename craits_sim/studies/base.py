"""What a study is: exact sums from batches, and from the sums a table, a chart and a few plain sentences.

A study never sees all games at once. `Study.tally` reduces a chunk of them to whole numbers that add, so that the
result does not depend on chunks or threads; everything with a fraction or an interval happens once, in
`Study.summarise`.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from math import sqrt
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.ranges import MARGIN, Real
from craits_sim.results import Batch
from craits_sim.sequential import Judged
from craits_sim.stats import (
    Interval,
    Moments,
    Verdict,
    clopper_pearson,
    counted,
    difference_p_value,
    equivalence_p_value,
    games_to_detect,
    games_to_show_equivalence,
    holm,
    interval_text,
    mean_interval,
    number_text,
    round_up,
    simultaneous_level,
    verdict,
    wald_equal_shares,
)
from craits_sim.studies.stopping import in_sequence, sequences_of

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules
    from craits_sim.studies.factors import Answer

Ints = NDArray[np.int64]
Sums = dict[str, Ints]
Row = dict[str, Any]
Points = Sequence[tuple[str, "pd.DataFrame"]]
"""The design points of a summary, each with its label."""

MOST_SIDE_BY_SIDE = 6

_FLOAT32_EXACT = 2**24
_FLOAT64_EXACT = 2**53
_INT64_EXACT = 2**63

COLUMNS = {
    "estimand": "str",
    "bot": "str",
    "against": "str",
    "rank": "str",
    "ability": "str",
    "position": "Int64",
    "offset": "Int64",
    "round": "Int64",
    "deal_size": "Int64",
    "size": "Int64",
    "quantile": "float64",
    "unit": "str",
    "estimate": "float64",
    "se": "float64",
    "ci_low": "float64",
    "ci_high": "float64",
    "ci_level": "float64",
    "ci_kind": "str",
    "n": "Int64",
    "reference": "float64",
    "margin": "float64",
    "statistic": "float64",
    "df": "Int64",
    "p_value": "float64",
    "p_adjusted": "float64",
    "verdict": "str",
    "games_needed": "Int64",
    "minutes": "float64",
}
"""The columns of a summary after those of the design, and their types; a study leaves out those it has no use for."""


class Option(NamedTuple):
    """A number that a study lets the user set, as ``--seconds-per-turn``."""

    name: str
    default: float
    help: str


class Study(ABC):
    """A question, and how games answer it."""

    name: ClassVar[str]
    question: ClassVar[str]
    margin: ClassVar[float]
    """The largest difference that nobody would care about, unless the user says another."""
    margin_unit: ClassVar[str]
    most_margin: ClassVar[float] = MARGIN.high
    """What a margin in this unit is always below: 100 where it is one of shares in percent."""
    finding: ClassVar[str] = str(Verdict.ADVANTAGE)
    """What its verdict calls a difference that is real and not shown to be negligible."""
    options: ClassVar[tuple[Option, ...]] = ()
    default_games: ClassVar[int]
    default_bots: ClassVar[str] = "random"
    bots_meaning: ClassVar[str] = ""
    """What the option ``--bots`` of its command takes, for the help, where that is not the bots of a table."""
    examples: ClassVar[tuple[str, ...]] = ("--games 1e6", "--vary 'players=[2, 3, 4, 5]' --name by-players")
    """Options of its command, for the help."""
    takes_readings: ClassVar[bool] = False
    """Whether its command has the option ``--readings``."""
    details: ClassVar[bool] = False
    """Whether the study needs the details of a batch: choices, the sizes of cranks, and who pays them."""

    @classmethod
    def margins(cls) -> Real:
        """Give the margins that the study takes, with their unit."""
        return Real(MARGIN.low, cls.most_margin, unit=cls.margin_unit)

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        """Expand the design of an experiment; most studies take every combination of the levels.

        Raises
        ------
        DesignError
            If the study cannot answer its question with it, or it has more than ``max_points`` design points.
        """
        from craits_sim.design import design_points

        return design_points(experiment, max_points)

    def completed(self, experiment: "Experiment") -> "Experiment":
        """Add what the study plays when the user names nothing; most studies add nothing."""
        return experiment

    def with_readings(self, experiment: "Experiment") -> "Experiment":
        """Add what ``--readings`` stands for to the variants of an experiment."""
        raise NotImplementedError

    no_verdict: ClassVar[str] = ""
    """Why there is no verdict that a run could wait for, in words that follow "the study"; empty where there is."""

    @abstractmethod
    def judged(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Sequence[Judged]:
        """Give what each verdict judges; nothing where the study states none."""

    def margin_sentence(self, experiment: "Experiment") -> str:
        """Say for the reader of a report what the margin is."""
        margin = self.margin if experiment.margin is None else experiment.margin
        return f"The margin ({margin:g}, in {self.margin_unit}) is the largest difference that does not matter."

    @abstractmethod
    def tally(self, batches: Sequence[Batch]) -> Sums:
        """Reduce a chunk of games to sums.

        Parameters
        ----------
        batches
            One batch for each design point, of the same game indices.

        Returns
        -------
        dict
            Arrays of int64 by ``"INDEX.QUANTITY"``, INDEX being the number of the design point. Their shapes do not
            depend on the games, so that the sums of chunks add key by key.
        """

    @abstractmethod
    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        """Make the table: a row for each design point and estimand, the columns of the design first, then `COLUMNS`.

        The caption of the chart is in ``attrs["caption"]``.
        """

    @abstractmethod
    def plot(self, summary: "pd.DataFrame") -> "Figure":
        """Draw the chart of a summary."""

    @abstractmethod
    def conclude(self, summary: "pd.DataFrame") -> str:
        """Say in plain sentences what the summary shows: the numbers, the margin and the verdict."""

    @abstractmethod
    def headline(self, sums: Mapping[str, Ints], experiment: "Experiment") -> tuple[str, float]:
        """Name the estimand that progress shows, and give the half-width of its interval, the widest of several."""

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        """Give the rows that a terminal shows; all of them, unless a study has too many."""
        return summary


class PointStudy(Study):
    """A study that tallies each design point by itself, and whose table has the rows of one after the other's."""

    def tally_point(self, batch: Batch) -> Sums:
        """Reduce the batch of one design point; ``games``, shape (1,), is among the sums."""
        raise NotImplementedError(f"the study {self.name} plays several tables at each design point")

    @abstractmethod
    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        """Give the rows of one design point, without its factors."""

    @abstractmethod
    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        """Give the widest half-width of the headline estimand at one design point."""

    headline_name: ClassVar[str]

    def default_vary(self, rules: "Rules") -> dict[str, list[Any]]:
        """Give the factors that are varied when the user names none, and their levels; most studies have none."""
        return {}

    def completed(self, experiment: "Experiment") -> "Experiment":
        """Vary what the study varies by itself when the user varies nothing; what is given stays as it is."""
        from craits_sim.design import design_points

        if experiment.vary or experiment.variants:
            return experiment
        (point,) = design_points(experiment)
        given = {*experiment.set, *(["players"] if experiment.players else [])}
        vary = {
            key: levels
            for key, levels in self.default_vary(point.rules).items()
            if key not in given and len(levels) > 1
        }
        return experiment.model_copy(update={"vary": vary})

    def tally(self, batches: Sequence[Batch]) -> Sums:
        return {
            f"{index}.{name}": values
            for index, batch in enumerate(batches)
            for name, values in self.tally_point(batch).items()
        }

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        from craits_sim.design import caption, design_points

        points = design_points(experiment)
        margin = self.margin if experiment.margin is None else experiment.margin
        by_point = [[*self.rows(point_sums(sums, index), point, experiment)] for index, point in enumerate(points)]
        if experiment.until_decided:
            judged, level = self.judged(sums, experiment), experiment.level
            together = sequences_of(judged)
            by_point = [
                [*in_sequence(rows, of_point, level, together)] for rows, of_point in zip(by_point, judged, strict=True)
            ]
        summary = table_of(points, by_point, margin)
        summary.attrs["caption"] = caption(experiment, points)
        return summary

    def judged_point(self, sums: Mapping[str, Ints], margin: float) -> Judged:
        """Give what the one verdict on a design point judges, where the study states verdicts."""
        raise NotImplementedError(f"the study {self.name} {self.no_verdict}")

    def judged(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Sequence[Judged]:
        if self.no_verdict:
            return ()
        margin = self.margin if experiment.margin is None else experiment.margin
        return [self.judged_point(part, margin) for part in _by_point(sums)]

    def headline(self, sums: Mapping[str, Ints], experiment: "Experiment") -> tuple[str, float]:
        return self.headline_name, max(self.half_width(part, experiment.level) for part in _by_point(sums))


class SideBySideStudy(PointStudy):
    """A study with a chart for one design point, and another that sets several side by side.

    More than `MOST_SIDE_BY_SIDE` design points have a chart each instead, one below the other.
    """

    width: ClassVar[float] = 10.0
    """Width of the chart in inches."""

    @abstractmethod
    def height(self, part: "pd.DataFrame") -> float:
        """Give the height of the chart of one design point, in inches."""

    @abstractmethod
    def draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        """Draw the chart of one design point, on the scales of the whole summary."""

    @abstractmethod
    def height_side_by_side(self, points: "Points") -> float:
        """Give the height of the chart of several design points, in inches."""

    @abstractmethod
    def draw_side_by_side(self, figure: "SubFigure", points: "Points") -> None:
        """Draw the chart of several design points."""

    @abstractmethod
    def sentence(self, part: "pd.DataFrame") -> str:
        """Conclude for the only design point."""

    @abstractmethod
    def short_sentence(self, part: "pd.DataFrame") -> str:
        """Say what came out at one of several design points, and nothing that is the same at all of them."""

    @abstractmethod
    def answers(self, part: "pd.DataFrame") -> "list[Answer]":
        """Give what the study asks for at one design point, so that it can be compared between design points."""

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import facets, parts, sheet

        points = list(parts(summary))
        if 1 < len(points) <= MOST_SIDE_BY_SIDE:
            height = self.height_side_by_side(points)
            return sheet(summary, self.question, self.width, height, lambda cell: self.draw_side_by_side(cell, points))
        return facets(summary, self.question, self.width, self.height, self.draw)

    def conclude(self, summary: "pd.DataFrame") -> str:
        from craits_sim.plots import parts
        from craits_sim.studies.factors import dependence

        points = list(parts(summary))
        if len(points) == 1:
            return self.sentence(summary)
        return "\n".join(
            [
                *(f"{label}: {self.short_sentence(part)}" for label, part in points),
                *dependence(summary, [self.answers(part) for _, part in points]),
                f"{counted(points[0][1]['n'].iloc[0].item(), 'game')} at each design point.",
            ]
        )


def table_of(points: "Sequence[DesignPoint]", by_point: Sequence[Sequence[Row]], margin: float) -> "pd.DataFrame":
    """Make a summary of the rows of each design point: its factors first, then the `COLUMNS` that are used."""
    import pandas as pd

    table = [{**point.factors, **row} for point, rows in zip(points, by_point, strict=True) for row in rows]
    used = {name for row in table for name in row}
    summary = pd.DataFrame(table, columns=[*points[0].factors, *(name for name in COLUMNS if name in used)])
    summary = summary.astype({name: kind for name, kind in COLUMNS.items() if name in used and kind != "str"})
    summary.attrs["margin"] = margin
    return summary


def _by_point(sums: Mapping[str, Ints]) -> list[Sums]:
    count = 1 + max(int(key.partition(".")[0]) for key in sums)
    return [point_sums(sums, index) for index in range(count)]


def table_sizes(rules: "Rules") -> list[int]:
    """Give the numbers of players to compare: 2 to 5, or to 10 with two decks, as far as rules and cards allow."""
    from craits_sim.rules import RulesError

    sizes = []
    for size in range(2, 6 if rules.decks == 1 else 11):
        with suppress(RulesError):
            sizes.append(rules.with_changes({"players": size}).players)
    return sizes


def point_sums(sums: Mapping[str, Ints], index: int) -> Sums:
    """Give the sums of one design point by quantity."""
    prefix = f"{index}."
    return {key.removeprefix(prefix): values for key, values in sums.items() if key.startswith(prefix)}


def moments(sums: Mapping[str, Ints], name: str, unit: float = 1) -> Moments:
    """Give the moments of a quantity that `cross_sums` put among the sums."""
    return Moments.from_sums(int(sums["games"][0]), sums[name], sums[f"{name}_products"], unit)


def cross_sums(name: str, values: NDArray[Any]) -> Sums:
    """Sum each of K whole numbers a game, and the products of each two, over games.

    Parameters
    ----------
    values
        Shape (G, K): whole numbers, of any type.

    Returns
    -------
    dict
        ``name``, shape (K,), and ``name_products``, shape (K, K), exact.

    Raises
    ------
    OverflowError
        If a sum of squares could outgrow 64 bits, as with totals of tens of millions under a steep shuffle pressure.
    """
    games = len(values)
    largest = max(abs(int(values.max())), abs(int(values.min())))
    # Floating-point products are many times faster, and as exact as long as no sum can outgrow the mantissa.
    if games * largest**2 < _FLOAT32_EXACT:
        values = values.astype(np.float32)
    elif games * largest**2 < _FLOAT64_EXACT:
        values = values.astype(np.float64)
    elif games * largest**2 < _INT64_EXACT:
        values = values.astype(np.int64)
    else:
        raise OverflowError(f"{name}: {largest:,} is too large for exact sums of squares")
    products = values.T @ values
    return {name: values.sum(axis=0).astype(np.int64), f"{name}_products": products.astype(np.int64)}


def by_position(batch: Batch, by_seat: NDArray[Any]) -> NDArray[Any]:
    """Turn the columns of an array of shape (G, S) from seats to positions: 0 is the game's first dealer."""
    players = by_seat.shape[1]
    seats = (batch.first_dealer[:, None] + np.arange(players, dtype=np.int32)) % players
    return np.take_along_axis(by_seat, seats, axis=1)


def one_hot(numbers: NDArray[np.int32], count: int) -> NDArray[np.int8]:
    """Turn numbers of shape (G, R) into an array of shape (G, R * count) that is 1 at each round's number, else 0.

    A number outside 0 ... count - 1 has no 1.
    """
    games, rounds = numbers.shape
    return (numbers[:, :, None] == np.arange(count, dtype=np.int32)).view(np.int8).reshape(games, rounds * count)


def rows_of(
    estimand: str,
    unit: str,
    estimates: Moments,
    interval: Interval,
    level: float,
    kind: str = "pointwise",
    **columns: Any,
) -> Iterator[Row]:
    """Give a row for each of K estimates.

    Parameters
    ----------
    kind
        How the intervals are meant: ``pointwise``; ``simultaneous`` where all hold together at ``level``; ``exact``.
    **columns
        Other columns: one value for all, or an array of shape (K,).
    """
    se = estimates.se
    for k, estimate in enumerate(estimates.mean):
        yield {
            "estimand": estimand,
            "unit": unit,
            "estimate": float(estimate),
            "se": float(se[k]),
            "ci_low": float(interval.low[k]),
            "ci_high": float(interval.high[k]),
            "ci_level": level,
            "ci_kind": kind,
            "n": estimates.games,
            **{name: values[k] if isinstance(values, np.ndarray) else values for name, values in columns.items()},
        }


def mean_rows(estimand: str, unit: str, means: Moments, level: float, **columns: Any) -> Iterator[Row]:
    """Give a row with a pointwise interval for each of K means."""
    return rows_of(estimand, unit, means, mean_interval(means.mean, means.se, means.games, level), level, **columns)


def largest_row(estimand: str, unit: str, means: Moments, margin: float, level: float, column: str = "position") -> Row:
    """Judge whether K means are equal: the row of the one that is farthest from the mean of all.

    The p-value is that of one Wald test of all of them, equivalence is shown only where all lie within the margin, and
    the interval is one of K simultaneous ones.

    Parameters
    ----------
    column
        What the means are by: ``position``, or ``offset``.
    """
    deviations, games = means.deviations(), means.games
    test = wald_equal_shares(means)
    p_equivalence = float(np.max(equivalence_p_value(deviations.mean, deviations.se, margin)))
    needed = min(
        games_to_detect(test.statistic, test.df, games, level),
        games_to_show_equivalence(deviations.mean, deviations.se, games, margin, level),
    )
    decision = verdict(test.p_value, p_equivalence, level)
    interval = mean_interval(deviations.mean, deviations.se, games, simultaneous_level(level, len(deviations.mean)))
    farthest = int(np.argmax(np.abs(deviations.mean)))
    rows = list(rows_of(estimand, unit, deviations, interval, level, "simultaneous"))
    return {
        **rows[farthest],
        column: farthest,
        "reference": 0.0,
        "margin": margin,
        "statistic": test.statistic,
        "df": test.df,
        "p_value": test.p_value,
        "p_adjusted": test.p_value,  # one test of all
        "verdict": str(decision),
        "games_needed": round_up(needed) if decision == Verdict.INCONCLUSIVE else None,
    }


def judged_rows(
    estimand: str, unit: str, differences: Moments, margin: float, level: float, **columns: Any
) -> Iterator[Row]:
    """Judge K differences from zero, each by itself: a row with a verdict for each.

    Tests of a difference are adjusted by Holm for their number, and the intervals are simultaneous. Whether one is
    negligible is tested for each by itself (TOST).

    Parameters
    ----------
    **columns
        As for `rows_of`.
    """
    games, se = differences.games, differences.se
    interval = mean_interval(differences.mean, se, games, simultaneous_level(level, len(se)))
    p_values = difference_p_value(differences.mean, se)
    adjusted = holm(p_values)
    p_equivalence = equivalence_p_value(differences.mean, se, margin)
    # How many games would decide it: a difference at the level at which the first of so many is tested.
    strictest = simultaneous_level(level, len(se), "bonferroni")
    rows = rows_of(estimand, unit, differences, interval, level, "simultaneous", **columns)
    for k, row in enumerate(rows):
        decision = verdict(float(adjusted[k]), float(p_equivalence[k]), level)
        needed = min(
            games_to_detect((row["estimate"] / se[k]) ** 2 if se[k] > 0 else 0, 1, games, strictest),
            games_to_show_equivalence(row["estimate"], se[k], games, margin, level),
        )
        yield row | {
            "reference": 0.0,
            "margin": margin,
            "p_value": float(p_values[k]),
            "p_adjusted": float(adjusted[k]),
            "verdict": str(decision),
            "games_needed": round_up(needed) if decision == Verdict.INCONCLUSIVE else None,
        }


def count_row(estimand: str, count: int, games: int, level: float) -> Row:
    """Give the row of the share of games in which something happened, with its exact interval."""
    share = count / games
    low, high = clopper_pearson(count, games, level).times(100)
    return {
        "estimand": estimand,
        "unit": "%",
        "estimate": 100 * share,
        "se": 100 * sqrt(share * (1 - share) / games),
        "ci_low": float(low),
        "ci_high": float(high),
        "ci_level": level,
        "ci_kind": "exact",
        "n": games,
    }


def texts(rows: "pd.DataFrame", signed: bool = False) -> list[str]:
    """Write the estimates of some rows, all with the digits that the largest of their standard errors supports."""
    return [number_text(estimate, rows["se"].max(), signed) for estimate in rows["estimate"]]


def with_interval(row: Mapping[str, Any], unit: str, signed: bool = False) -> str:
    """Write an estimate with its interval and level, like ``25.4% (95% interval 25.3 to 25.5)``."""
    interval = interval_text(row["ci_low"], row["ci_high"], row["se"], signed)
    return (
        f"{number_text(row['estimate'], row['se'], signed)}{unit} ({level_text(row['ci_level'])} interval {interval})"
    )


MOST_NAMED = 3
"""Things that a sentence names before it counts the rest, unless it says otherwise."""


def verdict_text(row: Mapping[str, Any], unit: str, noun: str) -> str:
    """Say a verdict in words, like ``a real but negligible advantage (shown to be within the margin of 1 pp)``.

    Parameters
    ----------
    row
        A row with ``verdict``, ``margin``, ``games_needed`` and the interval of the difference.
    unit
        The unit of the margin, with the space before it where there is one.
    noun
        What a difference is called, without its article: ``advantage``.
    """
    margin = f"the margin of {row['margin']:g}{unit}"
    article = "an" if noun[0] in "aeiou" else "a"
    if row["verdict"] == Verdict.ADVANTAGE:
        beyond = row["ci_low"] > row["margin"] or row["ci_high"] < -row["margin"]
        return f"{article} {noun} " + (f"beyond {margin}" if beyond else f"that may or may not exceed {margin}")
    if row["verdict"] == Verdict.NEGLIGIBLE:
        return f"no {noun} to speak of (none seen, and shown to be within {margin})"
    if row["verdict"] == Verdict.REAL_BUT_NEGLIGIBLE:
        return f"a real but negligible {noun} (shown to be within {margin})"
    needed = row["games_needed"]
    games = "more games" if needed is None or needed != needed else f"about {int(needed):,} games"
    return f"inconclusive against {margin} ({games} would decide it)"


def listed(words: Sequence[str]) -> str:
    """Write a list, like ``2, 3 and 4``."""
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last


def several(words: Iterable[str], most: int = MOST_NAMED) -> str:
    """Write the first few of several texts, and how many more there are, like ``a, b, c and 4 more``."""
    all_words = list(words)
    shown, more = all_words[:most], len(all_words) - most
    return listed([*shown, f"{more} more"] if more > 0 else shown)


def games_that_decide(rows: Iterable[Mapping[str, Any]], games: str = "games") -> str:
    """Say how many games would decide all of some undecided rows, in parentheses; nothing where that is not known."""
    needed = [row["games_needed"] for row in rows]
    known = [int(number) for number in needed if number is not None and number == number]
    return f" (up to {max(known):,} {games} would decide)" if len(known) == len(needed) else ""


def level_text(level: float) -> str:
    """Write a level, like ``95%``."""
    return f"{100 * level:g}%"
