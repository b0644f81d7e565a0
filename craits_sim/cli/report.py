"""The command ``craits report``."""

from pathlib import Path

import click

from craits_sim.cli.options import CONTEXT_SETTINGS


@click.command(context_settings=CONTEXT_SETTINGS)
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    default="reports",
    metavar="DIR",
    show_default=True,
    help="Folder of the reports; the page is written into it.",
)
def report(output: Path) -> None:
    """Make one page of all reports in a folder.

    \b
    Examples:
      craits report
      craits report --output quick
    """
    from craits_sim.gallery import write_gallery

    page, entries, notes = write_gallery(output)
    for note in notes:
        click.echo(note, err=True)
    count = len(entries)
    click.echo(f"Gallery: {page} ({count} {'report' if count == 1 else 'reports'})")
