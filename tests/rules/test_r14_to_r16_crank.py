"""R14, how a crank runs; R15, who pays it; R16, how it is played out when somebody goes out with one of its cards."""

from itertools import groupby

import pytest

from craits_sim.results import Action, Cause
from tests.positions import assert_refused, play, play_games, rounds_of

# R14


def test_r14_a_two_starts_a_crank_of_two() -> None:
    end = play(starter="KS", hands=["2S 4C", "AD KD", "JS QC"], moves="2S")
    assert (end.crank, end.to_act) == (2, 1)


def test_r14_only_aces_and_twos_can_be_played_of_any_suit() -> None:
    """Neither the suit nor the rank of the top card counts, and no 8 (bug 18)."""
    # Seat 1 holds a spade, a king and an 8 beside an ace and a 2 of red suits.
    end = play(starter="KS", hands=["2S 4C", "AD 2H KD 8C QS", "JS QC"], moves="2S")
    assert end.legal == ["AD", "2H"]
    for move in ("KD", "8C", "QS", "8C>S"):
        assert_refused(starter="KS", hands=["2S 4C", "AD 2H KD 8C QS", "JS QC"], moves=f"2S {move}")


def test_r14_who_has_an_ace_or_a_two_must_play_it() -> None:
    """The penalty cannot be taken instead (bug 18)."""
    assert_refused(starter="KS", hands=["2S 4C", "AD KD", "JS QC"], stock="5C 6C", moves="2S draw")


def test_r14_an_ace_adds_one_and_a_two_adds_two() -> None:
    """All of them in one crank: four 2s and four aces make twelve (bug 17)."""
    hands = ["2S 2D AS AD 4C", "2C 2H AC AH KD"]
    moves = ["2S", "AC", "2D", "AH", "AS", "2H", "AD", "2C"]
    counts = [play(starter="KS", hands=hands, moves=" ".join(moves[:number])).crank for number in range(1, 9)]
    assert counts == [2, 3, 5, 6, 7, 9, 10, 12]
    stock = "3C 3D 3H 3S 5C 5D 5H 5S 6C 6D 6H 6S 7C"
    end = play(starter="KS", hands=hands, stock=stock, moves=" ".join([*moves, "draw"]))
    assert (len(end.hands[0].split()), end.stock, end.crank) == (1 + 12, 1, 0)


def test_r14_aces_and_twos_have_no_other_effect_inside_a_crank() -> None:
    # Each adds to the count and passes it on to the next seat; the suit is that of the last one.
    end = play(starter="KS", hands=["2S 4C", "AD KD", "2C QC"], moves="2S AD 2C")
    assert (end.crank, end.direction, end.to_act, end.suit) == (5, 1, 0, "C")


def test_r14_an_ace_outside_a_crank_is_an_ordinary_card() -> None:
    """It must match, and starts nothing (bug 30)."""
    position = {"starter": "KS", "hands": ["AS AD 4C", "QS 2S"]}
    assert play(**position).legal == ["AS"]
    end = play(**position, moves="AS")
    assert (end.crank, end.to_act, end.legal) == (0, 1, ["2S", "QS"])


def test_r14_a_crank_goes_round_in_the_direction_of_play() -> None:
    # Seat 1 of three turned up the 10S: after seat 0 comes seat 2.
    end = play(starter="10S", dealer=1, hands=["2S 4C", "AD KD", "AC QC"], moves="2S AC AD")
    assert (end.crank, end.to_act) == (4, 0)


def test_r14_the_crank_ranks_are_those_with_the_abilities() -> None:
    """`crank` and `crank_start` of any value; a rank that has neither any more cannot be played."""
    # A queen starts a crank of four, a king adds three, and so does a queen its four; 2s are ordinary here.
    changes = {"abilities.Q": "crank_start:4", "abilities.K": "crank:3", "abilities.2": "none"}
    position = {"starter": "JS", "hands": ["QS 4C", "KD 2S", "QD AC 2C"], "changes": changes}
    assert play(**position, moves="QS").legal == ["KD"]
    end = play(**position, moves="QS KD")
    assert (end.crank, end.legal) == (7, ["AC", "QD"])
    assert play(**position, moves="QS KD QD").crank == 11


