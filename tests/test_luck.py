"""What the study of luck promises: the parts of the variance that were planted, and the order by its formula."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from craits_sim.api import study as run_study
from craits_sim.design import MAX_DESIGN_POINTS, DesignError
from craits_sim.results import WIN_UNIT, Batch, empty_batch
from craits_sim.studies import get_study
from craits_sim.studies.luck import PARTS, LuckStudy
from tests.test_studies import experiment_of, rows

PLAYERS = 4


def games_with(decided: float, skill: float, games: int, seed: int = 1) -> list[Batch]:
    """Make the tables of two matches: naive bots alone, then a skilled bot among them.

    With the chance ``decided`` the deal alone says which seat wins, at all its tables. Otherwise the skilled bot wins
    with the chance ``skill``, and else one of the others, at each table anew.
    """
    random = np.random.default_rng(seed)
    batches = []
    for chance in (1 / PLAYERS, skill):
        by_deal = random.integers(0, PLAYERS, games)
        fixed = random.random(games) < decided
        for seat in range(PLAYERS):
            others = (seat + random.integers(1, PLAYERS, games)) % PLAYERS
            by_play = np.where(random.random(games) < chance, seat, others)
            winner = np.where(fixed, by_deal, by_play)
            batch = empty_batch(games, 1, PLAYERS)
            batches.append(batch._replace(wins=(WIN_UNIT * (winner[:, None] == np.arange(PLAYERS))).astype(np.int32)))
    return batches


def summary_of(batches: list[Batch], **values: Any) -> pd.DataFrame:
    experiment = experiment_of("luck", bots="random,tuned", games=len(batches[0].wins), **values)
    return LuckStudy().summarise(LuckStudy().tally(batches), experiment)


def row(summary: pd.DataFrame, estimand: str, bot: str) -> Any:
    return rows(summary, estimand).set_index("bot").loc[bot]


def test_the_share_of_the_deal_is_the_chance_that_it_decides() -> None:
    summary = summary_of(games_with(decided=0.3, skill=0.25, games=20_000))
    deal = row(summary, "deal_share", "random")
    assert deal["ci_low"] < 30 < deal["ci_high"]
    assert deal["se"] < 1
    assert row(summary, "rest_share", "random")["estimate"] == pytest.approx(100 - deal["estimate"])
    assert "play_share" not in set(summary[summary["bot"] == "random"]["estimand"])


def test_the_parts_are_those_of_the_definition_and_add_up() -> None:
    batches = games_with(decided=0.2, skill=0.7, games=3000)
    summary = summary_of(batches)
    wins = np.stack([batch.wins for batch in batches[PLAYERS:]], axis=1) / WIN_UNIT  # game, table, seat
    lone = np.eye(PLAYERS, dtype=bool)  # table k, seat k
    means = np.where(lone, wins[:, lone].mean(), wins[:, ~lone].mean())
    pairs = [(j, k) for j in range(PLAYERS) for k in range(PLAYERS) if j != k]
    deal = np.mean([(wins[:, j] * wins[:, k]).mean(axis=0) - means[j] * means[k] for j, k in pairs])
    play, variance = means.var(), wins.var()
    expected = {"deal_share": deal, "play_share": play, "rest_share": variance - deal - play}
    for estimand, part in expected.items():
        assert row(summary, estimand, "tuned")["estimate"] == pytest.approx(100 * part / variance)
    assert sum(row(summary, name, "tuned")["estimate"] for name in PARTS) == pytest.approx(100)


def test_order_and_rating_are_those_of_the_share_that_the_skilled_bot_wins() -> None:
    batches = games_with(decided=0, skill=0.7, games=5000)
    share = np.mean([batch.wins[:, seat].mean() for seat, batch in enumerate(batches[PLAYERS:])]) / WIN_UNIT
    summary = summary_of(batches)
    assert row(summary, "win_share", "tuned")["estimate"] == pytest.approx(100 * share)
    assert row(summary, "order", "tuned")["estimate"] == pytest.approx(100 * (share - 0.25) / 0.75)
    assert row(summary, "rating", "tuned")["estimate"] == pytest.approx(400 * np.log10(3 * share / (1 - share)))
    assert row(summary, "order", "random")["estimate"] == 0


def test_a_bot_that_always_wins_leaves_nothing_to_luck() -> None:
    summary = summary_of(games_with(decided=0, skill=1, games=200))
    assert row(summary, "order", "tuned")["estimate"] == 100
    assert row(summary, "play_share", "tuned")["estimate"] == pytest.approx(100)
    assert "to 100, always (beyond any rating)" in LuckStudy().conclude(summary)


def test_errors_allow_for_what_the_tables_of_a_deal_have_in_common() -> None:
    # The spread of the estimates over many runs is what their standard errors say.
    runs = [summary_of(games_with(decided=0.4, skill=0.6, games=500, seed=seed)) for seed in range(60)]
    for estimand in ("deal_share", "play_share", "order", "rating"):
        found = [row(summary, estimand, "tuned") for summary in runs]
        spread = np.std([one["estimate"] for one in found], ddof=1)
        assert spread == pytest.approx(np.mean([one["se"] for one in found]), rel=0.3)


@pytest.mark.slow
def test_the_interval_of_the_deal_covers_the_truth_as_often_as_it_says() -> None:
    covered = 0
    for seed in range(1000):
        deal = row(summary_of(games_with(decided=0.3, skill=0.5, games=400, seed=seed)), "deal_share", "random")
        covered += deal["ci_low"] < 30 < deal["ci_high"]
    assert 0.93 < covered / 1000 < 0.97


def test_deals_are_played_again_by_other_choices_and_bots_sit_at_every_seat() -> None:
    points = LuckStudy().design(experiment_of("luck", players=3, bots="random,greedy"), MAX_DESIGN_POINTS)
    assert [point.replay for point in points] == [0, 1, 2, 0, 1, 2]
    assert [[bot.name for bot in point.bots].index("greedy") for point in points[3:]] == [0, 1, 2]
    assert all(bot.name == "random" for point in points[:3] for bot in point.bots)


def test_bots_that_leave_nothing_to_chance_play_a_deal_again_to_the_last_card() -> None:
    summary = run_study("luck", rules="short", bots="greedy,random", games=300)
    alone = row(summary, "deal_share", "greedy")
    assert (alone["estimate"], alone["se"]) == (100, 0)
    assert row(summary, "order", "random")["ci_high"] < 0


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"bots": "random"}, "luck compares two bots or more: bots = random names one"),
        ({"vary": {"bots": ["random", "greedy"]}}, "luck sets bots against a naive one"),
        ({"players": 10, "set": {"decks": 2}, "games": 10**9}, "luck sums fourth powers, exactly up to 71,167,994"),
    ],
)
def test_what_cannot_be_answered_is_refused_before_a_game_is_played(values: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        get_study("luck").design(experiment_of("luck", **values), MAX_DESIGN_POINTS)


def test_rule_sets_stand_side_by_side_with_a_verdict_on_their_difference() -> None:
    batches = games_with(0.05, 0.75, 4000) + games_with(0.05, 0.3, 4000)
    summary = summary_of(batches, variant=[{"name": "crazy", "rules": "crazy_eights"}])
    base, crazy, depends, games = LuckStudy().conclude(summary).splitlines()
    assert base.startswith("classic: among random bots alone the deal decides")
    assert crazy.startswith("crazy: ")
    assert depends.startswith("Does it depend on variant? A difference beyond the margin of 5 pp")
    assert "the order of tuned differs most" in depends
    assert games == "4,000 games at each design point."
