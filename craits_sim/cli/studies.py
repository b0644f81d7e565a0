"""The command ``craits studies``."""

import json

import click

from craits_sim.cli.options import CONTEXT_SETTINGS, json_option


@click.command(context_settings=CONTEXT_SETTINGS)
@json_option
def studies(as_json: bool) -> None:
    """List the studies and the question each answers.

    \b
    Example:
      craits studies
    """
    from craits_sim.cli.console import print_table
    from craits_sim.studies import STUDIES

    if as_json:
        rows = [
            {
                "name": study.name,
                "question": study.question,
                "margin": study.margin,
                "margin_unit": study.margin_unit,
                "default_games": study.default_games,
                "options": [option._asdict() for option in study.options],
            }
            for study in STUDIES.values()
        ]
        click.echo(json.dumps(rows, ensure_ascii=False))
    else:
        print_table(("study", "question"), [(study.name, study.question) for study in STUDIES.values()])
