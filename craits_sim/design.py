"""Experiments: what a study is run on, as a TOML file, and the design points that it stands for.

An experiment names a study, rules, bots, a number of games and a seed. Its table ``vary`` gives factors and
their levels; the design is factorial: one design point for each combination of levels. Tables ``[[variant]]`` give
named changes of the rules, which is one factor more: its first level is the rules without any of them.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
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
from craits_sim.ranges import GAMES, LEVEL, MARGIN, PLAYERS, POINTS, SEED, STUDY_OPTION
from craits_sim.rules import NAMES, Rules, RulesError, differences, load_rules, parse_changes, preset_names
from craits_sim.sequential import FIRST_LOOK, MOST_GAMES
from craits_sim.text import nearest, toml_value

MAX_DESIGN_POINTS = POINTS.high

BASE = "base"
"""The level of the factor ``variant`` that stands for the rules without a variant."""


MOST_TABLES_NAMED = 6
"""Different tables of bots that a caption names one by one."""


class DesignError(ValueError):
    """An experiment that cannot be read or run; its text is the message for the user."""


class DesignPoint(NamedTuple):
    """One combination of levels: what the games of one batch are played with.

    ``factors`` maps the varied keys to their levels, as labels: a list of values stands there as its text.
    The number of players is ``rules.players``. Points that differ in ``replay`` play the same deals, and what bots
    choose by chance is chosen independently (`craits_sim.kernel.simulate_batch`).
    """

    factors: dict[str, object]
    rules: Rules
    bots: tuple[BotSpec, ...]
    replay: int = 0


class Variant(BaseModel):
    """Other rules than the experiment's own, under a name.

    Without ``rules`` it is the experiment's rules with some fields changed; with them it is those rules, a preset or a
    file, and the experiment's ``set`` does not apply to it. The experiment's ``players`` does.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    name: str = Field(
        pattern=r"^[^\x00-\x1f\x7f]*\S[^\x00-\x1f\x7f]*$",
        max_length=60,
        description="texts of one line of up to 60 characters",
    )
    rules: str | None = Field(default=None, description="names of presets, and paths of rules files")
    set: dict[str, Any] = Field(default_factory=dict, description="tables of rule fields and their values")

    @field_validator("set", mode="before")
    @classmethod
    def _flatten(cls, table: object) -> object:
        return dict(_dotted(table)) if isinstance(table, dict) else table


