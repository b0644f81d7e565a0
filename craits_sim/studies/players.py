"""How many should play? Fairness, length, choice and endings against the number of players.

Every number of players is a design point of its own: its games say nothing about those of another, apart from playing
the same shuffles. Tests of an edge are adjusted for the number of tables (Holm), since one of many is always largest.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from craits_sim.results import WIN_UNIT, Batch, Ending
from craits_sim.sequential import Differences, Judged
from craits_sim.stats import (
    Floats,
    Moments,
    Verdict,
    counted,
    difference_p_value,
    holm,
    interval_text,
    number_text,
    ratio_of_means,
    share_interval,
    zero_event_text,
)
from craits_sim.studies.base import (
    Ints,
    PointStudy,
    Row,
    Sums,
    by_position,
    count_row,
    cross_sums,
    largest_row,
    level_text,
    listed,
    mean_rows,
    moments,
    table_sizes,
    texts,
    verdict_text,
)
from craits_sim.studies.factors import BOTS_MATTER, bots_matter
from craits_sim.studies.length import SECONDS, assumed_seconds, assumptions, minutes_of
from craits_sim.text import levels_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules


class Metric(NamedTuple):
    """A number that is drawn against the number of players."""

    estimand: str
    title: str
    unit: str


METRICS = (
    Metric("largest_edge", "Largest edge of a seat", "pp of win share"),
    Metric("dealer_edge", "Edge of the dealer", "points a round (fewer is better)"),
    Metric("choice_share", "Turns with a real choice", "% of turns"),
    Metric("turns_per_round", "Turns a round", "turns of all seats"),
    Metric("turns_per_game", "Turns a game", "turns of all seats"),
    Metric("minutes", "Minutes a game, assumed", "minutes"),
    Metric("mean_total", "Points of a player", "points a game"),
    Metric("range_of_totals", "Best to worst player", "points a game"),
    Metric("cards_drawn", "Cards drawn", "cards a player and round"),
    Metric("tied_games", "Tied for the win", "% of games"),
    Metric("blocked_games", "Blocked rounds", "% of games with one"),
    Metric("truncated_games", "Rounds cut at the turn cap", "% of games with one"),
)

QUANTITIES = ("turns", "drawn", "reshuffles", "choices", "range")
"""What is added up of each game, in this order."""

ACROSS = 3
MOST_NAMED = 6
"""Panels side by side, and the most dots of a panel that have room for their figures."""


class PlayersStudy(PointStudy):
    """Metrics of a game against the number of players."""

    name = "players"
    question = "How many should play?"
    margin = 1.0
    margin_unit = "percentage points of win share"
    most_margin = 100
    options = SECONDS
    default_games = 50_000
    headline_name = "largest edge of a seat, pp"
    details = True

    def default_vary(self, rules: "Rules") -> dict[str, list[Any]]:
        return {"players": table_sizes(rules)}

    def tally_point(self, batch: Batch) -> Sums:
        games = len(batch.points)
        by_game = np.column_stack(
            [
                batch.turns.sum(axis=1),
                batch.drawn.sum(axis=1),
                batch.reshuffles.sum(axis=1),
                batch.choices.sum(axis=1),
                np.ptp(batch.totals, axis=1),
            ]
        )
        winners = np.count_nonzero(batch.wins, axis=1)
        return {
            "games": np.array([games], np.int64),
            **cross_sums("wins", by_position(batch, batch.wins)),
            **cross_sums("points", np.einsum("gro->go", batch.points)),
            **cross_sums("by_game", by_game),
            **cross_sums("totals", batch.totals.sum(axis=1, keepdims=True)),
            "winners": np.bincount(winners, minlength=batch.wins.shape[1] + 1),
            "games_with_ending": np.array([(batch.ending == ending).any(axis=1).sum() for ending in Ending], np.int64),
        }

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        rules, level, games = point.rules, experiment.level, int(sums["games"][0])
        margin = self.margin if experiment.margin is None else experiment.margin
        players, rounds = rules.players, len(rules.deals)
        by_game, points = moments(sums, "by_game"), moments(sums, "points", rounds)
        one = dict(zip(QUANTITIES, np.eye(len(QUANTITIES)), strict=True))

        percent = moments(sums, "wins", WIN_UNIT / 100)
        yield largest_row("largest_edge", "pp", percent, margin, level)
        dealer = points.combine([np.eye(players)[0] - 1 / players])
        p_value = difference_p_value(dealer.mean, dealer.se)
        yield from mean_rows("dealer_edge", "points", dealer, level, reference=0.0, p_value=p_value, p_adjusted=p_value)
        yield _choice_row(by_game, one["choices"], one["turns"], level)
        for estimand, unit, weights in (
            ("turns_per_round", "turns", one["turns"] / rounds),
            ("turns_per_game", "turns", one["turns"]),
            ("range_of_totals", "points", one["range"]),
            ("cards_drawn", "cards", one["drawn"] / rounds / players),
        ):
            yield from mean_rows(estimand, unit, by_game.combine([weights]), level)
        yield from mean_rows("mean_total", "points", moments(sums, "totals", players), level)
        lengths = by_game.combine([one["turns"], one["drawn"], one["reshuffles"]])
        yield from mean_rows("minutes", "minutes", minutes_of(lengths, rules, assumed_seconds(experiment)), level)
        winners_of_one_side = 2 if rules.partners else 1
        yield count_row("tied_games", int(sums["winners"][winners_of_one_side + 1 :].sum()), games, level)
        yield count_row("blocked_games", int(sums["games_with_ending"][Ending.BLOCKED]), games, level)
        yield count_row("truncated_games", int(sums["games_with_ending"][Ending.TRUNCATED]), games, level)

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        from craits_sim.design import design_points

        summary = super().summarise(sums, experiment)
        # The verdicts of a run that waited for them allow for the number of tables already.
        for estimand in ("dealer_edge",) if experiment.until_decided else ("largest_edge", "dealer_edge"):
            tested = summary["estimand"] == estimand
            summary.loc[tested, "p_adjusted"] = holm(summary.loc[tested, "p_value"])
        # A difference that is no longer clear after the adjustment; that it is small needs none.
        unclear = summary["p_adjusted"] >= 1 - experiment.level
        summary.loc[unclear & (summary["verdict"] == Verdict.ADVANTAGE), "verdict"] = str(Verdict.INCONCLUSIVE)
        summary.loc[unclear & (summary["verdict"] == Verdict.REAL_BUT_NEGLIGIBLE), "verdict"] = str(Verdict.NEGLIGIBLE)
        summary.attrs["assumptions"] = assumptions(experiment)
        summary.attrs["players"] = [point.rules.players for point in design_points(experiment)]
        return summary

    def judged_point(self, sums: Mapping[str, Ints], margin: float) -> Judged:
        return Differences.of(moments(sums, "wins", WIN_UNIT / 100).deviations(), margin)

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        row = largest_row("largest_edge", "pp", moments(sums, "wins", WIN_UNIT / 100), self.margin, level)
        return float(row["ci_high"] - row["ci_low"]) / 2

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import sheet

        lines = -(-len(METRICS) // ACROSS)
        return sheet(summary, self.question, 10.0, 2.45 * lines, lambda figure: self._draw(figure, summary))

    def _draw(self, figure: "SubFigure", summary: "pd.DataFrame") -> None:
        groups = _groups(summary)
        panels = figure.subplots(-(-len(METRICS) // ACROSS), ACROSS).flat
        for panel, metric in zip(panels, METRICS, strict=True):
            self._panel(panel, metric, groups, summary)
        if len(groups) > 1:
            figure.axes[0].legend(list(groups), loc="best", fontsize=7.5)
        figure.supxlabel(
            f"Intervals: {level_text(summary['ci_level'].iloc[0])}, of the largest edge simultaneous for all seats, of "
            "shares of games exact; a triangle is the upper bound of what was never seen.\n"
            f"Minutes are no measurement, but assume {summary.attrs.get('assumptions', '')}.",
            x=0.012,
            ha="left",
            fontsize=8,
        )

    @staticmethod
    def _panel(axes: "Axes", metric: Metric, groups: Mapping[str, "pd.DataFrame"], summary: "pd.DataFrame") -> None:
        """Draw a metric against the number of players, a line for each combination of the other factors."""
        from craits_sim.plots import limits, margin_band, reference, seat_style, title

        drawn = summary[summary["estimand"] == metric.estimand]
        edge = metric.estimand in ("largest_edge", "dealer_edge")
        title(axes, metric.title, metric.unit)
        if metric.estimand == "largest_edge":
            margin = summary.attrs["margin"]
            margin_band(axes, 0, margin, vertical=False)
            axes.set_ylim(limits(drawn, -margin, margin))
        else:
            low, high = limits(drawn, *([0] if edge else []))
            axes.set_ylim(max(low, 0) if not edge else low, high)
        if edge:
            reference(axes, 0, vertical=False)
        for number, group in enumerate(groups.values()):
            rows = group[group["estimand"] == metric.estimand]
            style = seat_style(number)
            x = rows["players"] + 0.12 * (number - (len(groups) - 1) / 2)
            never = (rows["estimate"] == 0) & (rows["ci_low"] == 0)
            axes.vlines(
                x[~never], rows["ci_low"][~never], rows["ci_high"][~never], color=style["color"], alpha=0.55, lw=2.4
            )
            axes.plot(x[~never], rows["estimate"][~never], **style | {"linewidth": 0.8, "markersize": 4.5})
            if len(groups) == 1 and len(rows) <= MOST_NAMED:
                _name_dots(axes, rows)
            axes.plot(
                x[never],
                rows["ci_high"][never],
                marker="v",
                color=style["color"],
                linestyle="none",
                markerfacecolor="white",
            )
        sizes = sorted(set().union(*(group["players"] for group in groups.values())))
        axes.set_xticks(sizes, [f"{size}" for size in sizes])
        axes.set_xlabel("players")
        axes.set_xlim(sizes[0] - 0.5, sizes[-1] + 0.5)
        axes.grid(axis="x", visible=False)

    def conclude(self, summary: "pd.DataFrame") -> str:
        lines = [
            f"{label}: {_sentence(group)}" if label else _sentence(group) for label, group in _groups(summary).items()
        ]
        return "\n".join([*lines, *[BOTS_MATTER] * bots_matter(summary)])


def _groups(summary: "pd.DataFrame") -> dict[str, "pd.DataFrame"]:
    """Split a summary by the factors other than the players, each with a label and with a column ``players``."""
    from craits_sim.plots import factor_columns

    if "players" not in summary:
        summary = summary.assign(
            players=np.repeat(summary.attrs["players"], len(summary) // len(summary.attrs["players"]))
        )
    others = [name for name in factor_columns(summary) if name != "players" and name in summary]
    if not others:
        return {"": summary}
    groups = {}
    for levels, group in summary.groupby(others, sort=False, dropna=False):
        group.attrs.update(summary.attrs)
        groups[levels_text(dict(zip(others, levels, strict=True)))] = group
    return groups


def _name_dots(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Write its figure above each interval, or the bound of what was never seen."""
    from matplotlib.patheffects import withStroke

    for row, text in zip(rows.to_dict("records"), texts(rows), strict=True):
        never = row["estimate"] == 0 and row["ci_low"] == 0
        axes.annotate(
            f"< {row['ci_high']:.2g}" if never else text.replace("-", "\N{MINUS SIGN}"),
            (row["players"], row["ci_high"]),
            (0, 5),
            textcoords="offset points",
            ha="center",
            fontsize=8,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],  # it may stand on a line
        )


