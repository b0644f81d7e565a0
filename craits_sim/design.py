"""Experiments: what a study is run on, as a TOML file, and the design points that it stands for.

An experiment names a study, rules, bots, a number of games and a seed. Its table ``vary`` gives factors and
their levels; the design is factorial: one design point for each combination of levels.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping
from itertools import product
from math import prod
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    field_validator,
    model_validator,
)

from craits_sim.bots import BotSpec, parse_bots
from craits_sim.ranges import GAMES, LEVEL, MARGIN, PLAYERS, SEED, STUDY_OPTION
from craits_sim.rules import Rules, RulesError, load_rules, parse_changes, preset_names
from craits_sim.text import nearest, toml_value

MAX_DESIGN_POINTS = 1000


class DesignError(ValueError):
    """An experiment that cannot be read or run; its text is the message for the user."""


class DesignPoint(NamedTuple):
    """One combination of levels: what the games of one batch are played with.

    ``factors`` maps the varied keys to their levels, as labels: a list of values stands there as its text.
    The number of players is ``rules.players``.
    """

    factors: dict[str, object]
    rules: Rules
    bots: tuple[BotSpec, ...]


class Experiment(BaseModel):
    """A study and what it is run on.

    The description of a field is what it allows, as error messages say it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(
        pattern=r"^\w[\w.-]*$",
        max_length=100,
        description="folder names of up to 100 letters, digits, _, - and .",
    )
    aim: str = Field(default="", description="texts: the question in your own words")
    study: str = Field(description="the studies that `craits studies` lists")
    rules: str = Field(default="classic", description="names of presets, and paths of rules files")
    set: dict[str, Any] = Field(default_factory=dict, description="tables of rule fields and their values")
    players: Annotated[int, BeforeValidator(PLAYERS.parse)] | None = Field(default=None, description=str(PLAYERS))
    bots: str = Field(default="random", description='texts: one bot, or one a seat, like "greedy,random,random"')
    games: Annotated[int, BeforeValidator(GAMES.parse)] = Field(default=100_000, description=str(GAMES))
    seed: Annotated[int, BeforeValidator(SEED.parse)] = Field(default=1, description=str(SEED))
    level: Annotated[float, BeforeValidator(LEVEL.parse)] = Field(default=0.95, description=str(LEVEL))
    margin: Annotated[float, BeforeValidator(MARGIN.parse)] | None = Field(default=None, description=str(MARGIN))
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="tables of rule fields, players or bots, each with a list of one or more values",
    )
    options: dict[str, Annotated[float, BeforeValidator(STUDY_OPTION.parse)]] = Field(
        default_factory=dict, description=f"tables of the study's own options: {STUDY_OPTION}"
    )

    @field_validator("set", "vary", mode="before")
    @classmethod
    def _flatten(cls, table: object) -> object:
        """Take ``draw.count = 2``, which TOML reads as a table in a table, like ``"draw.count" = 2``."""
        return dict(_dotted(table)) if isinstance(table, dict) else table

    @model_validator(mode="after")
    def _check_factors(self) -> Self:
        for key, levels in self.vary.items():
            labels = [_label(level) for level in levels]
            if len({*labels}) < len(labels):
                raise ValueError(f"vary.{key} = {toml_value(levels)} has the same value twice")
        fixed = [
            *self.set,
            *(["players"] if self.players else []),
            *(["bots"] if self.bots != "random" else []),
        ]
        for key in fixed:
            if key in self.vary:
                raise ValueError(f"{key} is both given and varied: leave out one of the two")
        if (count := prod(map(len, self.vary.values()))) > MAX_DESIGN_POINTS:
            raise ValueError(f"vary makes {count:,} design points: allowed are up to {MAX_DESIGN_POINTS:,}")
        return self

    def to_toml(self) -> str:
        """Write the experiment as a file that `load_experiment` reads back to an equal one."""
        values = self.model_dump(exclude_none=True)
        if "bots" in self.vary:
            del values["bots"]
        lines = [f"{key} = {toml_value(value)}" for key, value in values.items() if not isinstance(value, dict)]
        for table, content in values.items():
            if isinstance(content, dict) and content:
                lines += [
                    "",
                    f"[{table}]",
                    *(f"{_key(key)} = {toml_value(value)}" for key, value in content.items()),
                ]
        return "\n".join(lines) + "\n"


def make_experiment(values: Mapping[str, object], source: str = "") -> Experiment:
    """Check the values of an experiment's fields.

    Parameters
    ----------
    source
        The file that the values come from, for messages; empty for none.

    Raises
    ------
    DesignError
        If a key is unknown or missing, or a value is not allowed.
    """
    try:
        return Experiment.model_validate(dict(values))
    except ValidationError as error:
        place = f"{source}: " if source else ""
        raise DesignError(place + _message(error)) from error


