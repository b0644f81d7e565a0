"""How big do the penalties of cranks get, and who pays them?

The size of a crank is the count that it ended with (RULES.md R14 to R16): what the player draws who cannot answer, as
far as there are cards. Some end unpaid: a crank that comes back to who last added to it, or is cut with its round.
The cranks of a game depend on each other, so that every interval resamples or clusters whole games.
"""

from collections.abc import Iterator, Mapping
from math import nan
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.results import CRANK_SIZES as SIZES
from craits_sim.results import Batch
from craits_sim.sequential import Differences, Judged
from craits_sim.stats import (
    Moments,
    bootstrap_ratio,
    clopper_pearson,
    counted,
    interval_text,
    mean_interval,
    number_text,
    quantile_from_histogram,
    quantile_interval_from_histogram,
    ratio_of_means,
    zero_event_text,
)
from craits_sim.studies.base import (
    Ints,
    Points,
    Row,
    SideBySideStudy,
    Sums,
    cross_sums,
    largest_row,
    level_text,
    mean_rows,
    moments,
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

COUNT_BINS = 512
"""Cranks of a game that are counted one by one; the last bin of a histogram also holds games with more."""

QUANTILES = (0.5, 0.9, 0.95, 0.99)


class CrankStudy(SideBySideStudy):
    """The distribution of the sizes of cranks, of the largest one in a game, and who draws the cards."""

    name = "crank"
    question = "How big do the penalties of cranks get, and who pays?"
    margin = 0.1
    margin_unit = "cards a round"
    default_games = 100_000
    headline_name = "cards drawn for cranks, a round"
    details = True

    def tally_point(self, batch: Batch) -> Sums:
        games = len(batch.crank_sizes)
        at_least = np.zeros((games, SIZES), np.int32, order="F")
        games_with = np.zeros((SIZES, COUNT_BINS), np.int64)
        games_with[:, 0] = games
        reached = np.zeros(games, np.int32)
        for size in reversed(range(SIZES)):
            reached += batch.crank_sizes[:, size]
            if reached.any():
                at_least[:, size] = reached
                games_with[size] = np.bincount(np.minimum(reached, COUNT_BINS - 1), minlength=COUNT_BINS)
        largest = np.minimum(batch.largest_crank.max(axis=1), SIZES - 1)
        return {
            "games": np.array([games], np.int64),
            "rounds": np.array([batch.cranks.size], np.int64),
            **cross_sums("at_least", at_least),
            "games_with": games_with,
            "largest": np.bincount(largest, minlength=SIZES),
            **cross_sums("rounds_with", (batch.cranks > 0).sum(axis=1, keepdims=True)),
            **cross_sums("paid", batch.crank_paid.sum(axis=1)),
        }

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        level, games, rounds = experiment.level, int(sums["games"][0]), len(point.rules.deals)
        margin = self.margin if experiment.margin is None else experiment.margin
        at_least = moments(sums, "at_least")

        yield from mean_rows("rounds_with_a_crank", "% of rounds", moments(sums, "rounds_with", rounds / 100), level)
        if sums["at_least"][0]:
            yield from self._size_rows(sums, at_least, level, experiment.seed)
        yield from _largest_rows(sums["largest"], games, level)

        paid = moments(sums, "paid", rounds)
        offsets = {"offset": np.arange(len(paid.mean))}
        yield from mean_rows("cards_paid", "cards a round", paid.combine(np.ones((1, len(paid.mean)))), level)
        yield largest_row("largest_difference", "cards a round", paid, margin, level, "offset")
        yield from mean_rows("paid", "cards a round", paid, level, **offsets)
        yield from mean_rows("paid_difference", "cards a round", paid.deviations(), level, **offsets, reference=0.0)

    @staticmethod
    def _size_rows(sums: Mapping[str, Ints], at_least: Moments, level: float, seed: int) -> Iterator[Row]:
        """Give the mean, the quantiles and the survival curve of the sizes."""
        games, cranks = at_least.games, int(sums["at_least"][0])
        every = np.eye(SIZES)[0]
        base: Row = {"ci_level": level, "n": games}
        # The mean of whole numbers is the sum of their survival curve from 1 on.
        mean, se = ratio_of_means(at_least, 1 - every, every)
        low, high = map(float, mean_interval(mean, se, games, level))
        yield base | {
            "estimand": "mean_size",
            "unit": "cards",
            "estimate": mean,
            "se": se,
            "ci_low": low,
            "ci_high": high,
            "ci_kind": "clustered",
        }

        histogram = -np.diff(sums["at_least"], append=0)
        shares, errors = np.array([ratio_of_means(at_least, row, every) for row in np.eye(SIZES)]).T
        for q in QUANTILES:
            value = quantile_from_histogram(histogram, q)
            above, error = shares[min(value + 1, SIZES - 1)], errors[min(value + 1, SIZES - 1)]
            independent = above * (1 - above) / cranks
            effect = max(error**2 / independent, 1e-6) if independent > 0 and error == error else 1.0
            interval = quantile_interval_from_histogram(histogram, q, level, effect)
            # The last size stands for larger ones too: an end there is not known.
            ends = [float(end) if end < SIZES - 1 else nan for end in interval]
            yield base | {
                "estimand": "size_quantile",
                "quantile": q,
                "unit": "cards",
                "estimate": float(value),
                "se": nan,
                "ci_low": ends[0],
                "ci_high": ends[1],
                "ci_kind": "clustered",
            }

        random = np.random.default_rng(seed)
        smallest, largest = np.flatnonzero(histogram)[[0, -1]]
        for size in range(smallest, largest + 1):
            of_size = at_least.combine([np.eye(SIZES)[size], every])
            interval = bootstrap_ratio(sums["games_with"][size], of_size, level, random).times(100)
            yield base | {
                "estimand": "size_at_least",
                "size": size,
                "unit": "% of cranks",
                "estimate": 100 * shares[size],
                "se": 100 * errors[size],
                "ci_low": float(interval.low),
                "ci_high": float(interval.high),
                "ci_kind": "bootstrap over games",
            }

    def judged_point(self, sums: Mapping[str, Ints], margin: float) -> Judged:
        rounds = int(sums["rounds"][0]) / int(sums["games"][0])
        return Differences.of(moments(sums, "paid", rounds).deviations(), margin)

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        paid, players = moments(sums, "paid"), len(sums["paid"])
        total = paid.combine(np.ones((1, players)))
        low, high = mean_interval(total.mean, total.se, total.games, level)
        return float(high[0] - low[0]) / 2 / (int(sums["rounds"][0]) / total.games)

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        return summary[summary["size"].isna()] if "size" in summary else summary

    def height(self, part: "pd.DataFrame") -> float:
        return self.height_side_by_side([("", part)])

    def draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        self._draw(figure, [("", part)], summary)

    def height_side_by_side(self, points: Points) -> float:
        return sum(self._heights(points))

    def draw_side_by_side(self, figure: "SubFigure", points: Points) -> None:
        import pandas as pd

        self._draw(figure, points, pd.concat([part for _, part in points]))

    @staticmethod
    def _heights(points: Points) -> tuple[float, float]:
        """Give the heights of the curves, and of the panel of payers below them."""
        seats = sum((part["estimand"] == "paid").sum() for _, part in points)
        return 3.9, 1.0 + 0.32 * seats + 0.45 * len(points) * (len(points) > 1)

    def _draw(self, figure: "SubFigure", points: Points, summary: "pd.DataFrame") -> None:
        from craits_sim.plots import legend, title

        level = level_text(summary["ci_level"].iloc[0])
        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=self._heights(points)).flat
        every, largest = upper.subplots(1, 2)
        title(every, "Every crank", f"share that ends with this count or more\n{level} bands, bootstrap over games")
        title(
            largest,
            "Largest crank of a game",
            f"share of games with one of this size or more\nexact {level} bands · triangle: upper bound, never seen",
        )
        for axes, estimand in ((every, "size_at_least"), (largest, "largest_at_least")):
            self._curves(axes, points, summary, estimand)
        every.set_ylabel("% (logarithmic)")
        if len(points) > 1:
            legend(upper, [label for label, _ in points])
        self._payers(lower.subplots(), points, summary, level)

    @staticmethod
    def _curves(axes: "Axes", points: Points, summary: "pd.DataFrame", estimand: str) -> None:
        """Draw a survival curve for each design point; a mark below stands for the bound of what was never seen."""
        from craits_sim.plots import seat_style

        drawn = summary[summary["estimand"] == estimand]
        shown = drawn["estimate"].where(drawn["estimate"] > 0, drawn["ci_high"])
        floor = shown.min() / 3 if len(shown) else 0.1
        for number, (_, part) in enumerate(points):
            rows = part[(part["estimand"] == estimand) & (part["estimate"] > 0)]
            style = seat_style(number)
            sizes = rows["size"].astype(float)
            axes.plot(sizes, rows["estimate"], markersize=3.5, **style)
            low = rows["ci_low"].clip(lower=floor)
            axes.fill_between(sizes, low, rows["ci_high"], color=style["color"], alpha=0.2, linewidth=0)
            for row in part[(part["estimand"] == estimand) & (part["estimate"] == 0)].to_dict("records"):
                axes.plot(row["size"], row["ci_high"], marker="v", color=style["color"], markerfacecolor="white")
            if len(points) == 1:
                _mark_sizes(axes, rows)
        axes.set_yscale("log")
        axes.set_ylim(floor, 180)
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.set_xlabel("count of the crank, cards")
        axes.set_xlim(0, 1.12 * max(drawn["size"].max(), 4) if len(drawn) else 4)

    @staticmethod
    def _payers(axes: "Axes", points: Points, summary: "pd.DataFrame", level: str) -> None:
        from craits_sim.plots import Block, dot_blocks, limits, margin_band, reference, title

        margin = summary.attrs["margin"]
        title(
            axes,
            "Cards that a seat draws for cranks, against the mean of all seats",
            f"fewer is better · {level} intervals · band: margin ± {margin:g}",
        )
        margin_band(axes, 0, margin)
        reference(axes, 0, vertical=True)
        blocks = []
        for label, part in points:
            rows = part[part["estimand"] == "paid_difference"]
            names = ["dealer", "plays first", *(f"offset {offset}" for offset in range(2, len(rows)))]
            blocks.append(Block(label, rows, names, texts(rows, signed=True)))
        dot_blocks(axes, blocks, headings=len(points) > 1)
        axes.set_xlim(limits(summary[summary["estimand"] == "paid_difference"], -margin, margin))
        axes.set_xlabel("cards a round")

    def sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        share = table["rounds_with_a_crank"][0]
        text = f"{with_interval(share, '%')} of rounds have a crank; {counted(share['n'], 'game')}. "
        if "mean_size" not in table:
            return f"{text}No crank was seen: {zero_event_text(share['n'], share['ci_level'])}."
        quantiles = {row["quantile"]: row for row in table["size_quantile"]}
        half, most, nearly, rare = (quantiles[q] for q in QUANTILES)
        text += (
            f"A crank costs {with_interval(table['mean_size'][0], ' cards')} on average, half of them up to "
            f"{half['estimate']:.0f}, 90% up to {most['estimate']:.0f}, 95% up to {nearly['estimate']:.0f} and 99% "
            f"up to {rare['estimate']:.0f}. {_largest_text(table['largest_at_least'])} {_payer_text(table)}"
        )
        return text

    def short_sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        if "mean_size" not in table:
            return f"no crank: {zero_event_text(table['paid'][0]['n'], table['paid'][0]['ci_level'])}."
        rare = next(row for row in table["size_quantile"] if row["quantile"] == max(QUANTILES))
        share = table["rounds_with_a_crank"][0]
        return (
            f"{number_text(share['estimate'], share['se'])}% of rounds have a crank, which costs "
            f"{with_interval(table['mean_size'][0], ' cards')} on average, and at most {rare['estimate']:.0f} in 99%. "
            f"{_payer_text(table)}"
        )

    def answers(self, part: "pd.DataFrame") -> list[Answer]:
        (paid,) = part[part["estimand"] == "cards_paid"].to_dict("records")
        return [Answer("the number of cards drawn for cranks", paid["estimate"], paid["se"], " cards a round", False)]


