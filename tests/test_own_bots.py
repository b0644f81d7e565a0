"""Bots of the user's own: what they see, that they are played as they choose, and what is said of a faulty one."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from craits_sim import api, runner, view
from craits_sim.bots import BotError, BotSpec, parse_bot, parse_bots
from craits_sim.cards import RANKS, SUITS, parse_card
from craits_sim.checkpoint import Checkpoint
from craits_sim.cli import cli
from craits_sim.design import DesignError, make_experiment
from craits_sim.features import FEATURES, UNIT, load_weights, shipped_weights
from craits_sim.kernel import simulate_batch
from craits_sim.kernel.own import load_own_bot
from craits_sim.results import Action, Batch
from craits_sim.rules import load_rules
from craits_sim.runner import Played
from craits_sim.scenario import load_scenario
from craits_sim.trace import TracedRound, trace_game, trace_scenario
from tests.fake_run import fake_run
from tests.positions import lay_out, weigh

EXAMPLE = Path(__file__).parent.parent / "experiments" / "mybot.py"
HEADING = "import numba\nimport numpy as np\nfrom craits_sim.view import *\n\n"


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def write_bot(body: str, file: str = "mybot.py") -> str:
    """Write a bot whose function has these lines, and give its name."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    Path(file).write_text(f"{HEADING}def choose(view, moves):\n{lines}")
    return f"./{file}:choose"


def same(batch: Batch, other: Batch) -> bool:
    return all(np.array_equal(array, getattr(other, name)) for name, array in batch._asdict().items())


# --- What it sees -------------------------------------------------------------------------------------------

TRIED = "if view.rounds == 15:\n    return 0\n"
"""Lines for a bot that is to play in one position only: it is tried in one of a game of 15 rounds."""


def by_rank(**cards: int) -> list[int]:
    """Count cards by rank, like ``_8=1``."""
    return [cards.get(f"_{rank}", 0) for rank in RANKS]


def expecting(fields: Mapping[str, object], otherwise: str = "return len(moves) - 1") -> str:
    """Write a bot that makes its last move where the view is as expected; else it gives minus the field's number."""
    tests = [
        f"if np.any(np.asarray(view.{name}) != np.array({value})):\n    return -{number}"
        for number, (name, value) in enumerate(fields.items(), start=1)
    ]
    return write_bot(TRIED + "\n".join([*tests, otherwise]))


def play_position(bot: str, position: Mapping[str, Any]) -> TracedRound:
    return trace_scenario(load_scenario({**lay_out(**position), "stock": position.get("stock"), "bot": bot}))


def full(values: Sequence[int]) -> list[int]:
    return [*values, *[0] * (view.SEATS - len(values))]


# Seat 0 plays 8C and names hearts, seat 1 plays 10H: the direction turns, and seat 0 acts, in turn 3.
MIDDLE: dict[str, Any] = {
    "starter": "KC",
    "hands": ["8C 9H 2D 2H", "10H 4C", "5D 6D 7D"],
    "discards": "3S AS",
    "moves": "8C>H 10H",
    "changes": {"turn_cap": 3},
}
MIDDLE_SEEN = {
    "players": 3,
    "seat": 0,
    "dealer": 2,
    "round": 0,
    "rounds": 1,
    "turn": 2,
    "starter": 0,
    "direction": -1,
    "crank": 0,
    "top_rank": RANKS.index("10"),
    "suit": SUITS.index("H"),
    "stock": 52 - 12,
    "discards": 4,
    "cards_of": full([3, 1, 3]),
    "totals": full([]),
    "held": by_rank(_9=1, _2=2),
    "held_of_suit": [0, 1, 2, 0],
    # 52 cards without its 3, the top card and 4 under it (3S AS KC 8C).
    "unseen": [4 - count for count in by_rank(_9=1, _2=2, _10=1, _3=1, _A=1, _K=1, _8=1)],
    "unseen_of_suit": [13 - 2, 13 - 1, 13 - 3, 13 - 2],
}


