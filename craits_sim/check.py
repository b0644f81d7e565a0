"""Trying a bot of the user's own, before anything is measured with it.

It sits at every seat in turn against the simplest bots, in games of which every step is checked, and in a thread, so
that one that never ends is named and does not hang its user. All games are played twice: a bot that chooses by what it
is given alone plays the same both times.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from craits_sim.bots import BotError, BotSpec
from craits_sim.design import DesignPoint
from craits_sim.kernel.desk import Desk, new_desk
from craits_sim.kernel.own import LONGEST_CHOICE, Aside, encode_table, load_own_bot, place_of, seconds_a_choice
from craits_sim.kernel.script import no_script
from craits_sim.kernel.simulate import run
from craits_sim.kernel.watch import new_watch
from craits_sim.results import WIN_UNIT, Batch, empty_batch
from craits_sim.rules import Rules
from craits_sim.runner import get_ready

OPPONENTS = ("random", "greedy")


class Tried(NamedTuple):
    """How a bot did at one table, all seats together."""

    rules: str
    players: int
    opponent: str
    """Who sits at all other seats."""
    games: int
    asked: int
    """How often the bot had a choice."""
    win_share: float
    """Share of games won, 0 to 1; 1 / players for a bot as good as its opponents."""
    ns_a_choice: float
    """How long its function takes, in ns; measured at its last choice."""


def check(bot: BotSpec, tables: Sequence[Rules], games: int, seed: int) -> Iterator[Tried]:
    """Let a bot of the user's own play; gives how it did at each table, as soon as it is known.

    Parameters
    ----------
    bot : BotSpec
        One of the user's own.
    tables : sequence of Rules
    games : int
        Games at each seat of each table.
    seed : int
        0 to 2**64 - 1.

    Raises
    ------
    BotError
        If it is none of the user's own, cannot be used, makes no move, never ends, or plays the same game in two ways.
    KernelError
        If the games break a rule: a mistake in this program.
    """
    if not bot.is_own:
        raise BotError(f"{bot} comes with the package: allowed is a function of yours, FILE.py:FUNCTION")
    load_own_bot(bot.name)
    trials = [(rules, BotSpec(opponent)) for rules in tables for opponent in OPPONENTS]
    # By a bot of the package, so that compiling does not look like a bot that never ends.
    twin = BotSpec("careful")
    get_ready([DesignPoint({}, rules, (twin, *[other] * (rules.players - 1))) for rules, other in trials])
    for rules, opponent in trials:
        yield _try_table(bot, rules, opponent, games, seed)


def _try_table(bot: BotSpec, rules: Rules, opponent: BotSpec, games: int, seed: int) -> Tried:
    wins, asked, seconds = 0, 0, []
    for seat in range(rules.players):
        bots = tuple(bot if other == seat else opponent for other in range(rules.players))
        batch, desk = _play(bot, rules, bots, games, seed, checks=True)
        again, _ = _play(bot, rules, bots, games, seed, checks=False)
        if any(np.any(array != getattr(again, name)) for name, array in batch._asdict().items()):
            raise BotError(
                f"{bot}: it plays the same game in two ways; allowed is to choose by view and moves alone, and by "
                "view.random for chance"
            )
        wins += int(batch.wins[:, seat].sum())
        asked += int(desk.asked[0])
        if desk.asked[0]:
            seconds.append(seconds_a_choice(load_own_bot(bot.name), desk))
    everything = games * rules.players
    ns = 1e9 * float(np.mean(seconds)) if seconds else float("nan")
    return Tried(rules.name, rules.players, opponent.name, everything, asked, wins / (WIN_UNIT * everything), ns)


def _play(
    bot: BotSpec, rules: Rules, bots: Sequence[BotSpec], games: int, seed: int, checks: bool
) -> tuple[Batch, Desk]:
    """Play games in a thread, and watch that the bot goes on choosing."""
    encoded_rules, encoded_bots = encode_table(rules, bots)
    batch, desk = empty_batch(games, len(rules.deals), rules.players), new_desk(True)
    watch = new_watch(encoded_rules, encoded_bots, checks=checks)
    aside = Aside(run, encoded_rules, encoded_bots, seed, 0, batch, watch, no_script(), desk)
    asked_before = -1
    while not aside.ends_within(LONGEST_CHOICE):
        asked = int(desk.asked[0])
        if asked == asked_before:
            raise BotError(f"{bot}: it has not chosen after {LONGEST_CHOICE:g} seconds ({place_of(desk)})")
        asked_before = asked
    aside.result()
    return batch, desk
