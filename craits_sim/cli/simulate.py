"""The command ``craits simulate``."""

import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from craits_sim.cli.options import (
    CONTEXT_SETTINGS,
    json_option,
    load_table,
    quiet_option,
    records_options,
    rules_options,
    run_options,
)


@click.command(context_settings=CONTEXT_SETTINGS)
@rules_options
@run_options(default_games=100_000)
@records_options
@json_option
@quiet_option
def simulate(
    rules: str,
    changes: tuple[str, ...],
    players: int | None,
    bots: str,
    games: int,
    seed: int,
    threads: int,
    records: Path | None,
    records_rounds: Path | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Play games and print what happened on average.

    \b
    Examples:
      craits simulate
      craits simulate --players 3 --bots greedy,random,random --games 1e6
      craits simulate --set match=suit_or_color --seed 7 --json
      craits simulate --games 20k --records games.parquet
    """
    from craits_sim import aggregate, runner
    from craits_sim.cli.progress import show_progress
    from craits_sim.design import DesignPoint
    from craits_sim.records import recording

    table, seats = load_table(rules, changes, players, bots)
    started = time.perf_counter()
    points = [DesignPoint({}, table, seats)]
    with (
        recording(points, seed, records, records_rounds) as recorder,
        show_progress("simulate", games, quiet=quiet) as on_progress,
    ):
        sums = runner.run(
            points,
            aggregate.tally,
            games=games,
            seed=seed,
            threads=threads,
            on_progress=on_progress,
            recorder=recorder,
        )
    result = aggregate.describe(sums, table, seats, seed)
    result["elapsed_s"] = round(time.perf_counter() - started, 3)
    if as_json:
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        _print_tables(result, aggregate.standard_errors(sums))


def _print_tables(result: dict[str, Any], errors: dict[str, Any]) -> None:
    """Print the aggregates with their standard errors."""
    from craits_sim.cli.console import print_table, stdout

    bots, digests = result["bots"], result.get("bot_digests", {})
    described = [f"{bot} ({digests[bot]})" if bot in digests else bot for bot in bots]
    names = described[0] if len({*bots}) == 1 else ", ".join(described)
    rules = result["rules"]
    stdout().print(
        f"{result['games']:,} games of {len(result['turns_by_round'])} rounds, seed {result['seed']}: "
        f"rules {rules['name']} ({rules['digest']}), {result['players']} players, bots {names}.\n"
        "After each ± stands the standard error.",
    )
    seats = [str(number) for number in range(result["players"])]
    print_table(
        ("position (0: first dealer)", "wins %", "mean total", "sd of a total"),
        zip(
            seats,
            _with_errors(result["win_share"], errors["win_share"], scale=100),
            _with_errors(result["mean_total"], errors["mean_total"]),
            ["" if sd is None else f"{sd:.1f}" for sd in result["sd_total"]],
            strict=True,
        ),
    )
    if len({*bots}) > 1:
        means, se = result["by_seat"], errors["by_seat"]
        print_table(
            ("seat", "bot", "wins %", "mean total"),
            zip(
                seats,
                bots,
                _with_errors(means["win_share"], se["win_share"], scale=100),
                _with_errors(means["mean_total"], se["mean_total"]),
                strict=True,
            ),
        )
    means, se = result["by_offset"], errors["by_offset"]
    print_table(
        ("offset (0: dealer of the round)", "goes out %", "points a round"),
        zip(
            seats,
            _with_errors(means["go_out_share"], se["go_out_share"], scale=100),
            _with_errors(means["mean_points"], se["mean_points"]),
            strict=True,
        ),
    )
    means, se = result["per_round"], errors["per_round"]
    print_table(
        ("per round", "mean"),
        zip([name.replace("_", " ") for name in means], _with_errors(means.values(), se.values()), strict=True),
    )
    turns = ", ".join(f"{mean:.1f}" for mean in result["turns_by_round"])
    stdout().print(f"Turns by round: {turns}.", soft_wrap=True)
    stdout().print(f"Truncated rounds: {result['truncated']:,}. Played in {result['elapsed_s']:.1f} s.")


def _with_errors(values: Iterable[float], errors: Iterable[float | None], scale: float = 1) -> list[str]:
    """Write each value with its standard error, both with one decimal more than the value itself supports."""
    from craits_sim.stats import digits_from_se

    texts = []
    for value, se in zip(values, errors, strict=True):
        if se:
            digits = digits_from_se(scale * se) + 1
            texts.append(f"{scale * value:,.{digits}f} ± {scale * se:.{digits}f}")
        else:
            texts.append(f"{scale * value:.4g}")
    return texts
