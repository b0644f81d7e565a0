"""What a chart must show, and that nothing in it is cut off or written over something else."""

import subprocess
import sys
from itertools import combinations, pairwise
from typing import Any

import matplotlib
import numpy as np
import pandas as pd
import pytest
from matplotlib.axis import Axis
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.text import Text

from craits_sim.plots import MOST_FACETS, STYLE, limits, parts, seat_style, spread
from craits_sim.studies import STUDIES, get_study
from craits_sim.studies.dealer import DealerStudy
from tests.test_studies import experiment_of, summary_of

BY_NAME = list(STUDIES)


OF_PAIRS = ("compare", "screen")
"""The studies that need something to compare with."""

OF_MANY_TABLES = ("ladder", "restricted")
"""Studies of so many tables that making up thousands of games at each takes long."""


def chart_of(study: str, **values: Any) -> Figure:
    if study in OF_PAIRS:
        values["variants"] = [{"name": "draw two", "set": {"draw.count": 2}}]
    if study == "ladder":
        values = {"bots": "random,greedy,careful:noise=2"} | values
    if study in OF_MANY_TABLES:
        values["games"] = min(values.get("games", 500), 500)
    return get_study(study).plot(summary_of(experiment_of(study, **values)))


def texts_of(figure: Figure) -> list[Text]:
    """List the texts that are drawn; matplotlib also keeps tick labels beyond the ends of an axis."""
    hidden = set()
    for axis in figure.findobj(Axis):
        low, high = sorted(axis.get_view_interval())
        for tick in axis.get_major_ticks() + axis.get_minor_ticks():
            if not low <= tick.get_loc() <= high:
                hidden |= {tick.label1, tick.label2}
    texts = set(figure.findobj(Text)) - hidden
    return [text for text in texts if text.get_visible() and text.get_text().strip()]


def places_of(line: Line2D) -> tuple[set[float], set[float]]:
    """Give the horizontal and the vertical places of a line's points."""
    return set(np.asarray(line.get_xdata()).tolist()), set(np.asarray(line.get_ydata()).tolist())


def words_of(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in texts_of(figure))


@pytest.mark.parametrize("players", [2, 3, 4, 5])
@pytest.mark.parametrize("name", BY_NAME)
def test_no_word_of_a_chart_is_cut_off_or_written_over_another(name: str, players: int) -> None:
    check_words(chart_of(name, players=players, games=4000))


@pytest.mark.parametrize("rules", ["partners", "crazy_eights", "wiki"])
@pytest.mark.parametrize("name", BY_NAME)
def test_no_word_is_cut_off_whatever_the_rules(name: str, rules: str) -> None:
    check_words(chart_of(name, rules=rules, games=30))