def _largest_rows(histogram: Ints, games: int, level: float) -> Iterator[Row]:
    """Give the share of games whose largest crank has at least each size, up to the first that was never seen."""
    reached = histogram[::-1].cumsum()[::-1]
    for size in range(1, min(int(np.flatnonzero(histogram)[-1]) + 2, SIZES)):
        share = int(reached[size]) / games
        low, high = clopper_pearson(reached[size], games, level).times(100)
        yield {
            "estimand": "largest_at_least",
            "size": size,
            "unit": "% of games",
            "estimate": 100 * share,
            "se": 100 * float(np.sqrt(share * (1 - share) / games)),
            "ci_low": float(low),
            "ci_high": float(high),
            "ci_level": level,
            "ci_kind": "exact",
            "n": games,
        }


def _mark_sizes(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Write beside a curve how large the largest tenth, hundredth and thousandth are."""
    from craits_sim.plots import INK

    for percent in (10, 1, 0.1):
        reached = rows[rows["estimate"] >= percent]
        if len(reached) and rows["estimate"].min() < percent:
            row = reached.iloc[-1]
            axes.plot(row["size"], row["estimate"], marker="o", color=INK, zorder=4)
            axes.annotate(
                f"{row['estimate']:.2g}%: {row['size']} or more",
                (row["size"], row["estimate"]),
                (9, 3),
                textcoords="offset points",
                fontsize=8.5,
            )


def _largest_text(rows: list[dict[str, Any]]) -> str:
    """Say what the largest crank of half of the games is, and the largest of all."""
    common = [row for row in rows if row["estimate"] >= 50]
    *_, largest = [row for row in rows if row["estimate"] > 0]
    interval = interval_text(largest["ci_low"], largest["ci_high"], largest["se"])
    share = f"{number_text(largest['estimate'], largest['se'])}%, {interval},"
    half = f"Half of the games have one of {common[-1]['size']} or more; the" if common else "The"
    return f"{half} largest seen has {largest['size']} (in {share} of games)."


def _payer_text(table: Mapping[str, list[Any]]) -> str:
    """Say which offset draws most for cranks, and whether it matters."""
    judged, paid = table["largest_difference"][0], table["paid"]
    payer = max(paid, key=lambda row: row["estimate"])
    name = {0: "The dealer", 1: "Who plays first"}.get(payer["offset"], f"Offset {payer['offset']}")
    return (
        f"{name} draws most for them, {with_interval(payer, ' cards a round')}. Verdict: "
        f"{verdict_text(judged, ' cards a round', 'difference')} between the seats."
    )
