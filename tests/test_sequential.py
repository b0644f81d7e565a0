"""Stopping: when a run ends, that threads do not show in it, and that its intervals and verdicts keep their promise.

The slow tests simulate thousands of runs side by side: arrays of shape (runs, seats), and the project's own intervals
and decisions at each look.
"""

import json
import tomllib
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise
from math import inf, isnan, nan
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray
from scipy.special import betaln

from craits_sim import runner
from craits_sim.api import prepare
from craits_sim.bots import parse_bots
from craits_sim.cli import cli
from craits_sim.design import DesignError, DesignPoint, Experiment, make_experiment
from craits_sim.results import WIN_UNIT, Batch
from craits_sim.rules import load_rules
from craits_sim.sequential import (
    FIRST_LOOK,
    MOST_GAMES,
    TUNED_AT,
    Differences,
    RareShare,
    games_to_decide,
    is_decided,
    looks,
    sequence_errors,
    sequence_interval,
    sequence_p_value,
    sequence_verdict,
    share_sequence,
)
from craits_sim.stats import (
    Goal,
    Interval,
    Verdict,
    difference_p_value,
    equivalence_p_value,
    games_for,
    mean_interval,
    share_interval,
    simultaneous_level,
    verdict,
)
from craits_sim.studies import get_study
from craits_sim.studies.base import Sums
from craits_sim.studies.compare import FEWEST_GAMES_IN_SEQUENCE
from craits_sim.studies.stopping import StoppingRule, in_sequence, look
from tests.fake_run import fake_batch

Floats = NDArray[np.float64]


# --- The schedule ------------------------------------------------------------------------------------------------