def check_words(figure: Figure) -> None:
    """Assert that every text lies inside the figure, and clear of every other."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    # Text's own method: that of an annotation adds the line that leads to it.
    boxes = {text: Text.get_window_extent(text, canvas.get_renderer()) for text in texts_of(figure)}
    for text, box in boxes.items():
        assert figure.bbox.x0 <= box.x0, text
        assert box.x1 <= figure.bbox.x1, text
        assert figure.bbox.y0 <= box.y0, text
        assert box.y1 <= figure.bbox.y1, text
    for (first, box), (second, other) in combinations(boxes.items(), 2):
        assert not box.padded(-1.5).overlaps(other.padded(-1.5)), f"{first.get_text()!r} and {second.get_text()!r}"


@pytest.mark.parametrize("name", BY_NAME)
def test_a_chart_says_what_was_played_and_how_sure_it_is(name: str) -> None:
    words = " ".join(words_of(chart_of(name, level=0.9, seed=7)).split())  # long captions are broken into lines
    bots = f"bots {get_study(name).default_bots.partition(',')[0]}"
    for promised in ("500 games", "seed 7", bots, "rules classic", "90%", get_study(name).question):
        assert promised in words


def test_the_reference_and_the_margin_are_always_drawn() -> None:
    seats = words_of(chart_of("seats", margin=2))
    assert "dashed: 1/4" in seats
    assert "margin ± 2 pp" in seats
    figure = chart_of("seats")
    left, right = figure.subfigs[0].axes
    assert any(line.get_linestyle() == "--" and places_of(line)[0] == {25} for line in left.lines)
    assert any(places_of(line)[0] == {0} for line in right.lines)
    upper = chart_of("dealer").subfigs[0].subfigs[0]
    assert any(places_of(line)[1] == {0} for line in upper.axes[0].lines)
    assert any(places_of(line)[1] == {25} for line in upper.axes[2].lines)


def test_the_assumptions_behind_minutes_are_on_the_chart() -> None:
    words = words_of(chart_of("length", options={"seconds_per_turn": 11}))
    assert "Minutes are no measurement, but assume 11 s a turn" in words


def test_lines_are_named_where_they_end() -> None:
    words = words_of(chart_of("dealer", players=3))
    assert all(name in words for name in ("dealer", "plays first", "offset 2"))


def test_five_seats_are_told_apart_by_color_marker_and_line_alike() -> None:
    for feature in ("color", "marker", "linestyle"):
        assert len({str(seat_style(seat)[feature]) for seat in range(5)}) == 5
    styles = [tuple(map(str, seat_style(seat).values())) for seat in range(10)]
    assert len(set(styles)) == 10


def test_each_design_point_has_its_chart_on_the_same_scale() -> None:
    figure = chart_of("dealer", vary={"players": [2, 4], "draw.count": [1, 2, 3, 4]})
    assert "players = 2, draw.count = 1" in words_of(figure)
    assert "players = 4, draw.count = 2" in words_of(figure)  # the last of those that are drawn
    by_round = [cell.subfigs[0].axes[0] for cell in figure.subfigs]
    assert len({axes.get_ylim() for axes in by_round}) == 1


def test_a_long_design_is_cut_and_says_so() -> None:
    figure = chart_of("seats", games=20, players=2, vary={"points.K": list(range(MOST_FACETS + 2))})
    assert len(figure.subfigs) == MOST_FACETS
    assert f"the first {MOST_FACETS} of {MOST_FACETS + 2} design points" in words_of(figure).replace("\n", " ")


def test_one_round_is_drawn_as_points_side_by_side() -> None:
    figure = chart_of("dealer", players=3, set={"deals": [5]})
    lines = figure.subfigs[0].subfigs[0].axes[0].lines
    assert len({frozenset(x) for x, _ in map(places_of, lines) if len(x) == 1}) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", BY_NAME)
def test_a_single_game_can_be_drawn(name: str) -> None:
    FigureCanvasAgg(chart_of(name, games=1)).draw()


def test_drawing_leaves_nothing_behind() -> None:
    before = dict(matplotlib.rcParams)
    chart_of("seats")
    assert dict(matplotlib.rcParams) == before
    code = "import sys, tests.test_plots as t; t.chart_of('seats'); print('matplotlib.pyplot' in sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_the_style_file_is_understood() -> None:
    with matplotlib.rc_context(fname=STYLE):
        assert matplotlib.rcParams["axes.titlelocation"] == "left"


def test_names_are_moved_apart_in_their_order_and_stay_inside() -> None:
    places = spread([0.5, 0.52, 0.1, 0.99, 0.98], gap=0.1)
    assert [place for _, place in sorted(zip([0.5, 0.52, 0.1, 0.99, 0.98], places, strict=True))] == sorted(places)
    ordered = sorted(places)
    assert all(high - low >= 0.1 - 1e-9 for low, high in pairwise(ordered))
    assert ordered[0] >= 0
    assert ordered[-1] <= 1
    assert spread([0.2, 0.8], gap=0.1) == pytest.approx([0.2, 0.8])


def test_limits_hold_all_that_is_drawn() -> None:
    rows = pd.DataFrame({"estimate": [1.0, 2.0], "ci_low": [0.5, float("nan")], "ci_high": [1.5, float("nan")]})
    low, high = limits(rows, -1)
    assert low < -1
    assert high > 2
    assert limits(rows.iloc[:0], 3) == (2.5, 3.5)


def test_parts_are_the_design_points_with_their_labels() -> None:
    summary = summary_of(experiment_of("dealer", vary={"players": [2, 3]}))
    assert [label for label, _ in parts(summary)] == ["players = 2", "players = 3"]
    assert sum(len(part) for _, part in parts(summary)) == len(summary)
    assert all(part.attrs == summary.attrs for _, part in parts(summary))
    alone = summary_of(experiment_of("dealer"))
    assert [label for label, _ in parts(alone)] == [""]
    assert DealerStudy().plot(alone).subfigs[0].get_suptitle() == ""
