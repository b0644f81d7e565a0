"""A stand-in for the runner: made-up results instead of games, in no time and without compiling anything."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from zlib import crc32

import numpy as np

from craits_sim.cards import RANKS
from craits_sim.design import DesignPoint
from craits_sim.results import CRANK_SIZES, WIN_UNIT, Batch, Ending, empty_batch
from craits_sim.runner import Keep, Played
from craits_sim.sequential import looks
from craits_sim.studies.base import Sums

CHUNK = 1000


def fake_batch(point: DesignPoint, seed: int, first_game: int, games: int) -> Batch:
    """Make up the results of some games; they add up as those of real games do."""
    rules = point.rules
    players, rounds = rules.players, len(rules.deals)
    mixed = [crc32(",".join(map(str, point.bots)).encode())] if len({*point.bots}) > 1 else []
    random = np.random.default_rng([seed, first_game, int(rules.digest, 16), point.replay, *mixed])
    batch = empty_batch(games, rounds, players, details=True)
    batch.first_dealer[:] = random.integers(0, players, games)
    batch.dealer[:] = (batch.first_dealer[:, None] + np.arange(rounds)) % players
    offset = random.integers(-1, players, (games, rounds))
    batch.went_out[:] = np.where(offset < 0, -1, (batch.dealer + offset) % players)
    batch.ending[:] = np.where(offset < 0, Ending.BLOCKED, Ending.WENT_OUT)
    batch.points[:] = random.integers(0, 40, (games, rounds, players))
    for seat in range(players):
        offset_of_seat = (seat - batch.dealer) % players
        batch.totals[:, seat] = np.take_along_axis(batch.points, offset_of_seat[:, :, None], axis=2).sum(axis=(1, 2))
    lowest = batch.totals == batch.totals.min(axis=1, keepdims=True)
    batch.wins[:] = lowest * (WIN_UNIT // lowest.sum(axis=1, keepdims=True))
    batch.seat_turns[:] = random.integers(2, 10, (games, rounds, players))
    batch.turns[:] = batch.seat_turns.sum(axis=2)
    batch.drawn[:] = random.integers(4, 30, (games, rounds))
    batch.crank_drawn[:] = random.integers(0, 5, (games, rounds))
    batch.cranks[:] = random.integers(0, 3, (games, rounds))
    batch.reshuffles[:] = random.integers(0, 2, (games, rounds))
    _make_up_details(batch, rules.deals, random)
    return batch


def _make_up_details(batch: Batch, deals: Sequence[int], random: np.random.Generator) -> None:
    """Fill in the arrays that a batch has with ``details``."""
    games, rounds, players = batch.points.shape
    for number in range(int(batch.cranks.max())):
        started = batch.cranks > number
        size = np.minimum(1 + random.geometric(0.4, (games, rounds)), CRANK_SIZES - 1)
        np.add.at(batch.crank_sizes, (np.nonzero(started)[0], size[started]), 1)
        batch.largest_crank[:] = np.maximum(batch.largest_crank, np.where(started, size, 0))
    paid = random.multinomial(batch.crank_drawn.ravel(), np.full(players, 1 / players))
    batch.crank_paid[:] = paid.reshape(games, rounds, players)
    batch.choices[:] = random.binomial(batch.turns, 0.4)
    for round_, size in enumerate(deals):
        ranks = random.multivariate_hypergeometric([4] * len(RANKS), min(size, 52), (games, players))
        batch.dealt[:, round_] = ranks @ 16 ** np.arange(len(RANKS))


def fake_run(
    points: Sequence[DesignPoint],
    tally: Callable[[Sequence[Batch]], Sums],
    *,
    games: int,
    seed: int,
    threads: int,
    on_progress: Callable[[int, Sums], None] | None = None,
    enough: Callable[[int, Sums], bool] | None = None,
    recorder: object = None,
    details: bool = False,
    begun: Played | None = None,
    keep: Keep | None = None,
) -> Sums:
    """Take the place of `craits_sim.runner.run`; nothing is recorded or kept."""
    ends = [*looks(games)] if enough else [*range(CHUNK, games, CHUNK), games]
    total: Sums = {}
    if on_progress:
        on_progress(0, total)
    for first_game, end in pairwise([0, *ends]):
        part = tally([fake_batch(point, seed, first_game, end - first_game) for point in points])
        total = {key: total[key] + values if total else values for key, values in part.items()}
        if on_progress:
            on_progress(end, total)
        if enough and enough(end, total):
            break
    return total
