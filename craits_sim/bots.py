"""The bots that sit at the table: their registry, and how a command line names them.

How a bot chooses a card stands in the kernel; here is only what a user may say about it.
"""

import hashlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from craits_sim.cards import RANKS
from craits_sim.features import WeightsError, digest_of, load_weights, shipped_weights
from craits_sim.ranges import NumberError, Real, Whole
from craits_sim.text import nearest, toml_value


class BotError(ValueError):
    """A text that names no bot, or bots that do not fit the table; its text is one line for the user."""


class BotHangs(KeyboardInterrupt):
    """Ctrl-C while a bot of the user's own does not end: its thread goes on until the process ends."""


class Parameter(NamedTuple):
    """What a user may set about a bot."""

    default: Any
    description: str
    allowed: str
    """Which values, in words."""
    parse: Callable[[str], Any]
    """Reads a value; raises ValueError with what is allowed."""
    show: Callable[[Any], str] = str
    """Writes a value so that `parse` reads it."""


@dataclass(frozen=True)
class BotKind:
    """A way of playing that a seat can be given."""

    name: str
    code: int
    """The number by which the kernel knows it."""
    description: str
    parameters: Mapping[str, Parameter]


_RANKS = f"ranks of {' '.join(RANKS)}, like 8 or 8/9"
_PATHS = "paths of TOML files, without colon or comma"


def _parse_ranks(text: str) -> tuple[str, ...]:
    ranks = tuple(rank.strip().upper() for rank in text.split("/"))
    for rank in ranks:
        if rank not in RANKS:
            raise ValueError(f"{toml_value(text)}: allowed are {_RANKS}")
    return tuple(rank for rank in RANKS if rank in ranks)


def _parse_weights(text: str) -> str:
    # A path that the text of a bot cannot carry could not be read back from a report.
    if not text or text != text.strip() or set(text) & set(":,"):
        raise ValueError(f"{toml_value(text)}: allowed are {_PATHS}")
    load_weights(Path(text))
    return text


def _parse_base(text: str) -> str:
    if text not in BASES:
        raise ValueError(f"{toml_value(text)}: allowed are {', '.join(BASES)}{nearest(text, BASES)}")
    return text


def _show_number(value: float) -> str:
    return str(float(value)).removesuffix(".0")


_RATE = Real(0, 1, bounds=True)
_TEMPERATURE = Real(0, 1000, bounds=True)
WORLDS = Whole(1, 4096)
BASES = ("random", "greedy", "careful", "tuned")
"""Bots by which a rollout plays on."""

RATES = {
    "forget": Parameter(
        0.0, "how often it forgets to announce its last card (R10)", str(_RATE), _RATE.parse, _show_number
    ),
    "catch": Parameter(
        1.0, "how often it calls another player who forgot (R10)", str(_RATE), _RATE.parse, _show_number
    ),
    "never": Parameter(
        (), "plays these only if it must, and then without naming a suit", _RANKS, _parse_ranks, "/".join
    ),
}
"""The parameters that every bot has that chooses among all its cards."""

_NOISE = {
    "noise": Parameter(
        0.0,
        "temperature: a move worth this much more is e times as likely; 0 always takes the best",
        str(_TEMPERATURE),
        _TEMPERATURE.parse,
        _show_number,
    )
}
_WEIGHTS = {"weights": Parameter("", "file to weigh by instead of the package's weights", _PATHS, _parse_weights)}
_ROLLOUT = {
    "worlds": Parameter(32, "hands of the others that it tries", str(WORLDS), WORLDS.parse),
    "base": Parameter("tuned", "bot by which it plays on", ", ".join(BASES), _parse_base),
}

BOTS: dict[str, BotKind] = {
    kind.name: kind
    for kind in (
        BotKind("random", 0, "plays any of its playable cards, each equally likely: the yardstick", RATES),
        BotKind("greedy", 1, "plays the card worth the most points and names the suit it holds most of", RATES),
        BotKind("careful", 2, "weighs what each move does, by weights set by hand", {**RATES, **_NOISE, **_WEIGHTS}),
        BotKind("tuned", 2, "weighs as careful does, by weights found by search", {**RATES, **_NOISE}),
        BotKind("rollout", 3, "plays its moves some turns on in imagined worlds", {**RATES, **_ROLLOUT}),
    )
}
"""Every bot by its name, the weakest first."""


OWN = BotKind("FILE.py:FUNCTION", 4, "a bot of your own: a function of a Python file (craits_sim/view.py)", RATES)
"""The kind of the user's own bots, whose names are paths."""

_OWN_NAME = re.compile(r"[^,]*?\.py:[^:,=]+")