def _choice_row(by_game: Moments, choices: Floats, turns: Floats, level: float) -> Row:
    """Give the share of all turns in which the seat had more than one playable card."""
    share, se = ratio_of_means(by_game, choices, turns)
    low, high = share_interval(share, se, by_game.games, level).times(100)
    return {
        "estimand": "choice_share",
        "unit": "% of turns",
        "estimate": 100 * share,
        "se": 100 * se,
        "ci_low": float(low),
        "ci_high": float(high),
        "ci_level": level,
        "ci_kind": "clustered",
        "n": by_game.games,
    }


def _sentence(group: "pd.DataFrame") -> str:
    """Conclude for one combination of the other factors."""
    table = {name: rows.to_dict("records") for name, rows in group.groupby("estimand", sort=False)}
    edges = table["largest_edge"]
    sizes, games = listed([f"{row['players']}" for row in edges]), edges[0]["n"]
    verdicts: dict[str, list[str]] = {}
    for row in edges:
        verdicts.setdefault(verdict_text(row, " pp", "advantage"), []).append(f"{row['players']}")
    level = level_text(edges[0]["ci_level"])
    adjusted = "" if edges[0]["ci_kind"] == "sequence" else ", tests adjusted by Holm"
    ends = [
        f"{number_text(row['estimate'], row['se'], signed=True)} "
        f"({interval_text(row['ci_low'], row['ci_high'], row['se'], signed=True)})"
        for row in edges
    ]
    text = (
        f"With {sizes} players a game takes {_series(table['turns_per_game'])} turns, which is "
        f"{_series(table['minutes'], whole=True)} minutes if one assumes {group.attrs.get('assumptions', '')}; "
        f"{_series(table['choice_share'])}% of the turns leave a real choice. The largest edge of a seat is "
        f"{listed(ends)} pp of win share ({level} simultaneous intervals{adjusted}): "
        f"{'; '.join(f'with {listed(of)} players {words}' for words, of in verdicts.items())}. "
    )
    outcomes = {"tied_games": "tied for the win", "blocked_games": "with a blocked round"}
    if any(row["estimate"] for row in table["truncated_games"]):
        outcomes["truncated_games"] = "with a round cut at the turn cap"
    seen = []
    for estimand, words in outcomes.items():
        rows = table[estimand]
        never = all(row["estimate"] == 0 for row in rows)
        seen.append(f"{words}: " + (zero_event_text(games, edges[0]["ci_level"]) if never else f"{_series(rows)}%"))
    return f"{text}Games {'; '.join(seen)}; {counted(games, 'game')} for each number of players."


def _series(rows: list[dict[str, Any]], whole: bool = False) -> str:
    """Write the estimates of all numbers of players, like ``51.2, 43.1 and 40.2``."""
    se = max(row["se"] for row in rows)
    return listed([number_text(row["estimate"], max(se, 1.0) if whole else se) for row in rows])
