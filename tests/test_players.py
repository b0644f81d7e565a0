"""What the study of the number of players promises: each metric at each table, and tests adjusted for their number."""

import numpy as np
import pandas as pd
import pytest

from craits_sim.design import design_points
from craits_sim.rules import load_rules
from craits_sim.stats import Verdict
from craits_sim.studies.players import METRICS, PlayersStudy
from tests.test_plots import check_words, words_of
from tests.test_studies import TWO_ROUNDS, estimates, experiment_of, play, rows, small_batch, summary_of


def test_two_to_five_players_are_compared_when_nothing_is_varied() -> None:
    assert PlayersStudy().completed(experiment_of("players")).vary == {"players": [2, 3, 4, 5]}


def test_with_two_decks_up_to_ten_players_are_compared() -> None:
    assert PlayersStudy().default_vary(load_rules("classic", {"decks": 2})) == {"players": list(range(2, 11))}


def test_tables_that_the_cards_do_not_suffice_for_are_left_out() -> None:
    assert PlayersStudy().default_vary(load_rules("classic", {"deals": [15], "players": 3})) == {"players": [2, 3]}


@pytest.mark.parametrize("given", [{"players": 3}, {"vary": {"players": [2, 6]}}, {"rules": "partners"}])
def test_what_the_user_gives_stays_as_it_is(given: dict[str, object]) -> None:
    experiment = experiment_of("players", **given)
    assert PlayersStudy().completed(experiment) == experiment


def test_metrics_are_those_of_the_games() -> None:
    batch = small_batch()
    batch = batch._replace(
        choices=np.array([[1, 2], [3, 1], [0, 2]], np.int32),
        crank_sizes=np.zeros((3, 64), np.int32),
        largest_crank=np.zeros((3, 2), np.int32),
        crank_paid=np.zeros((3, 2, 2), np.int32),
    )
    summary = summary_of(experiment_of("players", **TWO_ROUNDS), [batch])
    expected = {
        "largest_edge": 100 / 6,
        "dealer_edge": -0.75,
        "choice_share": 100 * 9 / 26,
        "turns_per_round": 26 / 6,
        "turns_per_game": 26 / 3,
        "mean_total": (30 + 42 + 13) / 6,
        "range_of_totals": (30 + 28 + 5) / 3,
        "cards_drawn": 21 / 12,
        "tied_games": 0,
        "blocked_games": 100 / 3,
        "truncated_games": 100 / 3,
    }
    for estimand, value in expected.items():
        assert abs(estimates(summary, estimand)[0]) == pytest.approx(abs(value)), estimand


def test_the_share_of_choices_weights_turns_and_clusters_games() -> None:
    experiment = experiment_of("players", players=3)
    (batch,) = play(experiment)
    turns, choices = batch.turns.sum(axis=1), batch.choices.sum(axis=1)
    share = choices.sum() / turns.sum()
    row = rows(summary_of(experiment, [batch]), "choice_share").iloc[0]
    assert row["estimate"] == pytest.approx(100 * share)
    assert row["se"] == pytest.approx(100 * np.std(choices - share * turns, ddof=1) / np.sqrt(500) / turns.mean())


def by_players(**values: object) -> pd.DataFrame:
    return summary_of(PlayersStudy().completed(experiment_of("players", **values)))


def test_edges_are_tested_with_adjustment_for_the_number_of_tables() -> None:
    edges = rows(by_players(), "largest_edge")
    assert edges["players"].tolist() == [2, 3, 4, 5]
    smallest = edges["p_value"].idxmin()
    assert edges.loc[smallest, "p_adjusted"] == pytest.approx(min(4 * edges.loc[smallest, "p_value"], 1))
    assert ((edges["verdict"] != Verdict.ADVANTAGE) | (edges["p_adjusted"] < 0.05)).all()


def test_the_conclusion_gives_every_number_of_players_with_margin_and_verdict() -> None:
    conclusion = PlayersStudy().conclude(by_players())
    for promised in ("With 2, 3, 4 and 5 players", "leave a real choice", "the margin of 1 pp", "500 games for each"):
        assert promised in conclusion
    assert "minutes if one assumes 8 s a turn" in conclusion


def test_other_factors_are_lines_in_the_same_charts() -> None:
    summary = by_players(vary={"players": [2, 4], "draw.count": [1, 2]})
    lines = PlayersStudy().conclude(summary).splitlines()
    assert [line.partition(":")[0] for line in lines] == ["draw.count = 1", "draw.count = 2"]
    figure = PlayersStudy().plot(summary)
    check_words(figure)
    assert "draw.count = 2" in words_of(figure)


@pytest.mark.parametrize("values", [{}, {"rules": "wiki", "set": {"decks": 2}}, {"players": 4}])
def test_every_metric_has_its_chart_and_no_word_collides(values: dict[str, object]) -> None:
    figure = PlayersStudy().plot(by_players(games=2000, **values))
    check_words(figure)
    words = words_of(figure)
    assert all(metric.title in words for metric in METRICS)
    assert "95%" in words


def test_design_points_are_the_tables() -> None:
    experiment = PlayersStudy().completed(experiment_of("players"))
    assert [point.rules.players for point in design_points(experiment)] == [2, 3, 4, 5]
