"""Can it get stuck, and why? Games with a round that was blocked or cut at the turn cap (RULES.md R13), by cause.

A round that is cut has one of two causes. Either it went in circles: the stock ran dry so often that a reshuffle
brought fewer than `FEW_CARDS` cards on average, because nearly every card was in a hand. Or it was only long: there
were cards to draw, and nobody went out before the cap. Shares are of games, with exact intervals, because the rounds of
a game may depend on each other.
"""

from collections.abc import Iterator, Mapping
from math import ceil, log
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.results import Batch, Ending
from craits_sim.sequential import Judged, RareShare
from craits_sim.stats import (
    Verdict,
    binomial_below_p_value,
    clopper_pearson,
    counted,
    interval_text,
    number_text,
    round_up,
    verdict,
    zero_event_text,
)
from craits_sim.studies.base import (
    Ints,
    PointStudy,
    Row,
    Sums,
    count_row,
    level_text,
    table_sizes,
    verdict_text,
)
from craits_sim.studies.factors import BOTS_MATTER, bots_matter
from craits_sim.text import levels_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules

FEW_CARDS = 2

CAUSES = {
    "blocked_games": "blocked: nobody could play or draw",
    "circling_games": "cut, going in circles: stock empty, nearly every card in a hand",
    "long_games": "cut, but only long: there were cards to draw",
}

ACROSS = 2


