"""The runner: the same sums however a run is cut up, and clean ends."""

import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from craits_sim import aggregate, runner
from craits_sim.bots import parse_bots
from craits_sim.design import DesignPoint, design_points, make_experiment
from craits_sim.kernel import _jit, simulate_batch, warm
from craits_sim.results import Batch
from craits_sim.rules import load_rules
from craits_sim.studies.base import Sums

GAMES = 300


def point(players: int = 3, bots: str = "random", **changes: object) -> DesignPoint:
    """Make a design point of short games."""
    fields = {key.replace("__", "."): value for key, value in changes.items()}
    rules = load_rules("classic", {"players": players, "deals": [2, 1], **fields})
    return DesignPoint({}, rules, parse_bots(bots, players))


def run(points: Sequence[DesignPoint], tally: Callable[..., Sums] = aggregate.tally, **options: Any) -> Sums:
    return runner.run(points, tally, **{"games": GAMES, "seed": 5, "threads": 2, **options})


def as_lists(sums: Sums) -> dict[str, Any]:
    return {key: values.tolist() for key, values in sums.items()}


def tally_games(batches: Sequence[Batch]) -> Sums:
    """Count games, and weigh each by something that tells them apart."""
    return {
        f"{index}.{name}": np.array([value])
        for index, batch in enumerate(batches)
        for name, value in {"games": len(batch.totals), "totals": int((batch.totals**2).sum())}.items()
    }


# --- The same result ---


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_threads_and_chunks_do_not_show_in_the_result(
    monkeypatch: pytest.MonkeyPatch, threads: int, chunk: int
) -> None:
    whole = simulate_batch(point().rules, point().bots, 5, 0, GAMES)
    monkeypatch.setattr(runner, "CHUNK_GAMES", chunk)
    assert as_lists(run([point()], threads=threads)) == as_lists(aggregate.tally([whole]))


@pytest.mark.parametrize("part", [slice(0, 100), slice(100, 101), slice(37, 300)])
def test_a_game_is_the_same_in_any_batch(part: slice) -> None:
    rules, bots = point(bots="random:forget=0.3,greedy,random")[1:3]
    whole = simulate_batch(rules, bots, 5, 0, GAMES)
    alone = simulate_batch(rules, bots, 5, part.start, part.stop - part.start)
    for name in Batch._fields:
        assert np.array_equal(getattr(alone, name), getattr(whole, name)[part]), name


def test_all_design_points_play_the_same_game_indices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 50)
    points = [point(), point(draw__count=2), point(players=4), point()]
    sums = as_lists(run(points, tally_games))
    assert [sums[f"{index}.games"] for index in range(4)] == [[GAMES]] * 4
    assert sums["0.totals"] == sums["3.totals"] != sums["1.totals"]

    def same_first_dealers(batches: Sequence[Batch]) -> Sums:
        return {"differ": np.array([int((batches[0].first_dealer != batches[1].first_dealer).sum())])}

    assert as_lists(run(points[:2], same_first_dealers)) == {"differ": [0]}


def test_a_run_of_fewer_games_is_the_beginning_of_a_longer_one() -> None:
    whole = simulate_batch(point().rules, point().bots, 5, 0, GAMES)
    beginning = aggregate.tally([Batch._make(array[:40] for array in whole)])
    assert as_lists(run([point()], games=40)) == as_lists(beginning)


# --- How a run is cut up ---


@pytest.mark.parametrize("begun", [1, 69, 70, 200, GAMES])
@pytest.mark.parametrize("threads", [1, 3])
def test_a_run_goes_on_from_what_is_played(monkeypatch: pytest.MonkeyPatch, begun: int, threads: int) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 70)
    played = runner.Played(begun, run([point()], games=begun))
    seen: list[int] = []
    sums = run([point()], begun=played, threads=threads, on_progress=lambda games, _sums: seen.append(games))
    assert as_lists(sums) == as_lists(run([point()]))
    assert seen[0] == begun
    assert seen[-1] == GAMES


def test_what_is_played_is_kept_now_and_then_and_when_the_run_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 10)
    monkeypatch.setattr(runner, "SECONDS_BETWEEN_KEEPS", 0.0)
    kept: list[runner.Played] = []

    def interrupt(played: int, _sums: Sums) -> None:
        if played >= 100:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([point()], games=10**6, on_progress=interrupt, keep=kept.append)
    assert 2 <= len(kept) <= 11
    assert kept[-1].games == 100
    for games, sums in kept:
        assert as_lists(sums) == as_lists(run([point()], games=games))


