"""What does a house rule change? Games of the same deals under the base rules and under each variant, compared.

All design points play the same game indices with the same streams, so that a game of a variant and the base's game of
the same index are a pair. The pair is the unit: each difference is a mean over games, and its error is that of the
differences between the two games of a pair, which covers whatever they have in common.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from craits_sim.results import WIN_UNIT, Batch, Ending
from craits_sim.stats import (
    Floats,
    Moments,
    Verdict,
    counted,
    difference_p_value,
    equivalence_p_value,
    games_to_detect,
    games_to_show_equivalence,
    holm,
    interval_text,
    mean_interval,
    number_text,
    round_up,
    simultaneous_level,
    verdict,
)
from craits_sim.studies.base import COLUMNS, Ints, Row, Study, Sums, by_position, cross_sums, level_text
from craits_sim.studies.length import SECONDS, assumed_seconds, seconds_before_play

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules

QUANTITIES = (
    "dealer_edge",  # points of the dealers, times the players, less the points of all: players x rounds x the mean edge
    "turns",
    "drawn",
    "reshuffles",
    "choices",
    "blocked",  # rounds
    "largest_crank",
    "range",  # the highest total less the lowest
    "shared_by_two",  # 1 where more than one player wins
    "shared_by_three",  # 1 where more than two do, so that two sides of partners are tied
)
"""Whole numbers of a game that all metrics are made of; the wins by position, in 1/`WIN_UNIT`, follow them."""

FEWEST_DIFFERING = 50
"""Games that must differ between base and variant for a difference to be tested: with fewer the normal approximation
is not to be trusted, and no difference is claimed."""

FEWEST_GAMES = 1000
"""Games after which a difference that almost never shows is taken to be small."""

MOST_VARIANTS_DRAWN = 12


class Side(NamedTuple):
    """One of the two design points of a pair: what a metric is computed from."""

    rules: "Rules"
    means: Floats  # (K,) of a game: QUANTITIES, then wins by position
    seconds: Mapping[str, float]

    @property
    def rounds(self) -> int:
        return len(self.rules.deals)

    def of(self, **weights: float) -> "Estimator":
        """Give the weighted sum of some quantities."""
        row = np.zeros((1, len(self.means)))
        for name, weight in weights.items():
            row[0, QUANTITIES.index(name)] = weight
        return Estimator(np.zeros(1), row)


class Estimator(NamedTuple):
    """M metrics as functions of the sums over games: a constant and weights of the K means.

    The metric is ``constant + weights @ means``. Its error is that of the weighted sum alone: for a metric that is no
    weighted sum, a ratio, the weights are its slopes at the means (the delta method).
    """

    constant: Floats  # (M,)
    weights: Floats  # (M, K)


def _seat_edges(side: Side) -> Estimator:
    """Give the win share of each position less the mean of all, in percentage points."""
    players = side.rules.players
    weights = np.hstack([np.zeros((players, len(QUANTITIES))), np.eye(players) - 1 / players])
    return Estimator(np.zeros(players), 100 / WIN_UNIT * weights)


def _minutes(side: Side) -> Estimator:
    seconds = side.seconds
    in_play = side.of(turns=seconds["turn"] / 60, drawn=seconds["card_drawn"] / 60, reshuffles=seconds["shuffle"] / 60)
    return Estimator(np.array([seconds_before_play(side.rules, seconds) / 60]), in_play.weights)


def _choice_share(side: Side) -> Estimator:
    choices, turns = (side.means[QUANTITIES.index(name)] for name in ("choices", "turns"))
    share = choices / turns
    return Estimator(np.array([100 * share]), side.of(choices=100 / turns, turns=-100 * share / turns).weights)


class Metric(NamedTuple):
    """Something about a rule set that a variant may change."""

    estimand: str
    unit: str
    title: str
    of: Callable[[Side], Estimator]


METRICS = (
    Metric("seat_edge", "pp", "seat edge, where it changes most", _seat_edges),
    Metric(
        "dealer_edge",
        "points",
        "dealer's edge a round",
        lambda side: side.of(dealer_edge=1 / (side.rules.players * side.rounds)),
    ),
    Metric("turns_per_round", "turns", "turns a round", lambda side: side.of(turns=1 / side.rounds)),
    Metric("turns_per_game", "turns", "turns a game", lambda side: side.of(turns=1)),
    Metric("minutes_per_game", "minutes", "minutes a game (assumed pace)", _minutes),
    Metric("cards_drawn_per_round", "cards", "cards drawn a round", lambda side: side.of(drawn=1 / side.rounds)),
    Metric("largest_crank", "cards", "largest crank of a game", lambda side: side.of(largest_crank=1)),
    Metric("choice_share", "%", "turns with a real choice", _choice_share),
    Metric("blocked_share", "%", "rounds blocked", lambda side: side.of(blocked=100 / side.rounds)),
    Metric("spread_of_totals", "points", "spread of totals, last less first", lambda side: side.of(range=1)),
    Metric(
        "tie_share",
        "%",
        "games tied for the win",
        lambda side: side.of(**{"shared_by_three" if side.rules.partners else "shared_by_two": 100}),
    ),
)
TITLES = {metric.estimand: metric.title for metric in METRICS}

PAIR_COLUMNS = {
    "base_value": "float64",
    "variant_value": "float64",
    "effect": "float64",
    "effect_low": "float64",
    "effect_high": "float64",
    "correlation": "float64",
    "variance_ratio": "float64",
    "identical_rounds": "float64",
    "margin": "float64",
    "p_value": "float64",
    "p_adjusted": "float64",
    "p_equivalence": "float64",
    "verdict": "str",
    "games_needed": "Int64",
}
"""Columns of a paired comparison, after ``n``.

