"""Tuning: weights that play better than those it starts from, found again from the same seed, however it is run."""

import json
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from craits_sim import tune
from craits_sim.bots import parse_bots
from craits_sim.cli import cli, progress
from craits_sim.features import FEATURES, UNIT, WeightsError, load_weights, shipped_weights
from craits_sim.results import WIN_UNIT, empty_batch
from craits_sim.rules import load_rules

SHORT = ("--players", "2", "--set", "deals=[4, 3]", "--games", "60", "--generations", "4", "--quiet")
OUTPUT = Path("tuned.toml")
PARTIAL = Path(".tuned.partial.toml")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tune, "VALIDATION_GAMES", 200)


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["tune", *arguments])


def found(*arguments: str) -> str:
    """Tune, and give what is written."""
    result = craits(*SHORT, *arguments)
    assert result.exit_code == 0, result.output
    return OUTPUT.read_text()


def error(*arguments: str) -> str:
    result = craits(*SHORT, *arguments)
    assert result.exit_code == 2, result.output
    assert not result.stdout
    assert not OUTPUT.exists()
    return result.stderr.splitlines()[-1].removeprefix("Error: ")


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Give a function that tunes, and presses Ctrl-C in the generation of that number, after its fifth candidate."""

    def run(generation: int, *arguments: str) -> Result:
        played: list[int] = []

        def play(task: tune.Task, weights: tune.Weights, first_game: int, *rest: Any) -> tune.Outcome:
            played.append(first_game)
            if played.count(generation * task.games) > 5:
                raise KeyboardInterrupt
            return real_play(task, weights, first_game, *rest)

        real_play = tune._play
        with monkeypatch.context() as patch:
            patch.setattr(tune, "_play", play)
            return craits(*SHORT, *arguments)

    return run


def task(**values: Any) -> tune.Task:
    """Make a search of a moment, with other values for some of its fields."""
    rules = values.pop("rules", load_rules("classic", {"players": 2, "deals": [5, 4, 3]}))
    opponents = parse_bots(values.pop("opponents", "careful"), rules.players - 1)
    usual = {"start": "careful", "generations": 3, "games": 60, "sigma": 0.3, "seed": 1}
    return tune.Task(rules, opponents, **usual | values)


# What is found


def test_a_bot_that_knows_nothing_learns_to_beat_its_opponents() -> None:
    # With all weights 0 every move is as good as another and the first is made, which wins a third of the games against
    # a greedy bot. Eight generations bring it to some 60 %.
    OUTPUT.write_text("[weights]\nshed = 0\n")
    bad = task(start=str(OUTPUT), opponents="greedy", generations=8, games=250)
    before = tune._play(bad, bad.start_weights, 0, 1000, 1, Path())
    _, after = tune.tune(bad, threads=1)
    assert before.win_share < 0.4
    assert after.described()["win_share_interval"][0] > 0.5


def test_the_same_seed_finds_the_same_file_and_another_seed_another() -> None:
    first = found()
    np.random.seed(12345)  # must not matter
    assert found("--threads", "2") == first
    assert found("--seed", "2") != first


def test_numpys_global_random_numbers_are_left_alone() -> None:
    np.random.seed(7)
    before = np.random.get_state()[1].copy()
    found()
    assert np.array_equal(np.random.get_state()[1], before)


def test_the_file_says_what_its_weights_come_from() -> None:
    document = tomllib.loads(found("--opponents", "greedy"))
    origin = document["provenance"]
    rules = load_rules("classic", {"players": 2, "deals": [4, 3]})
    assert set(document["weights"]) == set(FEATURES)
    assert (origin["rules"], origin["digest"], origin["players"]) == ("classic", rules.digest, 2)
    assert (origin["opponents"], origin["seed"], origin["generations"], origin["games"]) == (["greedy"], 1, 4, 60)
    assert origin["start"].startswith("careful (weights ")
    low, high = origin["win_share_interval"]
    assert 0 < low < origin["win_share"] < high < 1
    low, high = origin["edge_interval"]
    assert low < origin["edge"] < high
    assert origin["validation_games"] == 200
    assert (origin["score"], origin["level"]) == ("edge", 0.95)


def test_a_bot_plays_by_the_file() -> None:
    found()
    weights = tuple(round(weight * UNIT) for weight in tomllib.loads(OUTPUT.read_text())["weights"].values())
    (bot,) = parse_bots(f"careful:weights={OUTPUT}", 1)
    assert bot.weights_at(2) == weights


def test_the_command_gives_json() -> None:
    result = craits(*SHORT, "--json")
    printed = json.loads(result.stdout)
    document = tomllib.loads(OUTPUT.read_text())
    assert printed == {"weights": document["weights"], "provenance": document["provenance"], "file": "tuned.toml"}


def test_progress_names_the_generation_and_its_best_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", 0.0)
    lines = craits(*SHORT[:-1]).stderr.splitlines()
    assert any(line.startswith("tune: ") and "generation 4: best edge " in line and ", wins " in line for line in lines)


# How candidates are judged


def test_a_score_is_the_mean_of_the_others_minus_the_own_total_at_every_seat() -> None:
    # Three players, one game: at seat 0 the candidate has 10 and the others 20 and 60, at seat 1 it has 30 and they 0
    # and 40, at seat 2 it has 5 and they 5 and 5. Edges 30, -10, 0; it wins the first, and a third of the last.
    totals = [[10, 20, 60], [0, 30, 40], [5, 5, 5]]
    third = WIN_UNIT // 3
    wins = [[WIN_UNIT, 0, 0], [WIN_UNIT, 0, 0], [third, third, third]]
    batches = [empty_batch(1, 1, 3) for _ in range(3)]
    for batch, total, win in zip(batches, totals, wins, strict=True):
        batch.totals[0], batch.wins[0] = total, win
    sums = tune._tally(batches)
    assert sums["own"].tolist() == [WIN_UNIT + third, 2 * (30 - 10 + 0)]


def test_the_candidates_of_a_generation_play_the_same_games_and_the_next_generation_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    games: list[tuple[int, int]] = []

    def watched(played_task: tune.Task, weights: tune.Weights, first: int, count: int, *rest: Any) -> tune.Outcome:
        games.append((first, count))
        return real_play(played_task, weights, first, count, *rest)

    real_play = tune._play
    monkeypatch.setattr(tune, "_play", watched)
    tune.tune(task(), threads=1)
    each = tune.Search(task()).candidates_each
    assert games == [(0, 60)] * each + [(60, 60)] * each + [(120, 60)] * each + [(180, 200)]


def test_games_are_those_that_are_asked_for() -> None:
    # A run from game 40 on must be the end of a run from game 0 on: 40 + 20 games sum up to 60.
    searched = task()
    weights = searched.start_weights

    def totals(first: int, games: int) -> Any:
        outcome = tune._play(searched, weights, first, games, 1, Path())
        assert outcome.moments.games == games
        return outcome.moments.mean * games

    assert totals(0, 40) + totals(40, 20) == pytest.approx(totals(0, 60))


@pytest.mark.parametrize(
    ("changes", "points"), [({}, True), ({"win": "first_out"}, False), ({"players": 4, "partners": True}, False)]
)
def test_the_score_is_the_win_share_where_own_totals_do_not_decide(changes: dict[str, object], points: bool) -> None:
    searched = task(rules=load_rules("classic", changes), opponents="random")
    assert searched.plays_for_points == points
    assert tune.provenance(searched, 1)["score"] == ("edge" if points else "win_share")


# Going on


def test_an_interrupted_search_goes_on_to_the_same_file(interrupted: Callable[..., Result]) -> None:
    expected = found()
    OUTPUT.unlink()
    stopped = interrupted(2)
    assert stopped.exit_code == 130
    assert "2 of 4 generations are kept in .tuned.partial.toml" in stopped.stderr
    assert not OUTPUT.exists()
    assert found("--resume", "--threads", "2") == expected
    assert not PARTIAL.exists()


def test_an_interrupted_search_can_go_on_for_longer(interrupted: Callable[..., Result]) -> None:
    expected = found("--generations", "5")
    interrupted(3)
    assert found("--resume", "--generations", "5") == expected


def test_an_unfinished_search_can_be_played_by(interrupted: Callable[..., Result]) -> None:
    interrupted(1)
    assert load_weights(PARTIAL) != load_weights(shipped_weights("careful", 2))


def test_an_unfinished_search_is_not_lost_silently(interrupted: Callable[..., Result]) -> None:
    interrupted(1)
    result = craits(*SHORT)
    assert ".tuned.partial.toml is of an interrupted search, and is lost: --resume would go on from it" in result.stderr


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (["--seed", "2"], "seed was 1 and is 2"),
        (["--games", "70"], "games was 60 and is 70"),
        (["--opponents", "greedy"], 'and is ["greedy"]'),
        (["--set", "draw.count=2"], "digest was "),
    ],
)
def test_another_search_is_refused(interrupted: Callable[..., Result], change: list[str], difference: str) -> None:
    interrupted(1)
    message = error("--resume", *change)
    assert message.startswith(".tuned.partial.toml is of another search: ")
    assert difference in message


def test_other_weights_under_the_same_name_are_another_search(interrupted: Callable[..., Result]) -> None:
    start = Path("start.toml")
    start.write_text("[weights]\nshed = 1\n")
    interrupted(1, "--start", "start.toml")
    start.write_text("[weights]\nshed = 2\n")
    assert "start was " in error("--resume", "--start", "start.toml")


def test_more_generations_than_are_wanted_are_refused(interrupted: Callable[..., Result]) -> None:
    interrupted(3)
    assert "has 3 generations already, and generations = 2" in error("--resume", "--generations", "2")


@pytest.mark.parametrize("text", ["", "no toml", "[provenance]\n[search]\nscores = [1]\n"])
def test_a_damaged_file_is_named(text: str) -> None:
    PARTIAL.write_text(text)
    assert error("--resume") == ".tuned.partial.toml is damaged: delete it, or leave out --resume"


# Mistakes


def test_without_the_library_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cma", None)
    assert error() == "tuning needs the library cma: pip install 'craits-sim[bots]'"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--start", "carefull"],
            '"carefull": there is no such file; allowed are careful, tuned, and files of weights',
        ),
        (["--opponents", "greedi"], '"greedi" is no bot'),
        (["--opponents", "greedy,greedy"], "2 bots for 1 players"),
        (["--generations", "0"], "allowed are whole numbers from 1 to 100,000"),
        (["--sigma", "0"], "allowed are numbers above 0"),
        (["--output", "nowhere/tuned.toml"], "the weights cannot be written here: No such file or directory"),
    ],
)
def test_a_mistake_is_named_before_anything_is_played(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "_play", None)
    assert message in error(*arguments)


def test_a_file_of_weights_holds_no_other_tables() -> None:
    OUTPUT.write_text("[weights]\nshed = 1\n[provenence]\n")
    with pytest.raises(WeightsError, match=r'provenence is no table; .* did you mean "provenance"'):
        load_weights(OUTPUT)
