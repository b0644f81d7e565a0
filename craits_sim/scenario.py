"""Positions that a user sets up, and the moves to play there: scenario files, read and checked.

A scenario is TOML. Seats are numbered from 0; hands are texts of cards, ``"7H 3C"``; keys left out have the
values below::

    rules = "classic"      # a preset, or the path of a rules file, from the scenario's folder
    players = 2            # as many as there are hands
    dealer = 1             # the seat that "played" the starter; always needed, like starter and hands
    starter = "2S"
    hands = ["7H 3C", "9D AC"]
    stock = "4H 5D 6C"     # top card first; left out: every other card, in an order drawn from the seed
    discards = ""          # cards under the starter; cards named nowhere are out of play
    moves = []             # every turn in order: "8S", "8S>H", "draw", "pass"; ">H" first names a starter's suit
    bot = "random"         # who goes on when the moves run out; left out: play stops there
    seed = 1
    [set]                  # changes of the rules
    "draw.count" = 2
    [expect]               # for tests: the state that it ends in

Whether a move is legal shows only when it is played (`craits_sim.trace`).
"""

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from craits_sim.bots import BotError, BotSpec, parse_bots
from craits_sim.cards import RANKS, SECOND_COPY, SUITS, CardError, card_name, full_deck, parse_card, suit_of
from craits_sim.ranges import PLAYERS, SEED
from craits_sim.rules import Rules, RulesError, load_rules, preset_names
from craits_sim.text import nearest, toml_value

DEFAULT_SEED = 1


class ScenarioError(ValueError):
    """A scenario that cannot be read or played; its text is one line for the user."""


class Move(NamedTuple):
    """One move: a card is played, a seat draws or passes, or the dealer names the suit of the starter."""

    kind: Literal["play", "draw", "pass", "name"]
    card: int | None = None
    """The code of the first copy, for "play"."""
    suit: int | None = None
    """The suit named; None for the card's own."""
    text: str = ""
    """As it is written."""


@dataclass(frozen=True)
class Scenario:
    """A position and what is played there. Cards are codes, and each card of the decks is in one place at most."""

    rules: Rules
    dealer: int
    starter: int
    hands: tuple[tuple[int, ...], ...]
    discards: tuple[int, ...]
    stock: tuple[int, ...]
    stacked: bool
    """Whether the stock lies in that order, top card first; else it is shuffled."""
    moves: tuple[Move, ...]
    bots: tuple[BotSpec, ...]
    """One a seat."""
    bots_go_on: bool
    """Whether the bots play on when the moves run out; else play stops there."""
    seed: int
    source: str
    """The file it was read from, for messages; empty for none."""

    def error(self, problem: str) -> ScenarioError:
        """Give the error that says what is wrong, and in which file."""
        return ScenarioError(_in_file(self.source, problem))


