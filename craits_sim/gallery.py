"""The gallery: one page that shows all reports of a folder, each with its question, its answer and its chart in small.

It is made from the reports alone, whoever wrote them, and needs nothing but itself; its links lead to the reports
beside it.
"""

import io
from base64 import b64encode
from html.parser import HTMLParser
from itertools import accumulate, groupby
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from PIL import Image

from craits_sim.design import DesignError, load_experiment
from craits_sim.files import replacing_file
from craits_sim.report import render
from craits_sim.studies import STUDIES

GENERATOR = "craits_sim"
"""What the pages of reports and galleries say made them."""

THUMBNAIL_WIDTH = 480
THUMBNAIL_HEIGHT = 360
"""Pixels; of a longer chart the top is shown."""

LETTERS = 600
"""How much of an answer is shown, in whole lines and at least one; with many design points it has many."""


class Entry(NamedTuple):
    """A report, as the gallery shows it."""

    name: str
    link: str
    study: str
    question: str
    aim: str
    answer: tuple[str, ...]
    left_out: int  # further lines of the answer
    caption: str
    thumbnail: str  # a data URL


class ReportError(ValueError):
    """A folder that is no whole report; its text says why."""


def write_gallery(folder: Path) -> tuple[Path, list[Entry], list[str]]:
    """Make ``folder/index.html`` of the reports in a folder, in the order of their studies and names.

    Returns
    -------
    Path, list, list
        The page, what it shows, and a note on each folder that was left out.

    Raises
    ------
    DesignError
        If the folder holds no report, or a page of another kind, which would be lost.
    OSError
        If the page cannot be written; an earlier one is untouched then.
    """
    if not folder.is_dir():
        raise DesignError(f"{folder}: there is no such folder; `craits seats` writes a first report into reports/")
    page = folder / "index.html"
    if page.exists() and _head_of(page).generator != GENERATOR:
        raise DesignError(f"{page} is another page, which would be lost: choose another --output, or move it away")
    entries, notes = [], []
    for place in sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith(".")):
        try:
            entries.append(read_report(place))
        except ReportError as error:
            notes.append(f"{place} is left out: {error}")
    if not entries:
        raise DesignError("; ".join([f"{folder} holds no report", *notes]))
    order = list(STUDIES)
    entries.sort(key=lambda entry: (order.index(entry.study) if entry.study in order else len(order), entry.name))
    groups = [(question, list(group)) for question, group in groupby(entries, lambda entry: entry.question)]
    with replacing_file(page, "the gallery") as temporary:
        temporary.write_text(render("gallery.html.j2", groups=groups, count=len(entries)), "utf-8", newline="\n")
    return page, entries, notes


def read_report(folder: Path) -> Entry:
    """Read what the gallery shows of a report.

    Raises
    ------
    ReportError
        If the folder holds no report, or a damaged one.
    """
    head = _head_of(folder / "index.html")
    if head.generator != GENERATOR:
        raise ReportError("its page is no report of craits")
    try:
        experiment = load_experiment(folder / "experiment.toml")
    except DesignError as error:
        raise ReportError(str(error)) from error
    lines = head.description.splitlines()
    shown = max(1, sum(length <= LETTERS for length in accumulate(map(len, lines))))
    return Entry(
        name=folder.name,
        link=f"{quote(folder.name)}/index.html",
        study=experiment.study,
        question=head.heading,
        aim=experiment.aim,
        answer=tuple(lines[:shown]),
        left_out=len(lines[shown:]),
        caption=head.played,
        thumbnail=_thumbnail(folder / "chart.png"),
    )


class _Head(HTMLParser):
    """What a page says about itself."""

    def __init__(self) -> None:
        super().__init__()
        self.generator = self.description = self.played = self.heading = ""
        self._in_heading = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_heading = tag == "h1"
        values = dict(attrs)
        if tag == "meta" and values.get("name") in ("generator", "description", "played"):
            setattr(self, str(values["name"]), values.get("content") or "")

    def handle_endtag(self, tag: str) -> None:
        self._in_heading = False

    def handle_data(self, data: str) -> None:
        if self._in_heading:
            self.heading += data


def _head_of(page: Path) -> _Head:
    head = _Head()
    try:
        head.feed(page.read_text("utf-8"))
    except OSError as error:
        raise ReportError(f"{page.name}: {error.strerror}") from error
    except UnicodeDecodeError:
        pass  # no page of ours
    return head


def _thumbnail(chart: Path) -> str:
    """Make a small picture of a chart, as a data URL."""
    try:
        with Image.open(chart) as picture:
            height = round(picture.height * THUMBNAIL_WIDTH / picture.width)
            small = picture.convert("RGB").resize((THUMBNAIL_WIDTH, height), Image.Resampling.LANCZOS)
    except (OSError, SyntaxError, ValueError) as error:  # Pillow raises SyntaxError for a broken PNG
        raise ReportError(f"{chart.name} cannot be read") from error
    top = small.crop((0, 0, THUMBNAIL_WIDTH, min(height, THUMBNAIL_HEIGHT)))
    file = io.BytesIO()
    top.quantize(64, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{b64encode(file.getvalue()).decode()}"
