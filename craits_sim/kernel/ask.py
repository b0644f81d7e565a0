"""Asking a bot of the user's own: its view and its moves are written down, and its function is called."""

import numpy as np

from craits_sim.kernel._jit import compiled
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    CRANK,
    DEALER,
    DISCARDS,
    FORWARD,
    ROUND,
    SECOND_DECK,
    STOCK,
    SUIT,
)
from craits_sim.kernel.own import call_own
from craits_sim.kernel.slate import ALL_FEATURES, CARD, FIRST_FEATURE, NEW_SUIT, ROW
from craits_sim.kernel.step import RANK_BITS, same_rank, suit_at
from craits_sim.kernel.streams import advance
from craits_sim.kernel.table import count_cards, hand_of, suit_number, top_card, turns_before, unseen_cards
from craits_sim.kernel.words import U0, U1
from craits_sim.view import SEATS


@compiled
def ask(lanes, lane, seat, starter, ledger, rules, bots, desk, start, end):
    """Give the move that a bot of the user's own makes; the first, and trouble on the desk, if it makes none."""
    if desk.trouble[0] != 0:  # the desk keeps what the bot saw then
        return start
    number = np.int64(end - start)
    _show_table(lanes, lane, seat, starter, ledger, rules, desk.seen[0])
    for move in range(number):
        place = start + np.uint64(move)
        desk.moves[move, 0] = np.int64(desk.slate[CARD + place])
        desk.moves[move, 1] = np.int64(desk.slate[NEW_SUIT + place])
        for feature in range(ALL_FEATURES):
            value = desk.slate[FIRST_FEATURE + np.uint64(feature) * ROW + place]
            desk.moves[move, 2 + feature] = np.int64(value)
    desk.asked[0] += 1
    desk.asked[1] = number
    given = call_own(bots.addresses[seat], desk.seen, desk.moves, number)
    if given < 0 or given >= number:
        desk.trouble[0], desk.trouble[1], desk.trouble[2], desk.trouble[3] = 1, np.int64(seat), given, number
        return start
    return start + np.uint64(given)


@compiled
def _show_table(lanes, lane, seat, starter, ledger, rules, view):
    """Write down what a seat sees (`craits_sim.view`)."""
    hand, second_hand = hand_of(lanes, lane, seat)
    unseen, second_unseen = unseen_cards(lanes, lane, hand, second_hand, rules)
    view["players"] = np.int64(rules.players)
    view["seat"] = np.int64(seat)
    view["dealer"] = np.int64(lanes[DEALER + lane])
    view["round"] = np.int64(lanes[ROUND + lane])
    view["rounds"] = len(rules.deals)
    view["turn"] = np.int64(turns_before(lanes, lane))
    view["starter"] = np.int64(starter)
    view["direction"] = np.int64(1) if starter or lanes[FORWARD + lane] != U0 else np.int64(-1)
    view["crank"] = np.int64(lanes[CRANK + lane])
    view["top_rank"] = np.int64(top_card(lanes, lane) & RANK_BITS)
    view["suit"] = np.int64(suit_number(lanes[SUIT + lane]))
    view["stock"] = np.int64(count_cards(lanes[STOCK + lane], lanes[STOCK + SECOND_DECK + lane]))
    view["discards"] = np.int64(count_cards(lanes[DISCARDS + lane], lanes[DISCARDS + SECOND_DECK + lane]))
    for number in range(SEATS):  # all: a bot could else leave itself a note in those that are not at the table
        there = number < rules.players
        cards = np.int64(count_cards(*hand_of(lanes, lane, np.uint64(number)))) if there else np.int64(0)
        view["cards_of"][number] = cards
        view["totals"][number] = ledger.totals[lane, number] if there else np.int64(0)
    for rank in range(13):
        cards = same_rank(np.uint64(rank))
        view["held"][rank] = np.int64(count_cards(hand & cards, second_hand & cards))
        view["unseen"][rank] = np.int64(count_cards(unseen & cards, second_unseen & cards))
    for suit in range(4):
        cards = suit_at(np.uint64(16 * suit))
        view["held_of_suit"][suit] = np.int64(count_cards(hand & cards, second_hand & cards))
        view["unseen_of_suit"][suit] = np.int64(count_cards(unseen & cards, second_unseen & cards))
    z, lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = advance(lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane])
    view["random"] = np.int64(z >> U1)
