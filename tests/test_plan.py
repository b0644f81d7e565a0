"""Planning, and the user's own play log: closed forms, published figures, and what the two commands say."""

import json
from math import sqrt
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result
from scipy import stats as scipy_stats
from statsmodels.stats.power import normal_power, zt_ind_solve_power

from craits_sim import runner
from craits_sim.bots import parse_bots
from craits_sim.cli import cli
from craits_sim.cli.plan import TABLE_GAMES, _time_text
from craits_sim.kernel import simulate_batch
from craits_sim.rules import load_rules
from craits_sim.stats import (
    Goal,
    equal_share_sd,
    errors_needed,
    exact_p_value,
    games_for,
    games_to_detect,
    games_to_show_equivalence,
    mean_interval,
    size_reached,
    wilson_interval,
)
from tests.fake_run import fake_run

SD = 100 * equal_share_sd(4)
"""Percentage points of win share at a table of four."""


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="craits")


def craits_json(*arguments: str) -> dict[str, Any]:
    result = craits(*arguments, "--json")
    assert result.exit_code == 0, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make up the results instead of playing games."""
    monkeypatch.setattr(runner, "run", fake_run)
    monkeypatch.setattr(runner, "get_ready", lambda _points: None)


# --- Closed forms ------------------------------------------------------------------------------------------------


def test_a_seat_that_wins_as_often_as_the_others_has_the_spread_of_a_bernoulli_variable() -> None:
    for players in (2, 3, 4, 10):
        assert equal_share_sd(players) == pytest.approx(sqrt(1 / players * (1 - 1 / players)))


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (Goal.HALF_WIDTH, [2.68, 0.85, 0.27, 0.085, 0.027]),
        (Goal.DIFFERENCE, [3.84, 1.21, 0.38, 0.12, 0.038]),
    ],
)
def test_what_a_number_of_games_reaches_at_a_table_of_four(goal: Goal, expected: list[float]) -> None:
    reached = [size_reached(goal, games, SD, 0.95) for games in TABLE_GAMES]
    assert reached == pytest.approx(expected, rel=0.015)  # as printed


@pytest.mark.parametrize(("margin", "thousands"), [(1, 16), (0.5, 64), (0.25, 257)])
def test_games_that_show_a_true_zero_to_be_negligible_at_a_table_of_four(margin: float, thousands: int) -> None:
    assert round(games_for(Goal.MARGIN, margin, SD, 0.95) / 1000) == thousands


@pytest.mark.parametrize("goal", list(Goal))
def test_the_games_for_a_size_are_the_fewest_that_reach_it(goal: Goal) -> None:
    for size in (0.3, 1.7):
        games = games_for(goal, size, SD, 0.9, 0.7)
        assert size_reached(goal, games, SD, 0.9, 0.7) <= size < size_reached(goal, games - 1, SD, 0.9, 0.7)
    assert games_for(goal, 1e6, SD, 0.95) == 2


def test_the_planned_games_are_those_of_the_tests_and_intervals_themselves() -> None:
    games = games_for(Goal.HALF_WIDTH, 0.5, SD, 0.95)
    low, high = mean_interval(0, SD / sqrt(games), games, 0.95)
    assert (high - low) / 2 == pytest.approx(0.5, rel=1e-3)
    assert games_for(Goal.DIFFERENCE, 0.5, SD, 0.95, 0.9) == pytest.approx(
        games_to_detect((0.5 / SD) ** 2, 1, 1, 0.95, 0.9), rel=1e-3
    )
    assert games_for(Goal.MARGIN, 0.5, SD, 0.95, 0.9) == pytest.approx(
        games_to_show_equivalence(0, SD, 1, 0.5, 0.95, 0.9), rel=1e-3
    )


@pytest.mark.parametrize("power", [0.8, 0.9])
def test_planned_tests_have_the_power_that_was_asked_for(power: float) -> None:
    games = games_for(Goal.DIFFERENCE, 1, SD, 0.95, power)
    assert normal_power(1 / SD, games, 0.05) == pytest.approx(power, abs=1e-3)
    assert games == pytest.approx(zt_ind_solve_power(1 / SD, alpha=0.05, power=power, ratio=0), rel=1e-3)
    reach = errors_needed(Goal.MARGIN, 0.95, power) - scipy_stats.norm.ppf(0.95)
    assert 2 * scipy_stats.norm.cdf(reach) - 1 == pytest.approx(power)


def test_wilsons_interval_and_the_exact_test_are_those_of_scipy() -> None:
    for wins, games, seats in ((97, 156, 2), (0, 7, 3), (31, 90, 4), (5, 5, 2)):
        expected = scipy_stats.binomtest(wins, games, 1 / seats)
        assert exact_p_value(wins, games, 1 / seats) == pytest.approx(expected.pvalue)
        interval = expected.proportion_ci(0.9, "wilson")
        np.testing.assert_allclose(wilson_interval(wins, games, 0.9), interval, atol=1e-9)


def test_wilsons_interval_of_whole_wins_holds_as_often_as_it_says_on_average() -> None:
    games, wins = 156, np.arange(157)
    low, high = wilson_interval(wins, games, 0.95)
    shares = np.linspace(0.2, 0.8, 601)[:, None]
    held = np.where((low <= shares) & (shares <= high), scipy_stats.binom.pmf(wins, games, shares), 0).sum(axis=1)
    assert held.mean() == pytest.approx(0.95, abs=0.003)
    assert held.min() > 0.92


# --- craits ci ---------------------------------------------------------------------------------------------------


def test_a_play_log_of_97_wins_in_156_games() -> None:
    assert craits("ci", "97", "156").stdout == (
        "97 of 156 games is 62.2%, 95% Wilson interval 54.4 to 69.4. "
        "That is more than an equal share of 2 seats, 50%: exact p = 0.003.\n"
    )
    result = craits_json("ci", "97", "156")
    assert list(result) == [
        *("wins", "games", "seats", "level", "share", "ci_low", "ci_high", "equal_share", "p_value", "games_needed"),
        "conclusion",
    ]
    assert 100 * result["ci_low"] == pytest.approx(54.4, abs=0.05)
    assert 100 * result["ci_high"] == pytest.approx(69.4, abs=0.05)
    assert result["p_value"] == pytest.approx(0.00293, abs=1e-5)


def test_a_play_log_that_is_too_short_says_how_long_it_should_be() -> None:
    text = craits("ci", "31", "90", "--seats", "3").stdout
    assert "34.4%, 95% Wilson interval 25.4 to 44.7. That cannot be told from an equal share of 3 seats" in text
    assert "about 15,000 games would show it with a chance of 80%" in text
    assert craits_json("ci", "30", "90", "--seats", "3")["games_needed"] is None
    assert "less than an equal share" in craits("ci", "3", "90", "--seats", "3").stdout


def test_all_or_no_games_won_have_an_interval_too() -> None:
    assert craits_json("ci", "0", "5")["ci_low"] == pytest.approx(0, abs=1e-12)
    assert craits_json("ci", "5", "5")["ci_high"] == pytest.approx(1)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("160", "156"), "160: allowed are whole numbers from 0 to 156"),
        (("9.5", "156"), '"9.5": allowed are whole numbers'),
        (("3", "0"), '"0": allowed are whole numbers from 1'),
        (("--", "-3", "156"), '"-3": allowed are whole numbers'),
        (("3", "x"), '"x": allowed are whole numbers'),
        (("3", "9", "--seats", "1"), '"1": allowed are whole numbers from 2 to 10'),
        (("3", "9", "--level", "95"), '"95": allowed are numbers above 0.5 and below 1'),
    ],
)
def test_an_impossible_play_log_is_an_error_that_names_the_value(arguments: tuple[str, ...], part: str) -> None:
    result = craits("ci", *arguments)
    assert result.exit_code == 2
    assert part in result.stderr
    assert result.stdout == ""


# --- craits plan -------------------------------------------------------------------------------------------------


def test_plan_answers_each_goal_with_games_and_time(fake: None) -> None:
    result = craits_json("plan", "--half-width", "0.27", "--difference", "0.38", "--margin", "1")
    assert {goal["goal"]: goal["games"] for goal in result["goals"]} == {
        "half_width": games_for(Goal.HALF_WIDTH, 0.27, SD, 0.95),
        "difference": games_for(Goal.DIFFERENCE, 0.38, SD, 0.95),
        "margin": 16_058,
    }
    assert (result["sd_source"], result["sd"]) == ("players", pytest.approx(43.3, abs=0.01))
    for row in [*result["goals"], *result["table"]]:
        assert row["seconds"] == pytest.approx(row["games"] / result["games_per_s"])


def test_plan_without_a_goal_prints_a_table(fake: None) -> None:
    text = craits("plan").stdout
    assert "spread of one game 43.3 pp, as 4 equal players have; level 95%, power 80%" in text
    for games, width, difference in ((1_000, "2.7", "3.8"), (1_000_000, "0.085", "0.12")):
        assert [part for part in text.splitlines() if part.split()[:3] == [f"{games:,}", width, difference]]
    assert "takes 1.6 times as many games" in text


def test_plan_takes_the_spread_that_is_given(fake: None) -> None:
    result = craits_json("plan", "--metric", "points", "--sd", "20", "--half-width", "0.1", "--level", "0.9")
    assert (result["sd"], result["sd_source"]) == (20, "given")
    assert result["goals"][0]["games"] == games_for(Goal.HALF_WIDTH, 0.1, 20, 0.9)
    assert "takes" not in craits("plan", "--metric", "turns").stdout


@pytest.mark.parametrize("metric", ["points", "turns"])
def test_plan_measures_the_spread_in_real_games(monkeypatch: pytest.MonkeyPatch, metric: str) -> None:
    monkeypatch.setattr("craits_sim.cli.plan.PILOT_GAMES", 1000)
    result = craits_json("plan", "--metric", metric, "--players", "3", "--seed", "4", "--set", "deals=[3, 2]")
    rules = load_rules("classic", {"players": 3, "deals": [3, 2]})
    batch = simulate_batch(rules, parse_bots("random", 3), 4, 0, 1000)
    points = batch.points.astype(float)
    values = {
        "points": (points[:, :, 0] - points.mean(axis=2)).mean(axis=1),
        "turns": batch.turns.sum(axis=1),
    }[metric]
    assert result["sd"] == pytest.approx(np.std(values, ddof=1))
    assert result["sd_source"] == "pilot"
    assert result["games_per_s"] > 0


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--margin", "200"), "'--margin': 200.0: allowed are numbers above 0 and below 100 pp"),
        (("--half-width", "0"), '"0": allowed are numbers above 0'),
        (("--power", "1"), '"1": allowed are numbers above 0.5 and below 1'),
        (("--metric", "minutes"), "'minutes' is not one of"),
        (("--bots", "gredy"), 'did you mean "greedy"'),
    ],
)
def test_a_plan_that_cannot_be_made_is_an_error_that_names_the_value(arguments: tuple[str, ...], part: str) -> None:
    result = craits("plan", *arguments)
    assert result.exit_code == 2
    assert part in result.stderr
    assert result.stdout == ""


def test_times_are_written_as_people_say_them() -> None:
    times = [_time_text(seconds) for seconds in (0.2, 1.4, 119, 121, 7199, 7201, 86_400, 200_000)]
    assert times == ["<1 s", "1 s", "119 s", "2 min", "120 min", "2 h", "24 h", "2 days"]
