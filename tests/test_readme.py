"""The README knows every command, study, bot and rule set, and its two commands are the ones that are run."""

from pathlib import Path

import pytest

from craits_sim.bots import BOTS
from craits_sim.cli import cli
from craits_sim.rules import preset_names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def commands() -> list[str]:
    """List the commands of the program, those of the studies included."""
    import click

    return cli.list_commands(click.Context(cli))


@pytest.mark.parametrize("name", commands())
def test_every_command_is_in_the_table_of_the_readme(name: str) -> None:
    assert f"| `craits {name}` |" in README


@pytest.mark.parametrize("name", preset_names())
def test_every_rule_set_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in README


@pytest.mark.parametrize("name", BOTS)
def test_every_bot_is_in_the_readme(name: str) -> None:
    assert f"`{name}`" in README


def test_the_checks_run_what_the_readme_says() -> None:
    test_command = next(line[2:] for line in README.splitlines() if line.startswith("$ python3") and "pytest" in line)
    assert test_command in (ROOT / ".ci" / "run").read_text(encoding="utf-8").splitlines()


def test_every_picture_and_page_that_the_readme_shows_is_there() -> None:
    import re

    targets = re.findall(r"\]\(([^)#:]+)\)", README)
    assert targets
    for target in targets:
        assert (ROOT / target).exists(), target
