"""How fast the kernel is beside the yardstick in C++, and what else takes time: ``python -m tests.benchmarks.speed``.

What is compared takes turns, several times over, and the best time of each counts: what else the machine does meanwhile
makes a time longer and never shorter. Times are CPU time, but for those of several threads. Nothing here is asserted.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from craits_sim import aggregate, runner
from craits_sim.bots import parse_bots
from craits_sim.design import DesignPoint
from craits_sim.kernel import simulate_batch
from craits_sim.results import Batch
from craits_sim.rules import load_rules
from craits_sim.studies import STUDIES

GAMES = 16_000
ALTERNATIONS = 7
SOURCE = Path(__file__).with_name("yardstick.cpp")
CRAITS = [sys.executable, "-c", "from craits_sim.cli import cli; cli()"]
KERNEL_ALONE = "--kernel-alone"
"""An argument that makes this program print what it measures of the kernel, as JSON, and nothing else."""


def best_of(contenders: Mapping[str, Callable[[], float]]) -> dict[str, float]:
    """Let contenders take turns, and give the best time of each."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(ALTERNATIONS):
        for name, measure in contenders.items():
            times[name].append(measure())
    return {name: min(measured) for name, measured in times.items()}


def kernel(players: int, bots: str = "random") -> Callable[[], float]:
    """Measure the kernel: nanoseconds of one thread a turn of classic rules."""
    rules, seats = load_rules("classic", {"players": players}), parse_bots(bots, players)
    simulate_batch(rules, seats, 1, 0, 64)

    def measure() -> float:
        started = time.process_time()
        batch = simulate_batch(rules, seats, 1, 0, GAMES)
        return 1e9 * (time.process_time() - started) / int(batch.turns.sum())

    return measure


def yardstick(program: Path, players: int) -> Callable[[], float]:
    """Measure the yardstick in the same unit."""

    def measure() -> float:
        printed = subprocess.run([program, str(players), str(GAMES)], capture_output=True, check=True).stdout
        return float(json.loads(printed)["ns_per_turn"])

    return measure


def compile_yardstick(folder: Path) -> Path | None:
    """Compile the yardstick for this machine; None where there is no g++."""
    if shutil.which("g++") is None:
        return None
    program = folder / "yardstick"
    subprocess.run(["g++", "-O3", "-march=native", "-std=c++17", SOURCE, "-o", program], check=True)
    return program


def run_threads(threads: int) -> Callable[[], float]:
    """Measure a run: seconds of the clock on the wall for so many games that all threads are busy."""
    rules = load_rules("classic")
    point = DesignPoint({}, rules, parse_bots("random", rules.players))

    def measure() -> float:
        started = time.perf_counter()
        runner.run([point], aggregate.tally, games=8 * GAMES, seed=1, threads=threads)
        return time.perf_counter() - started

    return measure


def play_and(tally: Callable[[Sequence[Batch]], object], points: int = 1, details: bool = False) -> Callable[[], float]:
    """Measure playing a chunk at some design points and reducing its batches: CPU seconds a design point."""
    rules = load_rules("classic")
    bots = parse_bots("random", rules.players)

    def measure() -> float:
        started = time.process_time()
        tally([simulate_batch(rules, bots, 1, 0, GAMES, details=details) for _ in range(points)])
        return (time.process_time() - started) / points

    measure()
    return measure


def start_of(*arguments: str) -> Callable[[], float]:
    """Measure a whole program from start to end, in CPU seconds."""

    def measure() -> float:
        before = os.times()
        subprocess.run([*CRAITS, *arguments], capture_output=True, check=True)
        after = os.times()
        return after.children_user - before.children_user + after.children_system - before.children_system

    return measure


def without_vectors() -> dict[str, float]:
    """Measure the kernel compiled for a CPU without wide vectors."""
    command = [sys.executable, "-m", "tests.benchmarks.speed", KERNEL_ALONE]
    environment = {**os.environ, "NUMBA_CPU_NAME": "x86-64-v2"}
    measured: dict[str, float] = json.loads(
        subprocess.run(command, capture_output=True, check=True, env=environment).stdout
    )
    return measured


def main() -> None:
    of_kernel = {"2 players": kernel(2), "4 players": kernel(4)}
    if KERNEL_ALONE in sys.argv:
        print(json.dumps(best_of(of_kernel)))
        return

    with tempfile.TemporaryDirectory() as folder:
        program = compile_yardstick(Path(folder))
        of_yardstick = {f"{n} players, C++": yardstick(program, n) for n in (2, 4)} if program else {}
        greedy = {"4 players, greedy": kernel(4, "greedy")}
        turn = best_of({**of_yardstick, **of_kernel, **greedy})
    scalar = without_vectors()
    print("ns a turn, one thread, classic rules")
    for name in of_kernel:
        cpp = turn.get(f"{name}, C++", np.nan)
        print(f"  {name}: C++ {cpp:.1f}; kernel {turn[name]:.1f}, {turn[name] / cpp:.2f} x C++")
        print(f"    without wide vectors {scalar[name]:.1f}, {scalar[name] / cpp:.2f} x C++")
    ratio = turn["4 players, greedy"] / turn["4 players"]
    print(f"  greedy {turn['4 players, greedy']:.1f}, {ratio:.2f} x random (must be 1.6 or less)")

    threads = best_of({"1": run_threads(1), "2": run_threads(2)})
    print(f"two threads: {threads['1'] / threads['2']:.2f} x the games of one (must be 1.8 or more)")

    studies = {name: play_and(study.tally, 2, study.details) for name, study in STUDIES.items()}
    tallies = best_of({"play": play_and(len), "simulate": play_and(aggregate.tally), **studies})
    print("record and tally, against play alone (must be 1.25 or less)")
    for name in ("simulate", *studies):
        print(f"  {name}: {tallies[name] / tallies['play']:.2f} x")

    starts = best_of({"help": start_of("--help"), "first game": start_of("simulate", "--games", "1", "--json")})
    print(f"craits --help: {starts['help']:.2f} s (must be 0.3 or less)")
    print(f"first game, compiled before: {starts['first game']:.2f} s (must be 1.5 or less)")


if __name__ == "__main__":
    main()
