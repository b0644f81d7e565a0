"""The command ``craits trace``."""

import json
from typing import TYPE_CHECKING, Any

import click

from craits_sim.cli.options import CONTEXT_SETTINGS, Number, UserError, load_table, rules_options, seed_option
from craits_sim.ranges import GAMES, Whole

if TYPE_CHECKING:
    from craits_sim.bots import BotSpec
    from craits_sim.rules import Rules

GAME = Whole(0, GAMES.high - 1)
ROUND = Whole(1, 1000)


@click.command(context_settings=CONTEXT_SETTINGS)
@rules_options
@seed_option
@click.option(
    "--game",
    type=Number(GAME),
    default=0,
    metavar="I",
    show_default=True,
    help="Which game of the run; the first is 0.",
)
@click.option(
    "--round",
    "round_number",
    type=Number(ROUND),
    metavar="R",
    help="Print this round only; the first is 1.  [default: all]",
)
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="FILE.toml|FOLDER",
    help="Play a position that a file sets up, or each file of a folder, instead of a game. Repeatable.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON to stdout, one object a line, and nothing else.")
@click.pass_context
def trace(
    ctx: click.Context,
    rules: str,
    changes: tuple[str, ...],
    players: int | None,
    bots: str,
    seed: int,
    game: int,
    round_number: int | None,
    scenarios: tuple[str, ...],
    as_json: bool,
) -> None:
    """Print one game, or a position you set up, in words.

    It is the game that `craits simulate` plays with the same rules, bots and seed, card for card.

    \b
    Examples:
      craits trace --game 7 --round 3
      craits trace --rules crazy_eights --players 2 --bots greedy,random --seed 5 --json
      craits trace --scenario position.toml
    """
    if scenarios:
        _refuse_options_of_games(ctx)
        _print_scenarios(scenarios, seed, as_json)
    else:
        _print_game(*load_table(rules, changes, players, bots), seed, game, round_number, as_json)


def _refuse_options_of_games(ctx: click.Context) -> None:
    """Fail where an option is given that a scenario would ignore."""
    for parameter in ctx.command.params:
        given = ctx.get_parameter_source(parameter.name or "") == click.core.ParameterSource.COMMANDLINE
        if given and parameter.name not in ("scenarios", "seed", "as_json"):
            raise click.UsageError(
                f"--scenario and {parameter.opts[0]} exclude each other: a scenario says its rules and bots itself, "
                "and is one round"
            )


def _print_game(
    rules: "Rules", bots: tuple["BotSpec", ...], seed: int, game: int, round_number: int | None, as_json: bool
) -> None:
    from craits_sim.design import describe_bots
    from craits_sim.trace import game_text, trace_game

    rounds = len(rules.deals)
    if round_number is not None and round_number > rounds:
        raise click.UsageError(f"--round {round_number}: rules {rules.name} have rounds 1 to {rounds}")
    _get_ready([(rules, bots)])
    traced = trace_game(rules, bots, seed, game)
    if as_json:
        for number, played in enumerate(traced.rounds, start=1):
            if round_number in (None, number):
                _print_json({"round": number, "dealer": played.dealer, **played.as_object()})
        _print_json({"totals": traced.totals})
    else:
        click.echo(
            f"game {game} of seed {seed}: rules {rules.name} ({rules.digest}), {rules.players} players, "
            f"bots {describe_bots(bots)}\n"
        )
        click.echo(game_text(rules, traced, round_number))


def _print_scenarios(paths: tuple[str, ...], seed: int, as_json: bool) -> None:
    from craits_sim.scenario import ScenarioError, load_scenario, scenario_files
    from craits_sim.trace import scenario_text, trace_scenario

    try:
        scenarios = [load_scenario(file, seed) for path in paths for file in scenario_files(path)]
        _get_ready([(scenario.rules, scenario.bots) for scenario in scenarios])
        # All are played before the first is printed, so that a mistake in one leaves no half of an output.
        played = [(scenario, trace_scenario(scenario)) for scenario in scenarios]
    except ScenarioError as error:
        raise UserError(str(error)) from error
    for number, (scenario, round_) in enumerate(played):
        if as_json:
            _print_json({"file": scenario.source, **round_.as_object()})
        else:
            click.echo("\n" * (number > 0) + scenario.source + "\n\n" + scenario_text(scenario, round_))


def _get_ready(tables: list[tuple["Rules", tuple["BotSpec", ...]]]) -> None:
    """Load the kernel, or compile it and say so on stderr."""
    from craits_sim.kernel.warm import compile_kernel

    compile_kernel(tables, lambda line: click.echo(line, err=True))


def _print_json(values: dict[str, Any]) -> None:
    click.echo(json.dumps(values, ensure_ascii=False))
