"""R17, the points of the cards left, and R18, the threes.

Seat 0 goes out with a jack; the hand of seat 1 is what is scored.
"""

import pytest

from craits_sim.cards import RANKS
from tests.positions import Changes, play


def score(hand: str, changes: Changes | None = None) -> int:
    """Let both engines score a hand left."""
    starter, last = ("QS", "JS") if not {"QS", "JS"} & set(hand.split()) else ("QD", "JD")
    end = play(starter=starter, hands=[last, hand], moves=last, changes=changes)
    assert end.points is not None
    assert end.points[0] == 0
    return end.points[1]


CLASSIC_POINTS = [
    ("A", 1),
    ("2", 20),
    ("4", 15),
    ("5", 30),
    ("6", 30),
    ("7", 20),
    ("8", 50),
    ("9", 30),
    ("10", 25),
    ("J", 10),
    ("Q", 10),
    ("K", 10),
]


@pytest.mark.parametrize(("rank", "points"), CLASSIC_POINTS)
def test_r17_points_of_each_card(rank: str, points: int) -> None:
    """By rank, and the same in all four suits: all 52 cards with the threes below (bug 4)."""
    assert [score(f"{rank}{suit}") for suit in "CDHS"] == [points] * 4


def test_r17_points_of_a_hand_add_up() -> None:
    assert score("AC 4D 8H KS 10C 10H") == 1 + 15 + 50 + 10 + 25 + 25


def test_r17_points_of_everybody_left_are_counted() -> None:
    """Who went out has 0, and nobody gets the points of others (bugs 2 and 26)."""
    end = play(starter="KS", hands=["JS", "AC 8D", "QC", "2D 2H", "10C"], moves="JS")
    assert end.points == [0, 51, 10, 40, 25]


@pytest.mark.parametrize("rank", [rank for rank in RANKS if rank != "3"])
def test_r17_points_are_a_field_of_each_rank(rank: str) -> None:
    others = "AC 2C 4C 5C 6C 7C 8C 9C 10C JC QC KC"
    assert score(others, {f"points.{rank}": 1000}) - score(others) == 1000 - dict(CLASSIC_POINTS)[rank]
    assert score(f"{rank}C", {f"points.{rank}": -7}) == -7


def test_r17_points_of_both_copies_in_two_decks() -> None:
    assert score("8C 8C KD KD", {"decks": 2}) == 50 + 50 + 10 + 10


# R18

HANDS = ["3C 2D 8H", "3D", "3D 3H", "3C 3D 3H 3S", "3C 3S JD", "3C JD", "3C 3D 3H JD 4S", "3C AD 8H", "3C 3D 5H 6H 8H"]


@pytest.mark.parametrize(
    ("mode", "scores"),
    [
        # 3-2-8, 3, 3-3, 3-3-3-3, 3-3-J, 3-J, 3-3-3-J-4, 3-A-8, 3-3-5-6-8
        ("cancel_then_bonus", [20, -50, -100, -200, -50, 0, -50, 1, 30]),
        ("strict", [20, -50, -100, -200, 0, 0, 0, 1, 30]),
        ("bonus_only", [20, -50, -100, -200, -90, -40, -125, 1, 10]),
        ("cancel_only", [20, 0, 0, 0, 0, 0, 0, 1, 30]),
        ("none", [77, 7, 14, 28, 24, 17, 46, 58, 124]),
    ],
)
def test_r18_threes_mode_decides_what_threes_do(mode: str, scores: list[int]) -> None:
    """Each three cancels the dearest card left, and counts -50 where there is none, as the readings have it."""
    assert [score(hand, {"threes.mode": mode, "points.3": 7}) for hand in HANDS] == scores


def test_r18_examples_of_the_rules() -> None:
    assert score("3C 2D 8H") == 20
    assert score("3C 3D JH") == -50
    assert score("3C JH") == 0
    assert score("3C 3D JH", {"threes.mode": "strict"}) == 0


def test_r18_a_three_counts_its_own_points_only_in_mode_none() -> None:
    assert score("3C JD", {"points.3": 1000}) == 0
    assert score("3C", {"points.3": 1000}) == -50
    assert score("3C JD", {"points.3": 1000, "threes.mode": "none"}) == 1010
    assert score("3C JD", {"threes.mode": "none"}) == 10


@pytest.mark.parametrize(
    ("mode", "scores"),
    [
        ("cancel_then_bonus", [-40, -20]),
        ("strict", [-40, 0]),
        ("bonus_only", [-40, -30]),
        ("cancel_only", [0, 0]),
        ("none", [0, 10]),
    ],
)
def test_r18_bonus_is_a_field(mode: str, scores: list[int]) -> None:
    assert [score(hand, {"threes.mode": mode, "threes.bonus": -20}) for hand in ("3C 3D", "3C 3D JH")] == scores


def test_r18_the_dearest_card_goes_by_the_points_of_the_rules() -> None:
    # Here an ace is the dearest card, and kings are good to hold.
    changes = {"points.A": 100, "points.K": -10}
    assert score("3C AD 8H", changes) == 50
    assert score("3C KD 8H", changes) == -10


def test_r18_a_three_cancels_a_card_even_where_that_costs_points() -> None:
    """RULES.md has no choice: each three cancels one other card."""
    assert score("3C KD", {"points.K": -10}) == 0


def test_r18_eight_threes_in_two_decks() -> None:
    threes = "3C 3D 3H 3S 3C 3D 3H 3S"
    assert score(threes, {"decks": 2}) == -400
    assert score(f"{threes} 8C", {"decks": 2}) == -350


def test_r18_in_a_blocked_round_too() -> None:
    end = play(
        starter="KS", hands=["3H 8C QD", "3D", "4C"], moves="8C>S draw draw draw", changes={"stock.reshuffle": False}
    )
    assert end.points == [0, -50, 15]