def load_experiment(path: Path | str) -> Experiment:
    """Read an experiment file; without ``name`` it is called after the file.

    A rules file that it names is looked for beside it first, then from the working directory.

    Raises
    ------
    DesignError
        If the file cannot be read, is no TOML, or `make_experiment` refuses its values.
    """
    path = Path(path)
    if not path.is_file():
        raise DesignError(f"{path}: there is no such file; `craits run` takes an experiment file, like seats.toml")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise DesignError(f"{path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: numbers of thousands of digits
        raise DesignError(f"{path} is no TOML file: {error}") from error
    values.setdefault("name", path.stem)
    rules = values.get("rules")
    if isinstance(rules, str) and rules not in preset_names() and (path.parent / rules).is_file():
        values["rules"] = str(path.parent / rules)
    return make_experiment(values, source=str(path))


def design_points(experiment: Experiment) -> tuple[DesignPoint, ...]:
    """Expand the factors of an experiment: one design point for each combination of levels, in order.

    Raises
    ------
    RulesError, BotError
        If the rules or the bots of a design point do not exist or cannot be played.
    """
    base = load_rules(experiment.rules)
    given = {**experiment.set, **({"players": experiment.players} if experiment.players else {})}
    points = []
    for levels in product(*experiment.vary.values()):
        factors = dict(zip(experiment.vary, levels, strict=True))
        bots = factors.get("bots", experiment.bots)
        if not isinstance(bots, str):
            raise DesignError(f'vary.bots = {toml_value(bots)}: allowed are texts, like "greedy" or "greedy,random"')
        rules = base.with_changes({**given, **{key: level for key, level in factors.items() if key != "bots"}})
        labels = {key: _label(level) for key, level in factors.items()}
        points.append(DesignPoint(labels, rules, parse_bots(bots, rules.players)))
    return tuple(points)


def parse_vary(texts: Iterable[str]) -> dict[str, list[object]]:
    """Read factors of the form ``KEY=[V1, V2, ...]``, a list as in TOML; plain texts need no quotation marks.

    Raises
    ------
    DesignError
        If a text has another form, or a key comes twice.
    """
    factors: dict[str, list[object]] = {}
    for text in texts:
        try:
            ((key, levels),) = parse_changes([text]).items()
        except RulesError:
            levels = None
        if not isinstance(levels, list):
            raise DesignError(
                f"--vary {toml_value(text)}: factors are written KEY=[V1, V2, ...], like players=[2, 3, 4]"
            )
        if key in factors:
            raise DesignError(f"--vary {key} is given twice: put all its values into one list")
        factors[key] = levels
    return factors


def caption(experiment: Experiment, points: Iterable[DesignPoint]) -> str:
    """Say in one line what was played: games, seed, players, bots, rules and their digest."""
    points = list(points)
    sizes = sorted({point.rules.players for point in points})
    digests = {point.rules.digest for point in points}
    varied = [key for key in experiment.vary if key not in ("players", "bots")]
    parts = [
        f"{experiment.games:,} games" + (" at each design point" if len(points) > 1 else ""),
        f"seed {experiment.seed}",
        f"{', '.join(map(str, sizes))} players",
        f"bots {' / '.join(dict.fromkeys(describe_bots(point.bots) for point in points))}",
        f"rules {points[0].rules.name}" + (f" ({digests.pop()})" if len(digests) == 1 else ""),
    ]
    if varied:
        parts.append(f"varied: {', '.join(varied)}")
    return " · ".join(parts)


def describe_bots(bots: Iterable[BotSpec]) -> str:
    """Name the bots of a table, once where all seats have the same: ``greedy``, or ``greedy, random``."""
    names = [str(bot) for bot in bots]
    return names[0] if len({*names}) == 1 else ", ".join(names)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else toml_value(key)


def _dotted(table: Mapping[str, object]) -> Iterable[tuple[str, object]]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from ((f"{key}.{inner}", leaf) for inner, leaf in _dotted(value))
        else:
            yield key, value


def _label(level: object) -> object:
    return toml_value(level) if isinstance(level, list) else level


def _message(error: ValidationError) -> str:
    """Say the first error of a validation: the key path, the value, what is allowed, the nearest match."""
    first = error.errors()[0]
    if not first["loc"]:
        return str(first["ctx"]["error"])
    field = str(first["loc"][0])
    if first["type"] == "extra_forbidden":
        keys = list(Experiment.model_fields)
        return f"{field}: no such key; keys are {', '.join(keys)}{nearest(field, keys)}"
    allowed = Experiment.model_fields[field].description
    if first["type"] == "missing":
        return f"{field} is missing: allowed are {allowed}"
    in_table = field in ("set", "vary", "options") and len(first["loc"]) > 1
    path = f"{field}.{first['loc'][1]}" if in_table else field
    return f"{path} = {toml_value(first['input'])}: allowed are {allowed}"
