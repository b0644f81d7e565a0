"""The command ``craits plan``."""

import json
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from craits_sim.cli.options import (
    CONTEXT_SETTINGS,
    Number,
    combine,
    json_option,
    load_table,
    rules_options,
    seed_option,
    threads_option,
)
from craits_sim.ranges import LEVEL, MARGIN, NumberError, Real

if TYPE_CHECKING:
    from craits_sim.bots import BotSpec
    from craits_sim.results import Batch
    from craits_sim.rules import Rules
    from craits_sim.studies.base import Ints, Sums

PILOT_GAMES = 20_000
TABLE_GAMES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)


class Metric(NamedTuple):
    """A quantity that games are planned for: the headline of a study."""

    study: str
    noun: str
    unit: str
    largest: float  # sizes beyond it make no sense


METRICS = {
    "win_share": Metric("seats", "win share of one seat", "pp", 100),
    "points": Metric("dealer", "edge of the dealer", "points a round", MARGIN.high),
    "turns": Metric("length", "turns of a game", "turns", MARGIN.high),
}

goal_options = combine(
    click.option("--half-width", type=Number(MARGIN), metavar="H", help="An interval of ± H."),
    click.option("--difference", type=Number(MARGIN), metavar="D", help="Find a true difference of D."),
    click.option("--margin", type=Number(MARGIN), metavar="M", help="Show a difference of zero to lie within ± M."),
)


@click.command(context_settings=CONTEXT_SETTINGS)
@click.option(
    "--metric",
    type=click.Choice(list(METRICS)),
    default="win_share",
    show_default=True,
    help="What is estimated: win share (pp), the dealer's points a round, or turns a game.",
)
@goal_options
@click.option(
    "--power",
    type=Number(Real(0.5, 1)),
    default=0.8,
    metavar="P",
    show_default=True,
    help="Chance that --difference is found, and that --margin is shown.",
)
@click.option("--level", type=Number(LEVEL), default=0.95, metavar="P", show_default=True, help="Confidence level.")
@click.option(
    "--sd",
    type=Number(MARGIN),
    metavar="SD",
    help="Spread of the metric in one game.  [default: win_share: as N players imply; else: measured]",
)
@rules_options
@seed_option
@threads_option
@json_option
def plan(
    metric: str,
    half_width: float | None,
    difference: float | None,
    margin: float | None,
    power: float,
    level: float,
    sd: float | None,
    rules: str,
    changes: tuple[str, ...],
    players: int | None,
    bots: str,
    seed: int,
    threads: int,
    as_json: bool,
) -> None:
    """Say how many games an answer takes, and how long they run here.

    Sizes are in the unit of the metric. Without a goal, a table says what 1,000 to 10 million games reach. A short
    pilot run of the same rules and bots measures the time and, unless it is known, the spread.

    \b
    Examples:
      craits plan
      craits plan --margin 1 --difference 0.5
      craits plan --metric points --half-width 0.05 --players 3 --bots greedy
    """
    from craits_sim.stats import Goal, equal_share_sd, games_for, size_reached

    chosen = METRICS[metric]
    sizes = {Goal.HALF_WIDTH: half_width, Goal.DIFFERENCE: difference, Goal.MARGIN: margin}
    wanted = {goal: size for goal, size in sizes.items() if size is not None}
    for goal, size in wanted.items():
        try:
            Real(0, chosen.largest).parse(size)
        except NumberError as error:
            raise click.BadParameter(f"{error} {chosen.unit}", param_hint=f"'--{goal}'") from error

    table, seats = load_table(rules, changes, players, bots)
    measured, games_per_s = _pilot(metric, table, seats, seed, threads)
    source = "given"
    if sd is None:
        sd, source = (100 * equal_share_sd(table.players), "players") if metric == "win_share" else (measured, "pilot")
    result: dict[str, Any] = {
        "metric": metric,
        "unit": chosen.unit,
        "rules": {"name": table.name, "digest": table.digest},
        "players": table.players,
        "bots": [str(bot) for bot in seats],
        "seed": seed,
        "level": level,
        "power": power,
        "sd": sd,
        "sd_source": source,
        "pilot_games": PILOT_GAMES,
        "threads": threads,
        "games_per_s": games_per_s,
        "goals": [
            {"goal": goal.name.lower(), "size": size, "games": games, "seconds": games / games_per_s}
            for goal, size in wanted.items()
            for games in [games_for(goal, size, sd, level, power)]
        ],
        "table": [
            {
                "games": games,
                **{goal.name.lower(): size_reached(goal, games, sd, level, power) for goal in Goal},
                "seconds": games / games_per_s,
            }
            for games in TABLE_GAMES
        ],
    }
    if as_json:
        click.echo(json.dumps(result, ensure_ascii=False))
    else:
        _print(result)


