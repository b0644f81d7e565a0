"""From Python: the same numbers as on the command line, as frames."""

import doctest
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from click.testing import CliRunner

import craits_sim
from craits_sim import Rules, api, compare, load_rules, simulate, study
from craits_sim.cli import cli
from craits_sim.rules import RulesError
from craits_sim.studies import StudyError


def craits_json(*arguments: str) -> dict[str, Any]:
    result = CliRunner().invoke(cli, [*arguments, "--json", "--quiet"])
    assert result.exit_code == 0, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


def test_the_examples_in_docstrings_say_what_happens() -> None:
    for module in (craits_sim, api):
        failed, tried = doctest.testmod(module)
        assert failed == 0
        assert tried > 0


def test_importing_the_package_imports_nothing_heavy() -> None:
    script = "import sys, craits_sim; print([name for name in ('numpy', 'numba', 'pandas') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_package_lists_what_it_offers() -> None:
    assert set(craits_sim.__all__) <= set(dir(craits_sim))
    assert craits_sim.Rules is Rules
    with pytest.raises(AttributeError, match="simulte"):
        craits_sim.simulte  # noqa: B018


def test_simulate_gives_what_the_command_prints() -> None:
    table = simulate("short", changes={"draw.count": 2}, players=3, bots="greedy", games=500, seed=7, threads=1)
    arguments = ["--rules", "short", "--set", "draw.count=2", "--players", "3", "--bots", "greedy"]
    printed = craits_json("simulate", *arguments, "--games", "500", "--seed", "7")

    def estimates(estimand: str, label: str | None) -> list[float]:
        rows = table[table["estimand"] == estimand]
        for other in ("position", "seat", "offset", "round"):
            rows = rows[rows[other].notna() if other == label else rows[other].isna()]
        return list(rows["estimate"])

    for estimand in ("win_share", "mean_total", "sd_total"):
        assert estimates(estimand, "position") == printed[estimand]
    for estimand in ("win_share", "mean_total"):
        assert estimates(estimand, "seat") == printed["by_seat"][estimand]
    for estimand in ("go_out_share", "mean_points"):
        assert estimates(estimand, "offset") == printed["by_offset"][estimand]
    for estimand, mean in printed["per_round"].items():
        assert estimates(estimand, None) == [mean]
    assert estimates("turns", "round") == printed["turns_by_round"]
    assert estimates("truncated", None) == [printed["truncated"]]
    assert set(table["n"]) == {500}
    for key, value in table.attrs.items():
        assert printed[key] == value


def test_a_study_gives_what_the_command_writes(tmp_path: Path) -> None:
    table = study("seats", vary={"players": [2, 3]}, games=300, seed=7)
    arguments = ["seats", "--vary", "players=[2, 3]", "--games", "300", "--seed", "7", "--output", str(tmp_path)]
    printed = craits_json(*arguments)
    assert table.attrs["conclusion"] == printed["conclusion"]
    written = pd.read_csv(tmp_path / "seats" / "summary.csv")
    assert list(written.columns) == list(table.columns)
    assert list(written["estimate"]) == list(table["estimate"])


def test_rules_may_be_an_object_a_preset_or_a_file(tmp_path: Path) -> None:
    house = load_rules("short", {"draw.count": 2})
    (tmp_path / "house.toml").write_text('base = "short"\ndraw.count = 2\n')
    tables = [
        simulate(house, games=200),
        simulate("short", changes={"draw.count": 2}, games=200),
        simulate(tmp_path / "house.toml", games=200),
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    by_object, by_name = study("seats", rules=house, games=200), study("seats", rules="short", games=200)
    assert not by_object.equals(by_name)
    by_change = study("seats", rules="short", changes={"draw.count": 2}, games=200)
    pd.testing.assert_frame_equal(by_object, by_change)
    assert study("seats", rules=load_rules("short"), games=200).attrs["caption"] == by_name.attrs["caption"]


def test_compare_gives_what_the_command_writes(tmp_path: Path) -> None:
    table = compare("short", {"two": {"draw.count": 2}, "wiki": "wiki"}, games=300, seed=7)
    arguments = ["--rules", "short", "--variant", "two: draw.count=2", "--variant", "wiki", "--games", "300"]
    printed = craits_json("compare", *arguments, "--seed", "7", "--output", str(tmp_path))
    assert table.attrs["conclusion"] == printed["conclusion"]
    assert [row["estimate"] for row in printed["summary"]] == list(table["estimate"].replace(float("nan"), None))


def test_a_variant_may_be_rules() -> None:
    house = load_rules("short", {"draw.count": 2})
    by_object = compare("short", {"two": house}, games=200)
    pd.testing.assert_frame_equal(by_object, compare("short", {"two": {"draw.count": 2}}, games=200))


def test_mistakes_are_value_errors_with_a_message() -> None:
    with pytest.raises(RulesError, match="clasic"):
        simulate("clasic")
    with pytest.raises(StudyError, match="seets"):
        study("seets")
    with pytest.raises(ValueError, match="whole numbers from 1"):
        simulate(games=0)
    with pytest.raises(ValueError, match=r"vary\.players"):
        study("seats", vary={"players": []})
