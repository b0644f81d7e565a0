"""Positions that a user sets up, and moves played as they are written (`craits trace --scenario`).

What a script prescribes, cards of a stacked stock and moves, takes no random numbers: the step draws one for each card,
and the streams are wound back after it.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.encode import MAX_PLAYERS
from craits_sim.kernel._jit import compiled
from craits_sim.kernel.deal import clear_table, open_streams
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    CRANK,
    DECK_S0,
    DECK_S1,
    DISCARDS,
    DUG,
    GAME,
    HANDS,
    NAMED,
    OFFERED,
    OWED,
    ROUND,
    SECOND_DECK,
    SECOND_HANDS,
    STATUS,
    STOCK,
    STRIDE,
    TOP,
)
from craits_sim.kernel.step import PLAYING_OUT, SUIT_BITS, suit_at
from craits_sim.kernel.table import SECOND_COPY, can_draw, one_card, playable_cards
from craits_sim.kernel.words import ALL_BITS, U0, U1

# Moves that are no card code.
DRAW_MOVE, PASS_MOVE, NAME_MOVE = 200, 201, 202
OWN_SUIT = 4
"""In the second column of a move: no suit is named."""


class Outcome(IntEnum):
    """How far a script has come (third entry of ``Script.cursor``)."""

    BOTS_CHOOSE = 0
    PRESCRIBED = 1  # the last move
    OUT_OF_MOVES = 2
    ILLEGAL_MOVE = 3
    ILLEGAL_SUIT = 4


BOTS_CHOOSE, PRESCRIBED, OUT_OF_MOVES, ILLEGAL_MOVE, ILLEGAL_SUIT = (int(outcome) for outcome in Outcome)


class Script(NamedTuple):
    """A position and the moves that follow; without a position (``dealer`` < 0) games are dealt."""

    dealer: np.int64
    hands: NDArray[np.uint64]  # (2, MAX_PLAYERS) sets of first and second decks' cards
    starter: np.uint64  # card code
    discards: NDArray[np.uint64]  # (2,)
    stock: NDArray[np.uint64]  # (2,) cards of a stock in random order
    stacked: NDArray[np.uint64]  # (K,) card codes of a stock in this order, top card first; then ``stock`` is empty
    moves: NDArray[np.int64]  # (M, 2) card code or one of the moves above; suit named or OWN_SUIT
    bot_goes_on: np.uint64  # flag: after the moves the bots choose
    cursor: NDArray[np.int64]  # (3,) moves made, stacked cards put on the stock (in the end one more), Outcome
    streams: NDArray[np.uint64]  # (2, 2) those of the deck and of the choices, as they were opened


def no_script() -> Script:
    """Make the script of games that are dealt and played by bots."""
    return Script(
        dealer=np.int64(-1),
        hands=np.zeros((2, MAX_PLAYERS), np.uint64),
        starter=np.uint64(0),
        discards=np.zeros(2, np.uint64),
        stock=np.zeros(2, np.uint64),
        stacked=np.zeros(0, np.uint64),
        moves=np.zeros((0, 2), np.int64),
        bot_goes_on=np.uint64(1),
        cursor=np.zeros(3, np.int64),
        streams=np.zeros((2, 2), np.uint64),
    )


@compiled
def set_up(lanes, lane, seed, script, ledger, rules, bots):
    """Lay out the position in a lane; its starter has not acted yet."""
    clear_table(lanes, lane, np.uint64(script.dealer), ledger, rules)
    lanes[GAME + lane], lanes[ROUND + lane] = U0, U0
    open_streams(lanes, lane, seed, bots)
    script.streams[0, 0], script.streams[0, 1] = lanes[DECK_S0 + lane], lanes[DECK_S1 + lane]
    script.streams[1, 0], script.streams[1, 1] = lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane]
    for number in range(rules.players):
        row = np.uint64(number) * STRIDE + lane
        lanes[HANDS + row] = script.hands[0, number]
        lanes[SECOND_HANDS + row] = script.hands[1, number]
    for deck in range(2):
        row = np.uint64(deck) * SECOND_DECK + lane
        lanes[STOCK + row] = script.stock[deck]
        lanes[DISCARDS + row] = script.discards[deck]
    put_card(lanes, lane, TOP, script.starter)
    if len(script.moves) > 0 and script.moves[0, 0] == NAME_MOVE:
        lanes[NAMED + lane] = suit_at(np.uint64(16 * script.moves[0, 1]))
        script.cursor[0], script.cursor[2] = 1, PRESCRIBED
    elif len(script.moves) > 0 or script.bot_goes_on == U0:
        lanes[NAMED + lane] = suit_at(script.starter & SUIT_BITS)
        script.cursor[2] = PRESCRIBED
    stack_stock(lanes, lane, script)


@compiled
def put_card(lanes, lane, pile, card):
    """Add a card to a pile of the lane."""
    if card < SECOND_COPY:
        lanes[pile + lane] |= U1 << card
    else:
        lanes[pile + SECOND_DECK + lane] |= U1 << (card - SECOND_COPY)


@compiled
def stack_stock(lanes, lane, script):
    """Keep a stacked stock in order: the lane's stock is its next card alone, until there is none."""
    put, cards = script.cursor[1], len(script.stacked)
    if lanes[STOCK + lane] | lanes[STOCK + SECOND_DECK + lane] != U0 or cards == 0 or put > cards:
        return
    lanes[DECK_S0 + lane], lanes[DECK_S1 + lane] = script.streams[0]
    if put < cards:
        put_card(lanes, lane, STOCK, script.stacked[put])
    script.cursor[1] += 1


