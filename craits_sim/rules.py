"""The rules of a game as data: every field of RULES.md, its check, rules files, and the digest.

A rules file is TOML. It may name a ``base`` (a preset, or another file) and then says only what differs; a
preset is a rules file in ``rulesets/``. A field goes by its dotted key, ``draw.count``; a file may write it
in a table ``[draw]``, as a dotted key or as a quoted one.

A rule set has one of two shapes here: `Rules`, checked and frozen, or a flat mapping from dotted keys to
plain TOML values, which is what files, ``--set`` and `Rules.by_key` have in common.
"""

import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeVar, get_args, get_origin

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    PlainSerializer,
    PlainValidator,
    StrictBool,
    StrictInt,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo
from pydantic_core import CoreSchema, core_schema

from craits_sim.cards import RANKS
from craits_sim.text import nearest, toml_value

V = TypeVar("V")

DECK_SIZE = 52
NAMES = ("name", "description")
"""The fields that are for people: they change nothing in a game."""
RULESETS = Path(__file__).with_name("rulesets")


class RulesError(ValueError):
    """Rules that cannot be; its text is one line for the user."""


# --- Values -------------------------------------------------------------------------------------------------

ABILITIES = (
    "none",
    "crank_start:V",
    "crank:V",
    "skip:K",
    "others_draw:K",
    "again",
    "next_draws:K",
    "next_draws:K,lose_turn",
    "nominate",
    "recolor",
    "reverse",
)
"""Every ability as RULES.md "Fields" writes it; K and V are amounts."""

_AMOUNT = "([1-9]|1[0-5])"
_ABILITY_PATTERN = "|".join(re.sub(":[KV]", f":{_AMOUNT}", ability) for ability in ABILITIES)


@dataclass(frozen=True)
class Ability:
    """What a rank does when it is played (RULES.md "Abilities").

    Parameters
    ----------
    kind : str
        One of `ABILITIES`, without its amount.
    amount : int
        Cards to draw, turns to skip, or what it adds to a crank, 1 to 15; 0 for kinds that have none.
    lose_turn : bool
        For ``next_draws``: the next player loses the turn too.
    """

    kind: str = "none"
    amount: int = 0
    lose_turn: bool = False

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read an ability from its text, like ``next_draws:2,lose_turn``.

        Raises
        ------
        ValueError
            If there is no such ability, or its amount is missing, superfluous or not within 1 to 15.
        """
        text = str(value).replace(" ", "")
        if not re.fullmatch(_ABILITY_PATTERN, text):
            raise ValueError(f"{text} is no ability")
        kind, _, rest = text.partition(":")
        amount, _, lose_turn = rest.partition(",")
        return cls(kind, int(amount or 0), bool(lose_turn))

    def __str__(self) -> str:
        """Give the text that `parse` reads back."""
        return self.kind + (f":{self.amount}" if self.amount else "") + (",lose_turn" if self.lose_turn else "")


class RankTable(Mapping[str, V]):
    """A value for each of the 13 ranks, A to K; like all of `Rules` it cannot be changed."""

    def __init__(self, values: Mapping[str, V]) -> None:
        self._values = tuple(values[rank] for rank in RANKS)

    def __getitem__(self, rank: str) -> V:
        if rank not in RANKS:
            raise KeyError(rank)
        return self._values[RANKS.index(rank)]

    def __iter__(self) -> Iterator[str]:
        return iter(RANKS)

    def __len__(self) -> int:
        return len(RANKS)

    def __hash__(self) -> int:
        return hash(self._values)

    def __repr__(self) -> str:
        return f"RankTable({dict(self)})"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        (value_type,) = get_args(source)
        return core_schema.no_info_after_validator_function(
            cls,
            handler.generate_schema(dict[Rank, value_type]),  # type: ignore[valid-type]
            serialization=core_schema.plain_serializer_function_ser_schema(_plain),
        )

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        value_schema = handler(schema)["additionalProperties"]
        return {
            "type": "object",
            "properties": dict.fromkeys(RANKS, value_schema),
            "additionalProperties": False,
        }


def _plain(value: Any) -> Any:
    """Give a value as TOML and JSON have it."""
    if isinstance(value, Ability):
        return str(value)
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, RankTable):
        return {rank: _plain(item) for rank, item in value.items()}
    return value


def _rank(value: object) -> object:
    """Let a rank be a number (8) or in lower case ("j"); anything else is left for the check."""
    text = str(value).upper()
    return text if text in RANKS else value


def _in_rank_order(ranks: tuple[str, ...]) -> tuple[str, ...]:
    """Sort ranks and drop repetitions: a list of ranks is a set."""
    return tuple(rank for rank in RANKS if rank in ranks)


def _one_line(text: str) -> str:
    if not text.isprintable():
        raise ValueError("more than one line")
    return text


Rank = Annotated[
    Literal["A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K"],
    BeforeValidator(_rank),
    WithJsonSchema({"enum": [*RANKS, *range(2, 11)]}),
]
Ranks = Annotated[tuple[Rank, ...], AfterValidator(_in_rank_order)]
AbilityText = Annotated[
    Ability,
    PlainValidator(Ability.parse),
    PlainSerializer(str),
    WithJsonSchema({"type": "string", "pattern": f"^({_ABILITY_PATTERN})$"}),
]
HandSize = Annotated[StrictInt, Field(ge=1)]
Seat = Annotated[StrictInt, Field(ge=0, le=9)]
Points = Annotated[StrictInt, Field(ge=-10_000, le=10_000)]
Text = Annotated[str, AfterValidator(_one_line)]


# --- The fields ---------------------------------------------------------------------------------------------


class _Group(BaseModel):
    """Fields that belong together; their descriptions say what they mean and where it stands in RULES.md."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Starter(_Group):
    """The card turned up after the deal."""

    acts: StrictBool = Field(
        default=True,
        description="The starter's ability applies as if the dealer had played it (RULES.md R5).",
    )
    redraw: Ranks = Field(default=(), description="Ranks that, turned up, are put back and redrawn (RULES.md R5).")


