"""A lane between steps: its hands, its seats, its cards, one quantity at a time.

Scalar code, for the referee and for those who watch; the step itself works on whole rows (``step.py``).
"""

import numpy as np

from craits_sim.cards import full_deck
from craits_sim.kernel._jit import compiled, inlined
from craits_sim.kernel.lanes import (
    CRANK,
    DISCARDS,
    DUG,
    FORWARD,
    HANDS,
    LANES,
    MATCHING,
    OWED,
    PLAYER,
    SECOND_DECK,
    SECOND_HANDS,
    STATUS,
    STOCK,
    STRIDE,
    SUIT,
    TOP,
    TURNS,
)
from craits_sim.kernel.step import PLAYING_OUT, RANK_BITS, may_follow, same_rank, seat_after
from craits_sim.kernel.streams import below
from craits_sim.kernel.words import U0, U1, bit, kth_card, lowest_card, popcount, read, select

SECOND_COPY = np.uint64(64)
ONE_DECK = np.uint64(sum(1 << card for card in full_deck(1)))


@inlined
def hand_of(lanes, lane, seat):
    """Give the cards of a seat: sets of first and of second decks' cards."""
    return lanes[HANDS + seat * STRIDE + lane], lanes[SECOND_HANDS + seat * STRIDE + lane]


@inlined
def holds_none(lanes, lane, seat):
    """Whether a seat has no cards."""
    hand, second_hand = hand_of(lanes, lane, seat)
    return hand | second_hand == U0


@inlined
def next_seat(lanes, lane, seat, rules):
    """Give the seat after ``seat`` in the direction of play."""
    return seat_after(seat, U1, lanes[FORWARD + lane], rules.players)


@inlined
def count_cards(cards, second_cards):
    """Count the cards of a set of two decks."""
    return popcount(cards) + popcount(second_cards)


@inlined
def top_card(lanes, lane):
    """Give the code of the top card."""
    top, second_top = lanes[TOP + lane], lanes[TOP + SECOND_DECK + lane]
    if second_top != U0:
        return lowest_card(second_top) + SECOND_COPY
    return lowest_card(top)


@inlined
def can_draw(lanes, lane, rules):
    """Whether a card can be drawn, from the stock or after a reshuffle (RULES.md R12)."""
    stock = lanes[STOCK + lane] | lanes[STOCK + SECOND_DECK + lane]
    discards = lanes[DISCARDS + lane] | lanes[DISCARDS + SECOND_DECK + lane]
    return stock | (discards & rules.reshuffle) != U0


@compiled
def playable_cards(lanes, lane, rules):
    """Give the cards that the player may play: sets of first and of second decks' cards (RULES.md R8, R14)."""
    hand, second_hand = hand_of(lanes, lane, lanes[PLAYER + lane])
    follow = may_follow(rules, lanes[MATCHING + lane], lanes[SUIT + lane], lanes[CRANK + lane] != U0)
    return hand & follow, second_hand & follow


@inlined
def one_card(card):
    """Give a card code as a set of one, of whichever deck."""
    return U1 << (card & (SECOND_COPY - U1))


@inlined
def suit_number(suit):
    """Give the number of a suit, 0 to 3, from the set of its cards."""
    return lowest_card(suit) >> np.uint64(4)


@inlined
def rank_matches(place, rules):
    """Give the cards that match the rank of the card at this position (RULES.md R8)."""
    if rules.ability_match != U0:
        return rules.matched[place & RANK_BITS]
    return same_rank(place) & rules.rank_match


@inlined
def waiting_lanes(lanes):
    """Give the lanes that wait for the referee and owe no cards, a bit a lane."""
    waiting = U0
    for lane in range(LANES):
        waits = (read(lanes, STATUS + lane) > PLAYING_OUT) & (read(lanes, OWED + lane) == U0)
        waiting |= bit(waits) << lane
    return waiting


@inlined
def turns_before(lanes, lane):
    """Count the turns of the round before the player's."""
    return lanes[TURNS + lane] - bit(lanes[DUG + lane] != U0)


@inlined
def random_card(bits, cards, second_cards):
    """Take a random card of a set of first and of second decks' cards, as sets of which one holds it alone."""
    of_first = popcount(cards)
    pick = below(bits, of_first + popcount(second_cards))
    if pick < of_first:
        return kth_card(cards, pick), U0
    return U0, kth_card(second_cards, pick - of_first)


@inlined
def unseen_cards(lanes, lane, hand, second_hand, rules):
    """Give the cards that a seat with this hand has not seen: those of the other hands and of the stock.

    Cards that are out of play, in a position that is set up, are among them.
    """
    unseen = ONE_DECK & ~(hand | lanes[DISCARDS + lane] | lanes[TOP + lane])
    second_seen = second_hand | lanes[DISCARDS + SECOND_DECK + lane] | lanes[TOP + SECOND_DECK + lane]
    return unseen, select(rules.decks > U1, ONE_DECK & ~second_seen, U0)
