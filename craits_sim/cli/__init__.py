"""The command line: `craits`.

Commands are found by name and imported when they are called, so that ``craits --help`` starts at once: no
module here imports numba, pandas, matplotlib, scipy or pydantic at its top.
"""

import os
from importlib import import_module
from typing import Any

import click

from craits_sim.cli.options import CONTEXT_SETTINGS, friendly_errors
from craits_sim.text import nearest

# Each thread of a run sums up its own games. Were products of matrices to start further threads, these would only stand
# in their way. numpy reads this when it is imported, which is later.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMANDS = {
    "simulate": ("craits_sim.cli.simulate:simulate", "Play games and print what happened on average."),
    "trace": ("craits_sim.cli.trace:trace", "Print one game, or a position you set up, in words."),
    "run": ("craits_sim.cli.study:run", "Run the studies that experiment files describe."),
    "plan": ("craits_sim.cli.plan:plan", "Say how many games an answer takes, and how long they run here."),
    "ci": ("craits_sim.cli.ci:ci", "Say what your own play log shows: WINS of GAMES won by one seat or player."),
    "report": ("craits_sim.cli.report:report", "Make one page of all reports in a folder."),
    "studies": ("craits_sim.cli.studies:studies", "List the studies and the question each answers."),
    "rules": ("craits_sim.cli.rules:rules", "Show, check and compare rule sets."),
    "bots": ("craits_sim.cli.bots:bots", "List the bots and their parameters."),
    "tune": ("craits_sim.cli.tune:tune", "Find weights by which careful plays well, under your own rules too."),
    "bench": ("craits_sim.cli.bench:bench", "Measure how fast games are played on this machine."),
    "verify": ("craits_sim.cli.verify:verify", "Check the random numbers and the games on this machine."),
}
"""Where each command stands that is not made from a study, ``module:attribute``, and its line of help."""


class LazyGroup(click.Group):
    """A group that imports a command when it is called, and makes one of each registered study."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *_studies()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in COMMANDS:
            module, attribute = COMMANDS[cmd_name][0].split(":")
            command: click.Command = getattr(import_module(module), attribute)
            return command
        if cmd_name in _studies():
            from craits_sim.cli.study import study_command

            return study_command(_studies()[cmd_name])
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            known = self.list_commands(ctx)
            ctx.fail(f'"{name}" is no command; commands: {", ".join(known)}{nearest(name, known)}')
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, help_line) for name, (_, help_line) in COMMANDS.items()])
        with formatter.section("Studies"):
            formatter.write_dl([(name, study.question) for name, study in _studies().items()])

    @friendly_errors
    def invoke(self, ctx: click.Context) -> Any:
        return super().invoke(ctx)


def _studies() -> dict[str, Any]:
    from craits_sim.studies import STUDIES

    return STUDIES


def _print_version(ctx: click.Context, _param: click.Parameter, wanted: bool) -> None:
    if wanted:
        from craits_sim import __version__

        click.echo(f"craits {__version__}")
        ctx.exit()


@click.group(cls=LazyGroup, context_settings=CONTEXT_SETTINGS)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_print_version,
    help="Print the version.",
)
def cli() -> None:
    """Play the card game Craits many thousands of times, and measure what its rules do.

    \b
    Examples:
      craits simulate --players 3 --bots greedy
      craits seats --games 1e6
      craits seats --vary 'players=[2, 3, 4, 5]'
    """
