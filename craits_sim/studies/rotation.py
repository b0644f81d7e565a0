"""One bot alone among others of another kind, at each seat in turn: what `ladder` and `restricted` have in common.

With n players a *match* of one bot against another is n tables: the lone bot sits at seat 0, 1, ... n - 1, all other
seats have the other bot, and all n tables play the same game indices, so the same deals. What the lone bot gains by its
seat or its cards, the others gain from them at the other tables: only how it plays is left. If it plays as the others
do its share of the wins is 1/n.

The n games of one index have their deals in common. They count as one observation, their mean: the errors are those of
means over game indices, which allows for whatever the games of an index have in common (they are clustered by deal).
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from craits_sim.bots import BotSpec
from craits_sim.results import WIN_UNIT, Batch
from craits_sim.sequential import Differences, Judged
from craits_sim.stats import Floats, Moments, counted, mean_interval, simultaneous_level
from craits_sim.studies.base import Ints, Row, Study, Sums, cross_sums, level_text, moments, table_of
from craits_sim.studies.factors import Answer, dependence
from craits_sim.studies.stopping import in_sequence, sequences_of

if TYPE_CHECKING:
    import pandas as pd

    from craits_sim.design import DesignPoint, Experiment

QUANTITIES = ("wins", "edge", "ahead", "points")
"""Whole numbers of a game index and match, summed over its n tables: what the lone bot wins, in 1/`WIN_UNIT`; that n
times, less what all seats win; the seats with more points than it, twice, and those with as many, once; n times its
points, less those of all seats."""


class Match(NamedTuple):
    """One bot alone, and the bot at all other seats."""

    lone: BotSpec
    others: BotSpec


def rotated(point: "DesignPoint", match: Match) -> "Iterator[DesignPoint]":
    """Give the tables of a match under the rules of a design point, the lone bot at seat 0 first."""
    lone, others = match
    for seat in range(point.rules.players):
        bots = [others] * point.rules.players
        bots[seat] = lone
        names = {"lone_bot": str(lone), "other_bots": str(others), "lone_seat": seat}
        yield point._replace(factors=point.factors | names, bots=tuple(bots))


def weights(name: str, players: int, matches: int) -> Floats:
    """Give the weights that make one of `QUANTITIES` of each match from the means of all, shape (M, 4 M).

    Wins and edge are then in percent, ahead is a share, and points are those of a game.
    """
    divisor = {
        "wins": WIN_UNIT * players / 100,
        "edge": WIN_UNIT * players**2 / 100,
        "ahead": 2 * players * (players - 1),
        "points": players**2,
    }[name]
    return np.kron(np.eye(matches), np.eye(len(QUANTITIES))[QUANTITIES.index(name)] / divisor)


class RotationStudy(Study):
    """A study of matches: its design has the tables of one match after the other, at each design point asked for.

    A match has as many tables as these have seats, which is how `tally` knows them.
    """

    margin = 1.0
    margin_unit = "percentage points of win share"
    most_margin = 100
    headline_name: str

    @abstractmethod
    def matches(self, point: "DesignPoint", experiment: "Experiment") -> list[Match]:
        """Give the matches that are played under the rules of a design point.

        Raises
        ------
        DesignError
            If its bots cannot be set against each other.
        """

    @abstractmethod
    def differences(self, means: Moments, point: "DesignPoint", experiment: "Experiment") -> Moments:
        """Give the differences that the verdicts on a design point judge, in the order of their rows."""

    @abstractmethod
    def rows(self, means: Moments, point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        """Give the rows of one design point, without its factors.

        Parameters
        ----------
        means
            Those of `QUANTITIES`, for one match after the other.
        """

    @abstractmethod
    def sentence(self, part: "pd.DataFrame") -> str:
        """Conclude for one design point."""

    @abstractmethod
    def answer(self, row: Row) -> Answer:
        """Give what a row with a verdict says, so that it can be compared between design points."""

    def asked(self, experiment: "Experiment") -> "tuple[DesignPoint, ...]":
        """Expand the factors of the experiment: the design points that have rows, whose bots are not yet seated."""
        from craits_sim.design import design_points

        return design_points(experiment)

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        from craits_sim.design import DesignError

        points = [
            table
            for point in self.asked(experiment)
            for match in self.matches(point, experiment)
            for table in rotated(point, match)
        ]
        if len(points) > max_points:
            raise DesignError(f"{len(points):,} design points: allowed are up to {max_points:,} (--max-points)")
        return tuple(points)

    def tally(self, batches: Sequence[Batch]) -> Sums:
        columns = [column for tables in by_match(batches) for column in _quantities(tables)]
        games = np.array([len(batches[0].totals)], np.int64)
        return {"games": games, **cross_sums("matches", np.column_stack(columns))}

    def _by_point(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "Iterator[tuple[DesignPoint, Moments]]":
        means, start = moments(sums, "matches"), 0
        for point in self.asked(experiment):
            end = start + len(QUANTITIES) * len(self.matches(point, experiment))
            yield point, Moments(means.games, means.mean[start:end], means.covariance[start:end, start:end])
            start = end

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        from craits_sim.design import MAX_DESIGN_POINTS, caption

        margin = self.margin if experiment.margin is None else experiment.margin
        points = [*self._by_point(sums, experiment)]
        by_point = [[*self.rows(means, point, experiment)] for point, means in points]
        if experiment.until_decided:
            judged = iter(self.judged(sums, experiment))
            together = sequences_of(self.judged(sums, experiment))
            by_point = [[*_in_sequence(rows, judged, experiment.level, together)] for rows in by_point]
        summary = table_of([point for point, _ in points], by_point, margin)
        summary.attrs["caption"] = caption(experiment, self.design(experiment, MAX_DESIGN_POINTS))
        return summary

    def conclude(self, summary: "pd.DataFrame") -> str:
        from craits_sim.plots import parts

        points = list(parts(summary))
        lines = [f"{label}: {self.sentence(part)}" if label else self.sentence(part) for label, part in points]
        if len(points) > 1:
            rows = [part[part["verdict"].notna()].to_dict("records") for _, part in points]
            lines += dependence(summary, [list(map(self.answer, of_point)) for of_point in rows])
        deals, level = summary["n"].iloc[0].item(), level_text(summary["ci_level"].iloc[0])
        sequence = "sequence" in set(summary["ci_kind"])
        intervals = "confidence sequences" if sequence else "simultaneous intervals, tests adjusted by Holm"
        terms = f"{counted(deals, 'deal')}, each at every seat; {level} {intervals}."
        return "\n".join([*lines, terms])

    def judged(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Sequence[Judged]:
        margin = self.margin if experiment.margin is None else experiment.margin
        return [
            Differences.of(differences.combine([one]), margin)
            for differences in self._differences(sums, experiment)
            for one in np.eye(len(differences.mean))
        ]

    def _differences(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Iterator[Moments]:
        for point, means in self._by_point(sums, experiment):
            yield self.differences(means, point, experiment)

    def headline(self, sums: Mapping[str, Ints], experiment: "Experiment") -> tuple[str, float]:
        widths = []
        for differences in self._differences(sums, experiment):
            level = simultaneous_level(experiment.level, len(differences.mean))
            low, high = mean_interval(differences.mean, differences.se, differences.games, level)
            widths.append(float(np.max(high - low)) / 2)
        return self.headline_name, max(widths)


def by_match(batches: Sequence[Batch]) -> Iterator[Sequence[Batch]]:
    """Group the tables by match: each has as many as a table has seats."""
    start = 0
    while start < len(batches):
        end = start + batches[start].totals.shape[1]
        yield batches[start:end]
        start = end


def _quantities(tables: Sequence[Batch]) -> Iterator[Ints]:
    """Give `QUANTITIES` of one match, shape (G,) each; the lone bot sits at seat k of table k."""
    players = len(tables)
    wins = sum(table.wins[:, seat].astype(np.int64) for seat, table in enumerate(tables))
    points = sum(table.totals[:, seat] for seat, table in enumerate(tables))
    ahead = sum(
        np.count_nonzero(table.totals > own, axis=1) + np.count_nonzero(table.totals >= own, axis=1) - 1
        for table, own in ((table, table.totals[:, seat, None]) for seat, table in enumerate(tables))
    )
    yield np.asarray(wins)
    yield np.asarray(players * wins - sum(table.wins.sum(axis=1, dtype=np.int64) for table in tables))
    yield np.asarray(ahead)
    yield np.asarray(players * points - sum(table.totals.sum(axis=1) for table in tables))


def _in_sequence(rows: Sequence[Row], judged: Iterator[Judged], level: float, together: int) -> Iterator[Row]:
    """Turn the rows of a design point into those of a run that waited for its verdicts, in their order."""
    without = [row for row in rows if "verdict" not in row]
    own = {id(row): next(judged) for row in rows if "verdict" in row}
    changed = dict(zip(map(id, without), in_sequence(without, next(iter(own.values())), level, together), strict=True))
    for row in rows:
        if id(row) in own:
            yield from in_sequence([row], own[id(row)], level, together)
        else:
            yield changed[id(row)]
