"""Bots by name: what a command line may say, and what it is told when it says something else."""

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from craits_sim.bots import BOTS, RATES, BotError, BotSpec, parse_bot, parse_bots
from craits_sim.cards import RANKS
from craits_sim.cli.bots import bots
from craits_sim.features import FEATURES, UNIT, load_weights, shipped_weights
from tests.strategies import bot_specs, weights_file

RATE = st.floats(0, 1)
NAMES = f"{', '.join(BOTS)}, or a function of yours, FILE.py:FUNCTION, no comma in it"
RANKS_ALLOWED = f"ranks of {' '.join(RANKS)}, like 8 or 8/9"


def problem(text: str, players: int = 4) -> str:
    with pytest.raises(BotError) as raised:
        parse_bots(text, players)
    message = str(raised.value)
    assert "\n" not in message
    return message


@given(name=st.sampled_from(list(BOTS)), forget=RATE, catch=RATE)
def test_every_bot_survives_its_text(name: str, forget: float, catch: float) -> None:
    spec = BotSpec(name, forget, catch)
    assert parse_bot(str(spec)) == spec


@given(bot_specs(tuple(BOTS)), st.floats(0, 1000))
def test_so_does_every_parameter_that_it_has(spec: BotSpec, noise: float) -> None:
    if "noise" in BOTS[spec.name].parameters:
        spec = replace(spec, noise=noise)
    assert parse_bot(str(spec)) == spec


def test_a_bot_is_the_one_that_its_text_names_however_it_is_made() -> None:
    """Ranks in any order and more than once, a whole number for a rate."""
    spec = BotSpec("greedy", forget=1, never=("9", "8", "9"))
    assert spec == BotSpec("greedy", forget=1.0, never=("8", "9"))
    assert str(spec) == "greedy:forget=1:never=8/9"


def test_only_careful_and_its_kin_have_weights() -> None:
    """Each table has its own; a file takes their place."""
    assert BotSpec("careful").weights_at(4) == load_weights(shipped_weights("careful", 4))
    assert BotSpec("tuned").weights_at(3) == load_weights(shipped_weights("tuned", 3))
    mine = BotSpec("careful", weights=weights_file({"shed": 2}))
    assert mine.weights_at(4) == tuple(2 * UNIT if name == "shed" else 0 for name in FEATURES)
    assert [name for name in BOTS if BotSpec(name).weighs] == ["careful", "tuned", "rollout"]
    assert not BotSpec("rollout", base="greedy").weighs


def test_by_default_nobody_forgets_and_everybody_would_notice() -> None:
    assert parse_bot("random") == BotSpec("random", forget=0, catch=1)
    assert str(BotSpec("greedy", 0, 1)) == "greedy"


def test_the_text_says_only_what_differs_from_the_defaults() -> None:
    assert str(BotSpec("random", forget=0.3)) == "random:forget=0.3"
    assert str(BotSpec("random", catch=0)) == "random:catch=0"
    assert str(parse_bot("random : catch = 0.50 : forget = 1e-3")) == "random:forget=0.001:catch=0.5"


def test_the_names_and_codes_are_those_of_the_registry() -> None:
    assert {name: BotSpec(name).code for name in BOTS} == {
        "random": 0,
        "greedy": 1,
        "careful": 2,
        "tuned": 2,
        "rollout": 3,
    }
    assert all(kind.name == name for name, kind in BOTS.items())


def test_one_bot_fills_all_seats() -> None:
    assert parse_bots("greedy:forget=0.5", 3) == (BotSpec("greedy", 0.5),) * 3


def test_else_there_is_one_bot_a_seat_in_seat_order() -> None:
    expected = (BotSpec("greedy"), BotSpec("random"), BotSpec("random", 0.1))
    assert parse_bots("greedy, random, random:forget=0.1", 3) == expected


