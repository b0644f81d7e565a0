"""The command ``craits bench``."""

import json
import time
from typing import TYPE_CHECKING, Any

import click

from craits_sim.cli.options import (
    CONTEXT_SETTINGS,
    Number,
    games_option,
    json_option,
    load_table,
    rules_options,
    seed_option,
)
from craits_sim.ranges import THREADS

if TYPE_CHECKING:
    from craits_sim.bots import BotSpec
    from craits_sim.rules import Rules

VECTOR_FEATURES = ("sse4", "avx", "popcnt", "neon", "sve")
"""How the features of a CPU begin that decide what the step can be compiled to."""


@click.command(context_settings=CONTEXT_SETTINGS)
@rules_options
@games_option(200_000)
@seed_option
@click.option(
    "--threads",
    type=Number(THREADS),
    default=1,
    metavar="T",
    show_default=True,
    help="Threads that play.",
)
@click.option("--asm", is_flag=True, help="Say whether the machine code works on vectors, and how wide they are.")
@json_option
def bench(
    rules: str,
    changes: tuple[str, ...],
    players: int | None,
    bots: str,
    games: int,
    seed: int,
    threads: int,
    asm: bool,
    as_json: bool,
) -> None:
    """Measure how fast games are played on this machine.

    Compiling is measured apart: `compile_s` is what it took to compile the simulator, or to load it (`cached`).
    Games and turns a second are by the clock on the wall. The nanoseconds of a turn are CPU time: neither more threads
    nor other programs on the machine change much about them.

    \b
    Examples:
      craits bench
      craits bench --players 2 --bots greedy --threads 2 --json
      craits bench --asm
    """
    table, seats = load_table(rules, changes, players, bots)
    result = _measure(table, seats, games, seed, threads)
    if asm:
        result |= _look_at_code(table, seats)
    if as_json:
        click.echo(json.dumps(result))
        return
    names = ", ".join(dict.fromkeys(result["bots"]))
    click.echo(f"{games:,} games of {table.name}, {table.players} players, bots {names}, threads {threads}")
    click.echo(f"{result['ns_per_turn']:.1f} ns a turn: {result['games_per_s']:,.0f} games/s")
    click.echo(f"{'Loaded' if result['cached'] else 'Compiled'} in {result['compile_s']:.1f} s")
    if asm:
        click.echo(f"Compiled for {result['cpu']}: {', '.join(result['features'])}")
        for number, loop in enumerate(result["loops"], start=1):
            click.echo(f"Loop {number} of the step: {loop['text']}")


def _measure(rules: "Rules", bots: tuple["BotSpec", ...], games: int, seed: int, threads: int) -> dict[str, Any]:
    """Play games, and give the keys of ``craits bench --json``."""
    import numpy as np

    from craits_sim import runner
    from craits_sim.design import DesignPoint

    point = DesignPoint({}, rules, bots)
    start = runner.get_ready([point])
    began, cpu_began = time.perf_counter(), time.process_time()
    sums = runner.run(
        [point],
        lambda batches: {"turns": np.array([batches[0].turns.sum(dtype=np.int64)])},
        games=games,
        seed=seed,
        threads=threads,
    )
    seconds, cpu_seconds = time.perf_counter() - began, time.process_time() - cpu_began
    turns = int(sums["turns"][0])
    return {
        "games_per_s": games / seconds,
        "turns_per_s": turns / seconds,
        "ns_per_turn": 1e9 * cpu_seconds / turns,
        "threads": threads,
        "games": games,
        "players": rules.players,
        "bots": [str(bot) for bot in bots],
        "compile_s": start.seconds,
        "cached": start.cached,
    }


def _look_at_code(rules: "Rules", bots: tuple["BotSpec", ...]) -> dict[str, Any]:
    """Say what the step was compiled to."""
    from craits_sim.kernel._jit import CPU
    from craits_sim.kernel.vectors import step_loops

    name, features = CPU
    enabled = sorted(feature[1:] for feature in features.split(",") if feature.startswith("+"))
    return {
        "cpu": name,
        "features": [feature for feature in enabled if feature.startswith(VECTOR_FEATURES)],
        "loops": [{**loop._asdict(), "text": str(loop)} for loop in step_loops(rules, bots)],
    }
