"""What the study of opening hands promises: the regression it says, clustered by game, and a check by a second play."""

import numpy as np
import pytest
from statsmodels.regression.linear_model import OLS

from craits_sim.api import study as run_study
from craits_sim.cards import RANKS
from craits_sim.design import MAX_DESIGN_POINTS, Experiment
from craits_sim.results import Batch
from craits_sim.rules import load_rules
from craits_sim.studies.cards import EXCHANGED, CardsStudy, exchanged
from tests.test_studies import experiment_of, play, rows, summary_of

WORTH = np.array([-6.0, 3, 0, 0, 0, 0, 0, -4, 0, 0, 0, 0, 2])
"""Points that a card of each rank brings in made-up games, aces first; an 8 is worth 6 points less than a king."""


def counts_of(batch: Batch) -> np.ndarray:
    return batch.dealt[..., None] >> 4 * np.arange(len(RANKS)) & 15


def planted(games: int, seed: int = 1) -> tuple[Experiment, list[Batch]]:
    """Make games in which cards have their worth, and the same deals with the parts of two ranks exchanged."""
    experiment = experiment_of("cards", games=games, players=3, set={"deals": [5, 2, 5]}, seed=seed)
    base, swapped = play(experiment)
    random = np.random.default_rng(seed)
    first, second = map(RANKS.index, EXCHANGED)
    order = np.arange(len(RANKS))
    order[[first, second]] = second, first
    swapped.dealt[:] = base.dealt
    of_game = random.integers(-20, 20, (games, 1, 3))  # rounds of a game depend on each other
    for batch, worth in ((base, WORTH), (swapped, WORTH[order])):
        noise = random.integers(-10, 10, batch.points.shape)
        batch.points[:] = (counts_of(base) @ worth).astype(int) + of_game + noise
    return experiment, [base, swapped]


def test_the_worth_of_ranks_is_the_regression_on_counts_clustered_by_game() -> None:
    experiment, batches = planted(games=400)
    points, rounds = batches[0].points, [0, 2]  # of five cards
    relative = points - (points.sum(axis=2, keepdims=True) - points) / 2
    counts = counts_of(batches[0])[:, rounds].reshape(-1, 13)
    games = np.repeat(np.arange(400), len(rounds) * 3)
    fit = OLS(relative[:, rounds].ravel(), counts).fit(cov_type="cluster", cov_kwds={"groups": games})
    centered = np.eye(13) - 1 / 13
    summary = rows(summary_of(experiment, batches), "worth")
    worth = summary[summary["deal_size"] == 5]
    assert worth["rank"].tolist() == list(RANKS)
    assert worth["estimate"].to_numpy() == pytest.approx(centered @ fit.params)
    assert worth["estimate"].sum() == pytest.approx(0, abs=1e-9)
    n = len(counts)
    se = np.sqrt(np.diagonal(centered @ fit.cov_params() @ centered)) * np.sqrt((n - 13) / (n - 1))
    assert worth["se"].to_numpy() == pytest.approx(se)


def test_a_planted_worth_is_found_by_the_regression_and_by_the_second_play() -> None:
    summary = summary_of(*planted(games=6000))
    for size in (5, 2):
        of_size = summary[summary["deal_size"] == size]
        worth = rows(of_size, "worth")
        expected = WORTH - WORTH.mean()
        assert ((worth["ci_low"] < expected) & (expected < worth["ci_high"])).all()
        for estimand in ("swap_regressed", "swap_played"):
            swap = rows(of_size, estimand).iloc[0]
            assert abs(swap["estimate"] + 6) < 4 * swap["se"]
        difference = rows(of_size, "swap_difference").iloc[0]
        assert abs(difference["estimate"]) < 4 * difference["se"]
    conclusion = CardsStudy().conclude(summary)
    assert "With 5 cards dealt the best card to hold is the A, -5." in conclusion
    assert "the worst the 2, +3." in conclusion
    assert "no hand size shows a clear difference" in conclusion


def test_a_second_play_that_disagrees_is_reported() -> None:
    experiment, (base, swapped) = planted(games=4000)
    # Counts do not add up: the first 8 brings nothing where it is a king's part.
    conclusion = CardsStudy().conclude(summary_of(experiment, [base, swapped._replace(points=base.points)]))
    assert "they differ clearly with 5, 2 cards dealt" in conclusion


def test_hands_in_which_ranks_are_worth_nothing_have_no_best_card() -> None:
    experiment = experiment_of("cards", games=300)
    base, swapped = play(experiment)
    random = np.random.default_rng(2)
    base.points[:] = random.integers(0, 40, base.points.shape)
    assert "no rank is shown to be better or worse" in CardsStudy().conclude(summary_of(experiment, [base, swapped]))


def test_ranks_are_exchanged_in_all_that_rules_say_of_them() -> None:
    classic = load_rules("classic", {"starter.redraw": ["8", "9"]})
    other = exchanged(classic, "8", "K")
    assert (str(other.abilities["K"]), str(other.abilities["8"])) == ("nominate", "none")
    assert (other.points["K"], other.points["8"]) == (50, 10)
    assert other.wild == ("K",)
    assert other.starter.redraw == ("9", "K")
    assert exchanged(other, "8", "K").digest == classic.digest != other.digest


def test_every_design_point_is_played_with_the_ranks_as_they_are_and_exchanged() -> None:
    points = CardsStudy().design(experiment_of("cards", vary={"bots": ["random", "greedy"]}), MAX_DESIGN_POINTS)
    assert [(point.bots[0].name, point.factors["exchanged"]) for point in points] == [
        ("random", False),
        ("random", True),
        ("greedy", False),
        ("greedy", True),
    ]


@pytest.mark.slow
def test_a_three_is_the_best_last_card_in_classic() -> None:
    # RULES.md R18: a 3 that cancels nothing takes fifty points off, and a hand of one card has nothing to cancel.
    summary = run_study("cards", rules="short", games=4000)
    worth = rows(summary, "worth")
    ones = worth[worth["deal_size"] == 1].set_index("rank")
    assert ones["estimate"].idxmin() == "3"
    assert ones.loc["3", "ci_high"] < -20
