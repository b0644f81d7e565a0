"""The gallery of reports: what it shows, in which order, and what it leaves out."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from craits_sim import gallery, runner
from craits_sim.cli import cli
from craits_sim.design import DesignError
from tests.fake_run import fake_run


def craits(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three reports of made-up results."""
    folder = tmp_path_factory.mktemp("written")
    (folder / "try.toml").write_text('study = "seats"\nname = "a-try"\naim = "Does <it> matter?"\ngames = 1000\n')
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(runner, "run", fake_run)
        for arguments in (
            ("length", "--games", "1k"),
            ("seats", "--games", "1k", "--vary", "players=[2, 3, 4, 5]", "--vary", "draw.count=[1, 2]"),
            ("run", str(folder / "try.toml")),
        ):
            result = craits(*arguments, "--quiet", "--output", str(folder / "reports"))
            assert result.exit_code == 0, result.output
    return folder / "reports"


@pytest.fixture
def reports(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work beside a folder of three reports."""
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(written, tmp_path / "reports"))


def page_of(reports: Path) -> str:
    return (reports / "index.html").read_text("utf-8")


def test_the_gallery_shows_each_report_by_study_and_name(reports: Path) -> None:
    result = craits("report")
    assert result.exit_code == 0
    assert result.stdout == f"Gallery: {Path('reports', 'index.html')} (3 reports)\n"
    assert result.stderr == ""
    page = page_of(reports)
    shown = [
        "Does any seat win more than its share?</h2>",
        'href="a-try/index.html"',
        "Does &lt;it&gt; matter?",
        'href="seats/index.html"',
        "How long does a game take?</h2>",
        'href="length/index.html"',
    ]
    places = [page.index(text) for text in shown]
    assert places == sorted(places)
    assert "1,000 games · seed 1 · 4 players · bots random · rules classic" in page
    assert page.count('<img src="data:image/png;base64,') == 3


def test_an_answer_is_that_of_the_report_and_a_long_one_is_cut(reports: Path) -> None:
    entries = {entry.name: entry for entry in gallery.write_gallery(reports)[1]}
    assert entries["a-try"].answer[0].startswith(("Position", "The first dealer"))
    assert entries["a-try"].left_out == 0
    shown, left_out = entries["seats"].answer, entries["seats"].left_out
    assert sum(map(len, shown)) <= gallery.LETTERS
    assert len(shown) + left_out > 8
    assert f"and {left_out} more." in page_of(reports)


def test_the_page_needs_nothing_but_itself(reports: Path) -> None:
    gallery.write_gallery(reports)
    page = page_of(reports)
    for loader in ("<script", "@import", "url(", "<iframe", "http://", "https://", '<link rel="stylesheet'):
        assert loader not in page
    assert len(page) < 150_000


def test_the_same_reports_give_the_same_page(reports: Path) -> None:
    gallery.write_gallery(reports)
    first = page_of(reports)
    gallery.write_gallery(reports)
    assert page_of(reports) == first


def test_broken_and_foreign_folders_are_left_out_with_a_note(reports: Path) -> None:
    (reports / "foreign").mkdir()
    (reports / "another-page").mkdir()
    (reports / "another-page" / "index.html").write_text("<h1>Holidays</h1>")
    (reports / "binary").mkdir()
    (reports / "binary" / "index.html").write_bytes(b"\xff\xfe\x00")
    (reports / ".seats-123").mkdir()
    (reports / "notes.txt").write_text("mine")
    (reports / "length" / "chart.png").write_bytes(b"\x89PNG\r\n\x1a\nbroken")
    (reports / "a-try" / "experiment.toml").write_text("study = ")
    result = craits("report")
    assert result.exit_code == 0
    notes = result.stderr.splitlines()
    assert notes == [
        "reports/a-try is left out: reports/a-try/experiment.toml is no TOML file: "
        + notes[0].partition("no TOML file: ")[2],
        "reports/another-page is left out: its page is no report of craits",
        "reports/binary is left out: its page is no report of craits",
        "reports/foreign is left out: index.html: No such file or directory",
        "reports/length is left out: chart.png cannot be read",
    ]
    assert "(1 report)" in result.stdout
    assert page_of(reports).count("<article>") == 1


@pytest.mark.parametrize(("make", "message"), [(False, "there is no such folder"), (True, "holds no report")])
def test_a_folder_without_reports_is_a_mistake(tmp_path: Path, make: bool, message: str) -> None:
    folder = tmp_path / "empty"
    if make:
        folder.mkdir()
    result = craits("report", "--output", str(folder))
    assert result.exit_code == 2
    assert message in result.stderr
    assert not (folder / "index.html").exists()


def test_a_page_of_another_kind_is_not_replaced(reports: Path) -> None:
    (reports / "index.html").write_text("<h1>My home page</h1>")
    with pytest.raises(DesignError, match="another page, which would be lost"):
        gallery.write_gallery(reports)
    assert page_of(reports) == "<h1>My home page</h1>"


def test_a_full_disk_leaves_the_earlier_page(reports: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gallery.write_gallery(reports)
    earlier = page_of(reports)

    def full(*_arguments: Any, **_options: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    result = craits("report")
    assert result.exit_code == 2
    assert "the gallery cannot be written here: No space left on device" in result.stderr
    assert page_of(reports) == earlier
    assert sorted(os.listdir(reports)) == ["a-try", "index.html", "length", "seats"]
