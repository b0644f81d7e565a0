"""Reports: what stands in the folder, and that it is whole or absent."""

import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from craits_sim import report
from craits_sim.design import (
    DesignError,
    DesignPoint,
    Experiment,
    design_points,
    load_experiment,
    make_experiment,
)
from craits_sim.rules import load_rules
from craits_sim.studies import get_study
from craits_sim.studies.base import Study
from tests.fake_run import fake_run

PROVENANCE = {"version": "1.2.3", "rng": "fake/1", "seed": 1}
FILES = {"index.html", "summary.csv", "chart.svg", "chart.png", "experiment.toml", "provenance.json"}


class Result(NamedTuple):
    """The arguments of `write_report` after the folder."""

    study: Study
    experiment: Experiment
    points: tuple[DesignPoint, ...]
    summary: pd.DataFrame
    conclusion: str
    provenance: dict[str, object]


def result_of(**values: Any) -> Result:
    study = get_study("seats")
    experiment = make_experiment({"name": "try", "study": "seats", "games": 2000, "margin": study.margin, **values})
    points = design_points(experiment)
    sums = fake_run(points, study.tally, games=experiment.games, seed=1, threads=1)
    summary = study.summarise(sums, experiment)
    return Result(study, experiment, points, summary, study.conclude(summary), dict(PROVENANCE))


@pytest.fixture(scope="module")
def result() -> Result:
    return result_of(aim="Does <it> matter & how?")


