"""What must hold in every game of any rules, and that the kernel's checks see it where it does not."""

from collections.abc import Callable
from itertools import cycle, islice

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from craits_sim.bots import BotSpec, parse_bots
from craits_sim.cards import full_deck
from craits_sim.encode import MAX_PLAYERS, encode
from craits_sim.kernel import KernelError, simulate_batch
from craits_sim.kernel.lanes import DISCARDS, HANDS, STOCK, STRIDE, SUIT, TOP, TURNS, new_lanes
from craits_sim.kernel.script import no_script
from craits_sim.kernel.simulate import run
from craits_sim.kernel.watch import Breach, check, look_before, new_watch
from craits_sim.results import WIN_UNIT, Batch, Ending, empty_batch
from craits_sim.rules import Rules, RulesError, load_rules, preset_names
from tests.strategies import tables


def seated(bots: str, players: int) -> tuple[BotSpec, ...]:
    """Seat the bots of a text around a table, in turn."""
    kinds = [parse_bots(kind, 1)[0] for kind in bots.split(",")]
    return tuple(islice(cycle(kinds), players))


# --- Figures that must agree ---


def assert_sound(batch: Batch, rules: Rules) -> None:
    """Assert that the figures of a batch agree with each other and with the rules."""
    games, rounds = batch.turns.shape
    players = rules.players
    went_out = batch.ending == Ending.WENT_OUT
    assert np.isin(batch.ending, list(Ending)).all()

    # A round ends with somebody out, or with nobody.
    assert (went_out == (batch.went_out >= 0)).all()
    assert (batch.went_out < players).all()
    assert (batch.turns[batch.ending == Ending.TRUNCATED] >= rules.turn_cap).all()
    assert (batch.turns >= 1).all()
    assert (batch.turns[batch.ending == Ending.BLOCKED] >= players).all()

    # Turns, draws and reshuffles.
    assert (batch.seat_turns.sum(axis=2) == batch.turns).all()
    for name in ("seat_turns", "skips", "forced", "drawn", "crank_drawn", "reshuffles", "cranks"):
        assert (getattr(batch, name) >= 0).all(), name
    assert (batch.crank_drawn <= batch.drawn).all()
    assert (batch.crank_drawn <= batch.forced.sum(axis=2)).all()
    assert (batch.forced.sum(axis=2) <= batch.drawn).all()
    assert (batch.crank_drawn[batch.cranks == 0] == 0).all()
    if not rules.stock.reshuffle:
        assert (batch.reshuffles == 0).all()
    stock = 52 * rules.decks - 1 - players * np.array(rules.deals)
    assert (batch.drawn[batch.reshuffles == 0] <= np.broadcast_to(stock, (games, rounds))[batch.reshuffles == 0]).all()

    # Dealers (RULES.md R2, R3).
    assert (batch.dealer[:, 0] == batch.first_dealer).all()
    assert ((batch.dealer >= 0) & (batch.dealer < players)).all()
    if rules.first_dealer != "random":
        assert (batch.first_dealer == rules.first_dealer).all()
    before, after, left = batch.dealer[:, :-1], batch.dealer[:, 1:], (batch.dealer[:, :-1] + 1) % players
    winner = np.where(went_out, batch.went_out, -1)[:, :-1]
    if rules.next_dealer == "same":
        assert (after == before).all()
    elif rules.next_dealer == "left":
        assert (after == left).all()
    elif rules.next_dealer == "winner":
        assert (after == np.where(winner >= 0, winner, left)).all()
    else:
        by_offset = batch.points[:, :-1]
        highest = np.take_along_axis(by_offset, ((after - before) % players)[:, :, None], axis=2)[:, :, 0]
        assert (highest == by_offset.max(axis=2))[winner >= 0].all()
        assert (after == left)[winner < 0].all()

    # Points (R17) and wins (R7).
    seats = (batch.dealer[:, :, None] + np.arange(players)) % players
    totals = np.zeros((games, players), np.int64)
    for seat in range(players):
        totals[:, seat] = np.where(seats == seat, batch.points, 0).sum(axis=(1, 2))
    assert (totals == batch.totals).all()
    if rules.stock.pressure == 0:
        offset = (batch.went_out - batch.dealer) % players
        of_winner = np.take_along_axis(batch.points, offset[:, :, None], axis=2)[:, :, 0]
        assert (of_winner[went_out] == 0).all()
        if rules.blocked.score == "lowest_zero":
            assert (batch.points[~went_out] == 0).any(axis=1).all()
    assert (batch.wins >= 0).all()
    won = batch.wins.sum(axis=1)
    if rules.win == "first_out":
        assert (won == np.where(went_out[:, -1], WIN_UNIT, 0)).all()
    else:
        assert (won == WIN_UNIT).all()
        of_side = totals + totals[:, [2, 3, 0, 1]] if rules.partners else totals
        assert ((batch.wins > 0) == (of_side == of_side.min(axis=1, keepdims=True))).all()


@pytest.mark.parametrize("bots", ["random", "greedy", "random:forget=0.5:catch=0.5,greedy:forget=1"])
@pytest.mark.parametrize("preset", preset_names())
def test_games_of_every_preset_are_sound(preset: str, bots: str) -> None:
    for players in range(2, 6):
        try:
            rules = load_rules(preset, {"players": players})
        except RulesError:
            assert preset == "partners"
            continue
        assert_sound(simulate_batch(rules, seated(bots, players), 3, 0, 150, checks=True), rules)


