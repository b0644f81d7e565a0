"""Bots against each other: seats rotated on the same deals, errors clustered by deal, honest orders and ratings."""

import json
from collections.abc import Callable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from craits_sim import runner
from craits_sim.api import prepare, study
from craits_sim.bots import parse_bot
from craits_sim.cards import RANKS
from craits_sim.cli import cli
from craits_sim.design import DesignError, Experiment, describe_tables, make_experiment
from craits_sim.plots import parts
from craits_sim.results import WIN_UNIT, Batch, empty_batch
from craits_sim.stats import Verdict, elo_ratings
from craits_sim.studies import get_study
from craits_sim.studies.base import judged_rows, moments
from craits_sim.studies.rotation import QUANTITIES, RotationStudy, weights
from tests.fake_run import fake_batch, fake_run

Winners = Callable[[int, int], NDArray[np.int64]]
"""Gives the winning seat of each game at a table, by the numbers of the match and of the lone bot's seat."""


def experiment_of(name: str, **values: Any) -> Experiment:
    bots = get_study(name).default_bots
    return prepare(make_experiment({"name": name, "study": name, "games": 500, "bots": bots, **values})).experiment


def tables_of(games: int, players: int, matches: int, winners: Winners) -> list[Batch]:
    """Make up the tables of some matches; who wins has no points, and all others have ten."""
    tables = []
    for match in range(matches):
        for seat in range(players):
            batch = empty_batch(games, 1, players)
            won = np.arange(players) == winners(match, seat)[:, None]
            batch.wins[:] = WIN_UNIT * won
            batch.totals[:] = 10 * ~won
            tables.append(batch)
    return tables


def summary_of(name: str, batches: Sequence[Batch], **values: Any) -> pd.DataFrame:
    asked = get_study(name)
    return asked.summarise(asked.tally(batches), experiment_of(name, games=len(batches[0].totals), **values))


def rows_of(summary: pd.DataFrame, estimand: str) -> list[dict[str, Any]]:
    return summary[summary["estimand"] == estimand].to_dict("records")


def even(games: int, players: int, seed: int) -> Winners:
    """Let every seat win equally often, in each game by itself."""
    random = np.random.default_rng(seed)
    return lambda _match, _seat: random.integers(0, players, games)


# --- The tables --------------------------------------------------------------------------------------------------


def test_every_bot_sits_alone_at_every_seat_among_each_other_bot() -> None:
    prepared = prepare(experiment_of("ladder", bots="random,greedy,careful", players=3))
    tables = [tuple(map(str, point.bots)) for point in prepared.points]
    assert len(tables) == 6 * 3
    for lone, others in permutations(("random", "greedy", "careful"), 2):
        for seat in range(3):
            assert tables.count((others,) * seat + (lone,) + (others,) * (2 - seat)) == 1
    assert {point.rules.digest for point in prepared.points} == {prepared.points[0].rules.digest}


def test_with_two_players_no_table_is_played_twice() -> None:
    points = prepare(experiment_of("ladder", bots="random,greedy,careful", players=2)).points
    assert len(points) == len({tuple(map(str, point.bots)) for point in points}) == 6


def test_every_rank_is_withheld_from_one_bot_among_bots_that_are_free() -> None:
    points = prepare(experiment_of("restricted", bots="careful:catch=0.5", players=2)).points
    tables = [tuple(map(str, point.bots)) for point in points]
    for number, rank in enumerate(RANKS):
        restricted = f"careful:catch=0.5:never={rank}"
        assert tables[2 * number] == (restricted, "careful:catch=0.5")
        assert tables[2 * number + 1] == ("careful:catch=0.5", restricted)


def test_a_rank_that_the_bot_never_plays_anyway_is_left_out_and_stays_withheld() -> None:
    points = prepare(experiment_of("restricted", bots="greedy:never=8", players=2)).points
    assert len(points) == 12 * 2
    assert str(points[0].bots[0]) == "greedy:never=A/8"
    assert str(points[0].bots[1]) == "greedy:never=8"


def test_the_design_points_asked_for_have_their_tables_one_after_the_other() -> None:
    points = prepare(experiment_of("ladder", bots="random,greedy", vary={"players": [2, 3]})).points
    assert [point.rules.players for point in points] == [2, 2, 3, 3, 3, 3, 3, 3]
    assert [point.factors["lone_seat"] for point in points] == [0, 1, 0, 1, 2, 0, 1, 2]


