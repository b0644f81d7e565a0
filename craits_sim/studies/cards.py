"""Which card is good to be dealt? What a rank in the opening hand is worth in points, by the number of cards dealt.

For each hand size, over all games, rounds and seats::

    y = a + sum over ranks of worth(rank) x count(rank) + error,   sum of worth(rank) = 0

where y is the points that a seat gets in the round less the mean of the others' (fewer is better), and count is how
many cards of a rank it was dealt. The counts add up to the hand size, so that only differences between ranks can be
told: the worth of a rank is what a card of it brings in the place of an average card. Deals are random, so that this
is what the card does, and no mere correlation; it includes that the others are a little less likely to have been
dealt its like.

The normal equations are summed exactly, in whole numbers. The rounds and seats of a game depend on each other: errors
are those of a sandwich clustered by game (Liang, Zeger 1986, Longitudinal data analysis using generalized linear
models, Biometrika 73(1)), for which the products of all sums of one game are added up too.

*The swap check* asks the same of play that is not regressed on anything. Every game is played a second time under
rules in which two ranks (`EXCHANGED`) have each other's ability, points, and place among the wild cards and those not
to be turned up: same deals, but who was dealt kings now holds what were eights, and the other way round. A seat that
was dealt d more kings than eights thereby gets d eights in the place of kings; the slope of how its y changes on d, a
paired difference over the same deals, must be the worth of an eight less that of a king. The regression knows nothing
of the second game, and the slope nothing of other ranks: that both agree is a check of the line through the counts.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from craits_sim.cards import RANKS
from craits_sim.results import Batch
from craits_sim.sequential import Judged
from craits_sim.stats import (
    Floats,
    Moments,
    counted,
    difference_p_value,
    holm,
    mean_interval,
    number_text,
    simultaneous_level,
)
from craits_sim.studies.base import (
    Ints,
    PointStudy,
    Row,
    Sums,
    cross_sums,
    level_text,
    mean_rows,
    moments,
    rows_of,
    with_interval,
)
from craits_sim.studies.factors import Answer, dependence

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules

EXCHANGED = ("8", "K")
"""Two ranks that trade places in the swap check: the card that does most in classic, and one that does nothing."""

MOST_SIZES = 8
"""Hand sizes that a chart has room for."""

_PAIRS = np.triu_indices(len(RANKS))


class CardsStudy(PointStudy):
    """The worth of each rank in the opening hand, by the number of cards dealt."""

    name = "cards"
    question = "Which card is good to be dealt, and which is not?"
    margin = 1.0
    margin_unit = "points a round"
    default_games = 50_000
    examples = ("--bots greedy", '--players 2 --vary \'bots=["random", "greedy"]\'')
    headline_name = "worth of a rank, points"
    no_verdict = "says what each rank is worth, and judges none of them"
    details = True

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        return tuple(
            point._replace(rules=rules, factors=point.factors | {"exchanged": done})
            for point in super().design(experiment, max_points)
            for done, rules in ((False, point.rules), (True, exchanged(point.rules, *EXCHANGED)))
        )

    def tally(self, batches: Sequence[Batch]) -> Sums:
        return {
            f"{number}.{name}": values
            for number in range(len(batches) // 2)
            for name, values in _tally_pair(batches[2 * number], batches[2 * number + 1]).items()
        }

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        level = experiment.level
        for size in sorted(set(point.rules.deals), reverse=True):
            fit = Fit.of(sums, size)
            p_values = difference_p_value(fit.worth.mean, fit.worth.se)
            interval = mean_interval(
                fit.worth.mean, fit.worth.se, fit.worth.games, simultaneous_level(level, len(RANKS))
            )
            yield from rows_of(
                "worth",
                "points",
                fit.worth,
                interval,
                level,
                "simultaneous",
                rank=np.array(RANKS),
                deal_size=size,
                reference=0.0,
                p_value=p_values,
                p_adjusted=holm(p_values),
            )
            yield from mean_rows("swap_regressed", "points", fit.swap.combine([[1, 0]]), level, deal_size=size)
            yield from mean_rows("swap_played", "points", fit.swap.combine([[0, 1]]), level, deal_size=size)
            difference = fit.swap.combine([[-1, 1]])
            yield from mean_rows(
                "swap_difference",
                "points",
                difference,
                level,
                deal_size=size,
                reference=0.0,
                p_value=difference_p_value(difference.mean, difference.se),
            )

    def judged(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Sequence[Judged]:
        return ()

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        widths = []
        for size in (int(name.removeprefix("size_")) for name in sums if name.removeprefix("size_").isdigit()):
            worth = Fit.of(sums, size).worth
            low, high = mean_interval(worth.mean, worth.se, worth.games, simultaneous_level(level, len(RANKS)))
            widths.append(float(np.max(high - low)) / 2)
        return max(widths)

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        sizes = summary["deal_size"]
        return summary[sizes.isin([sizes.max(), sizes.min()])]

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import facets

        sizes = min(summary["deal_size"].nunique(), MOST_SIZES)
        return facets(summary, self.question, max(3.2 * -(-sizes // _lines(sizes)), 6.5), self._height, self._draw)

    @staticmethod
    def _height(part: "pd.DataFrame") -> float:
        return 0.5 + 4.4 * _lines(min(part["deal_size"].nunique(), MOST_SIZES))

    @staticmethod
    def _draw(figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import limits, margin_band, reference, title

        worth = part[part["estimand"] == "worth"]
        sizes = _drawn(_sizes(worth))
        lines = _lines(len(sizes))
        panels = figure.subplots(lines, -(-len(sizes) // lines), squeeze=False, sharey=True)
        margin, level = summary.attrs["margin"], level_text(worth["ci_level"].iloc[0])
        reach = limits(summary[(summary["estimand"] == "worth") & summary["deal_size"].isin(sizes)], -margin, margin)
        for axes, size in zip(panels.flat, sizes, strict=False):
            title(axes, f"{counted(size, 'card')} dealt", f"{level} simultaneous intervals\nband: margin ± {margin:g}")
            margin_band(axes, 0, margin)
            reference(axes, 0, vertical=True)
            _dots(axes, worth[worth["deal_size"] == size])
            axes.set_xlim(reach)
        for axes in panels.flat[len(sizes) :]:
            axes.set_axis_off()
        figure.supxlabel(
            "points a round that a card of this rank brings in the place of an average card (fewer is better)",
            fontsize=8.5,
        )

    def conclude(self, summary: "pd.DataFrame") -> str:
        from craits_sim.plots import parts

        points = list(parts(summary))
        lines = [f"{label}: {_sentence(part)}" if label else _sentence(part) for label, part in points]
        if len(points) > 1:
            lines += dependence(summary, [_answers(part) for _, part in points])
        games, level = summary["n"].iloc[0].item(), level_text(summary["ci_level"].iloc[0])
        return "\n".join([*lines, f"{counted(games, 'game')}; {level} intervals, clustered by game."])


# --- Numbers -----------------------------------------------------------------------------------------------------


def exchanged(rules: "Rules", first: str, second: str) -> "Rules":
    """Give the rules in which two ranks have each other's ability and points, and take each other's place in lists.

    Raises
    ------
    RulesError
        If such rules cannot be played.
    """
    other = {first: second, second: first}
    changes: dict[str, Any] = {}
    for key, value in rules.by_key().items():
        table, _, rank = key.rpartition(".")
        if table in ("abilities", "points") and rank in other:
            changes[f"{table}.{other[rank]}"] = value
        elif key in ("wild", "starter.redraw"):
            changes[key] = [other.get(rank, rank) for rank in value]
    return rules.with_changes(changes)


def _tally_pair(base: Batch, swapped: Batch) -> Sums:
    """Sum up, by hand size, the normal equations of the base and those of the swap check, of one game each.

    A game has, in this order: the products of the counts of each two ranks, those of the counts and y, the sum of d²
    and that of d times the change of y; y counts in 1/(n - 1) points.
    """
    # Games come last, as they lie in memory: every sum over rounds and seats runs along them.
    dealt = base.dealt.T  # offset, round, game
    counts = np.stack([dealt >> 4 * rank & 15 for rank in range(len(RANKS))]).astype(np.float64)
    relative, again = _relative(base), _relative(swapped)
    first, second = map(RANKS.index, EXCHANGED)
    players, _, games = relative.shape
    sizes = counts[:, 0, :, 0].sum(axis=0).astype(int)
    sums: Sums = {"games": np.array([games], np.int64), "others": np.array([games * (players - 1)], np.int64)}
    for size in sorted(set(sizes.tolist())):
        rounds = sizes == size
        x, y = counts[:, :, rounds].reshape(len(RANKS), -1, games), relative[:, rounds].reshape(-1, games)
        change, surplus = again[:, rounds].reshape(-1, games) - y, x[second] - x[first]
        products = [(x[i], x[j]) for i, j in zip(*_PAIRS, strict=True)]
        products += [*((of_rank, y) for of_rank in x), (surplus, surplus), (surplus, change)]
        by_game = np.stack([np.einsum("mg,mg->g", one, other) for one, other in products])
        sums |= cross_sums(f"size_{size}", by_game.T)
    return sums


def _relative(batch: Batch) -> Floats:
    """Give the points of each seat less the mean of the others', in 1/(n - 1) points, shape (S, R, G)."""
    points = batch.points.T.astype(np.float64)
    return len(points) * points - points.sum(axis=0)