def test_a_wrong_number_of_bots_is_told_with_both_numbers() -> None:
    assert problem("greedy,random,random", players=4) == (
        "3 bots for 4 players: allowed are one for all seats, or one a seat"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("greedi", f'"greedi" is no bot; bots are {NAMES}; did you mean "greedy"?'),
        ("Random", f'"Random" is no bot; bots are {NAMES}; did you mean "random"?'),
        ("", f'"" is no bot; bots are {NAMES}'),
        ("greedy,,random,random", f'"" is no bot; bots are {NAMES}'),
        ("a\nb", f'"a\\u000ab" is no bot; bots are {NAMES}'),
        ("carefull", f'"carefull" is no bot; bots are {NAMES}; did you mean "careful"?'),
        ("random:forgt=1", 'random: "forgt" is no parameter; allowed are forget, catch, never; did you mean "forget"?'),
        ("random:", 'random: "" is no parameter; allowed are forget, catch, never'),
        ("greedy:noise=1", 'greedy: "noise" is no parameter; allowed are forget, catch, never'),
        ("tuned:weights=a.toml", 'tuned: "weights" is no parameter; allowed are forget, catch, never, noise'),
        (
            "careful:wieghts=a.toml",
            'careful: "wieghts" is no parameter; allowed are forget, catch, never, noise, weights; '
            'did you mean "weights"?',
        ),
        ("random:never=8/1", f'random: never = "8/1": allowed are {RANKS_ALLOWED}'),
        ("random:never=", f'random: never = "": allowed are {RANKS_ALLOWED}'),
        ("careful:noise=-1", 'careful: noise = "-1": allowed are numbers from 0 to 1,000'),
        ("careful:noise=loud", 'careful: noise = "loud": allowed are numbers from 0 to 1,000'),
        ("careful:weights=", 'careful: weights = "": allowed are paths of TOML files, without colon or comma'),
        ("careful:weights=nowhere.toml", "careful: nowhere.toml: No such file or directory"),
        ("rollout:worlds=0", 'rollout: worlds = "0": allowed are whole numbers from 1 to 4,096'),
        (
            "rollout:base=gredy",
            'rollout: base = "gredy": allowed are random, greedy, careful, tuned; did you mean "greedy"?',
        ),
        ("random:forget", 'random: forget = "": allowed are numbers from 0 to 1'),
        ("random:forget=often", 'random: forget = "often": allowed are numbers from 0 to 1'),
        ("random:forget=1.5", 'random: forget = "1.5": allowed are numbers from 0 to 1'),
        ("random:catch=-1", 'random: catch = "-1": allowed are numbers from 0 to 1'),
        ("random:catch=nan", 'random: catch = "nan": allowed are numbers from 0 to 1'),
        ("random:forget=0:forget=1", "random: forget is given twice"),
    ],
)
def test_a_bad_bot_is_named_with_what_is_allowed_and_the_nearest_match(text: str, message: str) -> None:
    assert problem(text) == message


@given(st.text(st.sampled_from("random:greedy,forget=catch01.\n é"), max_size=30))
def test_any_text_is_read_or_refused_in_one_line(text: str) -> None:
    message = ""
    try:
        parse_bots(text, 3)
    except BotError as error:
        message = str(error)
    assert "\n" not in message


def test_a_path_that_the_text_of_a_bot_cannot_carry_is_refused() -> None:
    """``careful:weights=a:b.toml`` would be read as the parameter "b.toml"."""
    for path in ("a:b.toml", "a,b.toml", " a.toml"):
        with pytest.raises(BotError, match="without colon or comma"):
            BotSpec("careful", weights=path)


def test_the_command_lists_every_bot_with_its_parameters() -> None:
    result = CliRunner().invoke(bots)
    assert result.exit_code == 0
    for kind in BOTS.values():
        assert f"{kind.name:<10}{kind.description}\n" in result.output
        for name, parameter in kind.parameters.items():
            assert f"  {name:<8}{parameter.description}: {parameter.allowed}  [default: " in result.output
    assert result.output.count("  forget ") == 1
    assert all(parameter in kind.parameters.values() for kind in BOTS.values() for parameter in RATES.values())


def test_the_command_gives_json() -> None:
    listed = json.loads(CliRunner().invoke(bots, ["--json"]).stdout)
    assert list(listed) == list(BOTS)
    assert listed["random"]["parameters"]["catch"] == {
        "description": "how often it calls another player who forgot (R10)",
        "allowed": "numbers from 0 to 1",
        "default": 1,
    }
    assert list(listed["careful"]["parameters"]) == ["forget", "catch", "never", "noise", "weights"]


def test_the_command_lists_the_features_with_the_weights_of_both_bots() -> None:
    rows = json.loads(CliRunner().invoke(bots, ["--features", "--json"]).stdout)
    assert {row["feature"]: row["meaning"] for row in rows} == FEATURES
    for name in ("careful", "tuned"):
        assert tuple(round(row[name] * UNIT) for row in rows) == load_weights(shipped_weights(name, 4))
    table = CliRunner().invoke(bots, ["--features"]).stdout
    for row in rows:
        line = next(line for line in table.splitlines() if line.split()[:1] == [row["feature"]])
        assert line.split()[1:3] == [f"{row['careful']:g}", f"{row['tuned']:g}"]
        assert line.rstrip().endswith(row["meaning"])
