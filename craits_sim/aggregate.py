"""What `craits simulate` reports: every aggregate of one design point, its means and their standard errors.

A game is the unit: each quantity is a row of whole numbers a game, and the sums over games of that row and of
its products say everything that is printed. Integers add exactly, so the figures do not depend on threads.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import Any

import numpy as np

from craits_sim.bots import BotSpec
from craits_sim.results import WIN_UNIT, Batch, Ending
from craits_sim.rules import Rules
from craits_sim.stats import Floats
from craits_sim.studies.base import Ints, Sums, by_position, cross_sums, moments

PER_ROUND = ("turns", "cards_drawn", "reshuffles", "blocked", "cranks", "crank_cards_drawn")
"""Quantities that are reported as means per round."""


def tally(batches: Sequence[Batch]) -> Sums:
    """Reduce the batch of the one design point to sums over its games.

    Returns
    -------
    dict
        ``games`` and ``truncated`` rounds, shape (1,); ``turns_by_round``, one for each round; and what
        `cross_sums` gives for ``wins`` and ``totals`` (by position, 0 = first dealer), ``seat_wins`` and
        ``seat_totals`` (by seat), ``went_out`` and ``points`` (by offset from the round's dealer), and
        ``per_round``, one for each of `PER_ROUND`. Wins are in units of 1/`WIN_UNIT`.
    """
    (batch,) = batches
    games, players = batch.totals.shape
    # Rounds that nobody went out of get the offset -1, which matches none of 0 ... players - 1.
    offset = np.where(batch.went_out < 0, -1, (batch.went_out - batch.dealer) % players)
    per_round = {
        "turns": batch.turns,
        "cards_drawn": batch.drawn,
        "reshuffles": batch.reshuffles,
        "blocked": batch.ending == Ending.BLOCKED,
        "cranks": batch.cranks,
        "crank_cards_drawn": batch.crank_drawn,
    }
    # einsum adds short rows several times faster than sum.
    by_game = {
        "wins": by_position(batch, batch.wins),
        "totals": by_position(batch, batch.totals),
        "seat_wins": batch.wins,
        "seat_totals": batch.totals,
        "went_out": np.stack([np.count_nonzero(offset == o, axis=1) for o in range(players)], axis=1),
        "points": np.einsum("gro->go", batch.points),
        "per_round": np.stack([np.einsum("gr->g", per_round[name], dtype=np.int64) for name in PER_ROUND], axis=1),
    }
    sums: Sums = {
        "games": np.array([games]),
        "truncated": np.array([np.count_nonzero(batch.ending == Ending.TRUNCATED)]),
        "turns_by_round": batch.turns.sum(axis=0, dtype=np.int64),
    }
    for name, values in by_game.items():
        sums |= cross_sums(name, values)
    return sums


def describe(sums: Mapping[str, Ints], rules: Rules, bots: Sequence[BotSpec], seed: int) -> dict[str, Any]:
    """Give the aggregates as ``craits simulate --json`` prints them, the elapsed time left out.

    Shares are between 0 and 1, totals and points in points; ``sd_total`` is the spread of one game's total at
    a position, None for a single game. ``bot_digests`` is there where bots have one (`craits_sim.bots.BotSpec.digest`).
    """
    from craits_sim import __version__
    from craits_sim.kernel import RNG_LAYOUT

    games, rounds = int(sums["games"][0]), len(rules.deals)
    digests = {str(bot): digest for bot in bots if (digest := bot.digest(rules.players))}
    return {
        "rules": {"name": rules.name, "digest": rules.digest},
        "players": rules.players,
        "bots": [str(bot) for bot in bots],
        **({"bot_digests": digests} if digests else {}),
        "seed": seed,
        "games": games,
        "rounds": games * rounds,
        "version": __version__,
        "rng": RNG_LAYOUT,
        "win_share": _means(sums, "wins", WIN_UNIT),
        "mean_total": _means(sums, "totals"),
        "sd_total": _deviations(sums, "totals"),
        "by_seat": {
            "win_share": _means(sums, "seat_wins", WIN_UNIT),
            "mean_total": _means(sums, "seat_totals"),
        },
        "by_offset": {
            "go_out_share": _means(sums, "went_out", rounds),
            "mean_points": _means(sums, "points", rounds),
        },
        "per_round": dict(zip(PER_ROUND, _means(sums, "per_round", rounds), strict=True)),
        "turns_by_round": _means(sums, "turns_by_round"),
        "truncated": int(sums["truncated"][0]),
    }


def standard_errors(sums: Mapping[str, Ints]) -> dict[str, Any]:
    """Give the standard errors of the means of `describe`, under the same keys; None for a single game."""
    rounds = len(sums["turns_by_round"])
    return {
        "win_share": _errors(sums, "wins", WIN_UNIT),
        "mean_total": _errors(sums, "totals"),
        "by_seat": {
            "win_share": _errors(sums, "seat_wins", WIN_UNIT),
            "mean_total": _errors(sums, "seat_totals"),
        },
        "by_offset": {
            "go_out_share": _errors(sums, "went_out", rounds),
            "mean_points": _errors(sums, "points", rounds),
        },
        "per_round": dict(zip(PER_ROUND, _errors(sums, "per_round", rounds), strict=True)),
    }


LABELS = ("position", "seat", "offset", "round")
"""What the quantities of `rows` are known by."""


def rows(means: Mapping[str, Any], errors: Mapping[str, Any]) -> Iterator[dict[str, object]]:
    """Give the aggregates as a tidy table.

    Parameters
    ----------
    means, errors
        What `describe` and `standard_errors` give.

    Yields
    ------
    dict
        ``estimand``; each of `LABELS`, None where it does not apply; ``estimate``, ``se`` and ``n``, the games.
    """

    def row(estimand: str, estimate: object, se: object = None, **label: int) -> dict[str, object]:
        labels = dict.fromkeys(LABELS) | label
        return {"estimand": estimand, **labels, "estimate": estimate, "se": se, "n": means["games"]}

    tables = {"position": means, "seat": means["by_seat"], "offset": means["by_offset"]}
    table_errors = {"position": errors, "seat": errors["by_seat"], "offset": errors["by_offset"]}
    for label, table in tables.items():
        for estimand in ("win_share", "mean_total", "sd_total", "go_out_share", "mean_points"):
            if estimand in table:
                ses = table_errors[label].get(estimand, [None] * len(table[estimand]))
                for number, (estimate, se) in enumerate(zip(table[estimand], ses, strict=True)):
                    yield row(estimand, estimate, se, **{label: number})
    for estimand, estimate in means["per_round"].items():
        yield row(estimand, estimate, errors["per_round"][estimand])
    for number, estimate in enumerate(means["turns_by_round"], start=1):
        yield row("turns", estimate, round=number)
    yield row("truncated", means["truncated"])


def _means(sums: Mapping[str, Ints], name: str, unit: int = 1) -> list[float]:
    """Divide by games and unit; of Python integers, so that the only rounding is that of the quotient."""
    return [total / (int(sums["games"][0]) * unit) for total in sums[name].tolist()]


def _deviations(sums: Mapping[str, Ints], name: str) -> list[float | None]:
    """Give the sample standard deviation over games of each part of a quantity."""
    variances = np.diagonal(moments(sums, name).covariance)
    return _defined(np.sqrt(np.maximum(variances, 0)))


def _errors(sums: Mapping[str, Ints], name: str, unit: int = 1) -> list[float | None]:
    return _defined(moments(sums, name, unit).se)


def _defined(values: Floats) -> list[float | None]:
    """Turn not-a-number, which JSON does not have, into None."""
    return [None if isnan(value) else value for value in values.tolist()]