@pytest.fixture(scope="module")
def page(result: Result, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page") / "try"
    report.write_report(folder, *result)
    return (folder / "index.html").read_text("utf-8")


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


# --- The folder ---


def test_a_report_is_a_folder_of_the_promised_files(tmp_path: Path, result: Result) -> None:
    report.write_report(tmp_path / "deep" / "try", *result)
    assert set(contents(tmp_path / "deep" / "try")) == FILES
    assert os.listdir(tmp_path / "deep") == ["try"]


def test_the_same_run_gives_the_same_files(tmp_path: Path) -> None:
    for name in ("one", "two"):
        report.write_report(tmp_path / name, *result_of(vary={"players": [2, 3]}))
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_other_users_may_read_a_report_as_far_as_the_umask_lets_them(tmp_path: Path, result: Result) -> None:
    report.write_report(tmp_path / "try", *result)
    (tmp_path / "plain").mkdir()
    assert (tmp_path / "try").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_report_replaces_an_earlier_one_whole(tmp_path: Path, result: Result) -> None:
    folder = tmp_path / "try"
    folder.mkdir()
    (folder / "rules.toml").write_text("left from an earlier report")
    report.write_report(folder, *result)
    assert set(contents(folder)) == FILES
    assert os.listdir(tmp_path) == ["try"]


def test_a_linked_folder_is_replaced_where_it_lies(tmp_path: Path, result: Result) -> None:
    (tmp_path / "disk" / "real").mkdir(parents=True)
    (tmp_path / "try").symlink_to(tmp_path / "disk" / "real")
    report.write_report(tmp_path / "try", *result)
    assert (tmp_path / "try").is_symlink()
    assert set(contents(tmp_path / "disk" / "real")) == FILES
    assert os.listdir(tmp_path / "disk") == ["real"]


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()])
@pytest.mark.parametrize("file", sorted(FILES - {"summary.csv", "chart.png"}))
def test_a_report_that_fails_half_way_leaves_the_earlier_one_and_nothing_else(
    tmp_path: Path, result: Result, monkeypatch: pytest.MonkeyPatch, failure: BaseException, file: str
) -> None:
    folder = tmp_path / "try"
    report.write_report(folder, *result)
    earlier = contents(folder)
    write_text = Path.write_text

    def fail(path: Path, text: str, **options: Any) -> int:
        if path.name == file:
            write_text(path, text[: len(text) // 2], **options)
            raise failure
        return write_text(path, text, **options)

    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(type(failure)):
        report.write_report(folder, *result._replace(conclusion="Another."))
    assert contents(folder) == earlier
    assert os.listdir(tmp_path) == ["try"]


def test_a_report_that_cannot_be_renamed_leaves_the_earlier_one(
    tmp_path: Path, result: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "try"
    report.write_report(folder, *result)
    earlier = contents(folder)
    rename = Path.rename

    def fail(path: Path, target: Path) -> Path:
        if target == folder and not path.name.endswith("-earlier"):
            raise OSError(errno.EIO, "Input/output error")
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="Input/output error"):
        report.write_report(folder, *result)
    assert contents(folder) == earlier
    assert os.listdir(tmp_path) == ["try"]


def test_concurrent_runs_leave_one_whole_report(tmp_path: Path) -> None:
    folder = tmp_path / "try"

    def write(number: int) -> None:
        for _ in range(50):
            with report.replacing(folder) as temporary:
                for name in FILES:
                    (temporary / name).write_text(str(number))

    with ThreadPoolExecutor() as pool:
        list(pool.map(write, range(4)))
    assert set(contents(folder)) == FILES
    assert len(set(contents(folder).values())) == 1
    assert os.listdir(tmp_path) == ["try"]


def test_a_folder_that_holds_something_else_is_not_touched(tmp_path: Path, result: Result) -> None:
    folder = tmp_path / "try"
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    with pytest.raises(DesignError, match=r"holds thesis\.txt, which is no part of a report"):
        report.check_folder(folder)
    with pytest.raises(DesignError, match=r"holds thesis\.txt, which is no part of a report"):
        report.write_report(folder, *result)
    assert contents(folder) == {"thesis.txt": b"years of work"}
    assert os.listdir(tmp_path) == ["try"]


def test_a_file_in_the_place_of_the_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "try").write_text("")
    with pytest.raises(DesignError, match="try is a file"):
        report.check_folder(tmp_path / "try")


def test_checking_a_folder_leaves_nothing_in_it(tmp_path: Path) -> None:
    report.check_folder(tmp_path / "deep" / "try")
    assert os.listdir(tmp_path / "deep") == []


# --- The files ---


def test_the_summary_keeps_every_digit(tmp_path: Path, result: Result) -> None:
    report.write_report(tmp_path / "try", *result)
    read = pd.read_csv(tmp_path / "try" / "summary.csv")
    for column in ("estimate", "se", "ci_low", "ci_high"):
        np.testing.assert_array_equal(read[column], result.summary[column])


def test_the_experiment_file_runs_again_to_the_same_design(tmp_path: Path) -> None:
    result = result_of(vary={"draw.count": [1, 2]}, set={"match": "suit_or_color"}, bots="greedy")
    report.write_report(tmp_path / "try", *result)
    again = load_experiment(tmp_path / "try" / "experiment.toml")
    assert again == result.experiment
    assert design_points(again) == result.points


def test_a_report_on_a_rules_file_carries_the_rules(tmp_path: Path) -> None:
    (tmp_path / "parent.toml").write_text('base = "wiki"\nname = "parent"\npoints.8 = 99\n')
    house = tmp_path / "house.toml"
    house.write_text('base = "parent.toml"\nname = "house"\ndraw.count = 3\n')
    result = result_of(rules=str(house))
    report.write_report(tmp_path / "report", *result)
    house.unlink()
    again = load_experiment(tmp_path / "report" / "experiment.toml")
    assert design_points(again)[0].rules == result.points[0].rules
    assert load_rules(tmp_path / "report" / "rules.toml").points["8"] == 99
    assert str(tmp_path) not in (tmp_path / "report" / "experiment.toml").read_text()
    assert '<a href="rules.toml">' in (tmp_path / "report" / "index.html").read_text("utf-8")


def test_the_provenance_is_json(tmp_path: Path, result: Result) -> None:
    report.write_report(tmp_path / "try", *result)
    assert json.loads((tmp_path / "try" / "provenance.json").read_text()) == PROVENANCE


def test_the_command_line_says_all_that_the_numbers_depend_on() -> None:
    experiment = make_experiment(
        {
            "name": "try",
            "study": "seats",
            "set": {"match": "suit_or_color", "wild": ["8", "9"]},
            "players": 3,
            "games": 5000,
            "seed": 7,
            "margin": 0.5,
            "vary": {"bots": ["random", "greedy"]},
            "options": {"seconds_per_turn": 4},
        }
    )
    assert report.command_line(experiment) == (
        'craits seats --rules classic --set \'match="suit_or_color"\' --set \'wild=["8", "9"]\' --players 3 '
        '--games 5000 --seed 7 --level 0.95 --margin 0.5 --vary \'bots=["random", "greedy"]\' '
        "--seconds-per-turn 4.0 --name try"
    )


# --- The page ---


class Outline(HTMLParser):
    """The elements of a page, checked to be closed in order, and what it would load."""

    VOID = ("meta", "link", "br")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loaded: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in self.VOID:
            self.open.append(tag)
        links = dict(attrs)
        if tag != "a":
            self.loaded += [links[name] or "" for name in ("src", "href") if name in links]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)


def test_the_page_needs_nothing_but_itself(page: str) -> None:
    svg_free = [link for link in Outline(page).loaded if not link.startswith("data:")]
    assert svg_free == []
    for loader in ("<script ", "import", "fetch", "url(http", "<img", "<iframe"):
        assert loader not in page


def test_the_page_says_first_what_was_asked_and_what_came_out(page: str, result: Result) -> None:
    parts = [
        f"<h1>{result.study.question}</h1>",
        result.conclusion.splitlines()[0].replace("<", "&lt;"),
        "<svg",
        "<table>",
        "What was played",
        "How to read it",
        "Provenance",
        "craits run experiment.toml",
    ]
    body = page.partition("<body>")[2]
    places = [body.index(part) for part in parts]
    assert places == sorted(places)


