"""How charts look: the shared style, and the pieces that the studies draw with. Nothing here computes a statistic.

Figures are made without pyplot, so that drawing one leaves nothing behind. matplotlib is imported when first needed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any, NamedTuple

from craits_sim.text import levels_text

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from numpy.typing import NDArray

STYLE = Path(__file__).with_name("craits.mplstyle")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h")
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))
INK = "#1d2126"
SOFT = "#5b6570"
BAND = "#dfe7ee"
MOST_FACETS = 8
"""Charts of a figure: the largest ones take 0.8 s each to lay out and draw, and a report should take at most 5 s."""


def factor_columns(summary: "pd.DataFrame") -> list[str]:
    """Name the columns of the design: those before ``estimand``."""
    names = [str(name) for name in summary.columns]
    return names[: names.index("estimand")]


def parts(summary: "pd.DataFrame") -> Iterator[tuple[str, "pd.DataFrame"]]:
    """Split a summary by design point, each with a label like ``players = 4``; empty for the only point."""
    factors = factor_columns(summary)
    if not factors:
        yield "", summary
        return
    for levels, part in summary.groupby(factors, sort=False, dropna=False):
        part.attrs.update(summary.attrs)
        yield levels_text(dict(zip(factors, levels, strict=True))), part


def facets(
    summary: "pd.DataFrame",
    title: str,
    width: float,
    height: Callable[["pd.DataFrame"], float],
    draw: Callable[["SubFigure", "pd.DataFrame", "pd.DataFrame"], None],
) -> "Figure":
    """Draw a chart for each design point, one below the other, with a title above and the caption below.

    A long design is cut after `MOST_FACETS` charts, which the caption says; the table has them all.

    Parameters
    ----------
    width, height
        Inches; the height is that of the chart of a part of the summary.
    draw
        Draws into a part of the figure a part of the summary; the third argument is the whole summary, which gives all
        design points the same scales (`limits`).
    """
    points = list(parts(summary))
    drawn = points[:MOST_FACETS]
    cut = f" · the first {len(drawn)} of {len(points)} design points" * (len(drawn) < len(points))
    heights = [height(part) for _, part in drawn]
    with _page(summary, title, width, sum(heights), cut) as figure:
        cells = figure.subfigures(len(drawn), 1, squeeze=False, height_ratios=heights).flat
        for cell, (label, part) in zip(cells, drawn, strict=True):
            if label:
                cell.suptitle(label, x=0.02, ha="left", fontsize=11, color=SOFT)
            draw(cell, part, summary)
    return figure


def sheet(
    summary: "pd.DataFrame", title: str, width: float, height: float, draw: Callable[["SubFigure"], None]
) -> "Figure":
    """Draw one chart of the whole summary, with a title above and the caption below; width and height are inches."""
    with _page(summary, title, width, height) as figure:
        (cell,) = figure.subfigures(1, 1, squeeze=False).flat
        draw(cell)
    return figure


@contextmanager
def _page(summary: "pd.DataFrame", title: str, width: float, height: float, note: str = "") -> Iterator["Figure"]:
    """Lend a figure in the shared style, with its title and caption."""
    import matplotlib
    from matplotlib.figure import Figure

    caption = str(summary.attrs.get("caption", "")) + note
    with matplotlib.rc_context(fname=STYLE):
        figure = Figure(figsize=(width, height + 0.7), layout="constrained")
        figure.suptitle(title, x=0.012, ha="left")
        figure.supxlabel(fill(caption, int(16 * width)), x=0.012, ha="left", fontsize=8, color=SOFT)
        yield figure


def limits(rows: "pd.DataFrame", *values: float) -> tuple[float, float]:
    """Give the limits of an axis that shows the intervals of some rows, and some values, with room around them."""
    low = min([*rows["ci_low"].dropna(), *rows["estimate"].dropna(), *values])
    high = max([*rows["ci_high"].dropna(), *rows["estimate"].dropna(), *values])
    room = 0.14 * (high - low) or 0.5
    return low - room, high + room


def seat_style(number: int) -> dict[str, Any]:
    """Give the color, marker and line of a position or offset: any one of the three tells up to five apart."""
    import matplotlib

    colors = matplotlib.rcParams["axes.prop_cycle"].by_key()["color"]
    return {
        "color": colors[number % len(colors)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number % len(LINES)],
    }


def title(axes: "Axes", text: str, note: str = "") -> None:
    """Put a title above an axes, and a note in small print under it."""
    axes.set_title(text, pad=8 + 11 * (note.count("\n") + 1) if note else None)
    if note:
        axes.annotate(
            note,
            (0, 1),
            (0, 5),
            xycoords="axes fraction",
            textcoords="offset points",
            va="bottom",
            fontsize=8,
            color=SOFT,
            linespacing=1.25,
        )


def beside(axes: "Axes", place: float, text: str, size: float, color: str) -> None:
    """Write a text at the right of an axes, at a place of its vertical scale."""
    axes.annotate(
        text,
        (1.02, place),
        xycoords=("axes fraction", "data"),
        va="center",
        fontsize=size,
        color=color,
        annotation_clip=False,
    )


def reference(axes: "Axes", value: float, *, vertical: bool) -> None:
    """Draw the line that estimates are compared with."""
    draw = axes.axvline if vertical else axes.axhline
    draw(value, color=INK, linewidth=1, linestyle=(0, (4, 3)), zorder=1.5)


def margin_band(axes: "Axes", center: float, margin: float, *, vertical: bool = True) -> None:
    """Shade the differences that do not matter: a vertical band on a horizontal scale, or the other way round."""
    draw = axes.axvspan if vertical else axes.axhspan
    draw(center - margin, center + margin, color=BAND, linewidth=0, zorder=0.5)


def dots(
    axes: "Axes",
    rows: "pd.DataFrame",
    names: Sequence[str],
    *,
    labels: Sequence[str] = (),
    styles: Sequence[Mapping[str, Any]] = (),
) -> None:
    """Draw a dot plot: an estimate and its interval for each row, the first on top.

    Parameters
    ----------
    names
        What each row is, for the vertical axis.
    labels
        The figure to write above each dot.
    styles
        How each is drawn, `seat_style` where nothing is given.
    """
    for place, row in enumerate(rows.to_dict("records")):
        style = styles[place] if styles else seat_style(place)
        _dot(axes, row, place, style, labels[place] if labels else "")
    _name_places(axes, range(len(names)), names)


class Block(NamedTuple):
    """The dots of one design point in a chart of several."""

    label: str
    rows: "pd.DataFrame"
    names: Sequence[str]
    labels: Sequence[str]


def dot_blocks(axes: "Axes", blocks: Sequence[Block], *, headings: bool = True) -> None:
    """Draw the dot plots of several design points one below the other on one scale, each below its label."""
    places: list[float] = []
    names: list[str] = []
    start = 0.0
    for block in blocks:
        if headings:
            axes.annotate(
                block.label,
                (0, start + 0.05),
                (5, 0),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                va="center",
                fontweight="bold",
                fontsize=8.5,
            )
        axes.axhline(start - 0.55, color="#e6eaee", linewidth=0.8)
        for number, row in enumerate(block.rows.to_dict("records")):
            place = start + 1 + number
            _dot(axes, row, place, seat_style(number), block.labels[number])
            places.append(place)
            names.append(block.names[number])
        start += len(block.rows) + 1.4
    _name_places(axes, places, names)
    axes.set_ylim(start - 0.9, -0.6)


def _dot(axes: "Axes", row: Mapping[str, Any], place: float, style: Mapping[str, Any], label: str) -> None:
    """Draw an estimate with its interval, and its figure above it."""
    from matplotlib.patheffects import withStroke

    axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=style["color"], linewidth=2.4, alpha=0.55)
    axes.plot(row["estimate"], place, **{**style, "linestyle": "none", "zorder": 3})
    if label:
        axes.annotate(
            label.replace("-", "\N{MINUS SIGN}"),
            (row["estimate"], place),
            (0, 5.5),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=8.5,
            path_effects=[withStroke(linewidth=2.5, foreground="white")],  # a label may stand on a line
        )


def matrix(axes: "Axes", cells: "NDArray[np.float64]", labels: Mapping[tuple[int, int], str], *, center: float) -> None:
    """Draw a square of cells, colored by how far above or below the center they are, with a text in each.

    Rows and columns are at 0, 1, ...; an empty cell is not-a-number. The color says nothing that the text does not.
    """
    from matplotlib.colors import TwoSlopeNorm

    reach = max(abs(float(value) - center) for value in cells.ravel() if value == value) or 1
    edges = [place - 0.5 for place in range(len(cells) + 1)]
    norm = TwoSlopeNorm(center, center - reach, center + reach)
    axes.pcolormesh(edges, edges, cells, cmap="PuOr_r", norm=norm, alpha=0.55, edgecolors="white", linewidth=1.5)
    for (row, column), label in labels.items():
        axes.text(column, row, label, ha="center", va="center", fontsize=9)
    axes.grid(visible=False)
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)


def _name_places(axes: "Axes", places: Sequence[float], names: Sequence[str]) -> None:
    """Name the lines of a dot plot, the first on top."""
    axes.set_yticks(list(places), names)
    axes.set_ylim(len(names) - 0.5, -0.7)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def ribbons(axes: "Axes", lines: Sequence["pd.DataFrame"], names: Sequence[str], ticks: Sequence[object]) -> None:
    """Draw a line with the ribbon of its intervals for each frame. The vertical limits must be set.

    Parameters
    ----------
    lines
        Each a frame whose rows are the points of a line, in order.
    names
        What to write at the end of each line; none where a legend names them.
    ticks
        What to write below each point.
    """
    # Where there is one point, intervals stand side by side instead.
    single, ends = len(ticks) == 1, []
    for number, line in enumerate(lines):
        style = seat_style(number)
        x = [0.06 * (number - (len(lines) - 1) / 2)] if single else range(len(ticks))
        if single:
            axes.vlines(x, line["ci_low"], line["ci_high"], color=style["color"], alpha=0.55, linewidth=2.4)
        axes.fill_between(x, line["ci_low"], line["ci_high"], color=style["color"], alpha=0.16, linewidth=0)
        axes.plot(x, line["estimate"], markersize=4, **style)
        ends.append((x[-1], float(line["estimate"].iloc[-1])))
    axes.set_xticks(range(len(ticks)), [str(tick) for tick in ticks])
    axes.margins(x=1 if single else 0.02)
    axes.grid(axis="x", visible=False)
    if names:
        _name_line_ends(axes, ends, names)


def legend(figure: "SubFigure", names: Sequence[str]) -> None:
    """Put a legend above a figure whose charts have a color, marker and line for each name (`seat_style`)."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], **seat_style(number), label=name) for number, name in enumerate(names)]
    longest = max(len(name) for name in names)
    columns = max(1, min(len(names), 130 // (longest + 8)))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, handlelength=3)


def _name_line_ends(axes: "Axes", ends: Sequence[tuple[float, float]], names: Sequence[str]) -> None:
    """Write names to the right of the ends of lines, moved apart where they would overlap."""
    low, high = axes.get_ylim()
    places = spread([(y - low) / (high - low) for _, y in ends], gap=0.08)
    for number, (end, place, name) in enumerate(zip(ends, places, names, strict=True)):
        color = seat_style(number)["color"]
        axes.annotate(
            name,
            end,
            (1.03, place),
            textcoords="axes fraction",
            va="center",
            color=color,
            fontsize=8.5,
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": color, "linewidth": 0.7, "shrinkB": 4},
        )


def spread(wanted: Sequence[float], gap: float) -> list[float]:
    """Move places between 0 and 1 apart by at least ``gap``, in their order and about their middle."""
    order = sorted(range(len(wanted)), key=lambda number: wanted[number])
    places: list[float] = []
    for number in order:
        places.append(max(wanted[number], places[-1] + gap) if places else wanted[number])
    shift = sum(wanted[number] for number in order) / len(order) - sum(places) / len(order)
    shift = max(min(shift, 1 - places[-1]), -places[0])
    moved = dict(zip(order, places, strict=True))
    return [moved[number] + shift for number in range(len(wanted))]


def rare_shares(
    axes: "Axes", rows: "pd.DataFrame", names: Sequence[str], labels: Sequence[str], places: Sequence[int] | None = None
) -> None:
    """Draw shares in percent on a logarithmic scale; an arrow at its upper bound stands for what was never seen.

    Parameters
    ----------
    names
        What each place on the vertical axis is.
    labels
        The text beside each row.
    places
        The place of each row, from 0; all places in order, unless some stay empty.
    """
    where = range(len(names)) if places is None else places
    for place, row, label in zip(where, rows.to_dict("records"), labels, strict=True):
        seen = share_or_bound(axes, row, place, 0)
        # A share near the right end has its figure on the left.
        common = row["ci_high"] > 10
        axes.annotate(
            label,
            (row["ci_low"] if common and seen else row["ci_high"], place),
            (-8 if seen else -30, 0) if common else (8, 0),
            textcoords="offset points",
            ha="right" if common else "left",
            va="center",
            fontsize=8.5,
        )
    axes.set_xscale("log")
    shown = rows[["ci_low", "ci_high"]].to_numpy()
    axes.set_xlim(shown[shown > 0].min() / 10, 100)
    axes.set_xlabel("% of games (logarithmic)")
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def share_or_bound(axes: "Axes", row: Mapping[str, Any], place: float, number: int) -> bool:
    """Draw a share with its interval, or an arrow from its upper bound if it was never seen; tell which."""
    style = seat_style(number)
    color = style["color"]
    if row["estimate"] > 0:
        axes.plot([row["ci_low"], row["ci_high"]], [place, place], color=color, linewidth=2.4, alpha=0.55)
        axes.plot(row["estimate"], place, marker=style["marker"], color=color)
        return True
    axes.annotate(
        "",
        (row["ci_high"], place),
        (-24, 0),
        textcoords="offset points",
        arrowprops={"arrowstyle": "<-", "color": color, "linewidth": 1.6},
    )
    axes.plot(row["ci_high"], place, marker="|", color=color, markersize=9)
    return False


def second_axis(axes: "Axes", points: "NDArray[np.float64]", label: str) -> None:
    """Add below an axes a second scale, on the straight line through two points (value, value on the second scale)."""
    (x0, y0), (x1, y1) = points
    if x0 == x1:
        return
    slope = (y1 - y0) / (x1 - x0)
    second = axes.secondary_xaxis(-0.24, functions=(lambda x: y0 + slope * (x - x0), lambda y: x0 + (y - y0) / slope))
    second.xaxis.set_major_formatter("{x:,g}")
    second.set_xlabel(label)