def test_every_field_of_the_view_is_what_the_seat_sees() -> None:
    """Seat 0 acts on 10H with 9H 2D 2H; a suit of two decks and a starter of its own are looked at below."""
    assert {*MIDDLE_SEEN, "random"} == set(view.VIEW_DTYPE.names or ())
    played = play_position(expecting(MIDDLE_SEEN), MIDDLE)
    last = [event for event in played.events if event.action == Action.PLAY][-1]
    assert (last.seat, last.card) == (0, parse_card("9H"))


@pytest.mark.parametrize("field", ["turn", "direction", "unseen"])
def test_a_field_that_is_not_as_expected_would_be_seen(field: str) -> None:
    wrong = np.array(MIDDLE_SEEN[field]) + 1
    number = list(MIDDLE_SEEN).index(field) + 1
    with pytest.raises(BotError, match=f"it gave -{number}:"):
        play_position(expecting(MIDDLE_SEEN | {field: wrong.tolist()}), MIDDLE)


def test_in_a_crank_it_sees_the_count() -> None:
    """2C starts a crank of 2 that seat 1, with another 2, is to answer or to pay."""
    position = {"starter": "KC", "hands": ["2C 4C 5C", "2D AD 9S"], "stock": "10C", "moves": "2C"}
    bot = expecting({"crank": 2, "seat": 1, "top_rank": RANKS.index("2"), "suit": SUITS.index("C"), "turn": 1})
    events = play_position(bot, position | {"changes": {"turn_cap": 2}}).events
    assert [event.seat for event in events if event.action == Action.PLAY] == [0, 1]


def test_as_dealer_it_names_the_suit_of_the_starter() -> None:
    """Seat 1 deals and turns up an 8: it sees its own hand, and its moves are suits."""
    seen = {
        "starter": 1,
        "seat": 1,
        "dealer": 1,
        "turn": 0,
        "direction": 1,
        "stock": 52 - 4,
        "held": by_rank(_9=1, _J=1),
    }
    bot = expecting(seen, "if view.starter == 1 and len(moves) == 4:\n    return 2\nreturn -99")
    # The starter 8 goes first; then the turn is seat 0's, who is no other bot: its view differs, so that it plays on.
    position = {"starter": "8C", "hands": ["4D", "9S JS"], "changes": {"turn_cap": 1}}
    events = play_position(f"random,{bot}", position).events
    assert next(event.suit for event in events if event.action == Action.STARTER) == SUITS.index("H")


def test_with_two_decks_it_counts_both() -> None:
    """Seat 0 holds both 4S; of the eight kings it has seen the starter and the one under it."""
    changes = {"decks": 2, "turn_cap": 1}
    position = {
        "starter": "KS",
        "hands": ["4S 4S 9D", "5C 5C"],
        "discards": "KS",
        "changes": changes,
    }
    seen = {
        "stock": 104 - 7,
        "discards": 1,
        "cards_of": full([3, 2]),
        "held": by_rank(_4=2, _9=1),
        "held_of_suit": [0, 1, 0, 2],
        "unseen": [8 - count for count in by_rank(_4=2, _9=1, _K=2)],
        "unseen_of_suit": [26, 25, 26, 22],
    }
    events = play_position(expecting(seen, "return 0"), position).events
    assert [event.card for event in events if event.action == Action.PLAY][-1] % 64 == parse_card("4S")


def test_totals_are_those_before_the_round() -> None:
    """Whoever always makes the first move scores so much in round 1; the bot must see just that in round 2."""
    rules = load_rules("classic", {"players": 2, "deals": [3, 3]})
    first = trace_game(rules, parse_bots(write_bot("return 0", "first.py"), 2), seed=1, game=0)
    points = first.rounds[0].state["points"]
    assert points != [0, 0]
    checking = f"if view.round == 1 and not (view.totals[0] == {points[0]} and view.totals[1] == {points[1]}):\n"
    bots = parse_bots(write_bot(TRIED + checking + "    return -1\nreturn 0", "second.py"), 2)
    assert trace_game(rules, bots, seed=1, game=0) == first