def test_progress_begins_with_nothing_and_ends_with_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 70)
    seen: list[tuple[int, dict[str, Any]]] = []
    total = run([point()], tally_games, on_progress=lambda played, sums: seen.append((played, as_lists(sums))))
    assert seen[0] == (0, {})
    assert seen[-1] == (GAMES, as_lists(total))
    assert len(seen) == 1 + 5
    assert all(sums["0.games"] == [played] for played, sums in seen[1:])


def test_only_a_few_chunks_wait_for_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 1)
    submitted: list[Any] = []
    waiting: list[int] = []

    class CountingPool(ThreadPoolExecutor):
        def submit(self, *arguments: Any, **options: Any) -> Any:
            submitted.append(super().submit(*arguments, **options))
            waiting.append(sum(not chunk.done() for chunk in submitted))
            return submitted[-1]

    monkeypatch.setattr(runner, "ThreadPoolExecutor", CountingPool)
    run([point()], tally_games, games=60)
    assert len(submitted) == 60
    assert max(waiting) <= 2 + 1


def test_only_a_few_chunks_are_played_ahead_of_a_slow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 1)
    ahead = 0
    play_chunk = runner._play_chunk
    caught_up = threading.Event()

    def first_is_slow(points: Any, tally: Any, seed: int, first_game: int, *others: Any) -> Any:
        nonlocal ahead
        if first_game == 0:  # it ends when the run has stopped to play others, or has played them all
            caught_up.wait(1.0)
        ahead += not caught_up.is_set()
        chunk = play_chunk(points, tally, seed, first_game, *others)
        if first_game == 0:
            caught_up.set()
        return chunk

    monkeypatch.setattr(runner, "_play_chunk", first_is_slow)
    sums = run([point()], tally_games, games=300)
    assert as_lists(sums)["0.games"] == [300]
    # Those that wait, those that were waiting for a thread by then, and the slow one.
    assert runner.MOST_CHUNKS_WAITING <= ahead <= 2 * runner.MOST_CHUNKS_WAITING + 3 + 1


def test_chunks_grow_to_their_time_and_shrink_near_the_end() -> None:
    points = [point()]
    assert runner._chunk_size(points, None, 10**6, 2) == runner.FIRST_CHUNK_ROUNDS // 2
    assert runner._chunk_size(points * 5000, None, 10**6, 2) == 1
    assert runner._chunk_size(points, 1e-4, 10**6, 2) == pytest.approx(runner.CHUNK_SECONDS / 1e-4, abs=1)
    assert runner._chunk_size(points, 10.0, 10**6, 2) == 1
    assert runner._chunk_size(points * 100, 10.0, 10**6, 2) == 3
    assert runner._chunk_size(points * 100, 1e-2, 10**6, 2) == 256
    assert runner._chunk_size(points, 1e-6, 4000, 2) == 1000
    assert runner._chunk_size(points, 1e-6, 300, 2) == 256
    assert runner._chunk_size(points, 1e-6, 5, 2) == 5


def test_the_batches_of_all_threads_fit_into_their_memory() -> None:
    long = [point(deals=[1] * 200)] * 8
    for threads in (1, 2, 16):
        games = runner._largest_chunk(long, threads, False)
        batch = simulate_batch(long[0].rules, long[0].bots, 1, 0, 2)
        assert games * threads * len(long) * sum(array.nbytes for array in batch) / 2 <= runner.CHUNKS_BYTES
    assert runner._largest_chunk([point()], 1, False) == runner.CHUNK_GAMES


# --- How a run ends ---


