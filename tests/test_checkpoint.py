"""Checkpoints: an interrupted run goes on to the same numbers, and never from those of another experiment."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from craits_sim import runner
from craits_sim.cli import cli
from craits_sim.sequential import looks
from craits_sim.studies.base import Sums

SHORT = ("--players", "3", "--set", "deals=[2, 1]", "--quiet")
PARTIAL = Path("reports/.seats.partial")
NUMBERS = ("summary.csv", "chart.svg", "experiment.toml", "index.html")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Result]:
    """Give a function that runs a command, and presses Ctrl-C when so many games are played, in chunks of 300."""

    def run(games: int, *arguments: str) -> Result:
        def run_until_ctrl_c(*positional: Any, **options: Any) -> Sums:
            def press(played: int, _sums: Sums) -> None:
                if played >= games:
                    raise KeyboardInterrupt

            return real_run(*positional, **options | {"on_progress": press})

        real_run = runner.run
        with monkeypatch.context() as patch:
            patch.setattr(runner, "CHUNK_GAMES", 300)
            patch.setattr(runner, "run", run_until_ctrl_c)
            return craits(*arguments)

    return run


@pytest.mark.parametrize(
    "how",
    [
        ["--games", "9000"],
        ["--precision", "1.6", "--games", "1e6"],
        ["--until-decided", "--margin", "3", "--games", "1e6"],
        ["--games", "5000", "--vary", "draw.count=[1, 2]"],
    ],
    ids=str,
)
def test_an_interrupted_run_goes_on_to_the_numbers_of_one_that_was_not(
    interrupted: Callable[..., Result], how: list[str]
) -> None:
    command = ["seats", *SHORT, *how]
    assert craits(*command, "--threads", "2").exit_code == 0
    whole = {name: Path("reports/seats", name).read_bytes() for name in NUMBERS}
    # Ctrl-C twice, and other threads each time.
    for threads, games in ("1", 700), ("2", 2500):
        stopped = interrupted(games, *command, "--threads", threads, *(["--resume"] * PARTIAL.exists()))
        assert stopped.exit_code == 130
        kept = next(number for number in range(games, games + 300) if f"{number:,} games of seats" in stopped.stderr)
        assert stopped.stderr == (
            f"{kept:,} games of seats are kept: the same command with --resume goes on from there.\nStopped.\n"
        )
        assert PARTIAL.exists()
    assert craits(*command, "--threads", "2", "--resume").exit_code == 0
    assert {name: Path("reports/seats", name).read_bytes() for name in NUMBERS} == whole
    assert os.listdir("reports") == ["seats"]


def test_a_run_that_is_interrupted_at_a_look_asks_again_whether_that_is_enough(
    interrupted: Callable[..., Result],
) -> None:
    command = ["seats", *SHORT, "--precision", "2.5", "--games", "1e6"]
    assert craits(*command).exit_code == 0
    games = json.loads(Path("reports/seats/provenance.json").read_text())["games"]
    assert games in looks(10**6)
    # Ctrl-C comes after the games that are enough, and before they are looked at.
    assert interrupted(games, *command).exit_code == 130
    assert craits(*command, "--resume").exit_code == 0
    assert json.loads(Path("reports/seats/provenance.json").read_text())["games"] == games


def test_a_run_may_go_on_with_more_games_but_not_with_fewer_than_are_played(
    interrupted: Callable[..., Result],
) -> None:
    assert interrupted(900, "seats", *SHORT, "--games", "2000").exit_code == 130
    fewer = craits("seats", *SHORT, "--games", "800", "--resume")
    assert fewer.exit_code == 2
    assert "has 900 games already, and games = 800" in fewer.stderr
    assert craits("seats", *SHORT, "--games", "3000", "--resume").exit_code == 0
    resumed = Path("reports/seats/summary.csv").read_bytes()
    assert craits("seats", *SHORT, "--games", "3000").exit_code == 0
    assert Path("reports/seats/summary.csv").read_bytes() == resumed


@pytest.mark.parametrize(
    ("other", "part"),
    [
        (["--seed", "2"], "seed was 1 and is 2"),
        (["--set", "draw.count=2"], "set was"),
        (["--bots", "greedy"], 'bots was "random" and is "greedy"'),
        (["--precision", "0.1", "--games", "1e6"], "precision was null and is 0.1"),
        (["--level", "0.9"], "level was 0.95 and is 0.9"),
    ],
    ids=str,
)
def test_what_another_experiment_has_played_is_refused_with_what_differs(
    monkeypatch: pytest.MonkeyPatch, interrupted: Callable[..., Result], other: list[str], part: str
) -> None:
    assert interrupted(900, "seats", *SHORT, "--games", "5000").exit_code == 130
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("games were played"))
    result = craits("seats", *SHORT, "--games", "5000", *other, "--resume")
    assert result.exit_code == 2
    assert "reports/.seats.partial is of another experiment" in result.stderr.replace(os.sep, "/")
    assert part in result.stderr
    assert PARTIAL.exists()


def test_what_other_rules_under_the_same_name_have_played_is_refused(interrupted: Callable[..., Result]) -> None:
    Path("mine.toml").write_text('name = "mine"\nplayers = 3\ndeals = [2, 1]\n')
    command = ["seats", "--rules", "mine.toml", "--quiet", "--games", "5000"]
    assert interrupted(900, *command).exit_code == 130
    Path("mine.toml").write_text('name = "mine"\nplayers = 3\ndeals = [2, 2]\n')
    result = craits(*command, "--resume")
    assert result.exit_code == 2
    assert "rules was" in result.stderr


@pytest.mark.parametrize("damage", [lambda data: data[: len(data) // 2], lambda _data: b"", lambda _data: b"torn" * 99])
def test_a_damaged_checkpoint_is_refused(interrupted: Callable[..., Result], damage: Callable[[bytes], bytes]) -> None:
    assert interrupted(900, "seats", *SHORT, "--games", "5000").exit_code == 130
    PARTIAL.write_bytes(damage(PARTIAL.read_bytes()))
    result = craits("seats", *SHORT, "--games", "5000", "--resume")
    assert result.exit_code == 2
    assert "is damaged: delete it, or leave out --resume" in result.stderr


def test_records_are_not_kept(interrupted: Callable[..., Result]) -> None:
    command = ["seats", *SHORT, "--games", "5000", "--records", "games.parquet"]
    stopped = interrupted(900, *command)
    assert (stopped.exit_code, stopped.stderr) == (130, "Stopped.\n")
    assert not PARTIAL.exists()
    refused = craits(*command, "--resume")
    assert refused.exit_code == 2
    assert "leave out --records" in refused.stderr


def test_a_run_that_begins_anew_says_what_it_will_lose(interrupted: Callable[..., Result]) -> None:
    command = ["seats", *SHORT, "--games", "1000"]
    assert interrupted(600, *command).exit_code == 130
    anew = craits(*command)
    assert anew.exit_code == 0
    assert "is of an interrupted run, and will be lost: --resume goes on from it" in anew.stderr
    assert not PARTIAL.exists()
    # Without a checkpoint there is nothing to go on from, and the run begins with the first game.
    assert craits(*command, "--resume").exit_code == 0


@pytest.mark.skipif(os.name == "nt", reason="sends a signal of POSIX")
def test_a_run_that_is_killed_goes_on_from_what_was_kept_last() -> None:
    command = ["seats", *SHORT, "--games", "6000", "--threads", "2"]
    script = """