class Fit(NamedTuple):
    """What the sums of one hand size say."""

    worth: Moments
    """Of each rank, in points."""
    swap: Moments
    """Of the first of `EXCHANGED` in the place of the second, in points: regressed, and played."""

    @classmethod
    def of(cls, sums: Mapping[str, Ints], size: int) -> "Fit":
        """Solve the normal equations of a hand size."""
        means = moments(sums, f"size_{size}")
        others = int(sums["others"][0]) / means.games
        ranks, pairs = len(RANKS), len(_PAIRS[0])
        products = np.zeros((ranks, ranks))
        products[_PAIRS] = means.mean[:pairs]
        products = products + np.triu(products, 1).T
        inverse = np.linalg.pinv(products, hermitian=True)
        coefficients = inverse @ means.mean[pairs : pairs + ranks]
        squares, crossed = means.mean[-2:]
        slope = crossed / squares if squares else np.nan

        # What one game adds to the equations beyond what the solution makes of its counts: b - A x coefficients.
        beyond = np.zeros((ranks, len(means.mean)))
        for k, (i, j) in enumerate(zip(*_PAIRS, strict=True)):
            beyond[i, k] -= coefficients[j]
            if i != j:
                beyond[j, k] -= coefficients[i]
        beyond[:, pairs : pairs + ranks] = np.eye(ranks)
        centered = np.eye(ranks) - 1 / ranks
        influence = centered @ inverse @ beyond / others
        worth = Moments(means.games, centered @ coefficients / others, means.combine(influence).covariance)
        if np.linalg.matrix_rank(products, hermitian=True) < ranks:  # too few games to tell all ranks apart
            worth = worth._replace(covariance=np.full_like(worth.covariance, np.nan))

        first, second = map(RANKS.index, EXCHANGED)
        played = np.zeros(len(means.mean))
        played[-2:] = (-slope / squares, 1 / squares) if squares else np.nan
        both = means.combine(np.stack([influence[first] - influence[second], played / others])).covariance
        values: Floats = np.array([worth.mean[first] - worth.mean[second], slope / others])
        return cls(worth, Moments(means.games, values, both))


