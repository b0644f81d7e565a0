"""The command ``craits verify``."""

import json

import click

from craits_sim.cli.options import CONTEXT_SETTINGS, json_option

NAME_WIDTH = 22


@click.command(context_settings=CONTEXT_SETTINGS)
@json_option
@click.pass_context
def verify(ctx: click.Context, as_json: bool) -> None:
    """Check the random numbers and the games on this machine.

    Each check prints a line: ok and what was seen, or FAILED and why. The exit code is 1 if one has failed. The checks
    play the same games on every machine, so that a failure is a fault and never chance.

    \b
    Examples:
      craits verify
      craits verify --json
    """
    from craits_sim.selftest import CHECKS, perform

    results = []
    for name in CHECKS:
        result = perform(name)
        results.append(result)
        if not as_json:
            click.echo(f"{'ok' if result.ok else 'FAILED':<8}{name:<{NAME_WIDTH}}{result.detail}")
    passed = all(result.ok for result in results)
    if as_json:
        click.echo(json.dumps({"ok": passed, "checks": [result._asdict() for result in results]}))
    if not passed:
        ctx.exit(1)