def test_looks_grow_by_a_tenth_and_end_with_the_most_games() -> None:
    schedule = list(looks(MOST_GAMES))
    assert schedule[:4] == [2000, 2200, 2420, 2662]
    assert schedule[-1] == MOST_GAMES
    assert all(0 < after - before <= before // 10 + 1 for before, after in pairwise(schedule))
    assert len(schedule) < 100


def test_the_most_games_do_not_change_the_looks_before_them() -> None:
    assert list(looks(5000)) == [games for games in looks(MOST_GAMES) if games < 5000] + [5000]
    assert list(looks(FIRST_LOOK)) == [FIRST_LOOK]


# --- The confidence sequence -------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0.9, 0.95, 0.9875])
def test_the_sequence_is_the_formula_of_its_source(level: float) -> None:
    alpha = 1 - level
    q = (np.log(1 - 2 * np.log(alpha)) - 2 * np.log(alpha)) / TUNED_AT
    for t in (2000, 50_000, 10_000_000):
        radius = np.sqrt(2 * (t * q + 1) / (t**2 * q) * np.log(np.sqrt(t * q + 1) / alpha))
        assert sequence_errors(t, level) / np.sqrt(t) == pytest.approx(radius)


def test_the_sequence_is_half_again_as_wide_as_an_interval_where_it_is_tuned() -> None:
    assert sequence_errors(TUNED_AT, 0.95) / 1.96 == pytest.approx(1.55, abs=0.005)
    relative = sequence_errors([8_000, TUNED_AT, 3_000_000], 0.95) / sequence_errors(TUNED_AT, 0.95)
    assert relative.max() == pytest.approx(1.15, abs=0.001)


def test_several_sequences_hold_together_by_bonferroni() -> None:
    low, high = sequence_interval([0.1, 0.4], [0.01, 0.02], 9000, 0.95, together=4)
    np.testing.assert_allclose(high - low, 2 * sequence_errors(9000, 0.9875) * np.array([0.01, 0.02]))


@pytest.mark.parametrize("together", [1, 4])
def test_the_p_value_is_significant_exactly_where_the_sequence_leaves_out_zero(together: int) -> None:
    for games in (2000, 70_000, 5_000_000):
        edge = sequence_errors(games, simultaneous_level(0.95, together, "bonferroni"))
        outside, inside = sequence_p_value(edge * np.array([1.0001, -0.9999]), 1, games, 0.95, together) * together
        assert outside < 0.05 < inside
    p_values = sequence_p_value([0, 0, 0.1], [1, 0, 0], 5000, 0.95)
    assert p_values[0] == 1
    assert isnan(p_values[1])
    assert p_values[2] == 0


@pytest.mark.parametrize(
    ("low", "high", "decided", "expected"),
    [
        ([-0.5, -0.2], [0.5, 0.3], True, Verdict.NEGLIGIBLE),
        ([-0.5, 0.1], [0.5, 0.3], True, Verdict.REAL_BUT_NEGLIGIBLE),
        ([-0.5, 1.1], [0.5, 1.3], True, Verdict.ADVANTAGE),
        ([-9.0, -3.0], [9.0, -1.1], True, Verdict.ADVANTAGE),
        ([-0.5, 0.9], [0.5, 1.3], False, Verdict.ADVANTAGE),
        ([-0.5, -0.2], [0.5, 1.2], False, Verdict.INCONCLUSIVE),
        ([nan], [nan], False, Verdict.INCONCLUSIVE),
    ],
)
def test_a_verdict_is_certain_within_the_margin_or_beyond_it(
    low: list[float], high: list[float], decided: bool, expected: Verdict
) -> None:
    interval = Interval(np.array(low), np.array(high))
    assert bool(is_decided(interval, 1)) == decided
    assert sequence_verdict(interval, 1) == expected


@pytest.mark.parametrize("means", [[0.003, -0.003], [0.03, -0.03], [0.0, 0.0]])
def test_the_games_to_decide_are_those_at_which_the_sequence_decides(means: list[float]) -> None:
    spread = np.sqrt([0.19, 0.2])
    seen = Differences(np.array(means), spread / np.sqrt(3000), 3000, 0.01)
    needed = games_to_decide(seen, 0.95, 2)

    def decides(games: float) -> bool:
        se = spread / np.sqrt(games)
        return bool(is_decided(sequence_interval(means, se, games, 0.95, 2), 0.01))

    assert decides(needed * 1.02)
    assert not decides(needed * 0.98)


def test_no_number_of_games_decides_about_an_edge_as_large_as_the_margin() -> None:
    assert games_to_decide(Differences(np.array([0.01]), np.array([0.008]), 3000, 0.01), 0.95, 1) == inf


@pytest.mark.parametrize(("seen", "games", "together"), [(0, 4000, 1), (3, 9000, 16), (250, 2000, 1), (2000, 2000, 4)])
def test_the_sequence_of_a_share_is_the_formula_of_its_source(seen: int, games: int, together: int) -> None:
    # At each end of the interval that is not the end of all shares, the two sides of the formula are equal.
    a, b, alpha = 0.5, 0.5 * (1 - 0.001) / 0.001, 0.05 / together
    low, high = share_sequence(seen, games, 0.95, together, expected=0.001)
    mixture = betaln(a + seen, b + games - seen) - betaln(a, b)
    for end in (low, high):
        if 0 < end < 1:
            likelihood = seen * np.log(end) + (games - seen) * np.log1p(-end)
            assert mixture == pytest.approx(likelihood - np.log(alpha), abs=1e-6)
    assert (low == 0) == (seen == 0)
    assert (high == 1) == (seen == games)
    assert low <= seen / games <= high


@pytest.mark.parametrize("seen", [0, 1, 30])
def test_the_games_to_decide_about_a_share_are_those_at_which_its_sequence_decides(seen: int) -> None:
    needed = games_to_decide(RareShare(seen, 10_000, 0.15), 0.95, 3)

    def decides(games: float) -> bool:
        scaled = share_sequence(seen / 10_000 * games, [games], 0.95, 3, expected=0.0015).times(100)
        return bool(is_decided(scaled, 0.15))

    assert decides(needed * 1.02)
    assert not decides(needed * 0.98)


# --- Experiments and studies -------------------------------------------------------------------------------------


def experiment_of(study: str, **values: Any) -> Experiment:
    return make_experiment({"name": study, "study": study, **values})


def test_a_run_that_looks_may_play_ten_million_games_unless_told_otherwise() -> None:
    assert experiment_of("seats", precision=0.5).games == MOST_GAMES
    assert experiment_of("seats", until_decided=True, games="1e5").games == 100_000
    assert experiment_of("seats").games == 100_000


def test_an_experiment_says_how_it_stops_and_is_read_back() -> None:
    for values in ({"precision": 0.5}, {"until_decided": True}):
        text = experiment_of("seats", **values).to_toml()
        assert f"{next(iter(values))} = " in text
    assert "until_decided" not in experiment_of("seats").to_toml()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"precision": 0}, "precision = 0: allowed are numbers above 0"),
        ({"precision": 1, "until_decided": True}, "leave out one of the two"),
        ({"precision": 1, "games": 1999}, "games = 1,999: .* looks first after 2,000"),
        ({"until_decided": 1}, "until_decided = 1: allowed are true and false"),
    ],
)
def test_a_rule_that_cannot_stop_a_run_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(DesignError, match=message):
        experiment_of("seats", **values)


