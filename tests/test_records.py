"""Records: a row for each game (and round) and seat, in Parquet files that are whole or absent."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from craits_sim import records, runner
from craits_sim.bots import parse_bots
from craits_sim.cli import cli
from craits_sim.design import DesignError, DesignPoint
from craits_sim.kernel import simulate_batch
from craits_sim.records import recording
from craits_sim.results import WIN_UNIT, Batch, Ending
from craits_sim.rules import load_rules
from craits_sim.studies.base import Sums

GAMES = 300


def point(
    players: int = 3, bots: str = "random", factors: dict[str, object] | None = None, **rules: Any
) -> DesignPoint:
    loaded = load_rules("classic", {"players": players, **rules})
    return DesignPoint(factors or {}, loaded, parse_bots(bots, players))


def nothing(_batches: object) -> Sums:
    return {"games": np.zeros(1, np.int64)}


def record(
    folder: Path, points: list[DesignPoint], threads: int = 2, **options: Any
) -> tuple[pd.DataFrame, pd.DataFrame]:
    files = folder / "games.parquet", folder / "rounds.parquet"
    with recording(points, 5, *files) as recorder:
        runner.run(points, nothing, games=GAMES, seed=5, threads=threads, recorder=recorder, **options)
    return pd.read_parquet(files[0]), pd.read_parquet(files[1])


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[Batch, pd.DataFrame, pd.DataFrame]:
    table = point(bots="greedy,random,random:forget=0.5", deals=[3, 5])
    batch = simulate_batch(table.rules, table.bots, 5, 0, GAMES)
    return batch, *record(tmp_path_factory.mktemp("records"), [table])


def test_a_row_says_what_happened_to_a_seat_in_a_game(played: tuple[Batch, pd.DataFrame, pd.DataFrame]) -> None:
    batch, games, _ = played
    assert list(games.columns) == list(records.GAME_COLUMNS)
    assert len(games) == GAMES * 3
    for row in games.itertuples():
        game, seat = row.game, row.seat
        assert row.Index == game * 3 + seat
        assert row.position == (seat - batch.first_dealer[game]) % 3
        assert row.bot == ("greedy", "random", "random:forget=0.5")[seat]
        assert (row.total, row.win) == (batch.totals[game, seat], batch.wins[game, seat] / WIN_UNIT)
        assert (row.turns, row.cards_drawn) == (batch.turns[game].sum(), batch.drawn[game].sum())
        assert (row.crank_cards_drawn, row.cranks) == (batch.crank_drawn[game].sum(), batch.cranks[game].sum())
        assert (row.reshuffles, row.truncated) == (batch.reshuffles[game].sum(), 0)
        assert row.blocked == (batch.ending[game] == Ending.BLOCKED).sum()


def test_a_row_says_what_happened_to_a_seat_in_a_round(played: tuple[Batch, pd.DataFrame, pd.DataFrame]) -> None:
    batch, _, rounds = played
    assert list(rounds.columns) == list(records.ROUND_COLUMNS)
    assert len(rounds) == GAMES * 2 * 3
    for row in rounds.itertuples():
        game, number, offset = row.game, row.round - 1, row.offset
        seat = (batch.dealer[game, number] + offset) % 3
        assert row.Index == (game * 2 + number) * 3 + offset
        assert (row.deal_size, row.seat) == ((3, 5)[number], seat)
        assert row.position == (seat - batch.first_dealer[game]) % 3
        assert row.bot == ("greedy", "random", "random:forget=0.5")[seat]
        assert row.points == batch.points[game, number, offset]
        assert row.went_out == (batch.went_out[game, number] == seat)
        assert row.ending == ("went_out", "blocked", "truncated")[batch.ending[game, number]]
        assert row.turns == batch.seat_turns[game, number, offset]
        assert (row.skips, row.forced_cards) == (batch.skips[game, number, offset], batch.forced[game, number, offset])
        assert (row.round_turns, row.cards_drawn) == (batch.turns[game, number], batch.drawn[game, number])
        assert row.crank_cards_drawn == batch.crank_drawn[game, number]
        assert (row.cranks, row.reshuffles) == (batch.cranks[game, number], batch.reshuffles[game, number])


def test_the_columns_are_those_that_the_module_documents() -> None:
    for name in {**records.GAME_COLUMNS, **records.ROUND_COLUMNS}:
        assert f"``{name}``" in str(records.__doc__)


def test_rows_are_the_same_and_in_order_whatever_the_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 7)
    points = [
        point(2, factors={"players": 2, "bots": "random"}),
        point(4, "greedy", factors={"players": 4, "bots": "greedy"}),
    ]
    one, many = record(tmp_path, points, threads=1), record(tmp_path, points, threads=4)
    for first, second in zip(one, many, strict=True):
        pd.testing.assert_frame_equal(first, second)
        assert first["game"].is_monotonic_increasing
        assert first["players"].iloc[0] == 2
        assert set(first["bots"]) == {"random", "greedy"}
        assert (first.groupby("players")["seat"].nunique() == first.groupby("players")["seat"].max() + 1).all()
    assert len(one[0]) == GAMES * (2 + 4)


def test_a_run_that_stops_early_records_the_games_that_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "CHUNK_GAMES", 7)
    monkeypatch.setattr(runner, "looks", lambda games: iter([50, 100, games]))
    games, _ = record(tmp_path, [point()], threads=4, enough=lambda played, _sums: played >= 100)
    assert sorted(set(games["game"])) == list(range(100))


def test_the_file_says_what_was_played(tmp_path: Path) -> None:
    table = point(factors={"draw.count": 2}, **{"draw.count": 2})
    games, rounds = record(tmp_path, [table])
    told = json.loads(pq.read_schema(tmp_path / "games.parquet").metadata[b"craits"])
    assert games.attrs["craits"] == rounds.attrs["craits"] == told
    assert told["seed"] == 5
    assert {"version", "rng", "pyarrow"} <= set(told)
    (design_point,) = told["design_points"]
    assert design_point["factors"] == {"draw.count": 2}
    assert design_point["rules"]["digest"] == table.rules.digest
    assert load_rules("classic", design_point["rules"]["fields"]) == table.rules
    assert design_point["bots"] == ["random"] * 3


# --- Whole or absent ---


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
def test_a_run_that_fails_leaves_the_earlier_file_and_nothing_else(tmp_path: Path, failure: BaseException) -> None:
    (tmp_path / "games.parquet").write_text("earlier")
    with pytest.raises(type(failure)), recording([point()], 5, tmp_path / "games.parquet", tmp_path / "new.parquet"):
        raise failure
    assert os.listdir(tmp_path) == ["games.parquet"]
    assert (tmp_path / "games.parquet").read_text() == "earlier"


def test_a_full_disk_ends_with_one_message_and_leaves_nothing(tmp_path: Path) -> None:
    # The limit comes after the kernel is ready: it may have to be written into its cache.
    program = (
        "import resource, signal, craits_sim\n"
        "from craits_sim.cli import cli\n"
        "craits_sim.simulate(games=1)\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "cli(['simulate', '--games', '5k', '--records-rounds', 'r.parquet', '-q'])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    message = done.stderr.splitlines()[-1]
    assert message.startswith("Error: ")
    assert "the records cannot be written here" in message
    assert "r.parquet" in message
    assert os.listdir(tmp_path) == []


def test_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    program = "from craits_sim.cli import cli; cli(['simulate', '--games', '1e9', '--records', 'g.parquet', '-q'])"
    run = subprocess.Popen([sys.executable, "-c", program], cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    while not any(file.stat().st_size > 10_000 for file in tmp_path.iterdir()):
        assert run.poll() is None
        time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    _, errors = run.communicate(timeout=30)
    assert run.returncode == 130
    assert errors.endswith("Stopped.\n")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("place", "reason"), [(".", "Is a directory"), ("none/games.parquet", "No such file or directory")]
)
def test_a_place_that_cannot_be_written_is_found_before_the_games_are_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, reason: str
) -> None:
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("games were played"))
    for command in ("simulate", "seats"):
        arguments = [command, "--records", str(tmp_path / place)]
        if command == "seats":
            arguments += ["--output", str(tmp_path / "reports")]
        result = CliRunner().invoke(cli, arguments)
        assert result.exit_code == 2
        assert f"the records cannot be written here: {reason}" in result.stderr


def test_two_kinds_of_records_need_two_files(tmp_path: Path) -> None:
    with pytest.raises(DesignError, match="name two files"), recording([point()], 5, tmp_path / "a", tmp_path / "a"):
        pass


def test_no_records_are_none() -> None:
    with recording([point()], 5, None, None) as recorder:
        assert recorder is None


def test_a_linked_file_is_replaced_where_it_lies(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "games.parquet").symlink_to(tmp_path / "disk" / "real.parquet")
    record(tmp_path, [point()])
    assert (tmp_path / "games.parquet").is_symlink()
    assert os.listdir(tmp_path / "disk") == ["real.parquet"]
