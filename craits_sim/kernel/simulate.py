"""The loop: steps, and the referee between them."""

from collections.abc import Sequence

import numpy as np

from craits_sim.bots import BotSpec
from craits_sim.encode import EncodedBots, EncodedRules, encode
from craits_sim.kernel._jit import compiled, inlined
from craits_sim.kernel.build import build_for, seat_field
from craits_sim.kernel.details import count_ended_cranks
from craits_sim.kernel.lanes import GAME, LANES, OWED, ROUND, STATUS, STEPS_BETWEEN, new_lanes
from craits_sim.kernel.ledger import collect, new_ledger
from craits_sim.kernel.referee import (
    IDLE,
    goes_on,
    open_round,
    score_game,
    score_round,
    seat_game,
    start_round,
)
from craits_sim.kernel.script import Script, no_script, prompt, set_up, stack_stock
from craits_sim.kernel.step import PLAYING_OUT, step
from craits_sim.kernel.watch import Breach, Watch, look_before, new_watch, take_snapshot, watch_lane
from craits_sim.kernel.words import U0, U1, bit, lowest_card, read
from craits_sim.results import Batch, empty_batch
from craits_sim.rules import Rules


@inlined
def waiting_lanes(lanes):
    """Give the lanes that wait for the referee and owe no cards, a bit a lane."""
    waiting = U0
    for lane in range(LANES):
        waits = (read(lanes, STATUS + lane) > PLAYING_OUT) & (read(lanes, OWED + lane) == U0)
        waiting |= bit(waits) << lane
    return waiting


@compiled
def play(lanes, ledger, seed, first_game, games, rules, bots, build, batch, watch, script, order):
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
    order : uint8 array, shape (104,)
        Scratch for the deals.
    """
    closely, scripted = watch.closely != U0, script.dealer >= 0
    steps = 1 if closely else STEPS_BETWEEN
    rounds = np.uint64(len(rules.deals))
    end = first_game + games
    next_game, finished = first_game, U0
    counted = 0
    if scripted:
        set_up(lanes, U0, seed, script, ledger, rules)
        open_round(lanes, U0, ledger, rules, bots, watch)
        next_game = end

    while finished < games and watch.broken[0] == 0:
        if scripted and not prompt(lanes, U0, script, rules):
            return
        if closely:
            for lane in range(LANES):
                look_before(lanes, lane, rules, watch)
        for _ in range(steps):
            step(lanes, rules, bots, build)
        if closely:
            for lane in range(LANES):
                watch_lane(lanes, lane, rules, bots, ledger, watch)
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
            start_round(lanes, lane, seed, dealer, ledger, rules, bots, build, order, watch)
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

    Returns
    -------
    Batch
        Arrays of ``games`` games.

    Raises
    ------
    KernelError
        If a check fails.
    """
    encoded_rules, encoded_bots = encode(rules, bots)
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
) -> np.ndarray:
    """Play the games of a batch, or a script, with everything that can be watched; give the lanes as they were left.

    Details are counted where the batch has room for them.
    """
    lanes, ledger, build = new_lanes(), new_ledger(), build_for(rules, bots, details=len(batch.choices) > 0)
    games = len(batch.first_dealer)
    order = np.zeros(104, np.uint8)
    numbers = np.uint64(seed), np.uint64(first_game), np.uint64(games)
    # Transposed, the arrays lie in the order of their indices for any number of games and rounds. As they are, those of
    # one game or one round would be of another type, for which numba compiles the kernel anew.
    transposed = Batch._make(array.T for array in batch)
    play(lanes, ledger, *numbers, rules, bots, build, transposed, watch, script, order)
    breach, game, round_ = (int(number) for number in watch.broken)
    if breach != Breach.NONE:
        raise KernelError(f"{BREACHES[Breach(breach)]} in game {game}, round {round_} of seed {seed}")
    return lanes