``estimate`` is the paired difference, variant less base. ``effect`` is it in standard deviations of one game, the root
of the mean of both variances; ``margin`` is in the unit of the row. ``correlation`` is that of the two games of a pair,
and ``variance_ratio`` how much larger the variance of the difference would be without pairing. ``identical_rounds`` is
the share in percent. ``p_equivalence`` is that of the two one-sided tests (TOST), each taken by itself, so that what
is called small is what the intervals show.
"""

_ROW_COLUMNS = ("estimand", "position", "unit", "estimate", "se", "ci_low", "ci_high", "ci_level", "ci_kind", "n")
_TYPES = COLUMNS | PAIR_COLUMNS


class PairedStudy(Study):
    """A study that compares variants with a base, metric by metric."""

    margin = 0.05
    margin_unit = "standard deviations of one game"
    options = SECONDS
    default_games = 100_000
    details = True

    @staticmethod
    @abstractmethod
    def adjusted(p_values: Floats) -> Floats:
        """Adjust the p-values of all rows for their number; none of them is missing."""

    def tally(self, batches: Sequence[Batch]) -> Sums:
        base, *variants = batches
        base_games = quantities(base)
        sums: Sums = {"games": np.array([len(base_games)], np.int64), "0.truncated": _truncated(base)}
        for index, batch in enumerate(variants, start=1):
            games = quantities(batch)
            sums[f"{index}.truncated"] = _truncated(batch)
            sums[f"{index}.identical_rounds"] = np.array([np.count_nonzero(identical_rounds(base, batch))], np.int64)
            sums[f"{index}.differing"] = np.count_nonzero(games != base_games, axis=0).astype(np.int64)
            paired = np.asfortranarray(np.hstack([base_games, games]))
            sums |= cross_sums(f"{index}.paired", paired)
        return sums

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        """Expand the design: the base, then the variants, all at tables of the same size and no two the same."""
        from craits_sim.design import DesignError

        points = super().design(experiment, max_points)
        base = points[0]
        if experiment.variants and experiment.vary:
            raise DesignError(f"{self.name} takes variants or varied factors, not both: write the levels as variants")
        for point in points[1:]:
            if point.rules.players != base.rules.players:
                raise DesignError(
                    f"{label(point)} has {point.rules.players} players and the base {base.rules.players}: {self.name} "
                    "needs tables of the same size (--players), and `craits players` compares sizes"
                )
        return points

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        import pandas as pd

        from craits_sim.design import MAX_DESIGN_POINTS, caption

        base, *variants = self.design(experiment, MAX_DESIGN_POINTS)
        margin = self.margin if experiment.margin is None else experiment.margin
        seconds = assumed_seconds(experiment)
        table = []
        for index, variant in enumerate(variants, start=1):
            pair = Pair(sums, index, base.rules, variant.rules, seconds)
            table += [variant.factors | row for row in pair.rows(margin, experiment.level)]
        self._judge(table, experiment.level)
        summary = pd.DataFrame(table, columns=[*base.factors, *_ROW_COLUMNS, *PAIR_COLUMNS])
        summary = summary.astype({name: kind for name, kind in _TYPES.items() if name in summary and kind != "str"})
        summary.attrs["caption"] = caption(experiment, [base, *variants])
        summary.attrs["margin"] = margin
        summary.attrs["truncated"] = {
            label(point): int(sums[f"{index}.truncated"][0])
            for index, point in enumerate([base, *variants])
            if sums[f"{index}.truncated"][0]
        }
        return summary

    def _judge(self, table: list[Row], level: float) -> None:
        """Add to all rows what depends on their number: the adjusted p-values and the verdict."""
        adjusted = self.adjusted(np.array([row["p_value"] for row in table]))
        for row, p_value in zip(table, adjusted, strict=True):
            row["p_adjusted"] = float(p_value)
        # How many games would decide it: a difference at the level at which the first row of so many is tested.
        strictest = simultaneous_level(level, max(len(table), 1), "bonferroni")
        for row in table:
            decision = verdict(row["p_adjusted"], row["p_equivalence"], level)
            row["verdict"] = str(decision)
            estimate, se, games = row["estimate"], row["se"], row["n"]
            needed = min(
                games_to_detect((estimate / se) ** 2 if se else 0, 1, games, strictest),
                games_to_show_equivalence(estimate, se, games, row["margin"], level),
            )
            row["games_needed"] = round_up(needed) if decision == Verdict.INCONCLUSIVE else None

    def headline(self, sums: Mapping[str, Ints], experiment: "Experiment") -> tuple[str, float]:
        from craits_sim.design import MAX_DESIGN_POINTS

        base, *variants = self.design(experiment, MAX_DESIGN_POINTS)
        seconds = assumed_seconds(experiment)
        widths = [
            (row["effect_high"] - row["effect_low"]) / 2
            for index, variant in enumerate(variants, start=1)
            for row in Pair(sums, index, base.rules, variant.rules, seconds).rows(self.margin, experiment.level)
        ]
        return "widest interval, standard deviations", float(np.max(widths, initial=0))

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        return summary.drop(columns=["effect_low", "effect_high", "correlation", "p_equivalence", "identical_rounds"])


class CompareStudy(PairedStudy):
    """A few variants against a base: every metric of each, no false finding among all of them (Holm)."""

    name = "compare"
    question = "What does a house rule change?"
    examples = (
        "--variant 'until playable: draw.until_playable=true'",
        "--players 3 --variant wiki --variant 'cheap: points.8=30; points.6=10'",
    )

    @staticmethod
    def adjusted(p_values: Floats) -> Floats:
        return holm(p_values)

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        from craits_sim.design import DesignError

        points = super().design(experiment, max_points)
        if len(points) == 1:
            raise DesignError(
                'compare has nothing to compare with: give --variant "NAME: KEY=VALUE", a preset or a rules file '
                "(in an experiment file: tables [[variant]])"
            )
        seen = {played(points[0]): "the base"}
        for point in points[1:]:
            if (same := seen.get(played(point))) is not None:
                raise DesignError(
                    f"{label(point)} changes nothing: it plays and scores as {same} does (digest {point.rules.digest})"
                )
            seen[played(point)] = label(point)
        return points

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import sheet

        parts = list(variants_of(summary))[:MOST_VARIANTS_DRAWN]
        columns = 1 if len(parts) == 1 else 2
        rows = ceil(len(parts) / columns)
        height = 0.45 + rows * (1.15 + 0.3 * len(METRICS))

        def draw(cell: "SubFigure") -> None:
            panels = cell.subplots(rows, columns, squeeze=False)
            reach = _reach(summary)
            for panel, (name, part) in zip(panels.flat, parts, strict=False):
                forest(panel, name, part, summary.attrs["margin"], reach)
            for panel in list(panels.flat)[len(parts) :]:
                panel.set_axis_off()
            legend(cell, summary, 3 if columns == 1 else 5)

        return sheet(summary, self.question, 8.6 if columns == 1 else 13.4, height, draw)

    def conclude(self, summary: "pd.DataFrame") -> str:
        parts = list(variants_of(summary))
        lines = [f"{name}: {sentence(part)}" if len(parts) > 1 else sentence(part) for name, part in parts]
        return "\n".join([*lines, terms(summary, f"Holm over {len(summary)} rows")])


class Pair:
    """The sums of the base and one variant, and the comparison that they give."""

    def __init__(
        self, sums: Mapping[str, Ints], index: int, base: "Rules", variant: "Rules", seconds: Mapping[str, float]
    ) -> None:
        games = int(sums["games"][0])
        self.paired = Moments.from_sums(games, sums[f"{index}.paired"], sums[f"{index}.paired_products"])
        base_means, variant_means = np.split(self.paired.mean, 2)
        self.base, self.variant = Side(base, base_means, seconds), Side(variant, variant_means, seconds)
        self.differing = sums[f"{index}.differing"]
        common = min(self.base.rounds, self.variant.rounds)
        self.identical_rounds = 100 * int(sums[f"{index}.identical_rounds"][0]) / (games * common)

    def rows(self, margin: float, level: float) -> Iterator[Row]:
        """Give a row for each metric, p-values not adjusted; ``margin`` is in standard deviations of one game."""
        for metric in METRICS:
            yield {"estimand": metric.estimand, "unit": metric.unit} | self._row(metric, margin, level)

    def _row(self, metric: Metric, margin: float, level: float) -> Row:
        """Compare one metric; of a metric by position, the position whose difference is clearest.

        That position was chosen for its difference, and the largest of several differences is not zero where none of
        them is: its interval is one of several simultaneous ones, its p-value is that of the largest of so many
        (Šidák), and equivalence is shown only where it is for every position.
        """
        games = self.paired.games
        base, variant = metric.of(self.base), metric.of(self.variant)
        count, width = base.weights.shape
        both = Moments(games, np.concatenate([base.constant, variant.constant]), np.zeros((0, 0)))
        weights = np.block([[base.weights, np.zeros((count, width))], [np.zeros((count, width)), variant.weights]])
        sides = self.paired.combine(weights)
        values = sides.mean + both.mean
        covariance = sides.covariance
        difference = sides.combine(np.hstack([-np.eye(count), np.eye(count)]))
        estimates, se = values[count:] - values[:count], difference.se
        used = (base.weights != 0).any(axis=0) | (variant.weights != 0).any(axis=0)
        differing = int(self.differing[used].max())
        variances = np.diagonal(covariance).reshape(2, count)
        # What is the same in every pair may have left a last bit when sums were divided.
        se = np.where(se**2 * games < 1e-10 * variances.sum(axis=0), 0, se)
        if differing == 0 and np.array_equal(base.weights, variant.weights):
            estimates = variant.constant - base.constant
        sd = np.sqrt(np.maximum(variances.mean(axis=0), 0))
        # Two positions have the same edge but for its sign.
        comparisons = 1 if count <= 2 else count
        interval = mean_interval(estimates, se, games, simultaneous_level(level, comparisons))
        p_equivalence = float(np.max(_defined(equivalence_p_value(estimates, se, margin * sd), 0.0)))
        p_values = _defined(difference_p_value(estimates, se), 1.0)
        at = int(np.argmin(p_values)) if count > 1 else 0
        p_value = 1 - (1 - p_values[at]) ** comparisons
        if differing < FEWEST_DIFFERING:
            p_value, p_equivalence = 1.0, p_equivalence if games >= FEWEST_GAMES else 1.0
        effects = [_in_units(value[at], sd[at]) for value in (estimates, interval.low, interval.high)]
        return {
            **({"position": at} if count > 1 else {}),
            "estimate": float(estimates[at]),
            "se": float(se[at]),
            "ci_low": float(interval.low[at]),
            "ci_high": float(interval.high[at]),
            "ci_level": level,
            "ci_kind": "simultaneous" if comparisons > 1 else "pointwise",
            "n": games,
            "base_value": float(values[at]),
            "variant_value": float(values[count + at]),
            **dict(zip(("effect", "effect_low", "effect_high"), effects, strict=True)),
            "correlation": _in_units(float(covariance[at, count + at]), float(np.sqrt(variances[:, at].prod()))),
            "variance_ratio": _in_units(float(variances[:, at].sum()), float(se[at] ** 2 * games)),
            "identical_rounds": self.identical_rounds,
            "margin": float(margin * sd[at]),
            "p_value": float(p_value),
            "p_equivalence": p_equivalence,
        }


# --- What games say ----------------------------------------------------------------------------------------------


def quantities(batch: Batch) -> Ints:
    """Give `QUANTITIES` and the wins by position of each game, shape (G, K)."""
    winners = np.count_nonzero(batch.wins, axis=1)
    by_offset = np.einsum("gro->go", batch.points)
    columns = {
        "dealer_edge": batch.points.shape[2] * by_offset[:, 0] - by_offset.sum(axis=1),
        "turns": np.einsum("gr->g", batch.turns, dtype=np.int64),
        "drawn": np.einsum("gr->g", batch.drawn, dtype=np.int64),
        "reshuffles": np.einsum("gr->g", batch.reshuffles, dtype=np.int64),
        "choices": np.einsum("gr->g", batch.choices, dtype=np.int64),
        "blocked": np.count_nonzero(batch.ending == Ending.BLOCKED, axis=1),
        "largest_crank": batch.largest_crank.max(axis=1),
        "range": batch.totals.max(axis=1) - batch.totals.min(axis=1),
        "shared_by_two": winners > 1,
        "shared_by_three": winners > 2,
    }
    wins = by_position(batch, batch.wins)
    games = np.empty((len(winners), len(QUANTITIES) + wins.shape[1]), np.int64, order="F")
    for number, name in enumerate(QUANTITIES):
        games[:, number] = columns[name]
    games[:, len(QUANTITIES) :] = wins
    return games


def identical_rounds(base: Batch, variant: Batch) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Tell which rounds went and scored the same at every offset from the dealer, shape (G, R) of the common rounds."""
    rounds = min(base.turns.shape[1], variant.turns.shape[1])
    same = np.ones((len(base.turns), rounds), np.bool_, order="F")
    for name in ("ending", "turns", "drawn", "crank_drawn", "reshuffles", "cranks", "choices", "largest_crank"):
        same &= getattr(base, name)[:, :rounds] == getattr(variant, name)[:, :rounds]
    for name in ("points", "seat_turns", "skips", "forced", "crank_paid"):
        ours, theirs = getattr(base, name), getattr(variant, name)
        for offset in range(ours.shape[2]):
            same &= ours[:, :rounds, offset] == theirs[:, :rounds, offset]
    return same


