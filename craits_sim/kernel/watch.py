"""Watching single cards: events, shuffle pressure, forgotten announcements, and the checks.

Mass runs look at their lanes every few steps and need none of this. Where something hangs on a single card, the referee
looks after every step (``Watch.closely``): each lane is noted before the step and compared after it.
"""

from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim import encode
from craits_sim.encode import EncodedBots, EncodedRules
from craits_sim.kernel._jit import compiled
from craits_sim.kernel.deal import count_skips
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    COUNT_FIELD,
    COUNTS,
    CRANK,
    DISCARDS,
    DRAWER,
    DUG,
    GAME,
    HANDS,
    LANES,
    MATCHING,
    OWED,
    PASSED_OVER,
    PLAYER,
    ROUND,
    ROWS,
    SECOND_DECK,
    SECOND_HANDS,
    STATUS,
    STOCK,
    STRIDE,
    SUIT,
    TOP,
    TURNS,
    UNANNOUNCED,
    Status,
)
from craits_sim.kernel.script import PRESCRIBED
from craits_sim.kernel.step import (
    ANSWERED,
    BY_CRANK,
    CAUSES,
    OWED_NOW,
    OWN,
    PENALTY,
    RANK_BITS,
    RUNNING,
    TRUNCATED,
    WENT_OUT,
)
from craits_sim.kernel.streams import advance
from craits_sim.kernel.table import (
    ONE_DECK,
    SECOND_COPY,
    count_cards,
    hand_of,
    next_seat,
    playable_cards,
    rank_matches,
    suit_number,
    top_card,
)
from craits_sim.kernel.words import U0, U1, U2, lowest_card
from craits_sim.results import EVENT_DTYPE, Action

OWED_CAUSE = np.uint64(encode.OWED_CAUSE)
IDLE = np.uint64(Status.IDLE)
LOW_HALF, HALF_BITS = np.uint64(0xFFFF_FFFF), np.uint64(32)
MOST_PRESSURE = 100_000
"""The most points that one reshuffle costs, however often the pressure has doubled."""

DEAL, STARTER, PLAY, DRAW, RESHUFFLE, PASS, CAUGHT, LOST_TURN, GO_OUT, BLOCKED_END, CUT, PRESSURE, SCORE = (
    int(action) for action in Action
)
NO_CARD = np.uint64(0xFF)
NO_SUIT = np.uint64(0xF)
NO_SEAT = np.uint64(0xF)

# What is noted of a lane before a step.
SEAT, HAND, SECOND_HAND, TURNS_BEFORE, COUNTS_BEFORE, CAUSE_BEFORE, PLAYABLE, SECOND_PLAYABLE, CRANK_BEFORE = range(9)


class Watch(NamedTuple):
    """What is watched, and what has been seen."""

    closely: np.uint64  # flag: look at every lane after every step
    checks: np.uint64  # flag: assert what must hold after every step
    events: NDArray[np.void]  # (E,) of EVENT_DTYPE; E = 0: record none
    recorded: NDArray[np.int64]  # (1,) events so far; more than E: there was no room for the rest
    snapshots: NDArray[np.uint64]  # (R, ROWS) the lane at the end of each round of the game recorded; R = 0: none
    before: NDArray[np.uint64]  # (LANES, 9)
    broken: NDArray[np.int64]  # (3,) a Breach, game and round of the first check that failed


class Breach(IntEnum):
    """What a check found (first entry of ``Watch.broken``)."""

    NONE = 0
    CARDS = 1  # a card is missing, or in two places
    ILLEGAL_PLAY = 2
    ILLEGAL_DRAW = 3  # a seat drew that could have played


NONE, CARDS, ILLEGAL_PLAY, ILLEGAL_DRAW = (int(breach) for breach in Breach)


def new_watch(
    rules: EncodedRules,
    bots: EncodedBots,
    events: int = 0,
    rounds: int = 0,
    scripted: bool = False,
    checks: bool = False,
) -> Watch:
    """Make a watch with room for so many events and snapshots of so many rounds."""
    hangs_on_a_card = rules.pressure > 0 or bots.forget.any() or rules.ability_match > 0 or rules.skips.max() > 1
    return Watch(
        closely=np.uint64(hangs_on_a_card or events > 0 or scripted or checks),
        checks=np.uint64(checks),
        events=np.zeros(events, EVENT_DTYPE),
        recorded=np.zeros(1, np.int64),
        snapshots=np.zeros((rounds, ROWS), np.uint64),
        before=np.zeros((int(LANES), 9), np.uint64),
        broken=np.zeros(3, np.int64),
    )