class Experiment(BaseModel):
    """A study and what it is run on.

    The description of a field is what it allows, as error messages say it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, populate_by_name=True)

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
    precision: Annotated[float, BeforeValidator(MARGIN.parse)] | None = Field(default=None, description=str(MARGIN))
    until_decided: bool = Field(default=False, description="true and false")
    vary: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="tables of rule fields, players or bots, each with a list of two or more values",
    )
    options: dict[str, Annotated[float, BeforeValidator(STUDY_OPTION.parse)]] = Field(
        default_factory=dict, description=f"tables of the study's own options: {STUDY_OPTION}"
    )
    variants: list[Variant] = Field(
        default_factory=list, alias="variant", description="tables [[variant]], each with a name, and rules or set"
    )

    @field_validator("set", "vary", mode="before")
    @classmethod
    def _flatten(cls, table: object) -> object:
        """Take ``draw.count = 2``, which TOML reads as a table in a table, like ``"draw.count" = 2``."""
        return dict(_dotted(table)) if isinstance(table, dict) else table

    @model_validator(mode="before")
    @classmethod
    def _allow_most_games(cls, values: object) -> object:
        """Let a run that looks at its games go on until it has seen enough, unless a number of games is given."""
        looks = isinstance(values, dict) and (values.get("precision") is not None or values.get("until_decided"))
        return {"games": MOST_GAMES, **values} if isinstance(values, dict) and looks else values

    @model_validator(mode="after")
    def _check_stopping(self) -> Self:
        if self.precision is not None and self.until_decided:
            raise ValueError("precision and until_decided both say when to stop: leave out one of the two")
        if self.looks and self.games < FIRST_LOOK:
            raise ValueError(
                f"games = {self.games:,}: a run that stops when it has seen enough looks first after {FIRST_LOOK:,} "
                "games, and games are the most that it may play"
            )
        return self

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
        for key, levels in self.vary.items():
            if len(levels) == 1:
                raise ValueError(f"vary.{key} = {toml_value(levels)} has one level: set {key} to it, or add a level")
        return self

    @model_validator(mode="after")
    def _check_variants(self) -> Self:
        names = [BASE]
        for variant in self.variants:
            shown = toml_value(variant.name)
            if variant.name in names:
                taken = "is the name of the rules without a variant" if variant.name == BASE else "is given twice"
                raise ValueError(f"variant {shown} {taken}: choose another name")
            names.append(variant.name)
            if variant.rules is None and not variant.set:
                raise ValueError(f"variant {shown} changes nothing: give it rules, or fields to set")
            for key in variant.set:
                if key in self.vary:
                    raise ValueError(f"variant {shown} sets {key}, which is varied: leave out one of the two")
        return self

    @property
    def looks(self) -> bool:
        """Whether the run looks at its games and may stop before ``games`` are played."""
        return self.precision is not None or self.until_decided

    @property
    def point_count(self) -> int:
        """The number of design points."""
        return prod(map(len, self.vary.values())) * (1 + len(self.variants))

    def to_toml(self) -> str:
        """Write the experiment as a file that `load_experiment` reads back to an equal one."""
        values = self.model_dump(exclude_none=True)
        if "bots" in self.vary:
            del values["bots"]
        if not self.until_decided:
            del values["until_decided"]
        variants = values.pop("variants")
        lines = [f"{key} = {toml_value(value)}" for key, value in values.items() if not isinstance(value, dict)]
        for table, content in values.items():
            if isinstance(content, dict) and content:
                lines += [
                    "",
                    f"[{table}]",
                    *_entries(content),
                ]
        for variant in variants:
            changes = variant.pop("set")
            lines += ["", "[[variant]]", *_entries(variant)]
            lines += ["[variant.set]", *_entries(changes)] if changes else []
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
    variants = values.get("variant")
    for table in [values, *(variants if isinstance(variants, list) else [])]:
        rules = table.get("rules") if isinstance(table, dict) else None
        if isinstance(rules, str) and rules not in preset_names() and (path.parent / rules).is_file():
            table["rules"] = str(path.parent / rules)
    return make_experiment(values, source=str(path))


def experiment_files(names: Iterable[Path | str]) -> tuple[Path, ...]:
    """Replace each folder by the experiment files in it, ``*.toml`` in the order of their names.

    Raises
    ------
    DesignError
        If a folder holds none, or a file comes twice.
    """
    paths: list[Path] = []
    for path in map(Path, names):
        inside = sorted(path.glob("*.toml")) if path.is_dir() else [path]
        if not inside:
            raise DesignError(f"{path} holds no experiment file (*.toml)")
        paths += inside
    for path in paths:
        if paths.count(path) > 1:
            raise DesignError(f"{path} is given twice")
    return tuple(paths)


def design_points(experiment: Experiment, max_points: int = MAX_DESIGN_POINTS) -> tuple[DesignPoint, ...]:
    """Expand the factors of an experiment: one design point for each combination of levels, in order.

    Variants are the first factor, ``variant``, whose first level is `BASE`.

    Raises
    ------
    DesignError
        If there are more than ``max_points`` of them.
    RulesError, BotError
        If the rules or the bots of a design point do not exist or cannot be played.
    """
    if experiment.point_count > max_points:
        raise DesignError(f"{experiment.point_count:,} design points: allowed are up to {max_points:,} (--max-points)")
    points = []
    for variant, (start, changes) in _rule_sets(experiment).items():
        of_variant = {"variant": variant} if experiment.variants else {}
        for levels in product(*experiment.vary.values()):
            factors = dict(zip(experiment.vary, levels, strict=True))
            bots = factors.get("bots", experiment.bots)
            if not isinstance(bots, str):
                raise DesignError(
                    f'vary.bots = {toml_value(bots)}: allowed are texts, like "greedy" or "greedy,random"'
                )
            try:
                rules = start.with_changes(changes | {key: level for key, level in factors.items() if key != "bots"})
            except RulesError as error:
                place = f"variant {toml_value(variant)}: " if variant != BASE else ""
                raise RulesError(f"{place}{error}") from None
            labels = {**of_variant, **{key: _label(level) for key, level in factors.items()}}
            points.append(DesignPoint(labels, rules, parse_bots(bots, rules.players)))
    return tuple(points)


def _rule_sets(experiment: Experiment) -> dict[str, tuple[Rules, dict[str, object]]]:
    """Give the rules without a variant and those of each variant, by name: rules and what to change in them.

    All changes are made at once: one alone, as of ``players`` but not yet of ``decks``, may be impossible.
    """
    table_size = {"players": experiment.players} if experiment.players else {}
    base, changes = load_rules(experiment.rules), {**experiment.set, **table_size}
    rule_sets: dict[str, tuple[Rules, dict[str, object]]] = {BASE: (base, changes)}
    for variant in experiment.variants:
        if variant.rules is None:
            rule_sets[variant.name] = base, changes | variant.set
        else:
            rule_sets[variant.name] = load_rules(variant.rules), table_size | variant.set
    return rule_sets


def self_contained(variant: Variant) -> Variant:
    """Give the variant without a rules file: what the file changes in classic stands in ``set`` instead."""
    if variant.rules is None or variant.rules in preset_names():
        return variant
    rules = load_rules(variant.rules)
    changes = {key: value for key, (value, _) in differences(rules, load_rules("classic")).items()}
    return Variant(name=variant.name, rules="classic", set={**changes, **variant.set})


def parse_variant(text: str) -> Variant:
    """Read a variant as ``--variant`` takes it.

    ``NAME: KEY=VALUE; KEY=VALUE``, where a preset or a rules file may come before the changes and the name may be left
    out; or a preset, or the path of a rules file, alone.

    Raises
    ------
    DesignError, RulesError
        If a text has another form.
    """
    name, changes = _named(text.strip())
    parts = [part.strip() for part in changes.split(";") if part.strip()]
    settings = [part for part in parts if "=" in part]
    others = [part for part in parts if "=" not in part]
    known = [part for part in others if part in preset_names() or part.endswith(".toml")]
    if not parts or len(others) > 1 or known != others:
        presets = ", ".join(preset_names())
        raise DesignError(
            f'--variant {toml_value(text)}: variants are written "NAME: KEY=VALUE; KEY=VALUE", or are a rules file, or '
            f"a preset: {presets}{nearest(others[0], preset_names()) if others else ''}"
        )
    values = {
        "name": name or (changes if settings else Path(changes).stem),
        "set": parse_changes(settings),
        **({"rules": known[0]} if known else {}),
    }
    try:
        return Variant.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        raise DesignError(_variant_message("--variant: ", first["loc"], first)) from error


def _named(text: str) -> tuple[str, str]:
    """Split a variant into its name and the rest. An ability has a colon too, without a space: ``next_draws:2``."""
    name, colon, changes = text.rpartition(": ")
    if not colon:
        name, colon, changes = text.partition(":")
    return (name.strip(), changes) if colon and (": " in text or "=" not in name) else ("", text)


def variant_text(variant: Variant) -> str:
    """Write a variant as `parse_variant` reads it, without what its rules are called."""
    changes = [f"{key}={toml_value(value)}" for key, value in variant.set.items() if key not in NAMES]
    return f"{variant.name}: {'; '.join([*([variant.rules] if variant.rules else []), *changes])}"


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
    variants = [variant.name for variant in experiment.variants]
    parts = [
        f"{experiment.games:,} games" + (" at each design point" if len(points) > 1 else ""),
        f"seed {experiment.seed}",
        f"{', '.join(map(str, sizes))} players",
        f"bots {describe_tables(points)}",
        f"rules {points[0].rules.name}"
        + (f" ({points[0].rules.digest})" if len(digests) == 1 or experiment.variants else ""),
    ]
    if variants:
        parts.append(f"variants: {'; '.join(variants)}" if len(variants) <= 4 else f"{len(variants)} variants")
    if varied:
        parts.append(f"varied: {', '.join(varied)}")
    if experiment.until_decided:
        parts.append("intervals of a confidence sequence")
    return " · ".join(parts)


def describe_bots(bots: Iterable[BotSpec]) -> str:
    """Name the bots of a table, once where all seats have the same: ``greedy``, or ``greedy, random``."""
    names = [str(bot) for bot in bots]
    return names[0] if len({*names}) == 1 else ", ".join(names)


def describe_tables(points: Iterable[DesignPoint]) -> str:
    """Name the bots of all tables, or, where there are more than `MOST_TABLES_NAMED`, which bots sit at them."""
    points = list(points)
    tables = dict.fromkeys(describe_bots(point.bots) for point in points)
    if len(tables) <= MOST_TABLES_NAMED:
        return " / ".join(tables)
    return f"{', '.join(dict.fromkeys(str(bot) for point in points for bot in point.bots))} at {len(tables)} tables"


def _entries(table: Mapping[str, object]) -> list[str]:
    return [f"{_key(key)} = {toml_value(value)}" for key, value in table.items()]


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
    if field == "variant" and len(first["loc"]) > 1:
        return _variant_message(f"variant {int(first['loc'][1]) + 1}: ", first["loc"][2:], first)
    if first["type"] == "extra_forbidden":
        keys = [info.alias or name for name, info in Experiment.model_fields.items()]
        return f"{field}: no such key; keys are {', '.join(keys)}{nearest(field, keys)}"
    allowed = Experiment.model_fields["variants" if field == "variant" else field].description
    if first["type"] == "missing":
        return f"{field} is missing: allowed are {allowed}"
    in_table = field in ("set", "vary", "options") and len(first["loc"]) > 1
    path = f"{field}.{first['loc'][1]}" if in_table else field
    return f"{path} = {toml_value(first['input'])}: allowed are {allowed}"


def _variant_message(place: str, path: Sequence[object], first: Mapping[str, Any]) -> str:
    """Say what is wrong with a variant; ``path`` leads to it inside the variant's table."""
    if not path:
        return f"{place}{toml_value(first['input'])}: allowed are {Experiment.model_fields['variants'].description}"
    field = str(path[0])
    keys = list(Variant.model_fields)
    if field not in keys:
        return f"{place}{field}: no such key; keys are {', '.join(keys)}{nearest(field, keys)}"
    allowed = Variant.model_fields[field].description
    if first["type"] == "missing":
        return f"{place}{field} is missing: allowed are {allowed}"
    return f"{place}{field} = {toml_value(first['input'])}: allowed are {allowed}"
