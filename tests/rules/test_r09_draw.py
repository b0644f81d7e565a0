"""R9: a player who can play must; what one draws who cannot, under every reading of `draw`."""

import pytest

from tests.positions import assert_refused, play

# Seat 0 has nothing that matches the QS.
CANNOT_PLAY = {"starter": "QS", "hands": ["4D KH", "3S QC"]}
# Seat 0 can play the JS on it.
CAN_PLAY = {"starter": "QS", "hands": ["4D JS", "3S QC"]}


def test_r09_who_can_play_must() -> None:
    assert_refused(**CAN_PLAY, stock="5C", moves="draw")


def test_r09_who_cannot_play_draws_one_and_the_turn_ends() -> None:
    """One card a turn, even if it could be played (bug 23)."""
    end = play(**CANNOT_PLAY, stock="JS 7C", moves="draw")
    assert (end.hands[0], end.to_act, end.stock) == ("4D KH JS", 1, 1)


def test_r09_who_can_neither_play_nor_draw_passes() -> None:
    """The turn passes on although no card was drawn (bug 13)."""
    end = play(**CANNOT_PLAY, moves="draw")
    assert (end.story, end.to_act) == (["0 passes"], 1)


# count


def test_r09_count_draws_so_many() -> None:
    end = play(**CANNOT_PLAY, stock="JS 5C 6C 7C", moves="draw", changes={"draw.count": 3})
    assert (end.hands[0], end.to_act) == ("5C 6C 4D KH JS", 1)


def test_r09_count_stops_short_where_the_cards_run_out() -> None:
    end = play(**CANNOT_PLAY, stock="5C", moves="draw", changes={"draw.count": 3})
    assert (end.hands[0], end.to_act, end.over) == ("5C 4D KH", 1, False)


# until_playable, limit


def test_r09_until_playable_draws_until_able_and_plays() -> None:
    """All in one turn (bug 23)."""
    # The 5C and the 6C do not match the QS, the JS does; it must be played.
    position = {**CANNOT_PLAY, "stock": "5C 6C JS 7C", "changes": {"draw.until_playable": True}}
    drawn = play(**position, moves="draw")
    assert (drawn.hands[0], drawn.to_act, drawn.legal) == ("5C 6C 4D KH JS", 0, ["JS"])
    end = play(**position, moves="draw JS")
    assert (end.hands[0], end.to_act) == ("5C 6C 4D KH", 1)


@pytest.mark.parametrize("play_drawn", ["no", "may", "must"])
def test_r09_until_playable_implies_must_play(play_drawn: str) -> None:
    changes = {"draw.until_playable": True, "draw.play_drawn": play_drawn}
    assert_refused(**CANNOT_PLAY, stock="JS 5C", changes=changes, moves="draw pass")


def test_r09_until_playable_draws_the_count_first() -> None:
    # Two cards at once, though the first would do.
    changes = {"draw.until_playable": True, "draw.count": 2}
    end = play(**CANNOT_PLAY, stock="JS 5C 6C", changes=changes, moves="draw JS")
    assert (end.hands[0], end.to_act) == ("5C 4D KH", 1)


def test_r09_until_playable_ends_the_turn_where_the_cards_run_out() -> None:
    changes = {"draw.until_playable": True}
    end = play(**CANNOT_PLAY, stock="5C 6C", changes=changes, moves="draw")
    assert (end.hands[0], end.to_act) == ("5C 6C 4D KH", 1)


def test_r09_until_playable_draws_on_after_a_reshuffle() -> None:
    changes = {"draw.until_playable": True}
    end = play(**CANNOT_PLAY, stock="5C", discards="JS", changes=changes, moves="draw JS")
    assert (end.hands[0], end.story[1]) == ("5C 4D KH", "0 reshuffles 1")


def test_r09_limit_ends_the_turn_of_who_still_cannot_play() -> None:
    changes = {"draw.until_playable": True, "draw.limit": 2}
    end = play(**CANNOT_PLAY, stock="5C 6C JS", changes=changes, moves="draw")
    assert (end.hands[0], end.to_act) == ("5C 6C 4D KH", 1)
    end = play(**CANNOT_PLAY, stock="5C JS 6C", changes=changes, moves="draw JS")
    assert (end.hands[0], end.to_act) == ("5C 4D KH", 1)


def test_r09_limit_caps_the_count_too() -> None:
    changes = {"draw.until_playable": True, "draw.limit": 2, "draw.count": 3}
    end = play(**CANNOT_PLAY, stock="5C 6C 7C", changes=changes, moves="draw")
    assert (end.hands[0], end.to_act) == ("5C 6C 4D KH", 1)


def test_r09_limit_means_nothing_without_until_playable() -> None:
    changes = {"draw.limit": 1, "draw.count": 3}
    end = play(**CANNOT_PLAY, stock="5C 6C 7C", changes=changes, moves="draw")
    assert end.hands[0] == "5C 6C 7C 4D KH"


# play_drawn


def test_r09_play_drawn_may_leaves_the_choice() -> None:
    position = {**CANNOT_PLAY, "stock": "JS 5C", "changes": {"draw.play_drawn": "may"}}
    kept = play(**position, moves="draw pass")
    assert (kept.hands[0], kept.to_act, kept.stock) == ("4D KH JS", 1, 1)
    played = play(**position, moves="draw JS")
    assert (played.hands[0], played.to_act, played.stock) == ("4D KH", 1, 1)