def summary_of(experiment: Experiment, games: int) -> tuple[Sums, pd.DataFrame]:
    """Tally and summarise made-up games."""
    study, experiment, points = prepare(experiment)
    sums = study.tally([fake_batch(point, 1, 0, games) for point in points])
    return sums, study.summarise(sums, experiment)


TWO_TABLES: dict[str, Any] = {"vary": {"players": [3, 4]}}
TWO_VARIANTS: dict[str, Any] = {
    "players": 3,
    "variant": [{"name": name, "set": {"points.8": points}} for name, points in (("30", 30), ("40", 40))],
}
WITH_A_VERDICT = [
    ("seats", {}),
    ("seats", TWO_TABLES),
    ("dealer", {}),
    ("dealer", TWO_TABLES),
    ("crank", {}),
    ("players", TWO_TABLES),
    ("compare", TWO_VARIANTS),
    ("ladder", {"bots": "random,greedy,careful"}),
    ("ladder", {"bots": "random,greedy", "players": 2}),
    ("restricted", {"bots": "greedy", "players": 2}),
]


@pytest.mark.parametrize(("name", "design"), WITH_A_VERDICT, ids=str)
def test_the_rows_with_a_verdict_are_about_what_a_run_waits_for_and_hold_together(
    name: str, design: dict[str, Any]
) -> None:
    experiment = experiment_of(name, games=3000, until_decided=True, **design)
    sums, summary = summary_of(experiment, 3000)
    rows = summary[summary["verdict"].notna()].to_dict("records")
    judged = get_study(name).judged(sums, experiment)
    together = sum(len(one.estimates) for one in judged if isinstance(one, Differences))
    assert len(rows) == len(judged)
    for row, one in zip(rows, judged, strict=True):
        assert isinstance(one, Differences)
        assert any(row["estimate"] == pytest.approx(estimate) for estimate in one.estimates)
        reach = sequence_errors(3000, 1 - 0.05 / together) * row["se"]
        assert row["ci_low"] == pytest.approx(row["estimate"] - reach)
        assert row["ci_high"] == pytest.approx(row["estimate"] + reach)
        assert row["ci_kind"] == "sequence"
        if not np.isnan(one.se).any():
            p_values = sequence_p_value(one.estimates, one.se, 3000, 0.95, together)
            expected = min(len(p_values) * float(np.nan_to_num(p_values, nan=1).min()), 1)
            assert row["p_value"] == pytest.approx(expected)
            assert row["p_adjusted"] == pytest.approx(min(expected / len(p_values) * together, 1))
    means = summary[(summary["se"] > 0) & ~summary["ci_kind"].isin(["exact", "bootstrap over games"])]
    assert set(means["ci_kind"]) == {"sequence"}
    assert "intervals of a confidence sequence" in summary.attrs["caption"]


def test_a_screen_that_waits_for_its_verdicts_gives_those_of_a_comparison() -> None:
    columns = ["variant", "estimand", "ci_low", "ci_high", "p_adjusted", "verdict"]
    tables = [
        summary_of(experiment_of(name, games=3000, until_decided=True, **TWO_VARIANTS), 3000)[1][columns]
        for name in ("compare", "screen")
    ]
    compared, screened = (table.sort_values(columns[:2], ignore_index=True) for table in tables)
    pd.testing.assert_frame_equal(compared, screened)


def test_the_verdicts_on_games_that_get_stuck_are_those_of_exact_sequences_that_hold_together() -> None:
    experiment = experiment_of("stalemate", games=3000, until_decided=True, **TWO_TABLES)
    sums, summary = summary_of(experiment, 3000)
    for row, seen in zip(summary[summary["verdict"].notna()].to_dict("records"), (0, 1), strict=True):
        count = int(sums[f"{seen}.games_with"][-1])
        low, high = share_sequence(count, 3000, 0.95, together=2, expected=0.001).times(100)
        assert (row["ci_low"], row["ci_high"], row["ci_kind"]) == (low, high, "sequence")


