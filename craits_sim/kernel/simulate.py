"""The loop: steps, and the referee between them."""

from collections.abc import Sequence

import numpy as np

from craits_sim.bots import BotError, BotSpec
from craits_sim.encode import EncodedBots, EncodedRules
from craits_sim.kernel._jit import compiled
from craits_sim.kernel.build import build_for, seat_field
from craits_sim.kernel.desk import Desk, new_desk
from craits_sim.kernel.details import count_ended_cranks, write_deal
from craits_sim.kernel.lanes import GAME, LANES, ROUND, STATUS, STEPS_BETWEEN, new_lanes
from craits_sim.kernel.ledger import collect, new_ledger
from craits_sim.kernel.own import call_aside, encode_table, trouble_of
from craits_sim.kernel.referee import (
    IDLE,
    goes_on,
    open_round,
    score_game,
    score_round,
    seat_game,
    start_round,
)
from craits_sim.kernel.rollout import new_mind
from craits_sim.kernel.script import PRESCRIBED, Script, no_script, prompt, set_up, stack_stock
from craits_sim.kernel.step import step
from craits_sim.kernel.table import waiting_lanes
from craits_sim.kernel.think import think
from craits_sim.kernel.watch import Breach, Watch, look_before, new_watch, take_snapshot, watch_lane
from craits_sim.kernel.words import U0, U1, lowest_card
from craits_sim.results import Batch, empty_batch
from craits_sim.rules import Rules


@compiled
def play(lanes, ledger, seed, first_game, games, rules, bots, build, batch, watch, script, desk, mind, order):
    """Play games ``first_game`` to ``first_game + games - 1``, or the position of a script.

    Lanes finish games out of order; results go to the row of the game's index.

    Parameters
    ----------
    lanes : uint64 array, shape (ROWS * STRIDE,)
        Lanes without games; on return, as they were left.
    ledger : Ledger
    seed, first_game, games : uint64
    rules : EncodedRules
    bots : EncodedBots
    build : Build
    batch : Batch
        Filled in; zeros before, for ``games`` games. The axes of its arrays are reversed: games come last.
    watch : Watch
    script : Script
    desk : Desk
        Scratch for the bots that think.
    mind : Mind
        Scratch for the bots that look ahead.
    order : uint8 array, shape (104,)
        Scratch for the deals.
    """
    closely, scripted = watch.closely != U0, script.dealer >= 0
    steps = 1 if closely or len(build.thinking) > 0 else STEPS_BETWEEN
    rounds = np.uint64(len(rules.deals))
    end = first_game + games
    next_game, finished = first_game, U0
    counted = 0
    if scripted:
        set_up(lanes, U0, seed, script, ledger, rules, bots)
        open_round(lanes, U0, ledger, rules, bots, build, desk, watch)
        next_game = end

    while finished < games and watch.broken[0] == 0 and desk.trouble[0] == 0:
        if scripted and not prompt(lanes, U0, script, rules):
            return
        if not (scripted and script.cursor[2] == PRESCRIBED):
            think(lanes, seed, ledger, rules, bots, build, desk, script, mind)
        if closely:
            for lane in range(LANES):
                look_before(lanes, lane, rules, watch)
        for _ in range(steps):
            step(lanes, rules, bots, build)
        if closely:
            for lane in range(LANES):
                watch_lane(lanes, lane, rules, bots, ledger, script, watch)
        if scripted:
            stack_stock(lanes, U0, script)
        if len(build.details) > 0:
            count_ended_cranks(lanes, first_game, batch)
        waiting = waiting_lanes(lanes)
        while waiting != U0:
            lane = lowest_card(waiting)
            waiting &= waiting - U1
            row, dealer = lanes[GAME + lane] - first_game, U0
            if lanes[STATUS + lane] == IDLE:
                if next_game == end:
                    continue
                dealer = seat_game(lanes, lane, seed, next_game, ledger, rules)
                next_game += U1
            elif goes_on(lanes, lane, row, rules, build, batch, watch):
                continue
            else:
                collect(lanes, lane, ledger, build)
                round_ = lanes[ROUND + lane]
                dealer = score_round(lanes, lane, row, ledger, rules, build, batch, watch)
                if round_ < np.uint64(len(watch.snapshots)):
                    take_snapshot(lanes, lane, watch)
                lanes[ROUND + lane] += U1
                if round_ + U1 == rounds:
                    score_game(lanes, lane, row, ledger, rules, batch)
                    lanes[STATUS + lane] = IDLE
                    finished += U1
                    if next_game == end:
                        continue
                    dealer = seat_game(lanes, lane, seed, next_game, ledger, rules)
                    next_game += U1
            start_round(lanes, lane, seed, dealer, ledger, rules, bots, build, desk, order, watch)
            if len(build.details) > 0:
                write_deal(lanes, lane, lanes[GAME + lane] - first_game, dealer, rules, batch)
        counted += steps
        if counted + steps >= np.int64(U1 << seat_field(build)):  # a seat's field could overflow
            for lane in range(LANES):
                collect(lanes, lane, ledger, build)
            counted = 0


