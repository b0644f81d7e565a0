"""`craits verify`, and that each of its checks sees what it is there for; `craits bench`."""

import json
import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from craits_sim import runner, selftest
from craits_sim.bots import parse_bots
from craits_sim.cli import cli
from craits_sim.kernel import KernelError, simulate_batch
from craits_sim.kernel._jit import CPU
from craits_sim.kernel.vectors import Loop, find_loops, step_loops
from craits_sim.rules import load_rules
from craits_sim.selftest import CHECKS, CheckFailed, Decks, perform


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="craits")


# --- craits verify ---


@pytest.mark.slow
def test_this_installation_passes() -> None:
    result = craits("verify")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert len(lines) == len(CHECKS)
    for name, line in zip(CHECKS, lines, strict=True):
        assert line.startswith(f"ok      {name} ")


@pytest.fixture
def _two_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> str:
        raise CheckFailed("the numbers are wrong")

    monkeypatch.setattr(selftest, "CHECKS", {"numbers": fail, "games": lambda: "5 games"})


@pytest.mark.usefixtures("_two_checks")
def test_a_failed_check_says_why_and_ends_with_exit_code_1() -> None:
    result = craits("verify")
    assert result.exit_code == 1
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["FAILED", "numbers", "the", "numbers", "are", "wrong"],
        ["ok", "games", "5", "games"],
    ]


@pytest.mark.usefixtures("_two_checks")
def test_the_json_of_verify_is_one_object() -> None:
    result = craits("verify", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "ok": False,
        "checks": [
            {"name": "numbers", "ok": False, "detail": "the numbers are wrong"},
            {"name": "games", "ok": True, "detail": "5 games"},
        ],
    }


def sattolo(decks: Decks, _seed: np.uint64) -> None:
    """Shuffle, but never leave a card in its place."""
    random = np.random.default_rng(1)
    for deck in decks:
        for place in range(len(deck) - 1, 0, -1):
            other = random.integers(place)
            deck[place], deck[other] = deck[other], deck[place]


def break_down(*_arguments: Any, **_options: Any) -> Any:
    raise KernelError("a card is lost")


def depends_on_threads(*_arguments: Any, threads: int, **_options: Any) -> dict[str, Any]:
    return {"games": np.array([threads])}


@pytest.mark.parametrize(
    ("check", "name", "stand_in", "why"),
    [
        ("philox4x32-10", "philox", lambda *words: words[:4], "published is"),
        ("xoroshiro128++", "advance", lambda s0, s1: (s0 + s1, s1, s0), "number 0 is 3, published is 393217"),
        ("cards and plays", "simulate_batch", break_down, "KernelError: a card is lost"),
        ("vectors", "step_loops", lambda *_: [Loop(80, 0, 0)], "without vectors"),
    ],
)
def test_a_check_fails_where_its_part_does(
    monkeypatch: pytest.MonkeyPatch, check: str, name: str, stand_in: Callable[..., Any], why: str
) -> None:
    monkeypatch.setattr(selftest, name, stand_in)
    result = perform(check)
    assert not result.ok
    assert why in result.detail


def test_a_bad_shuffle_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = selftest.shuffled_decks
    monkeypatch.setattr(selftest, "shuffle_decks", sattolo)
    monkeypatch.setattr(selftest, "shuffled_decks", lambda _games, seed: whole(3000, seed))
    assert ": p = " in perform("shuffle").detail


def test_sums_that_depend_on_threads_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run", depends_on_threads)
    assert perform("threads").detail == "games depends on the number of threads"


def test_games_of_other_rules_fail_the_yardstick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "YARDSTICK_GAMES", 20_000)
    for changes in ({"draw.count": 2}, {"announce.cards": 0, "crank.on_last_card": "next_pays"}):
        other = load_rules("classic", {"players": 4, **changes})
        monkeypatch.setattr(selftest, "load_rules", lambda *_, rules=other: rules)
        result = perform("yardstick, 4 players")
        assert not result.ok
        assert "known is" in result.detail


