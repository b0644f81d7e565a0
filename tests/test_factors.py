"""What design points side by side promise: one chart and short sentences, and whether the factor matters."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from craits_sim.plots import limits, parts
from craits_sim.sequential import sequence_interval
from craits_sim.stats import equal_means, interval_text
from craits_sim.studies import get_study
from craits_sim.studies.base import MOST_SIDE_BY_SIDE, SideBySideStudy
from craits_sim.studies.factors import BOTS_MATTER, Answer, bots_matter, dependence
from craits_sim.text import levels_text, toml_value
from tests.test_plots import chart_of, check_words, words_of
from tests.test_studies import experiment_of, rows, summary_of

SIDE_BY_SIDE = ("seats", "dealer", "length", "crank")
DESIGNS: list[dict[str, list[Any]]] = [
    {"players": [2, 3]},
    {"players": [2, 3, 4, 5]},
    {"draw.until_playable": [False, True], "bots": ["random", "greedy"]},
    {"draw.count": [1, 2, 3], "crank.on_last_card": ["played_out", "ignored"]},
]


@pytest.mark.parametrize("vary", DESIGNS, ids=lambda vary: " ".join(vary))
@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_several_points_are_one_chart_in_which_no_word_collides(name: str, vary: dict[str, list[Any]]) -> None:
    figure = chart_of(name, games=2000, vary=vary)
    check_words(figure)
    assert len(figure.subfigs) == 1
    words = words_of(figure).replace("\n", " ")
    for key, levels in vary.items():
        assert all(f"{key} = {toml_value(level)}" in words for level in levels)


def test_levels_are_written_as_in_an_experiment_file() -> None:
    summary = pd.DataFrame({"draw.until_playable": [True, False], "players": [2, 3], "bots": "random", "estimand": "x"})
    assert [label for label, _ in parts(summary)] == [
        'draw.until_playable = true, players = 2, bots = "random"',
        'draw.until_playable = false, players = 3, bots = "random"',
    ]
    assert levels_text({"variant": "draw two", "wild": '["8", "9"]'}) == 'draw two, wild = ["8", "9"]'


def test_lengths_of_another_order_of_size_are_drawn_on_a_logarithmic_scale() -> None:
    # Made-up rounds are alike: fifteen of them are fifteen times as long as one.
    figure = chart_of("length", games=2000, vary={"deals": [[8], [8] * 15]})
    check_words(figure)
    assert [axes.get_xscale() for axes in figure.subfigs[0].subfigs[0].axes] == ["linear", "log"]
    alike = chart_of("length", games=2000, vary={"deals": [[8], [8] * 4]})
    assert [axes.get_xscale() for axes in alike.subfigs[0].subfigs[0].axes] == ["linear", "linear"]


def test_an_outcome_that_only_some_rules_allow_has_its_place_beside_the_others() -> None:
    figure = chart_of("length", games=2000, vary={"win": ["lowest_total", "first_out"]})
    check_words(figure)
    assert "Games won by\nnobody" in words_of(figure) or "Games won by nobody" in words_of(figure)


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_more_points_than_fit_have_a_chart_each(name: str) -> None:
    figure = chart_of(name, games=50, vary={"points.K": list(range(MOST_SIDE_BY_SIDE + 1))})
    assert len(figure.subfigs) == MOST_SIDE_BY_SIDE + 1


@pytest.mark.parametrize("name", SIDE_BY_SIDE)
def test_conclusions_are_short_and_say_whether_the_factor_matters(name: str) -> None:
    summary = summary_of(experiment_of(name, vary={"players": [2, 3, 4]}))
    study = get_study(name)
    assert isinstance(study, SideBySideStudy)
    lines = study.conclude(summary).splitlines()
    assert [line.partition(":")[0] for line in lines[:3]] == ["players = 2", "players = 3", "players = 4"]
    assert lines[3].startswith("Does it depend on players? ")
    assert "the margin of" in lines[3]
    assert lines[4] == "500 games at each design point."
    assert all(len(line) < 450 for line in lines[:3])


def design(levels: list[object], margin: float = 1.0) -> pd.DataFrame:
    summary = pd.DataFrame({"f": levels, "estimand": "x", "ci_level": 0.95, "ci_kind": "pointwise", "n": 1000})
    summary.attrs["margin"] = margin
    return summary


@pytest.mark.parametrize(
    ("estimates", "se", "words"),
    [
        ([0.0, 5.0], 0.1, "A difference beyond the margin of 1 pp, p < 0.001"),
        ([0.0, 1.0], 0.2, "A difference that may or may not exceed the margin of 1 pp"),
        ([0.0, 0.3], 0.05, "A real but negligible difference"),
        ([0.0, 0.01], 0.05, "No difference to speak of"),
        ([0.0, 0.5], 0.5, "Inconclusive against the margin of 1 pp"),
    ],
)
def test_dependence_has_a_verdict_of_four(estimates: list[float], se: float, words: str) -> None:
    answers = [[Answer("the edge", estimate, se, " pp", True)] for estimate in estimates]
    (sentence,) = dependence(design([1, 2]), answers)
    assert sentence.startswith(f"Does it depend on f? {words}")
    assert "with f = 1" in sentence
    assert "with f = 2" in sentence


def test_a_run_that_ended_because_of_what_it_found_compares_by_confidence_sequences() -> None:
    # A difference of 2.5 standard errors is clear after a fixed number of games, and not where one may stop.
    answers = [[Answer("the edge", estimate, 0.1, " pp", True)] for estimate in (0.0, 0.35)]
    fixed, waited = (
        next(iter(dependence(design([1, 2]).assign(ci_kind=kind), answers))) for kind in ("pointwise", "sequence")
    )
    assert "A real but negligible difference" in fixed
    assert "Inconclusive" in waited
    low, high = sequence_interval(0.35, 0.1 * np.sqrt(2), 1000, 0.95)
    assert f"interval {interval_text(float(low), float(high), 0.14)}" in waited


def test_the_difference_named_is_the_largest_of_all_answers_and_levels() -> None:
    table = {"one": [0, 1, 2], "two": [0, -9, 1]}
    answers = [[Answer(name, values[k], 0.5, " pp", True) for name, values in table.items()] for k in range(3)]
    (sentence,) = dependence(design(["a", "b", "c"]), answers)
    assert 'two differs most, -9.0 pp with f = "b" and +1.0 pp with f = "c", by 10.0 pp' in sentence


def test_answers_that_a_point_does_not_have_are_not_compared() -> None:
    first = [Answer("one", 0, 1, "", False), Answer("two", 90, 1, "", False)]
    (sentence,) = dependence(design([1, 2]), [first, [Answer("one", 0, 1, "", False)]])
    assert "two" not in sentence


def test_each_factor_is_averaged_over_the_others() -> None:
    summary = design([1, 1, 2, 2]).assign(g=[1, 2, 1, 2])[["f", "g", "estimand", "ci_level", "ci_kind", "n"]]
    summary.attrs["margin"] = 1.0
    answers = [[Answer("the edge", estimate, 0.1, "", False)] for estimate in (0, 2, 5, 7)]
    by_f, by_g = dependence(summary, answers)
    assert "1.0 with f = 1 and 6.0 with f = 2" in by_f.replace("1.00", "1.0").replace("6.00", "6.0")
    assert by_g.startswith("Does it depend on g (averaged over the other factors)?")


def test_equal_means_agrees_with_its_formula_and_knows_exact_values() -> None:
    estimates, se = np.array([1.0, 2.0, 4.0]), np.array([1.0, 0.5, 2.0])
    weights = se**-2
    mean = (weights * estimates).sum() / weights.sum()
    test = equal_means(estimates, se)
    assert test.statistic == pytest.approx((weights * (estimates - mean) ** 2).sum())
    assert test.df == 2
    assert equal_means([3, 3], [0, 0]).p_value == 1
    assert equal_means([3, 4], [0, 0]).p_value == 0


def test_the_test_of_equal_means_errs_as_often_as_it_says() -> None:
    random = np.random.default_rng(5)
    found = [equal_means(random.normal(0, [1, 2, 3]), [1, 2, 3]).p_value < 0.05 for _ in range(4000)]
    assert 0.035 < np.mean(found) < 0.065


def test_seats_of_different_tables_stand_on_one_scale() -> None:
    summary = summary_of(experiment_of("seats", vary={"players": [2, 5]}))
    left, right = get_study("seats").plot(summary).subfigs[0].axes
    shares = rows(summary, "win_share")
    columns = ["estimate", "ci_low", "ci_high"]
    assert left.get_xlim() == pytest.approx(limits(shares[columns].sub(shares["reference"], axis=0), -1, 1))
    assert left.get_ylim() == right.get_ylim()


# --- Bots --------------------------------------------------------------------------------------------------------


def by_bots(verdicts: list[str], lows: list[float]) -> pd.DataFrame:
    """Make a summary of a judged number at tables of two kinds of bots, with intervals of width 1."""
    summary = pd.DataFrame(
        {
            "bots": ["random", "greedy"],
            "estimand": "x",
            "ci_level": 0.95,
            "ci_kind": "pointwise",
            "n": 1000,
            "estimate": [low + 0.5 for low in lows],
            "ci_low": lows,
            "ci_high": [low + 1 for low in lows],
            "margin": 2.0,
            "verdict": verdicts,
        }
    )
    summary.attrs["margin"] = 2.0
    return summary


@pytest.mark.parametrize(
    ("verdicts", "lows", "matter"),
    [
        (["advantage", "advantage"], [0, 0.5], False),
        (["advantage", "negligible"], [0, 0.5], True),
        (["negligible", "real but negligible"], [0, 0.5], False),  # either way nobody would care
        (["advantage", "inconclusive"], [0, 0.5], False),  # too few games are no difference
        (["advantage", "advantage"], [3, 7], True),  # intervals that do not meet
        (["negligible", "negligible"], [-0.6, 0.6], False),  # nor do these, but nobody would care
    ],
)
def test_the_answer_depends_on_the_bots_where_verdicts_or_intervals_do(
    verdicts: list[str], lows: list[float], matter: bool
) -> None:
    assert bots_matter(by_bots(verdicts, lows)) == matter
    assert not bots_matter(by_bots(verdicts, lows).rename(columns={"bots": "draw.count"}))


@pytest.mark.parametrize(("difference", "said"), [(5.0, True), (0.0, False)])
def test_a_difference_between_bots_is_said_to_limit_the_answer(difference: float, said: bool) -> None:
    answers = [[Answer("the edge", estimate, 0.1, " pp", True)] for estimate in (0.0, difference)]
    summary = by_bots(["negligible", "negligible"], [0, 0])
    (sentence,) = dependence(summary, answers)
    assert sentence.endswith(BOTS_MATTER) == said


@pytest.mark.parametrize("name", ["players", "stalemate"])
def test_studies_that_compare_no_factors_say_it_too(name: str) -> None:
    study = get_study(name)
    summary = summary_of(experiment_of(name, vary={"players": [2, 3], "bots": ["random", "greedy"]}))
    summary.loc[summary["verdict"].notna(), ["estimate", "ci_low", "ci_high", "verdict"]] = (1, 0, 2, "advantage")
    assert BOTS_MATTER not in study.conclude(summary)
    greedy = summary["verdict"].notna() & (summary["bots"] == "greedy")
    summary.loc[greedy, "verdict"] = "real but negligible"
    assert BOTS_MATTER in study.conclude(summary)