def test_chance_hangs_on_the_replay() -> None:
    """The same deals: who chooses by `view.random` plays them otherwise another time, who does not plays the same."""
    rules = load_rules("classic", {"players": 2, "deals": [5, 5]})
    for body, expected in (("return view.random % len(moves)", False), ("return 0", True)):
        bots = parse_bots(write_bot(body), 2)
        first, again, replayed = (simulate_batch(rules, bots, 1, 0, 50, replay=replay) for replay in (0, 0, 1))
        assert same(first, again)
        assert same(first, replayed) == expected


def test_the_columns_of_the_moves_have_their_names() -> None:
    assert [*view.MOVE_COLUMNS] == ["card", "suit", *FEATURES]
    for number, name in enumerate(view.MOVE_COLUMNS):
        shortened = {"suit": "SUIT" if number == 1 else "SUIT_HELD"}
        assert getattr(view, shortened.get(name, name.upper())) == number


def test_its_moves_are_those_of_careful_with_their_features() -> None:
    """Seat 0 may play any of its cards, the 8 with each suit; both engines say what the features are."""
    position: dict[str, Any] = {"starter": "QS", "stock": "10C", "hands": ["8D 4S 6S 3S", "5C", "6C 7C"]}
    expected = [
        [parse_card(move[:2]), SUITS.index(move[3]), *counted.values()] for move, counted in weigh(**position).items()
    ]
    assert len(expected) == 7
    body = f"{TRIED}expected = np.array({expected})\nif moves.shape != expected.shape:\n    return -99\n"
    body += "for k in range(len(moves)):\n    for column in range(moves.shape[1]):\n"
    body += "        if moves[k, column] != expected[k, column]:\n            return -1 - column\nreturn 0"
    position["changes"] = {"turn_cap": 1}
    assert any(event.action == Action.PLAY for event in play_position(write_bot(body), position).events)


# --- That it is played --------------------------------------------------------------------------------------


def test_one_that_weighs_as_careful_does_plays_game_for_game_as_careful() -> None:
    """A short cap: after 300 turns of a round careful plays as random does. Greedy takes no random numbers."""
    weights = [weight / UNIT for weight in load_weights(shipped_weights("careful", 4))]
    body = f"weights = np.array({weights})\nbest, best_score = 0, -np.inf\nfor k in range(len(moves)):\n"
    body += f"    score = 0.0\n    for n in range({len(weights)}):\n        score += weights[n] * moves[k, 2 + n]\n"
    body += "    if score > best_score + 1e-6:\n        best, best_score = k, score\nreturn best"
    rules = load_rules("classic", {"deals": [6, 5, 4], "turn_cap": 250})
    mine, careful = (
        simulate_batch(rules, parse_bots(f"{bot},greedy,{bot},greedy", 4), 1, 0, 500, checks=True)
        for bot in (write_bot(body), "careful")
    )
    assert same(mine, careful)
    assert not same(careful, simulate_batch(rules, parse_bots("greedy", 4), 1, 0, 500))


def test_the_example_plays_and_the_check_says_how_well() -> None:
    """It beats random; it says how often it was asked, and that takes less than a microsecond."""
    result = craits("bots", "--check", f"{EXAMPLE}:choose", "--players", "2", "--games", "20", "--json")
    assert result.exit_code == 0, result.output
    printed = json.loads(result.stdout)
    assert printed["bot"] == f"{EXAMPLE}:choose"
    tables = [(table["rules"], table["players"], table["opponent"], table["games"]) for table in printed["tables"]]
    assert tables == [
        ("classic", 4, "random", 80),
        ("classic", 4, "greedy", 80),
        ("classic", 2, "random", 40),
        ("classic", 2, "greedy", 40),
    ]
    assert printed["tables"][0]["win_share"] > 0.5
    assert all(table["asked"] > table["games"] and 0 < table["ns_a_choice"] < 1000 for table in printed["tables"])
    frame = api.check_bot(f"{EXAMPLE}:choose", players=2, games=20)
    assert frame["win_share"].tolist() == [table["win_share"] for table in printed["tables"]]