def _pilot(metric: str, rules: "Rules", bots: tuple["BotSpec", ...], seed: int, threads: int) -> tuple[float, float]:
    """Play some games as the metric's study does; give the spread of the metric in a game, and games a second."""
    from craits_sim import runner
    from craits_sim.design import DesignPoint
    from craits_sim.studies import STUDIES
    from craits_sim.studies.base import cross_sums, moments

    study = STUDIES[METRICS[metric].study]
    unit = rules.players * len(rules.deals) if metric == "points" else 1

    def tally(batches: Sequence["Batch"]) -> "Sums":
        own: Sums = cross_sums("metric", _metric_by_game(metric, batches[0])[:, None])
        return {**study.tally(batches), **own, "games": np.array([len(batches[0].totals)])}

    point = DesignPoint({}, rules, bots)
    runner.get_ready([point])
    began = time.perf_counter()
    sums = runner.run([point], tally, games=PILOT_GAMES, seed=seed, threads=threads)
    seconds = time.perf_counter() - began
    return float(np.sqrt(moments(sums, "metric", unit).covariance[0, 0])), PILOT_GAMES / seconds


def _metric_by_game(metric: str, batch: "Batch") -> "Ints":
    """Give a whole number a game: turns, or points of the dealer times players less those of all."""
    if metric == "points":
        players = batch.points.shape[2]
        return players * batch.points[:, :, 0].sum(axis=1) - batch.points.sum(axis=(1, 2))
    return batch.turns.sum(axis=1, dtype=np.int64)


_SOURCES = {
    "players": "as {players} equal players have",
    "pilot": "measured in {pilot_games:,} games",
    "given": "as given",
}


def _print(result: dict[str, Any]) -> None:
    from craits_sim.cli.console import print_table, stdout
    from craits_sim.stats import Goal, errors_needed, simultaneous_level

    metric, unit, level = METRICS[result["metric"]], result["unit"], result["level"]
    source = _SOURCES[result["sd_source"]].format(**result)
    stdout().print(
        f"{metric.noun.capitalize()}: spread of one game {result['sd']:.3g} {unit}, {source}; "
        f"level {100 * level:g}%, power {100 * result['power']:g}%."
    )
    if result["goals"]:
        texts = {
            "half_width": f"interval of ± {{size:g}} {unit}",
            "difference": f"find a difference of {{size:g}} {unit}",
            "margin": f"show zero to lie within ± {{size:g}} {unit}",
        }
        print_table(
            ("goal", "games", "run time"),
            [
                (texts[row["goal"]].format(**row), f"{row['games']:,}", _time_text(row["seconds"]))
                for row in result["goals"]
            ],
        )
    else:
        print_table(
            ("games", f"interval ± ({unit})", f"difference found ({unit})", f"margin shown ({unit})", "run time"),
            [
                (
                    f"{row['games']:,}",
                    *(f"{row[goal.name.lower()]:.2g}" for goal in Goal),
                    _time_text(row["seconds"]),
                )
                for row in result["table"]
            ],
        )
    names = ", ".join(dict.fromkeys(result["bots"]))
    stdout().print(
        f"Run time at {result['games_per_s']:,.0f} games/s, measured here: {result['rules']['name']}, "
        f"{result['players']} players, bots {names}, threads {result['threads']}."
    )
    if result["metric"] == "win_share":
        all_seats = simultaneous_level(level, result["players"])
        ratio = errors_needed(Goal.HALF_WIDTH, all_seats) / errors_needed(Goal.HALF_WIDTH, level)
        stdout().print(
            f"The intervals of `craits seats` hold for all {result['players']} seats at once: "
            f"the same half-width takes {ratio**2:.1f} times as many games."
        )


def _time_text(seconds: float) -> str:
    """Write a duration as people say it, like ``4 min``."""
    for unit, length in (("days", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:,.0f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else "<1 s"