def test_a_difference_that_shows_in_few_games_is_small_only_after_many() -> None:
    # Not one of the made-up games has a different number of turns.
    study, experiment, points = prepare(experiment_of("compare", until_decided=True, **TWO_VARIANTS))
    verdicts = []
    for games in (FEWEST_GAMES_IN_SEQUENCE - 1, FEWEST_GAMES_IN_SEQUENCE):
        batch = fake_batch(points[0], 1, 0, games)
        sums = study.tally([batch] * 3)
        summary = study.summarise(sums, experiment)
        verdicts.append(set(summary["verdict"]))
        assert bool(look(study, sums, experiment)[0]) == (games == FEWEST_GAMES_IN_SEQUENCE)
    assert verdicts == [{"inconclusive"}, {"negligible"}]


def test_shares_that_never_vary_keep_their_exact_interval() -> None:
    common = {"estimand": "win_share", "ci_kind": "simultaneous", "n": 3000, "ci_low": 0.0, "ci_high": 0.1}
    rows = [common | {"estimate": 0.0, "se": 0.0}, common | {"estimate": 40.0, "se": 0.9}]
    still, changed = in_sequence(rows, Differences(np.array([0.1]), np.array([1.0]), 3000, 1), 0.95, 1)
    assert still == rows[0]
    assert changed["ci_kind"] == "sequence"
    assert changed["ci_high"] - changed["ci_low"] == pytest.approx(1.8 * sequence_errors(3000, 0.975))


def test_the_rule_says_where_it_stopped_and_why() -> None:
    study = get_study("seats")
    point = DesignPoint({}, load_rules("classic"), parse_bots("random", 4))
    sums = study.tally([fake_batch(point, 1, 0, 3000)])
    rule = StoppingRule(study, experiment_of("seats", precision=3))
    assert rule(3000, sums)
    assert rule.games == 3000
    assert rule.sentence.startswith("Stopped after 3,000 games: the interval is narrow enough (win share by position")
    rule = StoppingRule(study, experiment_of("seats", until_decided=True, games=3000))
    assert not rule(3000, sums)
    assert "these are the most that were allowed, and the verdict is not certain." in rule.sentence
    assert "95% confidence sequence" in rule.sentence


# --- Runs --------------------------------------------------------------------------------------------------------


def short_point(players: int = 3) -> DesignPoint:
    rules = load_rules("classic", {"players": players, "deals": [2, 1]})
    return DesignPoint({}, rules, parse_bots("random", players))


def as_lists(sums: Sums) -> dict[str, Any]:
    return {key: values.tolist() for key, values in sums.items()}


@pytest.mark.parametrize("how", [{"precision": 1.6}, {"until_decided": True, "margin": 3.0}], ids=str)
def test_threads_and_chunks_do_not_show_in_where_a_run_stops(
    monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    study, experiment, points = get_study("seats"), experiment_of("seats", games="1e6", **how), [short_point()]
    ends, results = set(), []
    for threads, chunk in ((1, 16_000), (2, 700), (4, 333), (2, 16_000)):
        monkeypatch.setattr(runner, "CHUNK_GAMES", chunk)
        rule = StoppingRule(study, experiment)
        results.append(as_lists(runner.run(points, study.tally, games=10**6, seed=5, threads=threads, enough=rule)))
        ends.add((rule.games, rule.sentence))
    ((games, _),) = ends
    assert FIRST_LOOK < games < 10**5
    plain = as_lists(runner.run(points, study.tally, games=games, seed=5, threads=2))
    assert all(result == plain for result in results)


def test_a_run_is_looked_at_in_order_and_ends_at_the_first_yes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 150)
    seen: list[tuple[int, int]] = []

    def tally(batches: Sequence[Batch]) -> Sums:
        return {"games": np.array([len(batches[0].totals)])}

    def enough(games: int, sums: Sums) -> bool:
        seen.append((games, int(sums["games"][0])))
        return games >= 2600

    sums = runner.run([short_point()], tally, games=9000, seed=1, threads=3, enough=enough)
    assert seen == [(games, games) for games in (2000, 2200, 2420, 2662)]
    assert sums["games"] == [2662]


def test_a_run_that_has_never_enough_plays_all_games() -> None:
    def tally(batches: Sequence[Batch]) -> Sums:
        return {"games": np.array([len(batches[0].totals)])}

    asked: list[int] = []

    def never(games: int, _sums: Sums) -> bool:
        asked.append(games)
        return False

    assert runner.run([short_point()], tally, games=2500, seed=1, threads=2, enough=never)["games"] == [2500]
    assert asked == [2000, 2200, 2420, 2500]


