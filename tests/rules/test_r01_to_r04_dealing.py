"""R1, players and decks; R2 and R3, who deals; R4, the rounds."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from scipy.stats import chisquare

from craits_sim.bots import parse_bots
from craits_sim.cards import RANKS, full_deck
from craits_sim.kernel import simulate_batch
from craits_sim.results import Action, Batch
from craits_sim.rules import RulesError, load_rules
from tests.naive import Event
from tests.positions import Changes, play, play_games, rounds_of


def simulate(games: int, changes: Changes) -> Batch:
    rules = load_rules("classic", changes)
    return simulate_batch(rules, parse_bots("random", rules.players), 1, 0, games)


def dealt(events: list[Event]) -> dict[int, list[int]]:
    """Give the cards dealt in a round, by seat."""
    hands: dict[int, list[int]] = {}
    for _, _, action, seat, card, *_ in events:
        if action == Action.DEAL:
            hands.setdefault(seat, []).append(card)
    return hands


# R1


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_r01_two_to_five_players_share_one_deck(players: int) -> None:
    [game] = play_games(changes={"players": players})
    assert len(game.totals) == players
    assert {card for event in game.events if (card := event[4]) >= 0} == set(full_deck(1))


def test_r01_hands_and_starter_must_fit_into_the_deck() -> None:
    # Five hands of ten and the starter are 51 cards; five hands of eleven would be 56.
    load_rules("classic", {"players": 5, "deals": [10]})
    with pytest.raises(RulesError, match="R1"):
        load_rules("classic", {"players": 5, "deals": [11]})


def test_r01_two_decks_seat_ten() -> None:
    # Ten hands of ten and the starter are 101 of 104 cards; with one deck there is no such game.
    [game] = play_games(changes={"players": 10, "decks": 2, "deals": [10]})
    assert len({event[4] for event in game.events if event[2] in (Action.DEAL, Action.STARTER)}) == 101
    with pytest.raises(RulesError, match="R1"):
        load_rules("classic", {"players": 10, "deals": [10]})


def test_r01_two_decks_have_every_card_twice() -> None:
    # The KS is turned up, and seat 0 plays the other KS on it.
    end = play(starter="KS", hands=["KS 4D", "4H 4C"], moves="KS", changes={"decks": 2})
    assert (end.top, end.hands, end.to_act) == ("KS", ["4D", "4C 4H"], 1)


def test_r01_a_deal_may_leave_no_stock() -> None:
    # Three hands of 17 and the starter are the whole deck: whoever has to draw turns the first discards over.
    for game in play_games(5, changes={"players": 3, "deals": [17]}):
        drawn = [event[2] for event in game.events if event[2] in (Action.DRAW, Action.RESHUFFLE)]
        assert drawn[:1] in ([], [Action.RESHUFFLE])


# R2


def test_r02_the_first_dealer_is_random() -> None:
    # 4000 games of four: each seat deals first about 1000 times (standard deviation 27).
    first_dealers = np.bincount(simulate(4000, {"deals": [1]}).first_dealer)
    assert len(first_dealers) == 4
    assert abs(first_dealers - 1000).max() < 110


@pytest.mark.parametrize("seat", [0, 1, 2, 3])
def test_r02_first_dealer_a_fixed_seat_deals_first(seat: int) -> None:
    batch = simulate(50, {"deals": [1, 1], "first_dealer": seat})
    assert set(batch.first_dealer) == {seat}
    assert set(batch.dealer[:, 0]) == {seat}


# R3


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_r03_the_deal_passes_to_the_left_each_round(players: int) -> None:
    """Through all fifteen rounds (bug 25)."""
    batch = simulate(20, {"players": players})
    assert batch.dealer.shape == (20, 15)
    for first_dealer, dealers in zip(batch.first_dealer, batch.dealer, strict=True):
        assert dealers.tolist() == [(first_dealer + number) % players for number in range(15)]


def test_r03_same_one_seat_deals_all_rounds() -> None:
    batch = simulate(20, {"next_dealer": "same"})
    assert (batch.dealer == batch.first_dealer[:, None]).all()


# A cap of 12 turns a round: some rounds end before it, others have no winner.
SOME_WITHOUT_WINNER: Changes = {"deals": [3] * 40, "turn_cap": 12}


def test_r03_winner_who_went_out_deals_the_next_round() -> None:
    """After a round that nobody went out of, the deal passes to the left."""
    batch = simulate(20, {**SOME_WITHOUT_WINNER, "next_dealer": "winner"})
    without_winner = 0
    for dealers, went_out in zip(batch.dealer.tolist(), batch.went_out.tolist(), strict=True):
        for (dealer, following), winner in zip(pairwise(dealers), went_out, strict=False):
            assert following == (winner if winner >= 0 else (dealer + 1) % 4)
            without_winner += winner < 0
    assert 50 < without_winner < 750


def test_r03_winner_is_the_first_out_where_a_crank_takes_others_out_too() -> None:
    """R16 has them score 0 as well."""
    # With one card each, and most cards starting cranks, two often go out in one round.
    ranks = ("9", "10", "J", "Q", "K")
    changes = {f"abilities.{rank}": "crank_start:1" for rank in ranks} | {"deals": [1] * 40, "next_dealer": "winner"}
    two_out = 0
    for game in play_games(3, changes=changes):
        for events, following in zip(rounds_of(game), game.dealer[1:], strict=False):
            out = [event[3] for event in events if event[2] == Action.GO_OUT]
            two_out += len(out) > 1
            assert following == out[0]
    assert two_out > 5


def test_r03_loser_the_highest_round_score_deals_the_next_round() -> None:
    """Of equal ones the nearest to the dealer's left; to the left after a round that nobody went out of."""
    # Cards count 10 or nothing, so that often two have the highest score.
    points = {f"points.{rank}": 10 * (place % 2) for place, rank in enumerate(RANKS)}
    batch = simulate(20, {**SOME_WITHOUT_WINNER, **points, "next_dealer": "loser", "threes.mode": "none"})
    tied = 0
    for game in range(20):
        for number in range(39):
            dealer = batch.dealer[game, number]
            by_offset = batch.points[game, number].tolist()
            nearest_first = [1, 2, 3, 0]
            losers = [offset for offset in nearest_first if by_offset[offset] == max(by_offset)]
            expected = losers[0] if batch.went_out[game, number] >= 0 else 1
            assert batch.dealer[game, number + 1] == (dealer + expected) % 4
            tied += len(losers) > 1
    assert tied > 20


