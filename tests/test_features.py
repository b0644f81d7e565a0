"""What careful looks at: each feature on positions laid out by hand, the worth of shedding a card, files of weights."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from craits_sim.cards import RANKS, SECOND_COPY, full_deck, rank_of
from craits_sim.encode import THREES_CODES, encode_rules
from craits_sim.features import FEATURES, UNIT, WeightsError, load_weights, shipped_weights
from craits_sim.kernel.score import points_left, worth_of_shedding
from craits_sim.rules import load_rules
from tests.naive import hand_score
from tests.positions import weigh

# --- Features -----------------------------------------------------------------------------------------------

TWO: dict[str, Any] = {"starter": "QS", "stock": "2C", "hands": ["", "4C 5C 6C 7C"]}
"""Seat 0 acts on the queen of spades; the other is not near going out."""

THREE: dict[str, Any] = {"starter": "QS", "stock": "2C", "hands": ["", "5C", "6C 7C"]}
"""Seat 0 acts; its neighbor has one card (near: 3), the seat beyond two (near: 2)."""

LEFT_OUT: dict[str, Any] = {"changes": {"abilities.8": "none", "wild": []}}
NONE: dict[str, Any] = {"changes": {"threes.mode": "none", "points.3": 7}}
IN_CRANK: dict[str, Any] = {"starter": "2C", "stock": "KC"}


def case(
    feature: str, hand: str, move: str, value: int, table: dict[str, Any] = TWO, **position: Any
) -> tuple[str, str, str, int, dict[str, Any]]:
    """Lay out a case: with this hand at this table, the feature of this move has this value."""
    return feature, hand, move, value, {**table, **position}


CASES = [
    # Without 3s a card is worth its points, under the rules that are played.
    case("shed", "4S KS KD", "4S>S", 15),
    case("shed", "4S KS KD", "KS>S", -5, changes={"points.K": -5}),
    # 3 5 K 4 scores 10 + 15, the 5 is canceled. Without the 5 (3 K 4) the 4 is canceled and 10 are left; without the K
    # 15 are; without the 3 30 + 10 + 15.
    case("shed", "3S 5S KS 4D", "5S>S", 15),
    case("shed", "3S 5S KS 4D", "KS>S", 10),
    case("shed", "3S 5S KS 4D", "3S>S", -30),
    # 3 3 K scores -50: one 3 cancels the K, one is spare. 3 3 scores -100, 3 K scores 0.
    case("shed", "3S 3H KS", "KS>S", 50),
    case("shed", "3S 3H KS", "3S>S", -50),
    # strict: 3 3 K scores 0, 3 3 scores -100. cancel_only: both score 0.
    case("shed", "3S 3H KS", "KS>S", 100, changes={"threes.mode": "strict"}),
    case("shed", "3S 3H KS", "KS>S", 0, changes={"threes.mode": "cancel_only"}),
    # bonus_only: 3 K scores -50 + 10. none: a 3 is a card of points.3.
    case("shed", "3S KS", "3S>S", -50, changes={"threes.mode": "bonus_only"}),
    case("shed", "3S KS", "KS>S", 10, changes={"threes.mode": "bonus_only"}),
    case("shed", "3S KS", "3S>S", 7, **NONE),
    # The nearest other seat has one card: 15 times 3. Of four cards or more none is near.
    case("shed_late", "4S KD", "4S>S", 45, THREE),
    case("shed_late", "4S KD", "4S>S", 0),
    # 55 behind the best of the others are two whole 20s, 19 are none, 500 count as five; a lead counts likewise.
    case("shed_behind", "4S KD", "4S>S", 30, THREE, totals=[100, 45, 60]),
    case("shed_behind", "4S KD", "4S>S", 0, THREE, totals=[64, 45, 60]),
    case("shed_behind", "4S KD", "4S>S", 75, THREE, totals=[500, 0, 60]),
    case("shed_behind", "4S KD", "4S>S", -30, THREE, totals=[10, 75, 65]),
    case("shed_behind", "4S KD", "4S>S", 0, THREE, totals=[46, 75, 65]),
    case("shed_behind", "4S KD", "4S>S", -75, THREE, totals=[-300, 75, 65]),
    case("three", "3S 4S", "3S>S", 1),
    case("three", "3S 4S", "4S>S", 0),
    case("three", "3S 4S", "3S>S", 0, **NONE),
    # Wild is what can be played on anything (wiki: 9s too), and what names the suit though it must match.
    case("wild", "8H 4S", "8H>C", 1),
    case("wild", "9H 4S", "9H>H", 1, rules="wiki"),
    case("wild", "9S 4S", "9S>S", 0),
    case("wild", "8S 4S", "8S>H", 1, changes={"wild": []}),
    case("wild", "8S 4S", "8S>S", 0, **LEFT_OUT),
    case("wild_late", "8H 4S", "8H>C", 3, THREE),
    case("wild_late", "8H 4S", "4S>S", 0, THREE),
    # On 4S follow 8S 9S 4H; on 8S>D the king alone, on 8S>C nothing but an 8.
    case("follows", "8S 4S KD 9S 4H", "4S>S", 3),
    case("follows", "8S 4S KD 9S 4H", "8S>D", 1),
    case("follows", "8S 4S KD 9S 4H", "8S>C", 0),
    # By color 9C, by ability QH (which has none, as the king), by suit and color both but by rank alone not the 4H.
    case("follows", "4S 9C 4H", "4S>S", 1, changes={"match": "suit_or_color"}),
    case("follows", "4S 9C 4H", "4S>S", 2, changes={"match": "suit_rank_or_color"}),
    case("follows", "KS QH 4H", "KS>S", 1, changes={"match": "suit_or_ability"}),
    case("follows", "8S 4S 8D", "4S>S", 1, **LEFT_OUT),
    # Nor does an 8 follow where it is not wild; in a crank what counts is what could be played outside it.
    case("follows", "2S KS 8D", "2S>S", 2, **IN_CRANK),
    case("suit", "8S 4S KD 9S 4H", "4S>S", 2),
    case("suit", "8S 4S KD 9S 4H", "8S>H", 1),
    case("suit", "9S 4S KC", "9S>C", 1),
    case("stuck", "4S KD", "4S>S", 1),
    case("stuck", "4S 4D", "4S>S", 0),
    case("stuck", "4S", "4S>S", 0),
    case("last_follows", "4S 4D", "4S>S", 1),
    case("last_follows", "4S KD", "4S>S", 0),
    case("last_follows", "4S 4D 4H", "4S>S", 0),
    # On 4S follow 13 spades, three other 4s and three other 8s. Four of these 19 are seen: 4S in the hand, the top card
    # QS, and the discards 2S and 4C. Of a second deck all 19 are unseen.
    case("unseen", "4S KD", "4S>S", 15, discards="2S 4C", hands=["", "5C"]),
    case("unseen", "4S KD", "4S>S", 34, discards="2S 4C", hands=["", "5C"], changes={"decks": 2}),
    # After the king the neighbor acts, after a skip or a reverse the seat beyond, after a 6 the player.
    case("next_near", "KS 4S 10S 6S", "KS>S", 3, THREE),
    case("next_near", "KS 4S 10S 6S", "4S>S", 2, THREE),
    case("next_near", "KS 4S 10S 6S", "10S>S", 2, THREE),
    case("next_near", "KS 4S 10S 6S", "6S>S", 0, THREE),
    # With two players a skip gives the turn back; a reverse does where it skips.
    case("next_near", "4S KD 10S", "4S>S", 0, hands=["", "5C"]),
    case("next_near", "4S KD 10S", "10S>S", 3, hands=["", "5C"]),
    case("next_near", "4S KD 10S", "10S>S", 0, hands=["", "5C"], changes={"reverse.two_players": "skip"}),
    case("next_near", "2S KD", "2S>S", 3, THREE, **IN_CRANK),
    case("skips", "4S KD", "4S>S", 1),
    case("skips", "4S KS", "KS>S", 0),
    case("skips", "4S KD", "4S>S", 3, changes={"abilities.4": "skip:3"}),
    case("skips", "7S KD", "7S>S", 1, changes={"abilities.7": "next_draws:2,lose_turn"}),
    case("skips", "10S KD", "10S>S", 0),
    case("skips", "10S KD", "10S>S", 1, changes={"reverse.two_players": "skip"}),
    case("skips_near", "4S KD", "4S>S", 3, THREE),
    case("skips_near", "4S KD", "4S>S", 6, THREE, changes={"abilities.4": "skip:2"}),
    # Two others draw one each, or two each; the next draws alone.
    case("draws", "5S KD", "5S>S", 2, THREE),
    case("draws", "5S KD", "5S>S", 4, THREE, changes={"abilities.5": "others_draw:2"}),
    case("draws", "7S KD", "7S>S", 1, THREE),
    case("draws", "KS 7S", "KS>S", 0, THREE),
    case("draws_near", "5S KD", "5S>S", 3, THREE),
    case("draws_near", "7S KD", "7S>S", 6, THREE, changes={"abilities.7": "next_draws:2"}),
    case("again", "6S 4S", "6S>S", 1),
    case("again", "6S KD", "6S>S", 0),
    case("again", "4S 6S", "4S>S", 0),
    case("again_stuck", "6S KD", "6S>S", 1),
    case("again_stuck", "6S 4S", "6S>S", 0),
    case("again_stuck", "4S KD", "4S>S", 0),
    case("again_stuck", "6S", "6S>S", 0),
    case("crank_starts", "2S KS", "2S>S", 1),
    case("crank_starts", "AS KS", "AS>S", 0),
    case("crank_starts", "2S KS", "2S>S", 0, **IN_CRANK),
    case("crank_starts", "KS 4S", "KS>S", 1, changes={"abilities.K": "crank_start:5"}),
    # After 2S the ace and the other 2 answer; after an ace that starts nothing there is no crank.
    case("crank_answers", "2S AD 2D KS", "2S>S", 2),
    case("crank_answers", "AS AD 2D KS", "AS>S", 0),
    case("crank_answers", "AS AD 2D KS", "AS>S", 2, **IN_CRANK),
    # The crank counts 2 after a 2, and 3 when an ace answers it.
    case("crank_danger", "2S KS", "2S>S", 2),
    case("crank_danger", "AS KS", "AS>S", 3, **IN_CRANK),
    case("crank_danger", "AS KS", "AS>S", 0),
    case("crank_danger", "2S AS", "2S>S", 0),
    case("crank_danger", "KS 4S", "KS>S", 5, changes={"abilities.K": "crank_start:5"}),
    case("crank_kept", "AS KS", "AS>S", 1),
    case("crank_kept", "2S KS", "2S>S", 0),
    case("crank_kept", "AS KS", "AS>S", 0, **IN_CRANK),
    case("crank_kept", "KS 4S", "KS>S", 0),
]


@pytest.mark.parametrize(("feature", "hand", "move", "value", "position"), CASES)
def test_each_feature_counts_what_it_says(
    feature: str, hand: str, move: str, value: int, position: dict[str, Any]
) -> None:
    hands = [hand, *position["hands"][1:]]
    assert weigh(**{**position, "hands": hands})[move][feature] == value


def test_every_feature_has_cases_that_differ() -> None:
    values: dict[str, set[int]] = {name: set() for name in FEATURES}
    for feature, _, _, value, _ in CASES:
        values[feature].add(value)
    assert all(len(seen) > 1 for seen in values.values())


def test_moves_are_listed_by_card_then_by_suit() -> None:
    """A nominating card with all four suits, a recoloring one with two, others with their own."""
    moves = weigh(starter="KS", hands=["8D 9S 4S KC", "5C"], stock="2C")
    assert list(moves) == ["KC>C", "8D>C", "8D>D", "8D>H", "8D>S", "4S>S", "9S>C", "9S>S"]


def test_of_two_copies_one_is_a_move() -> None:
    """8H is held twice. KC is of the second deck, for seat 0 holds the first: it comes last, though it is a club."""
    moves = weigh(starter="KS", hands=["KC 5C", "8H 8H KC 4S"], dealer=0, stock="2C", changes={"decks": 2})
    assert list(moves) == ["8H>C", "8H>D", "8H>H", "8H>S", "4S>S", "KC>C"]
    assert moves["8H>H"]["follows"] == 1
    assert moves["KC>C"]["follows"] == 2


# --- What a card is worth when it leaves --------------------------------------------------------------------


@st.composite
def hands_and_rules(draw: st.DrawFn) -> tuple[list[int], dict[str, Any]]:
    """Draw a hand of one or two decks, with many 3s and few ranks, and any rules of scoring."""
    ranks = {RANKS.index("3"), *draw(st.lists(st.integers(0, 12), min_size=1, max_size=4))}
    cards = [card for card in full_deck(2) if rank_of(card) in ranks]
    hand = draw(st.lists(st.sampled_from(cards), min_size=1, max_size=12, unique=True))
    points = {f"points.{rank}": draw(st.integers(-30, 60)) for rank in RANKS}
    mode, bonus = draw(st.sampled_from(sorted(THREES_CODES))), draw(st.integers(-100, 100))
    return hand, {**points, "threes.mode": mode, "threes.bonus": bonus}


@settings(max_examples=600, deadline=None, derandomize=True)
@given(hands_and_rules())
def test_a_card_is_worth_by_how_much_its_hand_gets_cheaper(hand_and_rules: tuple[list[int], dict[str, Any]]) -> None:
    hand, changes = hand_and_rules
    rules = load_rules("classic", changes)
    encoded = encode_rules(rules)
    least, most, of_three = worth_of_shedding(*sets(hand), encoded)
    for card in hand:
        rest = [held for held in hand if held != card]
        cheaper = points_left(*sets(hand), encoded) - points_left(*sets(rest), encoded)
        assert cheaper == hand_score(rules, hand) - hand_score(rules, rest)
        special = RANKS[rank_of(card)] == "3" and rules.threes.mode != "none"
        worth = of_three if special else max(min(rules.points[RANKS[rank_of(card)]], most), least)
        assert worth == cheaper


def sets(cards: list[int]) -> tuple[np.uint64, np.uint64]:
    """Give cards as two sets, of first and of second decks' cards."""
    first = sum(1 << card for card in cards if card < SECOND_COPY)
    return np.uint64(first), np.uint64(sum(1 << card - SECOND_COPY for card in cards if card >= SECOND_COPY))