@pytest.mark.parametrize("how", [["--precision", "1.6"], ["--until-decided", "--margin", "3"]], ids=str)
def test_a_report_says_how_many_games_were_played_and_why_and_runs_again_to_the_same_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    short = ["--players", "3", "--set", "deals=[2, 1]", "--quiet", "--json"]
    first = CliRunner().invoke(cli, ["seats", *short, *how, "--threads", "1"])
    again = CliRunner().invoke(cli, ["run", "reports/seats/experiment.toml", "--name", "again", "--threads", "2"])
    assert (first.exit_code, again.exit_code) == (0, 0), first.output + again.output
    for name in ("summary.csv", "chart.svg"):
        assert Path("reports/seats", name).read_bytes() == Path("reports/again", name).read_bytes()
    result = json.loads(first.stdout)
    games = {row["n"] for row in result["summary"]}.pop()
    assert FIRST_LOOK < games < 10**5
    assert f"Stopped after {games:,} games: " in result["conclusion"]
    assert json.loads(Path("reports/seats/provenance.json").read_text())["games"] == games
    page = Path("reports/seats/index.html").read_text()
    assert f"{games:,}, of at most 10,000,000. Stopped after {games:,} games: " in page
    assert f"{' '.join(how[:2])}" in page
    assert "The games went on until" in page


def test_a_run_of_a_file_takes_another_rule_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("try.toml").write_text('study = "seats"\ngames = 1000\nset.deals = [2, 1]\nmargin = 3.0\n')
    result = CliRunner().invoke(cli, ["run", "try.toml", "--precision", "2.5", "--quiet", "--json"])
    assert result.exit_code == 0, result.output
    written = tomllib.loads(Path("reports/try/experiment.toml").read_text())
    assert (written["precision"], written["games"]) == (2.5, MOST_GAMES)
    again = ["run", "reports/try/experiment.toml", "--until-decided", "--quiet", "--name", "again", "--json"]
    result = CliRunner().invoke(cli, again)
    assert result.exit_code == 0, result.output
    written = tomllib.loads(Path("reports/again/experiment.toml").read_text())
    assert (written.get("precision"), written["until_decided"], written["games"]) == (None, True, MOST_GAMES)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["seats", "--precision", "0"], '"0": allowed are numbers above 0'),
        (["seats", "--precision", "1", "--until-decided"], "precision and until_decided both say when to stop"),
        (["seats", "--precision", "1", "--games", "500"], "games = 500: a run that stops"),
        (["length", "--until-decided"], "length says how long games take, and judges no difference"),
        (["run", "try.toml", "--precision", "1", "--until-decided"], "precision and until_decided both say when"),
    ],
    ids=str,
)
def test_a_stopping_rule_that_makes_no_sense_is_refused_before_anything_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], part: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("try.toml").write_text('study = "seats"\n')
    result = CliRunner().invoke(cli, arguments)
    assert result.exit_code == 2
    assert part in result.stderr
    assert list(tmp_path.iterdir()) == [tmp_path / "try.toml"]


# --- Promises ----------------------------------------------------------------------------------------------------


class Wins(NamedTuple):
    """The wins of K seats after some games, in many runs."""

    games: int
    shares: Floats  # (runs, K)
    se: Floats  # (runs, K)
    outcomes: NDArray[np.int64]  # (runs, K + pairs) games won by each seat alone, and by each pair together

    def differences(self) -> tuple[Floats, Floats]:
        """Give the differences from an equal share, and their errors."""
        return self.shares - 1 / self.shares.shape[1], self.se


def streams(
    random: np.random.Generator, runs: int, shares: Sequence[float], ties: float, ends: Sequence[int]
) -> Iterator[Wins]:
    """Play many runs side by side, and give the wins at each number of games; some are shared by two seats."""
    seats = len(shares)
    pairs = list(combinations(range(seats), 2))
    alone = (np.array(shares) - ties / seats) / (1 - ties)
    chances = [*((1 - ties) * alone), *([ties / len(pairs)] * len(pairs))]
    worth = np.vstack([np.eye(seats), [[(seat in pair) / 2 for seat in range(seats)] for pair in pairs]])
    counts = np.zeros((runs, len(chances)), np.int64)
    for before, games in pairwise([0, *ends]):
        counts = counts + random.multinomial(games - before, chances, size=runs)
        means = counts @ worth / games
        variances = (counts @ worth**2 / games - means**2) * games / (games - 1)
        yield Wins(games, means, np.sqrt(variances / games), counts)


