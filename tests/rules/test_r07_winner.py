"""R7: who wins a game, and the readings `win` and `partners`."""

import numpy as np
import pytest

from craits_sim.bots import parse_bots
from craits_sim.cards import RANKS
from craits_sim.kernel import simulate_batch
from craits_sim.results import WIN_UNIT, Batch, Ending
from craits_sim.rules import load_rules
from tests.positions import Changes, play, play_games


def simulate(games: int, changes: Changes) -> Batch:
    rules = load_rules("classic", changes)
    return simulate_batch(rules, parse_bots("random", rules.players), 1, 0, games)


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_r07_the_lowest_total_wins_whichever_seat_has_it(players: int) -> None:
    """Every seat of every table (bug 2)."""
    batch = simulate(200, {"players": players, "deals": [4, 4]})
    winners = set()
    for totals, wins in zip(batch.totals.tolist(), batch.wins.tolist(), strict=True):
        assert all((win > 0) == (total == min(totals)) for win, total in zip(wins, totals, strict=True))
        winners |= {seat for seat, win in enumerate(wins) if win == WIN_UNIT}
    assert winners == set(range(players))


def test_r07_the_total_is_the_sum_of_the_rounds() -> None:
    for game in play_games(3, changes={"deals": [3, 2, 1, 2]}):
        totals = [0] * 4
        for dealer, by_offset in zip(game.dealer, game.points, strict=True):
            for offset, points in enumerate(by_offset):
                totals[(dealer + offset) % 4] += points
        assert game.totals == totals


@pytest.mark.parametrize("players", [2, 3, 4, 5])
def test_r07_a_tie_is_shared(players: int) -> None:
    """k winners get 1/k each, and the shares of a game sum to one (bug 26)."""
    # One card each that counts nothing: all tie unless somebody holds a three, which counts -50.
    changes = {f"points.{rank}": 0 for rank in RANKS}
    batch = simulate(500, {**changes, "players": players, "deals": [1]})
    assert (batch.wins.sum(axis=1) == WIN_UNIT).all()
    ways = set()
    for totals, wins in zip(batch.totals.tolist(), batch.wins.tolist(), strict=True):
        winners = totals.count(min(totals))
        assert wins == [WIN_UNIT // winners * (total == min(totals)) for total in totals]
        ways.add(winners)
    assert {1, players} <= ways


def test_r07_first_out_who_went_out_in_the_last_round_wins() -> None:
    """Whatever the totals are."""
    batch = simulate(200, {"win": "first_out", "deals": [4, 4]})
    went_out = batch.went_out[:, -1]
    assert (went_out >= 0).all()
    assert (batch.wins == WIN_UNIT * (np.arange(4) == went_out[:, None])).all()
    assert (batch.totals.argmin(axis=1) != went_out).any()


@pytest.mark.parametrize("partners", [False, True])
def test_r07_first_out_nobody_wins_where_nobody_went_out(partners: bool) -> None:
    """A game cut off or blocked in its last round is no win for anybody (bug 5)."""
    # Four hands of twelve leave three cards to draw, so that rounds are blocked; a cap of 50 turns cuts others.
    changes = {"win": "first_out", "partners": partners, "deals": [12], "stock.reshuffle": False, "turn_cap": 50}
    batch = simulate(300, changes)
    endings = batch.ending[:, 0]
    assert set(endings) == {Ending.WENT_OUT, Ending.BLOCKED, Ending.TRUNCATED}
    shares = batch.wins.sum(axis=1)
    assert (shares[endings == Ending.WENT_OUT] == WIN_UNIT).all()
    assert (shares[endings != Ending.WENT_OUT] == 0).all()


def test_r07_partners_the_side_with_the_lower_sum_wins() -> None:
    """Seats 0 and 2 against 1 and 3; half a win for each partner, a quarter each where the sums are equal."""
    batch = simulate(500, {"partners": True, "deals": [1]})
    outcomes = set()
    for totals, wins in zip(batch.totals.tolist(), batch.wins.tolist(), strict=True):
        even, odd = totals[0] + totals[2], totals[1] + totals[3]
        half, quarter = WIN_UNIT // 2, WIN_UNIT // 4
        outcome = (even > odd) - (even < odd)
        assert wins == {-1: [half, 0, half, 0], 0: [quarter] * 4, 1: [0, half, 0, half]}[outcome]
        outcomes.add(outcome)
    assert outcomes == {-1, 0, 1}


def test_r07_partners_first_out_the_side_of_who_went_out_wins() -> None:
    batch = simulate(200, {"partners": True, "win": "first_out", "deals": [3]})
    for went_out, wins in zip(batch.went_out[:, 0], batch.wins.tolist(), strict=True):
        assert wins == [WIN_UNIT // 2 * (seat % 2 == went_out % 2) for seat in range(4)]


def test_r07_partners_the_round_ends_when_one_of_them_goes_out() -> None:
    # Seat 0 goes out; its partner, seat 2, scores the hand held as the others do.
    end = play(rules="partners", starter="KS", hands=["JS", "QC 4D", "JH", "5C"], moves="JS")
    assert (end.over, end.went_out, end.points) == (True, 0, [0, 25, 10, 30])