@compiled
def note(watch, lanes, lane, action, seat, card, suit, detail):
    """Record an event, if events are recorded; NO_SEAT, NO_CARD and NO_SUIT stand where none is meant."""
    if len(watch.events) == 0:
        return
    place = watch.recorded[0]
    watch.recorded[0] += 1
    if place >= len(watch.events):
        return
    event = watch.events[place]
    event["game"] = lanes[GAME + lane]
    event["round"] = lanes[ROUND + lane]
    event["action"] = action
    event["seat"] = -1 if seat == NO_SEAT else np.int64(seat)
    event["card"] = -1 if card == NO_CARD else np.int64(card)
    event["suit"] = -1 if suit == NO_SUIT else np.int64(suit)
    event["crank"] = lanes[CRANK + lane]
    event["detail"] = detail


@compiled
def look_before(lanes, lane, rules, watch):
    """Note the lane before a step."""
    before = watch.before[lane]
    owes = lanes[OWED + lane] != U0
    seat = lanes[DRAWER + lane] if owes else lanes[PLAYER + lane]
    in_crank = lanes[CRANK + lane] != U0
    before[SEAT] = seat
    before[HAND], before[SECOND_HAND] = hand_of(lanes, lane, seat)
    before[TURNS_BEFORE] = lanes[TURNS + lane]
    before[COUNTS_BEFORE] = lanes[COUNTS + lane]
    before[CAUSE_BEFORE] = lanes[OWED + lane] & CAUSES if owes else (BY_CRANK if in_crank else OWN)
    before[CRANK_BEFORE] = lanes[CRANK + lane]
    before[PLAYABLE], before[SECOND_PLAYABLE] = playable_cards(lanes, lane, rules)


@compiled
def watch_lane(lanes, lane, rules, bots, ledger, script, watch):
    """Do in a lane, after a step, all that hangs on single cards."""
    if lanes[STATUS + lane] == IDLE:
        return
    look_after(lanes, lane, rules, bots, ledger, script, watch)
    if watch.checks != U0:
        check(lanes, lane, rules, watch)
    if lanes[OWED + lane] == U0 and lanes[UNANNOUNCED + lane] != U0:
        hear_announcement(lanes, lane, rules, bots, watch)
    pass_over(lanes, lane, rules, watch)


@compiled
def take_snapshot(lanes, lane, watch):
    """Keep the lane as it is at the end of its round."""
    for number in range(ROWS):
        watch.snapshots[lanes[ROUND + lane], number] = lanes[np.uint64(number) * STRIDE + lane]


@compiled
def look_after(lanes, lane, rules, bots, ledger, script, watch):
    """See what the step has done in the lane."""
    before = watch.before[lane]
    seat = before[SEAT]
    hand, second_hand = hand_of(lanes, lane, seat)
    if (lanes[COUNTS + lane] - before[COUNTS_BEFORE]) >> (COUNT_FIELD * U2) & U1 != U0:
        stock = count_cards(lanes[STOCK + lane], lanes[STOCK + SECOND_DECK + lane]) + U1
        note(watch, lanes, lane, RESHUFFLE, seat, NO_CARD, NO_SUIT, np.int64(stock))
        if rules.pressure > 0:
            _press(lanes, lane, seat, rules, ledger, watch)
    moved, second_moved = hand ^ before[HAND], second_hand ^ before[SECOND_HAND]
    if moved | second_moved == U0:
        if lanes[TURNS + lane] > before[TURNS_BEFORE]:
            note(watch, lanes, lane, PASS, seat, NO_CARD, NO_SUIT, np.int64(0))
        return
    if (moved & hand) | (second_moved & second_hand) != U0:
        card = lowest_card(moved) if moved != U0 else lowest_card(second_moved) + SECOND_COPY
        note(watch, lanes, lane, DRAW, seat, card, NO_SUIT, np.int64(before[CAUSE_BEFORE] >> OWED_CAUSE))
        return
    card = top_card(lanes, lane)
    if rules.ability_match != U0:  # the step matches by rank alone
        lanes[MATCHING + lane] = rank_matches(card, rules)
    note(watch, lanes, lane, PLAY, seat, card, suit_number(lanes[SUIT + lane]), np.int64(0))
    status = lanes[STATUS + lane]
    if hand | second_hand == U0 and (status == WENT_OUT or status == ANSWERED):
        note(watch, lanes, lane, GO_OUT, seat, NO_CARD, NO_SUIT, np.int64(0))
    elif before[CRANK_BEFORE] == U0:
        skipped = rules.skips[card & RANK_BITS]
        if skipped > 1:  # the step has counted the first
            second = next_seat(lanes, lane, next_seat(lanes, lane, seat, rules), rules)
            count_skips(lanes, lane, ledger, second, skipped - 1, rules)
    goes_on = status == RUNNING or status == TRUNCATED
    by_bot = script.cursor[2] != PRESCRIBED  # a move that is written down is announced
    if count_cards(hand, second_hand) == U1 and goes_on and by_bot and bots.forget[seat] != U0:
        lanes[UNANNOUNCED + lane] = seat + U1