class _File(BaseModel):
    """The keys of a scenario. The description of a field is what it allows, as messages say it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    rules: str = Field(default="classic", description="names of presets, and paths of rules files")
    players: Annotated[int, BeforeValidator(PLAYERS.parse)] | None = Field(default=None, description=str(PLAYERS))
    dealer: int = Field(description="seats, from 0")
    starter: str = Field(description="cards, like 10H")
    hands: list[str] = Field(
        min_length=PLAYERS.low,
        max_length=PLAYERS.high,
        description='lists of 2 to 10 texts of cards, one a seat, like ["7H 3C", "9D"]',
    )
    stock: str | None = Field(default=None, description='texts of cards, top card first, like "4H 5D"')
    discards: str = Field(default="", description='texts of cards, like "4H 5D"')
    moves: list[str] = Field(default=[], description='lists of moves, like ["8S>H", "draw"]')
    bot: str | None = Field(default=None, description='texts: one bot, or one a seat, like "greedy,random"')
    seed: Annotated[int, BeforeValidator(SEED.parse)] | None = Field(default=None, description=str(SEED))
    set: dict[str, Any] = Field(default={}, description="tables of rule fields and their values")
    expect: dict[str, Any] = Field(default={}, description="tables of the state that it ends in")


def scenario_files(path: str) -> list[str]:
    """List the scenario files that a path stands for: itself, or for a folder every ``.toml`` file below it, sorted.

    The names begin as the path does.

    Raises
    ------
    ScenarioError
        If there is no such file or folder, or no scenario in the folder.
    """
    place = Path(path)
    if not place.exists():
        neighbors = [str(neighbor) for neighbor in place.parent.glob("*")]
        raise ScenarioError(f"{path}: no such file or folder{nearest(path, neighbors)}")
    if not place.is_dir():
        return [path]
    files = sorted(place.rglob("*.toml"))
    if not files:
        raise ScenarioError(f"{path}: no scenario in this folder: scenarios are .toml files")
    return [os.path.join(path, file.relative_to(place)) for file in files]


def load_scenario(source: Path | str | Mapping[str, Any], seed: int = DEFAULT_SEED) -> Scenario:
    """Read and check a scenario.

    Parameters
    ----------
    source : path or mapping
        The file, or what one would say. The path of a rules file starts from the folder of the file.
    seed : int
        Where the scenario says none.

    Raises
    ------
    ScenarioError
        If the file cannot be read, a key is unknown or missing, a value is not allowed, or a card is named more often
        than there is of it. The text names the file and the key, what is allowed, and the nearest match.
    """
    file, folder = ("", Path()) if isinstance(source, Mapping) else (str(source), Path(source).parent)
    try:
        values = source if isinstance(source, Mapping) else _read_toml(Path(source))
        return _check(_File.model_validate(dict(values)), folder, file, seed)
    except ValidationError as error:
        raise ScenarioError(_in_file(file, _first_problem(error))) from None
    except ScenarioError as error:
        raise ScenarioError(_in_file(file, str(error))) from None


def _in_file(file: str, problem: str) -> str:
    return f"{file}: {problem}" if file else problem


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ScenarioError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # not only TOMLDecodeError: numbers of thousands of digits
        raise ScenarioError(f"damaged TOML: {error}") from None


def _first_problem(error: ValidationError) -> str:
    """Put the first thing that is wrong into words: key, value, what is allowed, the nearest match."""
    first = error.errors()[0]
    key, *inner = first["loc"]
    key = str(key)
    if first["type"] == "extra_forbidden":
        keys = list(_File.model_fields)
        shown = key if key.isprintable() else toml_value(key)
        return f"{shown}: no such key; keys are {', '.join(keys)}{nearest(key, keys)}"
    allowed = _File.model_fields[key].description
    if first["type"] == "missing":
        return f"{key} is missing: allowed are {allowed}"
    place = key + "".join(f"[{index}]" for index in inner if isinstance(index, int))
    return f"{place} = {toml_value(first['input'])}: allowed are {allowed}"


def _check(file: _File, folder: Path, source: str, seed: int) -> Scenario:
    """Check what a scenario says against the rules and the cards that there are."""
    rules = _rules(file, folder)
    players = rules.players
    if len(file.hands) != players:
        raise ScenarioError(f"hands: {len(file.hands)} hands for {players} players: allowed is one a seat")
    if not 0 <= file.dealer < players:
        raise ScenarioError(f"dealer = {file.dealer}: {players} players have the seats 0 to {players - 1}")
    try:
        bots = parse_bots("random" if file.bot is None else file.bot, players)
    except BotError as error:
        raise ScenarioError(f"bot: {error}") from None

    deck = _Deck(rules.decks)
    hands = tuple(deck.take(f"hands[{seat}]", hand) for seat, hand in enumerate(file.hands))
    for seat, hand in enumerate(hands):
        if not hand:
            raise ScenarioError(f"hands[{seat}] is empty: whoever has no cards has gone out, and the round is over")
    starter = deck.take("starter", file.starter)
    if len(starter) != 1:
        raise ScenarioError(f"starter = {toml_value(file.starter)}: allowed is one card, like 10H")
    discards = deck.take("discards", file.discards)
    stock = deck.rest() if file.stock is None else deck.take("stock", file.stock)
    moves = tuple(_parse_move(f"moves[{number}]", text) for number, text in enumerate(file.moves))
    _check_naming(rules, file.dealer, starter[0], moves)
    return Scenario(
        rules=rules,
        dealer=file.dealer,
        starter=starter[0],
        hands=hands,
        discards=discards,
        stock=stock,
        stacked=file.stock is not None,
        moves=moves,
        bots=bots,
        bots_go_on=file.bot is not None,
        seed=seed if file.seed is None else file.seed,
        source=source,
    )


def _rules(file: _File, folder: Path) -> Rules:
    """Load the rules of a scenario, for a table with a seat for each hand unless it says otherwise."""
    name = file.rules if file.rules in preset_names() else str(folder / file.rules)
    try:
        rules = load_rules(name)
    except RulesError as error:
        raise ScenarioError(f"rules: {error}") from None
    # Nothing is dealt: however many cards the rules deal, they need not suffice for this table.
    table: dict[str, object] = {"deals": [1], "players": len(file.hands)}
    stated = {} if file.players is None else {"players": file.players}
    try:
        return rules.with_changes({**table, **file.set, **stated})
    except RulesError as error:
        raise ScenarioError(f"set: {error}") from None


class _Deck:
    """The cards of one or two decks, and where those that have been named are."""

    def __init__(self, decks: int) -> None:
        self._decks = decks
        self._places: dict[int, str] = {}

    def take(self, place: str, text: str) -> tuple[int, ...]:
        """Give the cards that a text names; they lie in ``place`` then."""
        cards = []
        for name in text.split():
            try:
                first = parse_card(name)
            except CardError as error:
                raise ScenarioError(f"{place}: {error}") from None
            copies = [first + copy * SECOND_COPY for copy in range(self._decks)]
            card = next((copy for copy in copies if copy not in self._places), None)
            if card is None:
                taken = " and ".join(dict.fromkeys(self._places[copy] for copy in copies))
                number = "one deck has it once" if self._decks == 1 else "two decks have it twice"
                raise ScenarioError(f"{place}: {card_name(first)} is in {taken} already, and {number}")
            self._places[card] = place
            cards.append(card)
        return tuple(cards)

    def rest(self) -> tuple[int, ...]:
        """Give the cards that are nowhere yet."""
        return tuple(card for card in full_deck(self._decks) if card not in self._places)


def _parse_move(place: str, text: str) -> Move:
    word, arrow, suit = (part.strip().upper() for part in text.partition(">"))
    if word in ("DRAW", "PASS") and not arrow:
        return Move("draw" if word == "DRAW" else "pass", text=text)
    if not arrow or suit in SUITS:
        named = SUITS.index(suit) if arrow else None
        if arrow and not word:
            return Move("name", suit=named, text=text)
        with suppress(CardError):
            return Move("play", parse_card(word), named, text)
    cards = [card_name(card) for card in full_deck(1)]
    near = nearest(text, [*cards, *(f"{card}>{suit}" for card in cards for suit in SUITS), "draw", "pass"])
    allowed = 'a card, like 8S, or 8S>H to name a suit; "draw"; "pass"; and as the first, ">H" for the starter'
    raise ScenarioError(f"{place} = {toml_value(text)}: allowed are {allowed}{near}")


def _check_naming(rules: Rules, dealer: int, starter: int, moves: tuple[Move, ...]) -> None:
    """Check that a suit named for the starter is one that its dealer may name (RULES.md R5)."""
    if not moves or moves[0].kind != "name":
        return
    suits = suits_after(rules, starter) if rules.starter.acts else [suit_of(starter)]
    if moves[0].suit not in suits:
        legal = ", ".join(f'">{SUITS[suit]}"' for suit in suits)
        problem = f"seat {dealer} cannot name that suit for the starter {card_name(starter)} (RULES.md R5)"
        raise ScenarioError(f"moves[0] {toml_value(moves[0].text)}: {problem}; legal: {legal}")


def suits_after(rules: Rules, card: int) -> list[int]:
    """List the suits among which the player of a card chooses the suit to follow (RULES.md "Abilities")."""
    own = suit_of(card)
    match rules.abilities[RANKS[card % 16]].kind:
        case "nominate":
            return list(range(len(SUITS)))
        case "recolor":
            return sorted((own, 3 - own))
    return [own]
