"""Cards as small integers: ``card = suit * 16 + rank``, and their names.

A hand is a set of cards in one 64-bit word, bit ``card`` set for each card held, so that a suit is a block
of 16 bits of which 13 are used. With two decks the second copy of a card is ``card + SECOND_COPY``: it lives
in a second word.
"""

from craits_sim.text import nearest, toml_value

RANKS = ("A", "2", "3", "4", "5", "6", "7", "8", "9", "10", "J", "Q", "K")
SUITS = ("C", "D", "H", "S")
SECOND_COPY = 64
"""What the code of a second deck's card is above that of the first deck's."""


class CardError(ValueError):
    """A text that names no card."""


def card_code(rank: int, suit: int) -> int:
    """Give the code of the card of rank 0 (A) to 12 (K) and suit 0 (C) to 3 (S)."""
    return suit * 16 + rank


def rank_of(card: int) -> int:
    """Give the rank of a card, 0 (A) to 12 (K)."""
    return card % 16


def suit_of(card: int) -> int:
    """Give the suit of a card, 0 (C), 1 (D), 2 (H) or 3 (S)."""
    return card % SECOND_COPY // 16


def card_name(card: int) -> str:
    """Give the name of a card, like ``10H``; both copies of a card have the same name."""
    return RANKS[rank_of(card)] + SUITS[suit_of(card)]


def parse_card(text: str) -> int:
    """Give the code of a named card, like ``10H`` or ``as``.

    Raises
    ------
    CardError
        If the text is no rank of A 2 ... 10 J Q K followed by a suit of C D H S.
    """
    name = text.strip().upper()
    rank, suit = name[:-1], name[-1:]
    if rank not in RANKS or suit not in SUITS:
        allowed = f"a rank of {' '.join(RANKS)} and a suit of {' '.join(SUITS)}, like 10H"
        hint = nearest(name, [card_name(card) for card in full_deck(1)])
        raise CardError(f"{toml_value(text)} is no card: {allowed}{hint}")
    return card_code(RANKS.index(rank), SUITS.index(suit))


def full_deck(decks: int) -> list[int]:
    """List the card codes of one or two decks, ascending."""
    first = [card_code(rank, suit) for suit in range(4) for rank in range(13)]
    return [card + SECOND_COPY * copy for copy in range(decks) for card in first]


def sort_hand(cards: list[int]) -> list[int]:
    """Sort cards by suit C D H S, then rank A to K (both copies of a card side by side)."""
    return sorted(cards, key=lambda card: (card % SECOND_COPY, card))