@compiled
def _press(lanes, lane, seat, rules, ledger, watch):
    """Charge a seat for the reshuffle that its draw has caused (RULES.md R12)."""
    points = rules.pressure
    for _ in range(ledger.shuffles[lane, seat]):
        points = min(points * rules.pressure_factor, MOST_PRESSURE)
    points = min(points, MOST_PRESSURE)
    ledger.shuffles[lane, seat] += 1
    ledger.pressure[lane, seat] += points
    note(watch, lanes, lane, PRESSURE, seat, NO_CARD, NO_SUIT, points)


@compiled
def hear_announcement(lanes, lane, rules, bots, watch):
    """Decide whether the seat with one card left has announced it, and punish it if it is called (RULES.md R10)."""
    seat = lanes[UNANNOUNCED + lane] - U1
    lanes[UNANNOUNCED + lane] = U0
    z, lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane] = advance(lanes[CHOICE_S0 + lane], lanes[CHOICE_S1 + lane])
    if z >> HALF_BITS >= bots.forget[seat] or z & LOW_HALF >= bots.caught[seat]:
        return
    note(watch, lanes, lane, CAUGHT, seat, NO_CARD, NO_SUIT, np.int64(0))
    if rules.announce_cards > U0:
        lanes[OWED + lane] = (rules.announce_cards << OWED_NOW) | PENALTY
    lanes[DRAWER + lane] = seat
    if rules.announce_lose_turn != U0:
        lanes[PASSED_OVER + lane] |= U1 << seat


@compiled
def loses_turn(lanes, lane, seat, watch):
    """Whether the seat is passed over because it was called; it is only once."""
    called = (lanes[PASSED_OVER + lane] >> seat) & U1 != U0
    if called:
        lanes[PASSED_OVER + lane] ^= U1 << seat
        note(watch, lanes, lane, LOST_TURN, seat, NO_CARD, NO_SUIT, np.int64(0))
    return called


@compiled
def pass_over(lanes, lane, rules, watch):
    """Where a turn would begin, pass over the seats that have lost it."""
    turn_comes = lanes[STATUS + lane] == RUNNING or lanes[STATUS + lane] == TRUNCATED
    if not turn_comes or lanes[OWED + lane] != U0 or lanes[DUG + lane] != U0:
        return
    while loses_turn(lanes, lane, lanes[PLAYER + lane], watch):
        lanes[PLAYER + lane] = next_seat(lanes, lane, lanes[PLAYER + lane], rules)


@compiled
def check(lanes, lane, rules, watch):
    """Assert that every card is in one place, that the play was legal, and that who could play did not draw."""
    if watch.broken[0] != NONE:
        return
    breach = NONE
    if not _cards_in_place(lanes, lane, rules, U0, HANDS):
        breach = CARDS
    if rules.decks > U1 and not _cards_in_place(lanes, lane, rules, SECOND_DECK, SECOND_HANDS):
        breach = CARDS
    before = watch.before[lane]
    hand, second_hand = hand_of(lanes, lane, before[SEAT])
    gone, second_gone = before[HAND] & ~hand, before[SECOND_HAND] & ~second_hand
    if (gone & ~before[PLAYABLE]) | (second_gone & ~before[SECOND_PLAYABLE]) != U0:
        breach = ILLEGAL_PLAY
    acted = lanes[TURNS + lane] > before[TURNS_BEFORE]
    if acted and gone | second_gone == U0 and before[PLAYABLE] | before[SECOND_PLAYABLE] != U0:
        breach = ILLEGAL_DRAW
    if breach != NONE:
        watch.broken[0] = breach
        watch.broken[1] = np.int64(lanes[GAME + lane])
        watch.broken[2] = np.int64(lanes[ROUND + lane])


@compiled
def _cards_in_place(lanes, lane, rules, deck, hands):
    """Whether stock, top card, discards and hands of one deck are disjoint and make up the deck."""
    seen, number = U0, U0
    for pile in (STOCK, TOP, DISCARDS):
        cards = lanes[pile + deck + lane]
        seen |= cards
        number += count_cards(cards, U0)
    for seat in range(rules.players):
        cards = lanes[hands + np.uint64(seat) * STRIDE + lane]
        seen |= cards
        number += count_cards(cards, U0)
    return seen == ONE_DECK and number == np.uint64(52)
