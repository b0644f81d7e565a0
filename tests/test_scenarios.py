"""The scenarios through `craits trace --scenario`, and what it says about a scenario that cannot be played."""

import json
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from craits_sim.cli import cli
from craits_sim.scenario import ScenarioError, load_scenario
from craits_sim.trace import play_scenario, trace_scenario
from tests import naive

FOLDER = Path(__file__).parent / "scenarios"
SCENARIOS = sorted(FOLDER.rglob("*.toml"))


def craits_trace(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["trace", *arguments], prog_name="craits")


def position(**values: Any) -> dict[str, Any]:
    """Set up two players, the second of whom dealt, unless the scenario says otherwise."""
    table = {"dealer": 1, "starter": "KS", "hands": ["QS 4C 8D", "JS 2C AD 9H"], "stock": "5C 6C 7C"}
    return {**table, **values}


def state(**values: Any) -> dict[str, Any]:
    played: dict[str, Any] = play_scenario(position(**values))["state"]
    return played


# --- The files ---


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_a_scenario_ends_as_expected(path: Path) -> None:
    expected = tomllib.loads(path.read_text(encoding="utf-8"))["expect"]
    result = craits_trace("--scenario", str(path), "--json")
    assert result.exit_code == 0, result.output
    played = json.loads(result.stdout)
    assert list(played) == ["file", "events", "state"]
    assert {key: played["state"][key] for key in expected} == expected


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_both_engines_play_a_scenario_alike(path: Path) -> None:
    slow = naive.set_up(tomllib.loads(path.read_text(encoding="utf-8")))
    with suppress(naive.MovesRunOut):
        slow.play()
    played = trace_scenario(load_scenario(path))
    assert [tuple(event) for event in played.events] == slow.events
    assert played.state == naive.state(slow)


def test_a_folder_stands_for_the_files_below_it_in_order() -> None:
    result = craits_trace("--scenario", str(FOLDER), "--json")
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == [str(path) for path in SCENARIOS]


def test_files_are_named_as_they_were_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cranks/long").mkdir(parents=True)
    for file in ("cranks/b.toml", "cranks/long/a.toml"):
        Path(file).write_text('dealer = 1\nstarter = "KS"\nhands = ["4C", "JS"]\n')
    for given, named in [
        ("cranks", ["cranks/b.toml", "cranks/long/a.toml"]),
        ("./cranks/", ["./cranks/b.toml", "./cranks/long/a.toml"]),
        ("./cranks/b.toml", ["./cranks/b.toml"]),
    ]:
        result = craits_trace("--scenario", given, "--json")
        assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == named


def test_the_option_is_repeatable_and_keeps_the_order() -> None:
    files = [str(FOLDER / f"{name}.toml") for name in ("starter_two", "blocked", "starter_two")]
    result = craits_trace(*[argument for file in files for argument in ("--scenario", file)], "--json")
    assert [json.loads(line)["file"] for line in result.stdout.splitlines()] == files
    text = craits_trace("--scenario", files[0], "--scenario", files[1]).stdout
    assert [line for line in text.splitlines() if line.endswith(".toml")] == files[:2]


# --- What a scenario may say ---


def test_the_position_before_any_move() -> None:
    assert play_scenario(position()) == {
        "events": [
            *({"seat": 0, "action": "deal", "card": card} for card in ("4C", "8D", "QS")),
            *({"seat": 1, "action": "deal", "card": card} for card in ("2C", "AD", "9H", "JS")),
            {"seat": 1, "action": "starter", "card": "KS", "suit": "S"},
        ],
        "state": {
            "hands": ["4C 8D QS", "2C AD 9H JS"],
            "top": "KS",
            "suit": "S",
            "direction": 1,
            "to_act": 0,
            "crank": 0,
            "stock": 3,
            "over": False,
            "went_out": None,
            "points": None,
            "legal": ["8D", "QS"],
        },
    }


def test_an_event_says_who_did_what() -> None:
    """RULES.md R12, R15, R17."""
    scenario = position(hands=["2S JS", "JD"], stock="5C", moves=["2S", "draw", "JS"], set={"stock.pressure": 5})
    assert play_scenario(scenario)["events"][4:] == [
        {"seat": 0, "action": "play", "card": "2S", "suit": "S", "crank": 2},
        {"seat": 1, "action": "draw", "card": "5C", "cause": "crank"},
        {"seat": 1, "action": "reshuffle", "cards": 1},
        {"seat": 1, "action": "pressure", "points": 5},
        {"seat": 1, "action": "draw", "card": "KS", "cause": "crank"},
        {"seat": 0, "action": "play", "card": "JS", "suit": "S"},
        {"seat": 0, "action": "go_out"},
        {"seat": 0, "action": "score", "points": 0},
        {"seat": 1, "action": "score", "points": 10 + 30 + 10 + 5},
    ]


