"""Is dealing good or bad, in which rounds, and why? Points and going out by offset from the dealer.

Offset 0 is the dealer of the round, offset 1 the dealer's left, who plays first, and so on clockwise. The turned-up
card counts as the dealer's play (RULES.md R5), so that its ability strikes offset 1 first. Fewer points are better
(R17).
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from craits_sim.results import Batch
from craits_sim.sequential import Differences, Judged
from craits_sim.stats import (
    Moments,
    counted,
    difference_p_value,
    equivalence_p_value,
    games_to_detect,
    games_to_show_equivalence,
    holm,
    mean_interval,
    number_text,
    round_up,
    share_interval,
    verdict,
)
from craits_sim.studies.base import (
    Ints,
    Points,
    Row,
    SideBySideStudy,
    Sums,
    cross_sums,
    level_text,
    mean_rows,
    moments,
    one_hot,
    rows_of,
    texts,
    verdict_text,
    with_interval,
)
from craits_sim.studies.factors import Answer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from craits_sim.design import DesignPoint, Experiment


class Mechanism(NamedTuple):
    """Something that could explain an edge."""

    estimand: str
    array: str
    """The array of a batch that counts it, by offset."""
    unit: str
    title: str


MECHANISMS = (
    Mechanism("skips", "skips", "skips", "Turns lost to a skip"),
    Mechanism("forced_cards", "forced", "cards", "Cards drawn for others' plays"),
    Mechanism("turns", "seat_turns", "turns", "Turns taken"),
)


class DealerStudy(SideBySideStudy):
    """Points a round and share of going out by offset from the dealer, against the number of cards dealt."""

    name = "dealer"
    question = "Is dealing good or bad, in which rounds, and why?"
    margin = 0.5
    margin_unit = "points a round"
    default_games = 200_000
    headline_name = "edge of the dealer, points a round"

    def tally_point(self, batch: Batch) -> Sums:
        games, rounds, players = batch.points.shape
        # Nobody (-1) must not become an offset by wrapping round.
        offset = np.where(batch.went_out < 0, -1, (batch.went_out - batch.dealer) % players)
        sums: Sums = {
            "games": np.array([games], np.int64),
            **cross_sums("points", batch.points.reshape(games, rounds * players)),
            **cross_sums("went_out", one_hot(offset, players)),
        }
        for mechanism in MECHANISMS:
            sums |= cross_sums(mechanism.estimand, np.einsum("gro->go", getattr(batch, mechanism.array)))
        return sums

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        level, players, rounds = experiment.level, point.rules.players, len(point.rules.deals)
        margin = self.margin if experiment.margin is None else experiment.margin
        points, went_out = moments(sums, "points"), moments(sums, "went_out")
        identity = np.eye(players)
        mean_of_rounds = np.kron(np.full(rounds, 1 / rounds), identity)
        offsets = {"offset": np.arange(players)}

        edges = points.combine(mean_of_rounds).deviations()
        yield from _edge_rows(edges, margin, level)
        yield from mean_rows("points", "points", points.combine(mean_of_rounds), level, **offsets)
        yield from _share_rows("go_out_share", went_out.combine(mean_of_rounds), level, **offsets)
        for mechanism in MECHANISMS:
            a_round = moments(sums, mechanism.estimand, rounds)
            yield from mean_rows(mechanism.estimand, mechanism.unit, a_round, level, **offsets)
            yield from mean_rows(
                f"{mechanism.estimand}_difference",
                mechanism.unit,
                a_round.deviations(),
                level,
                **offsets,
                reference=0.0,
            )

        cells = {
            "offset": np.tile(np.arange(players), rounds),
            "round": np.arange(1, rounds + 1).repeat(players),
            "deal_size": np.array(point.rules.deals).repeat(players),
        }
        relative = points.combine(np.kron(np.eye(rounds), identity - 1 / players))
        p_values = difference_p_value(relative.mean, relative.se).reshape(rounds, players)
        # The family is the rounds of one offset: the question is in which of them it has an edge.
        adjusted = np.column_stack([holm(column) for column in p_values.T])
        yield from mean_rows(
            "edge_by_round",
            "points",
            relative,
            level,
            **cells,
            reference=0.0,
            p_value=p_values.ravel(),
            p_adjusted=adjusted.ravel(),
        )
        yield from mean_rows("points_by_round", "points", points, level, **cells)
        yield from _share_rows("go_out_share_by_round", went_out, level, **cells)

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        dealer = self._edge(sums)
        low, high = mean_interval(dealer.mean, dealer.se, dealer.games, level)
        return float(high[0] - low[0]) / 2

    def judged_point(self, sums: Mapping[str, Ints], margin: float) -> Judged:
        return Differences.of(self._edge(sums), margin)

    @staticmethod
    def _edge(sums: Mapping[str, Ints]) -> Moments:
        points = moments(sums, "points")
        players = len(sums["turns"])
        rounds = len(points.mean) // players
        return points.combine([np.tile(np.eye(players)[0] - 1 / players, rounds) / rounds])

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        return summary[summary["round"].isna()]

    def height(self, part: "pd.DataFrame") -> float:
        return sum(self._heights(part))

    @staticmethod
    def _heights(part: "pd.DataFrame") -> tuple[float, float]:
        """Give the heights of the panels by round, and of those below that explain them."""
        players = (part["estimand"] == "edge").sum()
        return 2 * max(3.1, 1.2 + 0.3 * players), 1.15 + 0.28 * players

    def draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import dots, limits, margin_band, reference, title

        def rows(estimand: str, of: "pd.DataFrame" = part) -> "pd.DataFrame":
            return of[of["estimand"] == estimand]

        edges = rows("edge")
        players, margin = len(edges), edges["margin"].iloc[0]
        level = level_text(edges["ci_level"].iloc[0])
        names = ["dealer", "plays first", *(f"offset {offset}" for offset in range(2, players))]
        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=self._heights(part)).flat
        (by_round, over_game), (by_round_below, over_game_below) = upper.subplots(2, 2, width_ratios=(3, 1))

        by_round.set_ylim(limits(rows("edge_by_round", summary), 0))
        title(
            by_round,
            "Points against the mean of the round",
            f"fewer is better · ribbons: {level} intervals, clustered by game",
        )
        self._by_round(by_round, rows("edge_by_round"), names, "points")
        reference(by_round, 0, vertical=False)

        title(over_game, "All rounds together", f"{level} intervals · band: margin ± {margin:g}")
        margin_band(over_game, 0, margin)
        reference(over_game, 0, vertical=True)
        dots(over_game, edges, names, labels=texts(edges, signed=True))
        over_game.set_xlim(limits(rows("edge", summary), -margin, margin))
        over_game.set_xlabel("points a round")

        shares = rows("go_out_share")
        all_shares, fair = rows("go_out_share", summary), shares["reference"].iloc[0]
        by_round_below.set_ylim(limits(rows("go_out_share_by_round", summary), *all_shares["reference"]))
        title(by_round_below, "Goes out first", f"dashed: 1/{players} · ribbons: {level} intervals")
        self._by_round(by_round_below, rows("go_out_share_by_round"), names, "rounds, %")
        reference(by_round_below, fair, vertical=False)

        title(over_game_below, "All rounds together", f"{level} intervals")
        reference(over_game_below, fair, vertical=True)
        dots(over_game_below, shares, names, labels=texts(shares))
        over_game_below.set_xlim(limits(all_shares, *all_shares["reference"]))
        over_game_below.set_xlabel("rounds, %")

        for panel, mechanism in zip(lower.subplots(1, len(MECHANISMS), sharey=True), MECHANISMS, strict=True):
            differences = rows(f"{mechanism.estimand}_difference")
            title(panel, mechanism.title, f"against the mean of all seats, {level} intervals")
            reference(panel, 0, vertical=True)
            dots(panel, differences, names, labels=texts(differences, signed=True))
            panel.set_xlim(limits(rows(f"{mechanism.estimand}_difference", summary), 0))
            panel.set_xlabel(f"{mechanism.unit} a round")

    @staticmethod
    def _by_round(axes: "Axes", cells: "pd.DataFrame", names: list[str], label: str) -> None:
        from craits_sim.plots import ribbons

        lines = [line for _, line in cells.groupby("offset", sort=True)]
        ribbons(axes, lines, names, list(lines[0]["deal_size"]))
        axes.set_xlabel("cards dealt, round by round")
        axes.set_ylabel(label)

    def height_side_by_side(self, points: Points) -> float:
        return sum(self._heights_side_by_side(points))

    @staticmethod
    def _heights_side_by_side(points: Points) -> tuple[float, float]:
        return 6.6, 1.35 + 0.3 * len(points)

    def draw_side_by_side(self, figure: "SubFigure", points: Points) -> None:
        """Draw what the single chart says of the dealer, with a line for each design point."""
        import pandas as pd

        from craits_sim.plots import dots, legend, limits, margin_band, reference, ribbons, title

        first = points[0][1]
        margin, level = first.attrs["margin"], level_text(first["ci_level"].iloc[0])

        def dealers(estimand: str) -> "list[pd.DataFrame]":
            """Give the dealer's rows of each design point, shares as differences from an equal share."""
            rows = [part[(part["estimand"] == estimand) & (part["offset"] == 0)] for _, part in points]
            columns = ["estimate", "ci_low", "ci_high"]
            return [of.assign(**of[columns].sub(of["reference"], axis=0)) for of in rows]

        def together(axes: "Axes", estimand: str, unit: str, *values: float) -> None:
            rows = pd.concat(dealers(estimand))
            reference(axes, 0, vertical=True)
            dots(axes, rows, [""] * len(rows), labels=texts(rows, signed=True))
            axes.set_xlim(limits(rows, 0, *values))
            axes.set_xlabel(unit)
            axes.locator_params(axis="x", nbins=5)

        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=self._heights_side_by_side(points)).flat
        legend(upper, [label for label, _ in points])
        panels = upper.subplots(2, 2, width_ratios=(3, 2))
        for (by_round, over_game), estimand, heading, unit in (
            (panels[0], "edge", "Points of the dealer, against the mean of the round", "points"),
            (panels[1], "go_out_share", "The dealer goes out first, against an equal share", "pp of rounds"),
        ):
            lines = dealers(f"{estimand}_by_round")
            title(by_round, heading, f"by round · ribbons: {level} intervals, clustered by game")
            by_round.set_ylim(limits(pd.concat(lines), 0))
            sizes = [list(line["deal_size"]) for line in lines]
            longest = max(sizes, key=len)
            same = all(size == longest for size in sizes)
            ribbons(by_round, lines, (), longest if same else range(1, len(longest) + 1))
            by_round.set_xlabel("cards dealt, round by round" if same else "round")
            by_round.set_ylabel(unit)
            reference(by_round, 0, vertical=False)
            if estimand == "edge":
                title(over_game, "All rounds together", f"{level} intervals · band: margin ± {margin:g}")
                margin_band(over_game, 0, margin)
                together(over_game, estimand, "points a round (fewer is better)", -margin, margin)
            else:
                title(over_game, "All rounds together", f"{level} intervals")
                together(over_game, estimand, "percentage points of rounds")
        for panel, mechanism in zip(lower.subplots(1, len(MECHANISMS), sharey=True), MECHANISMS, strict=True):
            title(panel, mechanism.title, f"the dealer, against the mean of all seats\n{level} intervals")
            together(panel, f"{mechanism.estimand}_difference", f"{mechanism.unit} a round")

    def short_sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        edge, share = table["edge"][0], table["go_out_share"][0]
        return (
            f"the dealer scores {with_interval(edge, ' points a round', signed=True)} against the mean of the table: "
            f"{verdict_text(edge, ' points a round', 'edge')}; it goes out first in "
            f"{number_text(share['estimate'], share['se'])}% of rounds, against {share['reference']:.4g}%."
        )

    def answers(self, part: "pd.DataFrame") -> list[Answer]:
        edge = part[part["estimand"] == "edge"].iloc[0]
        return [Answer("the edge of the dealer", edge["estimate"], edge["se"], " points a round", True)]

    def sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        edge, share = table["edge"][0], table["go_out_share"][0]
        decision = verdict_text(edge, " points a round", "edge")
        text = (
            "Relative to the mean of the table the dealer scores "
            f"{with_interval(edge, ' points a round', signed=True)}, where fewer is better. "
            f"Verdict: {decision}; {counted(edge['n'], 'game')}. "
        )
        by_round = [row for row in table["edge_by_round"] if row["offset"] == 0]
        clear = [row for row in by_round if row["p_adjusted"] < 1 - row["ci_level"]]
        if len(by_round) > 1:
            text += (
                f"Round by round an edge is clear in {len(clear) or 'none'} of {len(by_round)} (tests adjusted by Holm)"
            )
        if len(by_round) > 1 and clear:
            most = max(clear, key=lambda row: abs(row["estimate"]))
            size = with_interval(most, " points", signed=True)
            text += f", the largest with {counted(most['deal_size'], 'card')} dealt: {size}"
        skips, cards, turns = (_against_mean(table, mechanism) for mechanism in MECHANISMS)
        return (
            f"{text}{'. ' * (len(by_round) > 1)}The dealer goes out first in {with_interval(share, '%')} of rounds, "
            f"against {share['reference']:.4g}%; compared with the mean of the table it suffers {skips}, draws {cards} "
            f"for the plays of others and takes {turns} a round."
        )


