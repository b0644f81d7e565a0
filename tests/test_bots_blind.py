"""Bots see their own hand and the table, and nothing else: hidden cards that change places change no choice."""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from craits_sim.bots import BOTS, OWN, parse_bot
from craits_sim.cards import card_name, full_deck, parse_card
from craits_sim.results import Action
from craits_sim.scenario import load_scenario
from craits_sim.trace import trace_scenario

PRESETS = ("classic", "wiki", "crazy_eights_special", "last_card_house")
EVERY_BOT = (
    "random",
    "greedy",
    "greedy:never=8/9",
    "random:never=2/8",
    "careful",
    "careful:noise=5",
    "careful:never=8",
    "tuned",
    "rollout:worlds=4",
    "rollout:worlds=4:base=random",
    f"{Path(__file__).parent / 'nosy.py'}:choose",
)

Choice = tuple[int, int, int]
"""Seat, card and suit."""

Choose = Callable[[dict[str, Any]], Choice | None]
"""What seat 0 does in a position."""


def first_choice(bot: str, preset: str, table: dict[str, Any]) -> Choice | None:
    """Give seat, card and suit of the first play after the starter; None where the round's first turn is a draw."""
    scenario = load_scenario({"rules": preset, "bot": bot, "dealer": len(table["hands"]) - 1, **table})
    for event in trace_scenario(scenario).events:
        if event.action == Action.PLAY:
            return event.seat, event.card, event.suit
        if event.action in (Action.DRAW, Action.PASS):
            return None
    return None


def names(cards: Sequence[int]) -> str:
    return " ".join(card_name(card) for card in cards)


@st.composite
def positions(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any]]:
    """Draw a position in which seat 0 acts first, and the same with all cards that it does not see exchanged."""
    players = draw(st.integers(2, 5))
    cards = list(draw(st.permutations(full_deck(1))))
    sizes = [draw(st.integers(1, 8)) for _ in range(players)]
    hands = []
    for size in sizes:
        hands.append(cards[:size])
        cards = cards[size:]
    starter, cards = cards[0], cards[1:]
    under = draw(st.integers(0, 10))
    discards, stock = cards[:under], cards[under:]
    table = {
        "hands": [names(hand) for hand in hands],
        "starter": card_name(starter),
        "discards": names(discards),
        "stock": names(stock),
        "seed": draw(st.integers(0, 2**64 - 1)),
        # The starter must leave the turn, and the cards of seat 0, as they are. Only the first turn is looked at, but a
        # bot that looks ahead needs some more.
        "set": {"starter.acts": False, "turn_cap": 20},
    }
    hidden = list(draw(st.permutations([card for hand in hands[1:] for card in hand] + stock)))
    exchanged = [hands[0]]
    for size in sizes[1:]:
        exchanged.append(hidden[:size])
        hidden = hidden[size:]
    return table, {**table, "hands": [names(hand) for hand in exchanged], "stock": names(hidden)}


def assert_blind(choose: Choose, pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    """Assert that seat 0 makes the same choice when what it does not see changes places."""
    before, after = pair
    choice = choose(before)
    assert choice == choose(after), "the choice hangs on hidden cards"
    if choice is not None:
        assert choice[0] == 0


@pytest.mark.parametrize("bot", EVERY_BOT)
@pytest.mark.parametrize("preset", PRESETS)
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(pair=positions())
def test_hidden_cards_change_no_choice(bot: str, preset: str, pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
    assert_blind(partial(first_choice, bot, preset), pair)


def test_every_bot_is_among_them() -> None:
    assert {parse_bot(bot).kind.name for bot in EVERY_BOT} == {*BOTS, OWN.name}


def test_a_bot_that_knows_one_hidden_card_would_be_caught() -> None:
    """The cheat chooses as careful does, but where the next card of the stock is a heart, its first legal card."""

    def cheat(table: dict[str, Any]) -> Choice | None:
        choice = first_choice("careful", "classic", table)
        if choice is None or not table["stock"].split()[:1] or table["stock"].split()[0][-1] != "H":
            return choice
        scenario = load_scenario({"rules": "classic", "dealer": len(table["hands"]) - 1, **table})
        legal = trace_scenario(scenario).state["legal"]
        return 0, parse_card(legal[0]), choice[2]

    @settings(phases=[Phase.generate], max_examples=60, deadline=None, derandomize=True)
    @given(pair=positions())
    def check(pair: tuple[dict[str, Any], dict[str, Any]]) -> None:
        assert_blind(cheat, pair)

    with pytest.raises(AssertionError, match="hangs on hidden cards"):
        check()


def test_a_card_of_its_own_does_change_a_choice() -> None:
    """So that the test above compares something: what a bot chooses hangs on what it holds."""
    table = {"starter": "KS", "set": {"starter.acts": False}, "stock": "2C"}
    assert first_choice("greedy", "classic", {**table, "hands": ["5S 9S 2D", "4C"]}) != first_choice(
        "greedy", "classic", {**table, "hands": ["5S 8C 2D", "4C"]}
    )
    choices = {
        first_choice("random", "classic", {**table, "hands": ["5S 9S 2D", "4C"], "seed": seed}) for seed in range(20)
    }
    assert len(choices) > 2
