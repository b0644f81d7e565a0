"""The start of a round: deal, starter, and what the starter does (RULES.md R2 to R6)."""

import numpy as np

from craits_sim import encode
from craits_sim.cards import full_deck
from craits_sim.kernel._jit import compiled, inlined
from craits_sim.kernel.lanes import (
    CAUSE,
    CHOICE_S0,
    CHOICE_S1,
    COUNTS,
    CRANK,
    DEALER,
    DECK_S0,
    DECK_S1,
    DISCARDS,
    DRAWER,
    DUG,
    FORCED_BY_SEAT,
    FORWARD,
    FREE,
    GAME,
    HANDS,
    IDLE_TURNS,
    LANES,
    MATCHING,
    NAMED,
    NOBODY,
    OFFERED,
    OWED,
    PASSED_OVER,
    PLAYER,
    ROUND,
    SECOND_DECK,
    SECOND_HANDS,
    SKIPS_BY_SEAT,
    STATUS,
    STOCK,
    SUIT,
    TOP,
    TURNS,
    TURNS_BY_SEAT,
    UNANNOUNCED,
    WINNER,
)
from craits_sim.kernel.ledger import ALL_COUNTS, CRANKS, SEAT_SKIPS
from craits_sim.kernel.step import (
    BY_ABILITY,
    FOUR_BITS,
    OWED_BITS,
    RUNNING,
    cards_in_suit,
    flag,
    four_bits,
    longest_suit,
    matching_cards,
    random_recolors,
    random_suit,
    seat_after,
)
from craits_sim.kernel.streams import CHOICES, DECK, FIRST_DEALER, advance, below, open_stream
from craits_sim.kernel.table import SECOND_COPY, hand_of, next_seat, suit_of_card, top_card
from craits_sim.kernel.words import ALL_BITS, U0, U1, U3, bit, kth_card, popcount, select

DECKS = np.array(full_deck(2), np.uint8)
ONE_DECK = np.uint64(sum(1 << card for card in full_deck(1)))


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
    """Reset everything that does not outlive a round."""
    for row in (
        *(STOCK, STOCK + SECOND_DECK, TOP, TOP + SECOND_DECK, DISCARDS, DISCARDS + SECOND_DECK),
        *(CRANK, TURNS, DUG, IDLE_TURNS, OWED, PASSED_OVER, UNANNOUNCED),
        *(COUNTS, TURNS_BY_SEAT, SKIPS_BY_SEAT, FORCED_BY_SEAT),
    ):
        lanes[row + lane] = U0
    for number in range(rules.players):
        row = np.uint64(number) * LANES + lane
        lanes[HANDS + row] = U0
        lanes[SECOND_HANDS + row] = U0
    for place in range(ALL_COUNTS):
        ledger.counts[lane, place] = 0
    lanes[OFFERED + lane] = ALL_BITS
    lanes[OFFERED + SECOND_DECK + lane] = ALL_BITS
    lanes[NAMED + lane] = FREE
    lanes[FORWARD + lane] = U1
    lanes[WINNER + lane] = NOBODY
    lanes[STATUS + lane] = RUNNING
    lanes[DEALER + lane] = dealer


@inlined
def open_streams(lanes, lane, seed):
    """Open the two streams of the lane's round."""
    game, round_ = lanes[GAME + lane], lanes[ROUND + lane]
    lanes[DECK_S0 + lane], lanes[DECK_S1 + lane] = open_stream(seed, game, round_, DECK)
    lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = open_stream(seed, game, round_, CHOICES)


