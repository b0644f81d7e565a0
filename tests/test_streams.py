"""The random numbers and the shuffle: published vectors, and statistics that a bad shuffle does not pass.

All seeds are fixed: a test that passes once passes always.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from craits_sim import selftest
from craits_sim.bots import parse_bots
from craits_sim.kernel import simulate_batch
from craits_sim.kernel.streams import CHOICES, DECK, FIRST_DEALER, advance, below, open_stream, philox
from craits_sim.rules import load_rules
from craits_sim.selftest import SMALLEST_P, Decks, p_of_fixed_points, p_of_pairs, p_of_places, shuffled_decks

WORD = 2**64
DECKS = 60_000


# --- Published vectors, and the same generators written once more ---


def philox_in_python(counter: list[int], key: list[int]) -> list[int]:
    """Philox4x32-10 as its paper describes it."""
    for round_ in range(10):
        if round_:
            key = [(key[0] + 0x9E3779B9) % 2**32, (key[1] + 0xBB67AE85) % 2**32]
        high_0, low_0 = divmod(0xD2511F53 * counter[0], 2**32)
        high_1, low_1 = divmod(0xCD9E8D57 * counter[2], 2**32)
        counter = [high_1 ^ counter[1] ^ key[0], low_1, high_0 ^ counter[3] ^ key[1], low_0]
    return counter


def xoroshiro_in_python(s0: int, s1: int) -> tuple[int, int, int]:
    """xoroshiro128++ as its authors' program has it: the number, and the next state."""

    def rotate(word: int, by: int) -> int:
        return (word << by | word >> (64 - by)) % WORD

    number = (rotate((s0 + s1) % WORD, 17) + s0) % WORD
    s1 ^= s0
    return number, rotate(s0, 49) ^ s1 ^ (s1 << 21) % WORD, rotate(s1, 28)


def test_published_vectors() -> None:
    assert selftest.check_philox() == "3 published blocks"
    assert selftest.check_xoroshiro() == "10 published numbers"


def test_the_generators_are_what_they_are_called() -> None:
    for counter, key, block in selftest.PHILOX_VECTORS:
        assert philox_in_python(list(counter), list(key)) == list(block)
    numbers = np.random.default_rng(1).integers(0, WORD, (50, 2), dtype=np.uint64)
    for s0, s1 in numbers:
        assert tuple(map(int, advance(s0, s1))) == xoroshiro_in_python(int(s0), int(s1))
        words = [int(word) % 2**32 for word in (s0, s0 >> np.uint64(32), s1, s1 >> np.uint64(32))]
        given = philox(*map(np.uint64, (*words, *words[:2])))
        assert [int(word) for word in given] == philox_in_python(words, words[:2])


def test_a_stream_starts_from_the_block_of_seed_game_round_and_purpose() -> None:
    seed, game, round_, purpose = 0x0123456789ABCDEF, 0xFEDCBA9876543210, 14, 2
    block = philox_in_python([game % 2**32, game >> 32, round_, purpose], [seed % 2**32, seed >> 32])
    state = tuple(map(int, open_stream(*map(np.uint64, (seed, game, round_, purpose)))))
    assert state == (block[0] | block[1] << 32, block[2] | block[3] << 32)


# --- Streams apart ---


def test_streams_of_other_seeds_games_rounds_and_purposes_differ() -> None:
    states = {
        tuple(map(int, open_stream(*map(np.uint64, (seed, game, round_, purpose)))))
        for seed in (0, 1, 2, 2**32, WORD - 1)
        for game in (0, 1, 2**32, WORD - 1)
        for round_ in (0, 1, 14)
        for purpose in (DECK, CHOICES, FIRST_DEALER)
    }
    assert len(states) == 5 * 4 * 3 * 3


def first_cards(seed: int, games: int) -> NDArray[np.int64]:
    """Give the first card that is dealt in each game of a seed."""
    return shuffled_decks(games, seed)[:, -1].astype(np.int64)


def p_of_independence(one: NDArray[np.int64], other: NDArray[np.int64]) -> float:
    """Give the p-value of a chi-square test that two cards, seen side by side, have nothing to do with each other."""
    table = np.bincount(one * 52 + other, minlength=52**2).reshape(52, 52)
    return float(stats.chi2_contingency(table).pvalue)


def test_a_game_says_nothing_about_the_next() -> None:
    cards = first_cards(0, 200_001)
    assert p_of_independence(cards[:-1], cards[1:]) > SMALLEST_P
    assert p_of_independence(cards[:-64], cards[64:]) > SMALLEST_P


def test_a_seed_says_nothing_about_the_next() -> None:
    of_seeds = [first_cards(seed, 200_000) for seed in (0, 1, 2)]
    for one, other in (*pairwise(of_seeds), (of_seeds[0], of_seeds[2])):
        assert p_of_independence(one, other) > SMALLEST_P


def test_dependence_would_be_seen() -> None:
    cards = first_cards(0, 200_000)
    leaks = np.where(np.arange(len(cards)) % 20 == 0, cards, np.roll(cards, 1))
    assert p_of_independence(cards, leaks) < SMALLEST_P


