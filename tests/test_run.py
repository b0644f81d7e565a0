"""``craits run``: several experiment files, or a folder of them."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from craits_sim import runner
from craits_sim.cli import cli
from tests.fake_run import fake_run


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with three experiments, on made-up results."""
    monkeypatch.setattr(runner, "run", fake_run)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "questions").mkdir()
    for name, text in (
        ("b-dealer", 'study = "dealer"\n'),
        ("a-seats", 'study = "seats"\nvary.players = [2, 3]\n'),
        ("c-length", 'study = "length"\n'),
    ):
        (tmp_path / "questions" / f"{name}.toml").write_text(f"games = 2000\n{text}")
    (tmp_path / "questions" / "notes.md").write_text("no experiment")
    return tmp_path


def test_a_folder_is_run_in_the_order_of_names(here: Path) -> None:
    result = craits("run", "questions")
    assert result.exit_code == 0
    assert re.findall(r"^Report: (.*)$", result.stdout, re.MULTILINE) == [
        str(Path("reports", name, "index.html")) for name in ("a-seats", "b-dealer", "c-length")
    ]
    assert sorted(os.listdir("reports")) == ["a-seats", "b-dealer", "c-length"]


def test_files_are_run_in_the_order_given_and_other_values_hold_for_all(here: Path) -> None:
    result = craits(
        "run", "questions/c-length.toml", "questions/a-seats.toml", "--games", "1k", "--seed", "7", "--json"
    )
    assert result.exit_code == 0
    objects: list[dict[str, Any]] = [json.loads(line) for line in result.stdout.splitlines()]
    assert [written["study"] for written in objects] == ["length", "seats"]
    assert {(written["experiment"]["games"], written["experiment"]["seed"]) for written in objects} == {(1000, 7)}


def test_one_display_shows_how_far_all_are(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("craits_sim.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    lines = craits("run", "questions").stderr.splitlines()
    shown = [re.match(r"(\d of \d: [\w-]+): ([\d,]+) of ([\d,]+) games", line) for line in lines]
    assert all(shown)
    # Two design points of the first; the end of the last is not shown.
    assert [match.groups() for match in shown if match] == [
        ("1 of 3: a-seats", "2,000", "8,000"),
        ("1 of 3: a-seats", "4,000", "8,000"),
        ("2 of 3: b-dealer", "5,000", "8,000"),
        ("2 of 3: b-dealer", "6,000", "8,000"),
        ("3 of 3: c-length", "7,000", "8,000"),
    ]
    assert craits("run", "questions", "--quiet").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["questions", "--name", "all"], "--name all is for one experiment, but these are 3"),
        (["questions", "--records", "g.parquet"], "--records g.parquet is for one experiment"),
        (["questions", "questions/a-seats.toml"], "a-seats.toml is given twice"),
        (["questions", "same.toml"], 'are both named "a-seats"'),
        (["questions", "wrong.toml"], 'did you mean "draw.count"'),
        (["empty"], "empty holds no experiment file"),
        (["questions", "--output", "taken"], "the report cannot be written here"),
    ],
)
def test_a_mistake_in_any_file_is_found_before_the_first_is_run(
    here: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("games were played"))
    (here / "empty").mkdir()
    (here / "taken").write_text("a file")
    (here / "same.toml").write_text('study = "seats"\nname = "a-seats"\n')
    (here / "wrong.toml").write_text('study = "seats"\nset.draw.cuont = 2\n')
    result = craits("run", *arguments)
    assert result.exit_code == 2
    assert message in result.stderr
    assert result.stderr.count("Error:") == 1


def test_what_is_finished_before_ctrl_c_stays(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = []

    def interrupted_in_the_second(*arguments: Any, **options: Any) -> Any:
        runs.append(1)
        if len(runs) == 2:
            raise KeyboardInterrupt
        return fake_run(*arguments, **options)

    monkeypatch.setattr(runner, "run", interrupted_in_the_second)
    result = craits("run", "questions")
    assert result.exit_code == 130
    assert os.listdir("reports") == ["a-seats"]