@inlined
def deal_round(lanes, lane, seed, dealer, rules, build, order):
    """Deal the lane's round and turn up its starter.

    Cards go round the table one at a time, the dealer's left first. ``order``, uint8 of shape (104,), is scratch.
    """
    open_streams(lanes, lane, seed)
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
                lanes[HANDS + seat * LANES + lane] |= U1 << card
                stock ^= U1 << card
            else:
                lanes[SECOND_HANDS + seat * LANES + lane] |= U1 << (card - SECOND_COPY)
                second_stock ^= U1 << (card - SECOND_COPY)

    # The starter: a random card of the stock that need not be put back (RULES.md R5).
    allowed, second_allowed = stock & ~rules.starter_redraw, second_stock & ~rules.starter_redraw
    if allowed | second_allowed == U0:
        allowed, second_allowed = stock, second_stock
    z, s0, s1 = advance(s0, s1)
    of_first = popcount(allowed)
    pick = below(z, of_first + popcount(second_allowed))
    if pick < of_first:
        lanes[TOP + lane] = kth_card(allowed, pick)
    else:
        lanes[TOP + SECOND_DECK + lane] = kth_card(second_allowed, pick - of_first)
    lanes[STOCK + lane] = stock ^ lanes[TOP + lane]
    lanes[STOCK + SECOND_DECK + lane] = second_stock ^ lanes[TOP + SECOND_DECK + lane]
    lanes[DECK_S0 + lane], lanes[DECK_S1 + lane] = s0, s1


@compiled
def act_as_starter(lanes, lane, ledger, rules, bots):
    """Let the top card act as the dealer's play, and give the turn to whom it then belongs (RULES.md R5, R6).

    A suit that ``NAMED`` prescribes is taken instead of the choice of the dealer's bot.
    """
    dealer, players = lanes[DEALER + lane], rules.players
    card = top_card(lanes, lane)
    printed = rules.abilities[card & FOUR_BITS]
    ability = select(rules.starter_acts != U0, printed, np.uint64(1 << encode.ADVANCE))
    z, lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = advance(lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane])
    lanes[SUIT + lane] = suit_named(lanes, lane, dealer, ability, suit_of_card(card), z, bots)
    lanes[NAMED + lane] = FREE
    lanes[MATCHING + lane] = matching_cards(printed)

    forward = U1 ^ bit(flag(ability, encode.REVERSES))
    neighbor = seat_after(dealer, U1, forward, players)
    lanes[FORWARD + lane] = forward
    lanes[PLAYER + lane] = seat_after(dealer, four_bits(ability, encode.ADVANCE), forward, players)
    lanes[CRANK + lane] = four_bits(ability, encode.CRANK_START)
    ledger.counts[lane, CRANKS] += np.int64(lanes[CRANK + lane] != U0)
    lanes[OWED + lane] = (ability >> np.uint64(encode.OWED)) & OWED_BITS
    lanes[DRAWER + lane] = neighbor
    lanes[CAUSE + lane] = BY_ABILITY
    if rules.starter_acts != U0:
        count_skips(lanes, lane, ledger, neighbor, rules.skips[card & FOUR_BITS], rules)


@compiled
def count_skips(lanes, lane, ledger, seat, number, rules):
    """Count one turn lost for each of ``number`` seats in a row, from ``seat`` on in the direction of play."""
    for _ in range(number):
        ledger.counts[lane, np.uint64(SEAT_SKIPS) + seat] += 1
        seat = next_seat(lanes, lane, seat, rules)


@inlined
def suit_named(lanes, lane, seat, ability, own_suit, z, bots):
    """Give the suit to follow after a seat has put down a card of ``own_suit`` with this ability."""
    nominates, recolors = flag(ability, encode.NOMINATES), flag(ability, encode.RECOLORS)
    if not (nominates or recolors):
        return own_suit
    if lanes[NAMED + lane] != FREE:
        return lanes[NAMED + lane]
    hand, second_hand = hand_of(lanes, lane, seat)
    greedy = (bots.greedy_seats >> seat) & U1 != U0
    if nominates:
        return select(greedy, longest_suit(hand, second_hand), random_suit(z))
    other = U3 - own_suit
    more_of_other = cards_in_suit(hand, second_hand, other) > cards_in_suit(hand, second_hand, own_suit)
    changes = select(greedy, bit(more_of_other), random_recolors(z))
    return select(changes != U0, other, own_suit)
