"""The compiled kernel against the slow second engine: the same events, and the same figures in the batch."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from craits_sim.bots import BotSpec, parse_bots
from craits_sim.encode import encode
from craits_sim.features import FEATURES
from craits_sim.kernel.script import no_script
from craits_sim.kernel.simulate import run, simulate_batch
from craits_sim.kernel.watch import new_watch
from craits_sim.results import DETAILS, EVENT_DTYPE, Action, Batch, empty_batch
from craits_sim.rules import Rules, RulesError, load_rules, preset_names
from tests.naive import Event, play_game
from tests.strategies import tables, weights_file

ROOM_FOR_EVENTS = 400_000
FIELDS = [field for field in Batch._fields if field not in DETAILS]
BOTS = (
    "random",
    "greedy",
    "random:forget=0.4:catch=0.5",
    "random,greedy:forget=1",
    "greedy:forget=0.3,random:catch=0",
    "random:never=8/9,greedy:never=2/5/8",
    "careful",
    "careful:noise=5,tuned:noise=0.5",
    "tuned:never=2/8/9:forget=0.3,random,greedy:never=8,careful:never=6/9:noise=2",
)

SHORT_GAME = {"deals": [8, 5, 2, 1], "turn_cap": 150}
"""For bots that weigh: a turn of theirs takes the second engine a millisecond, and five of them may pass the same cards
round for ever (in every second round of last_card_house)."""


@pytest.fixture(scope="module")
def odd_weights() -> list[str]:
    """Bots with weights that nobody would choose: every feature counts, and the sign of each is left to chance."""
    numbers = Random(1)
    return [f"careful:weights={weights_file({name: numbers.uniform(-20, 20) for name in FEATURES})}" for _ in range(4)]


def bots_of(text: str, players: int) -> tuple[BotSpec, ...]:
    """Seat bots around a table, in turn."""
    kinds = [parse_bots(kind, 1)[0] for kind in text.split(",")]
    return tuple(kinds[seat % len(kinds)] for seat in range(players))


def play_recorded(
    rules: Rules, bots: Sequence[BotSpec], seed: int, first_game: int, games: int
) -> tuple[Batch, dict[int, list[Event]]]:
    """Play games in the kernel, checking and recording every step; the events of each game by its index."""
    encoded_rules, encoded_bots = encode(rules, bots)
    batch = empty_batch(games, len(rules.deals), rules.players)
    watch = new_watch(encoded_rules, encoded_bots, events=ROOM_FOR_EVENTS, checks=True)
    run(encoded_rules, encoded_bots, seed, first_game, batch, watch, no_script())
    assert watch.recorded[0] <= ROOM_FOR_EVENTS
    events: dict[int, list[Event]] = {game: [] for game in range(first_game, first_game + games)}
    for event in watch.events[: watch.recorded[0]].tolist():
        events[event[0]].append(event)
    return batch, events


def tell(events: Sequence[Event], place: int) -> str:
    """Write an event in words, or that there is none."""
    if place >= len(events):
        return "no event"
    return ", ".join(
        f"{name} {Action(value).name if name == 'action' else value}"
        for name, value in zip(EVENT_DTYPE.names or (), events[place], strict=True)
    )


def compare(rules: Rules, bots: Sequence[BotSpec], seed: int, games: int, first_game: int = 0) -> int:
    """Play games in both engines and compare all that they say; gives the number of rounds."""
    batch, events = play_recorded(rules, bots, seed, first_game, games)
    unwatched = simulate_batch(rules, bots, seed, first_game, games)
    for field in FIELDS:
        assert np.array_equal(getattr(batch, field), getattr(unwatched, field)), f"{field} depends on being watched"
    for game in range(first_game, first_game + games):
        naive = play_game(rules, bots, seed, game)
        kernel = events[game]
        if kernel != naive.events:
            pairs = zip(kernel, naive.events, strict=False)
            shorter = min(len(kernel), len(naive.events))
            place = next((place for place, (ours, theirs) in enumerate(pairs) if ours != theirs), shorter)
            pytest.fail(
                f"game {game} of seed {seed}, event {place}: kernel {tell(kernel, place)}; "
                f"naive {tell(naive.events, place)}; both before: {tell(kernel, place - 1)}"
            )
        for field in FIELDS:
            assert getattr(batch, field)[game - first_game].tolist() == getattr(naive, field), f"{field} of game {game}"
    return batch.turns.size


@pytest.mark.parametrize("bots", BOTS)
@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_played_alike(preset: str, bots: str) -> None:
    rounds = 0
    changes = SHORT_GAME if "careful" in bots else {}
    for players in range(2, 6):
        try:
            rules = load_rules(preset, {"players": players, **changes})
        except RulesError:
            assert preset == "partners"
            continue
        rounds += compare(rules, bots_of(bots, players), seed=7, games=2)
    assert rounds > 0


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_is_played_alike_whatever_the_weights(preset: str, odd_weights: list[str]) -> None:
    for players in (4,) if preset == "partners" else range(2, 6):
        bots = bots_of(",".join(odd_weights), players)
        compare(load_rules(preset, {"players": players, **SHORT_GAME}), bots, seed=5, games=2)


@pytest.mark.parametrize("players", [6, 8, 10])
@pytest.mark.parametrize("bots", [*BOTS[:3], *BOTS[-4:]])
def test_large_tables_with_two_decks_are_played_alike(players: int, bots: str) -> None:
    for preset in ("classic", "wiki"):
        rules = load_rules(preset, {"players": players, "decks": 2, "deals": [8, 4, 1], "turn_cap": 150})
        compare(rules, bots_of(bots, players), seed=11, games=4)


def test_large_tables_are_played_alike_whatever_the_weights(odd_weights: list[str]) -> None:
    for players in (6, 10):
        rules = load_rules("wiki", {"players": players, "decks": 2, "deals": [8, 4, 1], "turn_cap": 150})
        compare(rules, bots_of(",".join(odd_weights), players), seed=12, games=4)


def test_two_decks_at_a_small_table_and_a_large_game_index_are_played_alike() -> None:
    rules = load_rules("classic", {"players": 3, "decks": 2, "deals": [20, 1]})
    for bots in ("random,greedy", "careful:noise=1,tuned:never=8"):
        compare(rules, bots_of(bots, 3), seed=2**64 - 1, games=3, first_game=2**40)


@settings(max_examples=250, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tables(), st.integers(0, 2**64 - 1))
def test_any_rules_are_played_alike(table: tuple[Rules, tuple[BotSpec, ...]], seed: int) -> None:
    compare(*table, seed, games=2)
