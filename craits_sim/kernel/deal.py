"""The start of a round: deal, starter, and what the starter does (RULES.md R2 to R6)."""

import numpy as np

from craits_sim.cards import full_deck
from craits_sim.kernel._jit import inlined
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    CRANK,
    DEALER,
    DECK_S0,
    DECK_S1,
    DISCARDS,
    DRAWER,
    DUG,
    FORWARD,
    GAME,
    HANDS,
    IDLE_TURNS,
    MATCHING,
    NAMED,
    NOBODY,
    OWED,
    PASSED_OVER,
    PLAYER,
    ROUND,
    SECOND_DECK,
    SECOND_HANDS,
    STATUS,
    STOCK,
    STRIDE,
    SUIT,
    TOP,
    TURNS,
    UNANNOUNCED,
    WINNER,
)
from craits_sim.kernel.ledger import ALL_COUNTS, CRANKS, SEAT_SKIPS
from craits_sim.kernel.step import (
    BY_ABILITY,
    OWED_DRAWERS,
    OWED_NOW,
    RANK_BITS,
    RUNNING,
    SUIT_BITS,
    has_more_of_other,
    longest_suit,
    nibble,
    random_recolors,
    random_suit,
    seat_after,
    suit_at,
)
from craits_sim.kernel.streams import CHOICES, DECK, FIRST_DEALER, REPLAY, advance, below, open_stream
from craits_sim.kernel.table import (
    ONE_DECK,
    SECOND_COPY,
    hand_of,
    next_seat,
    one_card,
    random_card,
    rank_matches,
    top_card,
)
from craits_sim.kernel.think import suit_of_starter
from craits_sim.kernel.words import U0, U1, U2, bit, select

DECKS = np.array(full_deck(2), np.uint8)


@inlined
def shuffle_on(order, left, s0, s1):
    """Take one card of a shuffle: move a random one of the first ``left`` cards to their end.

    Called with ``left`` = n, n - 1, ... it is the Fisher-Yates shuffle, stopped when enough cards are dealt.

    Returns
    -------
    card : uint64
    s0, s1 : uint64
        The stream after it.
    """
    z, s0, s1 = advance(s0, s1)
    place = below(z, left)
    end = left - U1
    card = order[place]
    order[place] = order[end]
    order[end] = card
    return np.uint64(card), s0, s1


@inlined
def first_dealer(seed, game, rules):
    """Give the seat that deals the first round (RULES.md R2)."""
    if rules.first_dealer >= 0:
        return np.uint64(rules.first_dealer)
    s0, s1 = open_stream(seed, game, U0, FIRST_DEALER)
    z, s0, s1 = advance(s0, s1)
    return below(z, rules.players)


@inlined
def clear_table(lanes, lane, dealer, ledger, rules):
    """Reset what does not outlive a round and is not set by the deal or the starter."""
    for row in (
        DISCARDS,
        DISCARDS + SECOND_DECK,
        TOP,
        TOP + SECOND_DECK,
        TURNS,
        DUG,
        IDLE_TURNS,
        NAMED,
        PASSED_OVER,
        UNANNOUNCED,
    ):
        lanes[row + lane] = U0
    for number in range(rules.players):
        row = np.uint64(number) * STRIDE + lane
        lanes[HANDS + row] = U0
        lanes[SECOND_HANDS + row] = U0
    for place in range(ALL_COUNTS):
        ledger.counts[lane, place] = 0
    lanes[WINNER + lane] = NOBODY
    lanes[STATUS + lane] = RUNNING
    lanes[DEALER + lane] = dealer


@inlined
def open_streams(lanes, lane, seed, bots):
    """Open the two streams of the lane's round; those of the choices are as many as there are replays of a deal."""
    game, round_ = lanes[GAME + lane], lanes[ROUND + lane]
    lanes[DECK_S0 + lane], lanes[DECK_S1 + lane] = open_stream(seed, game, round_, DECK)
    lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = open_stream(
        seed, game, round_, CHOICES + (bots.replay << REPLAY)
    )


