"""The table "Abilities" of RULES.md: what each kind of ability does, for any amount, and that any rank can have it.

Cranks are in `test_r14_to_r16_crank.py`.
"""

from collections import Counter
from itertools import pairwise

import pytest

from craits_sim.cards import RANKS, rank_of
from craits_sim.results import Action
from tests.positions import assert_refused, play, play_games, rounds_of

FILLER = ["QC JC AC", "QD JD AD", "QH JH AH", "KC KD AS"]
"""Hands of the others, where they do not matter."""


# none


@pytest.mark.parametrize("rank", ["3", "J", "Q", "K"])
def test_ability_none_three_jack_queen_king(rank: str) -> None:
    end = play(starter="AS", hands=[f"{rank}S 6H", *FILLER[:2]], stock="5C", moves=f"{rank}S")
    assert (end.to_act, end.direction, end.suit, end.crank, end.stock) == (1, 1, "S", 0, 1)


def test_ability_none_for_a_rank_that_has_one_in_classic() -> None:
    # Here an 8 is wild without a say, and a 5 makes nobody draw.
    changes = {"abilities.8": "none", "abilities.5": "none"}
    position = {"starter": "KH", "hands": ["8S 5S", *FILLER[:2]], "stock": "6C", "changes": changes}
    assert play(**position, moves="8S").suit == "S"
    assert_refused(**position, moves="8S>H")
    end = play(starter="KS", hands=["5S 4H", *FILLER[:2]], stock="6C", moves="5S", changes=changes)
    assert (end.stock, end.to_act) == (1, 1)


# skip (4)


@pytest.mark.parametrize(
    ("players", "amount", "next_to_act"),
    [(2, 1, 0), (3, 1, 2), (5, 1, 2), (2, 2, 1), (3, 2, 0), (4, 2, 3), (2, 3, 0), (3, 4, 2)],
)
def test_ability_skip_the_next_seats_lose_their_turn(players: int, amount: int, next_to_act: int) -> None:
    """Round the table and further, where more turns are taken away than there are others."""
    # With two players 4 is another turn for its player; a skip of two takes one turn from each.
    end = play(
        starter="KS",
        hands=["4S 6H", *FILLER[: players - 1]],
        moves="4S",
        changes={"abilities.4": f"skip:{amount}"},
    )
    assert end.to_act == next_to_act


def test_ability_skip_goes_in_the_direction_of_play() -> None:
    # The 10H turned up by seat 1 of four makes play go round the other way, seat 0 first. Its 4 skips seat 3.
    end = play(starter="10H", dealer=1, hands=["4H 6S", *FILLER[:3]], moves="4H")
    assert (end.direction, end.to_act) == (-1, 2)


def test_ability_skip_counts_each_turn_taken_away() -> None:
    """A skip of three between two players takes two turns from the other and one from its own player."""
    for game in play_games(4, changes={"players": 2, "abilities.4": "skip:3", "deals": [6] * 5}):
        for dealer, events, skips in zip(game.dealer, rounds_of(game), game.skips, strict=True):
            expected = Counter({0: 0, 1: 0})
            for event, following in pairwise(events):
                shown = event[2] in (Action.STARTER, Action.PLAY) and rank_of(event[4]) == RANKS.index("4")
                if shown and following[2] != Action.GO_OUT:
                    offset = (event[3] - dealer) % 2
                    expected += Counter({1 - offset: 2, offset: 1})
            assert skips == [expected[0], expected[1]]


# others_draw (5)


def test_ability_others_draw_in_turn_order() -> None:
    end = play(starter="KS", hands=["5S 6H", *FILLER[:3]], stock="3C 3D 3H 9C", moves="5S")
    assert end.story == ["0 plays 5S", "1 draws 3C (ability)", "2 draws 3D (ability)", "3 draws 3H (ability)"]
    assert end.to_act == 1


