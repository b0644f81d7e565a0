"""Variants against a base: exact paired sums, honest inference, and what the commands say."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from scipy.stats import ttest_rel

from craits_sim import runner
from craits_sim.api import prepare
from craits_sim.cli import cli
from craits_sim.design import BASE, DesignError, Experiment, design_points, make_experiment, parse_variant, variant_text
from craits_sim.plots import parts
from craits_sim.report import reading_table
from craits_sim.results import WIN_UNIT, Batch, Ending, empty_batch
from craits_sim.rules import FIELDS, load_rules
from craits_sim.stats import Verdict
from craits_sim.studies import get_study
from craits_sim.studies.base import cross_sums
from craits_sim.studies.compare import (
    FEWEST_DIFFERING,
    METRICS,
    QUANTITIES,
    Pair,
    PairedStudy,
    identical_rounds,
    quantities,
)
from craits_sim.studies.length import assumed_seconds
from craits_sim.studies.screen import INERT, NO_READINGS, OTHER_READINGS, readings
from tests.fake_run import fake_batch, fake_run

TWO_ROUNDS: dict[str, Any] = {"players": 2, "set": {"deals": [2, 1]}, "games": 3}
DOUBLE = {"name": "double", "set": {"draw.count": 2}}


def experiment_of(study: str = "compare", **values: Any) -> Experiment:
    experiment = make_experiment({"name": study, "study": study, "games": 500, "variant": [DOUBLE], **values})
    return prepare(experiment).experiment


def compared(*batches: Batch, study: str = "compare", **values: Any) -> pd.DataFrame:
    """Summarise made-up games: of the base, then of variants that are called after their number."""
    variants = [{"name": str(number), "set": {"draw.count": number + 1}} for number in range(1, len(batches))]
    experiment = experiment_of(study, variant=variants, **{"games": len(batches[0].turns), **values})
    asked = get_study(study)
    return asked.summarise(asked.tally(batches), experiment)


def row_of(summary: pd.DataFrame, estimand: str, variant: str = "1") -> Mapping[str, Any]:
    (row,) = summary[(summary["estimand"] == estimand) & (summary["variant"] == variant)].to_dict("records")
    return row


def small_batch() -> Batch:
    """Three games of two rounds and two seats, small enough to add up by hand."""
    batch = empty_batch(3, 2, 2, details=True)
    batch.first_dealer[:] = [0, 1, 1]
    batch.ending[:] = [[0, 0], [0, Ending.BLOCKED], [0, Ending.TRUNCATED]]
    batch.points[:] = [[[0, 10], [20, 0]], [[0, 30], [5, 7]], [[9, 0], [4, 0]]]
    batch.totals[:] = [[0, 30], [35, 7], [4, 9]]
    batch.wins[:] = [[WIN_UNIT, 0], [0, WIN_UNIT], [WIN_UNIT // 2, WIN_UNIT // 2]]
    batch.turns[:] = [[4, 6], [9, 3], [2, 2]]
    batch.drawn[:] = [[1, 2], [3, 4], [5, 6]]
    batch.reshuffles[:] = [[0, 1], [0, 0], [2, 0]]
    batch.choices[:] = [[2, 2], [3, 0], [1, 1]]
    batch.largest_crank[:] = [[0, 2], [5, 3], [0, 0]]
    return batch


def copied(batch: Batch) -> Batch:
    return Batch._make(values.copy(order="F") for values in batch)


def made_up(games: int, seed: int) -> Batch:
    """Make up games; those of two seeds have the same law and nothing in common."""
    (point, _) = design_points(experiment_of())
    return fake_batch(point, seed, 0, games)


# --- Experiments -------------------------------------------------------------------------------------------------


def test_variants_are_design_points_after_the_base() -> None:
    experiment = make_experiment(
        {
            "name": "x",
            "study": "compare",
            "set": {"points.8": 40},
            "players": 3,
            "variant": [DOUBLE, {"name": "other", "rules": "wiki", "set": {"draw.count": 3}}],
        }
    )
    base, double, other = design_points(experiment)
    assert [point.factors["variant"] for point in (base, double, other)] == [BASE, "double", "other"]
    assert (base.rules.points["8"], base.rules.draw.count, base.rules.players) == (40, 1, 3)
    assert (double.rules.points["8"], double.rules.draw.count, double.rules.players) == (40, 2, 3)
    assert other.rules == load_rules("wiki", {"draw.count": 3, "players": 3})


def test_variants_are_a_factor_of_any_study() -> None:
    experiment = make_experiment({"name": "x", "study": "seats", "vary": {"players": [2, 3]}, "variant": [DOUBLE]})
    levels = [tuple(point.factors.values()) for point in design_points(experiment)]
    assert levels == [(BASE, 2), (BASE, 3), ("double", 2), ("double", 3)]


def test_an_experiment_with_variants_is_written_and_read_back(tmp_path: Path) -> None:
    from craits_sim.design import load_experiment

    experiment = experiment_of(
        variant=[DOUBLE, {"name": "R8 wild: all", "rules": "wiki", "set": {"wild": ["8", "J"], "abilities.7": "none"}}]
    )
    file = tmp_path / "compare.toml"
    file.write_text(experiment.to_toml())
    assert load_experiment(file) == experiment
    assert tomllib.loads(file.read_text())["variant"][1]["set"] == {"wild": ["8", "J"], "abilities.7": "none"}


def test_a_rules_file_of_a_variant_is_looked_for_beside_the_experiment(tmp_path: Path) -> None:
    from craits_sim.design import load_experiment

    (tmp_path / "house.toml").write_text('base = "classic"\ndraw.count = 2\n')
    (tmp_path / "x.toml").write_text('study = "compare"\n[[variant]]\nname = "house"\nrules = "house.toml"\n')
    _, house = design_points(load_experiment(tmp_path / "x.toml"))
    assert house.rules.draw.count == 2


@pytest.mark.parametrize(
    ("text", "name", "rules", "changes"),
    [
        ("double: draw.count=2", "double", None, {"draw.count": 2}),
        ("a b: draw.count=2; points.8 = 30", "a b", None, {"draw.count": 2, "points.8": 30}),
        ("x:draw.count=2", "x", None, {"draw.count": 2}),
        ("draw.count=2", "draw.count=2", None, {"draw.count": 2}),
        (
            "abilities.7=next_draws:1,lose_turn",
            "abilities.7=next_draws:1,lose_turn",
            None,
            {"abilities.7": "next_draws:1,lose_turn"},
        ),
        ("R8 a = b: abilities.7=skip:1", "R8 a = b", None, {"abilities.7": "skip:1"}),
        ("wiki", "wiki", "wiki", {}),
        ("mine: wiki; draw.count=2", "mine", "wiki", {"draw.count": 2}),
        ("rules/house.toml", "house", "rules/house.toml", {}),
    ],
)
def test_a_variant_is_read_from_the_command_line(
    text: str, name: str, rules: str | None, changes: dict[str, object]
) -> None:
    variant = parse_variant(text)
    assert (variant.name, variant.rules, variant.set) == (name, rules, changes)
    assert parse_variant(variant_text(variant)) == variant


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ([DOUBLE, DOUBLE], 'variant "double" is given twice'),
        ([{"name": "base", "set": {"draw.count": 2}}], 'variant "base" is the name of the rules without a variant'),
        ([{"name": "none"}], 'variant "none" changes nothing'),
        ([{"set": {"draw.count": 2}}], "variant 1: name is missing"),
        ([{"name": "x", "sett": {}}], 'variant 1: sett: no such key.*did you mean "set"'),
        ([{"name": "", "rules": "wiki"}], 'variant 1: name = ""'),
        ("wiki", 'variant = "wiki": allowed are tables'),
    ],
)
def test_variants_that_cannot_be_are_refused(variants: object, message: str) -> None:
    with pytest.raises(DesignError, match=message):
        make_experiment({"name": "x", "study": "compare", "variant": variants})


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"variant": []}, "compare has nothing to compare with"),
        ({"variant": [{"name": "x", "set": {"draw.count": 1}}]}, "x changes nothing: it plays and scores as the base"),
        ({"variant": [DOUBLE, {"name": "x", "set": {"draw.count": 2}}]}, "x changes nothing: .* as double does"),
        ({"variant": [{"name": "x", "set": {"players": 3}}]}, "x has 3 players and the base 4.*craits players"),
        ({"vary": {"points.8": [50, 30]}}, "variants or varied factors, not both"),
        ({"variant": [{"name": "x", "set": {"draw.cuont": 2}}]}, 'variant "x": draw.cuont.*did you mean "draw.count"'),
    ],
)
def test_a_comparison_that_cannot_be_made_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        experiment_of(**values)


def test_the_first_levels_of_varied_factors_are_the_base() -> None:
    experiment = experiment_of(variant=[], vary={"draw.count": [2, 1, 3]})
    study = get_study("compare")
    batches = [made_up(300, seed) for seed in (1, 2, 3)]
    summary = study.summarise(study.tally(batches), experiment)
    assert summary["draw.count"].drop_duplicates().tolist() == [1, 3]


# --- Sums --------------------------------------------------------------------------------------------------------


def test_the_quantities_of_a_game_are_exact() -> None:
    table = dict(zip(QUANTITIES, quantities(small_batch()).T.tolist(), strict=False))
    assert table == {
        "dealer_edge": [2 * 20 - 30, 2 * 5 - 42, 2 * 13 - 13],
        "turns": [10, 12, 4],
        "drawn": [3, 7, 11],
        "reshuffles": [1, 0, 2],
        "choices": [4, 3, 2],
        "blocked": [0, 1, 0],
        "largest_crank": [2, 5, 0],
        "range": [30, 28, 5],
        "shared_by_two": [0, 0, 1],
        "shared_by_three": [0, 0, 0],
    }
    half = WIN_UNIT // 2
    assert quantities(small_batch())[:, len(QUANTITIES) :].tolist() == [[WIN_UNIT, 0], [WIN_UNIT, 0], [half, half]]


def test_the_sums_of_pairs_are_exact_products_of_base_and_variant() -> None:
    base, variant = small_batch(), copied(small_batch())
    variant.turns[:] = [[4, 7], [9, 3], [1, 1]]
    variant.points[1, 0, 1] = 31
    sums = get_study("compare").tally([base, variant])
    ours, theirs = quantities(base).astype(object), quantities(variant).astype(object)
    both = np.hstack([ours, theirs])
    assert sums["1.paired"].tolist() == both.sum(axis=0).tolist()
    assert sums["1.paired_products"].tolist() == (both.T @ both).tolist()
    assert sums["games"].tolist() == [3]
    assert sums["0.truncated"].tolist() == sums["1.truncated"].tolist() == [1]
    turns = QUANTITIES.index("turns")
    assert sums["1.differing"][turns] == 2
    # Of six rounds, one has another length in game 0, two in game 2, and one other points in game 1.
    assert sums["1.identical_rounds"].tolist() == [2]


def test_a_round_is_identical_only_if_all_its_figures_are() -> None:
    for name in ("turns", "drawn", "cranks", "choices", "largest_crank", "points", "skips", "forced", "crank_paid"):
        base, variant = small_batch(), copied(small_batch())
        getattr(variant, name)[2, 1] += 1
        assert identical_rounds(base, variant).tolist() == [[True, True], [True, True], [True, False]], name


def test_only_rounds_that_both_play_are_compared() -> None:
    longer, (point, _) = made_up(200, 1), design_points(experiment_of())
    rounds = len(point.rules.deals)
    shorter = Batch._make(
        values[:, :8].copy(order="F") if values.ndim > 1 and values.shape[1] == rounds else values for values in longer
    )
    assert identical_rounds(longer, shorter).all()
    study = get_study("compare")
    short = {"name": "1", "set": {"deals": [8, 7, 6, 5, 4, 3, 2, 1]}}
    summary = study.summarise(study.tally([longer, shorter]), experiment_of(variant=[short], games=200))
    assert row_of(summary, "turns_per_game")["estimate"] == pytest.approx(-longer.turns[:, 8:].sum() / 200)
    assert row_of(summary, "turns_per_round")["variant_value"] == pytest.approx(shorter.turns.mean())
    assert row_of(summary, "turns_per_round")["identical_rounds"] == 100


# --- The table ---------------------------------------------------------------------------------------------------


def test_differences_and_their_errors_are_those_of_a_paired_t_test() -> None:
    base, variant = made_up(400, 1), made_up(400, 2)
    variant.turns[:, :10] = base.turns[:, :10]  # so that pairs have something in common
    summary = compared(base, variant)
    values = {
        "turns_per_round": (base.turns.mean(axis=1), variant.turns.mean(axis=1)),
        "cards_drawn_per_round": (base.drawn.mean(axis=1), variant.drawn.mean(axis=1)),
        "largest_crank": (base.largest_crank.max(axis=1), variant.largest_crank.max(axis=1)),
        "spread_of_totals": (np.ptp(base.totals, axis=1), np.ptp(variant.totals, axis=1)),
        "dealer_edge": tuple(
            (batch.points[:, :, 0] - batch.points.mean(axis=2)).mean(axis=1) for batch in (base, variant)
        ),
    }
    for estimand, (ours, theirs) in values.items():
        row, test = row_of(summary, estimand), ttest_rel(theirs, ours)
        assert row["estimate"] == pytest.approx(theirs.mean() - ours.mean())
        assert (row["base_value"], row["variant_value"]) == pytest.approx((ours.mean(), theirs.mean()))
        assert (row["ci_low"], row["ci_high"]) == pytest.approx(tuple(test.confidence_interval()))
        assert row["correlation"] == pytest.approx(np.corrcoef(ours, theirs)[0, 1])
        variances = ours.var(ddof=1) + theirs.var(ddof=1)
        assert row["variance_ratio"] == pytest.approx(variances / (theirs - ours).var(ddof=1))
        assert row["effect"] == pytest.approx(row["estimate"] / np.sqrt(variances / 2))
        assert row["margin"] == pytest.approx(
            {"largest_crank": 0.5, "dealer_edge": 0.5}.get(estimand, 0.05 * ours.mean())
        )
    # Ten of fifteen rounds are shared: the correlation of the means is two thirds.
    assert row_of(summary, "turns_per_round")["correlation"] == pytest.approx(2 / 3, abs=0.08)


def test_the_error_of_the_share_of_choices_is_that_of_a_ratio() -> None:
    batches = [made_up(2000, seed) for seed in (1, 2)]
    row = row_of(compared(*batches), "choice_share")
    turns, choices = (
        np.array([getattr(batch, name).sum(axis=1) for batch in batches]) for name in ("turns", "choices")
    )
    assert row["estimate"] == pytest.approx(100 * np.diff(choices.sum(axis=1) / turns.sum(axis=1)).item())
    random = np.random.default_rng(1)
    draws = random.integers(0, 2000, (800, 2000))
    resampled = np.array([np.diff(choices[:, d].sum(axis=1) / turns[:, d].sum(axis=1)).item() for d in draws])
    assert row["se"] == pytest.approx(100 * resampled.std(), rel=0.08)


def test_minutes_come_from_the_assumed_seconds() -> None:
    options = {
        "seconds_per_turn": 60,
        "seconds_per_card_drawn": 30,
        "seconds_per_card_dealt": 60,
        "seconds_per_shuffle": 0,
    }
    variant = copied(small_batch())
    variant.drawn[:] += 1
    row = row_of(compared(small_batch(), variant, options=options, **TWO_ROUNDS), "minutes_per_game")
    assert row["base_value"] == pytest.approx(26 / 3 + 21 / 6 + 6)
    assert row["estimate"] == pytest.approx(1)


def test_the_seat_edge_is_of_the_position_that_changes_most_with_the_largest_of_several_tests() -> None:
    base, variant = made_up(4000, 1), made_up(4000, 2)
    winner = (variant.first_dealer + 2) % 4
    favored = np.arange(4000) < 400
    variant.wins[favored] = 0
    variant.wins[favored, winner[favored]] = WIN_UNIT
    row = row_of(compared(base, variant), "seat_edge")
    assert (row["position"], row["ci_kind"]) == (2, "simultaneous")
    assert row["verdict"] == "changed"
    wins = [
        np.take_along_axis(b.wins, (b.first_dealer[:, None] + np.arange(4)) % 4, axis=1).mean(axis=0) / WIN_UNIT
        for b in (base, variant)
    ]
    edges = [100 * (share - share.mean())[2] for share in wins]
    assert (row["base_value"], row["variant_value"]) == pytest.approx(edges)


def test_what_is_the_same_in_every_game_is_no_difference() -> None:
    base = made_up(2000, 1)
    variant = copied(base)
    variant.points[:, 3] += 7
    summary = compared(base, variant)
    row = row_of(summary, "turns_per_round")
    assert (row["estimate"], row["se"], row["p_value"], row["verdict"]) == (0, 0, 1, Verdict.NEGLIGIBLE)
    assert row["identical_rounds"] == pytest.approx(100 * 14 / 15)
    assert get_study("compare").plot(summary).get_suptitle()


def test_a_difference_in_a_few_games_is_not_claimed() -> None:
    base = made_up(5000, 1)
    variant = copied(base)
    variant.ending[: FEWEST_DIFFERING - 1] = Ending.BLOCKED
    base.ending[: FEWEST_DIFFERING - 1] = Ending.WENT_OUT
    row = row_of(compared(base, variant), "blocked_share")
    assert row["estimate"] > 0
    assert row["p_value"] == 1


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("games", [1, 2])
@pytest.mark.parametrize("study", ["compare", "screen"])
def test_one_or_two_games_decide_nothing_and_break_nothing(study: str, games: int) -> None:
    summary = compared(made_up(games, 1), made_up(games, 2), study=study)
    assert (summary["verdict"] == Verdict.INCONCLUSIVE).all()
    assert "nan" not in get_study(study).conclude(summary)
    get_study(study).plot(summary)


@pytest.mark.parametrize("count", [1, 4])
def test_every_metric_has_a_row_and_a_place_in_the_chart(count: int) -> None:
    study = get_study("compare")
    summary = compared(*(made_up(600, seed) for seed in range(count + 1)))
    assert summary["estimand"].tolist() == [metric.estimand for metric in METRICS] * count
    figure = study.plot(summary)
    panels = [axes for part in figure.subfigs for axes in part.axes if axes.get_title(loc="left")]
    assert [axes.get_title(loc="left") for axes in panels] == [str(number) for number in range(1, count + 1)]
    assert all(len(axes.get_yticks()) == len(METRICS) for axes in panels)
    lines = study.conclude(summary).splitlines()
    assert len(lines) == count + 1
    assert "margins 1 pp for win shares, 0.5 points for the dealer's edge, 5% of the base's value" in lines[-1]


def test_the_conclusion_says_what_moved_and_what_is_shown_not_to() -> None:
    base = made_up(20_000, 1)
    variant = copied(base)
    variant.turns[:] += 5
    conclusion = get_study("compare").conclude(compared(base, variant))
    assert conclusion.startswith("Beyond the margin: turns a game from")
    assert "(+75, interval" in conclusion
    assert "Shown to stay within it: win share of" in conclusion
    assert "0% of the rounds stayed the same" in conclusion


def test_a_conclusion_is_three_sentences_that_name_the_headlines_and_count_the_rest() -> None:
    base = made_up(20_000, 1)
    variant = copied(base)
    for values in (variant.turns, variant.drawn, variant.choices, variant.points[:, :, 0]):
        values[:] *= 2
    summary = compared(base, variant)
    sentences = get_study("compare").conclude(summary).splitlines()[0].split(". ")
    assert len(sentences) == 3
    beyond, within, identical = sentences
    assert beyond.startswith("Beyond the margin: dealer's edge a round from ")
    assert ", turns a game from " in beyond
    assert beyond.endswith(f" and {len(summary[summary['verdict'] == 'changed']) - 3} more")
    assert within.startswith("Shown to stay within it: win share of ")
    assert identical.endswith("stayed the same to the last card.")


@pytest.mark.parametrize(
    ("estimand", "margin"),
    [("seat_edge", 1.0), ("dealer_edge", 0.5), ("largest_crank", 0.5), ("blocked_share", 0.1), ("tie_share", 1.0)],
)
def test_the_margins_grow_with_that_of_win_shares(estimand: str, margin: float) -> None:
    batches = [made_up(300, 1), made_up(300, 2)]
    usual, wide = compared(*batches), compared(*batches, margin=2.0)
    assert row_of(usual, estimand)["margin"] == pytest.approx(margin)
    assert row_of(wide, "turns_per_game")["margin"] == pytest.approx(row_of(usual, "turns_per_game")["base_value"] / 10)
    assert wide["margin"].tolist() == pytest.approx((2 * usual["margin"]).tolist())
    assert "margins 2 pp for win shares, 1 point for" in get_study("compare").conclude(wide)
    sentence = get_study("compare").margin_sentence(experiment_of(margin=2.0))
    assert "10% of the base's value for turns a round, turns a game" in sentence


def test_base_and_variant_are_written_with_the_digits_that_their_difference_supports() -> None:
    summary = compared(made_up(2000, 1), made_up(2000, 2))
    row = row_of(summary, "turns_per_game")
    table = reading_table(get_study("compare").highlights(summary))
    (written,) = [dict(zip(table.columns, texts, strict=True)) for texts in table.rows if "turns per game" in texts]
    assert 0.1 < row["se"] < 1
    assert written["base value"] == f"{row['base_value']:.1f}"
    assert written["variant value"] == f"{row['variant_value']:.1f}"


def test_the_headline_is_the_widest_interval_of_a_seat() -> None:
    study, experiment = get_study("compare"), experiment_of()
    sums = study.tally([made_up(500, 1), made_up(500, 2)])
    row = row_of(study.summarise(sums, experiment), "seat_edge", "double")
    assert study.headline(sums, experiment)[1] == pytest.approx((row["ci_high"] - row["ci_low"]) / 2)


# --- Readings ----------------------------------------------------------------------------------------------------


def test_every_reading_is_one_change_with_its_section() -> None:
    classic = load_rules("classic")
    found = list(readings(classic))
    assert len({variant.name for variant in found}) == len(found)
    keys = {key for variant in found for key in variant.set}
    assert keys >= set(OTHER_READINGS)
    with_choices = {key for key, field in FIELDS.items() if field.choices and key not in NO_READINGS}
    assert with_choices <= keys
    assert all(classic.with_changes(variant.set) for variant in found)
    assert 'R8 match = "suit_or_color"' in {variant.name for variant in found}
    assert 'Abilities abilities.7 = "next_draws:1,lose_turn"' in {variant.name for variant in found}


def test_the_readings_of_other_rules_include_those_of_the_sheet() -> None:
    names = {variant.name for variant in readings(load_rules("last_card_house"))}
    assert "R9 draw.until_playable = false" in names
    assert "R9 draw.until_playable = true" not in names


def test_a_screen_plays_only_what_is_different() -> None:
    prepared = prepare(make_experiment({"name": "s", "study": "screen", "games": 300}))
    names = [point.factors["variant"] for point in prepared.points]
    skip = 'Abilities reverse.two_players = "skip"'
    assert skip in {variant.name for variant in prepared.experiment.variants}
    assert skip not in names  # four players
    batches = [made_up(300, seed) for seed in range(len(names))]
    study = prepared.study
    summary = study.summarise(study.tally(batches), prepared.experiment)
    inert = summary[summary["estimand"] == INERT]
    assert inert["variant"].tolist() == [skip]
    assert len(summary) == (len(names) - 1) * len(METRICS) + 1
    assert f"Not played: {skip} (the same rules as base)" in study.conclude(summary)


def test_a_screen_names_the_rule_that_matters_most_for_a_metric() -> None:
    base = made_up(20_000, 1)
    longer, longest = copied(base), copied(base)
    longer.turns[:] += 3
    longest.turns[:] += 8
    summary = compared(base, longer, longest, study="screen")
    conclusion = get_study("screen").conclude(summary)
    assert conclusion.startswith("It matters: of 2 changes 2 are shown to move some metric beyond its margin, none to")
    assert "the length of a game with 2 (" in conclusion
    assert "beyond the margin)" in conclusion
    # The row of a tornado is ordered by size.
    panels = [axes for part in get_study("screen").plot(summary).subfigs for axes in part.axes]
    turns = next(axes for axes in panels if axes.get_title(loc="left") == "turns a round")
    assert [label.get_text() for label in turns.get_yticklabels()] == ["2", "1"]


def test_a_screen_of_changes_that_do_not_matter_says_so() -> None:
    base = made_up(20_000, 1)
    other = copied(base)
    other.turns[:, 0] += 1
    conclusion = get_study("screen").conclude(compared(base, other, copied(base), study="screen"))
    answer, largest, *_ = conclusion.split(". ")
    assert answer == (
        "It does not matter: of 2 changes none are shown to move some metric beyond its margin, 2 to move none, "
        "and none are not clear"
    )
    assert largest.startswith("Win shares change most with ")
    assert "the length of a game with 1 (" in largest
    assert "turns, within the margin)" in largest


def test_a_screen_is_a_table_by_metric_of_which_a_terminal_shows_the_largest() -> None:
    base = made_up(5000, 1)
    longer = [copied(base) for _ in range(5)]
    for number, batch in enumerate(longer, start=1):
        batch.turns[:] += 3 * number
    study = get_study("screen")
    summary = compared(base, *longer, study="screen")
    assert summary["estimand"].drop_duplicates().tolist() == [metric.estimand for metric in METRICS]
    turns = summary[summary["estimand"] == "turns_per_game"]
    assert turns["variant"].tolist() == ["5", "4", "3", "2", "1"]
    shown = study.highlights(summary)
    # Of what is shown to move, the three largest; of what nothing moves, one row.
    assert shown[shown["estimand"] == "turns_per_game"]["variant"].tolist() == ["5", "4", "3"]
    assert (shown["estimand"] == "blocked_share").sum() == 1


# --- Under a null variant ----------------------------------------------------------------------------------------


def null_p_values(study: str, replicates: int, variants: int, games: int) -> tuple[Any, Any, Any]:
    """Compare a base with variants of the same law: made-up games of other seeds, split into replicates.

    Returns
    -------
    p, adjusted, covered
        Shape (replicates, variants, metrics): p-values, adjusted p-values, and whether the interval holds zero.
    """
    pool = [made_up(replicates * games, seed) for seed in range(variants + 1)]
    for batch in pool[1:]:  # half of the rounds are shared, as some are between real variants
        for name in ("turns", "drawn", "choices", "largest_crank", "reshuffles", "ending"):
            getattr(batch, name)[:, :7] = getattr(pool[0], name)[:, :7]
    rules, seconds = load_rules("classic"), assumed_seconds(experiment_of())
    asked = get_study(study)
    assert isinstance(asked, PairedStudy)
    p, covered = np.empty((replicates, variants, len(METRICS))), np.empty((replicates, variants, len(METRICS)), bool)
    for number in range(replicates):
        part = slice(number * games, (number + 1) * games)
        sums = asked.tally([Batch._make(values[part] for values in batch) for batch in pool])
        for variant in range(variants):
            rows = list(Pair(sums, variant + 1, rules, rules, seconds).rows(1, 0.95))
            p[number, variant] = [row["p_value"] for row in rows]
            covered[number, variant] = [row["ci_low"] <= 0 <= row["ci_high"] for row in rows]
    adjusted = np.array([asked.adjusted(of_one.ravel()) for of_one in p]).reshape(p.shape)
    return p, adjusted, covered


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.9])
def test_a_difference_as_large_as_its_margin_is_seldom_called_negligible(correlation: float) -> None:
    # 2,000 replicates of 400 pairs of games, whose quantities are normal and rounded. The true difference is the
    # margin: of 0.5 points, 5 % of the base and 0.5 cards, each three to nineteen standard errors.
    replicates, games, rules = 2000, 400, load_rules("classic")
    law = {  # mean of the base, spread, difference
        "dealer_edge": (0, 85, 0.5 * rules.players * len(rules.deals)),
        "turns": (900, 150, 45),
        "drawn": (500, 120, 25),
        "largest_crank": (8, 2.2, 0.5),
        "range": (4000, 600, 200),
    }
    random, seconds = np.random.default_rng(1), assumed_seconds(experiment_of())
    small: dict[str, list[bool]] = {}
    for _ in range(replicates):
        pairs = np.zeros((games, 2, len(QUANTITIES) + rules.players))
        for name, (mean, spread, difference) in law.items():
            together, *apart = random.standard_normal((3, games))
            own = np.sqrt(correlation) * together + np.sqrt(1 - correlation) * np.array(apart)
            pairs[:, :, QUANTITIES.index(name)] = (mean + spread * own).T + np.array([0, difference])
        paired = cross_sums("1.paired", np.rint(pairs).astype(np.int64).reshape(games, -1))
        counts = {"games": np.array([games]), "1.identical_rounds": np.zeros(1, np.int64)}
        differing = np.full(pairs.shape[2], games)
        for row in Pair({**paired, **counts, "1.differing": differing}, 1, rules, rules, seconds).rows(1, 0.95):
            small.setdefault(row["estimand"], []).append(row["p_equivalence"] < 0.05)
    bound = 0.05 + 3 * np.sqrt(0.05 * 0.95 / replicates)
    tested = ("dealer_edge", "turns_per_game", "cards_drawn_per_round", "largest_crank", "spread_of_totals")
    rates = {name: np.mean(small[name]) for name in tested}
    assert all(0.03 < rate < bound for rate in rates.values()), rates


@pytest.mark.slow
def test_a_seat_edge_that_changes_by_its_margin_is_seldom_called_negligible() -> None:
    # The win share of position 0 grows by the margin of 10 pp, at the expense of all others alike.
    replicates, games, rules = 2000, 400, load_rules("classic")
    seconds, random = assumed_seconds(experiment_of()), np.random.default_rng(1)
    shares = np.array([[0.25] * 4, [0.35, *[0.65 / 3] * 3]])
    small = []
    for _ in range(replicates):
        won = np.stack([random.multinomial(1, share, games) for share in shares], axis=1)
        pairs = np.concatenate([np.ones((games, 2, len(QUANTITIES)), np.int64), WIN_UNIT * won], axis=2)
        paired = cross_sums("1.paired", pairs.reshape(games, -1))
        counts = {"games": np.array([games]), "1.identical_rounds": np.zeros(1, np.int64)}
        differing = np.full(pairs.shape[2], games)
        row = next(Pair({**paired, **counts, "1.differing": differing}, 1, rules, rules, seconds).rows(10, 0.95))
        assert row["estimand"] == "seat_edge"
        small.append(row["p_equivalence"] < 0.05)
    # All four positions have to be within the margin, so that the error is at most its level.
    assert 0.02 < np.mean(small) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / replicates)


@pytest.mark.slow
def test_the_errors_of_compare_are_bounded_where_nothing_changes() -> None:
    p, adjusted, covered = null_p_values("compare", 1500, 2, 300)
    wrong = (adjusted < 0.05).any(axis=(1, 2)).mean()
    # Turns a round and a game are one hypothesis twice, and metrics go together: the error is below its level.
    assert 0.01 < wrong < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 1500)
    three = 3 * np.sqrt(0.05 * 0.95 / 3000)
    for number, metric in enumerate(METRICS):
        assert (p[:, :, number] < 0.05).mean() < 0.05 + three, metric.estimand
        if metric.estimand != "tie_share":  # too rare in 300 games for an interval, and never tested
            assert covered[:, :, number].mean() > 0.95 - three, metric.estimand


@pytest.mark.slow
def test_a_screen_of_nothing_but_null_changes_seldom_finds_something() -> None:
    _, adjusted, _ = null_p_values("screen", 500, 6, 300)
    # With no true finding at all the false discovery rate is the chance of any.
    wrong = (adjusted < 0.05).any(axis=(1, 2)).mean()
    assert wrong < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


# --- The commands ------------------------------------------------------------------------------------------------


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="craits")


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Make up the results instead of playing games, in an empty folder."""
    monkeypatch.setattr(runner, "run", fake_run)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_compare_prints_rows_with_the_promised_keys(fake: Path) -> None:
    result = craits("compare", "--variant", "double: draw.count=2", "--variant", "wiki", "--games", "2k", "--json")
    assert result.exit_code == 0, result.output
    read = json.loads(result.stdout)
    promised = {"base_value", "variant_value", "correlation", "variance_ratio", "p_adjusted", "verdict"}
    assert len(read["summary"]) == 2 * len(METRICS)
    for row in read["summary"]:
        assert row["variant"] in ("double", "wiki")
        assert promised - row.keys() <= {"correlation", "variance_ratio"}
    assert [variant["name"] for variant in read["experiment"]["variants"]] == ["double", "wiki"]


