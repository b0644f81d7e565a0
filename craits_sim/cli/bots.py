"""The command ``craits bots``."""

import json

import click

from craits_sim.bots import BOTS
from craits_sim.cli.options import CONTEXT_SETTINGS, json_option


@click.command(context_settings=CONTEXT_SETTINGS)
@json_option
def bots(as_json: bool) -> None:
    """List the bots and their parameters.

    \b
    Examples:
      craits bots
      craits simulate --players 3 --bots greedy,random,random:forget=0.3:catch=0.5
    """
    if as_json:
        click.echo(json.dumps({name: _described(name) for name in BOTS}, indent=2))
        return
    for kind in BOTS.values():
        click.echo(f"{kind.name:<10}{kind.description}")
        for name, parameter in kind.parameters.items():
            click.echo(f"  {name:<8}{parameter.description}, from 0 to 1  [default: {parameter.default:g}]")


def _described(name: str) -> dict[str, object]:
    kind = BOTS[name]
    parameters = {key: parameter._asdict() for key, parameter in kind.parameters.items()}
    return {"description": kind.description, "parameters": parameters}