def test_ability_others_draw_in_the_direction_of_play() -> None:
    # Seat 1 turned up the 10H; after seat 0 comes seat 3.
    end = play(starter="10H", dealer=1, hands=["5H 6S", *FILLER[:3]], stock="3C 3D 3H 9C", moves="5H")
    assert end.story == ["0 plays 5H", "3 draws 3C (ability)", "2 draws 3D (ability)", "1 draws 3H (ability)"]
    assert end.to_act == 3


def test_ability_others_draw_the_whole_amount_before_the_next() -> None:
    changes = {"abilities.5": "others_draw:2"}
    end = play(starter="KS", hands=["5S 6H", *FILLER[:2]], stock="3C 3D 3H 9C", moves="5S", changes=changes)
    assert end.hands[1:] == ["AC 3C JC QC 3D", "9C AD JD QD 3H"]


def test_ability_others_draw_even_if_it_empties_the_stock() -> None:
    # Two cards for three others: seat 3 gets none, and nothing else happens.
    changes = {"stock.reshuffle": False}
    end = play(starter="KS", hands=["5S 6H", *FILLER[:3]], stock="3C 3D", moves="5S", changes=changes)
    assert end.story == ["0 plays 5S", "1 draws 3C (ability)", "2 draws 3D (ability)"]
    assert (end.stock, end.to_act, end.over) == (0, 1, False)


def test_ability_others_draw_over_a_reshuffle() -> None:
    # One card in the stock, the KS and the 9C below the 5S: seat 2 draws one of those; the 5S stays the top card.
    end = play(starter="KS", hands=["5S 6H", *FILLER[:2]], stock="3C", discards="9C", moves="5S")
    assert end.story[:3] == ["0 plays 5S", "1 draws 3C (ability)", "2 reshuffles 2"]
    assert (end.top, end.stock, len(end.hands[2].split())) == ("5S", 1, 4)


# again (6)


def test_ability_again_the_same_player_takes_another_turn() -> None:
    end = play(starter="KS", hands=["6S 6H QH 4C", *FILLER[:2]], stock="9C", moves="6S 6H QH")
    assert (end.hands[0], end.to_act) == ("4C", 1)


def test_ability_again_who_cannot_follow_draws_one_and_the_turn_passes_on() -> None:
    end = play(starter="KS", hands=["6S QH 4C", *FILLER[:2]], stock="9C 7D", moves="6S draw")
    assert (end.hands[0], end.to_act, end.stock) == ("4C 9C QH", 1, 1)


# next_draws (7)


def test_ability_next_draws_and_takes_a_normal_turn() -> None:
    """Only the next of several, and it may play the card (bug 30)."""
    # Seat 1 draws the 9S, which it can play; seat 2 draws nothing.
    end = play(starter="KS", hands=["7S 6H", *FILLER[:2]], stock="9S 3D", moves="7S")
    assert end.story == ["0 plays 7S", "1 draws 9S (ability)"]
    assert (end.to_act, end.legal) == (1, ["9S"])


def test_ability_next_draws_any_amount() -> None:
    changes = {"abilities.7": "next_draws:3"}
    end = play(starter="KS", hands=["7S 6H", *FILLER[:2]], stock="9S 3D 3H 3C", moves="7S", changes=changes)
    assert (len(end.hands[1].split()), end.to_act, end.stock) == (6, 1, 1)


@pytest.mark.parametrize(("players", "next_to_act"), [(2, 0), (3, 2), (5, 2)])
def test_ability_next_draws_and_loses_the_turn(players: int, next_to_act: int) -> None:
    """The victim draws and does not keep the turn (bug 9)."""
    changes = {"abilities.7": "next_draws:2,lose_turn"}
    hands = ["7S 6H", *FILLER[: players - 1]]
    end = play(starter="KS", hands=hands, stock="9S 3D 3H", moves="7S", changes=changes)
    assert (len(end.hands[1].split()), end.to_act, end.stock) == (5, next_to_act, 1)


def test_ability_next_draws_in_the_direction_of_play() -> None:
    # Seat 1 turned up the 10H: seat 2 of three is next after seat 0.
    end = play(starter="10H", dealer=1, hands=["7H 6S", *FILLER[:2]], stock="9S", moves="7H")
    assert (end.story[-1], end.to_act) == ("2 draws 9S (ability)", 2)


