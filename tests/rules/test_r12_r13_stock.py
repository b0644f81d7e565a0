"""R12, when the stock runs out, and R13, when nobody can do anything."""

from collections import defaultdict

import pytest

from craits_sim.bots import parse_bots
from craits_sim.kernel import simulate_batch
from craits_sim.results import Action, Ending
from craits_sim.rules import load_rules
from tests.naive import hand_score
from tests.positions import Changes, play, play_games, rounds_of

# R12


def test_r12_a_reshuffle_keeps_the_top_card() -> None:
    """The discards under it become the stock, and it is still to be followed (bug 1)."""
    # Seat 0 cannot play; there is no stock, and three cards lie below the KS.
    end = play(starter="KS", hands=["QD 4H", "KC 5D"], discards="7C 9C 10D", moves="draw")
    assert end.story[0] == "0 reshuffles 3"
    assert (end.top, end.stock, end.to_act, end.legal) == ("KS", 2, 1, ["KC"])


def test_r12_a_reshuffle_brings_back_the_discards_and_no_card_held() -> None:
    """Nor any card twice (bug 16)."""
    # Seats 0 and 1 draw all that lies below the KS, and there is nothing more.
    end = play(starter="KS", hands=["QD 4H", "JC 5D"], discards="7C 9C", moves="draw draw draw")
    assert sorted(" ".join(end.hands).split()) == ["4H", "5D", "7C", "9C", "JC", "QD"]
    assert (end.stock, end.story[-1]) == (0, "0 passes")


def test_r12_a_reshuffle_happens_at_any_point_inside_a_draw() -> None:
    # The crank costs four: one card is in the stock; below the 2D lie the 9C, the 10D and the 2S.
    position = {"starter": "2S", "hands": ["2D QC", "JC 5D"], "stock": "7C", "discards": "9C 10D"}
    end = play(**position, moves="2D draw")
    assert end.story[1:3] == ["1 draws 7C (crank)", "1 reshuffles 3"]
    assert set(end.hands[1].split()) == {"JC", "5D", "7C", "9C", "10D", "2S"}
    assert (end.top, end.stock, end.crank, end.to_act) == ("2D", 0, 0, 0)


def test_r12_a_draw_stops_short_where_there_are_no_cards() -> None:
    """The rest of the penalty is void: nobody else pays it (bugs 3 and 20)."""
    # The crank costs four; the 7C in the stock and the 2S below the 2D are all there is.
    end = play(starter="2S", hands=["2D QC", "JC 5D", "KD 4H"], stock="7C", moves="2D draw")
    assert end.story == ["0 plays 2D", "1 draws 7C (crank)", "1 reshuffles 1", "1 draws 2S (crank)"]
    assert (end.hands[2], end.crank, end.to_act, end.legal) == ("KD 4H", 0, 2, ["KD"])


def test_r12_reshuffle_false_the_discards_stay_where_they_are() -> None:
    changes = {"stock.reshuffle": False}
    end = play(starter="KS", hands=["QD 4H", "JC 5D"], discards="7C 9C 10D", moves="draw", changes=changes)
    assert (end.story, end.stock) == (["0 passes"], 0)


def test_r12_no_card_is_lost_or_doubled() -> None:
    """In many games that live on reshuffles; the kernel checks it after every card (bugs 1, 10, 16)."""
    rules = load_rules("classic", {"players": 5, "deals": [10] * 4, "draw.count": 2})
    batch = simulate_batch(rules, parse_bots("random", 5), 1, 0, 200, checks=True)
    assert batch.reshuffles.sum() > 1000


# pressure


def test_r12_pressure_is_paid_by_the_seat_whose_draw_causes_the_reshuffle() -> None:
    # Seat 0 plays the 7S; it is seat 1 that draws, and finds no stock.
    end = play(starter="KS", hands=["7S QC", "JD 4H"], moves="7S", changes={"stock.pressure": 5})
    assert end.story == ["0 plays 7S", "1 reshuffles 1", "1 pays 5", "1 draws KS (ability)"]


