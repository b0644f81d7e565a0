"""Bots that think: those that choose between steps.

`random` and `greedy` choose inside the step. Every other bot is asked here when its turn comes; it answers by what the
lane offers (``OFFERED``: the one card that may be played) and the suit that it names (``NAMED``). The step plays it.
"""

import math

import numpy as np

from craits_sim.bots import BOTS
from craits_sim.bots import OWN as OWN_KIND
from craits_sim.kernel._jit import by_build, compiled, inlined
from craits_sim.kernel.ask import ask
from craits_sim.kernel.build import has
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    HAND,
    LANES,
    NAMED,
    OFFERED,
    OWED,
    PLAYABLE,
    PLAYER,
    SECOND_DECK,
    STATUS,
)
from craits_sim.kernel.moves import list_moves, look_around, weigh_moves
from craits_sim.kernel.slate import CARD, NEW_SUIT, SCORE
from craits_sim.kernel.step import PLAYING_OUT, SUIT_BITS, shed_first, suit_at
from craits_sim.kernel.streams import advance
from craits_sim.kernel.table import SECOND_COPY, hand_of, one_card, random_card, turns_before
from craits_sim.kernel.words import ALL_BITS, U0, U1, bit, lowest_card, popcount, read, select, write

RANDOM, GREEDY, CAREFUL, ROLLOUT = (np.uint64(BOTS[name].code) for name in ("random", "greedy", "careful", "rollout"))
OWN = np.uint64(OWN_KIND.code)


PATIENCE = np.uint64(300)
"""After so many turns of a round a bot that weighs or looks ahead plays as random does. Careful bots can pass the same
cards round for ever (RULES.md R13): without this, with five of them one round in eight went on to the turn cap."""


def think(lanes, seed, ledger, rules, bots, build, desk, script, mind):
    """Let every player that thinks choose its card and suit, in all lanes; nothing where nobody thinks."""


@by_build(think)
def _think_in(lanes, seed, ledger, rules, bots, build, desk, script, mind):
    return _think if has(build, "thinking") else _think_not


def _think_not(lanes, seed, ledger, rules, bots, build, desk, script, mind):
    pass


def _think(lanes, seed, ledger, rules, bots, build, desk, script, mind):
    thinking, weighing, end = _lanes_that_choose(lanes, rules, bots, build), U0, U0
    while thinking != U0:
        lane = lowest_card(thinking)
        thinking &= thinking - U1
        start = end
        end = _list_choices(lanes, lane, rules, bots, build, desk.slate, start)
        ledger.moves[lane, 0], ledger.moves[lane, 1] = start, end
        weighing |= bit(end > start) << lane
    weigh_moves(desk.slate, end, rules, bots, build)
    while weighing != U0:
        lane = lowest_card(weighing)
        weighing &= weighing - U1
        start, end = ledger.moves[lane]
        best = choose(lanes, lane, seed, ledger, rules, bots, build, desk, start, end, script, mind)
        offer(lanes, lane, desk.slate[CARD + best], desk.slate[NEW_SUIT + best] << np.uint64(4))


def choose(lanes, lane, seed, ledger, rules, bots, build, desk, start, end, script, mind):
    """Give the move, of those on the slate from ``start`` to ``end``, that the player makes (`rollout`)."""


@inlined
def _lanes_that_choose(lanes, rules, bots, build):
    """Take back what was offered in every lane, and give those whose player thinks and has a choice, a bit a lane."""
    choosing = U0
    for lane in range(LANES):
        look_around(lanes, lane, rules, build)
        write(lanes, OFFERED + lane, ALL_BITS)
        write(lanes, OFFERED + SECOND_DECK + lane, ALL_BITS)
        write(lanes, NAMED + lane, U0)
        cards, second_cards = read(lanes, PLAYABLE + lane), U0
        if len(build.decks) > 1:
            second_cards = read(lanes, PLAYABLE + SECOND_DECK + lane)
        special = (rules.nominating | rules.recoloring) & (cards | second_cards) != U0
        chooses = special | (popcount(cards) + popcount(second_cards) > U1)
        acts = (read(lanes, STATUS + lane) <= PLAYING_OUT) & (read(lanes, OWED + lane) == U0)
        thinks = (bots.thinking_seats >> read(lanes, PLAYER + lane)) & U1 != U0
        choosing |= bit(acts & thinks & chooses) << lane
    return choosing


@inlined
def _list_choices(lanes, lane, rules, bots, build, slate, start):
    """Put the moves of a player on the slate, unless it does not weigh them; gives their end."""
    seat = lanes[PLAYER + lane]
    cards, second_cards = lanes[PLAYABLE + lane], lanes[PLAYABLE + SECOND_DECK + lane]
    never = bots.never[seat]
    plain = (cards | second_cards) & ~never == U0
    if not plain:
        cards, second_cards = cards & ~never, second_cards & ~never
    if bots.kinds[seat] < CAREFUL or (bots.kinds[seat] < OWN and turns_before(lanes, lane) >= PATIENCE):
        lanes[OFFERED + lane], lanes[OFFERED + SECOND_DECK + lane] = cards, second_cards
        if plain:
            offer(lanes, lane, *_plain_card(lanes, lane, cards, second_cards, bots.kinds[seat] == GREEDY, bots))
        return start
    return list_moves(lanes, lane, seat, cards, second_cards, plain, False, rules, bots, build, slate, start)