# --- Words and pictures ------------------------------------------------------------------------------------------


def _lines(sizes: int) -> int:
    """Give how many lines of panels so many hand sizes take."""
    return 1 if sizes <= MOST_SIZES // 2 else 2


def _sizes(rows: "pd.DataFrame") -> list[int]:
    """List the hand sizes of some rows, the largest first."""
    return sorted(map(int, rows["deal_size"].unique()), reverse=True)


def _drawn(sizes: Sequence[int]) -> list[int]:
    """Choose the hand sizes to draw, evenly spread where there are more than fit."""
    if len(sizes) <= MOST_SIZES:
        return list(sizes)
    places = np.linspace(0, len(sizes) - 1, MOST_SIZES).round().astype(int)
    return [sizes[place] for place in places]


def _dots(axes: "Axes", rows: "pd.DataFrame") -> None:
    """Draw the worth of each rank with its interval, aces on top."""
    from craits_sim.plots import seat_style

    style = seat_style(0) | {"linestyle": "none", "markersize": 4.5}
    for place, row in enumerate(rows.to_dict("records")):
        axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=style["color"], linewidth=2.4, alpha=0.55)
        axes.plot(row["estimate"], place, **style)
    axes.set_yticks(range(len(rows)), rows["rank"])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _sentence(part: "pd.DataFrame") -> str:
    worth = part[part["estimand"] == "worth"]
    sizes = _sizes(worth)
    texts = []
    for size in dict.fromkeys([sizes[0], sizes[-1]]):
        ranked = worth[worth["deal_size"] == size].sort_values("estimate").to_dict("records")
        best, worst = ranked[0], ranked[-1]
        if best["ci_high"] >= 0 and worst["ci_low"] <= 0:
            texts.append(f"with {counted(size, 'card')} dealt no rank is shown to be better or worse than another")
            continue
        texts.append(
            f"with {counted(size, 'card')} dealt the best card to hold is the {best['rank']}, "
            f"{with_interval(best, ' points', signed=True)} against an average card, and the worst the "
            f"{worst['rank']}, {with_interval(worst, '', signed=True)}"
        )
    text = "; ".join(texts)
    return f"{text[0].upper()}{text[1:]}. {_swap_text(part, sizes)}"


