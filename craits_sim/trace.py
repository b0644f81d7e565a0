"""Transcripts: one game, or one position that a user sets up, card by card.

The kernel plays as it always does and records its events; this module turns them into JSON (`event_object`) and into
words (`game_text`, `scenario_text`). What `simulate_batch` plays with the same rules, bots and seed is the same card
for card.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.bots import BotSpec
from craits_sim.cards import RANKS, SECOND_COPY, SUITS, card_name, full_deck, rank_of, sort_hand, suit_of
from craits_sim.encode import MAX_PLAYERS, EncodedBots, EncodedRules, encode_rules
from craits_sim.kernel.lanes import (
    CRANK,
    DUG,
    FORWARD,
    HANDS,
    NOBODY,
    PLAYER,
    SECOND_DECK,
    SECOND_HANDS,
    STOCK,
    STRIDE,
    SUIT,
    TOP,
    WINNER,
)
from craits_sim.kernel.own import encode_table
from craits_sim.kernel.script import (
    DRAW_MOVE,
    NAME_MOVE,
    OWN_SUIT,
    PASS_MOVE,
    Outcome,
    Script,
    legal_moves,
    no_script,
)
from craits_sim.kernel.simulate import run
from craits_sim.kernel.watch import new_watch
from craits_sim.results import Action, Batch, Cause, Ending, empty_batch
from craits_sim.rules import Rules
from craits_sim.scenario import DEFAULT_SEED, Move, Scenario, load_scenario, suits_after
from craits_sim.text import toml_value

ROOM_FOR_EVENTS = 4096
"""At first; most games have fewer. A run that finds it too small is repeated with as many as it needs."""

LANE = np.uint64(0)
"""Where the kernel plays a single game."""

SUIT_WORDS = ("clubs", "diamonds", "hearts", "spades")


# --- What is traced -----------------------------------------------------------------------------------------


class Event(NamedTuple):
    """One row of `craits_sim.results.EVENT_DTYPE`."""

    game: int
    round: int
    action: Action
    seat: int
    card: int
    suit: int
    crank: int
    detail: int


State = dict[str, Any]
"""A position in names: ``hands`` (a text a seat, sorted), ``top``, ``suit`` (to follow), ``direction`` (1 clockwise, or
-1), ``to_act`` (a seat; None when the round is over), ``crank`` (the count), ``stock`` (a number of cards), ``over``,
``went_out`` (the seat that went out first, or None), ``points`` (by seat; None before the round is over), and ``legal``
(the cards that the seat to act may play, as a list)."""


@dataclass(frozen=True)
class TracedRound:
    """A round, or a position that was played on."""

    dealer: int
    events: list[Event]
    state: State
    """In which it ended, or where its moves ran out."""

    def as_object(self) -> dict[str, Any]:
        """Give events and state as ``craits trace --json`` prints them."""
        return {"events": [event_object(event) for event in self.events], "state": self.state}


@dataclass(frozen=True)
class TracedGame:
    """A game: its rounds in order of play, points and winners by seat."""

    rounds: list[TracedRound]
    totals: list[int]
    wins: list[int]
    """In units of 1/`craits_sim.results.WIN_UNIT`."""


def event_object(event: Event) -> dict[str, Any]:
    """Give an event as ``craits trace --json`` prints it.

    Every event has ``seat`` (None for "blocked" and "truncated") and ``action``; other keys where they mean something:

    ============  ==========================================================================================
    ``action``    what happened, and its keys
    ============  ==========================================================================================
    "deal"        the seat was dealt ``card``
    "starter"     the dealer turned up ``card``; ``suit`` is to be followed, one of C D H S
    "play"        the seat played ``card``; ``suit`` is to be followed
    "draw"        the seat drew ``card``; ``cause``: "own" (it could or would not play, or drew a card instead of
                  going out), "ability" (of another seat's card), "crank" (it pays), "penalty" (RULES.md R10)
    "reshuffle"   the seat's draw found no stock; the discards made one of so many ``cards`` (RULES.md R12)
    "pressure"    that reshuffle cost the seat ``points``
    "pass"        the seat could neither play nor draw
    "caught"      the seat did not announce its last card and was called (RULES.md R10)
    "lost_turn"   the seat was passed over because of that
    "go_out"      the seat went out
    "blocked"     nobody could play or draw (RULES.md R13)
    "truncated"   the turn cap was reached (RULES.md R13)
    "score"       the seat's ``points`` of the round
    ============  ==========================================================================================

    ``crank`` is the count after the event; outside a crank there is none.
    """
    described: dict[str, Any] = {
        "seat": None if event.seat < 0 else event.seat,
        "action": event.action.name.lower(),
    }
    if event.card >= 0:
        described["card"] = card_name(event.card)
    if event.suit >= 0:
        described["suit"] = SUITS[event.suit]
    match event.action:
        case Action.DRAW:
            described["cause"] = Cause(event.detail).name.lower()
        case Action.RESHUFFLE:
            described["cards"] = event.detail
        case Action.PRESSURE | Action.SCORE:
            described["points"] = event.detail
    if event.crank:
        described["crank"] = event.crank
    return described


# --- Games --------------------------------------------------------------------------------------------------


def trace_game(rules: Rules, bots: Sequence[BotSpec], seed: int, game: int) -> TracedGame:
    """Play one game of a run, and say what happened.

    Parameters
    ----------
    rules : Rules
    bots : sequence of BotSpec
        One a seat.
    seed, game : int
        The game is number ``game``, from 0, of those that `simulate_batch` plays from this seed.
    """
    recording = _record(*encode_table(rules, bots), seed, game)
    batch = recording.batch
    rounds = []
    for number in range(len(rules.deals)):
        events = [event for event in recording.events if event.round == number]
        state = _state(recording.snapshots[number], rules.players, _points(events))
        rounds.append(TracedRound(int(batch.dealer[0, number]), events, state))
    return TracedGame(rounds, batch.totals[0].tolist(), batch.wins[0].tolist())


class _Recording(NamedTuple):
    """What the kernel leaves behind of one game or one script."""

    events: list[Event]
    batch: Batch  # of one game
    snapshots: NDArray[np.uint64]  # (R, ROWS) the lane at the end of each round
    lanes: NDArray[np.uint64]  # as they were left
    script: Script


def _record(
    rules: EncodedRules,
    bots: EncodedBots,
    seed: int,
    game: int = 0,
    make_script: Callable[[], Script] = no_script,
) -> _Recording:
    """Play one game or one script and record it; each run uses up a script that ``make_script`` makes."""
    rounds, room = len(rules.deals), ROOM_FOR_EVENTS
    while True:
        script = make_script()
        batch = empty_batch(1, rounds, int(rules.players))
        watch = new_watch(rules, bots, events=room, rounds=rounds, scripted=bool(script.dealer >= 0))
        lanes = run(rules, bots, seed, game, batch, watch, script)
        recorded = int(watch.recorded[0])
        if recorded <= room:
            rows = watch.events[:recorded].tolist()
            events = [Event(*row)._replace(action=Action(row[2])) for row in rows]
            return _Recording(events, batch, watch.snapshots, lanes, script)
        room = recorded


def _points(events: Iterable[Event]) -> list[int]:
    """Give the points of a round by seat; none while it is not over."""
    return [event.detail for event in events if event.action == Action.SCORE]


def _state(
    lane: NDArray[np.uint64], players: int, points: list[int], legal: Iterable[int] = (), still_stacked: int = 0
) -> State:
    """Read a position from a lane.

    Parameters
    ----------
    lane : uint64 array, shape (ROWS,)
        One word of each row of the lanes.
    points
        By seat, if the round is over.
    legal
        The cards that the player may play, if it is not.
    still_stacked
        Cards of a stacked stock that the lane does not know of yet.
    """
    winner = _word(lane, WINNER)
    return {
        "hands": [names(_cards(lane, HANDS, SECOND_HANDS, seat)) for seat in range(players)],
        "top": names(_cards(lane, TOP, TOP + SECOND_DECK)),
        "suit": SUITS[suit_of(_listed(_word(lane, SUIT))[0])],
        "direction": 1 if _word(lane, FORWARD) else -1,
        "to_act": None if points else _word(lane, PLAYER),
        "crank": _word(lane, CRANK),
        "stock": len(_cards(lane, STOCK, STOCK + SECOND_DECK)) + still_stacked,
        "over": bool(points),
        "went_out": None if winner == NOBODY else winner,
        "points": points or None,
        "legal": [card_name(card) for card in sort_hand([*legal])],
    }


def _word(lane: NDArray[np.uint64], row: np.uint64, further: int = 0) -> int:
    """Give the word that a lane has in a row, or in one that lies so many rows further on."""
    return int(lane[int(row // STRIDE) + further])


def _cards(lane: NDArray[np.uint64], row: np.uint64, second_row: np.uint64, further: int = 0) -> list[int]:
    """List the cards that a lane has in a row of first decks' cards and in one of second decks' cards."""
    return _listed(_word(lane, row, further), _word(lane, second_row, further))


def _listed(cards: int, second_cards: int = 0) -> list[int]:
    """List the cards of two sets, of first and of second decks' cards."""
    both = cards | second_cards << SECOND_COPY
    return [card for card in full_deck(2) if both >> card & 1]


def names(cards: Iterable[int]) -> str:
    """Name cards in one text, sorted by suit, then rank."""
    return " ".join(card_name(card) for card in sort_hand([*cards]))


# --- Scenarios ----------------------------------------------------------------------------------------------

MOVE_CODES = {"draw": DRAW_MOVE, "pass": PASS_MOVE, "name": NAME_MOVE}


def play_scenario(source: Path | str | Mapping[str, Any], seed: int = DEFAULT_SEED) -> dict[str, Any]:
    """Play a scenario, and give events and state as ``craits trace --scenario --json`` prints them.

    Parameters
    ----------
    source : path or mapping
        The file, or what one would say.
    seed : int
        Where the scenario says none.

    Raises
    ------
    ScenarioError
        As `load_scenario` and `trace_scenario` raise it.
    """
    return trace_scenario(load_scenario(source, seed)).as_object()


def trace_scenario(scenario: Scenario) -> TracedRound:
    """Play the moves of a scenario, and on where a bot goes on.

    Raises
    ------
    ScenarioError
        If a move is illegal where it stands, or left over when the round is over. The text names the seat, the move,
        the legal moves and the section of RULES.md.
    """
    rules = scenario.rules
    encoded_rules, encoded_bots = encode_table(rules, scenario.bots)
    # A position is one round, whatever the rules deal.
    encoded_rules = encoded_rules._replace(deals=np.ones(1, np.int64))
    recording = _record(encoded_rules, encoded_bots, scenario.seed, make_script=lambda: _script(scenario))
    moves_made, put_on_stock, outcome = recording.script.cursor.tolist()
    points = _points(recording.events)
    playable, second_playable, may_draw, may_pass = legal_moves(recording.lanes, LANE, encoded_rules)
    legal = [] if points else _listed(int(playable), int(second_playable))
    lane = recording.lanes.reshape(-1, int(STRIDE))[:, int(LANE)]
    still_stacked = max(len(recording.script.stacked) - put_on_stock, 0)
    state = _state(lane, rules.players, points, legal, still_stacked)
    if points and moves_made < len(scenario.moves):
        raise scenario.error(f"{_move_place(scenario, moves_made)}: {_why_over(scenario, recording.batch)}")
    if outcome in (Outcome.ILLEGAL_MOVE, Outcome.ILLEGAL_SUIT):
        held = names(_cards(lane, HANDS, SECOND_HANDS, state["to_act"])).split()
        why = _why_illegal(scenario, scenario.moves[moves_made], state, held, has_drawn=_word(lane, DUG) > 0)
        options = [*dict.fromkeys(state["legal"]), *['"draw"'] * may_draw, *['"pass"'] * may_pass]
        raise scenario.error(f"{_move_place(scenario, moves_made)}: {why}; legal: {', '.join(options)}")
    return TracedRound(scenario.dealer, recording.events, state)


def _script(scenario: Scenario) -> Script:
    """Write a scenario as the kernel reads it."""
    hands = np.zeros((2, MAX_PLAYERS), np.uint64)
    for seat, hand in enumerate(scenario.hands):
        hands[:, seat] = _sets(hand)
    moves = [
        (
            MOVE_CODES[move.kind] if move.card is None else move.card,
            OWN_SUIT if move.suit is None else move.suit,
        )
        for move in scenario.moves
    ]
    return no_script()._replace(
        dealer=np.int64(scenario.dealer),
        hands=hands,
        starter=np.uint64(scenario.starter),
        discards=_sets(scenario.discards),
        stock=_sets(() if scenario.stacked else scenario.stock),
        stacked=np.array(scenario.stock if scenario.stacked else (), np.uint64),
        moves=np.array(moves, np.int64).reshape(-1, 2),
        bot_goes_on=np.uint64(scenario.bots_go_on),
    )


def _sets(cards: Iterable[int]) -> NDArray[np.uint64]:
    """Give cards as two sets, of first and of second decks' cards."""
    both = sum(1 << card for card in cards)
    return np.array([both % 2**64, both >> 64], np.uint64)


def _move_place(scenario: Scenario, number: int) -> str:
    return f"moves[{number}] {toml_value(scenario.moves[number].text)}"


def _why_over(scenario: Scenario, batch: Batch) -> str:
    """Say why no move is legal any more."""
    ends = {
        Ending.WENT_OUT: f"seat {batch.went_out[0, 0]} has gone out (RULES.md R11)",
        Ending.BLOCKED: "it is blocked (RULES.md R13)",
        Ending.TRUNCATED: f"the turn cap of {scenario.rules.turn_cap} is reached (RULES.md R13)",
    }
    return f"the round is over before this move: {ends[Ending(batch.ending[0, 0])]}; legal: no move"


def _why_illegal(scenario: Scenario, move: Move, state: State, held: Sequence[str], has_drawn: bool) -> str:
    """Say why a move is illegal where it stands, with the seat and the section of RULES.md."""
    rules = scenario.rules
    seat = f"seat {state['to_act']}"
    in_crank = state["crank"] > 0
    section = "R14" if in_crank else "R9"
    if move.kind == "pass":
        if has_drawn:
            return f"{seat} must play after its draw (RULES.md R9)"
        return f'{seat} has not drawn; "pass" is for a seat that need not play after its draw (RULES.md R9)'
    if move.kind == "draw":
        if has_drawn:
            return f"{seat} has drawn already in this turn (RULES.md R9)"
        if rules.draw.voluntary and not in_crank:
            return f"{seat} can play, and there is no card to draw (RULES.md R12)"
        return f"{seat} can play, and so must (RULES.md {section})"
    if move.card is None:
        return f"{seat} is to play; only the first move can name the suit of the starter (RULES.md R5)"
    card = card_name(move.card)
    if card not in held:
        return f"{seat} does not hold {card} (RULES.md {section})"
    if card in state["legal"]:
        suits = ", ".join(SUITS[suit] for suit in suits_after(rules, move.card))
        return f'{seat} cannot name that suit: after {card} the suit to follow can be {suits} (RULES.md "Abilities")'
    if in_crank:
        joining = [rank for rank in RANKS if rules.abilities[rank].kind in ("crank", "crank_start")]
        follow = f"{' and '.join(joining)} follow{'s' * (len(joining) == 1)}"
        return f"{seat} may not play it here: in a crank only {follow} (RULES.md R14)"
    follow = f"{SUIT_WORDS[SUITS.index(state['suit'])]} are to follow, or what matches {state['top']}"
    return f"{seat} may not play it here: {follow} by {rules.match} (RULES.md R8)"


# --- Words --------------------------------------------------------------------------------------------------


def game_text(rules: Rules, game: TracedGame, round_number: int | None = None) -> str:
    """Tell a game, or one round of it (from 1), with running totals."""
    lines: list[str] = []
    totals = [0] * rules.players
    for number, (played, cards) in enumerate(zip(game.rounds, rules.deals, strict=True), start=1):
        totals = [total + points for total, points in zip(totals, played.state["points"], strict=True)]
        if round_number in (None, number):
            lines += [f"round {number}   {_counted(cards, 'card')} each   seat {played.dealer} deals"]
            lines += [*_tell_round(rules, played, totals), ""]
    if round_number in (None, len(game.rounds)):
        lines.append(_tell_winners(rules, game.wins))
    return "\n".join(lines).rstrip()


def scenario_text(scenario: Scenario, played: TracedRound) -> str:
    """Tell what happened in a scenario, and how things stand where its moves run out."""
    rules, state = scenario.rules, played.state
    lines = [f"position   {rules.players} players   seat {scenario.dealer} dealt"]
    lines += _tell_round(rules, played)
    if not state["over"]:
        suit = SUIT_WORDS[SUITS.index(state["suit"])]
        crank = f", crank of {state['crank']}" if state["crank"] else ""
        lines += ["", f"to act: seat {state['to_act']}   top card {state['top']}, {suit} to follow{crank}"]
        lines += [f"  seat {seat}  holds {hand}".rstrip() for seat, hand in enumerate(state["hands"])]
        lines += [f"  legal: {' '.join(state['legal']) or 'no card'}", f"  stock: {state['stock']}"]
    return "\n".join(lines)


def _tell_winners(rules: Rules, wins: Sequence[int]) -> str:
    winners = [seat for seat, share in enumerate(wins) if share]
    if not winners:
        return "nobody wins"
    side = rules.partners and len(winners) == 2
    return f"{_seats(winners)} {'win' if side else 'share the win' if len(winners) > 1 else 'wins'}"


def _counted(number: int, what: str) -> str:
    """Name a number of things: ``1 card``, ``2 cards``."""
    return f"{number} {what}{'s' * (number > 1)}"


def _seats(seats: Sequence[int]) -> str:
    """Name seats: ``seat 1``, ``seats 1 and 2``."""
    return f"seat{'s' * (len(seats) > 1)} {' and '.join(map(str, seats))}"


@dataclass
class _Line:
    """One line of a transcript: what a seat does, the cards that it has then, and what that means."""

    seat: int
    action: str
    cards: str = ""
    remarks: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return f"  seat {self.seat}  {self.action:<34}  {self.cards:<8}  {', '.join(self.remarks)}".rstrip()


def _tell_round(rules: Rules, played: TracedRound, totals: Sequence[int] | None = None) -> Iterator[str]:
    """Tell the events of a round, a line each; the draws of one seat for one cause share a line."""
    narrator = _Narrator(rules)
    groups: list[list[Event]] = []
    for event in played.events:
        if groups and _share_a_line(groups[-1][0], event):
            groups[-1].append(event)
        else:
            groups.append([event])
    for group, following in zip(groups, [*groups[1:], None], strict=True):
        narrator.tell(group, goes_out=following is not None and following[0].action == Action.GO_OUT)
    yield from map(str, narrator.lines)
    if narrator.ending:
        yield f"  {narrator.ending}"
    if played.state["over"]:
        for seat, (points, hand) in enumerate(zip(played.state["points"], played.state["hands"], strict=True)):
            total = "" if totals is None else f"   total {totals[seat]:>5}"
            yield f"  seat {seat}  scores {points:>4}{total}   {hand}".rstrip()


def _share_a_line(first: Event, second: Event) -> bool:
    same = first.action == second.action and first.seat == second.seat and first.detail == second.detail
    return same and first.action in (Action.DEAL, Action.DRAW)


class _Narrator:
    """Follows the events of a round and puts them into words."""

    def __init__(self, rules: Rules) -> None:
        self.lines: list[_Line] = []
        self.ending = ""
        self._rules = rules
        self._encoded = encode_rules(rules)
        self._held: list[set[int]] = [set() for _ in range(rules.players)]
        self._direction = 1
        self._crank = 0
        self._paid = 0
        self._top = -1

    def tell(self, events: Sequence[Event], goes_out: bool) -> None:
        """Tell one event, or several that share a line, knowing whether somebody goes out next."""
        event = events[0]
        if self._crank and not event.crank:
            self._paid = self._crank
        was_in_crank, self._crank = self._crank > 0, event.crank
        match event.action:
            case Action.DEAL:
                self._take(events)
                self._say(event, f"holds {names(self._held[event.seat])}")
            case Action.STARTER:
                self._top = event.card
                self._say(event, f"turns up {card_name(event.card)}")
                if self._rules.starter.acts:
                    self._tell_ability(event)
            case Action.PLAY:
                self._top = event.card
                self._held[event.seat].remove(event.card)
                self._say(event, f"plays {card_name(event.card)}", f"{len(self._held[event.seat])} left")
                if not was_in_crank and not goes_out:
                    self._tell_ability(event)
            case Action.DRAW:
                instead = not self._held[event.seat] and event.detail == Cause.OWN
                self._take(events)
                cards = " ".join(card_name(draw.card) for draw in events)
                cause = "instead of going out" if instead else self._cause(event)
                action = f"draws {cards}" + (f" ({cause})" if cause else "")
                self._say(event, action, f"{len(self._held[event.seat])} held")
            case Action.RESHUFFLE:
                self._say(event, f"shuffles {_counted(event.detail, 'discard')} into a stock")
            case Action.PRESSURE:
                self._remark(f"{event.detail} points of shuffle pressure")
            case Action.PASS:
                self._say(event, "can neither play nor draw")
            case Action.CAUGHT:
                self._say(event, "is caught: last card not announced")
            case Action.LOST_TURN:
                self._say(event, "loses this turn")
            case Action.GO_OUT:
                if self.lines[-1].seat != event.seat or not self.lines[-1].action.startswith("plays"):
                    self._say(event, "has no card and can draw none")
                self._remark("goes out")
            case Action.BLOCKED:
                self.ending = "the round is blocked: nobody can play or draw"
            case Action.TRUNCATED:
                self.ending = f"the round is cut off: the turn cap of {self._rules.turn_cap} is reached"
        if event.crank and event.action in (Action.STARTER, Action.PLAY):
            self._remark(f"crank of {event.crank}")

    def _say(self, event: Event, action: str, cards: str = "") -> None:
        self.lines.append(_Line(event.seat, action, cards))

    def _remark(self, text: str) -> None:
        self.lines[-1].remarks.append(text)

    def _take(self, events: Iterable[Event]) -> None:
        for event in events:
            self._held[event.seat].add(event.card)

    def _cause(self, event: Event) -> str:
        match Cause(event.detail):
            case Cause.ABILITY:
                return card_name(self._top)
            case Cause.CRANK:
                return f"crank of {self._paid}"
            case Cause.PENALTY:
                return "penalty"
        return ""

    def _tell_ability(self, event: Event) -> None:
        """Tell what a card does beside the draws and the crank, which are events of their own."""
        ability = self._rules.abilities[RANKS[rank_of(event.card)]]
        suit = SUIT_WORDS[event.suit]
        match ability.kind:
            case "nominate":
                self.lines[-1].action += f", names {suit}"
            case "recolor" if event.suit != suit_of(event.card):
                self.lines[-1].action += f", changes to {suit}"
            case "reverse":
                self._direction = -self._direction
                self._remark("clockwise" if self._direction > 0 else "counterclockwise")
            case "again" if self._held[event.seat] or not self._encoded.last_again_draws:
                self._remark("takes another turn")
        skipped = range(1, int(self._encoded.skips[rank_of(event.card)]) + 1)
        if skipped:
            seats = [(event.seat + self._direction * step) % self._rules.players for step in skipped]
            self._remark(f"{_seats(seats)} {'are' if len(seats) > 1 else 'is'} skipped")
