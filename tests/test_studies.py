"""What the studies promise: exact sums, positions and offsets as meant, honest intervals, plain conclusions."""

import re
import subprocess
import sys
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

from craits_sim import aggregate
from craits_sim.design import MAX_DESIGN_POINTS, Experiment, design_points, make_experiment
from craits_sim.results import WIN_UNIT, Batch, Ending, empty_batch
from craits_sim.stats import Verdict
from craits_sim.studies import STUDIES, StudyError, get_study
from craits_sim.studies.base import PointStudy, SideBySideStudy, Study, cross_sums, one_hot, point_sums
from craits_sim.studies.dealer import DealerStudy
from craits_sim.studies.length import GAME_BINS, LengthStudy
from craits_sim.studies.seats import SeatsStudy
from tests.fake_run import fake_batch

BY_NAME = [name for name, study in STUDIES.items() if isinstance(study, PointStudy)]
"""The studies of one design point or more; those of pairs have tests of their own."""


def experiment_of(study: str, **values: Any) -> Experiment:
    own_bots = {} if "bots" in values.get("vary", {}) else {"bots": get_study(study).default_bots}
    return make_experiment({"name": study, "study": study, "games": 500, **own_bots, **values})


def play(experiment: Experiment) -> list[Batch]:
    points = get_study(experiment.study).design(experiment, MAX_DESIGN_POINTS)
    return [fake_batch(point, experiment.seed, 0, experiment.games) for point in points]


def summary_of(experiment: Experiment, batches: Sequence[Batch] | None = None) -> pd.DataFrame:
    study = get_study(experiment.study)
    return study.summarise(study.tally(batches or play(experiment)), experiment)


def rows(summary: pd.DataFrame, estimand: str) -> pd.DataFrame:
    return summary[summary["estimand"] == estimand]


def estimates(summary: pd.DataFrame, estimand: str) -> list[float]:
    return rows(summary, estimand)["estimate"].tolist()


def small_batch() -> Batch:
    """Three games of two rounds and two seats, small enough to add up by hand."""
    batch = empty_batch(3, 2, 2)
    batch.first_dealer[:] = [0, 1, 1]
    batch.dealer[:] = [[0, 1], [1, 0], [1, 0]]
    batch.went_out[:] = [[0, 0], [1, -1], [0, 1]]
    batch.ending[:] = [[0, 0], [0, Ending.BLOCKED], [0, Ending.TRUNCATED]]
    batch.points[:] = [[[0, 10], [20, 0]], [[0, 30], [5, 7]], [[9, 0], [4, 0]]]
    batch.totals[:] = [[0, 30], [35, 7], [4, 9]]
    batch.wins[:] = [[WIN_UNIT, 0], [0, WIN_UNIT], [WIN_UNIT, 0]]
    batch.turns[:] = [[4, 6], [9, 3], [2, 2]]
    batch.drawn[:] = [[1, 2], [3, 4], [5, 6]]
    batch.reshuffles[:] = [[0, 1], [0, 0], [2, 0]]
    batch.skips[:] = [[[1, 0], [0, 2]], [[0, 0], [1, 1]], [[0, 3], [0, 0]]]
    return batch


TWO_ROUNDS = {"players": 2, "set": {"deals": [2, 1]}, "games": 3}


# --- The registry ------------------------------------------------------------------------------------------------


def test_studies_are_found_by_name() -> None:
    assert all(get_study(name).name == name for name in STUDIES)
    message = f'unknown study "seat"; studies: {", ".join(STUDIES)}; did you mean "seats"'
    with pytest.raises(StudyError, match=re.escape(message)):
        get_study("seat")


def test_listing_the_studies_waits_for_no_heavy_library() -> None:
    heavy = ("pandas", "matplotlib", "scipy", "statsmodels", "numba", "pydantic")
    code = f"import sys, craits_sim.studies; print([name for name in {heavy} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


@pytest.mark.parametrize("study", STUDIES.values(), ids=STUDIES)
def test_a_study_says_what_it_asks_and_what_it_lets_the_user_set(study: Study) -> None:
    assert study.question.endswith("?")
    assert study.margin > 0
    assert study.margin_unit
    assert study.default_games > 0
    assert all(option.help.endswith(".") for option in study.options)