def test_r09_play_drawn_must_leaves_none() -> None:
    position = {**CANNOT_PLAY, "stock": "JS 5C", "changes": {"draw.play_drawn": "must"}}
    assert play(**position, moves="draw JS").to_act == 1
    assert_refused(**position, moves="draw pass")


@pytest.mark.parametrize("play_drawn", ["may", "must"])
def test_r09_play_drawn_asks_nothing_of_who_still_cannot_play(play_drawn: str) -> None:
    end = play(**CANNOT_PLAY, stock="5C 6C", moves="draw", changes={"draw.play_drawn": play_drawn})
    assert (end.hands[0], end.to_act) == ("5C 4D KH", 1)


def test_r09_play_drawn_any_card_that_can_be_played_now() -> None:
    # Two cards are drawn, and both match.
    changes = {"draw.play_drawn": "must", "draw.count": 2}
    assert play(**CANNOT_PLAY, stock="JS QD", changes=changes, moves="draw").legal == ["QD", "JS"]


def test_r09_play_drawn_ability_acts() -> None:
    # Seat 0 of three draws the 4S, plays it, and seat 1 is skipped.
    position = {"starter": "QS", "hands": ["4D KH", "3S QC", "JC JH"], "stock": "4S"}
    assert play(**position, moves="draw 4S", changes={"draw.play_drawn": "may"}).to_act == 2


# voluntary


def test_r09_voluntary_a_player_may_draw_instead_of_playing() -> None:
    end = play(**CAN_PLAY, stock="5C", moves="draw", changes={"draw.voluntary": True})
    assert (end.hands[0], end.to_act) == ("5C 4D JS", 1)


def test_r09_voluntary_draws_the_count() -> None:
    end = play(**CAN_PLAY, stock="5C 6C 7C", moves="draw", changes={"draw.voluntary": True, "draw.count": 2})
    assert (end.hands[0], end.to_act) == ("5C 6C 4D JS", 1)


def test_r09_voluntary_only_where_there_is_a_card_to_draw() -> None:
    changes = {"draw.voluntary": True}
    assert_refused(**CAN_PLAY, changes=changes, moves="draw")
    assert play(**CAN_PLAY, discards="5C", changes=changes, moves="draw").hands[0] == "5C 4D JS"


def test_r09_voluntary_then_may_or_must_play() -> None:
    # Who has drawn of its own will may play a card held before, or keeps all, or, with `must`, has to play one.
    may = {"draw.voluntary": True, "draw.play_drawn": "may"}
    assert play(**CAN_PLAY, stock="5C", changes=may, moves="draw pass").hands[0] == "5C 4D JS"
    assert play(**CAN_PLAY, stock="5C", changes=may, moves="draw JS").hands[0] == "5C 4D"
    must = {"draw.voluntary": True, "draw.play_drawn": "must"}
    assert play(**CAN_PLAY, stock="5C", changes=must, moves="draw JS").hands[0] == "5C 4D"
    assert_refused(**CAN_PLAY, stock="5C", changes=must, moves="draw pass")


def test_r09_voluntary_with_until_playable_draws_one_and_must_play() -> None:
    # It is able to play from the start: there is nothing to go on drawing for.
    position = {**CAN_PLAY, "stock": "5C 6C", "changes": {"draw.voluntary": True, "draw.until_playable": True}}
    assert play(**position, moves="draw JS").hands[0] == "5C 4D"
    assert_refused(**position, moves="draw pass")


# Extra turns and cranks


def test_r09_holds_for_the_extra_turn_of_a_six() -> None:
    # Seat 0 plays the 6S and has no other spade. Classic: it draws one, and the turn passes on. With until_playable
    # it draws until it can play.
    position = {"starter": "QS", "hands": ["6S 4D KH", "3S QC"], "stock": "5C JS"}
    end = play(**position, moves="6S draw")
    assert (end.hands[0], end.to_act) == ("5C 4D KH", 1)
    end = play(**position, moves="6S draw JS", changes={"draw.until_playable": True})
    assert (end.hands[0], end.to_act) == ("5C 4D KH", 1)


@pytest.mark.parametrize(
    "changes",
    [
        {"draw.count": 3},
        {"draw.until_playable": True},
        {"draw.until_playable": True, "draw.limit": 1},
        {"draw.play_drawn": "must"},
        {"draw.play_drawn": "may"},
    ],
)
def test_r09_never_holds_for_paying_a_crank(changes: dict[str, object]) -> None:
    # Seat 0 has to pay the 2S that was turned up: two cards, no more and no less. The ace and the spade among them
    # cannot be played, the turn is over.
    end = play(starter="2S", hands=["4D KH", "3S QC"], stock="AS JS 6C 7C", moves="draw", changes=changes)
    assert (end.hands[0], end.crank, end.to_act) == ("4D KH AS JS", 0, 1)


def test_r09_voluntary_is_not_for_cranks() -> None:
    """Inside a crank there is nothing between answering and paying (bug 18)."""
    changes = {"draw.voluntary": True}
    assert_refused(starter="2S", hands=["AD KH", "3S QC"], stock="5C 6C", moves="draw", changes=changes)
