"""R8: which cards may be played, under every reading of `match` and `wild`."""

import pytest

from tests.positions import assert_refused, play


@pytest.mark.parametrize(
    ("match", "legal"),
    [
        ("suit_or_rank", ["8D", "QH", "KS"]),
        ("suit_or_color", ["5C", "JC", "8D", "KS"]),
        ("suit_or_ability", ["JC", "3D", "8D", "QH", "KS"]),
        ("suit_rank_or_color", ["5C", "JC", "8D", "QH", "KS"]),
    ],
)
def test_r08_match_decides_what_may_follow(match: str, legal: list[str]) -> None:
    # On the QS: the KS has its suit, the QH its rank, the 5C and the JC its color; like the queen, 3D and JC have
    # no ability; the 8D is wild; the 4H has nothing in common with it.
    hands = ["5C JC 3D 8D 4H QH KS", "4C 6C"]
    assert play(starter="QS", hands=hands, changes={"match": match}).legal == legal


@pytest.mark.parametrize(
    ("match", "legal"),
    [
        ("suit_or_rank", ["8C", "KH"]),
        ("suit_or_color", ["8C", "QD", "KH"]),
        ("suit_or_ability", ["8C", "KH"]),
        ("suit_rank_or_color", ["8C", "QD", "KH"]),
    ],
)
def test_r08_match_goes_by_the_nominated_suit(match: str, legal: list[str]) -> None:
    """The suit that was named is state; the suit printed on the eight is void (bug 12)."""
    # Seat 0 plays the 8S and names hearts. Seat 1 holds a spade, a red queen, the king of hearts and an 8.
    end = play(starter="KS", hands=["8S 4C", "JS QD KH 8C"], moves="8S>H", changes={"match": match})
    assert (end.top, end.suit, end.legal) == ("8S", "H", legal)


def test_r08_suit_or_ability_wants_the_same_amount() -> None:
    # The 4S skips one seat, and so do kings here; jacks skip two and do not match it.
    changes = {
        "match": "suit_or_ability",
        "abilities.J": "skip:2",
        "abilities.K": "skip:1",
        "starter.acts": False,
    }
    assert play(starter="4S", hands=["JD KD", "4C 6C"], changes=changes).legal == ["KD"]


def test_r08_a_nominated_suit_stays_while_others_draw_and_reshuffle() -> None:
    """Drawing does not lose it, nor does a reshuffle (bug 12)."""
    # Seat 0 names hearts. Seat 1 holds none and draws; there is no stock, so the three discards become one.
    # The top card is still the 8S, and seat 2 must play a heart.
    end = play(starter="KS", hands=["8S 4C", "JS QC", "9H 3S"], discards="4D 5D", moves="8S>H draw")
    assert (end.top, end.suit, end.stock, end.legal) == ("8S", "H", 2, ["9H"])


def test_r08_an_eight_that_comes_back_from_the_discards_is_as_it_was() -> None:
    """A nominated suit is not written on the card (bug 12)."""
    # The 8S, named hearts, lies under the KH. Both draw from the discards, the 3S and the 8S, and whoever gets
    # the 8S holds a spade again.
    position = {"starter": "3S", "hands": ["8S 4C", "KH 4D"]}
    end = play(**position, moves="8S>H KH draw draw")
    assert sorted(" ".join(end.hands).split()) == ["3S", "4C", "4D", "8S"]
    assert (end.suit, end.stock) == ("H", 0)


def test_r08_a_recolored_suit_replaces_that_of_the_nine() -> None:
    # Seat 0 changes the 9H to diamonds: hearts no longer match, diamonds and nines do.
    end = play(starter="KH", hands=["9H 4C", "JH QD 9S"], moves="9H>D")
    assert (end.suit, end.legal) == ("D", ["QD", "9S"])


# wild


def test_r08_eights_always_match() -> None:
    for starter in ("3C", "JD", "QH", "KS"):
        assert play(starter=starter, hands=["8C 8D 8H 8S", "4C 6C"]).legal == ["8C", "8D", "8H", "8S"]


def test_r08_wild_none_an_eight_must_match_and_still_nominates() -> None:
    position = {"hands": ["8D 4H", "QC KS"], "changes": {"wild": []}}
    assert play(**position, starter="QS").legal == []
    end = play(**position, starter="QD", moves="8D>C")
    assert (end.suit, end.legal) == ("C", ["QC"])


def test_r08_wild_nines_are_playable_on_anything_and_recolor() -> None:
    # As in the preset wiki. A 9 is no 8: it changes to the other suit of its own color and to no other.
    position = {"rules": "wiki", "starter": "QS", "hands": ["9D 4H", "KH KS"]}
    assert play(**position).legal == ["9D"]
    assert play(**position, moves="9D>H").legal == ["KH"]
    assert_refused(**position, moves="9D>S")


def test_r08_wild_any_rank_can_be_wild_without_naming_a_suit() -> None:
    # Here jacks are wild and eights are not. The suit after the JD is that of the card.
    position = {"starter": "QS", "hands": ["JD 8H 4C", "KD KS"], "changes": {"wild": ["J"]}}
    assert play(**position).legal == ["JD"]
    assert play(**position, moves="JD").legal == ["KD"]
    assert_refused(**position, moves="JD>S")
