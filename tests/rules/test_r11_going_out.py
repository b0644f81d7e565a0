"""R11: the last card, and the readings `going_out.last_card`, `going_out.again` and `going_out.on_ability`.

Going out with the card of a crank is in `test_r14_to_r16_crank.py`.
"""

import pytest

from tests.positions import play


def test_r11_the_round_ends_when_a_player_plays_the_last_card() -> None:
    end = play(starter="KS", hands=["JS", "QC 4D", "5H"], stock="9C", moves="JS")
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 25, 30])


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_r11_any_seat_can_end_it(players: int) -> None:
    """Who went out scores 0 and everybody else what they hold, at any table (bug 2)."""
    # One after the other plays a spade; the last seat has no other card.
    spades = ["3S", "QS", "AS", "KS", "JS"][:players]
    hands = [f"{spade} {spare}" for spade, spare in zip(spades, ["10H", "9D", "JC", "QC"], strict=False)]
    end = play(starter="9S", hands=[*hands[: players - 1], spades[-1]], moves=" ".join(spades))
    assert (end.went_out, end.points) == (players - 1, [*[25, 30, 10, 10][: players - 1], 0])


def test_r11_seven_the_next_player_still_draws() -> None:
    """Before the scores are taken, and nobody else does (bug 21)."""
    end = play(starter="KS", hands=["7S", "QC", "4D"], stock="9C 10D", moves="7S")
    assert (end.over, end.points, end.stock) == (True, [0, 10 + 30, 15], 1)


def test_r11_seven_the_next_player_in_the_direction_of_play() -> None:
    # Seat 1 turned up the 10S: after seat 0 comes seat 2.
    end = play(starter="10S", dealer=1, hands=["7S", "QC", "4D"], stock="9C 10D", moves="7S")
    assert end.points == [0, 10, 15 + 30]


def test_r11_seven_as_last_card_takes_no_turn_away() -> None:
    changes = {"abilities.7": "next_draws:2,lose_turn"}
    end = play(starter="KS", hands=["7S", "QC", "4D"], stock="9C 10D", moves="7S", changes=changes)
    assert (end.over, end.points) == (True, [0, 10 + 30 + 25, 15])


def test_r11_five_all_others_still_draw() -> None:
    """Before the scores are taken (bug 21)."""
    end = play(starter="KS", hands=["5S", "QC", "4D", "AH"], stock="9C 10D 2D 3H", moves="5S")
    assert (end.over, end.points, end.stock) == (True, [0, 10 + 30, 15 + 25, 1 + 20], 1)


@pytest.mark.parametrize("card", ["4S", "6S", "8S", "9S", "10S", "AS", "3S", "QS"])
def test_r11_other_cards_have_no_effect(card: str) -> None:
    end = play(starter="KS", hands=[card, "JC", "4D"], stock="9C 10D", moves=card)
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 10, 15])
    assert (end.suit, end.direction, end.crank, end.stock) == ("S", 1, 0, 2)
    assert end.story == [f"0 plays {card}", "0 goes out"]


@pytest.mark.parametrize("card", ["8S", "9S"])
@pytest.mark.parametrize("seed", range(8))
def test_r11_who_goes_out_names_no_suit(card: str, seed: int) -> None:
    """No choice is asked any more (bug 22)."""
    # The bot would name another suit three times out of four.
    end = play(starter="KS", hands=[card, "JC", "4D"], bot="random", seed=seed)
    assert (end.over, end.suit) == (True, "S")


# last_card = ignored


@pytest.mark.parametrize("card", ["7S", "5S", "2S"])
def test_r11_last_card_ignored_nothing_acts(card: str) -> None:
    """Nobody draws, and no crank is played out (bug 21)."""
    end = play(
        starter="KS",
        hands=[card, "JC", "4D"],
        stock="9C 10D 9H",
        moves=card,
        changes={"going_out.last_card": "ignored"},
    )
    assert (end.over, end.points, end.crank, end.stock) == (True, [0, 10, 15], 0, 3)


def test_r11_last_card_ignored_still_acts_in_the_middle_of_a_round() -> None:
    changes = {"going_out.last_card": "ignored"}
    end = play(starter="KS", hands=["7S 4H", "JC", "4D"], stock="9C", moves="7S", changes=changes)
    assert end.hands[1] == "9C JC"


# again = draws


def test_r11_again_draws_one_and_the_turn_passes_on() -> None:
    changes = {"going_out.again": "draws"}
    end = play(starter="KS", hands=["6S", "JC QS", "4D"], stock="9C 10D", moves="6S", changes=changes)
    assert (end.over, end.hands[0], end.to_act, end.legal) == (False, "9C", 1, ["QS"])


