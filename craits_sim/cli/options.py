"""The options that commands share, and how errors reach the user."""

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from craits_sim.ranges import (
    GAMES,
    LEVEL,
    MARGIN,
    PLAYERS,
    POINTS,
    SEED,
    THREADS,
    NumberError,
    Real,
    Whole,
    usable_cpus,
)

if TYPE_CHECKING:
    from craits_sim.bots import BotSpec
    from craits_sim.rules import Rules

F = TypeVar("F", bound=Callable[..., Any])

CONTEXT_SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 110}


class UserError(click.ClickException):
    """A mistake in what the user gave: one line on stderr, and exit code 2."""

    exit_code = 2


def friendly_errors(function: F) -> F:
    """Turn the package's own errors and file system errors into one line, and Ctrl-C into exit code 130.

    Other exceptions are faults of the program and pass through, so that their traceback can be reported.
    """

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except KeyboardInterrupt as interrupt:
            from craits_sim.bots import BotHangs

            click.echo("Stopped.", err=True)
            if isinstance(interrupt, BotHangs):
                os._exit(130)  # an ordinary end would wait for the thread in which the bot plays
            raise click.exceptions.Exit(130) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            place = f"{error.filename}: " if error.filename else ""
            raise UserError(f"{place}{error.strerror or error}") from error
        except ValueError as error:
            if isinstance(error, _user_errors()):
                raise UserError(str(error)) from error
            raise

    return call  # type: ignore[return-value]


def _user_errors() -> tuple[type[ValueError], ...]:
    from craits_sim.bots import BotError
    from craits_sim.cards import CardError
    from craits_sim.design import DesignError
    from craits_sim.features import WeightsError
    from craits_sim.rules import RulesError
    from craits_sim.studies import StudyError

    return BotError, CardError, DesignError, NumberError, RulesError, StudyError, WeightsError


class Number(click.ParamType):
    """A number of a given range, as the text of an option."""

    def __init__(self, allowed: Whole | Real) -> None:
        self.name = "number"
        self.allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float:
        try:
            return self.allowed.parse(value)
        except NumberError as error:
            self.fail(str(error), param, ctx)


