"""Which rule matters most? Many single changes at once, each compared with the base metric by metric.

By default the changes are the other readings of the rule sheet that RULES.md offers, so that the answer is one to "the
sheet is unclear: does it matter?". With hundreds of rows the false discovery rate is bounded instead of the chance of
any false finding (Benjamini and Hochberg): of the changes that are called real, few are not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.stats import Floats, benjamini_hochberg, counted
from craits_sim.studies.base import Ints, Row, level_text, several
from craits_sim.studies.compare import (
    HEADLINES,
    METRICS,
    Metric,
    PairedStudy,
    in_margins,
    is_beyond,
    is_small,
    label,
    legend,
    margin_axis,
    mark,
    marker_style,
    metric_margin,
    played,
    position,
    reach_of,
    scaled,
    terms,
    values,
)
from craits_sim.text import levels_text, toml_value

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment, Variant
    from craits_sim.rules import Rules

NO_READINGS = ("win", "partners")
"""Fields with a list of words to choose from that are no readings of the sheet: RULES.md R7 offers none."""

OTHER_READINGS: dict[str, tuple[object, ...]] = {
    "decks": (1, 2),  # R1
    "deals": ([8, 7, 6, 5, 4, 3, 2, 1, 2, 3, 4, 5, 6, 7, 8], [8, 7, 6, 5, 4, 3, 2, 1]),  # R4, the short game
    "first_dealer": ("random", 0),  # R2
    "starter.redraw": ([], ["8"]),  # R5
    "wild": (["8"], ["8", "9"]),  # "Abilities": 9 is wild too
    "draw.count": (1, 2),  # R9: draw N
    "announce.cards": (2, 1),  # R10
    "stock.pressure": (0, 5),  # R12
    "abilities.7": ("next_draws:1", "next_draws:1,lose_turn"),  # "Abilities": and loses the turn
}
"""The readings of fields that have no list of words to choose from: classic's first, each with its section."""

DOUBLE_READINGS: tuple[dict[str, object], ...] = (
    {"draw.until_playable": True, "draw.limit": 5},  # R9: a cap on draws per turn
)
"""Readings that take two fields: the second means nothing without the first."""

INERT = "inert"
"""The estimand of the row of a change that leaves the rules as they are."""

MOST_BARS = 8
MOST_LISTED = 3
"""The most changes of a metric that its panel, and the table that a terminal shows, have room for."""

LARGEST = {
    "seat_edge": "win shares change most with",
    "dealer_edge": "the dealer's edge with",
    "turns_per_game": "the length of a game with",
}
"""How a conclusion introduces the largest change of a headline."""

SIZES = {
    "beyond": "beyond the margin",
    "perhaps": "perhaps beyond the margin",
    "small": "within the margin",
    "open": "undecided",
}
"""What a conclusion says of the mark of a row."""


def readings(base: "Rules") -> "Iterator[Variant]":
    """Give every reading of RULES.md other than the base's own, as changes of the base named by section and fields.

    A reading may mean nothing beside the base's other rules, as the reverse of two players at a table of four.
    """
    from craits_sim.design import Variant
    from craits_sim.rules import FIELDS, parse_changes

    own = base.by_key()
    for key, field in FIELDS.items():
        choices: tuple[object, ...] = OTHER_READINGS.get(key, ())
        if not choices and key not in NO_READINGS:
            choices = tuple(parse_changes([f"{key}={choice}"])[key] for choice in field.choices)
        singles = [{key: choice} for choice in choices]
        doubles = [changes for changes in DOUBLE_READINGS if key == list(changes)[-1]]
        for changes in [*singles, *doubles]:
            if any(own[changed] != value for changed, value in changes.items()):
                texts = (f"{changed} = {toml_value(value)}" for changed, value in changes.items())
                yield Variant(name=f"{field.section.strip(chr(34))} {'; '.join(texts)}", set=changes)