# --- Machine code ---

ASSEMBLY = """
step:
	movq	%rdi, %rax
.LBB0_1:
	vmovdqu64	(%rax,%r9,8), %zmm3
	vpaddq	%zmm3, %zmm4, %zmm3
	vpxor	%xmm1, %xmm1, %xmm1
	jne	.LBB0_1
.LBB0_2:
.LBB0_3:
	movdqa	(%rax), %xmm0
	popcntq	%rax, %rbx
	jmp	.LBB0_3
	jne	.LBB0_2
	je	.LBB0_9
.LBB0_9:
.Lfunc_end0:
wrapper:
.LBB1_1:
	vpaddq	%ymm3, %ymm4, %ymm3
	jne	.LBB1_1
"""


def test_loops_are_found_in_machine_code() -> None:
    wide, scalar = find_loops(ASSEMBLY)
    assert wide == Loop(instructions=4, of_vectors=2, bits=512)
    assert scalar == Loop(instructions=3, of_vectors=0, bits=0)
    assert str(wide) == "512-bit vectors, 8 games an instruction (2 of 4 instructions)"
    assert str(scalar) == "no vectors (3 instructions)"


def test_loops_are_found_in_the_machine_code_of_arm() -> None:
    (loop,) = find_loops(
        "LBB0_1:\n\tldr\tq0, [x8]\n\tadd\tv0.2d, v0.2d, v1.2d\n\tcnt\tv0.16b, v0.16b\n\tb.ne\tLBB0_1\n"
    )
    assert loop == Loop(instructions=4, of_vectors=2, bits=128)


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="knows what x86 CPUs can do")
def test_the_step_works_on_the_widest_vectors_that_pay() -> None:
    """A branch or a mixed type in the step makes it several times slower, and is easily written."""
    loops = step_loops(load_rules("classic"), parse_bots("random", 4))
    features = CPU[1].split(",")
    if "+avx512vpopcntdq" in features:
        assert [loop.bits for loop in loops] == [512] * len(loops)
    elif "+avx2" in features:
        assert [loop.bits for loop in loops] == [256] * len(loops)
    else:
        assert 128 in [loop.bits for loop in loops]
    assert len(loops) == 3


# --- craits bench ---

BENCH_KEYS = (
    *("games_per_s", "turns_per_s", "ns_per_turn", "threads", "games", "players", "bots", "compile_s"),
    "cached",
)


def test_bench_gives_the_promised_keys() -> None:
    result = craits(
        "bench", "--json", "--games", "2k", "--players", "3", "--bots", "greedy,random,random", "--threads", "2"
    )
    assert result.exit_code == 0, result.output
    measured = json.loads(result.stdout)
    assert tuple(measured) == BENCH_KEYS
    assert (measured["threads"], measured["games"], measured["players"]) == (2, 2000, 3)
    assert measured["bots"] == ["greedy", "random", "random"]
    rules = load_rules("classic", {"players": 3})
    turns = simulate_batch(rules, parse_bots("greedy,random,random", 3), 1, 0, 2000).turns.sum()
    assert measured["turns_per_s"] / measured["games_per_s"] == pytest.approx(turns / 2000)
    assert measured["ns_per_turn"] > 0
    assert isinstance(measured["cached"], bool)


def test_bench_says_what_it_measured_in_words() -> None:
    text = craits("bench", "--games", "1k").stdout
    assert "1,000 games of classic, 4 players, bots random, threads 1" in text
    assert " ns a turn: " in text


def test_bench_shows_the_machine_code() -> None:
    text = craits("bench", "--games", "1k", "--asm").stdout
    assert f"Compiled for {CPU[0]}" in text
    assert "Loop 3 of the step: " in text
    measured = json.loads(craits("bench", "--games", "1k", "--asm", "--json").stdout)
    assert tuple(measured) == (*BENCH_KEYS, "cpu", "features", "loops")
    assert len(measured["loops"]) == 3
