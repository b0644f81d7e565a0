"""Positions and games for the rule tests, each played by both engines.

A rule test lays out a position, has it played, and looks at where it ends::

    end = play(starter="KS", hands=["2S 4C", "AD QD"], stock="5C 6C", moves="2S")
    assert (end.crank, end.to_act, end.legal) == (2, 1, ["AD"])

Cards and moves are written as in a scenario file (`craits_sim.scenario`), only the moves in one text. The last seat
has dealt unless the test says otherwise, so that seat 0 plays first. A stock that is not given is empty.

The compiled kernel and `tests.naive` must write the same events and end in the same state; the test then has only one
thing to look at.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from craits_sim.bots import parse_bot, parse_bots
from craits_sim.cards import SUITS, card_name, suit_of
from craits_sim.encode import encode
from craits_sim.features import FEATURES
from craits_sim.kernel import simulate_batch
from craits_sim.kernel._jit import compiled
from craits_sim.kernel.build import build_for
from craits_sim.kernel.lanes import PLAYABLE, PLAYER, SECOND_DECK
from craits_sim.kernel.moves import list_moves, look_around, note_standings, weigh_moves
from craits_sim.kernel.simulate import run
from craits_sim.kernel.slate import CARD, FIRST_FEATURE, NEW_SUIT, ROW, SCORE, new_slate
from craits_sim.kernel.watch import new_watch
from craits_sim.kernel.words import U0
from craits_sim.results import DETAILS, Action, Cause, empty_batch
from craits_sim.rules import load_rules
from craits_sim.scenario import ScenarioError, load_scenario
from craits_sim.trace import _script, trace_game, trace_scenario
from tests.naive import (
    Event,
    IllegalMove,
    MovesRunOut,
    NaiveGame,
    Round,
    ScriptedMoves,
    features_of,
    play_game,
    set_up,
    standing_of,
    state,
)
from tests.naive import list_moves as list_moves_naively

Changes = Mapping[str, object]
"""Fields of the rules by their dotted keys, as `--set` takes them."""


# Positions --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Position:
    """Where a position ends: where its moves run out, or when the round is over."""

    hands: list[str]
    """The cards of each seat, sorted by suit and rank."""
    top: str
    suit: str
    """The suit to follow."""
    direction: int
    """1 clockwise, -1 the other way."""
    to_act: int | None
    """The seat whose turn it is; None when the round is over."""
    crank: int
    stock: int
    """How many cards it has."""
    over: bool
    went_out: int | None
    """The seat that went out first."""
    points: list[int] | None
    """By seat; None before the round is over."""
    legal: list[str]
    """The cards that the seat to act may play."""
    story: list[str]
    """What happened between the starter and the scores, an event a line (`tell`)."""


def lay_out(
    *,
    starter: str,
    hands: Sequence[str],
    stock: str = "",
    moves: str = "",
    discards: str = "",
    dealer: int = -1,
    rules: str = "classic",
    changes: Changes | None = None,
    bot: str | None = None,
    seed: int = 1,
) -> dict[str, Any]:
    """Lay out a position, as the scenario that a file would say.

    Parameters
    ----------
    starter, hands, discards
        The card turned up, the cards of each seat, and the cards under the starter.
    stock
        The cards to draw, top card first.
    moves
        Every turn in order.
    dealer
        A seat; -1 is the last.
    rules, changes
        A preset, and what is different.
    bot
        Who goes on when the moves run out; without one the position ends there.
    seed
        Of the bots' choices, and of a stock that was reshuffled.
    """
    goes_on = {} if bot is None else {"bot": bot}
    return goes_on | {
        "rules": rules,
        "set": {"deals": [1], **(changes or {})},
        "dealer": dealer % len(hands),
        "starter": starter,
        "hands": list(hands),
        "stock": stock,
        "discards": discards,
        "moves": moves.split(),
        "seed": seed,
    }


def play(**position: Any) -> Position:
    """Play a position with both engines, which must agree; parameters as for `lay_out`."""
    scenario = lay_out(**position)
    naive_state, naive_events = _play_naively(scenario)
    traced = trace_scenario(load_scenario(scenario))
    assert traced.state == naive_state
    assert [tuple(event) for event in traced.events] == naive_events
    return Position(**naive_state, story=tell(naive_events))


def assert_refused(*, moves: str, **position: Any) -> None:
    """Check that both engines refuse the last of these moves, and only that one."""
    play(moves=moves.rpartition(" ")[0], **position)
    scenario = lay_out(moves=moves, **position)
    with pytest.raises(IllegalMove):
        _play_naively(scenario)
    with pytest.raises(ScenarioError, match="legal"):
        trace_scenario(load_scenario(scenario))


def _play_naively(scenario: Mapping[str, Any]) -> tuple[dict[str, Any], list[Event]]:
    played = _played(scenario)
    return state(played), played.events


def _played(scenario: Mapping[str, Any]) -> Round:
    played = set_up(scenario)
    with suppress(MovesRunOut):
        played.play()
    assert isinstance(played.chooser, ScriptedMoves)
    assert not played.chooser.moves, "the round is over before these moves"
    return played


# Moves as careful sees them ---------------------------------------------------------------------------------


def weigh(*, totals: Sequence[int] | None = None, **position: Any) -> dict[str, dict[str, int]]:
    """Count the features of every move of the seat to act with both engines, which must agree.

    Parameters
    ----------
    totals
        The points of each seat before this round; zeros if not given.
    position
        As for `lay_out`.

    Returns
    -------
    dict
        By move in the order in which they are weighed, like ``8S>H``, the features by name.
    """
    laid_out = lay_out(**position)
    totals = [0] * len(laid_out["hands"]) if totals is None else totals
    played = _played(laid_out)
    seat = played.to_act
    standing = standing_of(seat, totals)
    expected = {
        f"{card_name(move.card)}>{SUITS[move.suit]}": features_of(played, seat, move, standing)
        for move in list_moves_naively(played, played.playable(seat), keeps_suit=False)
    }
    weighed, scores = _weigh_in_kernel(laid_out, totals)
    assert list(weighed.items()) == list(expected.items())
    weights = parse_bot("careful").weights_at(len(totals))
    for counted, score in zip(weighed.values(), scores, strict=True):
        assert score == sum(weight * number for weight, number in zip(weights, counted.values(), strict=True))
    return weighed


def _weigh_in_kernel(laid_out: Mapping[str, Any], totals: Sequence[int]) -> tuple[dict[str, dict[str, int]], list[int]]:
    """Give the features of the moves and their scores."""
    scenario = load_scenario(laid_out)
    rules, bots = encode(scenario.rules, parse_bots("careful", len(totals)))
    batch = empty_batch(1, 1, len(totals))
    lanes = run(rules, bots, scenario.seed, 0, batch, new_watch(rules, bots, scripted=True), _script(scenario))
    slate = new_slate(thinking=True)
    end = int(_weigh_one_lane(lanes, np.array(totals, np.int64), rules, bots, build_for(rules, bots), slate))

    def row(start: np.uint64) -> NDArray[np.int64]:
        return slate[int(start) :][:end].astype(np.int64)

    moves = [f"{card_name(card)}>{SUITS[suit]}" for card, suit in zip(row(CARD), row(NEW_SUIT), strict=True)]
    columns = [row(FIRST_FEATURE + np.uint64(number) * ROW).tolist() for number in range(len(FEATURES))]
    weighed = {
        move: dict(zip(FEATURES, counted, strict=True))
        for move, counted in zip(moves, zip(*columns, strict=True), strict=True)
    }
    return weighed, row(SCORE).tolist()


@compiled
def _weigh_one_lane(lanes, totals, rules, bots, build, slate):  # type: ignore[no-untyped-def]
    look_around(lanes, U0, rules, build)
    note_standings(lanes, U0, totals, rules.players, build)
    cards, second_cards = lanes[PLAYABLE], lanes[PLAYABLE + SECOND_DECK]
    end = list_moves(lanes, U0, lanes[PLAYER], cards, second_cards, False, False, rules, bots, build, slate, U0)
    weigh_moves(slate, end, rules, bots, build)
    return end


# Games ------------------------------------------------------------------------------------------------------


def play_games(
    games: int = 1, *, rules: str = "classic", changes: Changes | None = None, bots: str = "random", seed: int = 1
) -> list[NaiveGame]:
    """Play games 0 to ``games - 1`` of a seed with both engines, which must agree."""
    loaded = load_rules(rules, changes)
    seats = parse_bots(bots, loaded.players)
    batch = simulate_batch(loaded, seats, seed, 0, games, checks=True)
    played = [play_game(loaded, seats, seed, number) for number in range(games)]
    for number, game in enumerate(played):
        traced = trace_game(loaded, seats, seed, number)
        assert [tuple(event) for round_ in traced.rounds for event in round_.events] == game.events
        for name, array in batch._asdict().items():
            assert name in DETAILS or array[number].tolist() == getattr(game, name), name
    return played


def rounds_of(game: NaiveGame) -> list[list[Event]]:
    """Give the events of a game round by round."""
    return [[event for event in game.events if event[1] == number] for number in range(len(game.dealer))]


# Words ------------------------------------------------------------------------------------------------------


def tell(events: Sequence[Event]) -> list[str]:
    """Put the events between the starter and the scores into words."""
    told = (_tell(event) for event in events)
    return [line for line in told if line]


def _tell(event: Event) -> str:
    _, _, action, seat, card, suit, _, detail = event
    match Action(action):
        case Action.PLAY:
            named = f">{SUITS[suit]}" if suit != suit_of(card) else ""
            return f"{seat} plays {card_name(card)}{named}"
        case Action.DRAW:
            cause = "" if detail == Cause.OWN else f" ({Cause(detail).name.lower()})"
            return f"{seat} draws {card_name(card)}{cause}"
        case Action.RESHUFFLE:
            return f"{seat} reshuffles {detail}"
        case Action.PRESSURE:
            return f"{seat} pays {detail}"
        case Action.PASS:
            return f"{seat} passes"
        case Action.CAUGHT:
            return f"{seat} is caught"
        case Action.LOST_TURN:
            return f"{seat} loses a turn"
        case Action.GO_OUT:
            return f"{seat} goes out"
        case Action.BLOCKED:
            return "blocked"
        case Action.TRUNCATED:
            return "truncated"
    return ""