def _swap_text(part: "pd.DataFrame", sizes: Sequence[int]) -> str:
    """Say whether the second play, with two ranks exchanged, agrees with the regression."""
    first, second = EXCHANGED
    of_size = {name: rows.set_index("deal_size") for name, rows in part.groupby("estimand", sort=False)}
    regressed, played = (of_size[name].loc[sizes[0]] for name in ("swap_regressed", "swap_played"))
    se = float(max(regressed["se"], played["se"]))
    both = [number_text(row["estimate"], se, signed=True) for row in (regressed, played)]
    adjusted = np.nan_to_num(holm(of_size["swap_difference"]["p_value"]), nan=1)
    wrong = [int(size) for size, p in zip(of_size["swap_difference"].index, adjusted, strict=True) if p < 0.05]
    agreement = (
        f"they differ clearly with {', '.join(map(str, wrong))} cards dealt, where counts do not simply add up"
        if wrong
        else "no hand size shows a clear difference"
    )
    return (
        f"Swap check, with {counted(sizes[0], 'card')} dealt: the {first} in the place of the {second} is worth "
        f"{both[0]} by regression, and {both[1]} where the same deals are played with the two exchanged; {agreement}."
    )


def _answers(part: "pd.DataFrame") -> list[Answer]:
    """Give the worth of each rank in the largest hand."""
    worth = part[part["estimand"] == "worth"]
    largest = worth[worth["deal_size"] == worth["deal_size"].max()]
    return [
        Answer(f"the worth of the {row['rank']} in the largest hand", row["estimate"], row["se"], " points", True)
        for row in largest.to_dict("records")
    ]
