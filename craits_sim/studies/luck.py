"""Luck or skill? What decides who wins: the deal, who plays, or how play happens to go.

``--bots`` names a ladder of bots and not those of a table: the first is the naive one, and each other is in turn the
skilled one. A skilled bot sits alone among naive ones, at each of the n seats in turn (`rotation`), and all n tables
play the same deals: the cards dealt, the order of the stock and who deals are the same, and what bots choose by
chance is chosen independently at each table (`craits_sim.design.DesignPoint.replay`). A table of naive bots alone is
played n times likewise. There a deal that is played again differs by what bots leave to chance, and by nothing else:
*naive bots that leave nothing to chance, such as greedy, play it again to the last card*, and the deal is then all
there is. Among random bots, or with ``careful:noise=2``, it has its meaning.

*The split.* Y is the share of the win that a seat gets in a game; V is its variance over deals, seats and tables::

    V = deal + play + rest
    deal = mean of Y Y' over two tables of the same deal, same seat, less that of the products of their bots' means
    play = variance of the means of the bots over the seats, (n - 1) / n² (mean of skilled - mean of naive)²

*Deal* is the covariance of what the same cards bring the same seat in two independent plays, whoever holds them: the
intraclass correlation ICC(1) of Shrout and Fleiss (1979), Intraclass correlations: uses in assessing rater
reliability, Psychological Bulletin 86(2), with deals and seats for the targets and tables for the raters, after the
means of the bots are taken out. Its moment estimator is that of the analysis of variance, (MSB - MSW) / n for the
variance between. *Play* is who plays. *Rest* is what neither tells: the choices of all bots, and how they meet the
cards. The F interval of the paper supposes normal and independent targets; the seats of a deal are neither, so that
intervals are those of a function of means over deals (delta method), clustered by deal.

*Order* is (w - 1/n) / (1 - 1/n), where w is the share of games that one skilled bot wins among n - 1 naive ones,
rotated over all seats: 0 where skill does nothing, 1 where it always wins (Goadrich, the order heuristic of
CardStock, who finds 0.28 for Agram and 0.52 for Hearts). A game that nobody wins is lost by all. *Rating* is the same
on the scale of Elo: 400 times the logarithm to base 10 of (mean of skilled) / (mean of naive), what one bot of the
Plackett-Luce model must be above n - 1 equal others to win so often. Ratings of a whole ladder, each bot against
each, are those of the study `ladder`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craits_sim.results import WIN_UNIT, Batch
from craits_sim.sequential import Judged
from craits_sim.stats import Floats, Interval, Moments, counted, mean_interval, number_text
from craits_sim.studies.base import (
    Ints,
    Points,
    Row,
    SideBySideStudy,
    Sums,
    cross_sums,
    level_text,
    listed,
    moments,
    point_sums,
    table_of,
    texts,
    with_interval,
)
from craits_sim.studies.factors import Answer
from craits_sim.studies.ladder import rungs
from craits_sim.studies.rotation import Match, by_match, rotated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from craits_sim.design import DesignPoint, Experiment

WHOLE_WIN = 60
"""What a win counts here: the least number that 1 to 6 divide. `WIN_UNIT` would make sums of fourth powers too large; a
win shared by seven or more is rounded, which no number of games that can be played shows."""

QUANTITIES = ("own", "all", "squares", "same_seat")
"""Whole numbers of a deal and match, wins in 1/`WHOLE_WIN`: what the lone bot wins at its n tables; what all seats win;
the sum of squares of what each seat wins at each table; the sum over seats of the square of what it wins at all."""

PARTS = {"deal_share": "the deal", "play_share": "who plays", "rest_share": "the rest"}
"""The parts of the variance, in the order of the bar."""

LEAST_WRITTEN = 8
"""A part of a bar, in percent, that has room for its figure."""


class LuckStudy(SideBySideStudy):
    """How much of who wins is the deal, how much who plays, and how far skill raises the chance to win."""

    name = "luck"
    question = "Luck or skill: what decides who wins?"
    margin = 5.0
    margin_unit = "percentage points, of the variance or of the order"
    most_margin = 100
    default_games = 20_000
    default_bots = "random,greedy,careful,tuned"
    bots_meaning = "A naive bot, then the skilled ones to set among it: random,greedy,tuned."
    examples = ("--bots random,greedy,careful", "--variant short --variant crazy_eights")
    headline_name = "order of a skilled bot, %"
    no_verdict = "says how much is luck and how much skill, and judges no difference between seats"
    width = 11.5

    def completed(self, experiment: "Experiment") -> "Experiment":
        return experiment

    def asked(self, experiment: "Experiment") -> "tuple[DesignPoint, ...]":
        """Expand the factors of the experiment: the design points that have rows, whose bots are not yet seated."""
        from craits_sim.design import DesignError, design_points

        if "bots" in experiment.vary:
            raise DesignError("luck sets bots against a naive one: name them all in bots instead of varying them")
        return design_points(experiment.model_copy(update={"bots": "random"}))

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        from craits_sim.design import DesignError

        tables = []
        for point in self.asked(experiment):
            most = (WHOLE_WIN * point.rules.players) ** 4
            if experiment.games * most >= 2**63:
                raise DesignError(
                    f"games = {experiment.games:,}: luck sums fourth powers, exactly up to {2**63 // most:,} games at "
                    f"tables of {point.rules.players}"
                )
            for match in _matches(experiment):
                tables += [table._replace(replay=replay) for replay, table in enumerate(rotated(point, match))]
        if len(tables) > max_points:
            raise DesignError(f"{len(tables):,} design points: allowed are up to {max_points:,} (--max-points)")
        return tuple(tables)

    def tally(self, batches: Sequence[Batch]) -> Sums:
        return {
            f"{number}.{name}": values
            for number, tables in enumerate(by_match(batches))
            for name, values in _tally_match(tables).items()
        }

    def _by_point(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "Iterator[tuple[DesignPoint, Sums]]":
        """Give each design point with the sums of its matches, numbered from 0."""
        count = len(_matches(experiment))
        for index, point in enumerate(self.asked(experiment)):
            yield (
                point,
                {
                    f"{number}.{name}": values
                    for number in range(count)
                    for name, values in point_sums(sums, index * count + number).items()
                },
            )

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        from craits_sim.design import BASE, MAX_DESIGN_POINTS, caption

        margin = self.margin if experiment.margin is None else experiment.margin
        points = [*self._by_point(sums, experiment)]
        by_point = [[*self.rows(part, point, experiment)] for point, part in points]
        summary = table_of([point for point, _ in points], by_point, margin)
        if "variant" in summary:  # rule sets stand side by side here, and the first has a name too
            summary["variant"] = summary["variant"].replace(BASE, points[0][0].rules.name)
        summary.attrs["caption"] = caption(experiment, self.design(experiment, MAX_DESIGN_POINTS))
        return summary

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        for number, match in enumerate(_matches(experiment)):
            means = moments(point_sums(sums, number), "match")
            yield from _match_rows(means, match, point.rules.players, experiment.level)

    def judged(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Sequence[Judged]:
        return ()

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        """Give the widest half-width of the order of the skilled bots; their matches are all but the first."""
        widths = []
        for number in range(1, 1 + max(int(key.partition(".")[0]) for key in sums)):
            part = point_sums(sums, number)
            players = int(part["players"][0] // part["games"][0])
            low, high = _order(moments(part, "match"), players, level)[2]
            widths.append(float(high - low) / 2)
        return max(widths)

    def headline(self, sums: Mapping[str, Ints], experiment: "Experiment") -> tuple[str, float]:
        return self.headline_name, max(
            self.half_width(part, experiment.level) for _, part in self._by_point(sums, experiment)
        )

    def height(self, part: "pd.DataFrame") -> float:
        return self.height_side_by_side([("", part)])

    def draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        self._draw(figure, [("", part)])

    def height_side_by_side(self, points: Points) -> float:
        return 1.7 + sum(0.5 + 0.42 * (part["estimand"] == "order").sum() for _, part in points)

    def draw_side_by_side(self, figure: "SubFigure", points: Points) -> None:
        self._draw(figure, points)

    @staticmethod
    def _draw(figure: "SubFigure", points: Points) -> None:
        import pandas as pd

        from craits_sim.plots import Block, dot_blocks, limits, reference, title

        left, right = figure.subplots(1, 2, width_ratios=(2, 3), sharey=True)
        orders = [(label, part[part["estimand"] == "order"]) for label, part in points]
        level = level_text(orders[0][1]["ci_level"].iloc[0])
        title(left, "Order: what skill is worth", f"0: as often as the others · 100: always\n{level} intervals")
        reference(left, 0, vertical=True)
        naive = str(orders[0][1]["against"].iloc[0])
        dot_blocks(
            left,
            [
                Block(label, rows, [_table_name(row, naive) for row in rows["bot"]], texts(rows))
                for label, rows in orders
            ],
            headings=len(points) > 1,
        )
        low, high = limits(pd.concat([rows for _, rows in orders]), 0)
        left.set_xlim(low, high)
        left.set_xlabel("(wins - 1/n) / (1 - 1/n), in %".replace("-", "\N{MINUS SIGN}"))
        title(right, "What decides who wins", f"shares of the variance of a seat's win\nwhiskers: {level} intervals")
        bars = [rows for _, part in points for rows in _splits(part)]
        for place, rows in zip(left.get_yticks(), bars, strict=True):
            _bar(right, place, rows)
        right.set_xlim(0, 100)
        right.set_xlabel("% of the variance")
        right.grid(axis="y", visible=False)
        _legend(figure)

    def sentence(self, part: "pd.DataFrame") -> str:
        equal, *splits = _splits(part)
        naive = str(part["against"].iloc[0])
        best = max(splits, key=lambda rows: rows["order"]["estimate"])
        bot, order = best["order"]["bot"], best["order"]
        others = [
            f"{row['bot']} {number_text(row['estimate'], row['se'])} ({_rating_text(rows)})"
            for rows in splits
            if (row := rows["order"]) is not order
        ]
        text = (
            f"Among {naive} bots alone the deal decides {with_interval(equal['deal_share'], '%')} of the variance of "
            f"who wins, and how play happens to go the rest. With one {bot} among them who plays decides "
            f"{with_interval(best['play_share'], '%')}, the deal {_percent(best['deal_share'])} and the rest "
            f"{_percent(best['rest_share'])}. It wins {with_interval(best['win_share'], '%')} of games, where an equal "
            f"share is {order['reference']:.4g}%: an order of {with_interval(order, '')} on a scale from 0, no skill, "
            f"to 100, always ({_rating_text(best)})"
        )
        text += f"; the order of the others is {listed(others)}" if others else ""
        return f"{text}. {counted(order['n'], 'deal')}, each played with every bot at every seat."

    def short_sentence(self, part: "pd.DataFrame") -> str:
        equal, *splits = _splits(part)
        naive = part["against"].iloc[0]
        best = max(splits, key=lambda rows: rows["order"]["estimate"])
        orders = [
            f"{rows['order']['bot']} {number_text(rows['order']['estimate'], rows['order']['se'])}" for rows in splits
        ]
        return (
            f"among {naive} bots alone the deal decides {_percent(equal['deal_share'])} of the variance of who wins; "
            f"with one {best['order']['bot']} among them who plays decides {_percent(best['play_share'])}, the deal "
            f"{_percent(best['deal_share'])} and the rest {_percent(best['rest_share'])}. Order: {listed(orders)}."
        )

    def answers(self, part: "pd.DataFrame") -> list[Answer]:
        equal, *splits = _splits(part)
        deal = equal["deal_share"]
        return [
            Answer("the share of the deal among equal bots", deal["estimate"], deal["se"], " pp", False),
            *(
                Answer(
                    f"the order of {rows['order']['bot']}",
                    rows["order"]["estimate"],
                    rows["order"]["se"],
                    " pp",
                    False,
                )
                for rows in splits
            ),
        ]


# --- Numbers -----------------------------------------------------------------------------------------------------


def _matches(experiment: "Experiment") -> list[Match]:
    """Give the matches of a design point: the naive bot among its equals, then each skilled one."""
    bots = rungs(experiment)
    return [Match(bot, bots[0]) for bot in bots]


def _tally_match(tables: Sequence[Batch]) -> Sums:
    """Sum up `QUANTITIES` of the tables of a match; the lone bot sits at seat k of table k."""
    unit = WIN_UNIT // WHOLE_WIN
    wins = np.stack([(table.wins.astype(np.int64) + unit // 2) // unit for table in tables])  # table, game, seat
    own = sum(table[:, seat] for seat, table in enumerate(wins))
    quantities = [own, wins.sum(axis=(0, 2)), (wins**2).sum(axis=(0, 2)), (wins.sum(axis=0) ** 2).sum(axis=1)]
    games, players = wins.shape[1:]
    return {
        "games": np.array([games], np.int64),
        "players": np.array([games * players], np.int64),
        **cross_sums("match", np.column_stack(quantities)),
    }


def estimate(means: Moments, of: Callable[[NDArray[Any]], NDArray[Any]]) -> tuple[Floats, Floats]:
    """Give K functions of means over games and their standard errors (delta method).

    Parameters
    ----------
    of
        Turns means into K numbers, by arithmetic and logarithms alone: its slopes are the imaginary parts at means with
        a tiny imaginary step, exact to the last bit or two (Squire, Trapp 1998, Using complex variables to estimate
        derivatives of real functions).
    """
    step = 1e-30
    count = len(means.mean)
    slopes = np.stack([np.imag(of(means.mean + 1j * step * unit)) / step for unit in np.eye(count)], axis=1)
    combined = means.combine(slopes)
    return np.real(of(means.mean.astype(complex))), combined.se


def shares_of_variance(quantities: NDArray[Any], players: int, equal: bool) -> NDArray[Any]:
    """Give the parts of the variance in percent: deal, play, rest.

    Parameters
    ----------
    quantities
        Means over deals of `QUANTITIES`.
    equal
        Whether the lone bot is one of the others' kind, so that all seats have one mean and play has no part.
    """
    own, everything, squares, same_seat = quantities / [WHOLE_WIN, WHOLE_WIN, WHOLE_WIN**2, WHOLE_WIN**2]
    n = players
    mean = everything / n**2
    lone, others = (mean, mean) if equal else (own / n, (everything - own) / (n * (n - 1)))
    # Of the ordered pairs of tables, 2 in n have the lone bot at the seat in question at one of them.
    pairs = (same_seat - squares) / (n**2 * (n - 1))
    deal = pairs - (2 * lone * others + (n - 2) * others**2) / n
    play = (n - 1) / n**2 * (lone - others) ** 2
    variance = squares / n**2 - mean**2
    return 100 * np.stack([deal, play, variance - deal - play]) / variance


def _order(means: Moments, players: int, level: float) -> tuple[float, float, Interval]:
    """Give the order in percent, its standard error and its interval."""
    share = means.combine([np.eye(len(QUANTITIES))[0] / (WHOLE_WIN * players)])
    fair = 1 / players
    order, se = (share.mean[0] - fair) / (1 - fair), share.se[0] / (1 - fair)
    low, high = mean_interval(100 * order, 100 * se, means.games, level)
    return 100 * float(order), 100 * float(se), Interval(low, high)


def _match_rows(means: Moments, match: Match, players: int, level: float) -> Iterator[Row]:
    names = {"bot": str(match.lone), "against": str(match.others)}
    equal = match.lone == match.others

    def row(estimand: str, unit: str, value: float, se: float, **columns: object) -> Row:
        low, high = mean_interval(value, se, means.games, level)
        return {
            "estimand": estimand,
            **names,
            "unit": unit,
            "estimate": float(value),
            "se": float(se),
            "ci_low": float(low),
            "ci_high": float(high),
            "ci_level": level,
            "ci_kind": "clustered",
            "n": means.games,
            **columns,
        }

    values, errors = estimate(means, lambda quantities: shares_of_variance(quantities, players, equal))
    # Where deals are played again to the last card, what is left over may be a last bit.
    values, errors = np.round(values, 9), np.where(errors < 1e-9, 0, errors)
    for estimand, value, se in zip(PARTS, values, errors, strict=True):
        if not (equal and estimand == "play_share"):
            yield row(estimand, "% of variance", value, se)
    if equal:
        yield row("order", "%", 0.0, 0.0, reference=100 / players) | {"ci_low": 0.0, "ci_high": 0.0, "ci_kind": "exact"}
        return
    share = means.combine([100 * np.eye(len(QUANTITIES))[0] / (WHOLE_WIN * players)])
    yield row("win_share", "%", share.mean[0], share.se[0], reference=100 / players)
    order, se, _ = _order(means, players, level)
    yield row("order", "%", order, se, reference=100 / players)

    def rating(quantities: NDArray[Any]) -> NDArray[Any]:
        own, everything = quantities[:2]
        return np.array([400 / np.log(10) * np.log(own * (players - 1) / (everything - own))])

    if 0 < means.mean[0] < means.mean[1]:  # a bot that always wins, or never, is beyond any rating
        (value,), (error,) = estimate(means, rating)
        yield row("rating", "Elo", value, error)


# --- Words and pictures ------------------------------------------------------------------------------------------


def _splits(part: "pd.DataFrame") -> list[dict[str, dict[str, Any]]]:
    """Give the rows of each match by estimand, that of the naive bots alone first."""
    return [{row["estimand"]: row for row in rows.to_dict("records")} for _, rows in part.groupby("bot", sort=False)]


def _percent(row: Mapping[str, Any]) -> str:
    return f"{number_text(row['estimate'], row['se'])}%"


def _rating_text(rows: Mapping[str, dict[str, Any]]) -> str:
    """Write the rating of the skilled bot of a match against the naive one."""
    if "rating" not in rows:
        return "beyond any rating"
    rating = rows["rating"]
    return f"rating {number_text(rating['estimate'], rating['se'], signed=True)} against {rating['against']}"


def _table_name(bot: str, naive: str) -> str:
    return f"{naive} alone" if bot == naive else f"one {bot}"


def _bar(axes: "Axes", place: float, rows: Mapping[str, dict[str, Any]]) -> None:
    """Draw the variance of a match as a bar of its parts, with the intervals of where the outer two end."""
    from craits_sim.plots import INK

    start = 0.0
    for (estimand, _), style in zip(PARTS.items(), _STYLES, strict=True):
        width = max(rows[estimand]["estimate"], 0) if estimand in rows else 0
        axes.barh(place, width, left=start, height=0.62, edgecolor="white", **style)
        if width >= LEAST_WRITTEN:
            axes.annotate(
                _percent(rows[estimand]), (start + width / 2, place), ha="center", va="center", fontsize=8.5, color=INK
            )
        start += width
    for estimand, side in (("deal_share", 1), ("rest_share", -1)):
        ends = [rows[estimand][end] for end in ("ci_low", "ci_high")]
        if "play_share" in rows or side == 1:  # without a part between them the two have one end in common
            axes.plot([end if side == 1 else 100 - end for end in ends], [place, place], color=INK, linewidth=1.6)


_STYLES: tuple[dict[str, Any], ...] = (
    {"color": "#8fbcdb"},
    {"color": "#f2b179", "hatch": "///"},
    {"color": "#e3e7eb"},
)
"""How the parts are filled, in the order of `PARTS`."""


def _legend(figure: "SubFigure") -> None:
    from matplotlib.patches import Patch

    handles = [Patch(label=words, **style) for words, style in zip(PARTS.values(), _STYLES, strict=True)]
    figure.legend(handles=handles, loc="outside upper left", ncols=len(handles))