@inlined
def offer(lanes, lane, place, sixteenfold):
    """Make a card the only one that may be played, and name a suit, given as 16 times its number."""
    card = one_card(place)
    lanes[OFFERED + lane] = card if place < SECOND_COPY else U0
    lanes[OFFERED + SECOND_DECK + lane] = U0 if place < SECOND_COPY else card
    lanes[NAMED + lane] = suit_at(sixteenfold)


@compiled
def _plain_card(lanes, lane, cards, second_cards, greedy, bots):
    """Choose a card as random or greedy does; gives its code and 16 times its own suit."""
    if greedy:
        cards, second_cards = shed_first(cards, second_cards, bots.shed_order)
    else:
        z, s0, s1 = advance(lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane])
        lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = s0, s1
        cards, second_cards = random_card(z, cards, second_cards)
    place = lowest_card(cards) if cards != U0 else lowest_card(second_cards) + SECOND_COPY
    return place, place & SUIT_BITS


@inlined
def best_move(lanes, lane, noise, slate, start, end):
    """Give the move with the highest score, of equals the first."""
    best, best_score = start, np.int64(slate[SCORE + start])
    if noise > 0 and end - start > U1:
        return _noisy_move(lanes, lane, noise, slate, start, end)
    for move in range(start + U1, end):
        score = np.int64(slate[SCORE + move])
        better = score > best_score
        best, best_score = select(better, move, best), max(score, best_score)
    return best


@compiled
def _noisy_move(lanes, lane, noise, slate, start, end):
    """Give a move that is more likely the higher its score.

    Each score is raised by a number from the Gumbel distribution: then the highest is that of a move with a probability
    in proportion to ``exp(score / noise)`` (the softmax; Gumbel 1954).
    """
    best, best_score = start, -np.inf
    for move in range(start, end):
        z, s0, s1 = advance(lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane])
        lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = s0, s1
        share = (np.float64(z >> np.uint64(11)) + 0.5) * 2.0**-53
        score = np.float64(np.int64(slate[SCORE + move])) - noise * math.log(-math.log(share))
        if score > best_score:
            best, best_score = move, score
    return best


def suit_of_starter(lanes, lane, dealer, place, suit, ledger, rules, bots, build, desk):
    """Give 16 times the suit that a dealer names for the card that it has turned up.

    ``suit``, likewise, is what it names if it does not think.
    """


@by_build(suit_of_starter)
def _suit_of_starter_in(lanes, lane, dealer, place, suit, ledger, rules, bots, build, desk):
    return _suit_of_starter if has(build, "thinking") else _suit_as_named


def _suit_as_named(lanes, lane, dealer, place, suit, ledger, rules, bots, build, desk):
    return suit


def _suit_of_starter(lanes, lane, dealer, place, suit, ledger, rules, bots, build, desk):
    plain = one_card(place) & bots.never[dealer] != U0
    kind = bots.base[dealer] if bots.kinds[dealer] == ROLLOUT else bots.kinds[dealer]
    if kind < CAREFUL:
        return place & SUIT_BITS if plain else suit
    return _suit_weighed(lanes, lane, dealer, place, plain, ledger, rules, bots, build, desk)


@compiled
def _suit_weighed(lanes, lane, dealer, place, plain, ledger, rules, bots, build, desk):
    card = one_card(place)
    first, second = (card, U0) if place < SECOND_COPY else (U0, card)
    look_around(lanes, lane, rules, build)
    lanes[HAND + lane], lanes[HAND + SECOND_DECK + lane] = hand_of(lanes, lane, dealer)
    end = list_moves(lanes, lane, dealer, first, second, plain, True, rules, bots, build, desk.slate, U0)
    weigh_moves(desk.slate, end, rules, bots, build)
    if bots.kinds[dealer] == OWN:
        best = ask(lanes, lane, dealer, True, ledger, rules, bots, desk, U0, end)
    else:
        best = best_move(lanes, lane, bots.noise[dealer], desk.slate, U0, end)
    return desk.slate[NEW_SUIT + best] << np.uint64(4)


@by_build(choose)
def _choose_in(lanes, lane, seed, ledger, rules, bots, build, desk, start, end, script, mind):
    return _choose_ahead if has(build, "ahead") else _choose_at_once


def _choose_at_once(lanes, lane, seed, ledger, rules, bots, build, desk, start, end, script, mind):
    return _move_at_once(lanes, lane, ledger, rules, bots, desk, start, end)


def _choose_ahead(lanes, lane, seed, ledger, rules, bots, build, desk, start, end, script, mind):
    if bots.kinds[lanes[PLAYER + lane]] == ROLLOUT:
        return look_ahead(lanes, lane, seed, rules, bots, build, desk.slate, start, end, script, mind)
    return _move_at_once(lanes, lane, ledger, rules, bots, desk, start, end)


@inlined
def _move_at_once(lanes, lane, ledger, rules, bots, desk, start, end):
    """Give the move of a bot that asks the user's function, or takes the best score."""
    seat = lanes[PLAYER + lane]
    if bots.kinds[seat] == OWN:
        return ask(lanes, lane, seat, False, ledger, rules, bots, desk, start, end)
    return best_move(lanes, lane, bots.noise[seat], desk.slate, start, end)


def look_ahead(lanes, lane, seed, rules, bots, build, slate, start, end, script, mind):
    """Give the move that a bot chooses which looks ahead (``rollout.py``)."""
