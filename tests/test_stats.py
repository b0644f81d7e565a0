"""Statistics against closed forms, against what scipy and statsmodels say, and against simulated coverage."""

from math import inf, isnan, nan

import numpy as np
import pytest
from scipy import stats as scipy_stats
from statsmodels.stats.gof import chisquare_power
from statsmodels.stats.power import normal_power
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import ztost

from craits_sim.stats import (
    Moments,
    Verdict,
    clopper_pearson,
    counted,
    design_effect,
    difference_p_value,
    digits_from_se,
    equivalence_p_value,
    games_to_detect,
    games_to_show_equivalence,
    holm,
    interval_text,
    mean_interval,
    number_text,
    p_value_text,
    quantile_from_histogram,
    quantile_interval_from_histogram,
    round_up,
    share_interval,
    simultaneous_level,
    verdict,
    wald_equal_shares,
    zero_event_text,
)


def moments_of(values: np.ndarray) -> Moments:
    return Moments.from_sums(len(values), values.sum(axis=0), values.T @ values)


def shared_wins(random: np.random.Generator, games: int, players: int, ties: float) -> np.ndarray:
    """Draw wins of equally strong seats; a share ``ties`` of the games is won by two of them together."""
    first = random.integers(0, players, games)
    second = (first + random.integers(1, players, games)) % players
    tied = random.random(games) < ties
    wins = np.zeros((games, players))
    rows = np.arange(games)
    wins[rows, first] = np.where(tied, 0.5, 1)
    wins[rows[tied], second[tied]] = 0.5
    return wins


# --- Moments -----------------------------------------------------------------------------------------------------


def test_moments_from_sums_are_those_of_the_games() -> None:
    values = np.random.default_rng(1).integers(-50, 200, (400, 3))
    moments = moments_of(values)
    np.testing.assert_allclose(moments.mean, values.mean(axis=0))
    np.testing.assert_allclose(moments.covariance, np.cov(values, rowvar=False))
    np.testing.assert_allclose(moments.se, scipy_stats.sem(values))


def test_moments_of_weighted_sums_are_those_of_the_summed_games() -> None:
    values = np.random.default_rng(2).integers(0, 9, (300, 4))
    weights = np.array([[1, -1, 0, 0], [0.5, 0.5, 2, -3]])
    direct = values @ weights.T
    combined = moments_of(values).combine(weights)
    np.testing.assert_allclose(combined.mean, direct.mean(axis=0))
    np.testing.assert_allclose(combined.covariance, np.cov(direct, rowvar=False))