def _truncated(batch: Batch) -> Ints:
    return np.array([np.count_nonzero(batch.ending == Ending.TRUNCATED)], np.int64)


def played(point: "DesignPoint") -> tuple[str, tuple[str, ...]]:
    """Give what decides how games of a design point go, apart from chance."""
    return point.rules.digest, tuple(map(str, point.bots))


def label(point: "DesignPoint") -> str:
    """Name a design point: the variant, or its factors."""
    if list(point.factors) == ["variant"]:
        return str(point.factors["variant"])
    return ", ".join(f"{key} = {level}" for key, level in point.factors.items())


def _defined(values: Floats, otherwise: float) -> Floats:
    return np.where(np.isnan(values), otherwise, values)


def _in_units(value: float, unit: float) -> float:
    """Divide; nothing in no units is nothing."""
    return float(value / unit) if unit else float(0 if value == 0 else np.copysign(np.inf, value))


# --- In words ----------------------------------------------------------------------------------------------------


def variants_of(summary: "pd.DataFrame") -> "Iterator[tuple[str, pd.DataFrame]]":
    """Split a summary by variant, each with its name."""
    from craits_sim.plots import parts

    for name, part in parts(summary):
        yield name.removeprefix("variant = "), part


def is_beyond(row: Mapping[str, Any]) -> bool:
    """Tell whether a difference is real and its whole interval beyond the margin."""
    outside = row["ci_low"] > row["margin"] or row["ci_high"] < -row["margin"]
    return row["verdict"] == Verdict.ADVANTAGE and outside