# --- Files of weights ---------------------------------------------------------------------------------------


def test_weights_are_kept_to_a_thousandth_and_those_left_out_are_zero(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("# mine\n[weights]\nshed = 1.2345\nwild = -1000\nthree = 3\n", encoding="utf-8")
    expected = {"shed": 1234, "wild": -1000 * UNIT, "three": 3 * UNIT}
    assert load_weights(path) == tuple(expected.get(name, 0) for name in FEATURES)


@pytest.mark.parametrize("name", ["careful", "tuned"])
def test_the_package_brings_weights_for_every_table(name: str) -> None:
    for players in range(2, 11):
        weights = load_weights(shipped_weights(name, players))
        assert len(weights) == len(FEATURES)
        assert any(weights)
    assert shipped_weights(name, 10) == shipped_weights(name, 5)


ALL_FEATURES = ", ".join(FEATURES)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", f"there is no table [weights]; allowed are the features {ALL_FEATURES}"),
        ("shed = 1", "shed is no table; allowed are weights, provenance, search"),
        ("[weight]\nshed = 1", 'weight is no table; allowed are weights, provenance, search; did you mean "weights"?'),
        ("weights = 1", f"there is no table [weights]; allowed are the features {ALL_FEATURES}"),
        ("[weights]", f"there is no table [weights]; allowed are the features {ALL_FEATURES}"),
        (
            "[weights]\nshed_lat = 1",
            f'weights.shed_lat is no feature; allowed are {ALL_FEATURES}; did you mean "shed_late"?',
        ),
        ("[weights]\nxyzzy = 1", f"weights.xyzzy is no feature; allowed are {ALL_FEATURES}"),
        ('[weights]\n"a\\nb" = 1', f'weights."a\\u000ab" is no feature; allowed are {ALL_FEATURES}'),
        ('[weights]\nshed = "1"', 'weights.shed = "1": allowed are numbers from -1000 to 1000'),
        ("[weights]\nshed = true", "weights.shed = true: allowed are numbers from -1000 to 1000"),
        ("[weights]\nshed = 1000.5", "weights.shed = 1000.5: allowed are numbers from -1000 to 1000"),
        ("[weights]\nshed = nan", "weights.shed = nan: allowed are numbers from -1000 to 1000"),
        ("[weights]\nshed = -inf", "weights.shed = -inf: allowed are numbers from -1000 to 1000"),
        ("[weights\n", "Expected ']' at the end of a table declaration (at line 1, column 9)"),
    ],
)
def test_a_bad_file_of_weights_is_named_with_what_is_allowed(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WeightsError) as raised:
        load_weights(path)
    assert str(raised.value) == f"{path}: {problem}"


def test_a_file_of_weights_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsError, match=r"nowhere\.toml: No such file or directory$"):
        load_weights(tmp_path / "nowhere.toml")
    path = tmp_path / "long.toml"
    path.write_text(f"[weights]\nshed = {'9' * 5000}\n", encoding="utf-8")
    with pytest.raises(WeightsError, match=r"long\.toml: Exceeds the limit"):
        load_weights(path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"# caf\xe9\n[weights]\nshed = 1\n")
    with pytest.raises(WeightsError, match=r"latin\.toml: 'utf-8' codec can't decode"):
        load_weights(path)