@inlined
def deal_round(lanes, lane, dealer, rules, build, order):
    """Deal the lane's round and turn up its starter.

    Cards go round the table one at a time, the dealer's left first. ``order``, uint8 of shape (104,), is scratch.
    """
    for place in range(52 * len(build.decks)):
        order[place] = DECKS[place]
    left = np.uint64(52) * rules.decks
    s0, s1 = lanes[DECK_S0 + lane], lanes[DECK_S1 + lane]
    stock, second_stock = ONE_DECK, select(rules.decks > U1, ONE_DECK, U0)
    for _ in range(rules.deals[lanes[ROUND + lane]]):
        seat = dealer
        for _ in range(rules.players):
            seat = seat_after(seat, U1, U1, rules.players)
            card, s0, s1 = shuffle_on(order, left, s0, s1)
            left -= U1
            if card < SECOND_COPY:
                lanes[HANDS + seat * STRIDE + lane] |= U1 << card
                stock ^= U1 << card
            else:
                lanes[SECOND_HANDS + seat * STRIDE + lane] |= U1 << (card - SECOND_COPY)
                second_stock ^= U1 << (card - SECOND_COPY)

    # The starter: a random card of the stock that need not be put back (RULES.md R5).
    allowed, second_allowed = stock & ~rules.starter_redraw, second_stock & ~rules.starter_redraw
    if allowed | second_allowed == U0:
        allowed, second_allowed = stock, second_stock
    z, s0, s1 = advance(s0, s1)
    lanes[TOP + lane], lanes[TOP + SECOND_DECK + lane] = random_card(z, allowed, second_allowed)
    lanes[STOCK + lane] = stock ^ lanes[TOP + lane]
    lanes[STOCK + SECOND_DECK + lane] = second_stock ^ lanes[TOP + SECOND_DECK + lane]
    lanes[DECK_S0 + lane], lanes[DECK_S1 + lane] = s0, s1


@inlined
def act_as_starter(lanes, lane, ledger, rules, bots, build, desk):
    """Let the top card act as the dealer's play, and give the turn to whom it then belongs (RULES.md R5, R6).

    A suit that ``NAMED`` prescribes is taken instead of the choice of the dealer's bot.
    """
    dealer, players = lanes[DEALER + lane], rules.players
    place = top_card(lanes, lane)
    card, acts = one_card(place), rules.starter_acts != U0
    z, lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = advance(lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane])
    own = place & SUIT_BITS
    lanes[SUIT + lane] = suit_at(own)
    if acts and card & (rules.nominating | rules.recoloring) != U0:
        lanes[SUIT + lane] = _suit_named(lanes, lane, dealer, place, z, ledger, rules, bots, build, desk)
    lanes[NAMED + lane] = U0
    lanes[MATCHING + lane] = rank_matches(place, rules)

    forward = U1 ^ bit(acts and card & rules.reversing != U0)
    neighbor = seat_after(dealer, U1, forward, players)
    lanes[FORWARD + lane] = forward
    lanes[DRAWER + lane] = neighbor
    lanes[OWED + lane] = U0
    lanes[CRANK + lane] = U0
    lanes[PLAYER + lane] = neighbor
    if not acts:
        return
    lanes[PLAYER + lane] = seat_after(dealer, nibble(rules.advance, place), forward, players)
    if card & rules.crank_starters != U0:
        lanes[CRANK + lane] = nibble(rules.crank_value, place)
        ledger.counts[lane, CRANKS] += 1
    amount = nibble(rules.draw_amount, place)
    if amount != U0:
        lanes[OWED + lane] = (amount << OWED_NOW) | BY_ABILITY
        if card & rules.all_draw != U0:
            lanes[OWED + lane] |= amount | ((players - U2) << OWED_DRAWERS)
    count_skips(lanes, lane, ledger, neighbor, rules.skips[place & RANK_BITS], rules)


@inlined
def count_skips(lanes, lane, ledger, seat, number, rules):
    """Count one turn lost for each of ``number`` seats in a row, from ``seat`` on in the direction of play."""
    for _ in range(number):
        ledger.counts[lane, np.uint64(SEAT_SKIPS) + seat] += 1
        seat = next_seat(lanes, lane, seat, rules)


@inlined
def _suit_named(lanes, lane, dealer, place, z, ledger, rules, bots, build, desk):
    """Give the suit that the dealer names or recolors to."""
    if lanes[NAMED + lane] != U0:
        return lanes[NAMED + lane]
    card, own = one_card(place), place & SUIT_BITS
    hand, second_hand = hand_of(lanes, lane, dealer)
    greedy = (bots.greedy_seats >> dealer) & U1 != U0
    if card & rules.nominating != U0:
        suit = longest_suit(hand, second_hand) if greedy else random_suit(z)
    else:
        changes = has_more_of_other(hand, second_hand, own) if greedy else random_recolors(z)
        suit = own ^ SUIT_BITS if changes else own
    return suit_at(suit_of_starter(lanes, lane, dealer, place, suit, ledger, rules, bots, build, desk))
