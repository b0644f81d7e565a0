"""R10: the last card must be announced.

Moves that are written down count as announced, so that bots play here; the hands leave them one card to play at a
time. `forget=1` makes a seat forget always, and the others always call it. The turn cap ends each position where it has
shown what it has to show.
"""

import pytest

from craits_sim.results import Action
from tests.positions import play, play_games, rounds_of

SEAT_0_FORGETS = {2: "random:forget=1,random", 3: "random:forget=1,random,random"}


def test_r10_who_is_caught_draws_two_and_loses_the_next_turn() -> None:
    # Seat 0 plays the 3S and has one card left: caught. Seats 1 and 2 play their spades; seat 0 is passed over;
    # seat 1 cannot play.
    end = play(
        starter="KS",
        hands=["3S QD", "JS 4C 5C", "QS 6D 7D"],
        stock="9C 10D KH",
        bot=SEAT_0_FORGETS[3],
        changes={"turn_cap": 4},
    )
    assert end.story == [
        "0 plays 3S",
        "0 is caught",
        "0 draws 9C (penalty)",
        "0 draws 10D (penalty)",
        "1 plays JS",
        "2 plays QS",
        "0 loses a turn",
        "1 draws KH",
        "truncated",
    ]


def test_r10_the_turn_lost_is_the_extra_turn_of_a_six() -> None:
    # Seat 0 plays the 6S as its last card but one: its second turn is the next one.
    end = play(
        starter="KS",
        hands=["6S QD", "JS 4C 5C"],
        stock="9C 10D",
        bot=SEAT_0_FORGETS[2],
        changes={"turn_cap": 2},
    )
    penalty = ["0 is caught", "0 draws 9C (penalty)", "0 draws 10D (penalty)", "0 loses a turn"]
    assert end.story == ["0 plays 6S", *penalty, "1 plays JS", "truncated"]


def test_r10_the_turn_lost_is_that_after_a_skip_between_two() -> None:
    # The 4S of seat 0 takes the turn from seat 1; the next turn would be that of seat 0.
    end = play(
        starter="KS",
        hands=["4S QD", "JS QC 5C"],
        stock="9C 10D",
        bot=SEAT_0_FORGETS[2],
        changes={"turn_cap": 2},
    )
    penalty = ["0 is caught", "0 draws 9C (penalty)", "0 draws 10D (penalty)", "0 loses a turn"]
    assert end.story == ["0 plays 4S", *penalty, "1 plays JS", "truncated"]


def test_r10_the_two_cards_are_drawn_after_the_ability() -> None:
    # The 5S of seat 0 lets seats 1 and 2 draw first.
    end = play(
        starter="KS",
        hands=["5S QD", "JS 4C 7C", "QS 6D 7D"],
        stock="9C 10D KH KC",
        bot=SEAT_0_FORGETS[3],
        changes={"turn_cap": 1},
    )
    abilities = ["1 draws 9C (ability)", "2 draws 10D (ability)"]
    penalty = ["0 is caught", "0 draws KH (penalty)", "0 draws KC (penalty)"]
    assert end.story == ["0 plays 5S", *abilities, *penalty, "truncated"]


def test_r10_a_turn_lost_in_a_crank_pays_nothing() -> None:
    # Seat 1 starts a crank and seat 2 adds to it. Seat 0 is passed over, and seat 1 pays the three cards.
    end = play(
        starter="KS",
        hands=["3S QD", "2S 4C 5C", "AD 6D 7D"],
        stock="9C 10D KH KC JH",
        bot=SEAT_0_FORGETS[3],
        changes={"turn_cap": 4},
    )
    assert end.story[4:] == [
        "1 plays 2S",
        "2 plays AD",
        "0 loses a turn",
        "1 draws KH (crank)",
        "1 draws KC (crank)",
        "1 draws JH (crank)",
        "truncated",
    ]


def test_r10_a_turn_lost_in_a_crank_that_is_played_out_pays_nothing() -> None:
    # Seat 1 goes out with the 2S, seat 2 answers, seat 0 is passed over: the crank is back at seat 2, who added last.
    end = play(starter="KS", hands=["3S QD", "2S", "AD 6D"], stock="9C 10D KH KC JH", bot=SEAT_0_FORGETS[3])
    assert end.story[4:] == ["1 plays 2S", "1 goes out", "2 plays AD", "0 loses a turn"]
    assert end.points == [10 + 30 + 25, 0, 30]


def test_r10_a_turn_taken_by_a_four_does_not_count_as_the_one_lost() -> None:
    # Seat 2 skips seat 0 with the 4S. Only when the turn would come to seat 0 once more is it passed over.
    end = play(
        starter="KS",
        hands=["3S QD", "JS 5C 6C", "4S 6D 7D"],
        stock="9C 10D KH KC JH",
        bot=SEAT_0_FORGETS[3],
        changes={"turn_cap": 6},
    )
    assert end.story[4:] == [
        "1 plays JS",
        "2 plays 4S",
        "1 draws KH",
        "2 draws KC",
        "0 loses a turn",
        "1 draws JH",
        "truncated",
    ]


def test_r10_an_answer_in_a_crank_must_be_announced_too() -> None:
    # Seat 1 answers the 2S and has one card left. The crank goes on after its penalty.
    end = play(
        starter="KS",
        hands=["2S 4C 5C", "AD QC", "JS 4H 6H"],
        stock="9C 10D KH KC JH",
        bot="random,random:forget=1,random",
        changes={"turn_cap": 3},
    )
    assert end.story[:5] == [
        "0 plays 2S",
        "1 plays AD",
        "1 is caught",
        "1 draws 9C (penalty)",
        "1 draws 10D (penalty)",
    ]
    assert end.story[5:] == ["2 draws KH (crank)", "2 draws KC (crank)", "2 draws JH (crank)", "truncated"]