# --- Sums --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("study", [STUDIES[name] for name in BY_NAME], ids=BY_NAME)
def test_sums_of_chunks_add_to_the_sums_of_all_games(study: Study) -> None:
    experiment = experiment_of(study.name, vary={"players": [2, 3]})
    batches = play(experiment)
    whole = study.tally(batches)
    cuts = (0, 1, 8, 250, 500)
    total = None
    for first, last in pairwise(cuts):
        part = study.tally([Batch._make(values[first:last] for values in batch) for batch in batches])
        total = part if total is None else {key: total[key] + values for key, values in part.items()}
    assert total is not None
    assert {key: values.dtype for key, values in whole.items()} == dict.fromkeys(total, np.dtype(np.int64))
    for key, values in whole.items():
        np.testing.assert_array_equal(values, total[key])


@pytest.mark.parametrize("largest", [3, 1_000, 40_000_000])
def test_products_are_exact_whatever_type_they_are_computed_in(largest: int) -> None:
    values = np.random.default_rng(largest).integers(-largest, largest + 1, (1000, 3))
    values[0] = largest
    sums = cross_sums("x", values)
    python = values.astype(object)
    assert sums["x"].tolist() == python.sum(axis=0).tolist()
    assert sums["x_products"].tolist() == (python.T @ python).tolist()


def test_sums_that_64_bits_cannot_hold_are_refused() -> None:
    with pytest.raises(OverflowError, match="points: 4,000,000,000 is too large"):
        cross_sums("points", np.array([[4_000_000_000]]))


def test_numbers_outside_the_range_have_no_one() -> None:
    assert one_hot(np.array([[0, -1, 2]], np.int32), 3).tolist() == [[1, 0, 0, 0, 0, 0, 0, 0, 1]]


def test_the_sums_of_seats_are_by_position() -> None:
    sums = point_sums(SeatsStudy().tally([small_batch()]), 0)
    # The first dealer is seat 0, 1, 1: it wins games 0 and 1, the other game 2.
    assert sums["wins"].tolist() == [2 * WIN_UNIT, WIN_UNIT]
    assert sums["wins_products"].tolist() == [[2 * WIN_UNIT**2, 0], [0, WIN_UNIT**2]]
    assert sums["totals"].tolist() == [0 + 7 + 9, 30 + 35 + 4]
    assert sums["totals_products"].tolist() == [[0 + 49 + 81, 0 + 245 + 36], [0 + 245 + 36, 900 + 1225 + 16]]
    assert sums["deals"].tolist() == [3, 0, 0, 3]
    assert sums["points"].tolist() == [9, 40, 29, 7]


def test_the_sums_of_dealer_are_by_offset() -> None:
    sums = point_sums(DealerStudy().tally([small_batch()]), 0)
    # Round 0: offsets 0, 0, 1 go out; round 1: offset 1, nobody, offset 1.
    assert sums["went_out"].tolist() == [2, 1, 0, 2]
    assert sums["points_products"][0].tolist() == [81, 0, 36, 0]
    assert sums["skips"].tolist() == [2, 6]
    assert sums["skips_products"].tolist() == [[1 + 1 + 0, 2 + 1 + 0], [2 + 1 + 0, 4 + 1 + 9]]


def test_the_sums_of_length_are_histograms_and_outcomes() -> None:
    sums = point_sums(LengthStudy().tally([small_batch()]), 0)
    assert sums["lengths"].tolist() == [10 + 12 + 4, 3 + 7 + 11, 3]
    assert {turns: int(sums["game_turns"][turns]) for turns in np.flatnonzero(sums["game_turns"])} == {
        4: 1,
        10: 1,
        12: 1,
    }
    assert sums["round_turns"][:10].tolist() == [0, 0, 2, 1, 1, 0, 1, 0, 0, 1]
    # Rounds of up to 4 turns: one in game 0, one in game 1, two in game 2.
    assert np.cumsum(sums["round_turns_squares"])[4] == 1 + 1 + 4
    assert sums["winners"].tolist() == [0, 3, 0]
    assert sums["games_with_ending"].tolist() == [3, 1, 1]


