"""The scenarios, played by the slow second engine."""

import tomllib
from pathlib import Path

import pytest

from tests.naive import play_scenario

FOLDER = Path(__file__).parent / "scenarios"
SCENARIOS = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.rglob("*.toml"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenario_ends_as_expected(name: str) -> None:
    path = FOLDER / name
    expected = tomllib.loads(path.read_text(encoding="utf-8"))["expect"]
    state = play_scenario(path)
    assert {key: state[key] for key in expected} == expected
