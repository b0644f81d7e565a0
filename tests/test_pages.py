"""Pages in a real browser: nothing is missing, nothing is fetched, everything can be read."""

import io
import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from craits_sim import report, runner
from craits_sim.api import prepare
from craits_sim.design import make_experiment
from craits_sim.gallery import write_gallery
from tests.browser import CHROMIUM, Browser
from tests.fake_run import fake_run

if CHROMIUM is None and os.environ.get("CI"):
    raise RuntimeError("there is no Chromium, without which the pages are not tested")

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")

PAGES = ("seats/index.html", "dealer/index.html", "index.html")
WIDTHS = (400, 1400)

RATIO_OF_LUMINANCES = """
(() => {
  const luminance = color => {
    const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map(v => v / 255)
      .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const background = element => {
    for (; element; element = element.parentElement) {
      const color = getComputedStyle(element).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const texts = [...document.querySelectorAll("h1, h2, h3, p, li, td, th, th button, dt, dd, pre, summary, footer")];
  return Math.min(...texts.map(element => {
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(background(element))];
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }));
})()
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder with two reports, one with factors and folded rows, and their gallery."""
    folder = tmp_path_factory.mktemp("reports")
    for study, vary in (("seats", {}), ("dealer", {"players": [3, 5]})):
        experiment = make_experiment(
            {"name": study, "study": study, "aim": "Does it matter?", "games": 2000, "vary": vary}
        )
        asked, experiment, points = prepare(experiment)
        sums = fake_run(points, asked.tally, games=2000, seed=1, threads=1)
        summary = asked.summarise(sums, experiment)
        provenance = runner.provenance(points, experiment)
        report.write_report(folder / study, asked, experiment, points, summary, asked.conclude(summary), provenance)
    write_gallery(folder)
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_shows_all_it_has_and_asks_for_nothing(browser: Browser, reports: Path, name: str, width: int) -> None:
    file = reports / name
    with browser.open(file, width) as page:
        assert page.complaints() == []
        assert page.requests() == [file.as_uri()]
        # Only charts and tables may be wider than the window, and are moved by themselves then.
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate("document.querySelectorAll('h1').length") == 1
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", PAGES)
def test_the_chart_is_visible(browser: Browser, reports: Path, name: str, width: int) -> None:
    with browser.open(reports / name, width) as page:
        box = page.evaluate("document.querySelector('figure svg, figure img').getBoundingClientRect().toJSON()")
        assert box["width"] >= 0.8 * min(width, 300)
        assert box["height"] >= 80
        assert box["left"] >= 0
        shown = {key: box[key] for key in ("x", "y", "height")} | {"width": min(box["width"], width - box["x"])}
        pixels = np.asarray(Image.open(io.BytesIO(page.picture(shown))).convert("L"))
        assert np.mean(pixels < 128) > 0.002
        assert np.mean(pixels > 192) > 0.5


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [name for name in PAGES if "/" in name])
def test_the_table_can_be_read(browser: Browser, reports: Path, name: str, width: int) -> None:
    with browser.open(reports / name, width) as page:
        cells = "[...document.querySelectorAll('table')[0].querySelectorAll('th, td')]"
        assert page.evaluate(f"{cells}.length") > 20
        assert page.evaluate(f"Math.min(...{cells}.map(cell => parseFloat(getComputedStyle(cell).fontSize)))") >= 12
        assert page.evaluate(f"{cells}.every(cell => cell.scrollWidth <= cell.clientWidth)")
        # Columns that do not fit can be reached.
        assert page.evaluate("getComputedStyle(document.querySelector('table').parentElement).overflowX") == "auto"
        if width > 1000:
            parent = "document.querySelector('table').parentElement"
            assert page.evaluate(f"{parent}.scrollWidth <= {parent}.clientWidth")