def test_squares_of_rounds_up_to_a_length_are_exact_for_every_length() -> None:
    (batch,) = play(experiment_of("length"))
    sums = point_sums(LengthStudy().tally([batch]), 0)
    for turns in (0, 10, 20, 30, 40):
        counts = (batch.turns <= turns).sum(axis=1)
        assert np.cumsum(sums["round_turns_squares"])[turns] == (counts**2).sum()


def test_studies_and_simulate_add_up_the_same_games_alike() -> None:
    batches = play(experiment_of("seats"))
    plain = aggregate.tally(batches)
    seats, dealer = (point_sums(get_study(name).tally(batches), 0) for name in ("seats", "dealer"))
    assert seats["wins"].tolist() == plain["wins"].tolist()
    assert seats["totals_products"].tolist() == plain["totals_products"].tolist()
    assert dealer["points"].reshape(15, 4).sum(axis=0).tolist() == plain["points"].tolist()
    assert dealer["went_out"].reshape(15, 4).sum(axis=0).tolist() == plain["went_out"].tolist()


# --- The table ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BY_NAME)
def test_every_row_says_what_it_estimates_with_what_certainty(name: str) -> None:
    summary = summary_of(experiment_of(name, level=0.9))
    columns = ["estimand", "unit", "estimate", "se", "ci_low", "ci_high", "ci_level", "ci_kind", "n"]
    assert [column for column in summary.columns if column in columns] == columns
    assert (summary["ci_level"] == 0.9).all()
    assert (summary["n"] == 500).all()
    # An extreme quantile of 500 games has an end that cannot be given; everything else has an interval.
    may_be_open = summary["estimand"].str.startswith("turns_per_")
    assert ((summary["ci_low"] <= summary["estimate"] + 1e-9) | (may_be_open & summary["ci_low"].isna())).all()
    assert ((summary["estimate"] <= summary["ci_high"] + 1e-9) | (may_be_open & summary["ci_high"].isna())).all()
    assert "500 games" in summary.attrs["caption"]


@pytest.mark.parametrize("name", BY_NAME)
def test_each_design_point_has_its_rows_and_its_conclusion(name: str) -> None:
    experiment = experiment_of(name, vary={"players": [2, 3], "draw.count": [1, 2]})
    summary = summary_of(experiment)
    assert list(summary.columns[:2]) == ["players", "draw.count"]
    assert len(summary[["players", "draw.count"]].drop_duplicates()) == 4
    study = get_study(name)
    lines = study.conclude(summary).splitlines()
    if isinstance(study, SideBySideStudy):
        assert lines[1].startswith("players = 2, draw.count = 2: ")


@pytest.mark.parametrize("name", BY_NAME)
def test_highlights_are_rows_of_the_table_and_few(name: str) -> None:
    summary = summary_of(experiment_of(name))
    highlights = get_study(name).highlights(summary)
    assert len(highlights) <= 45
    assert set(highlights.index) <= set(summary.index)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("games", [1, 2])
@pytest.mark.parametrize("name", BY_NAME)
def test_one_or_two_games_decide_nothing_and_break_nothing(name: str, games: int) -> None:
    summary = summary_of(experiment_of(name, games=games))
    conclusion = get_study(name).conclude(summary)
    assert "nan" not in conclusion
    if games == 1 and name != "stalemate":  # its intervals are exact, and so wide that they are no lie
        assert "unknown" in conclusion


@pytest.mark.parametrize("name", BY_NAME)
def test_the_headline_is_the_half_width_that_the_table_ends_with(name: str) -> None:
    study = get_study(name)
    experiment = experiment_of(name)
    sums = study.tally(play(experiment))
    summary = study.summarise(sums, experiment)
    estimand = {
        "seats": "win_share",
        "dealer": "edge",
        "length": "mean_turns_per_game",
        "players": "largest_edge",
        "stalemate": "stuck_games",
        "crank": "cards_paid",
        "luck": "order",
        "cards": "worth",
    }[name]
    shown = rows(summary, estimand)
    widths = (shown["ci_high"] - shown["ci_low"]) / 2
    text, half_width = study.headline(sums, experiment)
    assert text
    assert half_width == pytest.approx(widths.iloc[0] if name == "dealer" else widths.max())


# --- seats -------------------------------------------------------------------------------------------------------


