"""The bots that sit at the table: their registry, and how a command line names them.

How a bot chooses a card stands in the kernel; here is only what a user may say about it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from craits_sim.text import nearest, toml_value


class BotError(ValueError):
    """A text that names no bot, or bots that do not fit the table; its text is one line for the user."""


class Parameter(NamedTuple):
    """What a user may set about a bot: a number from 0 to 1."""

    default: float
    description: str


@dataclass(frozen=True)
class BotKind:
    """A way of playing that a seat can be given."""

    name: str
    code: int
    """The number by which the kernel knows it."""
    description: str
    parameters: Mapping[str, Parameter]


RATES = {
    "forget": Parameter(0.0, "how often it forgets to announce its last card (RULES.md R10)"),
    "catch": Parameter(1.0, "how often it calls another player who forgot (RULES.md R10)"),
}
"""The parameters that every bot has."""

BOTS: dict[str, BotKind] = {
    kind.name: kind
    for kind in (
        BotKind("random", 0, "plays any of its playable cards, each equally likely: the yardstick", RATES),
        BotKind("greedy", 1, "plays the card worth the most points and names the suit it holds most of", RATES),
    )
}
"""Every bot by its name."""


@dataclass(frozen=True)
class BotSpec:
    """The bot of one seat.

    Parameters
    ----------
    name : str
        A key of `BOTS`.
    forget : float
        Probability, 0 to 1, that it does not announce its last card (RULES.md R10).
    catch : float
        Probability, 0 to 1, that it calls another player who did not announce (RULES.md R10).

    Raises
    ------
    BotError
        If no bot has that name, or a probability is not within 0 to 1.
    """

    name: str
    forget: float = RATES["forget"].default
    catch: float = RATES["catch"].default

    def __post_init__(self) -> None:
        if self.name not in BOTS:
            raise BotError(f"{toml_value(self.name)} is no bot; bots are {', '.join(BOTS)}{nearest(self.name, BOTS)}")
        for parameter in BOTS[self.name].parameters:
            value = getattr(self, parameter)
            if not 0 <= value <= 1:
                raise BotError(f"{self.name}: {parameter} = {value}: allowed are numbers from 0 to 1")

    @property
    def code(self) -> int:
        """The number by which the kernel knows this kind of bot."""
        return BOTS[self.name].code

    def __str__(self) -> str:
        """Give the text that `parse_bot` reads back; parameters at their defaults are left out."""
        settings = [
            f":{name}={str(float(getattr(self, name))).removesuffix('.0')}"
            for name, parameter in BOTS[self.name].parameters.items()
            if getattr(self, name) != parameter.default
        ]
        return self.name + "".join(settings)


def parse_bot(text: str) -> BotSpec:
    """Read one bot, like ``random:forget=0.3:catch=0.5``.

    Raises
    ------
    BotError
        If there is no such bot or parameter, or a value is not a number from 0 to 1.
    """
    name, *settings = (part.strip() for part in text.split(":"))
    parameters = BOTS[BotSpec(name).name].parameters
    values: dict[str, float] = {}
    for setting in settings:
        parameter, _, value = (part.strip() for part in setting.partition("="))
        if parameter not in parameters:
            allowed = f"allowed are {', '.join(parameters)}{nearest(parameter, parameters)}"
            raise BotError(f"{name}: {toml_value(parameter)} is no parameter; {allowed}")
        if parameter in values:
            raise BotError(f"{name}: {parameter} is given twice")
        try:
            values[parameter] = float(value)
        except ValueError:
            problem = f"{parameter} = {toml_value(value)}: allowed are numbers from 0 to 1"
            raise BotError(f"{name}: {problem}") from None
    return BotSpec(name, **values)


def parse_bots(text: str, players: int) -> tuple[BotSpec, ...]:
    """Read the bots of a table: one for all seats, or one a seat in seat order, separated by commas.

    Raises
    ------
    BotError
        If a bot cannot be read, or their number is neither 1 nor ``players``.
    """
    specs = tuple(parse_bot(part) for part in text.split(","))
    if len(specs) == 1:
        return specs * players
    if len(specs) != players:
        raise BotError(f"{len(specs)} bots for {players} players: allowed are one for all seats, or one a seat")
    return specs