@pytest.mark.parametrize("study", ["compare", "screen"])
def test_a_written_comparison_runs_again_to_the_same_report(fake: Path, study: str) -> None:
    Path("house.toml").write_text('base = "classic"\nname = "house"\ndraw.count = 2\n')
    arguments = [study, "--variant", "house.toml", "--variant", "x: points.8=30", "--games", "2k"]
    assert craits(*arguments, "--name", "one").exit_code == 0
    assert craits("run", "reports/one/experiment.toml", "--output", "again").exit_code == 0
    for name in ("summary.csv", "chart.svg", "experiment.toml"):
        assert (fake / "reports/one" / name).read_bytes() == (fake / "again/one" / name).read_bytes()


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["compare"], "nothing to compare with"),
        (["compare", "--variant", "draw.count=1"], "changes nothing"),
        (["compare", "--variant", "a: draw.count=2", "--variant", "a: draw.count=3"], 'variant "a" is given twice'),
        (["compare", "--variant", "wikki"], 'did you mean "wiki"'),
        (["compare", "--variant", "x:"], "variants are written"),
        (["compare", "--variant", "players=3"], "has 3 players and the base 4"),
        (["compare", "--variant", "draw.cuont=3"], 'did you mean "draw.count"'),
        (["compare", "--variant", "none.toml"], "no such rules file"),
        (["compare", "--variant", "draw.count=2", "--variant", "wiki", "--max-points", "2"], "3 design points"),
        (["screen", "--readings", "--max-points", "20"], "allowed are up to 20"),
    ],
    ids=" ".join,
)
def test_a_mistake_ends_before_anything_is_played(
    fake: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("games were played"))
    result = craits(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert part in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(fake.iterdir()) == []


def test_a_terminal_says_where_the_rows_are_that_it_does_not_show(fake: Path) -> None:
    result = craits("screen", "--variant", "a: points.8=30", "--variant", "b: draw.count=2", "--games", "1k")
    assert result.exit_code == 0, result.output
    rows = len(pd.read_csv("reports/screen/summary.csv"))
    assert f" of {rows} rows; all are in reports/screen/summary.csv, in the page and in what --json" in result.stdout


def test_readings_are_added_to_the_variants_that_are_given(fake: Path) -> None:
    result = craits("screen", "--readings", "--variant", "x: points.8=30", "--games", "1k", "--json")
    assert result.exit_code == 0, result.output
    names = [variant["name"] for variant in json.loads(result.stdout)["experiment"]["variants"]]
    assert names[0] == "x"
    assert len(names) == 1 + len(list(readings(load_rules("classic"))))


# --- Real games --------------------------------------------------------------------------------------------------


def test_pairing_makes_intervals_narrower_where_play_stays_the_same() -> None:
    experiment = experiment_of(variant=[{"name": "1", "set": {"points.8": 30}}], games=2000)
    study = get_study("compare")
    points = design_points(experiment)
    sums = runner.run(points, study.tally, games=2000, seed=1, threads=2, details=True)
    summary = study.summarise(sums, experiment)
    row = row_of(summary, "dealer_edge")
    assert row["variance_ratio"] > 20
    assert row_of(summary, "turns_per_round")["estimate"] == 0
    assert 0 < row["identical_rounds"] < 100
    # Unpaired, the variances of both add.
    unpaired = row["se"] * np.sqrt(row["variance_ratio"])
    assert row["se"] < unpaired / 4
    assert [label for label, _ in parts(summary)] == ["1"]