class Draw(_Group):
    """What a player draws who cannot play, or chooses not to."""

    count: StrictInt = Field(
        default=1, ge=1, le=52, description="Cards that a player draws who cannot play (RULES.md R9)."
    )
    until_playable: StrictBool = Field(
        default=False, description="The player goes on drawing until able to play (RULES.md R9)."
    )
    limit: StrictInt = Field(
        default=0,
        ge=0,
        le=104,
        description="Most cards drawn in a turn with until_playable; 0 means no limit (RULES.md R9).",
    )
    play_drawn: Literal["no", "may", "must"] = Field(
        default="no", description="Whether a player who is able to play after the draw does so (RULES.md R9)."
    )
    voluntary: StrictBool = Field(default=False, description="A player may draw instead of playing (RULES.md R9).")


class Announce(_Group):
    """The penalty for a last card that was not announced."""

    cards: StrictInt = Field(
        default=2, ge=0, le=52, description="Cards drawn for a forgotten announcement (RULES.md R10)."
    )
    lose_turn: StrictBool = Field(
        default=True, description="A forgotten announcement costs the next turn (RULES.md R10)."
    )


class GoingOut(_Group):
    """What the last card of a hand does."""

    last_card: Literal["applies", "ignored"] = Field(
        default="applies", description="Whether the last card's ability still applies (RULES.md R11)."
    )
    again: Literal["ends", "draws"] = Field(
        default="ends",
        description="A 6 as last card ends the round, or its player draws one card (RULES.md R11).",
    )
    on_ability: StrictBool = Field(
        default=True,
        description="A player may go out on an ability card, and need not draw one (RULES.md R11).",
    )


class Crank(_Group):
    """What becomes of a crank when a player goes out with one of its cards."""

    on_last_card: Literal["played_out", "next_pays", "ignored"] = Field(
        default="played_out",
        description="What becomes of a crank whose last card emptied a hand (RULES.md R16).",
    )


class Stock(_Group):
    """What happens when the stock is empty."""

    reshuffle: StrictBool = Field(
        default=True, description="The discards become the stock when it is empty (RULES.md R12)."
    )
    pressure: StrictInt = Field(
        default=0, ge=0, le=10_000, description="Points that a player's first reshuffle costs (RULES.md R12)."
    )
    pressure_factor: StrictInt = Field(
        default=2,
        ge=1,
        le=10,
        description="What each further reshuffle of that player multiplies them by (RULES.md R12).",
    )