def test_the_first_dealer_says_nothing_about_the_deal() -> None:
    rules = load_rules("classic", {"players": 2, "deals": [1], "first_dealer": "random"})
    batch = simulate_batch(rules, parse_bots("random", 2), 3, 0, 100_000)
    assert stats.binomtest(int(batch.first_dealer.sum()), 100_000).pvalue > SMALLEST_P
    cards = first_cards(3, 100_000)
    table = [np.bincount(cards[batch.first_dealer == seat], minlength=52) for seat in (0, 1)]
    assert stats.chi2_contingency(table).pvalue > SMALLEST_P


# --- Bounded numbers ---


@pytest.mark.parametrize("n", [2, 3, 5, 13, 52, 104])
def test_bounded_numbers_are_uniform(n: int) -> None:
    numbers = np.random.default_rng(n).integers(0, WORD, 20_000, dtype=np.uint64)
    counts = np.bincount([int(below(number, np.uint64(n))) for number in numbers], minlength=n)
    assert len(counts) == n
    assert stats.chisquare(counts).pvalue > SMALLEST_P


def test_bounded_numbers_reach_their_ends_and_no_further() -> None:
    for n in (1, 2, 52, 104, 2**32 - 1):
        assert int(below(np.uint64(0), np.uint64(n))) == 0
        assert int(below(np.uint64(WORD - 1), np.uint64(n))) == n - 1


# --- The shuffle ---


def p_values(decks: Decks) -> dict[str, float]:
    """Give the p-values of every test of a shuffle."""
    return {
        "places": p_of_places(decks),
        "pair at the bottom": p_of_pairs(decks, 0),
        "pair in the middle": p_of_pairs(decks, 25),
        "pair at the top": p_of_pairs(decks, 50),
        "fixed points": p_of_fixed_points(decks),
    }


def shuffled_by(step: Callable[[np.random.Generator, int, int], NDArray[np.int64]]) -> Decks:
    """Shuffle decks: exchange the card at each place, from the last, with that at one that ``step`` chooses."""
    random = np.random.default_rng(5)
    decks = np.tile(np.arange(52, dtype=np.uint8), (DECKS, 1))
    rows = np.arange(DECKS)
    for place in range(51, 0, -1):
        chosen = step(random, place, DECKS)
        decks[rows, place], decks[rows, chosen] = decks[rows, chosen], decks[rows, place].copy()
    return decks


def test_the_shuffle_gives_every_order_alike() -> None:
    decks = shuffled_decks(DECKS, seed=1)
    assert (np.sort(decks, axis=1) == np.arange(52)).all()
    for name, p_value in p_values(decks).items():
        assert p_value > SMALLEST_P, name


def test_the_shuffle_of_two_decks_gives_every_order_alike() -> None:
    decks = shuffled_decks(DECKS, seed=2, cards=104)
    assert (np.sort(decks, axis=1) == np.arange(104)).all()
    assert p_of_places(decks) > SMALLEST_P
    assert p_of_fixed_points(decks) > SMALLEST_P


def test_a_right_shuffle_of_another_generator_passes() -> None:
    decks = shuffled_by(lambda random, place, decks: random.integers(0, place + 1, decks))
    assert min(p_values(decks).values()) > SMALLEST_P


def test_exchanging_with_any_place_is_rejected() -> None:
    decks = shuffled_by(lambda random, _place, decks: random.integers(0, 52, decks))
    assert p_of_places(decks) < SMALLEST_P


def test_never_leaving_a_card_where_it_is_is_rejected() -> None:
    decks = shuffled_by(lambda random, place, decks: random.integers(0, place, decks))
    assert p_of_fixed_points(decks) < SMALLEST_P
    assert p_of_places(decks) < SMALLEST_P


def test_stopping_one_card_short_is_rejected() -> None:
    def stop_short(random: np.random.Generator, place: int, decks: int) -> NDArray[np.int64]:
        return np.full(decks, 51) if place == 51 else random.integers(0, place + 1, decks)

    assert p_of_places(shuffled_by(stop_short)) < SMALLEST_P


def test_cards_that_cling_together_are_rejected() -> None:
    decks = shuffled_decks(DECKS, seed=1)
    clings = np.arange(DECKS) % 10 == 0
    decks[clings, 26] = (decks[clings, 25] + 1) % 52
    assert p_of_pairs(decks, 25) < SMALLEST_P


def test_the_deal_uses_this_shuffle() -> None:
    """The cards that are dealt are the last of the shuffled deck, the dealer's left first."""
    from tests.test_engines import play_recorded

    rules = load_rules("classic", {"players": 3, "deals": [8], "first_dealer": 2})
    _, events = play_recorded(rules, parse_bots("random", 3), 9, 0, 20)
    decks = shuffled_decks(20, seed=9)
    for game in range(20):
        order = [int(card) // 13 * 16 + int(card) % 13 for card in decks[game, ::-1]]
        dealt = {(event[3], event[4]) for event in events[game] if event[2] == 0}
        assert dealt == {(place % 3, order[place]) for place in range(24)}