class ScreenStudy(PairedStudy):
    """Many changes against a base: which of them matters most for which metric, and which for none."""

    name = "screen"
    question = "Which rule matters most, and which reading of the sheet does not matter?"
    examples = ("--readings", "--variant 'points.8=30' --variant 'draw.count=2' --games 20k")
    takes_readings = True

    @staticmethod
    def adjusted(p_values: Floats) -> Floats:
        return benjamini_hochberg(p_values)

    def completed(self, experiment: "Experiment") -> "Experiment":
        """Screen the readings of the sheet where the experiment names no changes."""
        return experiment if experiment.variants or experiment.vary else self.with_readings(experiment)

    def with_readings(self, experiment: "Experiment") -> "Experiment":
        """Add every other reading of the sheet to the variants of an experiment."""
        from craits_sim.design import design_points

        base = design_points(experiment)[0].rules
        return experiment.model_copy(update={"variants": [*experiment.variants, *readings(base)]})

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        """Expand the design, without the changes that leave the rules as they are or as another change has them."""
        first: dict[object, DesignPoint] = {}
        for point in super().design(experiment, max_points):
            first.setdefault(played(point), point)
        return tuple(first.values())

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        """Make the table metric by metric, the largest change first; changes that were not played stand at its end."""
        import pandas as pd

        summary = _largest_first(super().summarise(sums, experiment))
        inert = pd.DataFrame(self._inert_rows(experiment), columns=summary.columns).astype(summary.dtypes)
        if inert.empty:
            return summary
        return pd.concat([summary, inert], ignore_index=True).__finalize__(summary)

    def _inert_rows(self, experiment: "Experiment") -> Iterator[Row]:
        """Give the row of each change that was not played, because its rules are those of another design point."""
        from craits_sim.design import MAX_DESIGN_POINTS

        first: dict[object, DesignPoint] = {}
        for number, point in enumerate(super().design(experiment, MAX_DESIGN_POINTS)):
            same = first.setdefault(played(point), point)
            if same is not point or (number and not first):
                yield point.factors | {
                    "estimand": INERT,
                    "unit": "",
                    "estimate": 0.0,
                    "se": 0.0,
                    "ci_low": 0.0,
                    "ci_high": 0.0,
                    "ci_level": experiment.level,
                    "ci_kind": "exact",
                    "n": 0,
                    "verdict": f"the same rules as {label(same)}",
                }

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        """Give the largest changes of each metric; of a metric that nothing is shown to move, the largest alone."""
        rows = summary[summary["estimand"] != INERT].to_dict("records")
        listed_so_far: Counter[str] = Counter()
        shown = [False] * len(summary)
        for place, row in enumerate(rows):
            if listed_so_far[row["estimand"]] < (1 if is_small(row) else MOST_LISTED):
                listed_so_far[row["estimand"]] += 1
                shown[place] = True
        return super().highlights(summary[shown])

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import sheet

        tested = summary[summary["estimand"] != INERT]
        of_metric = {name: rows.to_dict("records") for name, rows in tested.groupby("estimand", sort=False)}
        bars = min(MOST_BARS, max(map(len, of_metric.values())))
        lines = ceil(len(METRICS) / 2)

        def draw(cell: "SubFigure") -> None:
            panels = cell.subplots(lines, 2, squeeze=False)
            for panel, metric in zip(panels.flat, METRICS, strict=False):
                tornado(panel, metric, of_metric[metric.estimand], metric_margin(metric, summary.attrs["margin"]))
            for panel in list(panels.flat)[len(METRICS) :]:
                panel.set_axis_off()
            legend(cell, tested, 5)

        return sheet(summary, self.question, 14, 0.6 + lines * (1.25 + 0.25 * bars), draw)

    def conclude(self, summary: "pd.DataFrame") -> str:
        tested = summary[summary["estimand"] != INERT]
        of_change: dict[str, list[dict[str, Any]]] = {}
        for row in tested.to_dict("records"):
            of_change.setdefault(_name(row), []).append(row)
        moving = [name for name, rows in of_change.items() if any(map(is_beyond, rows))]
        still = [name for name, rows in of_change.items() if all(map(is_small, rows))]
        unclear = len(of_change) - len(moving) - len(still)
        answer = "It matters" if moving else "It is not clear whether it matters" if unclear else "It does not matter"
        texts = [
            f"{answer}: of {counted(len(of_change), 'change')} {len(moving) or 'none'} {_is_are(len(moving))} shown to "
            f"move some metric beyond its margin, {len(still) or 'none'} to move none, and {unclear or 'none'} "
            f"{_is_are(unclear)} not clear."
        ]
        largest = {row["estimand"]: row for row in reversed(tested.to_dict("records"))}  # the first is the largest
        texts.append(f"{_sentence_case('; '.join(_largest_text(largest[name]) for name in HEADLINES))}.")
        if still and moving:
            texts.append(f"It does not matter by any metric: {several(still)}.")
        text = f"{' '.join(texts)}\n{terms(tested, f'Benjamini and Hochberg over {len(tested)} rows')}"
        inert = summary[summary["estimand"] == INERT].to_dict("records")
        if inert:
            named = [f"{_name(row)} ({row['verdict']})" for row in inert]
            text += f" Not played: {several(named)}."
        return text