def test_r12_pressure_grows_with_each_reshuffle_of_the_same_seat() -> None:
    # Seat 0 draws twice, and both times it has to reshuffle: 5 and 10 points. Seat 1 has 10 for the JH in its hand,
    # seat 0 has 10 + 15 + 10 for the QC, the 4C and the KS. The cap ends the round.
    end = play(
        starter="KS",
        hands=["QC", "KD JH"],
        discards="4C",
        moves="draw KD draw",
        changes={"stock.pressure": 5, "turn_cap": 3},
    )
    assert [line for line in end.story if "pays" in line] == ["0 pays 5", "0 pays 10"]
    assert end.points == [35 + 15, 10]


def test_r12_pressure_of_the_round_winner_counts_too() -> None:
    # Seat 0 draws the 4D after a reshuffle; seat 1 plays the KC, and seat 0 the 4C, again its turn, and the 4D.
    end = play(
        starter="KS",
        hands=["4C", "KC QH"],
        discards="4D",
        moves="draw KC 4C 4D",
        changes={"stock.pressure": 5},
    )
    assert (end.went_out, end.points) == (0, [5, 10])


@pytest.mark.parametrize(("pressure", "factor"), [(5, 2), (3, 3), (7, 1)])
def test_r12_pressure_grows_over_the_whole_game(pressure: int, factor: int) -> None:
    """It starts anew with a new game only."""
    # Five players with ten cards each leave one card to draw.
    changes: Changes = {
        "players": 5,
        "deals": [10] * 3,
        "stock.pressure": pressure,
        "stock.pressure_factor": factor,
    }
    seats_that_paid_twice = 0
    for game in play_games(2, changes=changes):
        paid = defaultdict(list)
        for _, _, action, seat, _, _, _, detail in game.events:
            if action == Action.PRESSURE:
                paid[seat].append(detail)
        for extra in paid.values():
            assert extra == [pressure * factor**number for number in range(len(extra))]
            seats_that_paid_twice += len(extra) > 1
    assert seats_that_paid_twice > 4


def test_r12_pressure_is_added_to_the_score_of_its_round() -> None:
    changes: Changes = {"players": 5, "deals": [10] * 5, "stock.pressure": 5}
    rules = load_rules("classic", changes)
    [game] = play_games(changes=changes)
    winners_that_paid = 0
    for events, went_out in zip(rounds_of(game), game.went_out, strict=True):
        hands: list[set[int]] = [set() for _ in range(5)]
        paid, scores = [0] * 5, [0] * 5
        for _, _, action, seat, card, _, _, detail in events:
            match action:
                case Action.DEAL | Action.DRAW:
                    hands[seat].add(card)
                case Action.PLAY:
                    hands[seat].remove(card)
                case Action.PRESSURE:
                    paid[seat] += detail
                case Action.SCORE:
                    scores[seat] = detail
        assert scores == [hand_score(rules, hand) + extra for hand, extra in zip(hands, paid, strict=True)]
        winners_that_paid += paid[went_out] > 0
    assert winners_that_paid > 0


def test_r12_no_pressure_in_classic() -> None:
    [game] = play_games(changes={"players": 5, "deals": [10] * 3})
    actions = {event[2] for event in game.events}
    assert Action.RESHUFFLE in actions
    assert Action.PRESSURE not in actions


# R13

# Nobody can play, and there is nothing to draw.
STUCK = ["QC", "JD 4D", "5H", "QD", "JC"]


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_r13_a_round_is_blocked_when_a_whole_circle_does_nothing(players: int) -> None:
    """Not a turn sooner; everyone scores the hand held (bug 13)."""
    position = {"starter": "KS", "hands": STUCK[:players]}
    almost = play(**position, moves="draw " * (players - 1))
    assert (almost.over, almost.to_act) == (False, players - 1)
    end = play(**position, moves="draw " * players)
    assert end.story == [f"{seat} passes" for seat in range(players)] + ["blocked"]
    assert (end.over, end.went_out, end.points) == (True, None, [10, 25, 30, 10, 10][:players])


def test_r13_a_card_played_begins_the_count_anew() -> None:
    # Seats 0 and 1 of three can do nothing, seat 2 plays the 3S. Three more turns in which nobody can do anything
    # block the round, not one.
    changes = {"stock.reshuffle": False}
    position = {"starter": "KS", "hands": ["QC", "JD 4D", "3S 5H"], "changes": changes}
    assert play(**position, moves="draw draw 3S draw draw").over is False
    assert play(**position, moves="draw draw 3S draw draw draw").story[-1] == "blocked"