def is_small(row: Mapping[str, Any]) -> bool:
    """Tell whether a difference is shown to lie within the margin."""
    return row["verdict"] in (Verdict.NEGLIGIBLE, Verdict.REAL_BUT_NEGLIGIBLE)


def named(row: Mapping[str, Any]) -> str:
    """Name the metric of a row, and its position where it has one."""
    if row["estimand"] != "seat_edge":
        return TITLES[row["estimand"]]
    return f"win share of {position(row)} against the mean"


def position(row: Mapping[str, Any]) -> str:
    """Name the position of a row."""
    return "the first dealer" if row["position"] == 0 else f"position {row['position']}"


def moved(row: Mapping[str, Any]) -> str:
    """Write a difference, like ``turns a round from 58.4 to 70.1 (+11.7, interval 11.5 to 11.9)``."""
    se, unit = row["se"], "%" if row["unit"] == "%" else " pp" if row["unit"] == "pp" else ""
    before, after = both_values(row)
    change = number_text(row["estimate"], se, signed=True)
    interval = interval_text(row["ci_low"], row["ci_high"], se, signed=True)
    return f"{named(row)} from {before} to {after}{unit} ({change}, interval {interval})"


def both_values(row: Mapping[str, Any]) -> tuple[str, str]:
    """Write the values of base and variant, with the decimals that the error of their difference supports."""
    pair = row["base_value"], row["variant_value"]
    before, after = (number_text(value, row["se"]) if row["se"] > 0 else f"{value:,.4g}" for value in pair)
    return before, after