import os, signal, sys
from craits_sim import checkpoint, runner
from craits_sim.cli import cli

keep = checkpoint.Checkpoint.keep

def keep_and_die(self, played):
    keep(self, played)
    if played.games >= 1000:
        os.kill(os.getpid(), signal.SIGKILL)

checkpoint.Checkpoint.keep = keep_and_die
runner.CHUNK_GAMES = 100
runner.SECONDS_BETWEEN_KEEPS = 0.0
cli(sys.argv[1:])
"""
    killed = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, timeout=300, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert PARTIAL.exists()
    assert craits(*command, "--resume").exit_code == 0
    resumed = Path("reports/seats/summary.csv").read_bytes()
    assert craits(*command).exit_code == 0
    assert Path("reports/seats/summary.csv").read_bytes() == resumed


def test_a_series_goes_on_with_what_is_not_finished(interrupted: Callable[..., Result]) -> None:
    Path("questions").mkdir()
    for name, study in ("a", "length"), ("b", "seats"), ("c", "dealer"):
        Path("questions", f"{name}.toml").write_text(f'study = "{study}"\ngames = 1200\nset.deals = [2, 1]\n')
    assert craits("run", "questions/a.toml", "--quiet").exit_code == 0
    assert interrupted(600, "run", "questions/b.toml", "--quiet").exit_code == 130
    finished = Path("reports/a/index.html").stat().st_mtime_ns
    result = craits("run", "questions", "--resume", "--quiet")
    assert result.exit_code == 0, result.output
    assert Path("reports/a/index.html").stat().st_mtime_ns == finished
    assert result.stderr == f"a is finished: {Path('reports/a/index.html')}\n"
    assert sorted(os.listdir("reports")) == ["a", "b", "c"]
    # Other games are not finished.
    assert "is finished" not in craits("run", "questions", "--resume", "--quiet", "--seed", "2").stderr
