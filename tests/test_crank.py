"""What the study of cranks promises: exact sums, survival curves with honest bands, and who pays."""

import numpy as np
import pytest

from craits_sim.results import CRANK_SIZES as SIZES
from craits_sim.results import Batch
from craits_sim.stats import Moments, bootstrap_ratio
from craits_sim.studies.base import point_sums
from craits_sim.studies.crank import COUNT_BINS, CrankStudy
from tests.test_studies import TWO_ROUNDS, estimates, experiment_of, play, rows, small_batch, summary_of


def batch_with(sizes: list[dict[int, int]], paid: list[list[list[int]]] | None = None) -> Batch:
    """Make three games of two rounds and two seats with the given numbers of cranks by size."""
    batch = small_batch()
    counts = np.zeros((3, SIZES), np.int32)
    largest = np.zeros((3, 2), np.int32)
    for game, by_size in enumerate(sizes):
        for size, count in by_size.items():
            counts[game, size] = count
        largest[game, 1] = max(by_size, default=0)
    batch.cranks[:, 1] = counts.sum(axis=1)
    crank_paid = np.array(paid or np.zeros((3, 2, 2)), np.int32)
    return batch._replace(
        crank_sizes=counts, largest_crank=largest, crank_paid=crank_paid, choices=np.zeros((3, 2), np.int32)
    )


SEEN = [{2: 3, 5: 1}, {}, {2: 1, 4: 2}]


def test_the_sums_of_cranks_are_survival_counts_and_histograms_of_games() -> None:
    sums = point_sums(CrankStudy().tally([batch_with(SEEN, [[[1, 0], [0, 4]], [[0, 0], [0, 0]], [[2, 2], [0, 1]]])]), 0)
    assert sums["at_least"][[0, 2, 3, 4, 5, 6]].tolist() == [7, 7, 3, 3, 1, 0]
    assert sums["at_least_products"][0, 3] == 4 * 1 + 3 * 2
    assert sums["games_with"][2, [0, 3, 4]].tolist() == [1, 1, 1]
    assert sums["games_with"][5, [0, 1]].tolist() == [2, 1]
    assert sums["largest"][[0, 4, 5]].tolist() == [1, 1, 1]
    assert sums["rounds_with"].tolist() == [2]
    assert sums["paid"].tolist() == [3, 7]


def test_the_curve_is_the_share_of_cranks_that_ends_with_a_count_or_more() -> None:
    summary = summary_of(experiment_of("crank", **TWO_ROUNDS), [batch_with(SEEN)])
    curve = rows(summary, "size_at_least")
    assert curve["size"].tolist() == [2, 3, 4, 5]
    assert curve["estimate"].tolist() == pytest.approx([100, 300 / 7, 300 / 7, 100 / 7])
    assert estimates(summary, "mean_size") == [pytest.approx((4 * 2 + 2 * 4 + 5) / 7)]
    quantiles = rows(summary, "size_quantile").set_index("quantile")["estimate"]
    assert quantiles.loc[[0.5, 0.9]].tolist() == [2, 5]
    assert estimates(summary, "rounds_with_a_crank") == [pytest.approx(100 * 2 / 6)]


def test_the_largest_crank_of_a_game_has_exact_intervals_up_to_what_was_never_seen() -> None:
    summary = summary_of(experiment_of("crank", **TWO_ROUNDS), [batch_with(SEEN)])
    largest = rows(summary, "largest_at_least").set_index("size")
    assert largest.loc[[1, 4, 5, 6], "estimate"].tolist() == pytest.approx([200 / 3, 200 / 3, 100 / 3, 0])
    assert (largest["ci_kind"] == "exact").all()
    assert largest.loc[6, "ci_high"] == pytest.approx(100 * (1 - 0.05 ** (1 / 3)))


def test_payers_are_compared_with_the_mean_of_the_seats() -> None:
    experiment = experiment_of("crank", games=2000)
    (batch,) = play(experiment)
    paid = np.full_like(batch.crank_paid, 1)
    paid[:, :, 1] += np.random.default_rng(1).integers(0, 3, paid.shape[:2], np.int32)
    summary = summary_of(experiment, [batch._replace(crank_paid=paid)])
    assert estimates(summary, "paid_difference") == pytest.approx([-0.25, 0.75, -0.25, -0.25], abs=0.02)
    judged = rows(summary, "largest_difference").iloc[0]
    assert (judged["offset"], judged["verdict"]) == (1, "advantage")
    conclusion = CrankStudy().conclude(summary)
    assert "Who plays first draws most" in conclusion
    assert "beyond the margin of 0.1 cards a round" in conclusion


def test_rules_without_cranks_are_said_to_have_none() -> None:
    experiment = experiment_of("crank", rules="crazy_eights", players=4)
    (batch,) = play(experiment)
    nothing = {
        name: np.zeros_like(getattr(batch, name)) for name in ("cranks", "crank_sizes", "largest_crank", "crank_paid")
    }
    summary = summary_of(experiment, [batch._replace(**nothing)])
    assert "No crank was seen: none in 500 games" in CrankStudy().conclude(summary)
    CrankStudy().plot(summary)


def bootstrap_by_resampling(here: np.ndarray, everything: np.ndarray, replicates: int) -> np.ndarray:
    """Resample whole games, as one does who has them all."""
    random = np.random.default_rng(8)
    picked = random.integers(0, len(here), (replicates, len(here)))
    return np.quantile(here[picked].sum(axis=1) / everything[picked].sum(axis=1), [0.025, 0.975])


@pytest.mark.parametrize("share", [0.6, 0.1, 0.005])
def test_the_band_from_sums_is_that_of_resampled_games(share: float) -> None:
    random = np.random.default_rng(7)
    # Clustered: games differ in how many cranks they have, and in how large these get.
    everything = random.poisson(20, 2000) + 1
    here = random.binomial(everything, np.minimum(share * random.gamma(4, 1 / 4, 2000), 1))
    values = np.column_stack([here, everything])
    moments = Moments.from_sums(2000, values.sum(axis=0), values.T @ values)
    histogram = np.bincount(here, minlength=COUNT_BINS)
    interval = bootstrap_ratio(histogram, moments, 0.95, np.random.default_rng(1), 4000)
    expected = bootstrap_by_resampling(here, everything, 4000)
    width = expected[1] - expected[0]
    assert [float(interval.low), float(interval.high)] == pytest.approx(expected.tolist(), abs=0.08 * width)


def test_games_beyond_the_last_bin_count_with_what_they_hold() -> None:
    here = np.array([3, 5, 9, 20])
    values = np.column_stack([here, here])
    moments = Moments.from_sums(4, values.sum(axis=0), values.T @ values)
    interval = bootstrap_ratio(np.bincount(np.minimum(here, 4), minlength=5), moments, 0.95, np.random.default_rng(1))
    assert [float(interval.low), float(interval.high)] == pytest.approx([1, 1])


@pytest.mark.slow
def test_the_band_covers_the_true_share_as_often_as_it_says() -> None:
    random, covered, replicates = np.random.default_rng(3), 0, 1500
    for _ in range(replicates):
        everything = random.poisson(20, 300) + 1
        here = random.binomial(everything, 0.1 * random.gamma(4, 1 / 4, 300).clip(max=10))
        values = np.column_stack([here, everything])
        moments = Moments.from_sums(300, values.sum(axis=0), values.T @ values)
        low, high = bootstrap_ratio(np.bincount(here, minlength=64), moments, 0.95, random, 400)
        covered += bool(low <= 0.1 <= high)
    assert 0.925 < covered / replicates < 0.97