@dataclass(frozen=True)
class BotSpec:
    """The bot of one seat.

    Parameters
    ----------
    name : str
        A key of `BOTS`, or ``FILE.py:FUNCTION``.
    forget : float
        Probability, 0 to 1, that it does not announce its last card (RULES.md R10).
    catch : float
        Probability, 0 to 1, that it calls another player who did not announce (RULES.md R10).
    never : tuple of str
        Ranks that it plays only when it can play nothing else, and then keeping the suit of the card.
    noise : float
        Temperature, 0 to 1000, in units of a bot's score; for bots that weigh.
    weights : str
        Path of a file of weights (`craits_sim.features.load_weights`); empty: those of the package.
    worlds : int
        How many worlds a rollout tries for each decision.
    base : str
        The bot by which a rollout plays, one of `BASES`.

    Raises
    ------
    BotError
        If no bot has that name, its file cannot be read, the bot does not have a parameter that is set, or a value is
        not allowed.
    """

    name: str
    forget: float = RATES["forget"].default
    catch: float = RATES["catch"].default
    never: tuple[str, ...] = ()
    noise: float = 0.0
    weights: str = ""
    worlds: int = _ROLLOUT["worlds"].default
    base: str = _ROLLOUT["base"].default

    def __post_init__(self) -> None:
        if self.name not in BOTS and not self.is_own:
            own = "or a function of yours, FILE.py:FUNCTION, no comma in it"
            allowed = f"bots are {', '.join(BOTS)}, {own}{nearest(self.name, BOTS)}"
            raise BotError(f"{toml_value(self.name)} is no bot; {allowed}")
        if self.is_own:
            read_own_bot(self.name)
        for name, parameter in {**RATES, **_NOISE, **_WEIGHTS, **_ROLLOUT}.items():
            value = getattr(self, name)
            if value == parameter.default:
                continue
            _check_parameter(self.name, name)
            # As `parse_bot` would read it: a bot is equal to the one that its text names.
            object.__setattr__(self, name, _parsed(self.name, name, parameter.show(value)))

    @property
    def is_own(self) -> bool:
        """Whether it is a function of the user's (`craits_sim.view`)."""
        return _OWN_NAME.fullmatch(self.name) is not None

    @property
    def kind(self) -> BotKind:
        """What kind of bot it is."""
        return _kind_of(self.name)

    @property
    def code(self) -> int:
        """The number by which the kernel knows this kind of bot."""
        return self.kind.code

    @property
    def thinks(self) -> bool:
        """Whether it chooses between the steps of the kernel, and not inside them."""
        return self.name not in ("random", "greedy") or bool(self.never)

    @property
    def weighs(self) -> bool:
        """Whether it (or the base of a rollout) compares moves by weights."""
        return (self.base if self.name == "rollout" else self.name) in ("careful", "tuned")

    def weights_at(self, players: int) -> tuple[int, ...]:
        """Give the weights by which it (or the base of a rollout) plays, in units of `craits_sim.features.UNIT`."""
        name = self.base if self.name == "rollout" else self.name
        return load_weights(Path(self.weights) if self.weights else shipped_weights(name, players))

    def digest(self, players: int) -> str:
        """Tell it apart from another of the same name, like ``file 2e013bd3`` or ``weights 2e013bd3``; else empty.

        Raises
        ------
        BotError, WeightsError
            If its file cannot be read.
        """
        if self.is_own:
            return f"file {hashlib.sha256(read_own_bot(self.name)).hexdigest()[:8]}"
        return f"weights {digest_of(self.weights_at(players))}" if self.weighs else ""

    def described(self, players: int) -> str:
        """Name it with its `digest`, like ``tuned (weights 2e013bd3)``."""
        digest = self.digest(players)
        return f"{self} ({digest})" if digest else str(self)

    def __str__(self) -> str:
        """Give the text that `parse_bot` reads back; parameters at their defaults are left out."""
        settings = [
            f":{name}={parameter.show(getattr(self, name))}"
            for name, parameter in self.kind.parameters.items()
            if getattr(self, name) != parameter.default
        ]
        return self.name + "".join(settings)


def read_own_bot(name: str) -> bytes:
    """Read the file of ``FILE.py:FUNCTION``, whose path starts in the current folder.

    Raises
    ------
    BotError
        If it cannot be read.
    """
    file = Path(name.rpartition(":")[0])
    try:
        return file.read_bytes()
    except FileNotFoundError:
        raise BotError(f"{name}: there is no file {file} (paths start in {Path.cwd()})") from None
    except OSError as error:
        raise BotError(f"{name}: {file} cannot be read: {error.strerror}") from None


def _kind_of(name: str) -> BotKind:
    return BOTS.get(name, OWN)


def _check_parameter(bot: str, name: str) -> None:
    parameters = _kind_of(bot).parameters
    if name not in parameters:
        allowed = f"allowed are {', '.join(parameters)}{nearest(name, parameters)}"
        raise BotError(f"{bot}: {toml_value(name)} is no parameter; {allowed}")


def _parsed(bot: str, name: str, text: str) -> Any:
    try:
        return _kind_of(bot).parameters[name].parse(text)
    except WeightsError as error:
        raise BotError(f"{bot}: {error}") from None
    except (NumberError, ValueError) as error:
        raise BotError(f"{bot}: {name} = {error}") from None


def parse_bot(text: str) -> BotSpec:
    """Read one bot, like ``random:forget=0.3:catch=0.5``.

    Raises
    ------
    BotError
        If there is no such bot or parameter, or a value is not allowed.
    """
    own = _OWN_NAME.match(text.strip())
    if own:
        name, settings = own.group(), text.strip()[own.end() :].split(":")[1:]
    else:
        name, *settings = (part.strip() for part in text.split(":"))
    BotSpec(name)
    values: dict[str, Any] = {}
    for setting in settings:
        parameter, _, value = (part.strip() for part in setting.partition("="))
        _check_parameter(name, parameter)
        if parameter in values:
            raise BotError(f"{name}: {parameter} is given twice")
        values[parameter] = _parsed(name, parameter, value)
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