# nominate (8)


@pytest.mark.parametrize("suit", ["C", "D", "H", "S"])
def test_ability_nominate_any_of_the_four_suits(suit: str) -> None:
    # Seat 1 holds one card of each suit.
    hands = ["8S 6H", "3C 4D JH KS"]
    end = play(starter="QD", hands=hands, moves=f"8S>{suit}")
    assert (end.suit, [card[-1] for card in end.legal]) == (suit, [suit])


def test_ability_nominate_for_a_rank_that_is_not_wild() -> None:
    # Here a king names a suit, but must match.
    position = {"hands": ["KS 6H", "3C 4D"], "changes": {"abilities.K": "nominate"}}
    assert play(**position, starter="QD").legal == []
    assert play(**position, starter="QS", moves="KS>D").legal == ["4D"]


# recolor (9)


@pytest.mark.parametrize(
    ("nine", "other", "foreign"), [("9C", "S", "DH"), ("9D", "H", "CS"), ("9H", "D", "CS"), ("9S", "C", "DH")]
)
def test_ability_recolor_to_the_other_suit_of_the_color_or_not(nine: str, other: str, foreign: str) -> None:
    position = {"starter": f"K{nine[-1]}", "hands": [f"{nine} 6H", "3C 4D"]}
    assert play(**position, moves=nine).suit == nine[-1]
    assert play(**position, moves=f"{nine}>{other}").suit == other
    for suit in foreign:
        assert_refused(**position, moves=f"{nine}>{suit}")


def test_ability_recolor_a_nine_must_match() -> None:
    assert play(starter="QD", hands=["9S 9D", "3C 4D"]).legal == ["9D"]


# reverse (10)


def test_ability_reverse_with_two_players_changes_nothing() -> None:
    """Reading `none` of `reverse.two_players` (bug 6)."""
    end = play(starter="KS", hands=["10S 6H", FILLER[0]], moves="10S")
    assert (end.direction, end.to_act) == (-1, 1)


def test_ability_reverse_with_two_players_as_skip() -> None:
    """Reading `skip` of `reverse.two_players` (bug 6)."""
    changes = {"reverse.two_players": "skip"}
    end = play(starter="KS", hands=["10S 6H", FILLER[0]], moves="10S", changes=changes)
    assert (end.direction, end.to_act) == (-1, 0)


def test_ability_reverse_as_skip_is_for_two_players_only() -> None:
    changes = {"reverse.two_players": "skip"}
    end = play(starter="KS", hands=["10S 6H", *FILLER[:2]], moves="10S", changes=changes)
    assert (end.direction, end.to_act) == (-1, 2)


# Any rank


@pytest.mark.parametrize("rank", RANKS)
def test_ability_any_rank_can_have_any_ability(rank: str) -> None:
    # The starter is a spade of another rank without ability. Three players, seat 0 plays.
    other = "Q" if rank == "K" else "K"
    hands = [f"{rank}S 6H 6C", "5H 5C", "9H 9C"]

    def after(ability: str) -> tuple[int | None, int, int, int]:
        changes = {f"abilities.{name}": "none" for name in RANKS} | {f"abilities.{rank}": ability}
        end = play(starter=f"{other}S", hands=hands, stock="2C 2D 2H 7C", moves=f"{rank}S", changes=changes)
        return end.to_act, end.direction, end.stock, end.crank

    assert after("none") == (1, 1, 4, 0)
    assert after("crank:3") == (1, 1, 4, 0)
    assert after("crank_start:3") == (1, 1, 4, 3)
    assert after("skip:1") == (2, 1, 4, 0)
    assert after("others_draw:2") == (1, 1, 0, 0)
    assert after("again") == (0, 1, 4, 0)
    assert after("next_draws:3") == (1, 1, 1, 0)
    assert after("next_draws:1,lose_turn") == (2, 1, 3, 0)
    assert after("nominate") == (1, 1, 4, 0)
    assert after("recolor") == (1, 1, 4, 0)
    assert after("reverse") == (2, -1, 4, 0)