@pytest.fixture
def _many_chunks(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Cut runs into chunks of 10 games, and see that no thread outlives its run."""
    monkeypatch.setattr(runner, "CHUNK_GAMES", 10)
    before = threading.active_count()
    yield
    assert threading.active_count() == before


@pytest.mark.usefixtures("_many_chunks")
def test_a_fault_in_a_thread_ends_the_run() -> None:
    calls = 0

    def faulty(batches: Sequence[Batch]) -> Sums:
        nonlocal calls
        calls += 1
        if calls >= 3:
            raise ZeroDivisionError("in a tally")
        return tally_games(batches)

    with pytest.raises(ZeroDivisionError, match="in a tally"):
        run([point()], faulty, games=10_000)
    assert calls <= 3 + 2 + 1


@pytest.mark.usefixtures("_many_chunks")
def test_ctrl_c_stops_the_threads_and_goes_on_to_the_caller() -> None:
    tallied = 0

    def tally(batches: Sequence[Batch]) -> Sums:
        nonlocal tallied
        tallied += 1
        return tally_games(batches)

    def interrupt(played: int, _sums: Sums) -> None:
        if played >= 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([point()], tally, games=10**9, on_progress=interrupt)
    # Those of the first 50 games, those ahead of one of them, and those in play or waiting for a thread.
    assert tallied <= 5 + 2 * runner.MOST_CHUNKS_WAITING + 2 + 1


@pytest.mark.usefixtures("_many_chunks")
def test_a_stopped_chunk_does_not_play_its_other_design_points(monkeypatch: pytest.MonkeyPatch) -> None:
    batches_played = 0
    stop = threading.Event()

    def play_one(*arguments: Any, **options: Any) -> Batch:
        nonlocal batches_played
        batches_played += 1
        stop.set()
        return simulate_batch(*arguments, **options)

    monkeypatch.setattr(runner, "simulate_batch", play_one)
    with pytest.raises(runner.Stopped):
        runner._play_chunk([point()] * 9, tally_games, 1, 0, 10, stop, None, False)
    assert batches_played == 1


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.bool_])
def test_sums_that_are_not_of_64_bit_integers_are_refused(dtype: type) -> None:
    with pytest.raises(TypeError, match=r"0\.share is of .*allowed is int64"):
        run([point()], lambda _batches: {"0.share": np.zeros(3, dtype)})


@pytest.mark.skipif(os.name == "nt", reason="sends a signal of POSIX")
def test_ctrl_c_at_the_keyboard_ends_the_program_with_130() -> None:
    script = """
import os, signal
from craits_sim import runner
from craits_sim.cli import cli

play_chunk = runner._play_chunk

def play_one_and_press_ctrl_c(*arguments):
    chunk = play_chunk(*arguments)
    if chunk.first_game == 0:
        os.kill(os.getpid(), signal.SIGINT)
    return chunk

runner._play_chunk = play_one_and_press_ctrl_c
cli()
"""
    command = [sys.executable, "-c", script, "simulate", "--games", "1e9", "--threads", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 130
    assert done.stdout == ""
    assert done.stderr.endswith("Stopped.\n")
    assert "Traceback" not in done.stderr


# --- Where the numbers come from ---


def test_provenance_is_the_same_for_the_same_experiment() -> None:
    experiment = make_experiment(
        {
            "name": "try",
            "study": "seats",
            "games": 10,
            "seed": 3,
            "vary": {"players": [2, 3], "bots": ["random", "greedy"]},
        }
    )
    first, second = (runner.provenance(design_points(experiment), experiment) for _ in range(2))
    assert first == second
    assert json.loads(json.dumps(first)) == first
    assert first["seed"] == 3
    assert first["games"] == 10
    assert first["rules"] == [load_rules("classic", {"players": players}).digest for players in (2, 3)]
    assert {"version", "rng", "python", "numpy", "numba"} < set(first)


# --- Compiling, and keeping what was compiled ---


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder."""
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(_jit, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(_jit, "CACHE_PROBLEMS", [])
    monkeypatch.setattr(warm, "CACHE_PROBLEMS", _jit.CACHE_PROBLEMS)
    return tmp_path


def double() -> Any:
    """Compile a small function with the decorator of the kernel, as a new start would."""

    def doubled(x):  # type: ignore[no-untyped-def]
        return x + x

    return _jit.compiled(doubled)


def is_loaded(function: Any) -> bool:
    """Whether a function that was called came from the cache."""
    return sum(function.stats.cache_hits.values()) == 1


def test_compiled_code_is_kept(cache: Path) -> None:
    first, second = double(), double()
    assert first(3) == 6
    assert second(4) == 8
    assert not is_loaded(first)
    assert is_loaded(second)


def test_damaged_code_is_compiled_anew_and_kept_again(cache: Path) -> None:
    assert double()(3) == 6
    for suffix in ("nbc", "nbi"):
        for file in cache.rglob(f"*.{suffix}"):
            file.write_bytes(b"torn")
        damaged, mended = double(), double()
        assert damaged(3) == mended(3) == 6
        assert not is_loaded(damaged)
        assert is_loaded(mended)


def test_a_full_disk_means_compiling_in_memory(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)
    assert double()(3) == 6
    assert double()(3) == 6
    (problem,) = _jit.CACHE_PROBLEMS
    assert problem == f"{cache}: No space left on device"


def test_two_processes_that_compile_at_once_do_not_overwrite_each_other(cache: Path) -> None:
    one, other = double(), double()
    # Both read the index before either writes it.
    one._cache._cache_file._load_index = dict
    other._cache._cache_file._load_index = dict
    assert one(3) == 6
    assert other(1.5) == 3.0
    third = double()
    assert third(3) == 6
    assert third(1.5) == 3.0
    assert len(list(cache.rglob("*.nbc"))) == 3


@pytest.mark.parametrize("folder", ["file/below", "file"])
def test_a_folder_that_cannot_be_written_means_compiling_in_memory(
    cache: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    (cache / "file").write_text("no folder")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache / folder))
    assert _jit._choose_cache("abc") is None
    assert len(_jit.CACHE_PROBLEMS) == 1


def used(folder: Path, days_ago: float) -> Path:
    """Make a cache folder as it is so many days after its last use."""
    (folder / "kernel").mkdir(parents=True)
    (folder / "kernel" / "step.nbc").write_bytes(b"code")
    then = time.time() - days_ago * 86_400
    os.utime(folder, (then, then))
    return folder


OLD, RECENT, MINE, LEFT = (f"kernel-{digit * 16}" for digit in "abcd")


def test_a_new_cache_folder_replaces_those_unused_for_a_month(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Beside them: one in use, what a removal that was killed left, and folders that are none of ours.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    for name, days_ago in ((OLD, 31), (RECENT, 29), (f"{LEFT}-12ab34cd", 31), ("kernel-notes", 31), ("other", 31)):
        used(cache / name, days_ago)
    assert _jit._choose_cache(MINE.removeprefix("kernel-")) == cache / MINE
    assert sorted(os.listdir(cache)) == sorted([RECENT, MINE, "kernel-notes", "other"])
    assert (cache / RECENT / "kernel" / "step.nbc").read_bytes() == b"code"


def test_a_cache_folder_that_is_used_counts_as_used(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The start that uses an old folder keeps it, and the start that makes a new one later finds it used.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    used(cache / OLD, 31)
    for name in (OLD, MINE):
        _jit._choose_cache(name.removeprefix("kernel-"))
    assert sorted(os.listdir(cache)) == sorted([OLD, MINE])


def test_two_starts_may_remove_unused_cache_folders_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # The other start has taken the first folder away when this one comes to it.
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cache))
    for name in (OLD, LEFT):
        used(cache / name, 31)
    rename, taken = Path.rename, []

    def rename_after_the_other(folder: Path, target: Path) -> Path:
        if not taken:
            taken.append(folder.name)
            shutil.rmtree(folder)
        return rename(folder, target)

    monkeypatch.setattr(Path, "rename", rename_after_the_other)
    assert _jit._choose_cache(MINE.removeprefix("kernel-")) == cache / MINE
    assert taken[0] in (OLD, LEFT)
    assert os.listdir(cache) == [MINE]
    assert _jit.CACHE_PROBLEMS == []


def test_compiling_is_announced_when_it_happens_and_only_then(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    function: Any = double()
    monkeypatch.setattr(warm, "simulate_batch", lambda *_, **__: function(3))
    said: list[str] = []
    table = point()[1:3]
    start = warm.compile_kernel([table, table], said.append)
    assert not start.cached
    assert len(said) == 1
    assert said[0].startswith("Compiling the simulator for this machine (once, ")
    for again in (function, double()):
        function = again
        assert warm.compile_kernel([table], said.append).cached
    assert len(said) == 1


def test_code_that_cannot_be_kept_is_announced(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _jit.CACHE_PROBLEMS.append("somewhere: Read-only file system")
    function = double()
    monkeypatch.setattr(warm, "simulate_batch", lambda *_, **__: function(3))
    said: list[str] = []
    warm.compile_kernel([point()[1:3]], said.append)
    assert "at every start" in said[0]
    assert said[1].endswith("somewhere: Read-only file system")


def test_matrix_products_of_the_program_start_no_threads() -> None:
    script = (
        "import os, sys; from craits_sim.cli import cli; "
        "print('numpy' in sys.modules, os.environ['OPENBLAS_NUM_THREADS'])"
    )
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == ["False", "1"]