def sums_of(wins: Wins, run: int) -> Sums:
    """Give what the study of seats would have tallied in one run."""
    seats = wins.shares.shape[1]
    pairs = combinations(range(seats), 2)
    rows = np.vstack([np.eye(seats), [[(seat in pair) / 2 for seat in range(seats)] for pair in pairs]])
    won = (WIN_UNIT * rows).astype(np.int64)
    counts = wins.outcomes[run]
    return {
        "0.games": np.array([wins.games]),
        "0.wins": counts @ won,
        "0.wins_products": won.T @ (counts[:, None] * won),
    }


def at_the_end(
    looks_at: Iterator[Wins], decide: Callable[[Wins], NDArray[np.bool_]], judge: Callable[[Wins], NDArray[np.bool_]]
) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
    """Stop each run at the first look that decides it; give what is judged there, and the games, 0 where none did."""
    held = games = None
    for wins in looks_at:
        if held is None or games is None:
            held, games = np.zeros(len(wins.shares), bool), np.zeros(len(wins.shares), np.int64)
        ending = (games == 0) & decide(wins)
        held[ending] = judge(wins)[ending]
        games[ending] = wins.games
        if games.all():
            break
    assert held is not None
    assert games is not None
    return held, games


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.0, 0.2])
@pytest.mark.parametrize("width", [0.02, 0.01])
def test_intervals_after_precision_hold_as_often_as_they_say(ties: float, width: float) -> None:
    shares, runs = [0.21, 0.24, 0.26, 0.29], 4000
    each = simultaneous_level(0.95, 4)
    ends = list(looks(40_000))

    def interval(wins: Wins) -> Interval:
        return share_interval(wins.shares, wins.se, wins.games, each)

    def narrow(wins: Wins) -> NDArray[np.bool_]:
        low, high = interval(wins)
        return np.asarray((high - low).max(axis=1) / 2 <= width)

    def holds(wins: Wins) -> NDArray[np.bool_]:
        low, high = interval(wins)
        return np.asarray(((low <= shares) & (shares <= high)).all(axis=1))

    held, games = at_the_end(streams(np.random.default_rng(1), runs, shares, ties, ends), narrow, holds)
    assert games.min() > FIRST_LOOK
    # 0.95 but for chance, and a little more, because Sidak's intervals are wide for shares that add to one.
    assert 0.944 < held.mean() < 0.965

    # The study itself stops runs at the same look.
    study, experiment = get_study("seats"), experiment_of("seats", precision=100 * width)
    for wins in streams(np.random.default_rng(1), 5, shares, ties, ends):
        for run in range(5):
            assert bool(look(study, sums_of(wins, run), experiment)[0]) == bool(narrow(wins)[run])


@pytest.mark.slow
def test_intervals_of_a_skewed_mean_after_precision_hold_as_often_as_they_say() -> None:
    random, runs = np.random.default_rng(2), 4000
    total, squares = np.zeros(runs), np.zeros(runs)
    held, stopped = np.zeros(runs, bool), np.zeros(runs, bool)
    for before, games in pairwise([0, *looks(6000)]):
        lengths = random.exponential(1.0, (runs, games - before))
        total, squares = total + lengths.sum(axis=1), squares + (lengths**2).sum(axis=1)
        mean = total / games
        se = np.sqrt((squares / games - mean**2) / (games - 1))
        low, high = mean_interval(mean, se, games, 0.95)
        ending = ~stopped & ((high - low) / 2 <= 0.035)
        held[ending] = ((low <= 1) & (high >= 1))[ending]
        stopped |= ending
    assert stopped.all()
    assert 0.935 < held.mean() < 0.96


def decided(margin: float) -> Callable[[Wins], NDArray[np.bool_]]:
    """Make the decision of --until-decided about the seats of many runs."""
    return lambda wins: is_decided(sequence(wins), margin)


def sequence(wins: Wins) -> Interval:
    differences, se = wins.differences()
    return sequence_interval(differences, se, wins.games, 0.95, differences.shape[1])


def verdicts(margin: float, wanted: set[Verdict]) -> Callable[[Wins], NDArray[np.bool_]]:
    """Make a function that says which runs have one of the wanted verdicts."""

    def judge(wins: Wins) -> NDArray[np.bool_]:
        low, high = sequence(wins)
        return np.array([sequence_verdict(Interval(*ends), margin) in wanted for ends in zip(low, high, strict=True)])

    return judge


