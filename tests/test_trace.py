"""Transcripts: the same games as `craits simulate` plays, as JSON and in words."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from craits_sim import trace
from craits_sim.bots import parse_bots
from craits_sim.cli import cli
from craits_sim.kernel import simulate_batch
from craits_sim.results import Action
from craits_sim.rules import load_rules
from craits_sim.trace import TracedGame, game_text, trace_game

TABLES: list[tuple[str, dict[str, object], str]] = [
    ("classic", {}, "random"),
    ("classic", {"players": 2, "turn_cap": 30}, "greedy,random:forget=0.5"),
    ("wiki", {"players": 5, "next_dealer": "loser"}, "greedy"),
    ("crazy_eights", {}, "random"),
    ("last_card_house", {"players": 3, "deals": [5, 4]}, "random:forget=0.7:catch=0.5"),
    ("partners", {"going_out.on_ability": False}, "random"),
]
GAMES = 21


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="craits")


def craits_lines(*arguments: str) -> list[dict[str, Any]]:
    result = craits("trace", *arguments, "--json")
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def traced(preset: str, changes: dict[str, object], bots: str, game: int = 0) -> TracedGame:
    rules = load_rules(preset, changes)
    return trace_game(rules, parse_bots(bots, rules.players), 3, game)


def text_of(tmp_path: Path, scenario: str) -> list[str]:
    """Tell a scenario, and give its lines without the file name and the one of the position."""
    file = tmp_path / "position.toml"
    file.write_text(scenario)
    result = craits("trace", "--scenario", str(file))
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()[3:]


# --- The same games ---


@pytest.mark.parametrize(("preset", "changes", "bots"), TABLES)
def test_a_trace_is_the_game_that_simulate_plays(preset: str, changes: dict[str, object], bots: str) -> None:
    rules = load_rules(preset, changes)
    specs = parse_bots(bots, rules.players)
    batch = simulate_batch(rules, specs, 3, 0, GAMES)
    for number in range(GAMES):
        game = trace_game(rules, specs, 3, number)
        assert game.totals == batch.totals[number].tolist()
        assert game.wins == batch.wins[number].tolist()
        assert [played.dealer for played in game.rounds] == batch.dealer[number].tolist()
        for round_, played in enumerate(game.rounds):
            actions = Counter(event.action for event in played.events)
            assert actions[Action.DRAW] == batch.drawn[number, round_]
            assert actions[Action.RESHUFFLE] == batch.reshuffles[number, round_]
            points = batch.points[number, round_].tolist()
            assert played.state["points"] == points[-played.dealer :] + points[: -played.dealer]
            went_out = int(batch.went_out[number, round_])
            assert played.state["went_out"] == (None if went_out < 0 else went_out)


@pytest.mark.parametrize(("preset", "changes", "bots"), TABLES)
def test_the_state_is_what_the_events_lead_to(preset: str, changes: dict[str, object], bots: str) -> None:
    players = load_rules(preset, changes).players
    for played in traced(preset, changes, bots).rounds:
        hands: list[set[int]] = [set() for _ in range(players)]
        plays = [event for event in played.events if event.action in (Action.STARTER, Action.PLAY)]
        stock = 51 - sum(event.action == Action.DEAL for event in played.events)
        for event in played.events:
            if event.action in (Action.DEAL, Action.DRAW):
                hands[event.seat].add(event.card)
            elif event.action == Action.PLAY:
                hands[event.seat].remove(event.card)
            stock += event.detail if event.action == Action.RESHUFFLE else -(event.action == Action.DRAW)
        state = played.state
        assert state["hands"] == [trace.names(hand) for hand in hands]
        assert state["top"] == trace.names([plays[-1].card])
        assert state["suit"] == "CDHS"[plays[-1].suit]
        assert state["stock"] == stock
        assert (state["over"], state["to_act"], state["crank"], state["legal"]) == (True, None, 0, [])


def test_a_game_of_more_events_than_there_is_room_for_is_recorded_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = traced("classic", {}, "random")
    monkeypatch.setattr(trace, "ROOM_FOR_EVENTS", 10)
    assert traced("classic", {}, "random") == whole


# --- As JSON ---


def test_a_line_is_a_round_and_the_last_one_has_the_totals() -> None:
    *rounds, last = craits_lines("--players", "3", "--seed", "5", "--game", "4")
    assert [played["round"] for played in rounds] == [*range(1, 16)]
    for played in rounds:
        assert list(played) == ["round", "dealer", "events", "state"]
    points = [played["state"]["points"] for played in rounds]
    assert last == {"totals": [sum(by_round) for by_round in zip(*points, strict=True)]}


def test_a_game_of_a_run_is_the_same_in_trace_and_simulate() -> None:
    simulated = json.loads(craits("simulate", "--games", "4", "--seed", "8", "--bots", "greedy", "--json").stdout)
    totals = [craits_lines("--seed", "8", "--bots", "greedy", "--game", str(game))[-1]["totals"] for game in range(4)]
    means = [sum(by_game) / 4 for by_game in zip(*totals, strict=True)]
    assert means == pytest.approx(simulated["by_seat"]["mean_total"])


def test_a_round_may_be_printed_alone() -> None:
    *rounds, last = craits_lines()
    assert craits_lines("--round", "3") == [rounds[2], last]
    whole, alone = craits("trace").stdout, craits("trace", "--round", "3").stdout
    header, _, told = alone.partition("\n\n")
    assert whole.startswith(header)
    assert told in whole
    assert told.startswith("round 3   6 cards each   seat ")
    assert "win" not in told
    assert craits("trace", "--round", "15").stdout.splitlines()[-1] == whole.splitlines()[-1]


def test_every_action_of_long_games_has_its_keys() -> None:
    keys: dict[str, set[str]] = {}
    for line in [
        *craits_lines("--bots", "random:forget=1", "--players", "2", "--rules", "wiki"),
        *craits_lines("--set", "turn_cap=4"),
        *craits_lines("--set", "stock.reshuffle=false", "--rules", "last_card_house"),
    ]:
        for event in line.get("events", []):
            keys.setdefault(event["action"], set()).update(event.keys() - {"seat", "action", "crank"})
            assert (event["seat"] is None) == (event["action"] in ("blocked", "truncated"))
    assert keys == {
        "deal": {"card"},
        "starter": {"card", "suit"},
        "play": {"card", "suit"},
        "draw": {"card", "cause"},
        "reshuffle": {"cards"},
        "pressure": {"points"},
        "pass": set(),
        "caught": set(),
        "lost_turn": set(),
        "go_out": set(),
        "blocked": set(),
        "truncated": set(),
        "score": {"points"},
    }


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (["--game", "-1"], '"-1": allowed are whole numbers from 0'),
        (["--round", "0"], '"0": allowed are whole numbers from 1'),
        (["--round", "16"], "--round 16: rules classic have rounds 1 to 15"),
        (["--rules", "clasic"], 'did you mean "classic"'),
        (["--bots", "gredy"], 'did you mean "greedy"'),
    ],
    ids=" ".join,
)
def test_a_mistake_ends_with_one_message_and_exit_code_2(arguments: list[str], part: str) -> None:
    result = craits("trace", *arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("Error:") == 1
    assert part in result.stderr


# --- In words ---


def test_a_game_ends_with_who_won() -> None:
    rules = load_rules("partners")
    rounds = traced("partners", {}, "random").rounds
    for wins, last in [
        ([0, 2520, 0, 0], "seat 1 wins"),
        ([1260, 0, 0, 1260], "seats 0 and 3 share the win"),
        ([0, 0, 0, 0], "nobody wins"),
    ]:
        played = TracedGame(rounds, [0] * 4, wins)
        assert game_text(load_rules("classic"), played).splitlines()[-1] == last
    assert game_text(rules, TracedGame(rounds, [0] * 4, [1260, 0, 1260, 0])).splitlines()[-1] == "seats 0 and 2 win"


def test_cranks_named_suits_and_the_position_in_words(tmp_path: Path) -> None:
    told = text_of(
        tmp_path,
        """
