"""Running a design: chunks of games over threads, and the sums of what they came to.

A *chunk* is a range of consecutive game indices. A thread plays it at every design point and reduces the batches to
sums of whole numbers; these add in any order to the same result, so that neither the number of threads nor the size of
the chunks shows in it. Only sums are kept: memory does not grow with the number of games.

A run may end early, where a rule that looks at the sums says so. It looks at the games 0 to N - 1 for values of N that
are fixed beforehand, so that neither threads nor chunks decide where the run ends. It may also begin with the sums of
games that an earlier run has played.
"""

import platform
import sys
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from importlib.metadata import version
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from craits_sim import __version__
from craits_sim.bots import BotHangs
from craits_sim.design import DesignPoint, Experiment
from craits_sim.kernel import RNG_LAYOUT, simulate_batch
from craits_sim.kernel.warm import Start, compile_kernel
from craits_sim.results import Batch, empty_batch
from craits_sim.sequential import looks
from craits_sim.studies.base import Sums

if TYPE_CHECKING:
    from craits_sim.records import Recorder, Rows

CHUNK_SECONDS = 0.3
"""What a chunk should take: much longer than starting one does, and less than a second, in which Ctrl-C must work."""

CHUNK_GAMES = 16_000
CHUNKS_BYTES = 100_000_000
"""The most games of a chunk, and the most memory that the batches of all chunks in play may take."""

FIRST_CHUNK_ROUNDS = 4000
"""The length of the first chunks, before it is known how long a game takes; rounds of all design points."""

MOST_CHUNKS_WAITING = 4
"""Finished chunks that may wait for an earlier one, for each thread. While a chunk is played the other threads finish
about one each, so that this binds only where one takes several times as long as the others."""

SECONDS_BETWEEN_LOOKS = 0.2
"""How often the main thread looks for Ctrl-C while it waits, on systems where that does not wake it."""

SECONDS_BETWEEN_KEEPS = 30.0
"""How often what is played is kept, for a run that is killed without warning."""


class Played(NamedTuple):
    """Games 0 to ``games - 1``, and their sums."""

    games: int
    sums: Sums


Keep = Callable[[Played], None]


class Chunk(NamedTuple):
    """What came of a chunk of games."""

    first_game: int
    games: int
    seconds: float
    sums: Sums
    rows: "Rows | None"
    """What is recorded of them."""


class Stopped(Exception):
    """Raised in a thread whose chunk nobody waits for any more."""


def run(
    points: Sequence[DesignPoint],
    tally: Callable[[Sequence[Batch]], Sums],
    *,
    games: int,
    seed: int,
    threads: int,
    on_progress: Callable[[int, Sums], None] | None = None,
    enough: Callable[[int, Sums], bool] | None = None,
    recorder: "Recorder | None" = None,
    details: bool = False,
    begun: Played | None = None,
    keep: Keep | None = None,
) -> Sums:
    """Play games 0 to ``games - 1`` at every design point, and sum up what ``tally`` makes of them.

    The result is the same to the last bit for any number of threads.

    Parameters
    ----------
    points
        The design points; all play the same game indices.
    tally
        Reduces the batches of a chunk, one a design point, to arrays of int64 that add. It is called in several
        threads at once.
    games
        Games at each design point, 1 or more.
    seed
        0 to 2**64 - 1.
    threads
        1 or more.
    on_progress
        Is called in this thread with the games played so far and their sums: with what is there already, 0 and none as
        a rule, when the kernel is ready, and then for each chunk, in the order of games.
    enough
        Is called in this thread with each N of `craits_sim.sequential.looks`, in order, and the sums of games 0 to
        N - 1. The first N for which it says yes ends the run with these sums; what was played beyond it does not count.
    recorder
        Gets the batches of each chunk, and writes in this thread, in the order of games, those that count.
    details
        Whether the batches that ``tally`` gets have the arrays of `craits_sim.results.DETAILS`.
    begun
        What an earlier run of the same games has played: this one goes on from there. Up to ``games`` games; nothing is
        recorded of them.
    keep
        Is called in this thread with what is played, every `SECONDS_BETWEEN_KEEPS` and when the run is interrupted or
        fails, so that a later one can begin there.

    Raises
    ------
    TypeError
        If a sum is no int64: others are not exact, or overflow sooner.
    KeyboardInterrupt
        On Ctrl-C; the threads have stopped by then. As `craits_sim.bots.BotHangs` on a second Ctrl-C, which does not
        wait for them: a bot of the user's own may never end.
    """
    prefix = Prefix(begun or Played(0, {}), looks(games) if enough else [games], recorder)
    get_ready(points, details)
    if on_progress:
        on_progress(*prefix.played)
    if prefix.at_look and enough and enough(*prefix.played):
        return prefix.played.sums
    size_limit = _largest_chunk(points, threads, details)
    seconds_per_game = None
    submitted = prefix.played.games
    last_kept = time.monotonic()
    stop = threading.Event()
    pending: set[Future[Chunk]] = set()
    pool = ThreadPoolExecutor(threads)
    try:
        while submitted < games or pending:
            # One chunk more than threads, so that none has to wait for this one.
            while submitted < games and len(pending) <= threads and prefix.waiting < MOST_CHUNKS_WAITING * threads:
                left = prefix.look_after(submitted) - submitted
                size = min(_chunk_size(points, seconds_per_game, left, threads), size_limit)
                pending.add(pool.submit(_play_chunk, points, tally, seed, submitted, size, stop, recorder, details))
                submitted += size
            finished, pending = wait(pending, SECONDS_BETWEEN_LOOKS, FIRST_COMPLETED)
            for future in finished:
                chunk = future.result()
                seconds_per_game = chunk.seconds / chunk.games
                for played in prefix.take(chunk):
                    if on_progress:
                        on_progress(*played)
                    if prefix.at_look and enough and enough(*played):
                        return played.sums
            if keep and time.monotonic() - last_kept > SECONDS_BETWEEN_KEEPS:
                keep(prefix.played)
                last_kept = time.monotonic()
    except BaseException:
        stop.set()
        if keep and prefix.played.games:
            keep(prefix.played)
        raise
    finally:
        stop.set()
        pool.shutdown(wait=False, cancel_futures=True)
        _wait_for([future for future in pending if future.running()])
        pool.shutdown()  # its threads have nothing left to play
    return prefix.played.sums


