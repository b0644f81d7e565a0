"""The command ``craits tune``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from craits_sim.cli.options import (
    CONTEXT_SETTINGS,
    Number,
    UserError,
    json_option,
    load_rules_of_table,
    quiet_option,
    seed_option,
    table_options,
    threads_option,
)
from craits_sim.ranges import GAMES, GENERATIONS, SIGMA

if TYPE_CHECKING:
    from craits_sim.tune import Outcome, Search, Task


@click.command(context_settings=CONTEXT_SETTINGS)
@table_options
@click.option(
    "--opponents",
    default="careful",
    metavar="BOT[,BOT...]",
    show_default=True,
    help="The bot at all other seats, or one for each of them.",
)
@click.option(
    "--start",
    default="careful",
    metavar="NAME|FILE.toml",
    show_default=True,
    help="Weights to start from: careful, tuned, or a file.",
)
@click.option(
    "--generations",
    type=Number(GENERATIONS),
    default=100,
    metavar="G",
    show_default=True,
    help="How often the weights are improved.",
)
@click.option(
    "--games",
    type=Number(GAMES),
    default=500,
    metavar="N",
    show_default=True,
    help="Games that each candidate of a generation plays at each seat.",
)
@click.option(
    "--sigma",
    type=Number(SIGMA),
    default=0.3,
    metavar="S",
    show_default=True,
    help="How far the first candidates stray, in proportion to the weights.",
)
@seed_option
@threads_option
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default=Path("tuned.toml"),
    metavar="FILE.toml",
    show_default=True,
    help="File that the weights are written into.",
)
@click.option("--resume", is_flag=True, help="Go on where an interrupted search ended; more --generations are allowed.")
@json_option
@quiet_option
def tune(
    rules: str,
    changes: tuple[str, ...],
    players: int | None,
    opponents: str,
    start: str,
    generations: int,
    games: int,
    sigma: float,
    seed: int,
    threads: int,
    output: Path,
    resume: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Find weights by which careful plays well, under your own rules too.

    The weights are varied, what does well against the opponents is varied again, and so on. What is found plays as
    careful:weights=FILE. With the defaults it takes some five minutes of one CPU for classic with four players.

    \b
    Examples:
      craits tune --rules house.toml --output house-weights.toml
      craits tune --players 2 --opponents greedy --generations 30
      craits simulate --bots careful:weights=tuned.toml,greedy,greedy,greedy
    """
    from craits_sim import tune as tuning
    from craits_sim.bots import parse_bots

    table = load_rules_of_table(rules, changes, players)
    others = parse_bots(opponents, table.players - 1)
    task = tuning.Task(table, others, start, generations, games, sigma, seed)
    try:
        weights, outcome = _search(task, output, threads, resume=resume, quiet=quiet)
    except tuning.TuneError as error:
        raise UserError(str(error)) from error
    origin = tuning.provenance(task, generations, outcome)
    tuning.write_weights(output, weights, origin)
    tuning.partial_file(output).unlink(missing_ok=True)
    if as_json:
        document = {"weights": tuning.by_name(weights), "provenance": origin, "file": str(output)}
        click.echo(json.dumps(document, ensure_ascii=False))
    else:
        _print(task, output, origin)


def _search(
    task: "Task", output: Path, threads: int, *, resume: bool, quiet: bool
) -> "tuple[tuple[int, ...], Outcome]":
    """Search, and keep what is found on the way."""
    from craits_sim import tune as tuning
    from craits_sim.cli.progress import show_progress

    partial = tuning.partial_file(output)
    begun = tuning.load_search(output, task) if resume else []
    if partial.exists() and not resume:
        click.echo(f"{partial} is of an interrupted search, and is lost: --resume would go on from it.", err=True)
    kept = 0

    def keep(search: "Search") -> None:
        nonlocal kept
        tuning.keep_search(output, task, search)
        kept = len(search.scores)

    try:
        with show_progress("tune", tuning.games_of(task), quiet=quiet, headline=_headline) as on_progress:
            return tuning.tune(task, threads=threads, begun=begun, on_progress=on_progress, keep=keep)
    except KeyboardInterrupt:
        if kept:
            click.echo(
                f"{kept:,} of {task.generations:,} generations are kept in {partial}, which can be played by as well: "
                "the same command with --resume goes on from there.",
                err=True,
            )
        raise


def _headline(figures: Mapping[str, float]) -> str:
    """Tell how the best candidate of the last generation did."""
    return (
        f"generation {figures['generation']}: best edge {figures['edge']:+.1f} points, "
        f"wins {100 * figures['win_share']:.1f} %"
        if figures
        else ""
    )


def _print(task: "Task", output: Path, origin: Mapping[str, Any]) -> None:
    """Say how the weights do, and where they are."""
    from craits_sim.cli.console import stdout

    low, high = (100 * end for end in origin["win_share_interval"])
    edge_low, edge_high = origin["edge_interval"]
    opponents = ", ".join(dict.fromkeys(map(str, task.opponents)))
    stdout().print(
        f"Against {opponents} the weights win {100 * origin['win_share']:.1f} % of games ({low:.1f} to {high:.1f} at "
        f"{100 * origin['level']:g} %; {100 / task.rules.players:.1f} % would be even), with totals better by "
        f"{origin['edge']:+.1f} points ({edge_low:+.1f} to {edge_high:+.1f}), in {origin['validation_games']:,} games "
        "at each seat that were not used to find them.",
        soft_wrap=True,
    )
    stdout().print(f"Weights: {output}, to play by as careful:weights={output}", soft_wrap=True)