# R15


def test_r15_example_of_the_sheet() -> None:
    """2, A, 2, and a player without either draws five; play goes on with the next player (bug 17)."""
    hands = ["2S KC", "AD QD", "2C QH", "JD 4D"]
    end = play(starter="KS", hands=hands, stock="5C 6C 7C 10C JC QC", moves="2S AD 2C draw")
    assert (end.hands[3], end.stock) == ("5C 6C 7C 10C JC 4D JD", 1)
    assert (end.top, end.suit, end.crank, end.to_act, end.legal) == ("2C", "C", 0, 0, ["KC"])


def test_r15_whoever_pays_has_had_the_turn() -> None:
    """The cards drawn cannot be played first (bug 18)."""
    # Seat 0 pays the 2S that was turned up, and draws an ace and a spade.
    end = play(starter="2S", hands=["4D KH", "3S QC"], stock="AS JS", moves="draw")
    assert (end.crank, end.to_act) == (0, 1)


def test_r15_after_the_penalty_the_two_binds_nobody() -> None:
    """The next player follows it as any card, by suit or rank (bug 19)."""
    # Seat 1 has paid. Seat 2 may play a spade, a 2 or an 8, and need not hold an ace.
    end = play(starter="KS", hands=["2S 4C", "QD JD", "9S 8D 2H AH KC"], stock="5C 6C 7C", moves="2S draw")
    assert (end.to_act, end.legal) == (2, ["8D", "2H", "9S"])


def test_r15_after_the_penalty_a_two_starts_a_new_crank_and_an_ace_none() -> None:
    """The count begins anew (bugs 17 and 19)."""
    position = {"starter": "KS", "hands": ["2S 4C", "QD JD", "2H AS KC"], "stock": "5C 6C 7C"}
    assert play(**position, moves="2S draw 2H").crank == 2
    assert play(**position, moves="2S draw AS").crank == 0


def test_r15_a_penalty_larger_than_all_cards_left_is_over_all_the_same() -> None:
    """What cannot be drawn is owed by nobody (bugs 3 and 20)."""
    # The crank of four finds one card in the stock, and nothing is reshuffled.
    changes = {"stock.reshuffle": False}
    hands = ["2S 4C", "2D QD", "JD KD", "QC 5H"]
    end = play(starter="KS", hands=hands, stock="5C", moves="2S 2D draw", changes=changes)
    assert (end.hands[2], end.hands[3], end.crank, end.to_act) == ("5C JD KD", "QC 5H", 0, 3)


def test_r15_where_nothing_can_be_drawn_the_crank_is_over_too() -> None:
    changes = {"stock.reshuffle": False}
    end = play(starter="KS", hands=["2S 4C", "JD KD", "QS 5H"], moves="2S draw", changes=changes)
    assert (end.story[-1], end.crank, end.to_act, end.legal) == ("1 passes", 0, 2, ["QS"])


# R16: played out


def test_r16_who_goes_out_with_a_two_leaves_the_crank_to_the_others() -> None:
    """The round is over only when it is paid (bug 30)."""
    # Seat 0 goes out. Seat 1 answers with an ace, and seat 2 pays three.
    position = {"starter": "KS", "hands": ["2S", "AD KD", "JS QC"], "stock": "5C 6C 7C 10C"}
    out = play(**position, moves="2S")
    assert (out.over, out.went_out, out.crank, out.to_act, out.legal) == (False, 0, 2, 1, ["AD"])
    end = play(**position, moves="2S AD draw")
    assert (end.over, end.went_out, end.stock) == (True, 0, 1)
    assert end.points == [0, 10, 10 + 10 + 30 + 30 + 20]