def test_many_tables_are_named_by_the_bots_that_sit_there() -> None:
    points = prepare(experiment_of("ladder", bots="random,greedy,careful")).points
    assert describe_tables(points) == "random, greedy, careful at 24 tables"
    assert describe_tables(points[:2]) == "random, greedy, greedy, greedy / greedy, random, greedy, greedy"


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        ("ladder", {"bots": "greedy"}, "ladder compares two bots or more: bots = greedy names one"),
        ("ladder", {"bots": "greedy,random,greedy"}, "greedy is given twice"),
        ("ladder", {"bots": "random", "vary": {"bots": ["random", "greedy"]}}, "name them in bots instead of varying"),
        ("restricted", {"bots": "greedy,random", "players": 2}, "one bot for all seats, .* greedy, random"),
    ],
)
def test_bots_that_cannot_be_set_against_each_other_are_refused(
    name: str, values: dict[str, Any], message: str
) -> None:
    with pytest.raises(DesignError, match=message):
        experiment_of(name, **values)


def test_a_ladder_of_too_many_tables_is_refused() -> None:
    experiment = make_experiment({"name": "x", "study": "ladder", "bots": "random,greedy,careful"})
    with pytest.raises(DesignError, match="24 design points: allowed are up to 20"):
        prepare(experiment, max_points=20)


def test_without_choix_a_ladder_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("craits_sim.studies.ladder.find_spec", lambda _name: None)
    with pytest.raises(DesignError, match=r"pip install 'craits-sim\[bots\]'"):
        experiment_of("ladder")


# --- Sums --------------------------------------------------------------------------------------------------------