@pytest.mark.parametrize("players", range(6, 11))
def test_games_of_large_tables_are_sound(players: int) -> None:
    for preset in ("classic", "wiki", "last_card_house"):
        rules = load_rules(preset, {"players": players, "decks": 2, "deals": [8, 7, 1], "partners": False})
        for bots in ("random", "greedy,random:forget=0.5"):
            assert_sound(simulate_batch(rules, seated(bots, players), 4, 0, 100, checks=True), rules)


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(tables(), st.integers(0, 2**64 - 1))
def test_games_of_any_rules_are_sound(table: tuple[Rules, tuple[BotSpec, ...]], seed: int) -> None:
    rules, bots = table
    assert_sound(simulate_batch(rules, bots, seed, 0, 80, checks=True), rules)


def test_games_that_nobody_goes_out_of_are_sound() -> None:
    """Without reshuffles, and with a turn cap, many rounds end blocked or cut."""
    endings = set()
    for changes in ({"stock.reshuffle": False}, {"turn_cap": 20}, {"stock.reshuffle": False, "draw.count": 5}):
        rules = load_rules("classic", {"players": 5, "blocked.score": "lowest_zero", **changes})
        batch = simulate_batch(rules, seated("random", 5), 5, 0, 300, checks=True)
        assert_sound(batch, rules)
        endings |= set(batch.ending.ravel().tolist())
    assert endings == set(Ending)


# --- The checks see what is wrong ---


CLUBS, DIAMONDS, HEARTS, SPADES = (np.uint64(0x1FFF << 16 * suit) for suit in range(4))


EIGHT_OF_CLUBS = np.uint64(1 << 7)


def full_table() -> NDArray[np.uint64]:
    """Lay out a round of two players in lane 0: seat 0, to act, holds the clubs but the 8."""
    lanes = new_lanes()
    lanes[HANDS], lanes[HANDS + STRIDE] = CLUBS ^ EIGHT_OF_CLUBS, DIAMONDS
    lanes[TOP] = np.uint64(1 << 32)  # AH
    lanes[STOCK], lanes[DISCARDS] = HEARTS ^ lanes[TOP], SPADES | EIGHT_OF_CLUBS
    return lanes


def lowest(cards: np.uint64) -> np.uint64:
    """Give the lowest card of a set."""
    return cards & ~(cards - np.uint64(1))


def breach_of(change: Callable[[NDArray[np.uint64]], None], suit: np.uint64 = HEARTS) -> Breach:
    """Change a table by hand in place of a step of seat 0, and give what the check finds."""
    rules, bots = encode(load_rules("classic", {"players": 2}), parse_bots("random", 2))
    watch = new_watch(rules, bots, checks=True)
    lanes, lane = full_table(), np.uint64(0)
    lanes[SUIT] = suit
    look_before(lanes, lane, rules, watch)
    change(lanes)
    check(lanes, lane, rules, watch)
    return Breach(watch.broken[0])


def test_a_table_that_is_left_alone_passes() -> None:
    assert breach_of(lambda lanes: None) == Breach.NONE


@pytest.mark.parametrize("pile", [HANDS, HANDS + STRIDE, STOCK, DISCARDS, TOP])
def test_a_lost_card_is_found(pile: np.uint64) -> None:
    def lose(lanes: NDArray[np.uint64]) -> None:
        lanes[pile] ^= lowest(lanes[pile])

    assert breach_of(lose) != Breach.NONE


@pytest.mark.parametrize(
    ("source", "target"), [(STOCK, HANDS), (HANDS, STOCK), (TOP, DISCARDS), (HANDS + STRIDE, HANDS)]
)
def test_a_doubled_card_is_found(source: np.uint64, target: np.uint64) -> None:
    def double(lanes: NDArray[np.uint64]) -> None:
        lanes[target] |= lowest(lanes[source])

    assert breach_of(double) == Breach.CARDS


def play_a_club(lanes: NDArray[np.uint64]) -> None:
    card = np.uint64(1 << 5)
    lanes[HANDS] ^= card
    lanes[DISCARDS] |= lanes[TOP]
    lanes[TOP] = card
    lanes[TURNS] += np.uint64(1)


def draw_a_card(lanes: NDArray[np.uint64]) -> None:
    card = lowest(lanes[STOCK])
    lanes[STOCK] ^= card
    lanes[HANDS] |= card
    lanes[TURNS] += np.uint64(1)


def test_a_play_against_the_rules_is_found() -> None:
    assert breach_of(play_a_club, suit=CLUBS) == Breach.NONE
    assert breach_of(play_a_club, suit=HEARTS) == Breach.ILLEGAL_PLAY


def test_a_draw_of_a_seat_that_could_play_is_found() -> None:
    assert breach_of(draw_a_card, suit=HEARTS) == Breach.NONE
    assert breach_of(draw_a_card, suit=CLUBS) == Breach.ILLEGAL_DRAW


def play_position(missing: int) -> None:
    """Play checked from a position of two players that lacks some cards of the deck."""
    deck = [1 << card for card in full_deck(1)]
    hands = np.zeros((2, MAX_PLAYERS), np.uint64)
    hands[0, :2] = sum(deck[:5]), sum(deck[5:10])
    script = no_script()._replace(
        dealer=np.int64(0),
        hands=hands,
        starter=np.uint64(15 + 1),
        stock=np.array([sum(deck[10:]) - (1 << 16) - sum(deck[52 - missing :]), 0], np.uint64),
    )
    rules, bots = encode(load_rules("classic", {"players": 2, "deals": [5]}), parse_bots("random", 2))
    run(rules, bots, 1, 0, empty_batch(1, 1, 2), new_watch(rules, bots, scripted=True, checks=True), script)


def test_a_breach_is_an_error_that_names_its_place() -> None:
    play_position(missing=0)
    with pytest.raises(KernelError, match=r"a card is lost or doubled in game 0, round 0 of seed 1"):
        play_position(missing=1)
