"""The bot that looks ahead: it plays its moves on in worlds that it imagines.

A *world* gives the cards that the seat has not seen to the other hands and the stock, at random and with as many for
each as there are: all that the seat knows of them. In every world each move is played out by the same bot in all seats,
with the same random numbers for all moves of a world (common random numbers), in 64 lanes of its own. The move with the
best mean result is made. Chance is large beside what moves differ by, though: over 32 worlds the difference of two
moves is uncertain by 13 points, while moves that are near each other by their scores truly differ by 3 to 6. Two things
keep it small. (All figures: 2,062 decisions of `tuned` with classic rules and 4 players, judged by 1,024 worlds; gains
in points a decision over the base, +- 0.03.)

*The horizon.* A round is played on for `HORIZON` turns a seat and then scored as it stands. What comes later says
little of the move: one world tells a difference with a spread of 76 points at the end of the round, of 64 there.

*The base has a say.* A base that weighs has its best `TRIED` moves tried, and its best is made unless another is better
by `MARGIN` standard errors. That gains 0.14; by rounds played to the end it would gain 0.06; and by the best mean of
all moves, without the say of the base, lose 0.6, or 1.2 by rounds played to the end.

Worlds and play hang on seed, game, round, turn and what the seat sees, and on nothing else.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.encode import MAX_PLAYERS, EncodedBots, EncodedRules
from craits_sim.kernel._jit import by_build, compiled, inlined
from craits_sim.kernel.build import Build
from craits_sim.kernel.desk import Desk, new_desk
from craits_sim.kernel.lanes import (
    CHOICE_S0,
    CHOICE_S1,
    COUNTS,
    DECK_S0,
    DECK_S1,
    DUG,
    FORCED_BY_SEAT,
    GAME,
    HANDS,
    LANES,
    OWED,
    PLAYER,
    ROUND,
    ROWS,
    SECOND_DECK,
    SECOND_HANDS,
    SKIPS_BY_SEAT,
    STATUS,
    STOCK,
    STRIDE,
    TURNS,
    TURNS_BY_SEAT,
    WINNER,
    new_lanes,
)
from craits_sim.kernel.ledger import Ledger, new_ledger
from craits_sim.kernel.referee import IDLE, goes_on, score_hands
from craits_sim.kernel.slate import CARD, MOST_MOVES, NEW_SUIT, SCORE
from craits_sim.kernel.step import RUNNING, TRUNCATED, step
from craits_sim.kernel.streams import IMAGINED, advance, open_stream
from craits_sim.kernel.table import count_cards, hand_of, random_card, unseen_cards, waiting_lanes
from craits_sim.kernel.think import CAREFUL, GREEDY, look_ahead, offer, think
from craits_sim.kernel.watch import Watch, look_before, new_watch, watch_lane
from craits_sim.kernel.words import ALL_BITS, U0, U1, U2, lowest_card, select
from craits_sim.results import Batch, empty_batch

HORIZON = np.uint64(6)
"""Turns a seat that a round is played on. 4 gain 0.08 points a decision, 6 gain 0.14, 10 gain 0.11. Where the first to
go out wins it is played to the end: the hands of a round that is not over are worth nothing there."""

TRIED = 3
"""Moves that are tried where a base weighs; a fourth would cost a third more and gain 0.007."""

MARGIN = 1.5
"""Standard errors by which a move must be better than the best of the base: 1.25 gain 0.13, 1.5 0.14, and 2 0.12."""

WORLD_BITS = np.uint64(12)
HALF = np.uint64(0xFFFF_FFFF)


class Mind(NamedTuple):
    """What looking ahead works with."""

    lanes: NDArray[np.uint64]
    ledger: Ledger
    desk: Desk
    watch: Watch
    batch: Batch  # without games
    task: NDArray[np.int64]  # (LANES,) the move that a lane plays out, counted from the first
    world: NDArray[np.int64]  # (LANES,) and in which world
    tried: NDArray[np.uint64]  # (MOST_MOVES,) where on the slate the moves are that are played out
    values: NDArray[np.float64]  # (MOST_MOVES, most worlds) what each move came to in each world
    points: NDArray[np.int64]  # (MAX_PLAYERS,) of an imagined round, by seat
    hands: NDArray[np.uint64]  # (2, MAX_PLAYERS + 1) the hands of the world, and its stock
    streams: NDArray[np.uint64]  # (4,) those of the world, deck and choices
    kinds: NDArray[np.uint64]  # (MAX_PLAYERS,) the base in every seat, and its weights
    weighing: NDArray[np.uint64]
    nothing: NDArray[np.uint64]  # (MAX_PLAYERS,) zeros
    no_noise: NDArray[np.float64]  # (MAX_PLAYERS,) zeros


def new_mind(rules: EncodedRules, bots: EncodedBots) -> Mind:
    """Make what looking ahead works with; of no size where no bot does."""
    nothing = np.zeros(MAX_PLAYERS, np.uint64)
    return Mind(
        lanes=new_lanes(),
        ledger=new_ledger(),
        desk=new_desk(bool(bots.worlds.any())),
        watch=new_watch(rules, bots._replace(forget=nothing)),
        batch=Batch._make(array.T for array in empty_batch(0, 1, 1)),
        task=np.zeros(int(LANES), np.int64),
        world=np.zeros(int(LANES), np.int64),
        tried=np.zeros(MOST_MOVES, np.uint64),
        values=np.zeros((MOST_MOVES, int(bots.worlds.max())), np.float64),
        points=np.zeros(MAX_PLAYERS, np.int64),
        hands=np.zeros((2, MAX_PLAYERS + 1), np.uint64),
        streams=np.zeros(4, np.uint64),
        kinds=np.zeros(MAX_PLAYERS, np.uint64),
        weighing=np.zeros(MAX_PLAYERS, np.uint64),
        nothing=nothing,
        no_noise=np.zeros(MAX_PLAYERS, np.float64),
    )


@by_build(look_ahead)
def _look_ahead_in(lanes, lane, seed, rules, bots, build, slate, start, end, script, mind):
    return _look_ahead


def _look_ahead(lanes, lane, seed, rules, bots, build, slate, start, end, script, mind):
    return _roll_out(lanes, lane, seed, rules, bots, build, slate, start, end, script, mind)


@compiled
def _roll_out(lanes, lane, seed, rules, bots, build, slate, start, end, script, mind):
    """Play the moves on in the worlds, and give the best, as the module says."""
    seat = lanes[PLAYER + lane]
    weighs = bots.base[seat] == CAREFUL
    number = _list_tried(slate, start, end, weighs, mind.tried)
    if number == 1:
        return mind.tried[0]
    tasks = number * np.int64(bots.worlds[seat])
    base = _base_bots(bots, seat, mind)
    plain = Build(build.seats, build.decks, build.greedy, build.thinking, (), ())
    closely = mind.watch.closely != U0
    horizon = lanes[TURNS + lane] + HORIZON * rules.players
    if rules.first_out_wins != U0:
        horizon = rules.turn_cap
    begun, done = 0, 0
    while done < tasks:
        think(mind.lanes, seed, mind.ledger, rules, base, plain, mind.desk, script, mind)
        if begun < tasks:
            for number_of_lane in range(LANES):
                ahead = np.uint64(number_of_lane)
                if begun < tasks and mind.lanes[STATUS + ahead] == IDLE:
                    move = begun % number
                    if move == 0:
                        _imagine(lanes, lane, seed, np.uint64(begun // number), rules, mind)
                    _lay_out(lanes, lane, ahead, rules, mind)
                    mind.task[ahead], mind.world[ahead] = move, begun // number
                    place = mind.tried[move]
                    offer(mind.lanes, ahead, slate[CARD + place], slate[NEW_SUIT + place] << np.uint64(4))
                    begun += 1
        if closely:
            for ahead in range(LANES):
                look_before(mind.lanes, ahead, rules, mind.watch)
        step(mind.lanes, rules, base, plain)
        if closely:
            for ahead in range(LANES):
                watch_lane(mind.lanes, ahead, rules, base, mind.ledger, script, mind.watch)
        for ahead in range(LANES):
            is_far = (mind.lanes[TURNS + ahead] >= horizon) & (mind.lanes[OWED + ahead] == U0)
            if is_far and mind.lanes[STATUS + ahead] == RUNNING:
                mind.lanes[STATUS + ahead] = TRUNCATED
        waiting = waiting_lanes(mind.lanes)
        while waiting != U0:
            ahead = lowest_card(waiting)
            waiting &= waiting - U1
            if mind.lanes[STATUS + ahead] == IDLE:
                continue
            if goes_on(mind.lanes, ahead, U0, rules, plain, mind.batch, mind.watch):
                continue
            mind.values[mind.task[ahead], mind.world[ahead]] = _value(ahead, seat, rules, mind)
            mind.lanes[STATUS + ahead] = IDLE
            done += 1
    return mind.tried[_best_of(mind.values, number, np.int64(bots.worlds[seat]), weighs)]


@inlined
def _list_tried(slate, start, end, weighs, tried):
    """Write which moves are played out: all; of a base that weighs its best few, the best first. Gives their number."""
    number = 0
    for move in range(start, end):
        place = number
        while weighs and place > 0 and _score(slate, move) > _score(slate, tried[place - 1]):
            tried[place] = tried[place - 1]
            place -= 1
        tried[place] = move
        number += 1
    return min(number, TRIED) if weighs else number


@inlined
def _score(slate, move):
    return np.int64(slate[SCORE + move])


@inlined
def _best_of(values, moves, worlds, weighs):
    """Give the move with the best mean; where a base weighs, the first unless another is better by `MARGIN` errors."""
    best, best_mean = 0, 0.0
    for move in range(1, moves):
        total, squares = 0.0, 0.0
        for world in range(worlds):
            difference = values[move, world] - values[0, world]
            total += difference
            squares += difference * difference
        mean = total / worlds
        # The square of the standard error is variance / (worlds - 1).
        variance = squares / worlds - mean * mean
        is_sure = (worlds - 1) * mean * mean > MARGIN * MARGIN * variance
        if mean > best_mean and (is_sure or not weighs):
            best, best_mean = move, mean
    return best


@inlined
def _base_bots(bots, seat, mind):
    """Give the base of a seat as the bot of every seat."""
    kind = bots.base[seat]
    for other in range(MAX_PLAYERS):
        mind.kinds[other], mind.weighing[other] = kind, bots.weighing[seat]
    return EncodedBots(
        greedy_seats=select(kind == GREEDY, ALL_BITS, U0),
        shed_order=bots.shed_order,
        thinking_seats=select(kind == CAREFUL, ALL_BITS, U0),
        kinds=mind.kinds,
        never=mind.nothing,
        weights=bots.weights,
        weighing=mind.weighing,
        noise=mind.no_noise,
        worlds=mind.nothing,
        base=mind.nothing,
        addresses=mind.nothing,
        forget=mind.nothing,
        caught=mind.nothing,
        replay=bots.replay,
    )


@inlined
def _imagine(lanes, lane, seed, world, rules, mind):
    """Deal the cards that the player has not seen to the other hands and the stock."""
    seat = lanes[PLAYER + lane]
    turn = (lanes[TURNS + lane] << U1) | select(lanes[DUG + lane] != U0, U1, U0)
    purpose = (IMAGINED + ((turn << WORLD_BITS) | world)) & HALF
    s0, s1 = open_stream(seed, lanes[GAME + lane], lanes[ROUND + lane], purpose)
    hand, second_hand = hand_of(lanes, lane, seat)
    left, second_left = unseen_cards(lanes, lane, hand, second_hand, rules)
    for other in range(rules.players + U1):
        held, second_held = U0, U0
        if other == rules.players:
            size = count_cards(lanes[STOCK + lane], lanes[STOCK + SECOND_DECK + lane])
            if size == count_cards(left, second_left):  # else cards are out of play, in a position that is set up
                held, second_held, size = left, second_left, U0
        elif other == seat:
            held, second_held, size = hand, second_hand, U0
        else:
            size = count_cards(*hand_of(lanes, lane, np.uint64(other)))
        for _ in range(size):
            z, s0, s1 = advance(s0, s1)
            card, second_card = random_card(z, left, second_left)
            left, second_left = left ^ card, second_left ^ second_card
            held, second_held = held | card, second_held | second_card
        place = MAX_PLAYERS if other == rules.players else np.int64(other)
        mind.hands[0, place], mind.hands[1, place] = held, second_held
    mind.streams[0], s0, s1 = advance(s0, s1)
    mind.streams[1], s0, s1 = advance(s0, s1)
    mind.streams[2], mind.streams[3] = s0, s1


@inlined
def _lay_out(lanes, lane, ahead, rules, mind):
    """Make a lane of the mind a copy of the player's, with the hands and the stock of the imagined world."""
    for number in range(ROWS):
        row = np.uint64(number) * STRIDE
        mind.lanes[row + ahead] = lanes[row + lane]
    for number in range(rules.players):
        row = np.uint64(number) * STRIDE + ahead
        mind.lanes[HANDS + row], mind.lanes[SECOND_HANDS + row] = mind.hands[0, number], mind.hands[1, number]
        mind.ledger.pressure[ahead, number] = 0
        mind.ledger.shuffles[ahead, number] = 0
    mind.lanes[STOCK + ahead], mind.lanes[STOCK + SECOND_DECK + ahead] = (
        mind.hands[0, MAX_PLAYERS],
        mind.hands[1, MAX_PLAYERS],
    )
    mind.lanes[DECK_S0 + ahead], mind.lanes[DECK_S1 + ahead] = mind.streams[0], mind.streams[1]
    mind.lanes[CHOICE_S0 + ahead], mind.lanes[CHOICE_S1 + ahead] = mind.streams[2], mind.streams[3]
    for row in (COUNTS, TURNS_BY_SEAT, SKIPS_BY_SEAT, FORCED_BY_SEAT):
        mind.lanes[row + ahead] = U0


@inlined
def _value(ahead, seat, rules, mind):
    """Give what an imagined round is worth to a seat: the points of the other side less its own, or that it won."""
    players, winner = rules.players, mind.lanes[WINNER + ahead]
    partner = (seat + U2) % players if rules.partners != U0 else seat
    if rules.first_out_wins != U0:
        return np.float64(winner == seat or winner == partner)
    score_hands(mind.lanes, ahead, U0, winner, rules, mind.points)
    value = 0.0
    others = np.float64(players - U1)
    for number in range(players):
        points = mind.points[number] + mind.ledger.pressure[ahead, number]
        ours = np.uint64(number) == seat or np.uint64(number) == partner
        value += -np.float64(points) if ours else points / others
    return value