WITHIN = {Verdict.NEGLIGIBLE, Verdict.REAL_BUT_NEGLIGIBLE}
REAL = {Verdict.ADVANTAGE, Verdict.REAL_BUT_NEGLIGIBLE}


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_waiting_for_a_verdict_finds_an_edge_where_there_is_none_in_fewer_than_5_percent(ties: float) -> None:
    played = streams(np.random.default_rng(3), 4000, [0.25] * 4, ties, list(looks(300_000)))
    wrong, games = at_the_end(played, decided(0.01), verdicts(0.01, REAL))
    assert (games > 0).all()  # each was decided
    assert wrong.mean() < 0.05


@pytest.mark.slow
def test_waiting_for_a_verdict_about_an_edge_as_large_as_the_margin_errs_in_fewer_than_5_percent() -> None:
    # At the very margin each decision is wrong from one side or the other.
    shares = [0.26, 0.25, 0.25, 0.24]
    played = streams(np.random.default_rng(4), 4000, shares, 0.05, list(looks(1_000_000)))
    _, games = at_the_end(played, decided(0.01), decided(0.01))
    assert (games > 0).mean() < 0.05


@pytest.mark.slow
def test_waiting_for_a_verdict_finds_a_large_edge() -> None:
    played = streams(np.random.default_rng(5), 2000, [0.28, 0.24, 0.24, 0.24], 0.05, list(looks(300_000)))
    right, games = at_the_end(played, decided(0.01), verdicts(0.01, {Verdict.ADVANTAGE}))
    assert (games > 0).all()
    assert right.mean() > 0.99
    # The study itself decides runs at the same look.
    study, experiment = get_study("seats"), experiment_of("seats", until_decided=True, margin=1)
    for wins in streams(np.random.default_rng(5), 5, [0.28, 0.24, 0.24, 0.24], 0.05, list(looks(50_000))):
        for run in range(5):
            assert bool(look(study, sums_of(wins, run), experiment)[0]) == bool(decided(0.01)(wins)[run])