class Blocked(_Group):
    """How a round is scored that nobody went out of."""

    score: Literal["hands", "lowest_zero"] = Field(
        default="hands", description="Whether the lowest hand of a blocked round scores 0 (RULES.md R13)."
    )


class Threes(_Group):
    """What 3s left in a hand count."""

    mode: Literal["cancel_then_bonus", "strict", "bonus_only", "cancel_only", "none"] = Field(
        default="cancel_then_bonus", description="What 3s left in a hand do to its score (RULES.md R18)."
    )
    bonus: Points = Field(default=-50, description="Points of a 3 that cancels nothing (RULES.md R18).")


class Reverse(_Group):
    """What a change of direction means for two."""

    two_players: Literal["none", "skip"] = Field(
        default="none",
        description='Whether a reverse acts as a skip with two players (RULES.md "Abilities").',
    )


CLASSIC_ABILITIES = {
    "A": "crank:1",
    "2": "crank_start:2",
    "3": "none",
    "4": "skip:1",
    "5": "others_draw:1",
    "6": "again",
    "7": "next_draws:1",
    "8": "nominate",
    "9": "recolor",
    "10": "reverse",
    "J": "none",
    "Q": "none",
    "K": "none",
}
CLASSIC_POINTS = dict(zip(RANKS, (1, 20, 0, 15, 30, 30, 20, 50, 30, 25, 10, 10, 10), strict=True))


