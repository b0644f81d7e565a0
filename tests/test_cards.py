"""Card codes and their names."""

import pytest

from craits_sim.cards import (
    RANKS,
    SECOND_COPY,
    SUITS,
    CardError,
    card_code,
    card_name,
    full_deck,
    parse_card,
    rank_of,
    sort_hand,
    suit_of,
)


@pytest.mark.parametrize("card", full_deck(1))
def test_every_card_survives_its_name(card: int) -> None:
    assert parse_card(card_name(card)) == card
    assert parse_card(card_name(card).lower()) == card


@pytest.mark.parametrize("card", full_deck(2))
def test_every_code_is_its_rank_and_suit_and_copy(card: int) -> None:
    assert card_code(rank_of(card), suit_of(card)) == card % SECOND_COPY
    assert card_name(card) == RANKS[rank_of(card)] + SUITS[suit_of(card)]


def test_codes_are_suit_times_16_plus_rank() -> None:
    assert [parse_card(name) for name in ("AC", "KC", "AD", "10H", "KS")] == [0, 12, 16, 41, 60]


def test_a_deck_has_52_cards_and_two_have_two_copies_of_each() -> None:
    assert len(set(full_deck(1))) == 52
    assert full_deck(1) == sorted(full_deck(1))
    assert full_deck(2) == full_deck(1) + [card + SECOND_COPY for card in full_deck(1)]


def test_hands_are_sorted_by_suit_then_rank() -> None:
    hand = [parse_card(name) for name in ("KS", "AD", "10C", "2C", "AC")] + [parse_card("2C") + SECOND_COPY]
    assert [card_name(card) for card in sort_hand(hand)] == ["AC", "2C", "2C", "10C", "AD", "KS"]


@pytest.mark.parametrize("text", ["", "H", "1H", "11H", "10", "10X", "AH KS", "H10", "A\nH", "é"])
def test_a_bad_card_is_named_with_what_is_allowed_in_one_line(text: str) -> None:
    with pytest.raises(
        CardError, match="is no card: a rank of A 2 3 4 5 6 7 8 9 10 J Q K and a suit of C D H S"
    ) as raised:
        parse_card(text)
    assert "\n" not in str(raised.value)


def test_a_bad_card_comes_with_the_nearest_one() -> None:
    with pytest.raises(CardError, match=r'"100H" is no card: .*; did you mean "10H"'):
        parse_card("100H")