def sentence(part: "pd.DataFrame") -> str:
    """Conclude for one variant: what moved beyond the margin, what may have, what is shown not to."""
    rows = part.to_dict("records")
    beyond = [row for row in rows if is_beyond(row)]
    perhaps = [row for row in rows if row["verdict"] == Verdict.ADVANTAGE and not is_beyond(row)]
    small = [row for row in rows if is_small(row)]
    open_ = [row for row in rows if row["verdict"] == Verdict.INCONCLUSIVE]
    beyond.sort(key=lambda row: -abs(row["effect"]))
    texts = []
    if beyond:
        texts.append(f"Beyond the margin: {'; '.join(map(moved, beyond))}.")
    else:
        texts.append("No metric is shown to move beyond the margin.")
    if perhaps:
        texts.append(f"Changed, perhaps beyond it: {'; '.join(map(moved, perhaps))}.")
    if small:
        texts.append(f"Shown to stay within it: {', '.join(named(row) for row in small)}.")
    if open_:
        needed = [row["games_needed"] for row in open_]
        known = [int(number) for number in needed if number is not None and number == number]
        games = f" (up to {max(known):,} games would decide)" if len(known) == len(needed) else ""
        texts.append(f"Undecided: {', '.join(named(row) for row in open_)}{games}.")
    identical = rows[0]["identical_rounds"]
    texts.append(f"{_percent(identical)} of the rounds stayed the same to the last card.")
    return " ".join(texts)