def test_r16_who_goes_out_with_an_ace_inside_a_crank_does_not_lose_it() -> None:
    """The empty hand wins; it is not asked to answer or to draw (bug 30)."""
    # The 2S was turned up. Seat 0 answers with its only card; seat 1 has to pay three.
    end = play(starter="2S", hands=["AD", "JS QC"], stock="5C 6C 7C 10C", moves="AD draw")
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 10 + 10 + 30 + 30 + 20])


def test_r16_an_ace_outside_a_crank_ends_the_round_at_once() -> None:
    end = play(starter="KS", hands=["AS", "JS QC"], stock="5C 6C", moves="AS")
    assert (end.over, end.points, end.stock) == (True, [0, 20], 2)


def test_r16_who_can_answer_must() -> None:
    assert_refused(starter="KS", hands=["2S", "AD KD", "JS QC"], stock="5C 6C 7C", moves="2S draw")


def test_r16_ends_where_it_would_come_back_to_who_last_added_to_it() -> None:
    # Seat 1 of two answers the 2S; seat 0 is out, and seat 1 need not answer its own ace.
    end = play(starter="KS", hands=["2S", "AD KD"], stock="5C 6C", moves="2S AD")
    assert (end.over, end.points, end.stock) == (True, [0, 10], 2)


def test_r16_goes_round_as_long_as_others_answer() -> None:
    # Seats 1 and 2 both answer. It comes to seat 1 again, for seat 2 was the last to add: seat 1 pays four.
    position = {"starter": "KS", "hands": ["2S", "AD KD", "AC QC JC"], "stock": "5C 6C 7C 10C"}
    assert play(**position, moves="2S AD AC").to_act == 1
    end = play(**position, moves="2S AD AC draw")
    assert (end.over, end.points) == (True, [0, 10 + 30 + 30 + 20 + 25, 20])


def test_r16_passes_over_players_who_are_out() -> None:
    # Seats 0 and 1 go out; seat 2 answers and seat 3 too. Back at seat 2, who holds no more of them and pays five.
    end = play(
        starter="KS",
        hands=["2S", "AD", "AC QC", "AH JC"],
        stock="10C 4C 5C 6C 7C 9C",
        moves="2S AD AC AH draw",
    )
    assert (end.over, end.went_out, end.stock) == (True, 0, 1)
    assert end.points == [0, 0, 10 + 25 + 15 + 30 + 30 + 20, 10]


def test_r16_who_goes_out_while_answering_scores_zero_too() -> None:
    """The winner of the round is who went out first."""
    end = play(starter="KS", hands=["2S", "AD", "JS"], stock="4C 5C 6C 7C", moves="2S AD draw")
    assert (end.went_out, end.points) == (0, [0, 0, 10 + 15 + 30 + 30])


def test_r16_ends_where_nobody_else_holds_cards() -> None:
    # Both are out, and nobody is left to answer seat 1.
    end = play(starter="KS", hands=["2S", "AD"], stock="4C 5C", moves="2S AD")
    assert (end.over, end.went_out, end.points, end.stock) == (True, 0, [0, 0], 2)
    # Of three, seats 0 and 1 are out, and it would come back to seat 2, which has answered.
    end = play(starter="KS", hands=["2S", "AD", "AC QD"], stock="4C 5C", moves="2S AD AC")
    assert (end.over, end.went_out, end.points, end.stock) == (True, 0, [0, 0, 10], 2)


def test_r16_goes_round_in_the_direction_of_play() -> None:
    # Seat 1 of three turned up the 10S. Seat 0 goes out with the 2S: seat 2 pays.
    end = play(starter="10S", dealer=1, hands=["2S", "AD KD", "QC"], stock="5C 6C 7C", moves="2S draw")
    assert end.points == [0, 11, 10 + 30 + 30]