def test_win_shares_are_by_position_in_percent() -> None:
    summary = summary_of(experiment_of("seats", **TWO_ROUNDS), [small_batch()])
    assert estimates(summary, "win_share") == pytest.approx([200 / 3, 100 / 3])
    assert estimates(summary, "mean_total") == pytest.approx([16 / 3, 69 / 3])
    assert estimates(summary, "edge") == pytest.approx([-53 / 6, 53 / 6])
    assert (rows(summary, "win_share")["reference"] == 50).all()


@pytest.mark.parametrize(
    ("players", "deals", "cards"),
    [
        (2, [8, 7], [40, 31]),
        (3, [5, 5, 5], [24, 23, 24]),
        (4, [4, 4, 4, 3], [20, 20, 20, 11]),
        (5, [3, 3, 3, 3, 3], [15, 14, 13, 14, 15]),
    ],
)
def test_each_position_is_shown_with_the_deals_and_cards_that_it_deals(
    players: int, deals: list[int], cards: list[int]
) -> None:
    summary = summary_of(experiment_of("seats", players=players))
    assert estimates(summary, "deals") == deals
    assert estimates(summary, "cards_dealt") == cards
    assert (rows(summary, "cards_dealt")["se"] == 0).all()


def test_deals_that_depend_on_the_game_are_counted_with_an_error() -> None:
    experiment = experiment_of("seats")
    (batch,) = play(experiment)
    batch.dealer[:, 1:] = np.random.default_rng(1).integers(0, 4, (500, 14))
    summary = summary_of(experiment, [batch])
    assert sum(estimates(summary, "deals")) == pytest.approx(15)
    assert sum(estimates(summary, "cards_dealt")) == pytest.approx(71)
    assert (rows(summary, "cards_dealt")["se"] > 0).all()


def by_offset(experiment: Experiment, points: np.ndarray) -> Batch:
    """Make games in which each round's points depend on the offset and the deal size, and on nothing else."""
    (batch,) = play(experiment)
    batch.points[:] = points
    batch.totals[:] = 0
    games = np.arange(len(batch.totals))
    for number in range(batch.points.shape[1]):
        for offset in range(batch.points.shape[2]):
            seat = (batch.dealer[:, number] + offset) % batch.points.shape[2]
            batch.totals[games, seat] += batch.points[:, number, offset]
    return batch


def test_an_edge_that_comes_from_dealing_alone_is_predicted() -> None:
    experiment = experiment_of("seats")
    sizes = np.array([8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8])
    batch = by_offset(experiment, sizes[:, None] * np.array([3, 0, 1, 2]))
    summary = summary_of(experiment, [batch])
    assert estimates(summary, "predicted_edge") == pytest.approx(estimates(summary, "edge"))
    # Position 0 is the dealer of rounds 0, 4, 8, 12, then its offset from the dealer falls by one each round.
    total = sum(size * (3, 2, 1, 0)[number % 4] for number, size in enumerate(sizes))
    assert estimates(summary, "mean_total")[0] == total


def test_an_edge_of_the_seat_itself_is_not_taken_for_one_of_dealing() -> None:
    experiment = experiment_of("seats")
    batch = by_offset(experiment, np.zeros((15, 4), np.int64))
    rest = (np.arange(15)[:, None] + np.arange(4)) % 4 == 0
    batch.points[:] = 8 * rest  # position 0, wherever it sits in the round
    seats = batch.first_dealer[:, None] == np.arange(4)
    batch.totals[:] = 8 * 15 * seats
    summary = summary_of(experiment, [batch])
    assert estimates(summary, "edge")[0] == pytest.approx(90)
    assert estimates(summary, "predicted_edge")[0] < 70