@pytest.mark.slow
def test_a_sequence_holds_at_all_looks_where_looking_at_p_values_does_not() -> None:
    random, runs, step, most = np.random.default_rng(6), 4000, 100, 100_000
    chance = 0.25
    won = np.cumsum(random.binomial(step, chance, (runs, most // step)), axis=1)
    games = step * np.arange(1, most // step + 1)
    share = won / games
    se = np.sqrt(share * (1 - share) / (games - 1))
    seen = games >= FIRST_LOOK
    low, high = sequence_interval(share, se, games, 0.95)
    missed = ((low > chance) | (high < chance))[:, seen].any(axis=1).mean()
    assert 0.005 < missed < 0.05
    p_values = difference_p_value(share - chance, se)
    # After 20 equal steps, and after 980 looks.
    assert 0.22 < (p_values[:, 49::50] < 0.05).any(axis=1).mean() < 0.28
    assert (p_values[:, seen] < 0.05).any(axis=1).mean() > 0.3


def means_of(
    random: np.random.Generator, runs: int, values: Floats, chances: Floats, ends: Sequence[int]
) -> Iterator[tuple[int, Floats, Floats]]:
    """Play many runs side by side, and give the games, the means and their errors, shape (runs, K), at each number.

    A game has one of J outcomes, which are rows of ``values``, shape (J, K).
    """
    counts = np.zeros((runs, len(chances)), np.int64)
    for before, games in pairwise([0, *ends]):
        counts = counts + random.multinomial(games - before, chances, size=runs)
        means = counts @ values / games
        variances = (counts @ values**2 / games - means**2) * games / (games - 1)
        yield games, means, np.sqrt(variances / games)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "weights"),
    [(np.arange(400.0), np.arange(400) ** 2 * np.exp(-np.arange(400) / 20)), (np.array([0, 40.0]), np.array([99, 1]))],
    ids=["lengths with a long tail", "40 points in one of 100 games"],
)
def test_the_sequence_of_a_skewed_mean_holds_at_all_looks(values: Floats, weights: Floats) -> None:
    chances, missed = weights / weights.sum(), np.zeros(3000, bool)
    truth = float(chances @ values)
    for games, means, se in means_of(np.random.default_rng(9), 3000, values[:, None], chances, list(looks(10**6))):
        low, high = sequence_interval(means, se, games, 0.95)
        missed |= ((low > truth) | (high < truth))[:, 0]
    assert 0.005 < missed.mean() < 0.05


@pytest.mark.slow
def test_waiting_for_many_verdicts_errs_in_any_of_them_in_fewer_than_5_percent_of_runs() -> None:
    # Twelve rows that depend on each other, skewed and of different spread: four without a difference, four with one
    # as large as the margin, where each decision is wrong from one side or the other, and four with a large one.
    random, margin, count = np.random.default_rng(10), 1.0, 12
    chances = random.dirichlet(np.ones(60))
    values = random.exponential(1, (60, count)) ** 1.5 * random.choice([-1, 1, 1], (60, count))
    truth = np.repeat([0.0, margin, 1.6 * margin], 4)
    values = (values - chances @ values) * np.tile([10, 20, 30, 40], 3) / values.std(axis=0) + truth
    wrong, decided_rows = np.zeros(2000, bool), np.zeros((2000, count), bool)
    for games, means, se in means_of(random, 2000, values, chances, list(looks(1_000_000))):
        low, high = interval = sequence_interval(means, se, games, 0.95, together=count)
        each = Interval(low[..., None], high[..., None])  # a verdict for each row
        now = is_decided(each, margin)
        real, within = (low > 0) | (high < 0), (low > -margin) & (high < margin)
        wrong |= (real & (truth == 0)).any(axis=1) | (now & (truth == margin)).any(axis=1)
        wrong |= (within & (truth > margin)).any(axis=1)
        decided_rows |= now
    assert wrong.mean() < 0.05
    # The others are decided, so that it is not for want of decisions.
    assert decided_rows[:, truth != margin].all()
    verdict_of_one = sequence_verdict(Interval(interval.low[0, :1], interval.high[0, :1]), margin)
    assert verdict_of_one == Verdict.NEGLIGIBLE


@pytest.mark.slow
def test_waiting_for_verdicts_on_rare_shares_errs_in_fewer_than_5_percent_of_runs() -> None:
    # Four design points whose games get stuck as often as the margin says: each decision is wrong.
    random, margin, runs = np.random.default_rng(11), 0.1, 2000
    counts, wrong, alone = np.zeros((runs, 4), np.int64), np.zeros(runs, bool), np.zeros(runs, bool)
    for before, games in pairwise([0, *looks(500_000)]):
        counts += random.binomial(games - before, margin / 100, (runs, 4))
        for together, errors, counted in ((4, wrong, counts), (1, alone, counts[:, :1])):
            low, high = share_sequence(counted, games, 0.95, together, expected=margin / 100).times(100)
            errors |= ((low > margin) | (high < margin)).any(axis=1)
    assert wrong.mean() < 0.05
    assert 0.01 < alone.mean() < 0.05
    assert is_decided(RareShare(0, 8000, margin).interval(0.95, 4), margin)
    assert is_decided(RareShare(30, 8000, margin).interval(0.95, 4), margin)


@pytest.mark.slow
@pytest.mark.parametrize("ties", [0.0, 0.2])
def test_a_fixed_number_of_games_errs_about_equivalence_as_often_as_it_says(ties: float) -> None:
    margin, games, runs = 0.01, games_for(Goal.MARGIN, 0.01, np.sqrt(3) / 4, 0.95), 20_000

    def verdict_rates(edge: float, seed: int) -> dict[Verdict, float]:
        shares = [0.25 + edge, *[0.25 - edge / 3] * 3]
        (wins,) = streams(np.random.default_rng(seed), runs, shares, ties, [games])
        difference, se = wins.shares[:, 0] - 0.25, wins.se[:, 0]
        p_values = zip(difference_p_value(difference, se), equivalence_p_value(difference, se, margin), strict=True)
        found = [verdict(p_difference, p_equivalence, 0.95) for p_difference, p_equivalence in p_values]
        return {kind: found.count(kind) / runs for kind in Verdict}

    none, at_margin = verdict_rates(0, 7), verdict_rates(margin, 8)
    assert sum(none[kind] for kind in REAL) == pytest.approx(0.05, abs=0.006)
    assert sum(at_margin[kind] for kind in WITHIN) == pytest.approx(0.05, abs=0.006)
    # The planned power; shared wins vary less than whole ones.
    shown = sum(none[kind] for kind in WITHIN)
    assert shown == pytest.approx(0.8, abs=0.015) if ties == 0 else shown > 0.8