dealer = 2
starter = "8S"
hands = ["2H 9C 7C QD", "AD 4C", "JS QC 5S"]
stock = "5C 6C 7H 10C KC"
moves = [">H", "2H", "AD", "draw", "QD", "draw", "QC", "9C>S"]
""",
    )
    assert told == [
        "  seat 0  holds 7C 9C QD 2H",
        "  seat 1  holds 4C AD",
        "  seat 2  holds QC 5S JS",
        "  seat 2  turns up 8S, names hearts",
        "  seat 0  plays 2H                            3 left    crank of 2",
        "  seat 1  plays AD                            1 left    crank of 3",
        "  seat 2  draws 5C 6C 7H (crank of 3)         6 held",
        "  seat 0  plays QD                            2 left",
        "  seat 1  draws 10C                           2 held",
        "  seat 2  plays QC                            5 left",
        "  seat 0  plays 9C, changes to spades         1 left",
        "",
        "to act: seat 1   top card 9C, spades to follow",
        "  seat 0  holds 7C",
        "  seat 1  holds 4C 10C",
        "  seat 2  holds 5C 6C 7H 5S JS",
        "  legal: no card",
        "  stock: 1",
    ]


def test_skips_turns_and_draws_in_words(tmp_path: Path) -> None:
    told = text_of(
        tmp_path,
        """
dealer = 2
starter = "KS"
hands = ["4S 6S 6D", "3D 3H", "10S 7D"]
stock = "5C 6C 8C AC"
moves = ["4S", "10S", "draw", "6S", "6D", "7D"]
[set]
going_out.again = "draws"
""",
    )
    assert told[3:] == [
        "  seat 2  turns up KS",
        "  seat 0  plays 4S                            2 left    seat 1 is skipped",
        "  seat 2  plays 10S                           1 left    counterclockwise",
        "  seat 1  draws 5C                            3 held",
        "  seat 0  plays 6S                            1 left    takes another turn",
        "  seat 0  plays 6D                            0 left",
        "  seat 0  draws 6C (instead of going out)     1 held",
        "  seat 2  plays 7D                            0 left    goes out",
        "  seat 1  draws 8C (7D)                       4 held",
        "  seat 0  scores   30   6C",
        "  seat 1  scores    0   5C 8C 3D 3H",
        "  seat 2  scores    0",
    ]


def test_the_end_of_cards_in_words(tmp_path: Path) -> None:
    told = text_of(
        tmp_path,
        """
dealer = 1
starter = "2S"
hands = ["4C", "5C"]
discards = "KD"
stock = ""
moves = ["draw", "draw", "draw"]
[set]
stock.pressure = 5
"abilities.5" = "none"
""",
    )
    assert told[2:] == [
        "  seat 1  turns up 2S                                   crank of 2",
        "  seat 0  shuffles 1 discard into a stock               5 points of shuffle pressure",
        "  seat 0  draws KD (crank of 2)               2 held",
        "  seat 1  can neither play nor draw",
        "  seat 0  can neither play nor draw",
        "  the round is blocked: nobody can play or draw",
        "  seat 0  scores   30   4C KD",
        "  seat 1  scores   30   5C",
    ]
