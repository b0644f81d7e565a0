"""The commands ``craits rules ...``."""

import json
import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from craits_sim.cli.rules import rules
from craits_sim.rules import FIELDS, NAMES, load_rules, preset_names


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(rules, arguments)


def output(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    assert not result.stderr
    return result.stdout


def error(*arguments: str) -> str:
    result = run(*arguments)
    assert result.exit_code == 2
    assert not result.stdout
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    return result.stderr.removeprefix("Error: ").rstrip("\n")


def test_list_names_every_preset_with_its_digest_and_description() -> None:
    lines = output("list").splitlines()
    for name in preset_names():
        preset = load_rules(name)
        assert any(line.split() == [name, preset.digest, *preset.description.split()] for line in lines)
    rows = json.loads(output("list", "--json"))
    assert [row["name"] for row in rows] == list(preset_names())
    assert set(rows[0]) == {"name", "digest", "description"}


def test_show_has_every_field_under_the_headings_of_the_rules_page() -> None:
    text = output("show", "classic")
    words = text.split()
    assert set(FIELDS) - set(NAMES) <= set(words)
    headings = ["The game", "A turn", "Abilities", "The crank", "Scoring a round"]
    positions = [text.index(f"\n{heading} ") for heading in headings]
    assert positions == sorted(positions)
    assert "*" not in words


def test_show_marks_what_differs_from_classic() -> None:
    marked = [line.split()[2] for line in output("show", "wiki").splitlines() if line.startswith(" *")]
    assert marked == ["wild", "stock.pressure"]
    assert '["8", "9"] (classic: ["8"])' in output("show", "wiki")


def test_show_says_where_a_change_has_no_effect() -> None:
    assert 'draw.play_drawn counts as "must": draw.until_playable implies must.' in output("show", "last_card_house")
    Path("odd.toml").write_text('abilities = {2 = "none", A = "crank:3"}\n')
    assert 'abilities.A counts as "none": a rank is crank:V and no rank starts' in output("show", "odd.toml")


def test_show_gives_json_by_dotted_key() -> None:
    shown = json.loads(output("show", "wiki", "--json"))
    assert shown["name"] == "wiki"
    assert shown["digest"] == load_rules("wiki").digest
    assert shown["rules"]["abilities.7"] == "next_draws:1"
    assert shown["classic"] == {"wild": ["8"], "stock.pressure": 0}
    assert set(shown["rules"]) == set(FIELDS) - set(NAMES)


def test_diff_lists_the_fields_that_differ_with_both_values() -> None:
    lines = [line.split() for line in output("diff", "classic", "wiki").splitlines()]
    assert ["wild", '["8"]', '["8",', '"9"]'] in lines
    assert ["stock.pressure", "0", "5"] in lines
    document = json.loads(output("diff", "classic", "wiki", "--json"))
    assert document["fields"][0] == {"key": "wild", "a": ["8"], "b": ["8", "9"]}
    assert document["b"] == {"name": "wiki", "digest": load_rules("wiki").digest}


def test_diff_says_when_two_rule_sets_play_and_score_the_same() -> None:
    assert "play and score the same" in output("diff", "classic", "classic")
    Path("odd.toml").write_text("draw.limit = 3\n")
    text = output("diff", "classic", "odd.toml")
    assert "draw.limit" in text
    assert "classic and odd play and score the same" in text


def test_check_gives_name_and_digest() -> None:
    Path("house.toml").write_text("draw.count = 2\n")
    digest = load_rules("house.toml").digest
    assert output("check", "house.toml", "wiki").splitlines() == [
        f"house.toml: OK  house  {digest}",
        f"wiki: OK  wiki  {load_rules('wiki').digest}",
    ]


def test_check_goes_on_after_a_bad_file_and_ends_with_2() -> None:
    Path("bad.toml").write_text('draw.play_drawn = "maybe"\n')
    result = run("check", "bad.toml", "none.toml", "classic")
    assert result.exit_code == 2
    assert result.stdout == f"classic: OK  classic  {load_rules('classic').digest}\n"
    first, second = result.stderr.splitlines()
    assert first == 'Error: bad.toml: draw.play_drawn = "maybe": allowed are no, may, must; did you mean "may"?'
    assert second.startswith("Error: none.toml: no such rules file; presets are classic, ")


@pytest.mark.parametrize(
    "arguments", [["show", "clasic"], ["diff", "classic", "clasic"], ["new", "x", "--base", "clasic"]]
)
def test_a_rule_set_that_does_not_exist_is_told_with_the_nearest_one(arguments: list[str]) -> None:
    assert error(*arguments).endswith('did you mean "classic"?')


def test_schema_is_json() -> None:
    assert json.loads(output("schema"))["properties"]["players"]["maximum"] == 10


def test_new_writes_a_commented_file_that_loads_again() -> None:
    written = output("new", "house", "--set", "draw.count=2", "--set", "wild=[8, J]", "--set", "abilities.9=nominate")
    house = load_rules("house.toml")
    assert written == f"house.toml: written  house  {house.digest}\n"
    assert house.name == "house"
    expected = load_rules("classic", {"draw.count": 2, "wild": ["8", "J"], "abilities.9": "nominate"})
    assert house.digest == expected.digest
    text = Path("house.toml").read_text()
    assert "# Cards that a player draws who cannot play (RULES.md R9).\ndraw.count = 2\n" in text
    assert "players" not in text


def test_new_builds_on_a_preset_or_a_file() -> None:
    output("new", "first", "--base", "short", "--set", "players=3")
    Path("inner").mkdir()
    output("new", "second", "--base", "first.toml", "--set", "draw.count=2", "--output", "inner/second.toml")
    assert 'base = "../first.toml"' in Path("inner/second.toml").read_text()
    second = load_rules("inner/second.toml")
    assert (second.name, second.players, second.draw.count, len(second.deals)) == ("second", 3, 2, 8)


def test_new_never_overwrites_a_file() -> None:
    Path("house.toml").write_text("players = 3\n")
    assert error("new", "house") == "house.toml: exists already, and is not overwritten"
    assert Path("house.toml").read_text() == "players = 3\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["classic"], '"classic" is a preset: choose another name'),
        (["a/b"], '"a/b" is a path: give a name, and the path as --output'),
        (["x", "--set", "draw.count"], '"draw.count": changes are written KEY=VALUE, like draw.count=2'),
        (["x", "--set", "draw.count=0"], "draw.count = 0: allowed are whole numbers from 1 to 52"),
        (["x", "--set", "base=short"], "base: only a rules file has a base"),
        (["x" * 61], "allowed are texts of one line, of 1 to 60 characters"),
        (["x", "--output", "no/such/folder.toml"], "no/such/folder.toml: No such file or directory"),
    ],
)
def test_new_refuses_what_cannot_be_and_writes_nothing(arguments: list[str], message: str) -> None:
    assert message in error("new", *arguments)
    assert os.listdir() == []


@pytest.mark.parametrize("name", rules.commands)
def test_every_command_has_a_line_of_help_and_an_example(name: str) -> None:
    command = rules.commands[name]
    help_text = command.help or ""
    assert help_text.splitlines()[0].endswith(".")
    assert f"craits rules {name}" in help_text