def test_deviations_are_from_the_mean_of_all_seats() -> None:
    values = np.random.default_rng(3).integers(0, 9, (300, 4))
    deviations = moments_of(values).deviations()
    direct = values - values.mean(axis=1, keepdims=True)
    np.testing.assert_allclose(deviations.mean, direct.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(deviations.se, scipy_stats.sem(direct))


def test_what_never_varies_has_no_error() -> None:
    values = np.full((7, 2), 20)
    assert moments_of(values).se.tolist() == [0, 0]


@pytest.mark.filterwarnings("error")
def test_a_single_game_has_a_mean_but_no_error() -> None:
    moments = moments_of(np.array([[3, 4]]))
    assert moments.mean.tolist() == [3, 4]
    assert np.isnan(moments.se).all()
    assert np.isnan(mean_interval(moments.mean, moments.se, 1, 0.95).low).all()


# --- Intervals ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.9, 0.95, 0.99])
def test_the_interval_of_a_mean_is_that_of_the_t_test(level: float) -> None:
    values = np.random.default_rng(4).normal(5, 2, 30)
    expected = scipy_stats.ttest_1samp(values, 0).confidence_interval(level)
    actual = mean_interval(values.mean(), scipy_stats.sem(values), 30, level)
    np.testing.assert_allclose(actual, expected)


def test_simultaneous_levels_are_those_of_sidak_and_bonferroni() -> None:
    assert simultaneous_level(0.95, 4) ** 4 == pytest.approx(0.95)
    assert simultaneous_level(0.95, 4, "bonferroni") == pytest.approx(0.9875)
    assert simultaneous_level(0.95, 1) == pytest.approx(0.95)
    with pytest.raises(ValueError, match="sidak or bonferroni"):
        simultaneous_level(0.95, 4, "tukey")


def test_the_interval_of_unshared_wins_is_the_normal_one() -> None:
    games, count = 4000, 1040
    share = count / games
    expected = proportion_confint(count, games, method="normal")
    actual = share_interval(share, np.sqrt(share * (1 - share) / games), games, 0.95)
    np.testing.assert_allclose(actual, expected)


def test_a_seat_that_never_or_always_wins_has_the_exact_interval_of_a_count() -> None:
    low, high = share_interval([0, 1], [0, 0], 50, 0.95)
    assert low.tolist() == [0, pytest.approx(0.05 ** (1 / 50))]
    assert high.tolist() == [pytest.approx(1 - 0.05 ** (1 / 50)), 1]


def test_the_interval_of_a_share_stays_between_none_and_all() -> None:
    low, high = share_interval([0.02, 0.99], [0.02, 0.01], 50, 0.95)
    assert low[0] == 0
    assert high[1] == 1


@pytest.mark.parametrize(("count", "games"), [(3, 40), (97, 156), (1, 100_000)])
def test_clopper_pearson_is_the_exact_interval_of_scipy(count: int, games: int) -> None:
    expected = scipy_stats.binomtest(count, games).proportion_ci(0.95, "exact")
    np.testing.assert_allclose(clopper_pearson(count, games, 0.95), expected, rtol=1e-5)


@pytest.mark.filterwarnings("error")
def test_an_event_never_seen_is_bounded_by_the_rule_of_three() -> None:
    low, high = clopper_pearson(0, 10_000, 0.95)
    assert low == 0
    assert high == pytest.approx(scipy_stats.binomtest(0, 10_000, alternative="less").proportion_ci(0.95).high)
    assert high == pytest.approx(3 / 10_000, rel=0.002)
    assert clopper_pearson(10_000, 10_000, 0.95).low == pytest.approx(1 - 3 / 10_000, rel=0.002)


def test_an_event_never_seen_is_put_in_words() -> None:
    assert zero_event_text(1000, 0.95) == "none in 1,000 games (< 3/N = 0.3%)"
    assert zero_event_text(1_000_000, 0.99) == "none in 1,000,000 games (< 4.6/N = 0.00046%)"
    assert zero_event_text(1, 0.95) == "none in 1 game (< 95%)"


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0, 0.2])
def test_simultaneous_intervals_of_shared_wins_hold_together_as_often_as_they_say(ties: float) -> None:
    random, runs, each = np.random.default_rng(5), 4000, simultaneous_level(0.95, 4)
    held = 0
    for _ in range(runs):
        wins = moments_of(shared_wins(random, 1000, 4, ties))
        low, high = share_interval(wins.mean, wins.se, 1000, each)
        held += bool(np.all((low <= 0.25) & (high >= 0.25)))
    # Sidak's intervals are a little wide for shares that add to one.
    assert 0.945 < held / runs < 0.97


# --- Quantiles ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.01, 0.05, 0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("games", [20, 137, 5000])
def test_quantiles_are_order_statistics_with_the_exact_interval_of_scipy(q: float, games: int) -> None:
    values = np.random.default_rng(games).poisson(60, games)
    histogram = np.bincount(values)
    assert quantile_from_histogram(histogram, q) == np.quantile(values, q, method="inverted_cdf")
    expected = scipy_stats.quantile_test(values, q=0, p=q).confidence_interval(0.95)
    np.testing.assert_array_equal(quantile_interval_from_histogram(histogram, q, 0.95), expected)


def test_a_quantile_takes_no_value_too_many_where_the_product_of_share_and_count_is_rounded_up() -> None:
    assert quantile_from_histogram(np.ones(100, np.int64), 0.07) == 6  # 0.07 * 100 > 7


def test_too_few_games_leave_an_end_of_a_quantile_open() -> None:
    low, high = quantile_interval_from_histogram(np.bincount([3, 5, 8]), 0.95, 0.95)
    assert low == 5
    assert isnan(high)


def test_rounds_that_repeat_each_other_are_worth_one_round() -> None:
    games, rounds = 500, 15
    long = np.random.default_rng(6).random(games) < 0.3
    below = rounds * int(long.sum())
    assert design_effect(games, rounds, below, rounds**2 * int(long.sum())) == pytest.approx(rounds, rel=0.01)


def test_independent_rounds_have_a_design_effect_of_one() -> None:
    rounds = np.random.default_rng(7).random((50_000, 15)) < 0.4
    counts = rounds.sum(axis=1)
    assert design_effect(50_000, 15, int(counts.sum()), int((counts**2).sum())) == pytest.approx(1, abs=0.03)


def test_nothing_is_known_of_the_design_effect_of_a_single_game_or_of_all_rounds() -> None:
    assert design_effect(1, 15, 5, 25) == 1
    assert design_effect(10, 15, 150, 2250) == 1


def test_the_interval_of_a_clustered_quantile_is_that_of_as_many_independent_values_as_it_is_worth() -> None:
    values = np.random.default_rng(8).poisson(60, 400)
    repeated = 15 * np.bincount(values)
    actual = quantile_interval_from_histogram(repeated, 0.5, 0.95, design_effect=15)
    np.testing.assert_array_equal(actual, quantile_interval_from_histogram(np.bincount(values), 0.5, 0.95))