def terms(summary: "pd.DataFrame", adjustment: str) -> str:
    """Say what all rows of a comparison have in common."""
    margin, games, level = summary.attrs["margin"], int(summary["n"].max()), summary["ci_level"].iloc[0]
    text = (
        f"{counted(games, 'game')} each, paired by deal; margin {margin:g} standard deviations of one game; "
        f"{level_text(level)} intervals of the paired difference, tests of a difference adjusted by {adjustment}."
    )
    if cut := summary.attrs.get("truncated"):
        listed = ", ".join(f"{name} {count:,}" for name, count in cut.items())
        text += f" Rounds cut at the turn cap, with the turns they had: {listed}."
    return text


def _percent(share: float) -> str:
    """Write a percentage that is 0 or 100 only where it is exact."""
    if share in (0, 100):
        return f"{share:.0f}%"
    return "under 0.1%" if share < 0.1 else "over 99.9%" if share > 99.9 else f"{share:.3g}%"


# --- In pictures -------------------------------------------------------------------------------------------------

MARKS = {
    "beyond": ("changed beyond the margin", "D55E00", "o", True),
    "perhaps": ("changed, perhaps beyond it", "0072B2", "D", True),
    "small": ("shown to stay within it", "5b6570", "o", False),
    "open": ("undecided", "AA4499", "X", True),
}
"""How a row is marked: what it means, color, marker, filled."""


