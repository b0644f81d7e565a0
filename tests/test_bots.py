"""Bots by name: what a command line may say, and what it is told when it says something else."""

import json

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from craits_sim.bots import BOTS, BotError, BotSpec, parse_bot, parse_bots
from craits_sim.cli.bots import bots

RATE = st.floats(0, 1)


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


def test_by_default_nobody_forgets_and_everybody_would_notice() -> None:
    assert parse_bot("random") == BotSpec("random", forget=0, catch=1)
    assert str(BotSpec("greedy", 0, 1)) == "greedy"


def test_the_text_says_only_what_differs_from_the_defaults() -> None:
    assert str(BotSpec("random", forget=0.3)) == "random:forget=0.3"
    assert str(BotSpec("random", catch=0)) == "random:catch=0"
    assert str(parse_bot("random : catch = 0.50 : forget = 1e-3")) == "random:forget=0.001:catch=0.5"


def test_the_names_and_codes_are_those_of_the_registry() -> None:
    assert {name: BotSpec(name).code for name in BOTS} == {"random": 0, "greedy": 1}
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
        ("greedi", '"greedi" is no bot; bots are random, greedy; did you mean "greedy"?'),
        ("Random", '"Random" is no bot; bots are random, greedy; did you mean "random"?'),
        ("", '"" is no bot; bots are random, greedy'),
        ("greedy,,random,random", '"" is no bot; bots are random, greedy'),
        ("a\nb", '"a\\u000ab" is no bot; bots are random, greedy'),
        ("random:forgt=1", 'random: "forgt" is no parameter; allowed are forget, catch; did you mean "forget"?'),
        ("random:", 'random: "" is no parameter; allowed are forget, catch'),
        ("random:forget", 'random: forget = "": allowed are numbers from 0 to 1'),
        ("random:forget=often", 'random: forget = "often": allowed are numbers from 0 to 1'),
        ("random:forget=1.5", "random: forget = 1.5: allowed are numbers from 0 to 1"),
        ("random:catch=-1", "random: catch = -1.0: allowed are numbers from 0 to 1"),
        ("random:catch=nan", "random: catch = nan: allowed are numbers from 0 to 1"),
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


def test_the_command_lists_every_bot_with_its_parameters() -> None:
    result = CliRunner().invoke(bots)
    assert result.exit_code == 0
    for kind in BOTS.values():
        assert kind.name in result.output
        assert kind.description in result.output
        for name, parameter in kind.parameters.items():
            assert f"{name:<8}{parameter.description}" in result.output


def test_the_command_gives_json() -> None:
    listed = json.loads(CliRunner().invoke(bots, ["--json"]).stdout)
    assert list(listed) == list(BOTS)
    assert listed["random"]["parameters"]["catch"]["default"] == 1
