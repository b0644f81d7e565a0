"""The bot that looks ahead: what it finds, what it imagines, and that chance is its own."""

from typing import Any

import numpy as np
import pytest

from craits_sim import aggregate, runner
from craits_sim.bots import parse_bots
from craits_sim.cards import card_name
from craits_sim.design import DesignPoint
from craits_sim.kernel import simulate_batch
from craits_sim.kernel.rollout import MARGIN, TRIED, _best_of, _list_tried
from craits_sim.kernel.slate import SCORE, new_slate
from craits_sim.results import DETAILS, WIN_UNIT, Action
from craits_sim.rules import load_rules
from craits_sim.scenario import load_scenario
from craits_sim.trace import trace_scenario
from tests.positions import lay_out

FEW = "rollout:worlds=4"


def first_card(**position: Any) -> str:
    """Give the card that seat 0 plays first in a position."""
    events = trace_scenario(load_scenario(lay_out(**position))).events
    return next(card_name(event.card) for event in events if event.action == Action.PLAY and event.seat == 0)


# --- What it finds ---


@pytest.mark.parametrize("base", ["random", "greedy", "careful"])
@pytest.mark.parametrize("win", ["lowest_total", "first_out"])
def test_it_goes_out_at_once_where_it_can(win: str, base: str) -> None:
    """A 6 gives another turn: 6 and then 8 ends the round. After the 8 one of three with one card may go out first."""
    table = {"starter": "QS", "hands": ["6S 8H", "KS", "KD", "10C"], "stock": "QH JD QD KC 5C 2C 4D 4S 5H"}
    changes = {"win": win}
    assert first_card(**table, changes=changes, bot=f"rollout:base={base}:worlds=64") == "6S"
    assert first_card(**table, changes=changes, bot="greedy") == "8H"


def test_it_plays_by_the_rules_of_the_table() -> None:
    """Where nobody goes out on an ace, and the first to go out wins, the king must stay to the last."""
    table = {"starter": "QS", "hands": ["AS KS", "4H JC"], "stock": "QH JD QD KC 5C 7C 9D AH"}
    changes = {"going_out.on_ability": False, "win": "first_out"}
    assert first_card(**table, changes=changes, bot="rollout:base=greedy:worlds=64") == "AS"
    assert first_card(**table, changes=changes, bot="greedy") == "KS"


def values(*differences: float) -> np.ndarray:
    """Give the results of two moves: the first came to 1 in each world, the second to so much more."""
    return np.array([np.ones(len(differences)), 1 + np.array(differences)])


def test_the_base_has_a_say_until_another_move_is_surely_better() -> None:
    """Over n worlds a mean has the standard error sd / sqrt(n - 1)."""
    unsure = values(10, -8, 10, -8)  # mean 1, error 9 / sqrt(3) = 5.2
    assert _best_of(unsure, 2, 4, True) == 0
    assert _best_of(unsure, 2, 4, False) == 1
    error = 2 / np.sqrt(3)
    for mean, best in ((0.99 * MARGIN * error, 0), (1.01 * MARGIN * error, 1), (-3 * error, 0)):
        assert _best_of(values(mean + 2, mean - 2, mean + 2, mean - 2), 2, 4, True) == best
    assert _best_of(values(3, 3, 3, 3), 2, 4, True) == 1  # no doubt at all
    assert _best_of(values(50), 2, 1, True) == 0  # one world says nothing about its error
    assert _best_of(values(0, 0), 2, 2, False) == 0


def test_the_best_moves_of_the_base_are_tried() -> None:
    """By score, of equals the first; without scores all."""
    slate, tried = new_slate(thinking=True), np.zeros(8, np.uint64)
    scores = [5, -3, 7, 7, 5, 9]
    slate[int(SCORE) + 2 : int(SCORE) + 2 + len(scores)] = np.array(scores, np.int64).view(np.uint64)
    start, end = np.uint64(2), np.uint64(2 + len(scores))
    assert _list_tried(slate, start, end, True, tried) == TRIED
    assert tried[:TRIED].tolist() == [7, 4, 5]
    assert _list_tried(slate, start, end, False, tried) == len(scores)
    assert tried[: len(scores)].tolist() == list(range(2, 8))


def test_looking_ahead_pays() -> None:
    """Chance gives it 0.25 of the games, with a standard error of 0.025 over 300; it wins half of them."""
    bots = parse_bots("rollout:worlds=8:base=random,random,random,random", 4)
    batch = simulate_batch(load_rules("classic"), bots, 2, 0, 300)
    assert batch.wins[:, 0].mean() > 0.4 * WIN_UNIT


# --- Chance ---


@pytest.mark.parametrize("preset", ["classic", "crazy_eights_special"])
def test_a_game_is_the_same_alone_and_in_a_batch(preset: str) -> None:
    bots = parse_bots(f"{FEW},greedy,rollout:worlds=5:base=random,tuned", 4)
    rules = load_rules(preset, {"players": 4, "deals": [5, 3]})
    together = simulate_batch(rules, bots, 3, 0, 70, checks=True)
    for number in (0, 33, 69):
        alone = simulate_batch(rules, bots, 3, number, 1)
        for name, array in alone._asdict().items():
            assert name in DETAILS or array[0].tolist() == getattr(together, name)[number].tolist(), name


def test_threads_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = load_rules("classic", {"deals": [4]})
    point = DesignPoint({}, rules, parse_bots(f"{FEW},tuned,tuned,{FEW}", 4))
    sums = []
    for threads, chunk in ((1, 100), (2, 7)):
        monkeypatch.setattr(runner, "CHUNK_GAMES", chunk)
        tallied = runner.run([point], aggregate.tally, games=100, seed=2, threads=threads)
        sums.append({key: numbers.tolist() for key, numbers in tallied.items()})
    assert sums[0] == sums[1]


# --- Any table ---


@pytest.mark.parametrize(
    ("preset", "changes"),
    [
        ("classic", {"players": 6, "decks": 2}),
        ("classic", {"players": 2, "match": "suit_or_ability"}),
        ("partners", {}),
        ("last_card_house", {}),
        ("crazy_eights", {"win": "first_out"}),
        ("wiki", {"stock.pressure": 5, "draw.until_playable": True}),
    ],
)
def test_it_plays_at_any_table(preset: str, changes: dict[str, Any]) -> None:
    """The checks see every play of the game; its imagined rounds must end, too."""
    rules = load_rules(preset, {**changes, "deals": [3]})
    batch = simulate_batch(rules, parse_bots(FEW, rules.players), 1, 0, 20, checks=True)
    assert (batch.turns > 0).all()


def test_cards_out_of_play_are_no_trouble() -> None:
    """Half the deck is nowhere: what it imagines in the other hands may be nowhere, too."""
    table = lay_out(starter="QS", hands=["6S 8H 4D 9S", "KS 2C", "7H"], stock="QH JD 5C", bot=FEW)
    state = trace_scenario(load_scenario(table)).state
    assert state["over"]
