"""The command line: what it promises to people and to programs (CONTRACT, errors, start-up)."""

import json
import os
import re
import resource
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result

from craits_sim import aggregate, runner
from craits_sim.bots import parse_bots
from craits_sim.cli import COMMANDS, cli
from craits_sim.design import DesignPoint
from craits_sim.results import WIN_UNIT
from craits_sim.rules import load_rules
from craits_sim.studies import STUDIES
from tests.fake_run import fake_batch, fake_run

HEAVY = ("numba", "pandas", "matplotlib", "scipy", "statsmodels", "pydantic", "jinja2", "rich")
REPORT = {"index.html", "summary.csv", "chart.svg", "chart.png", "experiment.toml", "provenance.json"}


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments), prog_name="craits")


def craits_json(*arguments: str) -> dict[str, Any]:
    result = craits(*arguments, "--json")
    assert result.exit_code == 0, result.output
    read: dict[str, Any] = json.loads(result.stdout)
    return read


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make up the results instead of playing games."""
    monkeypatch.setattr(runner, "run", fake_run)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- Start-up and help ---


def test_help_starts_at_once_and_imports_nothing_heavy() -> None:
    script = (
        "import sys\n"
        "from craits_sim.cli import cli\n"
        "try: cli.main(['--help'])\n"
        f"finally: print([name for name in {HEAVY} if name in sys.modules], file=sys.stderr)\n"
    )
    seconds = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert done.stderr.strip() == "[]"
        assert "simulate" in done.stdout
    # Time of the CPU, which other programs on the machine do not lengthen.
    assert min(seconds) <= 0.3


def test_help_lists_every_command_and_every_study_with_its_question() -> None:
    text = re.sub(r"\s+", " ", craits("-h").stdout)
    for name, (_, line) in COMMANDS.items():
        assert f"{name} {line}" in text
    for study in STUDIES.values():
        assert f"{study.name} {study.question}" in text


@pytest.mark.parametrize("name", [*COMMANDS, *STUDIES])
def test_every_command_explains_itself_with_an_example(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    paths = [(name, inner) for inner in command.commands] if isinstance(command, click.Group) else [(name,)]
    for path in paths:
        text = craits(*path, "-h").stdout
        assert text == craits(*path, "--help").stdout
        assert re.search(r"Examples?:\n  +craits ", text)


@pytest.mark.parametrize("name", list(COMMANDS))
def test_the_help_line_of_a_command_is_the_first_line_of_its_own_help(name: str) -> None:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    assert command.help is not None
    assert command.help.splitlines()[0] == COMMANDS[name][1]


def test_the_version_is_printed() -> None:
    assert craits("--version").stdout.startswith("craits ")


@pytest.mark.parametrize(("wrong", "right"), [("simulte", "simulate"), ("seat", "seats"), ("verfy", "verify")])
def test_an_unknown_command_is_answered_with_the_nearest(wrong: str, right: str) -> None:
    result = craits(wrong)
    assert result.exit_code == 2
    assert f'"{wrong}" is no command' in result.stderr
    assert f'did you mean "{right}"?' in result.stderr
    assert result.stdout == ""


# --- Errors ---


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["simulate", "--games", "0"], ["--games", '"0"', "whole numbers from 1 to 10,000,000,000"]),
        (["simulate", "--games", "-3"], ["--games", '"-3"', "whole numbers from 1"]),
        (["simulate", "--games", "nan"], ["--games", '"nan"', "whole numbers from 1"]),
        (["simulate", "--games", "1e99"], ["--games", '"1e99"', "10,000,000,000"]),
        (["simulate", "--games", "lots"], ["--games", '"lots"', "whole numbers"]),
        (
            ["simulate", "--seed", "-1"],
            ["--seed", '"-1"', "whole numbers from 0 to 18,446,744,073,709,551,615"],
        ),
        (["simulate", "--threads", "0"], ["--threads", '"0"', "whole numbers from 1"]),
        (["simulate", "--players", "1"], ["--players", '"1"', "whole numbers from 2 to 10"]),
        (["simulate", "--players", "7"], ["players = 7"]),
        (["simulate", "--bots", "gredy"], ['"gredy"', "random, greedy", 'did you mean "greedy"']),
        (["simulate", "--bots", "random:forget=2"], ["forget", "2"]),
        (["simulate", "--bots", "random,greedy"], ["2 bots for 4 players"]),
        (["simulate", "--rules", "clasic"], ["clasic", "presets are classic", 'did you mean "classic"']),
        (["simulate", "--set", "draw.cuont=2"], ["draw.cuont", 'did you mean "draw.count"']),
        (["simulate", "--set", "draw.count"], ["draw.count", "KEY=VALUE"]),
        (["simulate", "--gmes", "5"], ["--gmes", "--games"]),
        (["seats", "--level", "95"], ["--level", '"95"', "numbers above 0.5 and below 1"]),
        (["seats", "--margin", "-1"], ["--margin", '"-1"', "numbers above 0"]),
        (["seats", "--margin", "100"], ['"100"', "below 100, in percentage points of win share"]),
        (["dealer", "--margin", "1 pp"], ['"1 pp"', "numbers above 0", "in points a round"]),
        (["compare", "--variant", "wiki", "--margin", "5%"], ['"5%"', "below 100, in percentage points of win share"]),
        (["seats", "--vary", "players"], ["--vary", '"players"', "KEY=[V1, V2, ...]"]),
        (["seats", "--vary", "players=[2, 2]"], ["vary.players", "twice"]),
        (["seats", "--vary", "palyers=[2, 3]"], ["palyers", 'did you mean "players"']),
        (["seats", "--name", "../up"], ['name = "../up"', "folder names"]),
        (["run", "none.toml"], ["none.toml", "no such file"]),
    ],
    ids=" ".join,
)
def test_a_mistake_ends_with_one_message_and_exit_code_2(here: Path, arguments: list[str], parts: list[str]) -> None:
    result = craits(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.count("Error:") == 1
    message = result.stderr[result.stderr.index("Error:") :]
    assert message.count("\n") == 1
    for part in parts:
        assert part in message
    assert "Traceback" not in result.stderr
    assert os.listdir(here) == []


def test_an_experiment_of_an_unknown_study_or_option_is_answered_with_the_nearest(here: Path) -> None:
    Path("a.toml").write_text('study = "seets"\n')
    result = craits("run", "a.toml")
    assert result.exit_code == 2
    assert '"seets"' in result.stderr
    assert 'did you mean "seats"' in result.stderr
    Path("b.toml").write_text('study = "seats"\noptions.pace = 8\n')
    result = craits("run", "b.toml")
    assert result.exit_code == 2
    assert "b.toml: options.pace is no option of the study seats" in result.stderr


@pytest.mark.parametrize("study", ["seats", "players", "stalemate", "compare", "screen"])
def test_a_margin_of_shares_in_an_experiment_is_below_100_percent(here: Path, study: str) -> None:
    Path("a.toml").write_text(f'study = "{study}"\nmargin = 250\n[[variant]]\nname = "w"\nrules = "wiki"\n')
    result = craits("run", "a.toml")
    assert result.exit_code == 2
    assert "a.toml: margin = 250.0: allowed are numbers above 0 and below 100, in " in result.stderr


def test_a_mistake_in_the_rules_or_bots_of_an_experiment_names_the_file(here: Path) -> None:
    for line, part in [
        ("set.draw.cuont = 2", 'did you mean "draw.count"'),
        ('bots = "gredy"', 'did you mean "greedy"'),
        ('rules = "clasic"', 'did you mean "classic"'),
        ("vary.players = [4, 9]", "players = 9"),
    ]:
        Path("house.toml").write_text(f'study = "seats"\n{line}\n')
        result = craits("run", "house.toml")
        assert result.exit_code == 2
        assert result.stderr.startswith("Error: house.toml: ")
        assert part in result.stderr


def test_ctrl_c_ends_with_exit_code_130_and_leaves_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_arguments: Any, **_options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "run", interrupted)
    for arguments in (["simulate"], ["seats"]):
        result = craits(*arguments)
        assert result.exit_code == 130
        assert result.stdout == ""
        assert result.stderr == "Stopped.\n"
    assert [path for path in here.rglob("*") if path.name != "reports"] == []


def test_a_fault_of_the_program_is_not_hidden(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def faulty(*_arguments: Any, **_options: Any) -> None:
        raise ValueError("a fault")

    monkeypatch.setattr(runner, "run", faulty)
    assert isinstance(craits("simulate").exception, ValueError)


# --- craits simulate ---

SIMULATE_KEYS = [
    *("rules", "players", "bots", "seed", "games", "rounds", "version", "rng"),
    *("win_share", "mean_total", "sd_total", "by_seat", "by_offset", "per_round", "turns_by_round"),
    *("truncated", "elapsed_s"),
]


def test_simulate_prints_the_promised_keys_in_their_order(fake: None) -> None:
    result = craits_json("simulate", "--games", "2k", "--players", "3", "--bots", "greedy,random,random:forget=0.5")
    assert list(result) == SIMULATE_KEYS
    assert result["rules"] == {"name": "classic", "digest": load_rules("classic", {"players": 3}).digest}
    assert result["bots"] == ["greedy", "random", "random:forget=0.5"]
    assert (result["players"], result["seed"], result["games"], result["rounds"]) == (3, 1, 2000, 30_000)
    for key in ("win_share", "mean_total", "sd_total"):
        assert len(result[key]) == 3
    assert list(result["by_seat"]) == ["win_share", "mean_total"]
    assert list(result["by_offset"]) == ["go_out_share", "mean_points"]
    assert list(result["per_round"]) == list(aggregate.PER_ROUND)
    assert len(result["turns_by_round"]) == 15


def test_simulate_agrees_with_means_taken_game_by_game(fake: None) -> None:
    result = craits_json("simulate", "--games", "500", "--seed", "9", "--players", "3")
    rules = load_rules("classic", {"players": 3})
    batch = fake_batch(DesignPoint({}, rules, parse_bots("random", 3)), 9, 0, 500)
    games = range(500)
    for position in range(3):
        seats = [(batch.first_dealer[game] + position) % 3 for game in games]
        totals = [int(batch.totals[game, seat]) for game, seat in zip(games, seats, strict=True)]
        wins = [int(batch.wins[game, seat]) / WIN_UNIT for game, seat in zip(games, seats, strict=True)]
        mean = sum(totals) / 500
        assert result["mean_total"][position] == pytest.approx(mean, rel=1e-12)
        assert result["win_share"][position] == pytest.approx(sum(wins) / 500, rel=1e-12)
        spread = (sum((total - mean) ** 2 for total in totals) / 499) ** 0.5
        assert result["sd_total"][position] == pytest.approx(spread, rel=1e-9)
        went_out = (batch.went_out == (batch.dealer + position) % 3) & (batch.went_out >= 0)
        assert result["by_offset"]["go_out_share"][position] == pytest.approx(went_out.mean(), rel=1e-12)
        assert result["by_offset"]["mean_points"][position] == pytest.approx(batch.points[:, :, position].mean())
        assert result["by_seat"]["mean_total"][position] == pytest.approx(batch.totals[:, position].mean())
    assert result["per_round"]["turns"] == pytest.approx(batch.turns.mean())
    assert result["per_round"]["cards_drawn"] == pytest.approx(batch.drawn.mean())
    assert result["per_round"]["blocked"] == pytest.approx((batch.ending == 1).mean())
    assert result["turns_by_round"] == pytest.approx(batch.turns.mean(axis=0).tolist())


def test_the_spread_of_a_single_game_is_null(fake: None) -> None:
    result = craits_json("simulate", "--games", "1")
    assert result["sd_total"] == [None] * 4
    assert craits("simulate", "--games", "1").exit_code == 0


def test_simulate_prints_tables_with_standard_errors(fake: None) -> None:
    text = craits("simulate", "--games", "2000", "--bots", "greedy,random,random,random").stdout
    assert "2,000 games of 15 rounds, seed 1" in text
    assert re.search(r"0 +\d+\.\d+ ± [01]\.\d+ +\d+\.\d+ ± [01]\.\d+ +\d+\.\d", text)
    assert "greedy" in text
    assert "Truncated rounds: 0." in text


# --- Studies ---


def test_a_study_prints_its_conclusion_and_table_and_writes_its_report(fake: None, here: Path) -> None:
    result = craits("seats", "--games", "2k")
    assert result.exit_code == 0
    assert set(os.listdir(here / "reports" / "seats")) == REPORT
    assert os.listdir(here / "reports") == ["seats"]
    assert "95% interval" in result.stdout
    assert result.stdout.endswith(f"Report: {Path('reports', 'seats', 'index.html')}\n")


def test_the_json_of_a_study_is_one_object(fake: None, here: Path) -> None:
    result = craits_json("seats", "--games", "2k", "--output", "elsewhere", "--name", "mine", "--seed", "3")
    assert list(result) == ["study", "experiment", "summary", "conclusion"]
    assert result["study"] == "seats"
    assert result["experiment"]["seed"] == 3
    assert result["experiment"]["margin"] == STUDIES["seats"].margin
    for row in result["summary"]:
        assert {"estimand", "unit", "estimate", "se", "ci_low", "ci_high", "ci_level", "n"} <= set(row)
    assert any("verdict" in row for row in result["summary"])
    assert set(os.listdir(here / "elsewhere" / "mine")) == REPORT


def test_a_written_experiment_runs_again_to_the_same_report(fake: None, here: Path) -> None:
    Path("house.toml").write_text('base = "classic"\nname = "house"\ndraw.count = 2\n')
    first = ["--games", "2k", "--rules", "house.toml", "--vary", "players=[2, 3]", "--bots", "greedy"]
    assert craits("seats", *first, "--name", "one").exit_code == 0
    assert craits("run", "reports/one/experiment.toml", "--output", "again").exit_code == 0
    for name in REPORT - {"index.html", "provenance.json"}:
        assert (here / "reports/one" / name).read_bytes() == (here / "again/one" / name).read_bytes()


def test_run_takes_other_games_seed_and_name_than_the_file(fake: None, here: Path) -> None:
    Path("try.toml").write_text('study = "seats"\ngames = 1_000_000\nseed = 5\naim = "Why?"\n')
    assert craits("run", "try.toml", "--games", "1k", "--seed", "6", "--name", "other").exit_code == 0
    written = tomllib.loads((here / "reports/other/experiment.toml").read_text())
    assert (written["games"], written["seed"], written["name"], written["aim"]) == (1000, 6, "other", "Why?")


def test_an_unwritable_folder_is_found_before_the_games_are_played(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "run", lambda *_, **__: pytest.fail("games were played"))
    Path("taken").write_text("a file")
    for output in ("taken", "taken/deeper"):
        result = craits("seats", "--output", output)
        assert result.exit_code == 2
        assert "the report cannot be written here" in result.stderr
        assert result.stderr.count("\n") == 1
    assert os.listdir(here) == ["taken"]


def test_a_full_disk_ends_with_exit_code_2_and_leaves_the_earlier_report(
    fake: None, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert craits("seats", "--games", "1k").exit_code == 0
    earlier = {path.name: path.read_bytes() for path in (here / "reports/seats").iterdir()}

    def full(*_arguments: Any, **_options: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = craits("seats", "--games", "1k")
    assert result.exit_code == 2
    assert "the report cannot be written here: No space left on device" in result.stderr
    assert {path.name: path.read_bytes() for path in (here / "reports/seats").iterdir()} == earlier
    assert os.listdir(here / "reports") == ["seats"]


def test_studies_lists_every_study_with_its_question() -> None:
    text = craits("studies").stdout
    for study in STUDIES.values():
        assert study.name in text
        assert study.question in text
    listed = json.loads(craits("studies", "--json").stdout)
    assert [row["name"] for row in listed] == list(STUDIES)


@pytest.mark.parametrize("name", list(STUDIES))
def test_every_study_has_a_command_with_its_own_options(fake: None, here: Path, name: str) -> None:
    variant = ["--variant", "double: draw.count=2"] if name in ("compare", "screen") else []
    result = craits_json(name, *variant, "--games", "1k", "--quiet")
    assert result["experiment"]["options"] == {option.name: option.default for option in STUDIES[name].options}
    text = craits(name, "-h").stdout
    for option in STUDIES[name].options:
        assert f"--{option.name.replace('_', '-')} " in text


# --- Progress ---


def test_progress_goes_to_stderr_and_quiet_silences_it(fake: None, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("craits_sim.cli.progress.SECONDS_BETWEEN_LINES", 0.0)
    result = craits("seats", "--games", "3k", "--json")
    assert json.loads(result.stdout)
    first = result.stderr.splitlines()[0]
    assert re.fullmatch(r"seats: 1,000 of 3,000 games, [\d,]+ games/s, \d+ s left, .* ± [\d.]+", first)
    assert craits("seats", "--games", "3k", "--quiet").stderr == ""
    assert craits("simulate", "--games", "3k", "--quiet").stderr == ""


def test_a_short_run_shows_no_progress_where_nobody_watches(fake: None) -> None:
    assert craits("simulate", "--games", "3k").stderr == ""


# --- Real games ---


def test_simulate_prints_the_same_bytes_whatever_the_threads() -> None:
    printed = set()
    for threads in ("1", "2", "3"):
        result = craits("simulate", "--games", "3000", "--players", "3", "--threads", threads, "--json")
        assert result.exit_code == 0
        printed.add(re.sub(r'"elapsed_s": [\d.]+', "", result.stdout))
    assert len(printed) == 1


def test_the_parts_of_simulate_fit_together() -> None:
    result = craits_json(
        "simulate", "--games", "2000", "--players", "5", "--bots", "greedy,random,random,random,random"
    )
    assert sum(result["win_share"]) == pytest.approx(1)
    assert sum(result["by_seat"]["win_share"]) == pytest.approx(1)
    assert sum(result["mean_total"]) == pytest.approx(sum(result["by_seat"]["mean_total"]))
    assert sum(result["mean_total"]) == pytest.approx(15 * sum(result["by_offset"]["mean_points"]))
    ended = result["per_round"]["blocked"] + result["truncated"] / result["rounds"]
    assert sum(result["by_offset"]["go_out_share"]) == pytest.approx(1 - ended)
    assert sum(result["turns_by_round"]) == pytest.approx(15 * result["per_round"]["turns"])


def test_a_study_of_real_games_runs_again_to_the_same_numbers(here: Path) -> None:
    arguments = ["seats", "--games", "2000", "--vary", "players=[2, 3]", "--quiet"]
    assert craits(*arguments, "--threads", "1").exit_code == 0
    assert craits("run", "reports/seats/experiment.toml", "--name", "again", "--threads", "2").exit_code == 0
    for name in ("summary.csv", "chart.svg", "chart.png"):
        assert (here / "reports/seats" / name).read_bytes() == (here / "reports/again" / name).read_bytes()