class Rules(_Group):
    """A rule set: every field of RULES.md "Fields", each with its classic value as default.

    Frozen and hashable. `load_rules` and `with_changes` make them; their errors are worded for users.
    """

    name: Text = Field(
        default="classic",
        min_length=1,
        max_length=60,
        description="What charts and tables call this rule set.",
    )
    description: Text = Field(
        default="Craits by the rule sheet: 15 rounds of 8 cards down to 1 and up again, lowest total wins.",
        max_length=500,
        description="What this rule set is, in a sentence.",
    )
    players: StrictInt = Field(
        default=4,
        ge=2,
        le=10,
        description="Players at the table, where a command names no number (RULES.md R1).",
    )
    decks: StrictInt = Field(default=1, ge=1, le=2, description="Decks of 52 cards (RULES.md R1).")
    deals: tuple[HandSize, ...] = Field(
        default=(8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8),
        min_length=1,
        max_length=1000,
        description="Cards dealt to each player, one number a round (RULES.md R4).",
    )
    first_dealer: Literal["random"] | Seat = Field(
        default="random", description="Who deals the first round (RULES.md R2)."
    )
    next_dealer: Literal["left", "winner", "loser", "same"] = Field(
        default="left", description="Who deals the next round (RULES.md R3)."
    )
    starter: Starter = Starter()
    match: Literal["suit_or_rank", "suit_or_color", "suit_or_ability", "suit_rank_or_color"] = Field(
        default="suit_or_rank",
        description="What a card must share with the top card to be playable (RULES.md R8).",
    )
    wild: Ranks = Field(default=("8",), description="Ranks playable on anything outside a crank (RULES.md R8).")
    win: Literal["lowest_total", "first_out"] = Field(
        default="lowest_total",
        description="Who wins: the lowest total, or who went out in the last round (RULES.md R7).",
    )
    partners: StrictBool = Field(
        default=False, description="Of four players, those who sit opposite are a side (RULES.md R7)."
    )
    draw: Draw = Draw()
    announce: Announce = Announce()
    going_out: GoingOut = GoingOut()
    crank: Crank = Crank()
    stock: Stock = Stock()
    blocked: Blocked = Blocked()
    threes: Threes = Threes()
    reverse: Reverse = Reverse()
    abilities: RankTable[AbilityText] = Field(
        default=CLASSIC_ABILITIES,
        validate_default=True,
        description='What a card of the rank does when it is played (RULES.md "Abilities").',
    )
    points: RankTable[Points] = Field(
        default=CLASSIC_POINTS,
        validate_default=True,
        description="Points of a card of the rank left in a hand (RULES.md R17).",
    )
    turn_cap: StrictInt = Field(
        default=5000,
        ge=1,
        le=1_000_000,
        description="Turns after which a round is truncated and scored as blocked (RULES.md R13).",
    )

    @field_validator("abilities", "points", mode="before")
    @classmethod
    def _complete(cls, table: object, info: ValidationInfo) -> object:
        """Let a table of some ranks leave the others classic."""
        classic = cls.model_fields[str(info.field_name)].default
        return {**classic, **table} if isinstance(table, Mapping) else table

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        """Check the fields that limit one another."""
        cards, largest = DECK_SIZE * self.decks, max(self.deals)
        needed = self.players * largest + 1
        if needed > cards:
            fitting = [f"deals of at most {(cards - 1) // self.players}"]
            if (most_players := (cards - 1) // largest) >= 2:
                fitting.append(f"at most {most_players} players")
            if self.decks == 1 and needed <= 2 * DECK_SIZE:
                fitting.append("decks = 2")
            raise RulesError(
                f"players = {self.players}: {self.players} x {largest} cards and the starter make {needed}, "
                f"and decks = {self.decks} has {cards} (RULES.md R1); what fits: {', or '.join(fitting)}"
            )
        if self.partners and self.players != 4:
            raise RulesError(f"partners = true: allowed with 4 players, and players = {self.players}")
        if self.first_dealer != "random" and self.first_dealer >= self.players:
            seats = f"0 to {self.players - 1}"
            raise RulesError(f"first_dealer = {self.first_dealer}: {self.players} players have the seats {seats}")
        if len(self.starter.redraw) == len(RANKS):
            raise RulesError("starter.redraw: with every rank put back there is no starter (RULES.md R5)")
        return self

    def by_key(self) -> dict[str, Any]:
        """Give every field as a plain TOML value by its dotted key, in the order of RULES.md."""
        return {key: _read(self, key) for key in FIELDS}

    def with_changes(self, changes: Mapping[str, object]) -> "Rules":
        """Give these rules with some fields changed.

        Parameters
        ----------
        changes : Mapping[str, object]
            Values by dotted key, ``{"draw.count": 2, "players": 3}``, or in nested mappings.

        Raises
        ------
        RulesError
            If a key is unknown, a value is not allowed, or the rules as a whole cannot be.
        """
        return _build(self.by_key() | _flatten(changes))

    def has_ability(self, *kinds: str) -> bool:
        """Tell whether any rank has an ability of one of these kinds."""
        return any(ability.kind in kinds for ability in self.abilities.values())

    @cached_property
    def digest(self) -> str:
        """Twelve hexadecimal digits, the same for rules that play and score the same, different for others.

        Names do not enter it, nor do fields that mean nothing beside the others (`INERT`). It is made of what
        differs from classic, so that a field added later leaves the digests of older rules as they are.
        """
        classic = Rules().by_key()
        canonical = canonical_rules(self).by_key()
        differing = {key: value for key, value in canonical.items() if value != classic[key] and key not in NAMES}
        return hashlib.sha256(json.dumps(differing, sort_keys=True).encode()).hexdigest()[:12]

    def to_toml(self, base: "Rules", base_name: str) -> str:
        """Write a rules file: the names, the base, and each field that differs from it below its sentence.

        Parameters
        ----------
        base : Rules
            The rules that the file builds on.
        base_name : str
            What the file calls them: a preset, or a path relative to the file's folder.
        """
        head = {"name": self.name, "description": self.description, "base": base_name}
        lines = [f"{key} = {toml_value(value)}" for key, value in head.items()]
        for key, (value, _) in differences(self, base).items():
            lines += ["", f"# {FIELDS[key].sentence}", f"{key} = {toml_value(value)}"]
        return "\n".join(lines) + "\n"


@dataclass(frozen=True)
class RuleField:
    """What there is to know about one field of `Rules`."""

    key: str
    """Its dotted key."""
    section: str
    """Where RULES.md speaks of it, like ``R9``; empty for the names."""
    sentence: str
    """What it means, section included."""
    allowed: str
    """Its values, in words."""
    choices: tuple[str, ...]
    """Its values where they are words, for the nearest match."""


def _read(rules: Rules, key: str) -> Any:
    """Give the plain value of a field, or of a whole rank table."""
    value: Any = rules
    for name in key.split("."):
        value = value[name] if isinstance(value, RankTable) else getattr(value, name)
    return _plain(value)


_RANK_LIST = 'lists of ranks, like ["8", "9"]'
_ALLOWED_WORDS = {
    "name": "texts of one line, of 1 to 60 characters",
    "description": "texts of one line, of at most 500 characters",
    "deals": "lists of 1 to 1000 hand sizes, like [8, 7, 6]",
    "first_dealer": "random, or a seat: 0, 1, ...",
    "starter.redraw": _RANK_LIST,
    "wild": _RANK_LIST,
    "abilities": f"{', '.join(ABILITIES)}, with K and V from 1 to 15",
    "points": "whole numbers from -10,000 to 10,000",
    "threes.bonus": "whole numbers from -10,000 to 10,000",
}
"""What is allowed where a list of words or the bounds of a number do not say it."""


def _rule_fields() -> Iterator[RuleField]:
    for name, info in Rules.model_fields.items():
        if isinstance(info.default, _Group):
            for inner, inner_info in type(info.default).model_fields.items():
                yield _rule_field(f"{name}.{inner}", inner_info)
        elif isinstance(info.default, dict):
            for rank in RANKS:
                yield _rule_field(f"{name}.{rank}", info)
        else:
            yield _rule_field(name, info)


def _rule_field(key: str, info: FieldInfo) -> RuleField:
    sentence = info.description or ""
    section = re.search(r"\(RULES\.md (.*)\)\.$", sentence)
    choices: tuple[str, ...] = ()
    if info.annotation is bool:
        choices = ("true", "false")
    elif get_origin(info.annotation) is Literal:
        choices = get_args(info.annotation)
    elif key == "first_dealer":
        choices = ("random",)
    words = _ALLOWED_WORDS.get(key) or _ALLOWED_WORDS.get(key.partition(".")[0])
    return RuleField(
        key, section[1] if section else "", sentence, words or ", ".join(choices) or _bounds(info), choices
    )


def _bounds(info: FieldInfo) -> str:
    bounds = {name: getattr(limit, name) for limit in info.metadata for name in ("ge", "le") if hasattr(limit, name)}
    return f"whole numbers from {bounds['ge']:,} to {bounds['le']:,}"


FIELDS: dict[str, RuleField] = {field.key: field for field in _rule_fields()}
"""Every field by its dotted key, in the order of RULES.md "Fields"."""

GROUPS = tuple(dict.fromkeys(key.partition(".")[0] for key in FIELDS if "." in key))
"""The keys that stand for several fields, which a file may write as a table."""


def differences(rules: Rules, other: Rules) -> dict[str, tuple[Any, Any]]:
    """Give the plain values of both rule sets for each field in which they differ, names left out."""
    mine, others = rules.by_key(), other.by_key()
    return {key: (mine[key], others[key]) for key in FIELDS if key not in NAMES and mine[key] != others[key]}


# --- When two rule sets are the same ------------------------------------------------------------------------


@dataclass(frozen=True)
class Inert:
    """A field (or rank table) that, beside certain others, means nothing or less than it says."""

    key: str
    when: str
    """Beside which others, and why."""
    counts_as: Callable[[Rules], Any]
    """The plain value that it counts as; its own where it is live."""


def _drawable(rules: Rules) -> int:
    """Give the most cards that a seat can draw in its turn: all but the top card and one in each hand."""
    return DECK_SIZE * rules.decks - 1 - rules.players


def _starter_can_act(rules: Rules) -> bool:
    """Tell whether a rank that can be turned up has an ability; a crank:V rank has none outside a crank."""
    undealt = DECK_SIZE * rules.decks - rules.players * max(rules.deals)
    # If only cards that would be put back are left after the deal, one of them is the starter after all.
    any_rank = undealt <= 4 * rules.decks * len(rules.starter.redraw)
    return any(
        rules.abilities[rank].kind not in ("none", "crank")
        for rank in RANKS
        if any_rank or rank not in rules.starter.redraw
    )


def _abilities_that_act(rules: Rules) -> dict[str, str]:
    """Give the abilities, those that only join cranks as none where no crank can start.

    With matching by ability they still tell which ranks are alike, and only their amounts mean nothing.
    """
    abilities = {rank: str(ability) for rank, ability in rules.abilities.items()}
    if rules.has_ability("crank_start"):
        return abilities
    idle = list(dict.fromkeys(text for text in abilities.values() if text.startswith("crank:")))
    numbered = {text: f"crank:{number}" for number, text in enumerate(idle, start=1)}
    counting = numbered if rules.match == "suit_or_ability" else dict.fromkeys(idle, "none")
    return {rank: counting.get(text, text) for rank, text in abilities.items()}


INERT: tuple[Inert, ...] = (
    Inert(
        "next_dealer",
        "there is one round, and so no next dealer",
        lambda r: "left" if len(r.deals) == 1 else r.next_dealer,
    ),
    Inert(
        "match",
        "every rank is wild, or it goes by ability and no two ranks have the same",
        lambda r: (
            "suit_or_rank"
            if len(r.wild) == len(RANKS)
            or (r.match == "suit_or_ability" and len({*r.abilities.values()}) == len(RANKS))
            else r.match
        ),
    ),
    Inert(
        "abilities",
        "a rank is crank:V and no rank starts a crank that it could join",
        _abilities_that_act,
    ),
    Inert(
        "starter.acts",
        "no rank that can be turned up has an ability outside a crank",
        lambda r: r.starter.acts or not _starter_can_act(r),
    ),
    Inert(
        "draw.count",
        "it is more than the cards there are, or than draw.limit with draw.until_playable",
        lambda r: min(r.draw.count, _drawable(r), (r.draw.until_playable and r.draw.limit) or DECK_SIZE),
    ),
    Inert(
        "draw.play_drawn",
        "draw.until_playable implies must",
        lambda r: "must" if r.draw.until_playable else r.draw.play_drawn,
    ),
    Inert(
        "draw.until_playable",
        "draw.count is already all that draw.limit or the cards allow",
        lambda r: r.draw.until_playable and r.draw.count < min(r.draw.limit or DECK_SIZE, _drawable(r)),
    ),
    Inert(
        "draw.limit",
        "draw.until_playable is false, or it is no less than the cards there are",
        lambda r: r.draw.limit if r.draw.until_playable and r.draw.limit < _drawable(r) else 0,
    ),
    Inert(
        "announce.cards",
        "it is more than the cards there are",
        lambda r: min(r.announce.cards, _drawable(r)),
    ),
    Inert(
        "going_out.again",
        "no rank has the ability again, or going_out.last_card is ignored",
        lambda r: r.going_out.again if r.has_ability("again") and r.going_out.last_card == "applies" else "ends",
    ),
    Inert(
        "crank.on_last_card",
        "no rank starts a crank, or going_out.last_card is ignored, and so is the crank",
        lambda r: (
            r.crank.on_last_card if r.has_ability("crank_start") and r.going_out.last_card == "applies" else "ignored"
        ),
    ),
    # The two rows above have given `again` and `on_last_card` what `last_card` means for them. Left to it are
    # the cards that others draw, and they draw in any case where an ability card does not end the round.
    Inert(
        "going_out.last_card",
        "no rank makes others draw, or on_ability is false; and no crank or 6 does anything as last card",
        lambda r: (
            r.going_out.last_card
            if r.has_ability("next_draws", "others_draw") and r.going_out.on_ability
            else "applies"
        ),
    ),
    Inert(
        "going_out.on_ability",
        "no rank has an ability (crank:V alone is none)",
        lambda r: r.going_out.on_ability or all(ability.kind in ("none", "crank") for ability in r.abilities.values()),
    ),
    Inert(
        "stock.pressure",
        "stock.reshuffle is false",
        lambda r: r.stock.pressure if r.stock.reshuffle else 0,
    ),
    Inert(
        "stock.pressure_factor",
        "stock.pressure is 0 or means nothing",
        lambda r: r.stock.pressure_factor if r.stock.pressure else 2,
    ),
    Inert(
        "threes.mode",
        "threes.bonus is 0, and a 3 is worth the same whether it is a bonus or not",
        lambda r: (
            "cancel_only" if r.threes.mode in ("cancel_then_bonus", "strict") and r.threes.bonus == 0 else r.threes.mode
        ),
    ),
    Inert(
        "threes.bonus",
        "threes.mode is cancel_only or none, which give no bonus",
        lambda r: -50 if r.threes.mode in ("cancel_only", "none") else r.threes.bonus,
    ),
    Inert(
        "points.3",
        "threes.mode is not none",
        lambda r: r.points["3"] if r.threes.mode == "none" else 0,
    ),
    Inert(
        "reverse.two_players",
        "there are more than two players, or no rank reverses",
        lambda r: r.reverse.two_players if r.players == 2 and r.has_ability("reverse") else "none",
    ),
)
"""When a field makes no difference. Rows apply from top to bottom: each sees the values that those above gave."""


def canonical_rules(rules: Rules) -> Rules:
    """Give rules that play and score the same, with every inert field at the value that it counts as."""
    for inert in INERT:
        value = inert.counts_as(rules)
        if value != _read(rules, inert.key):
            rules = rules.with_changes({inert.key: value})
    return rules


# --- Checking -----------------------------------------------------------------------------------------------


def _flatten(table: Mapping[str, object]) -> dict[str, object]:
    """Give the values of a table by dotted key, whether they stand in groups or not."""
    flat: dict[str, object] = {}
    for name, value in table.items():
        if isinstance(value, Mapping) and name in GROUPS:
            fields = {f"{name}.{inner}": item for inner, item in value.items()}
        else:
            fields = {str(name): value}
        if twice := flat.keys() & fields.keys():
            raise RulesError(f"{twice.pop()}: given twice")
        flat |= fields
    return flat


def _build(flat: Mapping[str, object]) -> Rules:
    """Check values by dotted key and make rules of them."""
    nested: dict[str, Any] = {}
    for key, value in flat.items():
        if key not in FIELDS:
            raise RulesError(_unknown_key(key, value))
        group, _, name = key.partition(".")
        if name:
            nested.setdefault(group, {})[name] = value
        else:
            nested[key] = value
    try:
        return Rules.model_validate(nested)
    except ValidationError as error:
        raise RulesError(_first_problem(error)) from None


def _unknown_key(key: str, value: object) -> str:
    group = key.partition(".")[0]
    inside = ", ".join(known for known in FIELDS if known.startswith(f"{group}."))
    if key in GROUPS:
        return f"{key} = {_shown(value)}: {key} is a group of fields: {inside}"
    if key == "base":
        return "base: only a rules file has a base; the rules to start from are chosen by name or path"
    shown = key if key.isprintable() else toml_value(key)
    if inside:
        return f"{shown}: no such key; allowed in {group} are {inside}{nearest(key, FIELDS)}"
    keys = dict.fromkeys(f"{known.partition('.')[0]}.*" if "." in known else known for known in FIELDS)
    return f"{shown}: no such key; allowed are {', '.join(keys)}{nearest(key, FIELDS)}"


def _first_problem(error: ValidationError) -> str:
    """Put the first thing that is wrong into words: key, value, what is allowed there, the nearest match."""
    problem = error.errors()[0]
    path, value = problem["loc"], problem["input"]
    if not path:
        return str(problem["ctx"]["error"])
    field = FIELDS.get(str(path[0])) or FIELDS[f"{path[0]}.{path[1]}"]
    place, allowed, choices = field.key, field.allowed, field.choices
    item = next((step for step in path if isinstance(step, int)), None)
    if item is not None:
        place = f"item {item + 1} of {field.key}"
        choices = RANKS if allowed == _RANK_LIST else ()
        allowed = ", ".join(choices) or "whole numbers of at least 1"
    elif field.key.startswith("abilities."):
        choices = _abilities_like(str(value))
    return f"{place} = {_shown(value)}: allowed are {allowed}{nearest(str(value), choices)}"


def _abilities_like(text: str) -> tuple[str, ...]:
    """Give every ability, with the amount of a mistaken text where that is one."""
    amount = re.search(f": *{_AMOUNT}(?![0-9])", text)
    return tuple(re.sub(":[KV]", f":{amount[1] if amount else 1}", ability) for ability in ABILITIES)


def _shown(value: object) -> str:
    """Write a value for a message, cut where it is long."""
    text = toml_value(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


# --- Files --------------------------------------------------------------------------------------------------


@cache
def preset_names() -> tuple[str, ...]:
    """Give the names of the rule sets that come with the package, classic first."""
    return tuple(sorted((path.stem for path in RULESETS.glob("*.toml")), key=lambda name: (name != "classic", name)))


def load_rules(name_or_path: str | Path, changes: Mapping[str, object] | None = None) -> Rules:
    """Read a preset or a rules file, and change some of its fields.

    A file that says no ``name`` is called after its file name; the path of a ``base`` starts from its folder.

    Parameters
    ----------
    name_or_path : str or Path
        A name of `preset_names`, or the path of a TOML file.
    changes : Mapping[str, object], optional
        As `Rules.with_changes` takes them.

    Raises
    ------
    RulesError
        If there is no such file, it cannot be read, or the rules that it describes cannot be. The text is one
        line with the file and the key at fault, what is allowed and the nearest match.
    """
    rules = _load(str(name_or_path), Path(), ())
    return rules.with_changes(changes) if changes else rules


def _load(source: str, folder: Path, users: tuple[Path, ...]) -> Rules:
    """Read a preset, or a rules file by its path from a folder; `users` are the files that build on it."""
    is_preset = source in preset_names()
    path = RULESETS / f"{source}.toml" if is_preset else folder / source
    label = source if is_preset else str(path)
    try:
        table = _read_table(path)
        if path.resolve() in users:
            raise RulesError("it builds on itself")
        base = table.pop("base", None)
        start = Rules() if base is None else _load_base(base, path.parent, (*users, path.resolve()))
        return start.with_changes({"name": path.stem[:60], "description": ""} | table)
    except RulesError as error:
        raise RulesError(f"{label}: {error}") from None


def _load_base(base: object, folder: Path, users: tuple[Path, ...]) -> Rules:
    if not isinstance(base, str):
        presets = ", ".join(preset_names())
        raise RulesError(f"base = {_shown(base)}: allowed are {presets}, and the path of a rules file")
    try:
        return _load(base, folder, users)
    except RulesError as error:
        raise RulesError(f"base = {_shown(base)}: {error}") from None


def _read_table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError:
        presets = ", ".join(preset_names())
        raise RulesError(f"no such rules file; presets are {presets}{nearest(path.stem, preset_names())}") from None
    except IsADirectoryError:
        raise RulesError("a folder, not a rules file") from None
    except UnicodeDecodeError as error:
        raise RulesError(f"not UTF-8 text, from byte {error.start} on") from None
    except OSError as error:
        raise RulesError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise RulesError(f"damaged TOML: {error}") from None


def parse_changes(settings: Iterable[str]) -> dict[str, object]:
    """Read ``KEY=VALUE`` texts as ``--set`` takes them; a later one overrides an earlier one of the same key.

    A value is read as TOML, and words need no quotation marks: ``match=suit_or_color``, ``wild=[8, J]``.

    Raises
    ------
    RulesError
        If a text has no ``=`` or no key.
    """
    changes: dict[str, object] = {}
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not key or not equals:
            raise RulesError(f"{_shown(setting)}: changes are written KEY=VALUE, like draw.count=2")
        changes[key] = _parse_value(value)
    return changes


def _parse_value(text: str) -> object:
    candidates = [text]
    if text.startswith("[") and '"' not in text:
        # A shell takes the quotation marks out of wild=["8","J"].
        words = re.compile(r"\b(?!true\b|false\b)[A-Za-z_][\w:=.]*")
        candidates.append(words.sub(lambda word: f'"{word[0]}"', text))
    for candidate in candidates:
        try:
            document = tomllib.loads(f"value = {candidate}")
        except (ValueError, RecursionError):
            continue
        if len(document) == 1:
            return document["value"]
    return text


def json_schema() -> dict[str, Any]:
    """Give the JSON Schema of a rules file, by which editors check and complete it."""
    schema = Rules.model_json_schema()
    bases = f"a preset ({', '.join(preset_names())}) or the path of a file"
    base = {"type": "string", "description": f"The rules that this file builds on: {bases}."}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
        "title": "Craits rules",
        "description": "A rule set for the card game Craits; what a file leaves out is as in its base.",
        "properties": {"base": base, **schema["properties"]},
    }