def test_the_check_wants_a_bot_of_the_users_own() -> None:
    with pytest.raises(ValueError, match="careful comes with the package"):
        api.check_bot("careful")


def test_the_check_finds_a_bot_that_plays_the_same_game_in_two_ways() -> None:
    with pytest.raises(BotError, match=r"two ways; .* view\.random"):
        api.check_bot(write_bot("return np.random.randint(0, len(moves))"), games=5)


# --- What is said of a faulty one ---------------------------------------------------------------------------


def problem(bot: str) -> str:
    """Say what is wrong with a bot, before it plays."""
    with pytest.raises(BotError) as raised:
        load_own_bot(parse_bot(bot).name)
    message = str(raised.value)
    assert "\n" not in message
    assert len(message) < 250
    assert message.startswith(f"{bot}: ")
    return message.removeprefix(f"{bot}: ")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return 0.5", "it gives float64; allowed is the number of a move, always a whole number"),
        ("return True", "it gives bool; allowed is the number of a move"),
        ("pass", "it gives nothing; allowed is the number of a move"),
        ("if view.stock > 3:\n    return 1", "it gives a number or nothing; allowed"),
        ("return 0, 1", "it gives UniTuple(int64 x 2); allowed"),
        ("yield 1", "it gives a generator; allowed"),
        ("return view.stok", 'numba cannot compile it: "stok" is no field of a view; did you mean "stock"?'),
        ("return moves['shed']", "numba cannot compile it: there is no getitem(array(int64, 2d, C), "),
        (
            "return moves.best()",
            "numba cannot compile it: Unknown attribute 'best' of type array(int64, 2d, C), line 6",
        ),
        ("return helper(moves)", "numba cannot compile it: NameError: name 'helper' is not defined"),
        ("return len(moves)", "it gave 2: allowed are the numbers of its moves, 0 to 1"),
        ("return -1", "it gave -1: allowed are"),
        ("return moves[len(moves), 0]", "it raised IndexError: index 2 is out of bounds for axis 0 with size 2"),
        ("return view.stock // (view.players - 2)", "it raised FloatingPointError: divide by zero"),
        ("if view.players > 1:\n    raise ValueError('no idea')\nreturn 0", "it raised ValueError: no idea"),
    ],
)
def test_a_faulty_choice_is_named(body: str, expected: str) -> None:
    assert problem(write_bot(body)).startswith(expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            "def chose(view, moves):\n    return 0",
            'no choose in mybot.py; its functions are chose; did you mean "chose"?',
        ),
        ("", "no choose in mybot.py; it has no functions"),
        ("choose = 3", "choose is no function of two arguments; allowed is choose(view, moves)"),
        ("def choose(view):\n    return 0", "choose is no function of two arguments; allowed is choose(view, moves)"),
        (
            "def choose(view, moves)\n    return 0",
            "mybot.py cannot be loaded: SyntaxError: expected ':' (mybot.py, line 1)",
        ),
        ("import nosuchmodule", "mybot.py cannot be loaded: ModuleNotFoundError: No module named 'nosuchmodule'"),
        ("raise SystemExit('bye')", "mybot.py cannot be loaded: SystemExit: bye"),
        (
            "def best(moves):\n    return 0\ndef choose(view, moves):\n    return best(moves)",
            "Untyped global name 'best': Cannot determine Numba type of <class 'function'> (a function that it calls "
            "needs @numba.njit), line 4",
        ),
        (
            "from numba import njit\n@njit\ndef best(moves):\n    return moves[9, 0]\n@njit\ndef choose(view, moves):\n"
            "    return best(moves)",
            "it raised IndexError: index",
        ),
    ],
)
def test_a_faulty_file_is_named(source: str, expected: str) -> None:
    Path("mybot.py").write_text(source)
    assert expected in problem("mybot.py:choose")