def test_partners_share_their_wins_and_count_as_two_sides() -> None:
    experiment = experiment_of("seats", rules="partners")
    (batch,) = play(experiment)
    sides = batch.totals[:, :2] + batch.totals[:, 2:]
    wins = (WIN_UNIT // 2 * (sides == sides.min(axis=1, keepdims=True))).astype(np.int32)
    wins[sides[:, 0] == sides[:, 1]] //= 2
    summary = summary_of(experiment, [batch._replace(wins=np.hstack([wins, wins]))])
    assert sum(estimates(summary, "win_share")) == pytest.approx(100)
    assert rows(summary, "largest_edge")["df"].item() == 1


def test_games_without_a_winner_leave_the_reference_and_are_mentioned() -> None:
    experiment = experiment_of("seats", rules="crazy_eights", players=4, games=2000)
    (batch,) = play(experiment)
    winner = batch.went_out[:, -1:]
    batch = batch._replace(wins=(WIN_UNIT * (np.arange(4) == winner)).astype(np.int32))
    summary = summary_of(experiment, [batch])
    nobody = float((winner < 0).mean())
    assert nobody > 0
    assert sum(estimates(summary, "win_share")) == pytest.approx(100 * (1 - nobody))
    assert estimates(summary, "no_winner") == [pytest.approx(100 * nobody)]
    assert (rows(summary, "win_share")["reference"] == 25).all()
    assert rows(summary, "largest_edge")["verdict"].item() != Verdict.ADVANTAGE
    conclusion = SeatsStudy().conclude(summary)
    assert f"In {100 * nobody:.1f}% of games nobody wins" in conclusion
    assert "the reference stays 25%" in conclusion


def loaded(share_of_position_0: float, games: int, margin: float) -> tuple[Experiment, Batch]:
    """Make games of two players, of which position 0 wins the given share."""
    experiment = experiment_of("seats", players=2, games=games, margin=margin)
    (batch,) = play(experiment)
    won = np.arange(games) < round(share_of_position_0 * games)
    first = (batch.first_dealer[:, None] == np.arange(2)) == won[:, None]
    return experiment, batch._replace(wins=(WIN_UNIT * first).astype(np.int32))


@pytest.mark.parametrize(
    ("share", "games", "margin", "expected", "words"),
    [
        (0.60, 2000, 1, Verdict.ADVANTAGE, "an advantage beyond the margin of 1 pp"),
        (0.53, 4000, 2, Verdict.ADVANTAGE, "an advantage that may or may not exceed the margin of 2 pp"),
        (0.50, 4000, 3, Verdict.NEGLIGIBLE, "no advantage to speak of"),
        (0.52, 8000, 5, Verdict.REAL_BUT_NEGLIGIBLE, "a real but negligible advantage"),
        (0.51, 400, 1, Verdict.INCONCLUSIVE, "inconclusive against the margin of 1 pp (about 20,000 games would"),
    ],
)
def test_the_verdict_on_seats_is_one_of_four_and_said_in_words(
    share: float, games: int, margin: float, expected: Verdict, words: str
) -> None:
    experiment, batch = loaded(share, games, margin)
    summary = summary_of(experiment, [batch])
    assert rows(summary, "largest_edge")["verdict"].item() == expected
    conclusion = SeatsStudy().conclude(summary)
    assert words in conclusion
    assert f"{games:,} games" in conclusion
    assert "95% simultaneous intervals" in conclusion


# --- dealer ------------------------------------------------------------------------------------------------------


def test_points_are_relative_to_the_mean_of_the_round() -> None:
    summary = summary_of(experiment_of("dealer", **TWO_ROUNDS), [small_batch()])
    assert estimates(summary, "points_by_round") == pytest.approx([3, 40 / 3, 29 / 3, 7 / 3])
    assert estimates(summary, "edge_by_round") == pytest.approx([-31 / 6, 31 / 6, 22 / 6, -22 / 6])
    assert estimates(summary, "edge") == pytest.approx([-0.75, 0.75])
    assert rows(summary, "edge_by_round")["deal_size"].tolist() == [2, 2, 1, 1]
    assert rows(summary, "edge_by_round")["round"].tolist() == [1, 1, 2, 2]


def test_shares_of_going_out_leave_room_for_nobody() -> None:
    summary = summary_of(experiment_of("dealer", **TWO_ROUNDS), [small_batch()])
    assert estimates(summary, "go_out_share") == pytest.approx([100 * 2 / 6, 100 * 3 / 6])
    assert estimates(summary, "go_out_share_by_round") == pytest.approx([200 / 3, 100 / 3, 0, 200 / 3])


def test_mechanisms_are_means_a_round_and_against_the_table() -> None:
    summary = summary_of(experiment_of("dealer", **TWO_ROUNDS), [small_batch()])
    assert estimates(summary, "skips") == pytest.approx([2 / 6, 1])
    assert estimates(summary, "skips_difference") == pytest.approx([-1 / 3, 1 / 3])


def test_the_error_of_the_dealers_edge_is_clustered_by_game() -> None:
    experiment = experiment_of("dealer")
    (batch,) = play(experiment)
    batch.points[:, :, 0] += np.random.default_rng(3).integers(
        -20, 20, (500, 1)
    )  # a game's rounds depend on each other
    relative = (batch.points - batch.points.mean(axis=2, keepdims=True))[:, :, 0]
    games = np.repeat(np.arange(500), 15)
    fit = OLS(relative.ravel(), np.ones(relative.size)).fit(cov_type="cluster", cov_kwds={"groups": games})
    edge = rows(summary_of(experiment, [batch]), "edge").iloc[0]
    assert edge["estimate"] == pytest.approx(fit.params[0])
    assert edge["se"] == pytest.approx(fit.bse[0])


def test_the_verdict_is_on_the_dealer_and_the_tests_of_rounds_are_adjusted() -> None:
    summary = summary_of(experiment_of("dealer", games=2000))
    edges, cells = rows(summary, "edge"), rows(summary, "edge_by_round")
    assert edges["verdict"].notna().tolist() == [True, False, False, False]
    assert (cells["p_adjusted"] >= cells["p_value"]).all()
    conclusion = DealerStudy().conclude(summary)
    assert "the margin of 0.5 points a round" in conclusion
    assert "2,000 games" in conclusion
    assert "against 25%" in conclusion


def test_a_round_in_which_dealing_hurts_is_named() -> None:
    experiment = experiment_of("dealer", games=2000)
    (batch,) = play(experiment)
    batch.points[:, 7, 0] += 30
    conclusion = DealerStudy().conclude(summary_of(experiment, [batch]))
    assert "an edge is clear in 1 of 15" in conclusion
    assert "with 1 card dealt: +22" in conclusion


# --- length ------------------------------------------------------------------------------------------------------


def test_quantiles_are_those_of_the_games_and_of_the_rounds() -> None:
    experiment = experiment_of("length")
    (batch,) = play(experiment)
    summary = summary_of(experiment, [batch])
    for estimand, values in (("turns_per_game", batch.turns.sum(axis=1)), ("turns_per_round", batch.turns.ravel())):
        shown = rows(summary, estimand)
        expected = np.quantile(values, shown["quantile"], method="inverted_cdf")
        assert shown["estimate"].tolist() == expected.tolist()


def test_minutes_come_from_the_assumed_seconds() -> None:
    options = {
        "seconds_per_turn": 6,
        "seconds_per_card_drawn": 3,
        "seconds_per_card_dealt": 2,
        "seconds_per_shuffle": 60,
    }
    experiment = experiment_of("length", **TWO_ROUNDS, options=options)
    summary = summary_of(experiment, [small_batch()])
    # 26 turns, 21 cards and 3 reshuffles in three games; 6 cards dealt and 2 shuffles before play in each.
    seconds = (6 * 26 + 3 * 21 + 60 * 3) / 3 + 2 * 6 + 60 * 2
    assert estimates(summary, "mean_minutes_per_game") == [pytest.approx(seconds / 60)]
    a_turn = (6 * 26 + 3 * 21 + 60 * 3) / 26
    half = rows(summary, "turns_per_game").set_index("quantile").loc[0.5]
    assert half["minutes"] == pytest.approx((132 + a_turn * 10) / 60)
    assert "assumes 6 s a turn, 3 s a card drawn, 2 s a card dealt, 60 s a shuffle" in LengthStudy().conclude(summary)


def test_outcomes_are_shares_of_games_with_exact_intervals() -> None:
    summary = summary_of(experiment_of("length", **TWO_ROUNDS), [small_batch()])
    shares = {name: estimates(summary, name) for name in ("tied_games", "blocked_games", "truncated_games")}
    assert shares == {
        "tied_games": [0],
        "blocked_games": [pytest.approx(100 / 3)],
        "truncated_games": [pytest.approx(100 / 3)],
    }
    assert "no_winner_games" not in set(summary["estimand"])
    conclusion = LengthStudy().conclude(summary)
    assert "tied for the win: none in 3 games" in conclusion
    assert "long quantiles are lower bounds" in conclusion


def test_what_was_never_seen_is_bounded_by_three_in_n() -> None:
    experiment = experiment_of("length", games=1000)
    (batch,) = play(experiment)
    batch = batch._replace(ending=np.zeros_like(batch.ending))
    assert "with a round cut at the turn cap: none in 1,000 games (< 3/N = 0.3%)" in LengthStudy().conclude(
        summary_of(experiment, [batch])
    )


@pytest.mark.parametrize(("rules", "tied"), [("classic", 100), ("partners", 0)])
def test_two_partners_who_win_together_are_no_tie(rules: str, tied: int) -> None:
    experiment = experiment_of("length", rules=rules)
    (batch,) = play(experiment)
    wins = np.tile(np.array([WIN_UNIT // 2, 0, WIN_UNIT // 2, 0], np.int32), (500, 1))
    assert estimates(summary_of(experiment, [batch._replace(wins=wins)]), "tied_games") == [tied]


def test_a_game_that_nobody_wins_is_an_outcome_where_the_rules_allow_it() -> None:
    experiment = experiment_of("length", rules="crazy_eights", players=4)
    (batch,) = play(experiment)
    batch = batch._replace(wins=np.zeros_like(batch.wins))
    assert estimates(summary_of(experiment, [batch]), "no_winner_games") == [100]


def test_lengths_beyond_the_histogram_are_known_to_be_long_only() -> None:
    experiment = experiment_of("length", games=200)
    (batch,) = play(experiment)
    batch = batch._replace(turns=batch.turns + GAME_BINS)
    half = rows(summary_of(experiment, [batch]), "turns_per_game").set_index("quantile").loc[0.5]
    assert half["estimate"] == GAME_BINS - 1
    assert np.isnan(half["ci_high"])


def test_lengths_beyond_the_histogram_are_counted_and_named() -> None:
    # Of 200 games, 50 have a round that is longer than all bins of rounds, and so are beyond those of games too.
    experiment = experiment_of("length", games=200)
    (batch,) = play(experiment)
    assert not {"longest_games", "longest_rounds"} & set(summary_of(experiment, [batch])["estimand"])
    turns = batch.turns.copy()
    turns[:50, 3] = GAME_BINS
    summary = summary_of(experiment, [batch._replace(turns=turns)])
    assert estimates(summary, "longest_games") == estimates(summary, "longest_rounds") == [25]
    conclusion = LengthStudy().conclude(summary)
    assert "of 16,383 turns or more, not told apart: 25%" in conclusion
    assert "with a round of 8,191 turns or more, not told apart: 25%" in conclusion


@pytest.mark.parametrize(
    ("margin", "verdict"),
    [
        (5, "A difference beyond the margin of 5 turns a game"),
        (22, "A difference that may or may not exceed the margin of 22 turns a game"),
        (100, "A real but negligible difference (shown to be within the margin of 100 turns a game)"),
    ],
)
def test_the_margin_decides_whether_a_difference_of_lengths_matters(margin: float, verdict: str) -> None:
    # Made-up rounds of 22 turns on average: two of them against one.
    summary = summary_of(experiment_of("length", vary={"deals": [[8], [8, 8]]}, margin=margin))
    assert f"Does it depend on deals? {verdict}" in LengthStudy().conclude(summary)


# --- Real games --------------------------------------------------------------------------------------------------


def test_real_games_of_random_play_give_the_known_figures() -> None:
    from craits_sim.kernel.simulate import simulate_batch

    experiment = experiment_of("dealer", games=4000)
    (point,) = design_points(experiment)
    batches = [simulate_batch(point.rules, point.bots, experiment.seed, 0, experiment.games)]
    one_card = rows(summary_of(experiment, batches), "edge_by_round").query("round == 8 and offset == 0").iloc[0]
    assert one_card["deal_size"] == 1
    assert one_card["p_adjusted"] < 1e-6
    assert one_card["ci_low"] < -2.6 < one_card["ci_high"]  # with one card dealt the dealer is off best
    lengths = summary_of(experiment_of("length", games=4000), batches)
    turns = rows(lengths, "mean_turns_per_game").iloc[0]
    assert abs(turns["estimate"] - 15 * 58.36) < 4 * turns["se"]
    seats = summary_of(experiment_of("seats", games=4000), batches)
    assert sum(estimates(seats, "win_share")) == pytest.approx(100)
    assert sum(estimates(seats, "mean_total")) == pytest.approx(4 * 694.5, abs=15)