def test_r10_nothing_is_announced_while_a_crank_is_played_out() -> None:
    # Seat 0 has gone out with the 2S. Seat 1 answers with one card left: the round is over but for the crank.
    end = play(starter="KS", hands=["2S", "AD QC", "JS 4H"], stock="9C 10D KH KC JH", bot="random:forget=1")
    assert end.story[:3] == ["0 plays 2S", "0 goes out", "1 plays AD"]
    assert end.story[3:] == ["2 draws 9C (crank)", "2 draws 10D (crank)", "2 draws KH (crank)"]


def test_r10_players_dealt_a_single_card_need_not_announce() -> None:
    """Nor does a starter have to be announced, by a dealer with one card."""
    end = play(
        starter="KS",
        hands=["4D", "5H"],
        stock="9C 10D KH",
        bot="random:forget=1",
        changes={"turn_cap": 2},
    )
    assert end.story == ["0 draws 9C", "1 draws 10D", "truncated"]


def test_r10_a_card_drawn_instead_of_going_out_need_not_be_announced() -> None:
    # Nobody goes out on an ability card here: seat 0 plays its last card, the 10S, and draws one.
    end = play(
        starter="KS",
        hands=["10S", "JS 5C 5D"],
        stock="9C 10D KH",
        bot="random:forget=1",
        changes={"going_out.on_ability": False, "turn_cap": 2},
    )
    assert end.story == ["0 plays 10S", "0 draws 9C", "1 plays JS", "truncated"]


@pytest.mark.parametrize("reshuffle", [True, False])
def test_r10_the_penalty_is_subject_to_the_stock(reshuffle: bool) -> None:
    """R12: it goes on after a reshuffle, or stops short; the turn is lost all the same."""
    # One card is left; below the 3S of seat 0 lies the KS.
    end = play(
        starter="KS",
        hands=["3S QD", "JS 4C 5C"],
        stock="9C",
        bot=SEAT_0_FORGETS[2],
        changes={"stock.reshuffle": reshuffle, "turn_cap": 2},
    )
    second = ["0 reshuffles 1", "0 draws KS (penalty)"] if reshuffle else []
    assert end.story[:-1] == [
        "0 plays 3S",
        "0 is caught",
        "0 draws 9C (penalty)",
        *second,
        "1 plays JS",
        "0 loses a turn",
    ]


@pytest.mark.parametrize("cards", [0, 1, 5])
@pytest.mark.parametrize("lose_turn", [True, False])
def test_r10_announce_cards_and_lose_turn_are_fields(cards: int, lose_turn: bool) -> None:
    # Seat 1 plays the JS. Then it is the turn of seat 0, which can only draw; where that turn is lost, seat 1 draws.
    end = play(
        starter="KS",
        hands=["3S QD", "JS 4C 5C"],
        stock="9C 10D KH KC 6H 6C 6D",
        bot=SEAT_0_FORGETS[2],
        changes={"announce.cards": cards, "announce.lose_turn": lose_turn, "turn_cap": 3},
    )
    assert (end.story[1] == "0 is caught") == (cards > 0 or lose_turn)
    assert sum("(penalty)" in line for line in end.story) == cards
    assert ("0 loses a turn" in end.story) == lose_turn
    assert end.story[-2].startswith("1 draws" if lose_turn else "0 draws")


def test_r10_without_penalty_nothing_is_asked() -> None:
    """A rule that is off costs no random number: forgetful bots play the same game as others."""
    off = {"announce.cards": 0, "announce.lose_turn": False, "deals": [4, 4]}
    [forgetful] = play_games(changes=off, bots="random:forget=1")
    [mindful] = play_games(changes=off, bots="random")
    assert forgetful == mindful


@pytest.mark.parametrize("bots", ["random", "greedy", "random:forget=1:catch=0"])
def test_r10_nobody_is_caught_who_announces_or_whom_nobody_calls(bots: str) -> None:
    """Announcing is the default of all bots (bug 31)."""
    [game] = play_games(changes={"deals": [4, 4, 4]}, bots=bots)
    assert Action.CAUGHT not in {event[2] for event in game.events}


def test_r10_forgetting_and_calling_are_chances() -> None:
    """No buttons to press in time: a seat forgets with one chance, each other calls it with another (bug 31)."""
    # Two cards each, three players. Half of the last cards are not announced, and one of the two others calls with
    # chance 1 - 0.6^2 = 0.64: a seat with one card left is caught with chance 0.32.
    chances = caught = 0
    for game in play_games(8, changes={"players": 3, "deals": [2] * 20}, bots="random:forget=0.5:catch=0.4"):
        for events in rounds_of(game):
            held = [0, 0, 0]
            for _, _, action, seat, *_ in events:
                if action == Action.GO_OUT:
                    break
                held[seat] += (action in (Action.DEAL, Action.DRAW)) - (action == Action.PLAY)
                chances += action == Action.PLAY and held[seat] == 1
                caught += action == Action.CAUGHT
    assert chances > 300
    assert abs(caught - 0.32 * chances) < 4 * (0.32 * 0.68 * chances) ** 0.5


def test_r10_who_never_calls_catches_nobody() -> None:
    # Seat 0 forgets; only the other seat could call, and it never does.
    end = play(
        starter="KS",
        hands=["3S QD", "JS 4C 5C"],
        bot="random:forget=1,random:catch=0",
        changes={"turn_cap": 2},
    )
    assert end.story == ["0 plays 3S", "1 plays JS", "truncated"]