@pytest.mark.slow
def test_clustered_quantiles_of_rounds_hold_as_often_as_they_say() -> None:
    random, runs, games, rounds = np.random.default_rng(9), 2000, 200, 15
    big = random.normal(0, 1, (200_000, 1)) + random.normal(0, 1, (200_000, rounds))
    truth = np.quantile(np.floor(20 * big + 200), 0.9, method="inverted_cdf")
    held = 0
    for _ in range(runs):
        values = random.normal(0, 1, (games, 1)) + random.normal(0, 1, (games, rounds))
        turns = np.floor(20 * values + 200).astype(np.int64)
        histogram = np.bincount(turns.ravel(), minlength=512)
        counts = (turns <= quantile_from_histogram(histogram, 0.9)).sum(axis=1)
        effect = design_effect(games, rounds, int(counts.sum()), int((counts**2).sum()))
        low, high = quantile_interval_from_histogram(histogram, 0.9, 0.95, effect)
        held += bool(low <= truth <= high)
    assert 0.93 < held / runs < 0.98


# --- Tests -------------------------------------------------------------------------------------------------------


def test_the_wald_test_of_two_seats_is_the_squared_t_statistic() -> None:
    wins = shared_wins(np.random.default_rng(10), 500, 2, 0)
    test = wald_equal_shares(moments_of(wins))
    expected = scipy_stats.ttest_1samp(wins[:, 0], 0.5).statistic ** 2
    assert test.df == 1
    assert test.statistic == pytest.approx(expected)
    assert test.p_value == pytest.approx(scipy_stats.chi2.sf(expected, 1))


def test_the_wald_test_without_shared_wins_is_close_to_pearsons() -> None:
    counts = np.array([24_500, 24_600, 25_400, 25_500])
    wins = Moments.from_sums(100_000, counts, np.diag(counts))
    test, pearson = wald_equal_shares(wins), scipy_stats.chisquare(counts)
    assert test.df == 3
    assert test.statistic == pytest.approx(pearson.statistic, rel=0.01)


def test_partners_who_always_win_together_count_once_in_the_wald_test() -> None:
    sides = shared_wins(np.random.default_rng(11), 800, 2, 0)
    seats = np.hstack([sides, sides]) / 2
    test, of_sides = wald_equal_shares(moments_of(seats)), wald_equal_shares(moments_of(sides))
    assert test.df == 1
    assert test.statistic == pytest.approx(of_sides.statistic)


def test_the_wald_test_is_sure_of_a_difference_that_never_varies() -> None:
    assert wald_equal_shares(moments_of(np.tile([1.0, 0, 0], (9, 1)))).p_value == 0
    always_shared = wald_equal_shares(moments_of(np.tile([0.5, 0.5], (9, 1))))
    assert always_shared.statistic == pytest.approx(0)
    assert always_shared.p_value == 1


def test_the_wald_test_says_nothing_about_a_single_game() -> None:
    assert isnan(wald_equal_shares(moments_of(np.array([[1.0, 0]]))).p_value)


def test_win_shares_that_add_to_less_than_one_are_compared_with_each_other() -> None:
    random = np.random.default_rng(12)
    wins = shared_wins(random, 100_000, 3, 0) * (random.random((100_000, 1)) < 0.8)
    assert wald_equal_shares(moments_of(wins)).p_value > 0.01


@pytest.mark.slow
def test_the_wald_test_with_shared_wins_raises_as_many_false_alarms_as_it_says() -> None:
    random, runs = np.random.default_rng(13), 4000
    alarms = sum(wald_equal_shares(moments_of(shared_wins(random, 800, 4, 0.2))).p_value < 0.05 for _ in range(runs))
    assert 0.04 < alarms / runs < 0.06


def test_the_p_value_of_equivalence_is_that_of_the_two_one_sided_tests() -> None:
    values = np.random.default_rng(14).normal(0.1, 2, 900)
    expected, *_ = ztost(values, -0.3, 0.3)
    assert equivalence_p_value(values.mean(), scipy_stats.sem(values), 0.3) == pytest.approx(expected)


def test_equivalence_at_95_percent_is_a_90_percent_interval_within_the_margin() -> None:
    reach = scipy_stats.norm.ppf(0.95)
    assert equivalence_p_value(0.2, 0.1, 0.2 + 0.1 * reach + 1e-6) < 0.05
    assert equivalence_p_value(-0.2, 0.1, 0.2 + 0.1 * reach - 1e-6) > 0.05