def test_a_stock_left_out_is_every_other_card_in_an_order_of_the_seed() -> None:
    scenario = position(hands=["4C 4D", "JS QC"])
    del scenario["stock"]
    assert play_scenario(scenario)["state"]["stock"] == 47
    drawn = {
        seed: play_scenario({**scenario, "moves": ["draw"], "seed": seed})["events"][-1]["card"] for seed in range(9)
    }
    assert len({*drawn.values()}) > 3
    for seed, card in drawn.items():
        assert play_scenario({**scenario, "moves": ["draw"]}, seed=seed)["events"][-1]["card"] == card


def test_the_seed_of_the_command_is_that_of_a_scenario_without(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    text = 'dealer = 1\nstarter = "KS"\nhands = ["4C", "JS"]\nbot = "random"\n'
    file.write_text(text)
    by_option = [craits_trace("--scenario", str(file), "--seed", seed, "--json").stdout for seed in ("1", "2")]
    assert by_option[0] == craits_trace("--scenario", str(file), "--json").stdout != by_option[1]
    file.write_text(text + "seed = 2\n")
    assert craits_trace("--scenario", str(file), "--json").stdout == by_option[1]


def test_a_bot_goes_on_when_the_moves_run_out() -> None:
    assert not state(moves=["QS"])["over"]
    assert state(moves=["QS"], bot="random")["over"]
    scenario = position(hands=["QS 2S 4C", "JC JD"], starter="8S", moves=[">S", "QS"], bot="greedy,random")
    events = play_scenario(scenario)["events"]
    assert events[5] == {"seat": 1, "action": "starter", "card": "8S", "suit": "S"}
    assert events[6] == {"seat": 0, "action": "play", "card": "QS", "suit": "S"}
    assert events[-1]["action"] == "score"


def test_rules_are_a_preset_or_a_file_beside_the_scenario_and_may_be_changed(tmp_path: Path) -> None:
    (tmp_path / "house.toml").write_text('base = "wiki"\nwild = ["J"]\n')
    text = 'dealer = 1\nstarter = "KS"\nhands = ["4D", "JC 9H 8D 2C"]\nmoves = ["draw"]\nstock = "5C 6C"\n'
    file = tmp_path / "a.toml"
    for rules, changes, legal in [
        ("", "", ["8D"]),
        ('rules = "wiki"\n', "", ["8D", "9H"]),
        ('rules = "house.toml"\n', "", ["JC"]),
        ('rules = "house.toml"\n', '[set]\n"wild" = ["2"]\n', ["2C"]),
        ("", '[set]\n"match" = "suit_or_color"\nwild = []\n', ["2C", "JC"]),
        ("", "[set]\nwild = []\ndraw.count = 2\n", []),
    ]:
        file.write_text(text + rules + changes)
        result = craits_trace("--scenario", str(file), "--json")
        assert result.exit_code == 0, result.output
        assert json.loads(result.stdout)["state"]["legal"] == legal


def test_with_two_decks_a_card_may_be_named_twice() -> None:
    """RULES.md R1."""
    two = position(hands=["QS QS 4C", "JS"], moves=["QS", "JS"], set={"decks": 2})
    assert play_scenario(two)["state"]["hands"] == ["4C QS", ""]
    del two["stock"]
    assert play_scenario(two)["state"]["stock"] == 104 - 5


def test_more_players_than_the_rules_deal_cards_for_may_sit_at_a_position() -> None:
    """RULES.md R1 limits what is dealt; here nothing is."""
    assert state(hands=["2C", "3C", "4C", "5C", "6C", "7C", "8C"], stock="")["to_act"] == 2


def test_the_dealer_names_the_suit_of_a_starter() -> None:
    """RULES.md R5; left out, it is the card's own."""
    assert [state(starter="8S", moves=moves)["suit"] for moves in ([], [">H"], [">s"])] == ["S", "H", "S"]
    assert [state(starter="9S", moves=moves)["suit"] for moves in ([], [">C"])] == ["S", "C"]


def test_a_seat_may_draw_pass_or_play_where_the_rules_let_it() -> None:
    """RULES.md R9."""
    may = {"hands": ["QH", "JD QC"], "stock": "4S 5C", "set": {"draw.play_drawn": "may"}}
    assert state(**may, moves=["draw"])["legal"] == ["4S"]
    assert state(**may, moves=["draw", "pass"])["hands"][0] == "QH 4S"
    assert state(**may, moves=["draw", "4S"])["hands"][0] == "QH"
    assert state(moves=["draw"], set={"draw.voluntary": True})["hands"][0] == "4C 5C 8D QS"


# --- What it may not say ---


@pytest.mark.parametrize(
    ("values", "parts"),
    [
        ({"moves": ["8C"]}, ['moves[0] "8C": seat 0 does not hold 8C', "legal: 8D, QS", "R9"]),
        ({"moves": ["QS", "2C"]}, ['moves[1] "2C": seat 1', "spades", "QS", "suit_or_rank", "R8", "legal: JS"]),
        ({"moves": ["draw"]}, ['moves[0] "draw": seat 0 can play, and so must', "R9", "legal: 8D, QS"]),
        ({"moves": ["pass"]}, ['moves[0] "pass": seat 0 has not drawn', "R9", "legal: 8D, QS"]),
        ({"moves": ["4C"], "hands": ["4C", "JD"]}, ["seat 0", "R8", 'legal: "draw"']),
        (
            {"moves": ["2S", "8H"], "hands": ["2S 4C", "8H AC"]},
            ['moves[1] "8H": seat 1', "in a crank only A and 2 follow", "R14", "legal: AC"],
        ),
        ({"moves": ["2S", "8H"], "hands": ["2S 4C", "8H"]}, ["seat 1", "R14", 'legal: "draw"']),
        ({"moves": ["2S", "draw"], "hands": ["2S 4C", "8H AC"]}, ["seat 1 can play", "R14", "legal: AC"]),
        ({"moves": ["QS>H"]}, ["seat 0 cannot name that suit", "QS", "can be S", "legal: 8D, QS"]),
        ({"moves": ["9S>D"], "hands": ["9S 4C", "JS"]}, ["seat 0 cannot name that suit", "can be C, S"]),
        (
            {"moves": ["draw", "pass"], "hands": ["QH", "JD"], "stock": "4S", "set": {"draw.play_drawn": "must"}},
            ['moves[1] "pass": seat 0 must play after its draw', "R9", "legal: 4S"],
        ),
        (
            {"moves": ["draw", "draw"], "hands": ["QH", "JD"], "stock": "4S", "set": {"draw.play_drawn": "may"}},
            ['moves[1] "draw": seat 0 has drawn already', "R9", 'legal: 4S, "pass"'],
        ),
        (
            {"moves": ["draw"], "stock": "", "set": {"draw.voluntary": True}},
            ["seat 0 can play, and there is no card to draw", "R12"],
        ),
        (
            {"moves": ["QS", "JS"], "hands": ["QS", "JS 4C"]},
            ['moves[1] "JS": the round is over', "seat 0 has gone out", "R11"],
        ),
        (
            {"moves": ["draw"] * 3, "hands": ["4C", "4D"], "stock": ""},
            ['moves[2] "draw": the round is over', "blocked", "R13"],
        ),
        (
            {"moves": ["QS", "JS"], "set": {"turn_cap": 1}},
            ['moves[1] "JS": the round is over', "turn cap of 1", "R13"],
        ),
        ({"moves": [">H"]}, ['moves[0] ">H": seat 1', "the starter KS", "R5", 'legal: ">S"']),
        ({"moves": [">H"], "starter": "8C", "set": {"starter.acts": False}}, ["the starter 8C", "R5", 'legal: ">C"']),
        ({"moves": [">C"], "starter": "9D"}, ["the starter 9D", "R5", 'legal: ">D", ">H"']),
        ({"moves": ["QS", ">H"]}, ['moves[1] ">H": seat 1 is to play', "only the first move", "R5", "legal: JS"]),
        ({"moves": ["drw"]}, ['moves[0] = "drw"', "8S>H", '"pass"', 'did you mean "draw"?']),
        ({"moves": ["QZ"]}, ['moves[0] = "QZ"', 'did you mean "Q']),
        ({"moves": ["8D>X"]}, ['moves[0] = "8D>X"', 'did you mean "8D>']),
        ({"moves": "8C"}, ['moves = "8C"', "lists of moves"]),
        ({"moves": ["QS", 3]}, ["moves[1] = 3", "lists of moves"]),
        ({"stok": "4C"}, ["stok: no such key", "keys are rules, players", 'did you mean "stock"?']),
        ({"hands": ["QS", "11S"]}, ['hands[1]: "11S" is no card', "like 10H", 'did you mean "10S"?']),
        ({"discards": "QS"}, ["discards: QS is in hands[0] already", "one deck has it once"]),
        (
            {"hands": ["QS QS", "QS"], "set": {"decks": 2}},
            ["hands[1]: QS is in hands[0] already", "two decks have it twice"],
        ),
        ({"hands": ["QS", ""]}, ["hands[1] is empty"]),
        ({"hands": ["QS"]}, ["hands = ", "lists of 2 to 10"]),
        ({"hands": "QS"}, ['hands = "QS"', "lists of 2 to 10"]),
        ({"players": 3}, ["hands: 2 hands for 3 players", "one a seat"]),
        ({"players": 11}, ["players = 11", "whole numbers from 2 to 10"]),
        ({"starter": "KS QH"}, ['starter = "KS QH"', "one card"]),
        ({"starter": ""}, ['starter = ""', "one card"]),
        ({"dealer": 2}, ["dealer = 2", "the seats 0 to 1"]),
        ({"dealer": "1"}, ['dealer = "1"', "seats, from 0"]),
        ({"seed": -1}, ["seed = -1", "whole numbers from 0"]),
        ({"bot": "gredy"}, ['bot: "gredy" is no bot', 'did you mean "greedy"?']),
        ({"bot": "random,random,random"}, ["bot: 3 bots for 2 players"]),
        ({"rules": "clasic"}, ["rules: clasic: no such rules file", 'did you mean "classic"?']),
        ({"set": {"draw.cuont": 2}}, ["set: draw.cuont: no such key", 'did you mean "draw.count"?']),
        ({"set": {"draw": {"count": "x"}}}, ['set: draw.count = "x"', "whole numbers from 1 to 52"]),
    ],
    ids=str,
)
def test_a_mistake_is_explained_in_one_line(values: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ScenarioError) as raised:
        play_scenario(position(**values))
    message = str(raised.value)
    assert "\n" not in message
    for part in parts:
        assert part in message


@pytest.mark.parametrize("key", ["dealer", "starter", "hands"])
def test_what_every_position_has_must_be_there(key: str) -> None:
    scenario = position()
    del scenario[key]
    with pytest.raises(ScenarioError, match=f"^{key} is missing: allowed are "):
        play_scenario(scenario)


def test_a_mistake_names_the_file_and_prints_nothing_else(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.toml", tmp_path / "b.toml"
    good.write_text('dealer = 1\nstarter = "KS"\nhands = ["4C", "JS"]\n')
    for text, part in [
        (
            b'dealer = 1\nstarter = "KS"\nhands = ["4C", "JS"]\nmoves = ["JS"]\n',
            'moves[0] "JS": seat 0 does not hold JS',
        ),
        (b'dealer = 1\nstarter = "KS"\nhands = ["4C", "JS"\n', "damaged TOML"),
        (b"\xff\xfe", "damaged TOML"),
        (b"", "dealer is missing"),
    ]:
        bad.write_bytes(text)
        for path in (bad, tmp_path):
            result = craits_trace("--scenario", str(path), "--json")
            assert result.exit_code == 2
            assert result.stdout == ""
            assert result.stderr.startswith(f"Error: {bad}: {part}")
            assert result.stderr.count("\n") == 1


def test_a_path_without_scenarios_is_explained(tmp_path: Path) -> None:
    (tmp_path / "crank.toml").write_text("")
    result = craits_trace("--scenario", str(tmp_path / "cranks.toml"))
    assert result.exit_code == 2
    assert result.stderr == (
        f'Error: {tmp_path}/cranks.toml: no such file or folder; did you mean "{tmp_path}/crank.toml"?\n'
    )
    (tmp_path / "empty").mkdir()
    result = craits_trace("--scenario", str(tmp_path / "empty"))
    assert result.exit_code == 2
    assert "no scenario in this folder" in result.stderr


@pytest.mark.parametrize(
    "option",
    ["--rules=wiki", "--set=draw.count=2", "--players=3", "--bots=greedy", "--game=3", "--round=1"],
)
def test_a_scenario_excludes_the_options_of_a_game(option: str) -> None:
    result = craits_trace("--scenario", str(FOLDER / "blocked.toml"), option)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert f"--scenario and {option.partition('=')[0]} exclude each other" in result.stderr