def test_r13_a_card_drawn_begins_the_count_anew() -> None:
    # Seat 1 of two finds the only card there is to draw; after that both must have passed once.
    position = {"starter": "KS", "hands": ["QC 3D", "JD 4D"], "stock": "7C"}
    assert play(**position, moves="draw draw").over is False
    assert play(**position, moves="draw draw draw").story == ["0 draws 7C", "1 passes", "0 passes", "blocked"]


def test_r13_the_extra_turn_of_a_six_counts_as_a_turn() -> None:
    # Seat 0 plays the 6S and can do no more; seat 1 neither: two turns, two players.
    changes = {"stock.reshuffle": False}
    end = play(starter="KS", hands=["6S QD", "KC 4C"], moves="6S draw draw", changes=changes)
    assert end.story == ["0 plays 6S", "0 passes", "1 passes", "blocked"]


def test_r13_a_crank_that_cannot_be_paid_counts_as_a_turn_in_which_nothing_was_done() -> None:
    # The 2S was turned up and there is no card to draw: seat 0 cannot pay it, and then seat 1 cannot play either.
    end = play(starter="2S", hands=["QD 4H", "KC 4C"], moves="draw draw")
    assert (end.story, end.crank) == (["0 passes", "1 passes", "blocked"], 0)


def test_r13_a_skipped_turn_is_no_turn() -> None:
    # Seat 0 skips seat 1 of three with the 4S. Then seats 2, 0 and 1 pass.
    changes = {"stock.reshuffle": False}
    position = {"starter": "KS", "hands": ["4S QD", "KC JC", "KD JD"], "changes": changes}
    assert play(**position, moves="4S draw draw draw").story == [
        "0 plays 4S",
        "2 passes",
        "0 passes",
        "1 passes",
        "blocked",
    ]


def test_r13_a_turn_lost_for_a_forgotten_announcement_is_no_turn() -> None:
    # Seat 0 plays the 3S and is caught, but there is no card to draw. Seats 1 and 2 pass, seat 0 is passed over, and
    # with seat 1 the third turn has gone by in which nothing could be done.
    end = play(
        starter="KS",
        hands=["3S QD", "KC JC", "KD JD"],
        bot="random:forget=1,random,random",
        changes={"stock.reshuffle": False},
    )
    assert end.story[1:] == ["0 is caught", "1 passes", "2 passes", "0 loses a turn", "1 passes", "blocked"]


# blocked.score = lowest_zero


@pytest.mark.parametrize(
    ("hands", "as_held", "lowest_zero"),
    [
        (["QC 4H", "JD", "5H"], [25, 10, 30], [25, 0, 30]),
        (["QC", "JD", "5H"], [10, 10, 30], [0, 0, 30]),
        (["QC", "JD", "QH"], [10, 10, 10], [0, 0, 0]),
        (["3H 3D", "QC", "JD"], [-100, 10, 10], [0, 10, 10]),
        (["3H 3D", "3C", "JD"], [-100, -50, 10], [0, -50, 10]),
        (["3H JC", "QC", "JD"], [0, 10, 10], [0, 10, 10]),
    ],
)
def test_r13_lowest_zero_every_seat_with_the_lowest_hand_scores_zero(
    hands: list[str], as_held: list[int], lowest_zero: list[int]
) -> None:
    """All of them where they tie; a hand below zero counts as the lowest too."""
    position = {"starter": "KS", "hands": hands, "moves": "draw draw draw"}
    assert play(**position).points == as_held
    assert play(**position, changes={"blocked.score": "lowest_zero"}).points == lowest_zero


def test_r13_lowest_zero_in_a_round_that_is_cut_off_too() -> None:
    changes = {"blocked.score": "lowest_zero", "turn_cap": 1}
    end = play(starter="KS", hands=["QC", "JD 4D"], stock="9C", moves="draw", changes=changes)
    assert (end.story, end.points) == (["0 draws 9C", "truncated"], [40, 0])


def test_r13_lowest_zero_only_where_nobody_went_out() -> None:
    # Seat 1 has the lowest hand, with two threes, and keeps its -100.
    changes = {"blocked.score": "lowest_zero"}
    end = play(starter="KS", hands=["JS", "3H 3D", "QC"], moves="JS", changes=changes)
    assert end.points == [0, -100, 10]