@compiled
def legal_moves(lanes, lane, rules):
    """Give what the player may do now.

    Returns
    -------
    playable, second_playable : uint64
        The cards that it may play, sets of first and of second decks' cards.
    may_draw, may_pass : bool
        Whether it may draw, or pays a crank; whether it has drawn and may end its turn without a play (RULES.md R9).
    """
    playable, second_playable = playable_cards(lanes, lane, rules)
    able, digging = playable | second_playable != U0, lanes[DUG + lane] != U0
    voluntary = rules.voluntary_draw != U0 and lanes[CRANK + lane] == U0 and can_draw(lanes, lane, rules)
    may_draw = not digging and (not able or voluntary)
    may_pass = digging and rules.may_decline != U0
    return playable, second_playable, may_draw, may_pass


@compiled
def prompt(lanes, lane, script, rules):
    """Where the player has a choice, prescribe the script's next move; False where the script ends here.

    Otherwise ``script.cursor`` says why it ends.
    """
    if lanes[STATUS + lane] > PLAYING_OUT or lanes[OWED + lane] != U0:
        return True
    if script.cursor[2] == PRESCRIBED:
        lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = script.streams[1]
    playable, second_playable, may_draw, may_pass = legal_moves(lanes, lane, rules)
    lanes[OFFERED + lane], lanes[OFFERED + SECOND_DECK + lane], lanes[NAMED + lane] = ALL_BITS, ALL_BITS, U0
    if lanes[DUG + lane] != U0 and playable | second_playable == U0:
        return True
    if script.cursor[0] == len(script.moves):
        script.cursor[2] = BOTS_CHOOSE if script.bot_goes_on != U0 else OUT_OF_MOVES
        return script.bot_goes_on != U0
    move, suit = script.moves[script.cursor[0]]
    if move in (DRAW_MOVE, PASS_MOVE):
        if not (may_draw if move == DRAW_MOVE else may_pass):
            script.cursor[2] = ILLEGAL_MOVE
            return False
        lanes[OFFERED + lane], lanes[OFFERED + SECOND_DECK + lane] = U0, U0
        script.cursor[2] = PRESCRIBED
    else:
        script.cursor[2] = _prescribe_card(lanes, lane, move, suit, playable, second_playable, rules)
        if script.cursor[2] != PRESCRIBED:
            return False
    script.cursor[0] += 1
    return True


@compiled
def _prescribe_card(lanes, lane, move, suit, playable, second_playable, rules):
    """Offer the player the one card of a move, and name its suit; gives an Outcome."""
    if move == NAME_MOVE:
        return ILLEGAL_MOVE
    card_bit = one_card(np.uint64(move))
    if playable & card_bit != U0:
        lanes[OFFERED + lane], lanes[OFFERED + SECOND_DECK + lane] = card_bit, U0
    elif second_playable & card_bit != U0:
        lanes[OFFERED + lane], lanes[OFFERED + SECOND_DECK + lane] = U0, card_bit
    else:
        return ILLEGAL_MOVE
    own = np.uint64(move) & SUIT_BITS
    chosen = own if suit == OWN_SUIT else np.uint64(16 * suit)
    recolors = card_bit & rules.recoloring != U0 and chosen == own ^ SUIT_BITS
    if not (chosen == own or recolors or card_bit & rules.nominating != U0):
        return ILLEGAL_SUIT
    lanes[NAMED + lane] = suit_at(chosen)
    return PRESCRIBED
