"""Which rule matters most? Many single changes at once, each compared with the base metric by metric.

By default the changes are the other readings of the rule sheet that RULES.md offers, so that the answer is one to "the
sheet is unclear: does it matter?". With hundreds of rows the false discovery rate is bounded instead of the chance of
any false finding (Benjamini and Hochberg): of the changes that are called real, few are not.
"""

from collections.abc import Iterator, Mapping
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.stats import Floats, benjamini_hochberg
from craits_sim.studies.base import Ints, Row, level_text
from craits_sim.studies.compare import (
    METRICS,
    PairedStudy,
    effect_axis,
    is_beyond,
    is_small,
    label,
    legend,
    mark,
    marker_style,
    played,
    position,
    terms,
    values,
    variants_of,
)

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
                yield Variant(name=f"{field.section.strip(chr(34))} {_changes_text(changes)}", set=changes)


def _changes_text(changes: Mapping[str, object]) -> str:
    from craits_sim.text import toml_value

    texts = (f"{key} = {value if isinstance(value, str) else toml_value(value)}" for key, value in changes.items())
    return "; ".join(texts).replace('"', "")


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
        import pandas as pd

        summary = super().summarise(sums, experiment)
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
        """Give the rows in which something is shown beyond the margin, or undecided, and the changes not played."""
        shown = [row["estimand"] == INERT or not is_small(row) for row in summary.to_dict("records")]
        return super().highlights(summary[shown] if any(shown) else summary)

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import sheet

        tested = summary[summary["estimand"] != INERT]
        bars = min(MOST_BARS, len(list(variants_of(tested))))
        rows = ceil(len(METRICS) / 2)

        def draw(cell: "SubFigure") -> None:
            panels = cell.subplots(rows, 2, squeeze=False)
            for panel, metric in zip(panels.flat, METRICS, strict=False):
                tornado(panel, metric.title, tested[tested["estimand"] == metric.estimand], summary.attrs["margin"])
            for panel in list(panels.flat)[len(METRICS) :]:
                panel.set_axis_off()
            legend(cell, tested, 5)

        return sheet(summary, self.question, 14, 0.6 + rows * (1.1 + 0.25 * bars), draw)

    def conclude(self, summary: "pd.DataFrame") -> str:
        margin = summary.attrs["margin"]
        tested = summary[summary["estimand"] != INERT]
        parts = [(name, part.to_dict("records")) for name, part in variants_of(tested)]
        moving = [name for name, rows in parts if any(map(is_beyond, rows))]
        still = [name for name, rows in parts if all(map(is_small, rows))]
        open_ = [name for name, _ in parts if name not in moving and name not in still]
        texts = [
            f"Of {len(parts)} changes {len(moving) or 'none'} {_is_are(len(moving))} shown to move some metric beyond "
            f"the margin of {margin:g} standard deviations, {len(still) or 'none'} to move none, and {len(open_)} "
            f"{_is_are(len(open_))} not clear."
        ]
        most: dict[str, list[str]] = {}
        quiet = []
        for metric in METRICS:
            rows = [row for row in tested[tested["estimand"] == metric.estimand].to_dict("records") if is_beyond(row)]
            if rows:
                top = max(rows, key=lambda row: abs(row["effect"]))
                most.setdefault(_name(top), []).append(f"{metric.title} ({values(top)})")
            else:
                quiet.append(metric.title)
        if most:
            listed = "; ".join(f"{name} for {', '.join(metrics)}" for name, metrics in most.items())
            texts.append(f"What matters most: {listed}.")
        if quiet:
            texts.append(f"No change is shown to move beyond the margin: {', '.join(quiet)}.")
        if still:
            texts.append(f"It does not matter by any metric: {', '.join(still)}.")
        if open_:
            texts.append(f"Not clear: {', '.join(open_)}.")
        inert = summary[summary["estimand"] == INERT]
        if len(inert):
            listed = ", ".join(f"{name} ({part['verdict'].iloc[0]})" for name, part in variants_of(inert))
            texts.append(f"No effect without playing: {listed}.")
        return "\n".join([" ".join(texts), terms(tested, f"Benjamini and Hochberg over {len(tested)} rows")])


def _is_are(count: int) -> str:
    return "is" if count == 1 else "are"


def _name(row: Mapping[str, Any]) -> str:
    """Name the change of a row that has been taken out of its frame."""
    if "variant" in row:
        return str(row["variant"])
    factors = list(row)[: list(row).index("estimand")]
    return ", ".join(f"{key} = {row[key]}" for key in factors)


def _how_many(shown: int, moving: int, changes: int) -> str:
    if moving == 0:
        return f"none of {changes} made a difference in any game"
    text = f"{moving} of {changes} made a difference" if moving < changes else f"all {changes} made a difference"
    return f"{text}: the {shown} largest" if shown < moving else text


def tornado(axes: "Axes", text: str, rows: "pd.DataFrame", margin: float) -> None:
    """Draw the largest effects on one metric, the largest on top, with the values themselves."""
    from craits_sim.plots import SOFT, title

    moving = rows[rows["estimate"] != 0]
    ranked = moving.reindex(moving["effect"].abs().sort_values(ascending=False, kind="stable").index)
    shown = ranked.head(MOST_BARS).to_dict("records")
    level = level_text(rows["ci_level"].iloc[0])
    title(axes, text, f"{level} intervals · {_how_many(len(shown), len(moving), len(rows))}")
    ends = np.abs([[row["effect_low"], row["effect_high"], row["effect"]] for row in shown])
    reach = 1.4 * max(float(ends[np.isfinite(ends)].max(initial=0)), 2 * margin)
    effect_axis(axes, margin, reach)
    for place, row in enumerate(shown):
        style = marker_style(mark(row))
        effect = float(np.clip(row["effect"], -reach, reach))
        axes.barh(
            place,
            effect,
            height=0.62,
            color=style["markerfacecolor"],
            edgecolor=style["color"],
            alpha=0.55 if style["markerfacecolor"] != "white" else 1,
        )
        low, high = np.clip([row["effect_low"], row["effect_high"]], -reach, reach)
        axes.plot([low, high], [place, place], color=style["color"], linewidth=1.6)
        axes.plot(effect, place, zorder=3, **{**style, "markersize": 4.5})
        axes.annotate(
            f"{position(row)}: {values(row)}" if row["estimand"] == "seat_edge" else values(row),
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8,
            color=SOFT if is_small(row) else "black",
            annotation_clip=False,
        )
    axes.set_yticks(range(len(shown)), [_name(row) for row in shown], fontsize=8)
    axes.set_ylim(min(MOST_BARS, len(rows)) - 0.4, -0.6)  # bars of the same height in all panels
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference, standard deviations of one game", fontsize=8)
