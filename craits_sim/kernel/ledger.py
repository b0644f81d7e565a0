"""What is kept of each lane's game and round besides its table, a row a lane."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.encode import MAX_PLAYERS
from craits_sim.kernel._jit import inlined
from craits_sim.kernel.build import seat_field
from craits_sim.kernel.lanes import (
    COUNT_FIELD,
    COUNTS,
    FORCED_BY_SEAT,
    LANES,
    PAID_BY_SEAT,
    SKIPS_BY_SEAT,
    TURNS_BY_SEAT,
)
from craits_sim.kernel.words import U0

# The counts of a round: where each stands in a row of ``Ledger.counts``.
DRAWN, CRANK_DRAWN, RESHUFFLES, CRANKS = range(4)
SEAT_TURNS = 4  # of seat 0, then the others
SEAT_SKIPS = SEAT_TURNS + MAX_PLAYERS
SEAT_FORCED = SEAT_SKIPS + MAX_PLAYERS
ALL_COUNTS = SEAT_FORCED + MAX_PLAYERS

COUNT_BITS = np.uint64((1 << int(COUNT_FIELD)) - 1)


class Ledger(NamedTuple):
    """What games and rounds have come to so far."""

    totals: NDArray[np.int64]  # (LANES, MAX_PLAYERS) points of the game
    pressure: NDArray[np.int64]  # (LANES, MAX_PLAYERS) extra points of this round (RULES.md R12)
    shuffles: NDArray[np.int64]  # (LANES, MAX_PLAYERS) reshuffles that each seat has caused in this game
    counts: NDArray[np.int64]  # (LANES, ALL_COUNTS) of this round, without what the lane still counts in small fields
    crank_paid: NDArray[np.int64]  # (LANES, MAX_PLAYERS) cards drawn to pay a crank in this round, counted likewise
    first_dealer: NDArray[np.uint64]  # (LANES,)
    moves: NDArray[np.uint64]  # (LANES, 2) where on the slate the moves of a player that thinks begin and end


def new_ledger() -> Ledger:
    """Make an empty ledger."""
    by_seat = (int(LANES), MAX_PLAYERS)
    return Ledger(
        totals=np.zeros(by_seat, np.int64),
        pressure=np.zeros(by_seat, np.int64),
        shuffles=np.zeros(by_seat, np.int64),
        counts=np.zeros((int(LANES), ALL_COUNTS), np.int64),
        crank_paid=np.zeros(by_seat, np.int64),
        first_dealer=np.zeros(int(LANES), np.uint64),
        moves=np.zeros((int(LANES), 2), np.uint64),
    )


@inlined
def collect(lanes, lane, ledger, build):
    """Move what a lane has counted in small fields to the ledger."""
    counts = lanes[COUNTS + lane]
    for place in range(4):
        ledger.counts[lane, place] += np.int64(counts & COUNT_BITS)
        counts >>= COUNT_FIELD
    turns, skips, forced = lanes[TURNS_BY_SEAT + lane], lanes[SKIPS_BY_SEAT + lane], lanes[FORCED_BY_SEAT + lane]
    width = seat_field(build)
    ones = (np.uint64(1) << width) - np.uint64(1)
    for seat in range(len(build.seats)):
        ledger.counts[lane, SEAT_TURNS + seat] += np.int64(turns & ones)
        ledger.counts[lane, SEAT_SKIPS + seat] += np.int64(skips & ones)
        ledger.counts[lane, SEAT_FORCED + seat] += np.int64(forced & ones)
        turns, skips, forced = turns >> width, skips >> width, forced >> width
    lanes[COUNTS + lane] = U0
    lanes[TURNS_BY_SEAT + lane] = U0
    lanes[SKIPS_BY_SEAT + lane] = U0
    lanes[FORCED_BY_SEAT + lane] = U0
    if len(build.details) > 0:
        paid = lanes[PAID_BY_SEAT + lane]
        for seat in range(len(build.seats)):
            ledger.crank_paid[lane, seat] += np.int64(paid & ones)
            paid >>= width
        lanes[PAID_BY_SEAT + lane] = U0
