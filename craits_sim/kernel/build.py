"""The sizes that the kernel is compiled for.

numba compiles a function anew for each type of its arguments, and the length of a tuple is part of its type. So a size
that must be known when compiling (how many seats a loop runs over) is passed as the length of a tuple of zeros:
``len(build.seats)`` is a constant in the machine code. What a build does not need is left out of it: counting the
details of a batch (`craits_sim.results.DETAILS`) costs a run nothing that does not ask for them.
"""

from typing import Any, NamedTuple

import numpy as np

from craits_sim.bots import BOTS
from craits_sim.encode import MAX_PLAYERS, EncodedBots, EncodedRules
from craits_sim.kernel._jit import inlined

GREEDY = BOTS["greedy"].code

SMALL_TABLE = 5
"""Seats of the table that most games need; more, or a second deck, take the large table of MAX_PLAYERS seats."""


class Build(NamedTuple):
    """What a compiled kernel is made for; only the lengths count."""

    seats: tuple[int, ...]
    decks: tuple[int, ...]
    greedy: tuple[int, ...]  # one zero if any bot is greedy, or looks ahead by a greedy one
    thinking: tuple[int, ...]  # one zero if any bot chooses between steps
    ahead: tuple[int, ...]  # one zero if any bot looks ahead
    details: tuple[int, ...]  # one zero if the details of a batch are counted


def build_for(rules: EncodedRules, bots: EncodedBots, details: bool = False) -> Build:
    """Choose the smallest build that can play these rules and bots, and count details where they are asked for."""
    large = rules.players > SMALL_TABLE or rules.decks > np.uint64(1)
    return Build(
        seats=(0,) * (MAX_PLAYERS if large else SMALL_TABLE),
        decks=(0,) * (2 if large else 1),
        greedy=(0,) * int(bots.greedy_seats != 0 or GREEDY in bots.base),
        thinking=(0,) * int(bots.thinking_seats != 0),
        ahead=(0,) * int(bots.worlds.any()),
        details=(0,) * int(details),
    )


@inlined
def seat_field(build):
    """Give the bits of a seat's field where a lane counts for all seats in one word: 12, or 6 at the large table."""
    return np.uint64(60 // len(build.seats))


def has(build: Any, part: str) -> bool:
    """Whether a build, given as the type that numba has for it, has a part: for what is chosen when compiling."""
    return len(build.types[build.fields.index(part)]) > 0