COLUMN = """
(head => {
  const column = [...document.querySelectorAll("th")].find(cell => cell.textContent === head);
  const cells = [...column.closest("table").tBodies[0].rows].map(row => row.cells[column.cellIndex]);
  return {
    sort: column.ariaSort,
    sorted: column.closest("tr").querySelectorAll("th:not([aria-sort=none])").length,
    texts: cells.map(cell => cell.textContent),
    values: cells.filter(cell => cell.textContent).map(cell => Number(cell.dataset.value)),
  };
})
"""
"""How the first table is sorted by a column, and what stands in it."""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_table_is_sorted_by_a_click_on_a_head_and_restored_by_the_third(
    browser: Browser, reports: Path, width: int
) -> None:
    # Rounded, some standard errors of the dealer's report are equal; some rows have no p-value.
    with browser.open(reports / "dealer/index.html", width) as page:
        before = {head: page.evaluate(f"{COLUMN}('{head}')") for head in ("std. error", "p adjusted", "estimand")}
        assert all(column["sort"] == "none" for column in before.values())
        assert len(set(before["std. error"]["texts"])) < len(set(before["std. error"]["values"]))
        assert "" in before["p adjusted"]["texts"]
        for head in ("std. error", "p adjusted"):
            for order in ("ascending", "descending"):
                page.click("th button", head)
                now = page.evaluate(f"{COLUMN}('{head}')")
                assert (now["sort"], now["sorted"]) == (order, 1)
                assert now["values"] == sorted(before[head]["values"], reverse=order == "descending")
                assert now["values"] != before[head]["values"]
                empty = before[head]["texts"].count("")
                assert all(not text for text in now["texts"][len(now["texts"]) - empty :])
        page.click("th button", "estimand")
        assert page.evaluate(f"{COLUMN}('estimand')")["texts"] == sorted(before["estimand"]["texts"])
        page.click("th button", "estimand")
        page.click("th button", "estimand")
        assert {head: page.evaluate(f"{COLUMN}('{head}')") for head in before} == before
        assert page.complaints() == []


def test_a_table_is_sorted_from_the_keyboard(browser: Browser, reports: Path) -> None:
    with browser.open(reports / "dealer/index.html", 1400) as page:
        page.evaluate("document.querySelector('th button').focus()")
        for key in ("Tab", "Enter"):
            page.press(key)
        assert page.evaluate("document.querySelectorAll('th')[1].ariaSort") == "ascending"


def test_without_scripts_a_table_is_as_it_was_written(browser: Browser, reports: Path) -> None:
    with browser.open(reports / "dealer/index.html", 1400, scripts=False) as page:
        assert page.evaluate("document.querySelectorAll('td').length") > 20
        assert page.evaluate("document.querySelectorAll('button').length") == 0
        assert page.complaints() == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_head_of_a_long_table_stays_in_sight(browser: Browser, reports: Path, width: int) -> None:
    with browser.open(reports / "dealer/index.html", width) as page:
        page.evaluate("document.querySelector('summary').click()")
        box = "document.querySelector('details .scroll')"
        page.evaluate(f"{box}.scrollTop = 1000, {box}.scrollIntoView()")
        top = f"{box}.querySelector('th').getBoundingClientRect().top - {box}.getBoundingClientRect().top"
        assert page.evaluate(f"{box}.scrollTop") == 1000
        assert page.evaluate(top) == 0
        assert page.evaluate(f"{box}.clientHeight < innerHeight")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", PAGES)
def test_text_stands_out_from_its_background(browser: Browser, reports: Path, name: str, dark: bool) -> None:
    with browser.open(reports / name, 1400, dark=dark) as page:
        # WCAG 2.2, 1.4.3
        assert page.evaluate(RATIO_OF_LUMINANCES) >= 4.5
        corner = Image.open(io.BytesIO(page.picture())).convert("L").getpixel((2, 2))
        assert corner < 64 if dark else corner > 192


@pytest.mark.parametrize("name", PAGES)
def test_a_page_can_be_printed(browser: Browser, reports: Path, name: str) -> None:
    with browser.open(reports / name, 718, dark=True, media="print") as page:  # A4 less its margins
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        assert page.evaluate("document.documentElement.scrollWidth") <= 718
        assert page.printed().startswith(b"%PDF")


def test_folded_rows_open(browser: Browser, reports: Path) -> None:
    with browser.open(reports / "dealer/index.html", 1400) as page:
        folded = page.evaluate("document.documentElement.scrollHeight")
        page.evaluate("document.querySelector('summary').click()")
        assert page.evaluate("document.querySelector('details').open")
        assert page.evaluate("document.documentElement.scrollHeight") > folded + 500


def test_a_complaint_and_a_request_would_be_seen(browser: Browser, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text('<img src="picture.png"><script>console.error("no"); throw 1</script>')
    with browser.open(page, 400) as shown:
        assert len(shown.complaints()) >= 2
        assert shown.requests() == [page.as_uri(), (tmp_path / "picture.png").as_uri()]
