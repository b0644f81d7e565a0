"""The details of a batch (`craits_sim.results.DETAILS`), which only a build that is made for it counts.

The step counts what can be counted without a branch; here it is written into the batch, and cranks that end in the
referee's hands are added.
"""

import numpy as np

from craits_sim.kernel._jit import inlined
from craits_sim.kernel.lanes import CHOICE_TURNS, CRANK, ENDED_CRANK, ENDED_CRANKS, GAME, LANES, ROUND
from craits_sim.kernel.step import RANK_BITS, seat_after
from craits_sim.kernel.table import hand_of
from craits_sim.kernel.words import ALL_BITS, U0, U1, bit, lowest_card, read
from craits_sim.results import CRANK_SIZES

LARGEST_SIZE = np.uint64(CRANK_SIZES - 1)
ONE_COUNT = ALL_BITS >> (np.uint64(64) - ENDED_CRANK)


@inlined
def count_ended_cranks(lanes, first_game, batch):
    """Count the cranks that have ended in the steps since the last look, in all lanes.

    Called before the referee gives a lane its next round or game: all have ended in the one that it still holds.
    """
    ended = U0
    for lane in range(LANES):
        ended |= bit(read(lanes, ENDED_CRANKS + lane) != U0) << lane
    while ended != U0:
        lane = lowest_card(ended)
        ended &= ended - U1
        counts = lanes[ENDED_CRANKS + lane]
        lanes[ENDED_CRANKS + lane] = U0
        while counts != U0:
            _count_crank(batch, lanes[GAME + lane] - first_game, lanes[ROUND + lane], counts & ONE_COUNT)
            counts >>= ENDED_CRANK


@inlined
def end_crank(lanes, lane, row, batch, build):
    """End the crank of a lane, if it has one."""
    if len(build.details) > 0 and lanes[CRANK + lane] != U0:
        _count_crank(batch, row, lanes[ROUND + lane], lanes[CRANK + lane])
    lanes[CRANK + lane] = U0


@inlined
def _count_crank(batch, row, round_, count):
    batch.crank_sizes[min(count, LARGEST_SIZE), row] += 1
    batch.largest_crank[round_, row] = max(batch.largest_crank[round_, row], np.int64(count))


@inlined
def write_deal(lanes, lane, row, dealer, rules, batch):
    """Write what was dealt in a round that has not begun into row ``row`` of the batch."""
    round_ = lanes[ROUND + lane]
    for offset in range(rules.players):
        hand, second_hand = hand_of(lanes, lane, seat_after(dealer, np.uint64(offset), U1, rules.players))
        batch.dealt[offset, round_, row] = _ranks_in(hand) + _ranks_in(second_hand)


@inlined
def _ranks_in(cards):
    """Count the cards of each rank in a set, four bits a rank."""
    counts = U0
    while cards != U0:
        counts += U1 << (np.uint64(4) * (lowest_card(cards) & RANK_BITS))
        cards &= cards - U1
    return counts


@inlined
def write_details(lanes, lane, row, dealer, ledger, rules, batch):
    """Write what was counted in a finished round into row ``row`` of the batch, and begin anew for the next."""
    round_ = lanes[ROUND + lane]
    batch.choices[round_, row] = lanes[CHOICE_TURNS + lane]
    lanes[CHOICE_TURNS + lane] = U0
    for offset in range(rules.players):
        seat = seat_after(dealer, np.uint64(offset), U1, rules.players)
        batch.crank_paid[offset, round_, row] = ledger.crank_paid[lane, seat]
        ledger.crank_paid[lane, seat] = 0
