"""The command ``craits bots``."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from craits_sim.bots import BOTS, OWN, RATES, Parameter
from craits_sim.cli.options import (
    CONTEXT_SETTINGS,
    friendly_errors,
    games_option,
    json_option,
    load_rules_of_table,
    seed_option,
    table_options,
)

if TYPE_CHECKING:
    from craits_sim.rules import Rules

PLAYERS = 4
"""The table whose weights of `tuned` are shown."""


@click.command(context_settings=CONTEXT_SETTINGS)
@click.option(
    "--features", "lists_features", is_flag=True, help="List what careful and tuned look at, and how much it weighs."
)
@click.option(
    "--check",
    "checked",
    metavar="FILE.py:FUNCTION",
    help="Try a bot of your own against random and greedy; the options below say under which rules too.",
)
@table_options
@games_option(1000)
@seed_option
@json_option
@friendly_errors
def bots(
    lists_features: bool,
    checked: str | None,
    rules: str,
    changes: tuple[str, ...],
    players: int | None,
    games: int,
    seed: int,
    as_json: bool,
) -> None:
    """List the bots and their parameters.

    \b
    Examples:
      craits bots
      craits bots --features
      craits bots --check ./experiments/mybot.py:choose --players 3
      craits simulate --players 3 --bots greedy,random,random:forget=0.3:catch=0.5
    """
    if checked:
        _check(checked, load_rules_of_table(rules, changes, players), games, seed, as_json)
    elif lists_features:
        _list_features(as_json)
    elif as_json:
        click.echo(json.dumps({name: _described(name) for name in BOTS}, indent=2))
    else:
        for kind in BOTS.values():
            click.echo(f"{kind.name:<10}{kind.description}")
            _list_parameters({name: parameter for name, parameter in kind.parameters.items() if name not in RATES})
        click.echo(f"{OWN.name}\n{'':10}{OWN.description}")
        click.echo("and every bot has")
        _list_parameters(RATES)


def _list_parameters(parameters: Mapping[str, Parameter]) -> None:
    for name, parameter in parameters.items():
        default = parameter.show(parameter.default) or "none"
        click.echo(f"  {name:<8}{parameter.description}: {parameter.allowed}  [default: {default}]")


def _described(name: str) -> dict[str, object]:
    kind = BOTS[name]
    parameters = {
        key: {"description": parameter.description, "allowed": parameter.allowed, "default": parameter.default}
        for key, parameter in kind.parameters.items()
    }
    return {"description": kind.description, "parameters": parameters}


def _list_features(as_json: bool) -> None:
    from craits_sim.cli.console import print_table
    from craits_sim.features import FEATURES, UNIT, load_weights, shipped_weights

    careful, tuned = (load_weights(shipped_weights(name, PLAYERS)) for name in ("careful", "tuned"))
    rows = [
        (name, by_hand / UNIT, found / UNIT, meaning)
        for (name, meaning), by_hand, found in zip(FEATURES.items(), careful, tuned, strict=True)
    ]
    if as_json:
        keys = ("feature", "careful", "tuned", "meaning")
        click.echo(json.dumps([dict(zip(keys, row, strict=True)) for row in rows], indent=2))
        return
    print_table(
        ("feature", "careful", f"tuned, {PLAYERS} players", "meaning"),
        [(name, f"{by_hand:g}", f"{found:g}", meaning) for name, by_hand, found, meaning in rows],
    )


def _check(text: str, rules: "Rules", games: int, seed: int, as_json: bool) -> None:
    """Try a bot under classic and under given rules, ``games`` at each seat."""
    from craits_sim.api import tables_to_try
    from craits_sim.bots import parse_bot
    from craits_sim.check import check
    from craits_sim.cli.console import print_table, stdout

    bot = parse_bot(text)
    tried = list(check(bot, tables_to_try(rules), games, seed))
    if as_json:
        click.echo(json.dumps({"bot": str(bot), "tables": [each._asdict() for each in tried]}))
        return
    total = sum(each.games for each in tried)
    stdout().print(
        f"{bot.described(rules.players)}: every move was legal in {total:,} games, and the same when repeated."
    )
    print_table(
        ("rules", "players", "against", "games", "asked", "wins %", "ns a choice"),
        [
            (
                each.rules,
                str(each.players),
                each.opponent,
                f"{each.games:,}",
                f"{each.asked:,}",
                f"{100 * each.win_share:.1f}",
                f"{each.ns_a_choice:.0f}",
            )
            for each in tried
        ],
    )
