"""What the study of stalemates promises: causes told apart, exact intervals, bounds for what was never seen."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from craits_sim.design import Experiment, design_points
from craits_sim.results import Batch, Ending, empty_batch
from craits_sim.rules import load_rules
from craits_sim.stats import Verdict, clopper_pearson
from craits_sim.studies.base import point_sums
from craits_sim.studies.stalemate import CAUSES, StalemateStudy
from tests.test_plots import check_words, words_of
from tests.test_studies import estimates, experiment_of, rows, summary_of


def batch_of(games: int, players: int = 4, **causes: int) -> Batch:
    """Make games whose first rounds ended in the given numbers of each cause."""
    batch = empty_batch(games, 15, players)
    ends = {
        "blocked": (Ending.BLOCKED, 60, 3),
        "circling": (Ending.TRUNCATED, 5000, 4800),
        "long": (Ending.TRUNCATED, 5000, 200),
    }
    game = 0
    for cause, count in causes.items():
        ending, drawn, reshuffles = ends[cause]
        these = slice(game, game + count)
        batch.ending[these, 0], batch.drawn[these, 0], batch.reshuffles[these, 0] = ending, drawn, reshuffles
        game += count
    return batch


def summary_with(games: int, margin: float = 0.1, **causes: int) -> pd.DataFrame:
    return summary_of(experiment_of("stalemate", games=games, margin=margin), [batch_of(games, **causes)])


def test_a_round_that_is_cut_went_in_circles_or_was_only_long() -> None:
    sums = point_sums(StalemateStudy().tally([batch_of(100, blocked=4, circling=3, long=2)]), 0)
    assert sums["games_with"].tolist() == [4, 3, 2, 9]


def test_a_game_that_gets_stuck_twice_counts_once() -> None:
    batch = batch_of(100, blocked=4)
    batch.ending[:6, 1] = Ending.BLOCKED
    assert point_sums(StalemateStudy().tally([batch]), 0)["games_with"].tolist() == [6, 0, 0, 6]


def test_shares_are_of_games_with_exact_intervals() -> None:
    blocked = rows(summary_with(1000, blocked=7), "blocked_games").iloc[0]
    low, high = clopper_pearson(7, 1000, 0.95)
    assert blocked["estimate"] == pytest.approx(0.7)
    assert (blocked["ci_low"], blocked["ci_high"]) == pytest.approx((100 * low, 100 * high))


@pytest.mark.parametrize(
    ("games", "stuck", "expected", "words"),
    [
        (1000, 0, Verdict.INCONCLUSIVE, "about 3,000 games would decide it"),
        (5000, 0, Verdict.NEGLIGIBLE, "no risk to speak of"),
        (20_000, 3, Verdict.REAL_BUT_NEGLIGIBLE, "a real but negligible risk"),
        (1000, 200, Verdict.ADVANTAGE, "a risk beyond the margin of 0.1%"),
        (1000, 2, Verdict.ADVANTAGE, "a risk that may or may not exceed the margin of 0.1%"),
    ],
)
def test_the_verdict_is_one_of_four_and_said_in_words(games: int, stuck: int, expected: Verdict, words: str) -> None:
    summary = summary_with(games, blocked=stuck)
    assert rows(summary, "stuck_games")["verdict"].item() == expected
    conclusion = StalemateStudy().conclude(summary)
    assert words in conclusion
    assert f"{games:,} games" in conclusion


def test_what_was_never_seen_is_bounded() -> None:
    assert "none in 5,000 games (< 3/N = 0.06%)" in StalemateStudy().conclude(summary_with(5000))


def test_players_reshuffling_and_draw_rules_are_varied_when_nothing_is() -> None:
    assert StalemateStudy().completed(experiment_of("stalemate")).vary == {
        "players": [2, 3, 4, 5],
        "stock.reshuffle": [True, False],
        "draw.until_playable": [False, True],
    }


def test_what_the_user_sets_is_not_varied() -> None:
    given = experiment_of("stalemate", players=3, set={"stock.reshuffle": False})
    assert StalemateStudy().completed(given).vary == {"draw.until_playable": [False, True]}
    assert "players" not in StalemateStudy().completed(experiment_of("stalemate", rules="partners")).vary
    assert load_rules("partners").players == 4


def designed(games: int, **values: Any) -> tuple[Experiment, pd.DataFrame]:
    """Make the default design, in which every table without reshuffling blocks now and then."""
    experiment = StalemateStudy().completed(experiment_of("stalemate", games=games, **values))
    batches = [
        batch_of(games, point.rules.players, blocked=0 if point.rules.stock.reshuffle else 50 * point.rules.players)
        for point in design_points(experiment)
    ]
    return experiment, summary_of(experiment, batches)


def test_the_conclusion_says_where_how_often_and_why() -> None:
    _, summary = designed(5000)
    conclusion = StalemateStudy().conclude(summary)
    for promised in (
        "stuck in 8 of 16 design points, most often with players = 5, stock.reshuffle = false",
        "By stock.reshuffle: none with stock.reshuffle = true; 2.0% to 5.0% with stock.reshuffle = false.",
        "nobody could play or draw: at 8, up to 5.0%",
        "going in circles: stock empty, nearly every card in a hand: never",
        "the margin of 0.1% of games",
    ):
        assert promised in conclusion, promised


def test_the_chart_has_a_panel_for_each_number_of_players_and_every_cause() -> None:
    _, summary = designed(2000)
    figure = StalemateStudy().plot(summary)
    check_words(figure)
    words = words_of(figure)
    assert all(cause in words for cause in CAUSES.values())
    assert all(f"{players} players" in words for players in (2, 3, 4, 5))
    assert all(axes.get_xscale() == "log" for axes in figure.subfigs[0].axes)


def test_what_was_never_seen_is_an_arrow_from_its_bound() -> None:
    figure = StalemateStudy().plot(summary_with(1000, blocked=5))
    (axes,) = figure.subfigs[0].axes
    bounds = [line for line in axes.lines if line.get_marker() == "|"]
    assert [float(np.asarray(line.get_xdata())[0]) for line in bounds] == pytest.approx([0.299, 0.299], abs=1e-3)


def test_estimates_add_up_over_exclusive_causes() -> None:
    summary = summary_with(500, blocked=5, circling=10, long=20)
    assert estimates(summary, "stuck_games") == [pytest.approx(7)]
    assert [estimates(summary, name)[0] for name in CAUSES] == pytest.approx([1, 2, 4])