def test_r13_lowest_zero_before_shuffle_pressure_is_added() -> None:
    # Seat 0 reshuffles and draws the 4C: a hand of 25 and 5 extra. Seat 1 holds 40. Both can do no more.
    changes = {"blocked.score": "lowest_zero", "stock.pressure": 5}
    end = play(starter="KS", hands=["QC", "JD 5H"], discards="4C", moves="draw draw draw", changes=changes)
    assert (end.story[-1], end.points) == ("blocked", [0 + 5, 40])


# turn_cap


def test_r13_turn_cap_ends_the_round_where_a_further_turn_would_begin() -> None:
    """It is scored as it stands, and nobody has won it (bug 5)."""
    position = {"starter": "KS", "hands": ["QC", "JD 4D"], "stock": "9C 9D 9H"}
    assert play(**position, moves="draw draw").over is False
    end = play(**position, moves="draw draw", changes={"turn_cap": 2})
    assert end.story == ["0 draws 9C", "1 draws 9D", "truncated"]
    assert (end.over, end.went_out, end.points) == (True, None, [40, 55])


def test_r13_turn_cap_lets_the_last_turn_win() -> None:
    end = play(starter="KS", hands=["JS", "QC"], moves="JS", changes={"turn_cap": 1})
    assert (end.went_out, end.points) == (0, [0, 10])


def test_r13_turn_cap_counts_the_extra_turn_of_a_six() -> None:
    end = play(starter="KS", hands=["6S JS QD", "QC"], moves="6S JS", changes={"turn_cap": 2})
    assert end.story == ["0 plays 6S", "0 plays JS", "truncated"]


def test_r13_turn_cap_does_not_count_the_play_after_a_draw() -> None:
    # Drawing and playing is one turn (R9).
    changes = {"turn_cap": 1, "draw.until_playable": True}
    end = play(starter="KS", hands=["QC 4D", "JD 5H"], stock="9C JS", moves="draw JS", changes=changes)
    assert end.story == ["0 draws 9C", "0 draws JS", "0 plays JS", "truncated"]


def test_r13_turn_cap_lets_a_crank_be_played_out() -> None:
    # Seat 0 goes out with the 2S in the only turn; two more seats answer and pay.
    changes = {"turn_cap": 1}
    end = play(starter="KS", hands=["2S", "AD QC", "JD"], stock="9C 9D 9H", moves="2S AD draw", changes=changes)
    assert (end.went_out, end.points) == (0, [0, 10, 100])


def test_r13_turn_cap_after_a_card_drawn_instead_of_going_out() -> None:
    changes = {"turn_cap": 1, "going_out.on_ability": False}
    end = play(starter="KS", hands=["10S", "QC"], stock="9C", moves="10S", changes=changes)
    assert (end.story, end.points) == (["0 plays 10S", "0 draws 9C", "truncated"], [30, 10])


def test_r13_turn_cap_ends_a_round_that_goes_round_in_a_circle() -> None:
    """Two fives passed to and fro for ever (bugs 14, 15 and 32)."""
    # The stock is empty. Seat 0 plays the 5S on the 5H, and seat 1 draws the only discard, the 5H, which it plays on
    # the 5S; seat 0 draws the 5S. Nobody can play the other card in hand. After 1000 turns seat 0 holds the 5S again.
    end = play(starter="5H", hands=["5S QD", "KC"], bot="random", changes={"turn_cap": 1000})
    assert end.story[:4] == ["0 plays 5S", "1 reshuffles 1", "1 draws 5H (ability)", "1 plays 5H"]
    assert end.story[-1] == "truncated"
    assert (end.hands, end.points) == (["QD 5S", "KC"], [40, 10])


def test_r13_truncated_rounds_are_counted_apart() -> None:
    """Not as blocked, and not as won by anybody (bug 5)."""
    rules = load_rules("classic", {"deals": [12, 3], "turn_cap": 50, "stock.reshuffle": False})
    batch = simulate_batch(rules, parse_bots("random", 4), 1, 0, 200)
    assert set(batch.ending.ravel()) == set(Ending)
    assert ((batch.went_out >= 0) == (batch.ending == Ending.WENT_OUT)).all()
    assert (batch.turns[batch.ending == Ending.TRUNCATED] == 50).all()
    assert (batch.turns[batch.ending == Ending.BLOCKED] <= 50).all()
