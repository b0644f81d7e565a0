"""What is it worth to play a rank freely? A bot that never does, alone among bots that play alike but for that.

A bot that *never* plays a rank (``greedy:never=8``) plays a card of it only if it must, when no card of another rank is
playable; it does not draw instead. It then names no suit: the card keeps its own, also where it is turned up as
starter. Everything else that the card does (skip, draw, crank), and what it counts in the hand, is as for everybody. So
what is taken away is the choice when to play the rank, and which suit to name.

For each rank one restricted bot sits among n - 1 unrestricted ones, with all seats rotated on the same deals
(`rotation`). What the rank is *worth* is by how much its win share falls short of an equal one, 1/n: that is the share
of its unrestricted twin on the same deals and seats, which needs no games, because over all seats of a table of alike
bots the shares add to one. A negative worth says that the bot does better to hold the rank back. A worth is not that of
the ability alone, for a card held back may stay in the hand and count: ranks without ability (J, Q, K) show how much
that is.

The idea is that of restricted play: Jaffe, Miller, Andersen, Liu, Karlin, Popović (2012), Evaluating competitive game
balance with restricted play, AIIDE. There both sides play their best under the restriction; here the bot goes on as
before, without a plan for what it may not do, so that the worth is that for players of its kind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.cards import RANKS
from craits_sim.stats import (
    Floats,
    Moments,
    Verdict,
    interval_text,
    mean_interval,
    number_text,
    share_interval,
    simultaneous_level,
)
from craits_sim.studies.base import judged_rows, level_text, listed, rows_of, several, texts, verdict_text
from craits_sim.studies.factors import Answer
from craits_sim.studies.rotation import Match, RotationStudy, weights

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules
    from craits_sim.studies.base import Row

MOST_NAMED = 6


class RestrictedStudy(RotationStudy):
    """What playing each rank freely is worth, in win share and in points."""

    name = "restricted"
    question = "What is it worth to play a rank freely?"
    default_games = 20_000
    default_bots = "greedy"
    bots_meaning = "The bot whose ranks are restricted one by one."
    examples = ("--bots careful", "--rules crazy_eights --players 2", '--vary \'bots=["random", "greedy"]\'')
    headline_name = "worth of a rank, pp"

    def matches(self, point: "DesignPoint", experiment: "Experiment") -> list[Match]:
        from craits_sim.design import DesignError, describe_bots

        free = point.bots[0]
        if set(point.bots) != {free}:
            raise DesignError(
                "restricted takes one bot for all seats, whose ranks it restricts one by one, and not several: "
                f"{describe_bots(point.bots)}"
            )
        return [Match(replace(free, never=_with(free.never, rank)), free) for rank in _ranks(point)]

    def differences(self, means: Moments, point: "DesignPoint", experiment: "Experiment") -> Moments:
        worth = means.combine(-weights("edge", point.rules.players, len(_ranks(point))))
        return worth.combine(_best_first(worth))

    def rows(self, means: Moments, point: "DesignPoint", experiment: "Experiment") -> "Iterator[Row]":
        level, players, ranks = experiment.level, point.rules.players, _ranks(point)
        margin = self.margin if experiment.margin is None else experiment.margin
        each = simultaneous_level(level, len(ranks))
        worth, shares, points = (
            means.combine(sign * weights(name, players, len(ranks)))
            for sign, name in ((-1, "edge"), (1, "wins"), (1, "points"))
        )
        order = _best_first(worth)
        shares, points = shares.combine(order), points.combine(order)
        columns = {
            "rank": np.array([ranks[k] for k in order.argmax(axis=1)]),
            "ability": np.array([_ability(point.rules, ranks[k]) for k in order.argmax(axis=1)]),
        }
        yield from judged_rows("worth", "pp", worth.combine(order), margin, level, **columns)
        interval = share_interval(shares.mean / 100, shares.se / 100, shares.games, each).times(100)
        reference = 100 / players
        yield from rows_of("win_share", "%", shares, interval, level, "simultaneous", **columns, reference=reference)
        interval = mean_interval(points.mean, points.se, points.games, each)
        yield from rows_of("points", "points", points, interval, level, "simultaneous", **columns, reference=0.0)

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import facets

        return facets(summary, self.question, 10.0, self._height, self._draw)

    @staticmethod
    def _height(part: "pd.DataFrame") -> float:
        return 1.4 + 0.36 * (part["estimand"] == "worth").sum()

    @staticmethod
    def _draw(figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import dots, limits, margin_band, reference, title

        table = {name: rows for name, rows in part.groupby("estimand", sort=False)}
        worth, points, margin = table["worth"], table["points"], summary.attrs["margin"]
        level = level_text(worth["ci_level"].iloc[0])
        names = [f"{row['rank']}: {row['ability']}" if row["ability"] else row["rank"] for _, row in worth.iterrows()]
        styles = [_style(row) for row in worth.to_dict("records")]
        left, right = figure.subplots(1, 2, width_ratios=(3, 2), sharey=True)

        title(
            left,
            "Win share that never playing the rank freely costs",
            f"{level} simultaneous intervals · band: margin ± {margin:g} pp\n"
            "filled: a difference that may matter · open: none, or within the margin · cross: undecided",
        )
        margin_band(left, 0, margin)
        reference(left, 0, vertical=True)
        dots(left, worth, names, labels=texts(worth, signed=True), styles=styles)
        left.set_xlim(limits(summary[summary["estimand"] == "worth"], -margin, margin))
        left.set_xlabel("percentage points of win share")

        title(right, "Points that it costs", f"{level} simultaneous intervals\nagainst the mean of the table")
        reference(right, 0, vertical=True)
        dots(right, points, names, labels=texts(points, signed=True), styles=styles)
        right.set_xlim(limits(summary[summary["estimand"] == "points"], 0))
        right.set_xlabel("points a game (fewer is better)")

    def sentence(self, part: "pd.DataFrame") -> str:
        return _sentence(part)

    def answer(self, row: "Row") -> Answer:
        return Answer(f"the worth of the {row['rank']}", row["estimate"], row["se"], " pp", True)


def _ranks(point: "DesignPoint") -> list[str]:
    """Give the ranks that are restricted one by one: those that the bot is free to play."""
    return [rank for rank in RANKS if rank not in point.bots[0].never]


def _best_first(worth: Moments) -> Floats:
    """Give the matrix that puts the ranks in the order of their worth."""
    return np.eye(len(worth.mean))[np.argsort(-worth.mean, kind="stable")]


def _ability(rules: "Rules", rank: str) -> str:
    """Say in a word or two what sets a rank apart; nothing does where it is empty."""
    ability = rules.abilities[rank]
    words = [str(ability)] * (ability.kind != "none") + ["wild"] * (rank in rules.wild)
    return ", ".join(words + ["may cancel"] * (rank == "3" and rules.threes.mode != "none"))


def _style(row: "Row") -> dict[str, Any]:
    """Give the style of a dot: its shape says the verdict."""
    color = "#0072B2" if row["estimate"] >= 0 else "#D55E00"
    if row["verdict"] == Verdict.INCONCLUSIVE:
        return {"color": color, "marker": "X"}
    filled = row["verdict"] == Verdict.ADVANTAGE
    return {"color": color, "marker": "o", "markerfacecolor": color if filled else "white"}


def _sentence(part: "pd.DataFrame") -> str:
    """Conclude for one design point: what is worth most, what the bot better held back, what does not matter."""
    table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
    rows, shares, points = table["worth"], table["win_share"], table["points"]
    first, share, cost = rows[0], shares[0], points[0]
    text = (
        f"The {_named(first)} is worth most: a bot that never plays it freely wins "
        f"{number_text(share['estimate'], share['se'])}% of games among others of its kind, not "
        f"{share['reference']:.4g}%, and gets {number_text(abs(cost['estimate']), cost['se'])} points a game "
        f"{'more' if cost['estimate'] > 0 else 'fewer'} than the mean of the table. "
        f"That is {_worth(first)}, {verdict_text(first, ' pp', 'advantage')}."
    )
    told = [row for row in rows[1:] if row["verdict"] == Verdict.ADVANTAGE]
    gains = [row for row in told if row["estimate"] > 0]
    losses = [row for row in reversed(told) if row["estimate"] < 0]
    small = [row for row in rows[1:] if row["verdict"] in (Verdict.NEGLIGIBLE, Verdict.REAL_BUT_NEGLIGIBLE)]
    unclear = [row for row in rows[1:] if row["verdict"] == Verdict.INCONCLUSIVE]
    for words, some in (("Then", gains), ("Better held back", losses)):
        if some:
            text += f" {words}: {several([f'{_named(row)} ({_worth(row)})' for row in some], MOST_NAMED)}."
    for words, some in ((f"Within {first['margin']:g} pp", small), ("Undecided", unclear)):
        if some:
            text += f" {words}: {listed([row['rank'] for row in some])}."
    return text


def _named(row: "Row") -> str:
    return f"{row['rank']} ({row['ability']})" if row["ability"] else row["rank"]


def _worth(row: "Row") -> str:
    """Write a worth, like ``+4.9 pp (4.5 to 5.3)``."""
    interval = interval_text(row["ci_low"], row["ci_high"], row["se"], signed=True)
    return f"{number_text(row['estimate'], row['se'], signed=True)} pp, {interval}"


def _with(never: Sequence[str], rank: str) -> tuple[str, ...]:
    """Add a rank to those that are never played, in the order that texts of bots have."""
    return tuple(each for each in RANKS if each == rank or each in never)