# R4


def test_r04_fifteen_rounds_of_eight_cards_down_to_one_and_up_again() -> None:
    [game] = play_games(changes={"players": 5})
    sizes = [{len(hand) for hand in dealt(events).values()} for events in rounds_of(game)]
    assert sizes == [{size} for size in (8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8)]


def test_r04_short_game_ends_with_the_round_of_one_card() -> None:
    [game] = play_games(rules="short")
    sizes = [len(dealt(events)[0]) for events in rounds_of(game)]
    assert sizes == [8, 7, 6, 5, 4, 3, 2, 1]


def test_r04_any_list_of_hand_sizes_is_a_game() -> None:
    [game] = play_games(changes={"deals": [2, 9, 1, 9]})
    assert [len(dealt(events)[0]) for events in rounds_of(game)] == [2, 9, 1, 9]


def test_r04_each_round_deals_every_card_once_and_one_starter() -> None:
    """Nothing is left over from the round or the game before (bug 24)."""
    for game in play_games(2, changes={"deals": [8, 3, 8], "players": 5}):
        for size, events in zip((8, 3, 8), rounds_of(game), strict=True):
            shown = [event[4] for event in events if event[2] in (Action.DEAL, Action.STARTER)]
            assert len(shown) == len(set(shown)) == 5 * size + 1
            assert Counter(event[2] for event in events)[Action.STARTER] == 1


def test_r04_every_rank_is_dealt_to_every_seat_equally_often() -> None:
    """A biased deal would look exactly like an advantage of the dealer (bug 29)."""
    # One card each, worth its place in the deck; no abilities. The round is cut after the turn of the dealer's left, so
    # that the other three score what they were dealt.
    changes: dict[str, object] = {f"abilities.{rank}": "none" for rank in RANKS}
    changes |= {f"points.{rank}": place for place, rank in enumerate(RANKS)}
    batch = simulate(13_000, {**changes, "threes.mode": "none", "deals": [1], "turn_cap": 1})
    not_gone_out = batch.went_out[:, 0] < 0
    for offset in (0, 2, 3):
        of_rank = np.bincount(batch.points[not_gone_out, 0, offset], minlength=13)
        assert chisquare(of_rank).pvalue > 1e-4