def mark(row: Mapping[str, Any]) -> str:
    """Name the mark of a row among `MARKS`."""
    if is_small(row):
        return "small"
    if row["verdict"] == Verdict.INCONCLUSIVE:
        return "open"
    return "beyond" if is_beyond(row) else "perhaps"


def marker_style(kind: str) -> dict[str, Any]:
    """Give the color, marker and filling of a mark; color is never the only difference."""
    _, color, marker, filled = MARKS[kind]
    return {
        "color": f"#{color}",
        "marker": marker,
        "markerfacecolor": f"#{color}" if filled else "white",
        "markeredgewidth": 1.4,
        "linestyle": "none",
    }


def legend(figure: "SubFigure", summary: "pd.DataFrame", columns: int) -> None:
    """Explain above the panels, in so many columns, the marks that occur, and the band."""
    from matplotlib.artist import Artist
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    from craits_sim.plots import BAND

    kinds = {mark(row) for row in summary.to_dict("records")}
    handles: list[Artist] = [
        Line2D([], [], label=MARKS[kind][0], **marker_style(kind)) for kind in MARKS if kind in kinds
    ]
    handles.append(Patch(label=f"margin ± {summary.attrs['margin']:g}; beyond it the scale is logarithmic", color=BAND))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, borderaxespad=0.2, handletextpad=0.2)


def effect_axis(axes: "Axes", margin: float, reach: float) -> None:
    """Scale the axis of effects: linear within the margin, which is shaded, and logarithmic beyond it."""
    from craits_sim.plots import margin_band, reference

    margin_band(axes, 0, margin)
    reference(axes, 0, vertical=True)
    axes.set_xscale("symlog", linthresh=margin, linscale=1)
    axes.set_xlim(-reach, reach)
    ticks = [margin, *(margin * step for step in (10, 100, 1000) if margin * step <= reach)]
    axes.set_xticks([*(-tick for tick in reversed(ticks)), 0, *ticks])
    axes.xaxis.set_minor_locator(_nothing())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))


def _nothing() -> Any:
    from matplotlib.ticker import NullLocator

    return NullLocator()


def _reach(summary: "pd.DataFrame") -> float:
    """Give the largest effect that any interval holds, with room, and at least twice the margin."""
    ends = summary[["effect_low", "effect_high", "effect"]].abs().to_numpy(np.float64)
    finite = ends[np.isfinite(ends)]
    return 1.4 * max(float(finite.max(initial=0)), 2 * float(summary.attrs["margin"]))


def forest(axes: "Axes", name: str, part: "pd.DataFrame", margin: float, reach: float) -> None:
    """Draw the effects of one variant, a row for each metric, with the values themselves on the right."""
    from craits_sim.plots import SOFT, title

    level = level_text(part["ci_level"].iloc[0])
    title(
        axes,
        name,
        f"{level} intervals of paired differences · {_percent(part['identical_rounds'].iloc[0])} of rounds identical",
    )
    effect_axis(axes, margin, reach)
    rows = part.to_dict("records")
    for place, row in enumerate(rows):
        style = marker_style(mark(row))
        ends = np.clip([row["effect_low"], row["effect_high"]], -reach, reach)
        axes.plot(ends, [place, place], color=style["color"], linewidth=2.2, alpha=0.55)
        axes.plot(np.clip(row["effect"], -reach, reach), place, zorder=3, **style)
        axes.annotate(
            f"{values(row)}",
            (1.02, place),
            xycoords=("axes fraction", "data"),
            va="center",
            fontsize=8.5,
            color=SOFT if is_small(row) else "black",
            annotation_clip=False,
        )
    axes.set_yticks(range(len(rows)), [_axis_name(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("difference, standard deviations of one game")


def _axis_name(row: Mapping[str, Any]) -> str:
    return f"edge of {position(row)}" if row["estimand"] == "seat_edge" else TITLES[row["estimand"]]


def values(row: Mapping[str, Any]) -> str:
    """Write the values of base and variant with their unit, like ``58.4 → 70.1 turns``."""
    before, after = both_values(row)
    unit = row["unit"] if row["unit"] == "%" else f" {row['unit']}"
    return f"{before} → {after}{unit}".replace("-", "\N{MINUS SIGN}")