def test_the_sums_of_a_match_are_those_of_the_lone_bot_at_all_its_seats() -> None:
    # Two games at two tables. The lone bot sits at seat 0 of the first and seat 1 of the second.
    first, second = (empty_batch(2, 1, 2) for _ in range(2))
    first.totals[:] = [[5, 20], [7, 7]]
    first.wins[:] = [[WIN_UNIT, 0], [WIN_UNIT // 2, WIN_UNIT // 2]]
    second.totals[:] = [[0, 30], [9, 2]]
    second.wins[:] = [[WIN_UNIT, 0], [0, 0]]  # nobody wins the second game
    sums = get_study("ladder").tally([first, second])
    games = np.array(
        [
            [WIN_UNIT, 2 * WIN_UNIT - 2 * WIN_UNIT, 2 + 0, 2 * (5 + 30) - (25 + 30)],
            [WIN_UNIT // 2, WIN_UNIT - WIN_UNIT, 1 + 2, 2 * (7 + 2) - (14 + 11)],
        ]
    )
    assert sums["games"].tolist() == [2]
    assert sums["matches"].tolist() == games.sum(axis=0).tolist()
    assert sums["matches_products"].tolist() == (games.T @ games).tolist()
    means = moments(sums, "matches")
    shares = {name: float(means.combine(weights(name, 2, 1)).mean[0]) for name in QUANTITIES}
    assert shares == {"wins": 100 * 1.5 / 4, "edge": 0, "ahead": 5 / 8, "points": (15 - 7) / 2 / 4}


@pytest.mark.parametrize("name", ["ladder", "restricted"])
def test_sums_of_chunks_add_to_the_sums_of_all_games(name: str) -> None:
    prepared = prepare(experiment_of(name, players=3, vary={"draw.count": [1, 2]}))
    batches = [fake_batch(point, 1, 0, 100) for point in prepared.points]
    whole = prepared.study.tally(batches)
    halves = [
        prepared.study.tally([Batch._make(values[part] for values in batch) for batch in batches])
        for part in (slice(0, 30), slice(30, 100))
    ]
    for key, values in whole.items():
        assert values.dtype == np.int64
        np.testing.assert_array_equal(values, halves[0][key] + halves[1][key])


def test_of_two_players_each_sees_the_same_tables_from_its_side() -> None:
    random = np.random.default_rng(3)
    # One match of three. Where nobody wins, the shares do not add up to 100.
    won = random.integers(-1, 2, (2, 400))
    batches = tables_of(400, 2, 1, lambda _match, seat: won[seat])
    summary = summary_of("ladder", batches, bots="random,greedy", players=2)
    shares = {row["bot"]: row for row in rows_of(summary, "win_share")}
    assert shares["random"]["estimate"] == pytest.approx(100 * np.mean([won[0] == 0, won[1] == 1]))
    assert shares["greedy"]["estimate"] == pytest.approx(100 * np.mean([won[0] == 1, won[1] == 0]))
    by_deal = 100 * np.mean([won[0] == 1, won[1] == 0], axis=0)
    assert shares["greedy"]["se"] == pytest.approx(by_deal.std(ddof=1) / 20)
    (lead,) = rows_of(summary, "lead")
    better, worse = shares[lead["bot"]]["estimate"], shares[lead["against"]]["estimate"]
    assert lead["estimate"] == pytest.approx((better - worse) / 2)
    ratings = {row["bot"]: row["estimate"] for row in rows_of(summary, "rating")}
    assert ratings["random"] == pytest.approx(-ratings["greedy"])


# --- Honest inference --------------------------------------------------------------------------------------------


def test_intervals_hold_where_a_deal_is_won_by_the_lone_bot_at_all_its_seats_or_at_none() -> None:
    # The four tables of a deal say nothing new after the first. Counting each game as one of its own would halve the
    # interval, which would then hold in about 67% of cases.
    covered = halved = 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        lucky = random.random(250) < 0.25
        batches = tables_of(250, 4, 2, lambda _match, seat, lucky=lucky: np.where(lucky, seat, (seat + 1) % 4))
        sums = get_study("ladder").tally(batches)
        share = moments(sums, "matches").combine(weights("wins", 4, 2))
        off = abs(share.mean[0] - 25)
        covered += off <= 1.96 * share.se[0]
        halved += off <= 0.98 * share.se[0]
    assert 0.92 <= covered / 400 <= 0.975
    assert halved / 400 < 0.8


def test_differences_of_matches_on_the_same_deals_have_the_error_of_their_difference() -> None:
    # All matches of a deal go the same way: leads do not vary at all, however much the shares do.
    lucky = np.random.default_rng(1).random(300) < 0.3
    batches = tables_of(300, 3, 2, lambda _match, seat: np.where(lucky, seat, (seat + 1) % 3))
    summary = summary_of("ladder", batches, bots="random,greedy", players=3)
    (lead,) = rows_of(summary, "lead")
    assert (lead["estimate"], lead["verdict"]) == (0, Verdict.NEGLIGIBLE)
    assert lead["se"] == pytest.approx(0, abs=1e-9)
    assert all(row["se"] > 1 for row in rows_of(summary, "win_share"))


def test_bots_that_win_equally_often_are_called_different_no_more_often_than_the_level_says() -> None:
    asked, (point,) = get_study("ladder"), prepare(experiment_of("seats", players=3)).points
    assert isinstance(asked, RotationStudy)
    experiment = experiment_of("ladder", bots="random,greedy", players=3)
    verdicts = []
    for seed in range(200):
        means = moments(asked.tally(tables_of(400, 3, 2, even(400, 3, seed))), "matches")
        (row,) = judged_rows("lead", "pp", asked.differences(means, point, experiment), 1.0, 0.95)
        verdicts.append(row["verdict"])
    assert 2 <= sum(verdict in (Verdict.ADVANTAGE, Verdict.REAL_BUT_NEGLIGIBLE) for verdict in verdicts) <= 20  # of 10


def test_bots_that_win_equally_often_are_shown_to_be_equal_by_enough_games() -> None:
    summary = summary_of("ladder", tables_of(40_000, 4, 2, even(40_000, 4, 5)), bots="random,greedy")
    (lead,) = rows_of(summary, "lead")
    assert lead["verdict"] == Verdict.NEGLIGIBLE
    assert "no advantage to speak of (none seen, and shown to be within the margin of 1 pp)" in get_study(
        "ladder"
    ).conclude(summary)


def test_too_few_games_tell_nothing_apart_and_say_how_many_would() -> None:
    summary = summary_of("ladder", tables_of(300, 4, 6, even(300, 4, 6)), bots="random,greedy,careful")
    assert {row["verdict"] for row in rows_of(summary, "lead")} == {Verdict.INCONCLUSIVE}
    text = get_study("ladder").conclude(summary)
    assert "Not told apart: " in text
    assert "deals would decide" in text


def test_a_rank_that_costs_wins_is_found_and_the_others_are_not() -> None:
    # Who never plays an 8 freely wins a tenth of its games fewer; nothing else matters.
    random = np.random.default_rng(8)

    def winners(match: int, seat: int) -> NDArray[np.int64]:
        won = random.integers(0, 3, 20_000)
        lost = (won == seat) & (random.random(20_000) < 0.1) & (RANKS[match] == "8")
        return np.where(lost, (seat + 1) % 3, won)

    summary = summary_of("restricted", tables_of(20_000, 3, 13, winners), players=3)
    first, *others = rows_of(summary, "worth")
    assert (first["rank"], first["ability"], first["verdict"]) == ("8", "nominate, wild", Verdict.ADVANTAGE)
    assert first["ci_low"] < 10 / 3 < first["ci_high"]
    assert first["estimate"] == pytest.approx(100 / 3 - rows_of(summary, "win_share")[0]["estimate"])
    assert all(row["verdict"] != Verdict.ADVANTAGE for row in others)
    assert "The 8 (nominate, wild) is worth most" in get_study("restricted").conclude(summary)


def test_games_that_nobody_wins_are_nobodys_worth() -> None:
    won = np.random.default_rng(2).integers(-1, 3, 3000)
    summary = summary_of("restricted", tables_of(3000, 3, 13, lambda _match, seat: (won + seat) % 4 - 1), players=3)
    for row in rows_of(summary, "worth"):
        assert abs(row["estimate"]) < 5 * row["se"] + 1e-9


# --- Ratings -----------------------------------------------------------------------------------------------------


def test_a_rating_of_two_is_the_logarithm_of_their_odds() -> None:
    ratings = elo_ratings(np.array([[0, 3.0], [1.0, 0]]))
    assert ratings[0] - ratings[1] == pytest.approx(400 * np.log10(3))
    assert ratings.sum() == pytest.approx(0)


def test_ratings_recover_the_strengths_of_finishing_orders() -> None:
    # 30,000 orders of the Plackett-Luce model: by the exponential variables of each, the smallest first.
    elo = np.array([150.0, 20, 0, -170])
    times = np.random.default_rng(4).exponential(10 ** (-elo / 400), (30_000, 4))
    ahead = (times[:, :, None] < times[:, None, :]).sum(axis=0).astype(float)
    np.testing.assert_allclose(elo_ratings(ahead), elo, atol=5)


def test_the_error_of_a_rating_is_how_much_it_varies_between_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    def played(seed: int) -> dict[str, dict[str, Any]]:
        random = np.random.default_rng(seed)

        def winners(match: int, seat: int) -> NDArray[np.int64]:
            # The first bot of the six matches is the best, the third the weakest.
            strength = (0.5, 0.5, 0.33, 0.25, 0.15, 0.15)[match]
            return np.where(random.random(200) < strength, seat, (seat + 1) % 3)

        summary = summary_of("ladder", tables_of(200, 3, 6, winners), bots="random,greedy,careful", players=3)
        return {row["bot"]: row for row in rows_of(summary, "rating")}

    stated = played(0)
    monkeypatch.setattr("craits_sim.studies.ladder.REPLICATES", 2)  # of the others only the ratings count
    others = [played(seed) for seed in range(1, 81)]
    for bot, row in stated.items():
        spread = np.std([table[bot]["estimate"] for table in others], ddof=1)
        assert row["se"] == pytest.approx(spread, rel=0.3)


def test_a_bot_that_is_never_ahead_has_a_rating_all_the_same() -> None:
    batches = tables_of(50, 2, 1, lambda _match, seat: np.full(50, seat))
    first, second = rows_of(summary_of("ladder", batches, bots="random,greedy", players=2), "rating")
    assert first["bot"] == "random"
    assert first["estimate"] > 200 > -200 > second["estimate"]


# --- Words and pictures ------------------------------------------------------------------------------------------


def test_the_order_is_that_of_the_mean_shares_and_a_pair_that_goes_against_it_is_named() -> None:
    # Among three bots the first wins most by beating the third, although the second beats it.
    shares = {(0, 1): 0.2, (1, 0): 0.5, (0, 2): 0.9, (2, 0): 0.1, (1, 2): 0.4, (2, 1): 0.3}
    random = np.random.default_rng(6)
    matches = list(permutations(range(3), 2))
    batches = tables_of(
        3000, 3, 6, lambda match, seat: np.where(random.random(3000) < shares[matches[match]], seat, (seat + 1) % 3)
    )
    summary = summary_of("ladder", batches, bots="random,greedy,careful", players=3)
    assert [row["bot"] for row in rows_of(summary, "mean_win_share")] == ["random", "greedy", "careful"]
    text = get_study("ladder").conclude(summary)
    assert text.startswith("The order is random (5")
    assert "Against the order: greedy over random" in text or "against the order: greedy over random" in text


def test_the_matrix_marks_pairs_that_are_equal_or_not_told_apart() -> None:
    equal = get_study("ladder").plot(
        summary_of("ladder", tables_of(40_000, 4, 2, even(40_000, 4, 5)), bots="random,greedy")
    )
    unclear = get_study("ladder").plot(
        summary_of("ladder", tables_of(300, 4, 2, even(300, 4, 5)), bots="random,greedy")
    )
    for figure, mark in ((equal, "≈"), (unclear, "?")):
        cells = [text.get_text() for text in figure.subfigs[0].axes[2].texts if text.get_text()[-1] in "≈?"]
        assert len(cells) == 2
        assert all(cell.endswith(mark) for cell in cells)


@pytest.mark.parametrize("name", ["ladder", "restricted"])
def test_several_design_points_are_concluded_each_and_compared(name: str) -> None:
    prepared = prepare(experiment_of(name, vary={"players": [2, 3]}))
    sums = prepared.study.tally([fake_batch(point, 1, 0, 500) for point in prepared.points])
    summary = prepared.study.summarise(sums, prepared.experiment)
    lines = prepared.study.conclude(summary).splitlines()
    assert [line.partition(":")[0] for line in lines[:2]] == ["players = 2", "players = 3"]
    assert lines[2].startswith("Does it depend on players? ")
    assert {len(part) for _, part in parts(summary)} == {len(summary) // 2}


@pytest.mark.parametrize("games", [1, 2, 3])
@pytest.mark.parametrize("name", ["ladder", "restricted"])
def test_a_few_games_give_no_nonsense(name: str, games: int) -> None:
    prepared = prepare(experiment_of(name, games=games))
    summary = prepared.study.summarise(
        prepared.study.tally([fake_batch(point, 1, 0, games) for point in prepared.points]), prepared.experiment
    )
    assert "nan" not in prepared.study.conclude(summary)
    assert prepared.study.plot(summary).get_suptitle() == prepared.study.question


def test_the_command_plays_the_bots_of_its_study_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(runner, "run", fake_run)
    monkeypatch.chdir(tmp_path)

    def bots(*arguments: str) -> str:
        result = CliRunner().invoke(cli, [*arguments, "--games", "100", "--json", "--quiet"])
        assert result.exit_code == 0, result.output
        return str(json.loads(result.stdout)["experiment"]["bots"])

    assert bots("ladder") == "random,greedy,careful,tuned"
    assert bots("ladder", "--bots", "greedy,random") == "greedy,random"
    assert bots("restricted", "--players", "2") == "greedy"
    assert bots("restricted", "--players", "2", "--vary", 'bots=["careful", "greedy"]') == "random"  # as in all studies
    assert bots("seats") == "random"


# --- Real games --------------------------------------------------------------------------------------------------


def test_a_bot_that_plays_at_random_among_careful_ones_is_found_weak() -> None:
    table = study("ladder", bots="careful,random", games=200)
    (lead,) = rows_of(table, "lead")
    assert (lead["bot"], lead["against"], lead["verdict"]) == ("careful", "random", Verdict.ADVANTAGE)
    assert lead["ci_low"] > 10
    shares = {row["bot"]: row for row in rows_of(table, "win_share")}
    assert shares["random"]["ci_high"] < 10
    assert [row["bot"] for row in rows_of(table, "rating")] == ["careful", "random"]


def test_bots_that_differ_in_nothing_that_matters_are_found_equal() -> None:
    # Nobody forgets to announce, so that it does not matter who would call it.
    table = study("ladder", bots="careful,careful:catch=0.5", games=50)
    (lead,) = rows_of(table, "lead")
    assert (lead["estimate"], lead["se"], lead["verdict"]) == (0, 0, Verdict.NEGLIGIBLE)


def test_a_rank_that_a_bot_plays_last_anyway_is_worth_nothing_to_it() -> None:
    # greedy keeps its 3s until it has nothing else to play, and they name no suit.
    table = study("restricted", games=60, players=3)
    assert {row["rank"]: row["estimate"] for row in rows_of(table, "worth")}["3"] == 0
    assert rows_of(table, "worth")[0]["estimate"] > 0


def test_a_restricted_bot_is_named_by_a_text_that_is_read_back() -> None:
    for point in prepare(experiment_of("restricted")).points:
        assert all(parse_bot(str(bot)) == bot for bot in point.bots)
