"""What the kernel hands back: the arrays of a batch of games, and the events of a transcript.

A *batch* is one chunk of games of one design point. Games are in the order of their index, rounds in the order of play.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

WIN_UNIT = 2520
"""A whole win; lcm(1, ..., 10), so that a win shared by up to ten players stays an integer (RULES.md R7)."""

CRANK_SIZES = 64
"""Cranks are told apart by their count up to one less; larger ones, which need far-fetched rules, are put together."""


class Ending(IntEnum):
    """How a round ended (RULES.md R11, R13)."""

    WENT_OUT = 0
    BLOCKED = 1
    TRUNCATED = 2


class Action(IntEnum):
    """What an event says."""

    DEAL = 0
    STARTER = 1
    PLAY = 2
    DRAW = 3
    RESHUFFLE = 4
    PASS = 5
    CAUGHT = 6
    LOST_TURN = 7
    GO_OUT = 8
    BLOCKED = 9
    TRUNCATED = 10
    PRESSURE = 11
    SCORE = 12


class Cause(IntEnum):
    """Why a card was drawn: the ``detail`` of a DRAW event."""

    OWN = 0
    ABILITY = 1
    CRANK = 2
    PENALTY = 3


EVENT_DTYPE = np.dtype(
    [
        ("game", np.int64),
        ("round", np.int32),
        ("action", np.int32),
        ("seat", np.int32),
        ("card", np.int32),
        ("suit", np.int32),
        ("crank", np.int32),
        ("detail", np.int32),
    ]
)
"""One event: ``card``, ``suit`` and ``seat`` are -1 where none is meant; ``crank`` is the count after it."""


class Batch(NamedTuple):
    """The results of ``G`` games of ``R`` rounds with ``S`` seats.

    *By offset* means: index 0 is that round's dealer, 1 the dealer's left, and so on clockwise.
    """

    first_dealer: NDArray[np.int32]  # (G,) seat that deals round 0
    totals: NDArray[np.int64]  # (G, S) points of the game, by seat
    wins: NDArray[np.int32]  # (G, S) by seat, in units of 1/WIN_UNIT; a row sums to WIN_UNIT, or to 0 where nobody wins
    dealer: NDArray[np.int32]  # (G, R) seat
    went_out: NDArray[np.int32]  # (G, R) seat that ended the round, -1 where nobody did
    ending: NDArray[np.int32]  # (G, R) an Ending
    turns: NDArray[np.int32]  # (G, R) turns of all seats
    drawn: NDArray[np.int32]  # (G, R) cards drawn, the deal and the starter left out
    crank_drawn: NDArray[np.int32]  # (G, R) cards of them drawn to pay a crank
    reshuffles: NDArray[np.int32]  # (G, R)
    cranks: NDArray[np.int32]  # (G, R) cranks started
    points: NDArray[np.int64]  # (G, R, S) points of the round, by offset
    seat_turns: NDArray[np.int32]  # (G, R, S) turns taken, by offset
    skips: NDArray[np.int32]  # (G, R, S) turns lost to an ability, by offset
    forced: NDArray[np.int32]  # (G, R, S) cards drawn because of other seats' cards (abilities and cranks), by offset
    # Details (`DETAILS`), of zero games where they were not asked for. A crank ends when it is paid, as far as there
    # are cards to draw, or unpaid: when it comes back to who last added to it, when a last card that is ignored (and
    # adds nothing to it) leaves it unpaid (RULES.md R16), or when the turn cap ends its round. So each that starts, see
    # `cranks`, ends once.
    choices: NDArray[np.int32]  # (G, R) turns in which a seat played and had more than one playable card (copies count)
    crank_sizes: NDArray[np.int32]  # (G, CRANK_SIZES) cranks that ended with that count, the last entry: or with more
    largest_crank: NDArray[np.int32]  # (G, R) largest count that a crank ended with, 0 without a crank
    crank_paid: NDArray[np.int32]  # (G, R, S) cards drawn to pay a crank, by offset; they sum to crank_drawn
    dealt: NDArray[np.int64]  # (G, R, S) cards of each rank dealt, by offset: four bits a rank, those of the ace lowest


DETAILS = ("choices", "crank_sizes", "largest_crank", "crank_paid", "dealt")
"""The arrays of a batch that are filled on demand only, for counting them takes time."""


def empty_batch(games: int, rounds: int, players: int, details: bool = False) -> Batch:
    """Make the zeroed arrays of a batch; those of `DETAILS` have zero games unless ``details`` asks for them.

    Games lie next to each other in memory (Fortran order): games that are played side by side then write into the same
    cache lines, and a sum over games runs through memory in order. With games outermost the kernel is 20 % slower.
    """
    shapes = {
        "first_dealer": (games,),
        "totals": (games, players),
        "wins": (games, players),
        "points": (games, rounds, players),
        "seat_turns": (games, rounds, players),
        "skips": (games, rounds, players),
        "forced": (games, rounds, players),
        "crank_sizes": (games, CRANK_SIZES),
        "crank_paid": (games, rounds, players),
        "dealt": (games, rounds, players),
    }
    wide = ("totals", "points", "dealt")

    def zeros(name: str) -> NDArray[Any]:
        counted, *rest = shapes.get(name, (games, rounds))
        shape = (0 if name in DETAILS and not details else counted, *rest)
        return np.zeros(shape, np.int64 if name in wide else np.int32, order="F")

    return Batch(**{name: zeros(name) for name in Batch._fields})