def test_a_path_that_is_no_file_is_named() -> None:
    """Also a folder; and a path with a comma, at which the list of bots is taken apart."""
    Path("folder.py").mkdir()
    for bot, expected in (
        ("./no.py:choose", f"./no.py:choose: there is no file no.py (paths start in {Path.cwd()})"),
        ("folder.py:choose", "folder.py:choose: folder.py cannot be read: Is a directory"),
        ("a,b.py:choose", '"a" is no bot; bots are random, '),
        ("mybot.py", '"mybot.py" is no bot; bots are random, '),
    ):
        result = craits("simulate", "--bots", bot)
        assert result.exit_code == 2
        assert result.stderr.startswith(f"Error: {expected}")
        assert result.stderr.count("\n") == 1
    with pytest.raises(BotError, match=r"FILE\.py:FUNCTION, no comma in it"):
        parse_bots("a,b.py:choose", 4)


def test_a_path_may_have_a_colon_and_parameters() -> None:
    Path("a:b.py").write_text("")
    assert parse_bot("a:b.py:choose:never=8") == BotSpec("a:b.py:choose", never=("8",))
    assert str(parse_bot("a:b.py:choose:never=8")) == "a:b.py:choose:never=8"


PROGRAM = [sys.executable, "-c", "from craits_sim.cli import cli; cli()"]
"""The program as a process of its own: a thread in which a bot never ends can only be ended with it."""