@pytest.mark.filterwarnings("error")
def test_estimates_without_spread_are_certain_or_undecided() -> None:
    np.testing.assert_array_equal(difference_p_value([0.5, 0], [0, 0]), [0, nan])
    np.testing.assert_array_equal(equivalence_p_value([0, 2], [0, 0], 1), [0, 1])


def test_holm_adjusts_what_is_known() -> None:
    np.testing.assert_allclose(holm([0.01, nan, 0.04, 0.03]), [0.03, nan, 0.06, 0.06])
    assert np.isnan(holm([nan, nan])).all()


# --- Verdicts ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p_difference", "p_equivalence", "expected"),
    [
        (0.001, 0.9, Verdict.ADVANTAGE),
        (0.5, 0.001, Verdict.NEGLIGIBLE),
        (0.001, 0.001, Verdict.REAL_BUT_NEGLIGIBLE),
        (0.5, 0.9, Verdict.INCONCLUSIVE),
        (nan, nan, Verdict.INCONCLUSIVE),
    ],
)
def test_a_verdict_is_one_of_four(p_difference: float, p_equivalence: float, expected: Verdict) -> None:
    assert verdict(p_difference, p_equivalence, 0.95) == expected


def test_a_true_edge_of_none_and_a_margin_of_one_point_take_sixteen_thousand_games() -> None:
    games = 1000
    se = np.sqrt(0.25 * 0.75 / games)
    needed = games_to_show_equivalence(0, se, games, 0.01, 0.95)
    assert needed == pytest.approx(16_060, rel=0.001)
    # At that number the two one-sided tests have the power that was promised.
    reach = 0.01 / np.sqrt(0.1875 / needed) - scipy_stats.norm.ppf(0.95)
    assert 2 * scipy_stats.norm.cdf(reach) - 1 == pytest.approx(0.8)


def test_games_to_detect_have_the_power_that_was_promised() -> None:
    estimate, se, games = 0.004, 0.003, 2000
    needed = games_to_detect((estimate / se) ** 2, 1, games, 0.95)
    effect = estimate / (se * np.sqrt(games))
    assert normal_power(effect, needed, 0.05) == pytest.approx(0.8, abs=1e-6)
    needed = games_to_detect(5.0, 3, games, 0.95)
    assert chisquare_power(np.sqrt(5 / games), needed, n_bins=4, alpha=0.05) == pytest.approx(0.8, abs=1e-6)


def test_no_number_of_games_finds_no_difference_or_makes_a_large_one_small() -> None:
    assert games_to_detect(0, 3, 100, 0.95) == inf
    assert games_to_show_equivalence([0.1, 2], [1, 1], 100, 1, 0.95) == inf


@pytest.mark.parametrize("estimate", np.linspace(0, 1.9, 20))
def test_an_inconclusive_verdict_always_takes_more_games(estimate: float) -> None:
    se, games, margin = 1.0, 400, 1.5
    decision = verdict(float(difference_p_value(estimate, se)), float(equivalence_p_value(estimate, se, margin)), 0.95)
    assert decision == Verdict.INCONCLUSIVE
    needed = min(
        games_to_detect((estimate / se) ** 2, 1, games, 0.95),
        games_to_show_equivalence(estimate, se, games, margin, 0.95),
    )
    assert games < needed < inf


# --- Numbers as text ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("se", "digits"), [(0.05, 2), (0.1, 1), (0.11, 1), (0.9, 1), (1, 0), (35, 0), (0.0004, 4), (0, 0), (nan, 0)]
)
def test_the_last_digit_is_worth_at_most_one_standard_error(se: float, digits: int) -> None:
    assert digits_from_se(se) == digits


def test_numbers_are_written_with_the_digits_that_their_error_supports() -> None:
    assert number_text(25.4386, 0.137) == "25.4"
    assert number_text(1234.56, 3) == "1,235"
    assert number_text(0.31, 0.04, signed=True) == "+0.31"
    assert number_text(-0.01, 0.2, signed=True) == "0.0"
    assert number_text(20, 0) == "20"


def test_intervals_are_written_as_far_as_they_are_known() -> None:
    assert interval_text(25.31, 25.49, 0.1) == "25.3 to 25.5"
    assert interval_text(887, nan, nan) == "887 or more"
    assert interval_text(nan, 12, nan) == "up to 12"
    assert interval_text(nan, nan, nan) == "unknown"


def test_p_values_and_counts_are_written_as_people_do() -> None:
    assert [p_value_text(p) for p in (1e-9, 0.0321, 0.5, nan)] == ["p < 0.001", "p = 0.032", "p = 0.50", "p unknown"]
    assert [counted(n, "game") for n in (1, 200_000)] == ["1 game", "200,000 games"]
    assert [round_up(n) for n in (12_345, 99.1, 7, 0, inf)] == [13_000, 100, 7, 0, None]