class StalemateStudy(PointStudy):
    """Shares of games that get stuck, by cause, over players, reshuffling and ways to draw."""

    name = "stalemate"
    question = "Can it get stuck, and why?"
    margin = 0.1
    margin_unit = "% of games"
    most_margin = 100
    default_games = 20_000
    headline_name = "games that get stuck, %"

    def default_vary(self, rules: "Rules") -> dict[str, list[Any]]:
        return {
            "players": table_sizes(rules),
            "stock.reshuffle": [True, False],
            "draw.until_playable": [False, True],
        }

    def tally_point(self, batch: Batch) -> Sums:
        cut = batch.ending == Ending.TRUNCATED
        circling = cut & (batch.drawn < FEW_CARDS * batch.reshuffles)
        by_cause = (batch.ending == Ending.BLOCKED, circling, cut & ~circling)
        games = [np.count_nonzero(rounds.any(axis=1)) for rounds in (*by_cause, np.logical_or.reduce(by_cause))]
        return {"games": np.array([len(cut)], np.int64), "games_with": np.array(games, np.int64)}

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        games, level = int(sums["games"][0]), experiment.level
        margin = self.margin if experiment.margin is None else experiment.margin
        *causes, stuck = map(int, sums["games_with"])
        yield _judged(count_row("stuck_games", stuck, games, level), stuck, margin)
        for estimand, count in zip(CAUSES, causes, strict=True):
            yield count_row(estimand, count, games, level)

    def judged_point(self, sums: Mapping[str, Ints], margin: float) -> Judged:
        return RareShare(int(sums["games_with"][-1]), int(sums["games"][0]), margin)

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        low, high = clopper_pearson(sums["games_with"][-1], int(sums["games"][0]), level)
        return 50 * float(high - low)

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import sheet

        panels = _split(summary)
        lines = max(len(lines) for _, lines in panels)
        height = 0.75 + -(-len(panels) // ACROSS) * (0.95 + 0.52 * lines)
        return sheet(summary, self.question, 10.0, height, lambda figure: self._draw(figure, summary))

    def _draw(self, figure: "SubFigure", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import legend, title

        panels = _split(summary)
        legend(figure, list(CAUSES.values()))
        figure.supxlabel(
            f"Exact {level_text(summary['ci_level'].iloc[0])} intervals; an arrow starts at the upper bound of what "
            f"was never seen. Dashed: the margin of {summary.attrs['margin']:g}%.",
            x=0.012,
            ha="left",
            fontsize=8,
        )
        shown = summary[["ci_low", "ci_high"]].to_numpy()
        left = shown[shown > 0].min() / 10
        across = min(ACROSS, len(panels))
        cells = figure.subplots(-(-len(panels) // across), across, squeeze=False, sharex=True, sharey=True).flat
        for cell, (label, lines) in zip(cells, panels, strict=False):
            title(cell, label or "Games with such a round")
            self._panel(cell, lines, summary.attrs["margin"], left)
        for cell in figure.axes[len(panels) :]:
            cell.set_visible(False)
        for cell in figure.axes[: len(panels)][-across:]:
            cell.tick_params(labelbottom=True)
            cell.set_xlabel("% of games (logarithmic)")

    @staticmethod
    def _panel(axes: "Axes", lines: Mapping[str, "pd.DataFrame"], margin: float, left: float) -> None:
        """Draw a line for each combination of factors, with the causes below each other in it."""
        from craits_sim.plots import reference, share_or_bound

        reference(axes, margin, vertical=True)
        for place, rows in enumerate(lines.values()):
            for number, estimand in enumerate(CAUSES):
                (row,) = rows[rows["estimand"] == estimand].to_dict("records")
                height = place + 0.26 * (number - 1)
                if share_or_bound(axes, row, height, number):
                    axes.annotate(
                        f"{number_text(row['estimate'], row['se'])}%",
                        (row["ci_low"], height),
                        (-6, 0),
                        textcoords="offset points",
                        ha="right",
                        va="center",
                        fontsize=8,
                    )
            if place:
                axes.axhline(place - 0.5, color="#e6eaee", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlim(left, 130)
        axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_yticks(range(len(lines)), [label.replace(", ", "\n") for label in lines])
        axes.set_ylim(len(lines) - 0.5, -0.5)
        axes.tick_params(axis="y", length=0)
        axes.grid(axis="y", visible=False)

    def conclude(self, summary: "pd.DataFrame") -> str:
        from craits_sim.plots import factor_columns, parts

        stuck = summary[summary["estimand"] == "stuck_games"]
        first = stuck.iloc[0]
        if len(stuck) == 1:
            causes = summary[summary["estimand"].isin(CAUSES)].to_dict("records")
            text = f"Games that get stuck: {_share_text(first)}. Verdict: {verdict_text(first, '%', 'risk')}"
            if first["estimate"]:
                text += "; " + "; ".join(f"{CAUSES[row['estimand']]}: {_share_text(row)}" for row in causes)
            return f"{text}; {counted(int(first['n']), 'game')}, exact {level_text(first['ci_level'])} intervals."
        labels = dict(zip(stuck.index, [label for label, _ in parts(summary)], strict=True))
        worst = stuck.loc[stuck["estimate"].idxmax()]
        lines = [
            f"Games get stuck in {_count(stuck['estimate'] > 0)} of {len(stuck)} design points, most often with "
            f"{labels[worst.name]}: {_share_text(worst)}."
            if worst["estimate"]
            else f"No game got stuck at any of {len(stuck)} design points: at each, {_share_text(worst)}."
        ]
        for factor in factor_columns(summary):
            ranges = [
                f"{_range_text(rows)} with {levels_text({factor: value})}"
                for value, rows in stuck.groupby(factor, sort=False, dropna=False)
            ]
            lines.append(f"By {factor}: {'; '.join(ranges)}.")
        lines.append(_causes_text(summary))
        verdicts = [
            f"{words} at {_count(stuck['verdict'] == kind)}"
            for kind, words in _VERDICTS.items()
            if (stuck["verdict"] == kind).any()
        ]
        lines.append(
            f"Verdicts against the margin of {first['margin']:g}% of games: {', '.join(verdicts)} of {len(stuck)} "
            f"design points; {counted(int(first['n']), 'game')} at each, "
            f"exact {level_text(first['ci_level'])} intervals." + f" {BOTS_MATTER}" * bots_matter(summary)
        )
        return "\n".join(lines)


_VERDICTS = {
    Verdict.ADVANTAGE: "it happens, and was not shown to be rarer than that",
    Verdict.REAL_BUT_NEGLIGIBLE: "it happens, but more rarely",
    Verdict.NEGLIGIBLE: "never seen, and shown to be rarer",
    Verdict.INCONCLUSIVE: "never seen, in too few games to tell",
}


def _judged(row: Row, count: int, margin: float) -> Row:
    """Add the verdict on a share: seen once it is real, and it is negligible if shown to be below the margin."""
    games, level = row["n"], row["ci_level"]
    p_small = binomial_below_p_value(count, games, margin / 100)
    decision = verdict(0.0 if count else 1.0, p_small, level)
    needed = ceil(log(1 - level) / log(1 - margin / 100))
    return row | {
        "margin": margin,
        "verdict": str(decision),
        "games_needed": round_up(needed) if decision == Verdict.INCONCLUSIVE else None,
    }


def _split(summary: "pd.DataFrame") -> list[tuple[str, dict[str, "pd.DataFrame"]]]:
    """Split a summary into panels by players, each with its lines by the other factors."""
    from craits_sim.plots import factor_columns

    factors = factor_columns(summary)
    others = [name for name in factors if name != "players"]
    panels = summary.groupby("players", sort=False) if "players" in factors else [("", summary)]
    split = []
    for players, panel in panels:
        lines = {"": panel}
        if others:
            lines = {
                levels_text(dict(zip(others, levels, strict=True))): rows
                for levels, rows in panel.groupby(others, sort=False, dropna=False)
            }
        split.append((f"{players} players" if players != "" else "", lines))
    return split


def _share_text(row: Mapping[str, Any]) -> str:
    if row["estimate"] == 0 and row["ci_kind"] == "sequence":
        return f"none in {counted(int(row['n']), 'game')} (< {row['ci_high']:.2g}%)"
    if row["estimate"] == 0:
        return zero_event_text(int(row["n"]), row["ci_level"])
    return f"{number_text(row['estimate'], row['se'])}% ({interval_text(row['ci_low'], row['ci_high'], row['se'])})"


def _range_text(rows: "pd.DataFrame") -> str:
    """Write the smallest and the largest share of some design points."""
    ends = [number_text(row["estimate"], row["se"]) for row in rows.sort_values("estimate").to_dict("records")]
    if rows["estimate"].max() == 0:
        return "none"
    return f"{ends[0]}% to {ends[-1]}%" if ends[0] != ends[-1] else f"{ends[0]}%"


def _causes_text(summary: "pd.DataFrame") -> str:
    """Say at how many design points each cause was seen, and how often at most."""
    seen = []
    for estimand, words in CAUSES.items():
        rows = summary[summary["estimand"] == estimand]
        worst = rows.loc[rows["estimate"].idxmax()]
        points = _count(rows["estimate"] > 0)
        seen.append(f"{words}: " + (f"at {points}, up to {_share_text(worst)}" if worst["estimate"] else "never"))
    return f"Causes: {'; '.join(seen)}."


def _count(mask: "pd.Series") -> int:
    return int(mask.sum())