def _edge_rows(edges: Moments, margin: float, level: float) -> Iterator[Row]:
    """Give the edge of each offset over all rounds, with the verdict on the dealer's."""
    games = edges.games
    p_values = difference_p_value(edges.mean, edges.se)
    rows = mean_rows(
        "edge",
        "points",
        edges,
        level,
        offset=np.arange(len(edges.mean)),
        reference=0.0,
        margin=margin,
        p_value=p_values,
        p_adjusted=holm(p_values),
    )
    estimate, se = edges.mean[0], edges.se[0]
    decision = verdict(p_values[0], float(equivalence_p_value(estimate, se, margin)), level)
    needed = min(
        games_to_detect((estimate / se) ** 2 if se else 0, 1, games, level),
        games_to_show_equivalence(estimate, se, games, margin, level),
    )
    for row in rows:
        if row["offset"] == 0:
            row |= {
                "verdict": str(decision),
                "games_needed": round_up(needed) if decision == "inconclusive" else None,
            }
        yield row


def _share_rows(estimand: str, shares: Moments, level: float, **columns: Any) -> Iterator[Row]:
    """Give shares in percent, against an equal share."""
    interval = share_interval(shares.mean, shares.se, shares.games, level).times(100)
    percent = shares.combine(100 * np.eye(len(shares.mean)))
    players = len(np.unique(np.asarray(columns["offset"])))
    return rows_of(estimand, "%", percent, interval, level, **columns, reference=100 / players)


def _against_mean(table: Mapping[str, list[Any]], mechanism: Mechanism) -> str:
    """Compare the dealer with the mean of the table, like ``0.03 fewer skips``."""
    row = table[f"{mechanism.estimand}_difference"][0]
    if not (row["ci_low"] > 0 or row["ci_high"] < 0):
        return f"about as many {mechanism.unit}"
    return f"{abs(row['estimate']):.2g} {'fewer' if row['estimate'] < 0 else 'more'} {mechanism.unit}"