def test_the_page_folds_the_rows_that_are_too_many_to_read(tmp_path: Path) -> None:
    class Short(type(get_study("seats"))):  # type: ignore[misc]
        def highlights(self, summary: pd.DataFrame) -> pd.DataFrame:
            return summary.head(3)

    result = result_of()
    report.write_report(tmp_path / "try", *result._replace(study=Short()))
    page = (tmp_path / "try" / "index.html").read_text("utf-8")
    first, _, folded = page.partition("<details>")
    assert first.count("<tr>") == 1 + 3
    assert f"All {len(result.summary)} rows" in folded
    assert folded.count("<tr>") == 1 + len(result.summary)


def test_text_of_the_user_is_escaped(page: str) -> None:
    assert "Does &lt;it&gt; matter &amp; how?" in page


def test_the_page_says_what_was_played(tmp_path: Path) -> None:
    result = result_of(set={"draw.count": 2, "wild": ["8", "9"]}, vary={"players": [2, 3]}, bots="greedy", seed=77)
    report.write_report(tmp_path / "try", *result)
    page = (tmp_path / "try" / "index.html").read_text("utf-8")
    for text in (
        "draw.count = 2 (classic: 1). Cards that a player draws who cannot play (RULES.md R9).",
        "wild = [&#34;8&#34;, &#34;9&#34;] (classic: [&#34;8&#34;])",
        "2,000 at each design point",
        "greedy: plays the card",
        "players = [2, 3]",
        "77",
    ):
        assert text in page
    assert "players = 2 (classic" not in page


def test_the_page_has_light_dark_phone_and_print_styles(page: str) -> None:
    for text in ("prefers-color-scheme: dark", 'name="viewport"', "@media print", 'role="img"'):
        assert text in page


# --- What people and programs read ---


def frame(**columns: list[Any]) -> pd.DataFrame:
    rows = len(next(iter(columns.values())))
    base = {
        "estimand": ["win_share"] * rows,
        "unit": ["%"] * rows,
        "estimate": [25.123456] * rows,
        "se": [0.1234] * rows,
        "ci_low": [24.88] * rows,
        "ci_high": [25.37] * rows,
        "ci_level": [0.95] * rows,
        "n": [10_000] * rows,
    }
    return pd.DataFrame({**base, **columns})


def test_rows_for_programs_leave_out_what_does_not_apply_and_keep_undefined_statistics() -> None:
    summary = frame(se=[np.nan, 0.5], p_adjusted=[np.nan, 0.03], verdict=[None, "advantage"])
    first, second = report.records(summary)
    assert first["se"] is None
    assert {"p_adjusted", "verdict"}.isdisjoint(first)
    assert (second["se"], second["p_adjusted"], second["verdict"]) == (0.5, 0.03, "advantage")
    assert json.loads(json.dumps([first, second])) == [first, second]


def test_rows_for_people_are_rounded_by_the_standard_error() -> None:
    table = report.reading_table(frame(se=[0.1234, 0.0012], estimate=[25.123456, 25.123456]))
    assert table.columns == ("estimate (%)", "95% interval", "std. error")
    assert table.rows == [("25.1", "24.9 to 25.4", "0.12"), ("25.123", "24.880 to 25.370", "0.0012")]
    assert table.note == "estimand: win share; n: 10,000"
    assert table.figures == {0, 1, 2}


def test_figures_are_sorted_by_their_full_value_and_intervals_by_their_lower_end() -> None:
    # Both estimates read 25.1; the second row has no p-value, and its verdict is a text.
    table = report.reading_table(
        frame(estimate=[25.123, 25.121], p_value=[1e-9, np.nan], verdict=["advantage", "negligible"])
    )
    assert table.columns == ("estimate (%)", "95% interval", "std. error", "p value", "verdict")
    assert table.values == [(25.123, 24.88, 0.1234, 1e-9, None), (25.121, 24.88, 0.1234, None, None)]


def test_truth_values_are_no_figures() -> None:
    table = report.reading_table(frame(estimate=[1.0, 2.0], share=[True, False]))
    assert [row[-1] for row in table.rows] == ["true", "false"]
    assert len(table.columns) - 1 not in table.figures
    assert [row[-1] for row in table.values] == [None, None]


def test_an_exact_row_has_no_interval_and_an_undefined_one_no_error() -> None:
    summary = frame(
        estimand=["deals", "turns"],
        unit=["rounds", "turns"],
        estimate=[4.0, 40.0],
        se=[0.0, np.nan],
        ci_low=[4.0, np.nan],
        ci_high=[4.0, np.nan],
    )
    assert report.reading_table(summary).rows == [
        ("deals", "4", "rounds", "", ""),
        ("turns", "40", "turns", "", ""),
    ]


def test_small_p_values_are_not_rounded_to_zero() -> None:
    table = report.reading_table(frame(p_value=[1e-9, 0.5], p_adjusted=[1e-8, 0.25]))
    assert table.columns[-1] == "p adjusted"
    assert [row[-1] for row in table.rows] == ["<0.001", "0.250"]