def _wait_for(chunks: Sequence[Future[Chunk]]) -> None:
    """Wait until chunks that are played have ended; Ctrl-C ends the waiting."""
    try:
        while wait(chunks, SECONDS_BETWEEN_LOOKS).not_done:
            pass
    except KeyboardInterrupt:
        raise BotHangs from None


class Prefix:
    """What is played of games 0, 1, 2 and so on without a gap, from chunks that come in any order.

    No chunk reaches across a look. Here chunks come into order; it is also where they are recorded.
    """

    def __init__(self, begun: Played, looks: Iterable[int], recorder: "Recorder | None" = None) -> None:
        self.played = begun  # replaced as one: Ctrl-C may come between any two lines
        self._looks = list(looks)
        self._recorder = recorder
        self._waiting: dict[int, Chunk] = {}

    @property
    def waiting(self) -> int:
        """The number of chunks that wait for an earlier one."""
        return len(self._waiting)

    @property
    def at_look(self) -> bool:
        """Whether it is time to look at what is played."""
        return self.played.games in self._looks

    def look_after(self, games: int) -> int:
        """Give the first look at more than ``games`` games; there must be one."""
        return self._looks[bisect_right(self._looks, games)]

    def take(self, chunk: Chunk) -> Iterator[Played]:
        """Take in a chunk, and give what is played after it and after each chunk that has waited for it."""
        self._waiting[chunk.first_game] = chunk
        while following := self._waiting.pop(self.played.games, None):
            if self._recorder and following.rows is not None:
                self._recorder.write(following.rows)
            self.played = Played(self.played.games + following.games, _added(self.played.sums, following.sums))
            yield self.played


def get_ready(points: Sequence[DesignPoint], details: bool = False) -> Start:
    """Load the kernel, or compile it and say so on stderr; ``run`` does it first."""

    def announce(line: str) -> None:
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()

    return compile_kernel(((point.rules, point.bots) for point in points), announce, details)


def _play_chunk(
    points: Sequence[DesignPoint],
    tally: Callable[[Sequence[Batch]], Sums],
    seed: int,
    first_game: int,
    games: int,
    stop: threading.Event,
    recorder: "Recorder | None",
    details: bool,
) -> Chunk:
    started = time.perf_counter()
    batches = []
    for point in points:
        if stop.is_set():
            raise Stopped
        batch = simulate_batch(point.rules, point.bots, seed, first_game, games, details=details, replay=point.replay)
        batches.append(batch)
    sums = tally(batches)
    rows = recorder.rows(first_game, batches) if recorder else None
    return Chunk(first_game, games, time.perf_counter() - started, sums, rows)


def _chunk_size(points: Sequence[DesignPoint], seconds_per_game: float | None, left: int, threads: int) -> int:
    """Choose how many games the next chunk has: as many as take `CHUNK_SECONDS`, and fewer near the end of a run.

    Threads would else end at different times, each up to a whole chunk after the first. Of many design points, between
    which a run can be stopped, a chunk may take longer, as long as the games of each do not take more.
    """
    smallest = 256  # below it, lanes stand idle
    if seconds_per_game is None:
        size = FIRST_CHUNK_ROUNDS // sum(len(point.rules.deals) for point in points)
    else:
        size = int(CHUNK_SECONDS / seconds_per_game)
        size = max(size, min(smallest, int(CHUNK_SECONDS * len(points) / seconds_per_game)))
    return min(max(1, min(size, max(left // (2 * threads), smallest))), left)


def _largest_chunk(points: Sequence[DesignPoint], threads: int, details: bool) -> int:
    """Give how many games a chunk may have for the batches of all threads to fit into `CHUNKS_BYTES`."""
    shapes = ((len(point.rules.deals), point.rules.players) for point in points)
    batches = (empty_batch(1, rounds, players, details) for rounds, players in shapes)
    bytes_a_game = sum(array.nbytes for batch in batches for array in batch)
    return max(1, min(CHUNK_GAMES, CHUNKS_BYTES // (threads * bytes_a_game)))


def _added(total: Sums, part: Sums) -> Sums:
    for key, values in part.items():
        if values.dtype != np.int64:
            raise TypeError(f"the sum {key} is of {values.dtype}: allowed is int64")
    if not total:
        return part
    return {key: values + part[key] for key, values in total.items()}


def provenance(points: Sequence[DesignPoint], experiment: Experiment) -> dict[str, object]:
    """Say what the numbers of an experiment come from.

    The same experiment on the same versions gives the same: no date, no machine, nothing of how it was run.
    """
    return {
        "version": __version__,
        "rng": RNG_LAYOUT,
        "seed": experiment.seed,
        "games": experiment.games,
        "rules": list(dict.fromkeys(point.rules.digest for point in points)),
        "bots": list(dict.fromkeys(bot.described(point.rules.players) for point in points for bot in point.bots)),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "numba": version("numba"),
    }