BREACHES = {
    Breach.CARDS: "a card is lost or doubled",
    Breach.ILLEGAL_PLAY: "a card was played against the rules",
    Breach.ILLEGAL_DRAW: "a seat drew that could have played",
}


class KernelError(RuntimeError):
    """A check of the kernel failed: a mistake in this program, not in its input."""


def simulate_batch(
    rules: Rules,
    bots: Sequence[BotSpec],
    seed: int,
    first_game: int,
    games: int,
    checks: bool = False,
    details: bool = False,
    replay: int = 0,
) -> Batch:
    """Play a batch of games.

    Game ``i`` of a seed is the same whatever the batch that it is played in: its random numbers hang on the seed, the
    game, the round and their purpose alone.

    Parameters
    ----------
    rules : Rules
    bots : sequence of BotSpec
        One a seat.
    seed : int
        0 to 2**64 - 1.
    first_game, games : int
        The games are numbers ``first_game`` to ``first_game + games - 1``.
    checks : bool
        Assert after every step that no card is lost and every play legal (about three times slower).
    details : bool
        Fill the arrays of `craits_sim.results.DETAILS`, which have zero games otherwise (about a tenth slower, and by a
        kernel of its own, compiled when first needed).
    replay : int
        0 to 2**24 - 1. Replays of a game have its dealers, deals and order of the stock, while what its bots choose by
        chance hangs on the replay too: their choices are independent.

    Returns
    -------
    Batch
        Arrays of ``games`` games.

    Raises
    ------
    KernelError
        If a check fails.
    BotError
        If a bot of the user's own cannot be used, or makes no move.
    """
    encoded_rules, encoded_bots = encode_table(rules, bots, replay)
    watch = new_watch(encoded_rules, encoded_bots, checks=checks)
    batch = empty_batch(games, len(rules.deals), rules.players, details)
    run(encoded_rules, encoded_bots, seed, first_game, batch, watch, no_script())
    return batch


def run(
    rules: EncodedRules,
    bots: EncodedBots,
    seed: int,
    first_game: int,
    batch: Batch,
    watch: Watch,
    script: Script,
    desk: Desk | None = None,
) -> np.ndarray:
    """Play the games of a batch, or a script, with everything that can be watched; give the lanes as they were left.

    Details are counted where the batch has room for them. A ``desk`` that is given shows how far bots of the user's own
    have come.
    """
    lanes, ledger, build = new_lanes(), new_ledger(), build_for(rules, bots, details=len(batch.choices) > 0)
    games = len(batch.first_dealer)
    desk = desk or new_desk(bool(bots.thinking_seats))
    mind = new_mind(rules, bots)
    order = np.zeros(104, np.uint8)
    numbers = np.uint64(seed), np.uint64(first_game), np.uint64(games)
    # Transposed, the arrays lie in the order of their indices for any number of games and rounds. As they are, those of
    # one game or one round would be of another type, for which numba compiles the kernel anew.
    transposed = Batch._make(array.T for array in batch)
    arguments = lanes, ledger, *numbers, rules, bots, build, transposed, watch, script, desk, mind, order
    if bots.addresses.any():
        call_aside(play, *arguments)
    else:
        play(*arguments)
    if desk.trouble[0] != 0:
        raise BotError(trouble_of(bots, desk))
    breach, game, round_ = (int(number) for number in watch.broken)
    if breach != Breach.NONE:
        raise KernelError(f"{BREACHES[Breach(breach)]} in game {game}, round {round_} of seed {seed}")
    return lanes