def test_r16_pays_as_much_as_there_is() -> None:
    # Seat 2 has to pay three: the one card of the stock, and the KS and the 2S from below the AD.
    end = play(starter="KS", hands=["2S", "AD JD", "QC"], stock="5C", moves="2S AD draw")
    assert end.points == [0, 10, 10 + 30 + 20 + 10]
    changes = {"stock.reshuffle": False}
    end = play(starter="KS", hands=["2S", "AD JD", "QC"], stock="5C", moves="2S AD draw", changes=changes)
    assert end.points == [0, 10, 10 + 30]


def test_r16_answering_and_paying_are_turns() -> None:
    """After somebody has gone out as well as before."""
    # In classic a turn plays one card, draws one of its own accord, pays a crank or does nothing.
    played_out = 0
    for game in play_games(4, changes={"deals": [2] * 20}):
        for events, turns in zip(rounds_of(game), game.turns, strict=True):
            acts = [event for event in events if event[2] in (Action.PLAY, Action.DRAW, Action.PASS)]
            expected = 0
            for (action, cause), group in groupby(acts, key=lambda event: (event[2], event[7])):
                if action != Action.DRAW or cause == Cause.OWN:
                    expected += len(list(group))
                elif cause == Cause.CRANK:
                    expected += 1
            assert turns == expected
            actions = [event[2] for event in events]
            played_out += Action.DRAW in actions[actions.index(Action.GO_OUT) :]
    assert played_out > 5


# R16: next_pays and ignored


def test_r16_next_pays_the_next_player_draws_the_count() -> None:
    """An ace in the hand does not help, and nobody else is asked."""
    changes = {"crank.on_last_card": "next_pays"}
    end = play(starter="KS", hands=["2S", "AD QC", "2D"], stock="5C 6C 7C", moves="2S", changes=changes)
    assert end.story == ["0 plays 2S", "0 goes out", "1 draws 5C (crank)", "1 draws 6C (crank)"]
    assert (end.over, end.went_out, end.points, end.crank) == (True, 0, [0, 1 + 10 + 30 + 30, 20], 0)


def test_r16_next_pays_what_the_last_card_has_made_of_it() -> None:
    # The 2S was turned up; the AD of seat 0 makes it three.
    changes = {"crank.on_last_card": "next_pays"}
    end = play(starter="2S", hands=["AD", "AC QC", "2D"], stock="5C 6C 7C 9C", moves="AD", changes=changes)
    assert (end.over, end.points, end.stock) == (True, [0, 11 + 80, 20], 1)


def test_r16_next_pays_in_the_direction_of_play() -> None:
    changes = {"crank.on_last_card": "next_pays"}
    position = {"starter": "10S", "dealer": 1, "hands": ["2S", "QC", "JD"], "stock": "5C 6C 7C"}
    assert play(**position, moves="2S", changes=changes).points == [0, 10, 10 + 60]


def test_r16_next_pays_nothing_outside_a_crank() -> None:
    changes = {"crank.on_last_card": "next_pays"}
    end = play(starter="KS", hands=["AS", "QC"], stock="5C", moves="AS", changes=changes)
    assert (end.over, end.points) == (True, [0, 10])


@pytest.mark.parametrize(("starter", "card"), [("KS", "2S"), ("2S", "AD"), ("2S", "2D")])
def test_r16_ignored_nothing_happens(starter: str, card: str) -> None:
    changes = {"crank.on_last_card": "ignored"}
    end = play(starter=starter, hands=[card, "QC AH", "JD"], stock="5C 6C", moves=card, changes=changes)
    assert (end.over, end.went_out, end.points, end.crank) == (True, 0, [0, 11, 10], 0)


@pytest.mark.parametrize("on_last_card", ["next_pays", "ignored"])
def test_r16_other_readings_leave_a_crank_in_the_middle_of_a_round_alone(on_last_card: str) -> None:
    changes = {"crank.on_last_card": on_last_card}
    end = play(starter="KS", hands=["2S 4C", "AD KD", "JS QC"], moves="2S AD", changes=changes)
    assert (end.crank, end.to_act, end.over) == (3, 2, False)