@pytest.mark.parametrize(
    ("when", "command", "expected"),
    [
        ("view.players > 1", ["simulate", "--bots"], "it did not choose among two moves within 5 seconds\n"),
        ("view.turn >= 5", ["bots", "--check"], "it has not chosen after 5 seconds (in round 1, turn 6, at seat 0)\n"),
    ],
)
def test_one_that_never_ends_is_not_waited_for(when: str, command: list[str], expected: str) -> None:
    bot = write_bot(f"while {when}:\n    pass\nreturn 0")
    ended = subprocess.run([*PROGRAM, *command, bot], capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 2, ended.stderr
    assert ended.stderr.endswith(f"Error: {bot}: {expected}")


LATE = "if view.turn >= 5:\n    return -7\nreturn 0"
"""A bot whose fault shows only in play."""


def test_a_fault_in_play_ends_every_command_with_its_place(tmp_path: Path) -> None:
    bot = write_bot(LATE)
    Path("experiment.toml").write_text(f'study = "seats"\nbots = "{bot}"\ngames = 2000\n')
    Path("scenario.toml").write_text(
        'dealer = 1\nstarter = "KS"\nhands = ["4S 5S 6S", "4C 5C 6C"]\nstock = "10C 10D 10H 10S 9C 9D 9H"\n'
        + f'bot = "{bot}"\n'
    )
    for arguments in (
        ["simulate", "--bots", bot, "--games", "2000", "--threads", "2"],
        ["seats", "--bots", bot, "--games", "2000", "--quiet"],
        ["run", "experiment.toml", "--quiet"],
        ["trace", "--bots", bot],
        ["trace", "--scenario", "scenario.toml"],
        ["bots", "--check", bot],
    ):
        result = craits(*arguments)
        assert result.exit_code == 2, (arguments, result.output)
        message = result.stderr.splitlines()[-1]
        assert message.startswith(f"Error: {bot}: it gave -7: allowed are the numbers of its moves, 0 to "), message
        assert re.search(r"\(in round 1, turn \d+, at seat \d\)$", message), message
    with pytest.raises(ValueError, match="it gave -7"):
        api.simulate(bots=bot, games=1000)


def test_a_fault_in_a_thread_ends_the_run() -> None:
    """Game 0, which is played first and alone, goes well: in the first of two threads it is one in a later round."""
    bot = write_bot(
        "if view.round == 0 and view.turn == 90 and view.stock % 7 == 3:\n    raise ValueError('no idea')\nreturn 0"
    )
    result = craits("simulate", "--bots", bot, "--games", "20k", "--threads", "2", "--quiet")
    assert result.exit_code == 2, result.output
    assert "it raised ValueError: no idea (in round 1, turn 91, at seat " in result.stderr


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent in another way")
@pytest.mark.parametrize("first", ["view.turn >= 5", "view.turn >= 60"])
def test_ctrl_c_ends_a_run_with_a_bot_that_never_ends(first: str) -> None:
    """It hangs in the first game, of which the main thread waits for the end, or in those of the threads."""
    bot = write_bot(f"while {first} and view.stock >= 0:\n    pass\nreturn 0")
    command = [*PROGRAM, "simulate", "--bots", bot, "--games", "20k", "--threads", "2"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        deadline = time.monotonic() + 60
        time.sleep(5)
        while process.poll() is None and time.monotonic() < deadline:
            process.send_signal(signal.SIGINT)
            time.sleep(1)
        process.kill()
        _, errors = process.communicate()
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == "Stopped."


# --- Where numbers come from --------------------------------------------------------------------------------


def test_numbers_name_a_digest_of_the_file() -> None:
    """Of the file of a bot, and of the weights in a file; another file has another."""
    bot = write_bot("return 0")
    Path("mine.toml").write_text("[weights]\nshed = 1\n")
    bots = parse_bots(f"random,{bot},careful:weights=mine.toml", 3)
    before = [spec.described(3) for spec in bots]
    write_bot("return 1 - 1")
    Path("mine.toml").write_text("[weights]\nshed = 2\n")
    after = [spec.described(3) for spec in bots]
    assert before[0] == after[0] == "random"
    assert before[1].startswith(f"{bot} (file ")
    assert before[2].startswith("careful:weights=mine.toml (weights ")
    assert before[1:] != after[1:]
    experiment = make_experiment({"study": "seats", "name": "seats", "bots": bot, "games": 100})
    assert runner.provenance(api.prepare(experiment).points, experiment)["bots"] == [after[1]]


@pytest.mark.parametrize(
    ("bot", "file", "text"),
    [
        ("./mybot.py:choose", "mybot.py", "# another"),
        ("careful:weights=mine.toml", "mine.toml", "[weights]\nshed = 2\n"),
    ],
)
def test_a_run_does_not_go_on_with_another_file(bot: str, file: str, text: str) -> None:
    write_bot("return 0")
    Path("mine.toml").write_text("[weights]\nshed = 1\n")
    _, experiment, points = api.prepare(make_experiment({"study": "seats", "name": "seats", "bots": bot}))
    kept = Checkpoint(Path("seats"), experiment, points)
    kept.keep(Played(100, {"games": np.array([100])}))
    assert Checkpoint(Path("seats"), experiment, points).load().games == 100
    Path(file).write_text(text)
    with pytest.raises(DesignError, match=rf"another experiment.*{bot} \(4 players\) was .* and is "):
        Checkpoint(Path("seats"), experiment, points).load()


def test_a_file_that_changes_while_games_are_played_makes_no_report(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = write_bot("return 0")

    def run_and_change(*arguments: Any, **options: Any) -> Any:
        write_bot("return 1")
        return fake_run(*arguments, **options)

    monkeypatch.setattr(runner, "run", run_and_change)
    result = craits("seats", "--bots", bot, "--games", "1000", "--quiet")
    assert result.exit_code == 2
    assert "changed while games were played" in result.stderr
    assert not Path("reports/seats/index.html").exists()


def test_a_report_names_the_bot_and_its_digest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run", fake_run)
    bot = write_bot("return 0")
    assert craits("seats", "--bots", bot, "--games", "1000", "--quiet").exit_code == 0
    described = parse_bot(bot).described(4)
    assert json.loads(Path("reports/seats/provenance.json").read_text())["bots"] == [described]
    assert described in Path("reports/seats/index.html").read_text()
    printed = json.loads(craits("simulate", "--bots", bot, "--games", "1000", "--json").stdout)
    assert printed["bots"] == [bot] * 4
    assert printed["bot_digests"] == {bot: parse_bot(bot).digest(4)}


def test_a_changed_file_is_loaded_anew() -> None:
    rules = load_rules("classic", {"players": 2, "deals": [5]})
    bots = parse_bots(write_bot("return 0"), 2)
    first = simulate_batch(rules, bots, 1, 0, 50)
    write_bot("return len(moves) - 1")
    assert not same(first, simulate_batch(rules, bots, 1, 0, 50))