def _largest_first(summary: "pd.DataFrame") -> "pd.DataFrame":
    """Order the rows of a summary by metric, and then by size as a multiple of the margin."""
    metrics = {metric.estimand: place for place, metric in enumerate(METRICS)}
    rows = summary.to_dict("records")
    order = sorted(range(len(rows)), key=lambda k: (metrics[rows[k]["estimand"]], -in_margins(rows[k])))
    return summary.iloc[order].reset_index(drop=True)


def _largest_text(row: Mapping[str, Any]) -> str:
    """Say which change of a metric is largest, and whether it matters."""
    what = f"{LARGEST[row['estimand']]} {_name(row)} ({values(row)}"
    return f"{what}, {SIZES[mark(row)]})"


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:]


def _is_are(count: int) -> str:
    return "is" if count == 1 else "are"


def _name(row: Mapping[str, Any]) -> str:
    """Name the change of a row that has been taken out of its frame."""
    factors = list(row)[: list(row).index("estimand")]
    return levels_text({key: row[key] for key in factors})


def _how_many(shown: int, moving: int, changes: int) -> str:
    if moving == 0:
        return f"none of {changes} made a difference in any game"
    text = f"{moving} of {changes} made a difference" if moving < changes else f"all {changes} made a difference"
    return f"{text}: the {shown} largest" if shown < moving else text


def tornado(axes: "Axes", metric: Metric, rows: list[dict[str, Any]], margin: str) -> None:
    """Draw the largest differences of one metric, the largest on top, with the values themselves.

    Parameters
    ----------
    rows
        The largest first.
    margin
        The margin in words.
    """
    from craits_sim.plots import SOFT, beside, title

    moving = [row for row in rows if row["estimate"] != 0]
    shown = moving[:MOST_BARS]
    level = level_text(rows[0]["ci_level"])
    note = f"margin {margin} · {level} intervals\n{_how_many(len(shown), len(moving), len(rows))}"
    title(axes, metric.title, note)
    reach = reach_of(shown)
    margin_axis(axes, reach)
    for place, row in enumerate(shown):
        style = marker_style(mark(row))
        value, *ends = np.clip(scaled(row), -reach, reach)
        axes.barh(
            place,
            value,
            height=0.62,
            color=style["markerfacecolor"],
            edgecolor=style["color"],
            alpha=0.55 if style["markerfacecolor"] != "white" else 1,
        )
        axes.plot(ends, [place, place], color=style["color"], linewidth=1.6)
        axes.plot(value, place, zorder=3, **{**style, "markersize": 4.5})
        label = f"{position(row)}: {values(row)}" if row["estimand"] == "seat_edge" else values(row)
        beside(axes, place, label, 8, SOFT if is_small(row) else "black")
    axes.set_yticks(range(len(shown)), [_name(row) for row in shown], fontsize=8)
    axes.set_ylim(min(MOST_BARS, len(rows)) - 0.4, -0.6)  # bars of the same height in all panels
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.xaxis.label.set_fontsize(8)