def test_r11_again_draws_passes_on_in_the_direction_of_play() -> None:
    changes = {"going_out.again": "draws"}
    end = play(starter="10S", dealer=1, hands=["6S", "JC", "4D"], stock="9C", moves="6S", changes=changes)
    assert (end.hands[0], end.to_act) == ("9C", 2)


def test_r11_again_draws_where_nothing_can_be_drawn_the_round_ends() -> None:
    changes = {"going_out.again": "draws", "stock.reshuffle": False}
    end = play(starter="KS", hands=["6S", "JC", "4D"], moves="6S", changes=changes)
    assert end.story == ["0 plays 6S", "0 goes out"]
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 10, 15])


def test_r11_again_draws_from_the_discards_too() -> None:
    # The stock is empty; the KS below the 6S can be drawn.
    end = play(starter="KS", hands=["6S", "JC", "4D"], moves="6S", changes={"going_out.again": "draws"})
    assert (end.over, end.hands[0], end.to_act) == (False, "KS", 1)


def test_r11_again_draws_leaves_a_six_before_the_last_card_alone() -> None:
    changes = {"going_out.again": "draws"}
    end = play(starter="KS", hands=["6S 4H", "JC", "4D"], stock="9C", moves="6S", changes=changes)
    assert (end.hands[0], end.to_act, end.stock) == ("4H", 0, 1)


def test_r11_again_draws_for_any_rank_that_plays_again() -> None:
    changes = {"going_out.again": "draws", "abilities.J": "again", "abilities.6": "none"}
    position = {"starter": "KS", "stock": "9C", "changes": changes}
    assert play(**position, hands=["JS", "QC"], moves="JS").over is False
    assert play(**position, hands=["6S", "QC"], moves="6S").over is True


def test_r11_again_draws_is_an_effect_of_the_last_card() -> None:
    # Where last cards do nothing, a 6 ends the round.
    changes = {"going_out.again": "draws", "going_out.last_card": "ignored"}
    end = play(starter="KS", hands=["6S", "JC"], stock="9C", moves="6S", changes=changes)
    assert (end.over, end.points) == (True, [0, 10])


# on_ability = false

NOT_ON_ABILITY = {"going_out.on_ability": False}


@pytest.mark.parametrize(
    ("move", "drawers", "to_act", "direction", "suit", "crank"),
    [
        ("4S", "0", 2, 1, "S", 0),
        ("5S", "120", 1, 1, "S", 0),
        ("6S", "0", 0, 1, "S", 0),
        ("7S", "10", 1, 1, "S", 0),
        ("8S>H", "0", 1, 1, "H", 0),
        ("9S>C", "0", 1, 1, "C", 0),
        ("10S", "0", 2, -1, "S", 0),
        ("2S", "0", 1, 1, "S", 2),
    ],
)
def test_r11_on_ability_false_the_ability_applies_and_the_player_draws_one(
    move: str, drawers: str, to_act: int, direction: int, suit: str, crank: int
) -> None:
    """And play goes on; the player is the last to draw."""
    # Seat 0 of three plays its last card. The cards of the stock tell who draws, in order.
    stock = ["3C", "3D", "3H"]
    end = play(
        starter="KS",
        hands=[move.partition(">")[0], "QC JC", "QD JD"],
        stock=" ".join(stock),
        moves=move,
        changes=NOT_ON_ABILITY,
    )
    causes = {"0": "", "1": " (ability)", "2": " (ability)"}
    assert end.story[1:] == [f"{seat} draws {card}{causes[seat]}" for seat, card in zip(drawers, stock, strict=False)]
    assert (end.over, end.to_act, end.direction, end.suit) == (False, to_act, direction, suit)
    assert end.crank == crank


@pytest.mark.parametrize(
    ("ability", "to_act", "hands"),
    [
        ("reverse", 0, ["3C", "JC QC"]),
        ("skip:2", 1, ["3C", "JC QC"]),
        ("next_draws:2,lose_turn", 0, ["3H", "3C JC QC 3D"]),
        ("others_draw:2", 1, ["3H", "3C JC QC 3D"]),
    ],
)
def test_r11_on_ability_false_abilities_of_other_amounts(ability: str, to_act: int, hands: list[str]) -> None:
    # Two players, where a reverse is a skip. Seat 0 plays its last card, the KS.
    changes = {**NOT_ON_ABILITY, "reverse.two_players": "skip", "abilities.K": ability}
    end = play(starter="9S", hands=["KS", "QC JC"], stock="3C 3D 3H", moves="KS", changes=changes)
    assert (end.over, end.hands, end.to_act) == (False, hands, to_act)


@pytest.mark.parametrize("card", ["3S", "JS", "QS", "AS"])
def test_r11_on_ability_false_one_may_go_out_on_any_other_card(card: str) -> None:
    """An ace is one outside a crank."""
    end = play(starter="KS", hands=[card, "QC JC", "QD JD"], stock="3C", moves=card, changes=NOT_ON_ABILITY)
    assert (end.over, end.went_out, end.stock) == (True, 0, 1)


