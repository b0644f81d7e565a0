"""Compiling before the first game, so that a run can say what takes so long, and how long it took."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from numba.core import event

from craits_sim.bots import BotSpec
from craits_sim.kernel._jit import CACHE_PROBLEMS
from craits_sim.kernel.simulate import simulate_batch
from craits_sim.rules import Rules


class Start(NamedTuple):
    """How the kernel got ready."""

    seconds: float
    cached: bool  # nothing had to be compiled


class _FirstCompilation(event.Listener):
    """Says something when numba begins to compile; loading compiled code is no compiling."""

    def __init__(self, say: Callable[[], None]) -> None:
        self.say = say
        self.seen = False

    def on_start(self, event: Any) -> None:
        if not self.seen:
            self.seen = True
            self.say()

    def on_end(self, event: Any) -> None:
        pass


def compile_kernel(
    tables: Iterable[tuple[Rules, Sequence[BotSpec]]], announce: Callable[[str], None], details: bool = False
) -> Start:
    """Load or compile what the given tables need, by playing a game of each.

    Parameters
    ----------
    tables : iterable of (Rules, sequence of BotSpec)
    announce : callable
        Is given a line of text when compiling begins, which takes some ten seconds, and one if the compiled code
        cannot be kept for the next start. Where it was kept, nothing is announced.
    details : bool
        As for `simulate_batch`.
    """

    def announce_beginning() -> None:
        how_often = "at every start" if CACHE_PROBLEMS else "once"
        announce(f"Compiling the simulator for this machine ({how_often}, about 10 to 20 s)...")

    started = time.perf_counter()
    compilation = _FirstCompilation(announce_beginning)
    with event.install_listener("numba:compile", compilation):
        for rules, bots in tables:
            simulate_batch(rules, bots, seed=0, first_game=0, games=1, details=details)
    if compilation.seen and CACHE_PROBLEMS:
        announce(f"The compiled simulator cannot be kept for the next start: {CACHE_PROBLEMS[0]}")
    return Start(time.perf_counter() - started, not compilation.seen)