def combine(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    """Make one decorator of several options; help lists the options in the given order."""

    def decorate(command: F) -> F:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


table_options = combine(
    click.option(
        "--rules",
        default="classic",
        metavar="NAME|FILE.toml",
        show_default=True,
        help="A preset, or a rules file.",
    ),
    click.option(
        "--set",
        "changes",
        multiple=True,
        metavar="KEY=VALUE",
        help="Change one field of the rules, like draw.count=2. Repeatable.",
    ),
    click.option(
        "--players",
        type=Number(PLAYERS),
        metavar="N",
        help="Seats at the table.  [default: as the rules say]",
    ),
)
"""Passes ``rules``, ``changes`` and ``players``; `load_rules_of_table` makes rules of them."""

BOTS_HELP = "One bot for all seats, or one a seat; with parameters: random:forget=0.1."


def bots_option(default: str | None, usual: str, meaning: str = BOTS_HELP) -> Callable[[F], F]:
    """Make the option ``--bots``; where ``default`` is None the command has to know that it is not given.

    Parameters
    ----------
    usual, meaning
        What help says: the bots where it is not given, and what it takes.
    """
    return click.option("--bots", default=default, metavar="NAME[,NAME...]", help=f"{meaning}  [default: {usual}]")


rules_options = combine(table_options, bots_option("random", "random"))
"""Passes ``rules``, ``changes``, ``players`` and ``bots``; `load_table` makes a table of them."""

seed_option = click.option(
    "--seed",
    type=Number(SEED),
    default=1,
    metavar="S",
    show_default=True,
    help="The same seed plays the same games.",
)

threads_option = click.option(
    "--threads",
    type=Number(THREADS),
    default=usable_cpus,
    metavar="T",
    help="Threads that play; results do not depend on it.  [default: all usable CPUs]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object to stdout, and nothing else.")

quiet_option = click.option("--quiet", "-q", is_flag=True, help="Show no progress.")


def games_option(default: int | None, usual: int | None = None) -> Callable[[F], F]:
    """Make the option ``--games``, with the number of games that is played when it is not given.

    Where ``default`` is None the command has to know that it is not given, and ``usual`` is what help says.
    """
    usual = default or usual
    return click.option(
        "--games",
        type=Number(GAMES),
        default=default,
        metavar="N",
        help="Games to play, like 100000, 100k or 1e6." + (f"  [default: {usual:,}]" if usual else ""),
    )


def run_options(default_games: int) -> Callable[[F], F]:
    """Make the options of a run: passes ``games``, ``seed`` and ``threads``."""
    return combine(games_option(default_games), seed_option, threads_option)


output_options = combine(
    click.option("--name", metavar="NAME", help="Folder of the report inside the output folder."),
    click.option(
        "--output",
        type=click.Path(),
        default="reports",
        metavar="DIR",
        show_default=True,
        help="Folder that the report is written into.",
    ),
    json_option,
    quiet_option,
)
"""Passes ``name``, ``output``, ``as_json`` and ``quiet``."""


records_options = combine(
    click.option(
        "--records",
        type=click.Path(path_type=Path),
        metavar="FILE.parquet",
        help="Also write a row for each game and seat.",
    ),
    click.option(
        "--records-rounds",
        type=click.Path(path_type=Path),
        metavar="FILE.parquet",
        help="Also write a row for each game, round and seat.",
    ),
)
"""Passes ``records`` and ``records_rounds``."""


resume_option = click.option(
    "--resume",
    is_flag=True,
    help="Go on where an interrupted run of the same experiment ended; more --games are allowed.",
)

until_decided_option = click.option(
    "--until-decided",
    is_flag=True,
    help="Play until every verdict against the margin is certain; --games is the most, as for --precision.",
)


def precision_option(unit: str = "its unit") -> Callable[[F], F]:
    """Make the option ``--precision``, in the unit of the study's headline."""
    return click.option(
        "--precision",
        type=Number(MARGIN),
        metavar="H",
        help=f"Play until the headline interval is ± H or narrower, in {unit}; --games is then the most that is played "
        "[default: 10,000,000].",
    )


def study_options(margin: float, margins: Real) -> Callable[[F], F]:
    """Make the options of every study.

    Passes ``level``, ``margin``, ``precision``, ``until_decided``, ``vary``, ``variants``, ``max_points`` and those of
    `output_options`.

    Parameters
    ----------
    margin, margins
        The study's own margin, and those that it takes.
    """
    return combine(
        click.option(
            "--level",
            type=Number(LEVEL),
            default=0.95,
            metavar="P",
            show_default=True,
            help="Confidence level.",
        ),
        click.option(
            "--margin",
            type=Number(margins),
            metavar="M",
            help=f"Largest difference that does not matter to you, in {margins.unit}.  [default: {margin:g}]",
        ),
        precision_option(margins.unit),
        until_decided_option,
        click.option(
            "--vary",
            multiple=True,
            metavar="'KEY=[V1, V2, ...]'",
            help="Try each value of a rule field, of players or of bots. Repeatable: all combinations.",
        ),
        click.option(
            "--variant",
            "variants",
            multiple=True,
            metavar="'NAME: KEY=VALUE; ...'|NAME|FILE.toml",
            help="Try other rules too: some changed fields under a name, a preset, or a rules file. Repeatable.",
        ),
        click.option(
            "--max-points",
            type=Number(POINTS),
            default=POINTS.high,
            metavar="N",
            show_default=True,
            help="Refuse a design of more design points.",
        ),
        output_options,
    )


def load_table(
    rules: str, changes: Sequence[str], players: int | None, bots: str
) -> tuple["Rules", tuple["BotSpec", ...]]:
    """Make rules and bots, one a seat, of what `rules_options` passes.

    Raises
    ------
    RulesError, BotError
        If they name something that does not exist or cannot be played.
    """
    from craits_sim.bots import parse_bots

    loaded = load_rules_of_table(rules, changes, players)
    return loaded, parse_bots(bots, loaded.players)


def load_rules_of_table(rules: str, changes: Sequence[str], players: int | None) -> "Rules":
    """Make rules of what `table_options` passes.

    Raises
    ------
    RulesError
        If they name something that does not exist or cannot be played.
    """
    from craits_sim.rules import load_rules, parse_changes

    table_size = {} if players is None else {"players": players}
    return load_rules(rules, {**parse_changes(changes), **table_size})