@pytest.mark.parametrize(("card", "count"), [("AD", 3), ("2D", 4)])
def test_r11_on_ability_false_inside_a_crank_neither_ace_nor_two_goes_out(card: str, count: int) -> None:
    # The 2S was turned up. Seat 0 answers with its last card, adds to the count and draws one.
    end = play(starter="2S", hands=[card, "QC JC", "QD JD"], stock="3C", moves=card, changes=NOT_ON_ABILITY)
    assert (end.over, end.hands[0], end.to_act, end.crank) == (False, "3C", 1, count)


@pytest.mark.parametrize("move", ["4S", "6S", "7S", "8S>H", "9S>C", "10S", "5S"])
def test_r11_on_ability_false_where_nothing_can_be_drawn_the_round_ends(move: str) -> None:
    card = move.partition(">")[0]
    changes = {"going_out.on_ability": False, "stock.reshuffle": False}
    end = play(starter="KS", hands=[card, "QC JC", "QD JD"], moves=move, changes=changes)
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 20, 20])
    assert end.story[1:] == ["0 goes out"]


@pytest.mark.parametrize(("card", "points"), [("5S", [0, 22, 20 + 30]), ("7S", [0, 22, 20])])
def test_r11_on_ability_false_the_ability_may_take_the_last_card_to_draw(card: str, points: list[int]) -> None:
    # Cards left: for the 5S two, for the 7S one. Others draw them, nothing is left for seat 0, and it goes out.
    stock = {"5S": "AC 9D", "7S": "AC"}[card]
    changes = {"going_out.on_ability": False, "stock.reshuffle": False}
    end = play(starter="KS", hands=[card, "QC JC AH", "QD JD"], stock=stock, moves=card, changes=changes)
    assert (end.over, end.went_out, end.points, end.stock) == (True, 0, points, 0)


def test_r11_on_ability_false_where_nothing_can_be_drawn_a_crank_is_played_out() -> None:
    # Seat 0 goes out with the 2S after all. Seat 1 answers it, seat 2 has to pay three cards and gets none.
    changes = {"going_out.on_ability": False, "stock.reshuffle": False}
    end = play(starter="KS", hands=["2S", "AC JC", "QD JD"], moves="2S AC draw", changes=changes)
    assert end.story == ["0 plays 2S", "0 goes out", "1 plays AC", "2 passes"]
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 10, 20])


@pytest.mark.parametrize("on_last_card", ["next_pays", "ignored"])
def test_r11_on_ability_false_and_the_other_readings_of_a_crank(on_last_card: str) -> None:
    # Going out with the 2S, where nothing can be drawn, ends the round at once.
    changes = {"going_out.on_ability": False, "stock.reshuffle": False, "crank.on_last_card": on_last_card}
    position = {"starter": "KS", "hands": ["2S", "AC JC", "QD JD"], "moves": "2S"}
    end = play(**position, changes=changes)
    assert (end.over, end.went_out, end.crank, end.points) == (True, 0, 0, [0, 11, 20])
    # Where a card can be drawn, the crank that the 2S starts is like any other.
    end = play(**position, stock="3C", changes=changes)
    assert (end.over, end.hands[0], end.crank, end.to_act) == (False, "3C", 2, 1)


@pytest.mark.parametrize("last_card", ["applies", "ignored"])
def test_r11_on_ability_false_works_whatever_a_last_card_does(last_card: str) -> None:
    """The card is not the last: its ability applies."""
    changes = {"going_out.on_ability": False, "going_out.last_card": last_card}
    end = play(starter="KS", hands=["7S", "QC", "QD"], stock="3C 3D", moves="7S", changes=changes)
    assert (end.over, end.hands, end.to_act) == (False, ["3D", "3C QC", "QD"], 1)
    end = play(starter="KS", hands=["2S", "QC", "QD"], stock="3C 3D", moves="2S", changes=changes)
    assert (end.over, end.hands[0], end.crank) == (False, "3C", 2)


@pytest.mark.parametrize(("last_card", "to_act"), [("applies", 1), ("ignored", 0)])
def test_r11_on_ability_false_and_again_draws(last_card: str, to_act: int) -> None:
    """A 6 draws one either way; `again` = draws passes the turn on, where a last card has effects."""
    changes = {"going_out.on_ability": False, "going_out.again": "draws", "going_out.last_card": last_card}
    end = play(starter="KS", hands=["6S", "QC", "QD"], stock="3C", moves="6S", changes=changes)
    assert (end.over, end.hands[0], end.to_act) == (False, "3C", to_act)
