"""What does a house rule change? Games of the same deals under the base rules and under each variant, compared.

All design points play the same game indices with the same streams, so that a game of a variant and the base's game of
the same index are a pair. The pair is the unit: each difference is a mean over games, and its error is that of the
differences between the two games of a pair, which covers whatever they have in common.

Each metric has a margin of its own, in its own unit: what a player would hardly notice (`METRICS`). Win shares and the
dealer's edge have those of the studies `seats` and `dealer`, lengths and the spread of totals 5 % of what the base
gives. The margin that the user names is that of the win shares, and the others grow and shrink with it.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from craits_sim.results import WIN_UNIT, Batch, Ending
from craits_sim.sequential import Differences, Judged, sequence_interval
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
from craits_sim.studies.base import (
    COLUMNS,
    Ints,
    Row,
    Study,
    Sums,
    by_position,
    cross_sums,
    games_that_decide,
    level_text,
    several,
)
from craits_sim.studies.dealer import DealerStudy
from craits_sim.studies.length import SECONDS, assumed_seconds, seconds_before_play
from craits_sim.studies.stopping import sequences_of, verdict_columns
from craits_sim.text import levels_text

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

FEWEST_GAMES_IN_SEQUENCE = 10_000
"""The same for a run that waits for its verdicts. It judges at the first of many looks that satisfies it, and after
`FIRST_LOOK` games a difference as large as the margin that shows in one of 1,000 games may well not have been seen."""

MOST_VARIANTS_DRAWN = 12

CHANGED = "changed"
"""The verdict on a difference that is real and not shown to be negligible: a change is no advantage of anybody."""


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
    """Something about a rule set that a variant may change.

    ``margin`` is the largest change that does not matter, where the user names none: in ``unit`` (for a share,
    percentage points), or, where ``relative``, as a share of the base's value.
    """

    estimand: str
    unit: str
    title: str
    margin: float
    of: Callable[[Side], Estimator]
    relative: bool = False


METRICS = (
    Metric("seat_edge", "pp", "seat edge (where it changes most)", 1, _seat_edges),
    Metric(
        "dealer_edge",
        "points",
        "dealer's edge a round",
        DealerStudy.margin,
        lambda side: side.of(dealer_edge=1 / (side.rules.players * side.rounds)),
    ),
    Metric("turns_per_round", "turns", "turns a round", 0.05, lambda side: side.of(turns=1 / side.rounds), True),
    Metric("turns_per_game", "turns", "turns a game", 0.05, lambda side: side.of(turns=1), True),
    Metric("minutes_per_game", "minutes", "minutes a game (assumed pace)", 0.05, _minutes, True),
    Metric("cards_drawn_per_round", "cards", "cards drawn a round", 0.05, lambda s: s.of(drawn=1 / s.rounds), True),
    Metric("largest_crank", "cards", "largest crank of a game", 0.5, lambda side: side.of(largest_crank=1)),
    Metric("choice_share", "%", "turns with a real choice", 1, _choice_share),
    Metric("blocked_share", "%", "rounds blocked", 0.1, lambda side: side.of(blocked=100 / side.rounds)),
    Metric("spread_of_totals", "points", "spread of totals (last less first)", 0.05, lambda s: s.of(range=1), True),
    Metric(
        "tie_share",
        "%",
        "games tied for the win",
        1,
        lambda side: side.of(**{"shared_by_three" if side.rules.partners else "shared_by_two": 100}),
    ),
)
TITLES = {metric.estimand: metric.title for metric in METRICS}

HEADLINES = ("seat_edge", "dealer_edge", "turns_per_game")
"""Who wins, who scores, how long: the metrics that a conclusion names before others."""

REPEATING = ("turns_per_round", "minutes_per_game")
"""Metrics that mostly say again what the turns of a game say: a conclusion names them after others."""

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

    margin = 1.0
    margin_unit = "percentage points of win share (the margins of all other metrics grow with it)"
    most_margin = 100
    finding = CHANGED
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
        if experiment.until_decided:
            self._judge_in_sequence(table, self.judged(sums, experiment), experiment.level)
        else:
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
            row["verdict"] = self.finding if decision == Verdict.ADVANTAGE else str(decision)
            estimate, se, games = row["estimate"], row["se"], row["n"]
            needed = min(
                games_to_detect((estimate / se) ** 2 if se else 0, 1, games, strictest),
                games_to_show_equivalence(estimate, se, games, row["margin"], level),
            )
            row["games_needed"] = round_up(needed) if decision == Verdict.INCONCLUSIVE else None

    def judged(self, sums: Mapping[str, Ints], experiment: "Experiment") -> Sequence[Judged]:
        """Give the differences of every row: a run that waits for its verdicts waits for them all."""
        from craits_sim.design import MAX_DESIGN_POINTS

        base, *variants = self.design(experiment, MAX_DESIGN_POINTS)
        margin = self.margin if experiment.margin is None else experiment.margin
        seconds = assumed_seconds(experiment)
        pairs = [Pair(sums, k, base.rules, variant.rules, seconds) for k, variant in enumerate(variants, start=1)]
        return [pair.differences(metric, margin) for pair in pairs for metric in METRICS]

    def _judge_in_sequence(self, table: list[Row], judged: Sequence[Judged], level: float) -> None:
        """Turn all rows into those of a run that waited for its verdicts.

        The confidence sequences of all rows hold together (Bonferroni), so that the chance of any false finding is
        bounded, in the study of many changes too: there is no false discovery rate that holds wherever one stops.
        """
        together = sequences_of(judged)
        for row, one in zip(table, judged, strict=True):
            low, high = map(float, sequence_interval(row["estimate"], row["se"], row["n"], level, together))
            sd = row["sd"]
            row |= {
                "ci_low": low,
                "ci_high": high,
                "ci_kind": "sequence",
                "effect_low": _in_units(low, sd),
                "effect_high": _in_units(high, sd),
                "p_equivalence": np.nan,
                **verdict_columns(one, level, together),
            }
            if row["verdict"] == Verdict.ADVANTAGE:
                row["verdict"] = self.finding

    def headline(self, sums: Mapping[str, Ints], experiment: "Experiment") -> tuple[str, float]:
        from craits_sim.design import MAX_DESIGN_POINTS

        base, *variants = self.design(experiment, MAX_DESIGN_POINTS)
        seconds = assumed_seconds(experiment)
        widths = [
            (row["ci_high"] - row["ci_low"]) / 2
            for index, variant in enumerate(variants, start=1)
            for row in Pair(sums, index, base.rules, variant.rules, seconds).rows(self.margin, experiment.level)
            if row["estimand"] == "seat_edge"
        ]
        return "change of a seat's edge, pp", float(np.max(widths, initial=0))

    def margin_sentence(self, experiment: "Experiment") -> str:
        """Say what the margin of each metric is."""
        margin = self.margin if experiment.margin is None else experiment.margin
        of_metrics: dict[str, list[str]] = {}
        for metric in METRICS:
            of_metrics.setdefault(metric_margin(metric, margin), []).append(metric.title)
        margins = "; ".join(f"{words} for {', '.join(titles)}" for words, titles in of_metrics.items())
        return f"The margin of a metric is the largest difference that does not matter: {margins}."

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        left_out = ["effect", "effect_low", "effect_high", "correlation", "p_equivalence", "identical_rounds"]
        return summary.drop(columns=left_out)


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
        from craits_sim.plots import parts, sheet

        drawn = list(parts(summary))[:MOST_VARIANTS_DRAWN]
        columns = 1 if len(drawn) == 1 else 2
        rows = ceil(len(drawn) / columns)
        height = 0.45 + rows * (1.15 + 0.3 * len(METRICS))

        def draw(cell: "SubFigure") -> None:
            panels = cell.subplots(rows, columns, squeeze=False)
            reach = reach_of(summary.to_dict("records"))
            for panel, (name, part) in zip(panels.flat, drawn, strict=False):
                forest(panel, name, part, reach)
            for panel in list(panels.flat)[len(drawn) :]:
                panel.set_axis_off()
            legend(cell, summary, 3 if columns == 1 else 5)

        return sheet(summary, self.question, 8.6 if columns == 1 else 13.4, height, draw)

    def conclude(self, summary: "pd.DataFrame") -> str:
        from craits_sim.plots import parts

        variants = list(parts(summary))
        lines = [f"{name}: {sentence(part)}" if len(variants) > 1 else sentence(part) for name, part in variants]
        return "\n".join([*lines, terms(summary, f"Holm over {len(summary)} rows")])


def metric_margin(metric: Metric, margin: float) -> str:
    """Write the margin of a metric, like ``1 pp`` or ``5% of the base's value``; ``margin`` is that of win shares."""
    size = metric.margin * margin
    if metric.relative:
        return f"{100 * size:.3g}% of the base's value"
    unit = "pp" if metric.unit == "%" else metric.unit
    return f"{size:.3g} {unit.removesuffix('s') if size == 1 else unit}"


class Comparison(NamedTuple):
    """One metric of both sides of a pair, at each of M positions; M is 1 where it is not by position."""

    values: Floats  # (2, M) of base and variant
    covariance: Floats  # (2 M, 2 M) of one game
    estimates: Floats  # (M,) variant less base
    se: Floats  # (M,)
    margins: Floats  # (M,)
    slack_se: Floats  # (M,) of the distance from the estimate to the nearer end of the margin
    differing: int
    """Games in which anything that the metric is made of differs."""


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
        """Give a row for each metric, p-values not adjusted; ``margin`` is that of win shares, in percentage points."""
        for metric in METRICS:
            yield {"estimand": metric.estimand, "unit": metric.unit} | self._row(metric, margin, level)

    def differences(self, metric: Metric, margin: float) -> Differences:
        """Give what the verdict on a metric judges in a run that waits for it."""
        compared = self._compare(metric, margin)
        # Two positions have the same edge but for its sign.
        kept = slice(1 if len(compared.estimates) == 2 else None)
        too_few = compared.differing < FEWEST_DIFFERING and self.paired.games < FEWEST_GAMES_IN_SEQUENCE
        se = np.full_like(compared.se, np.nan) if too_few else compared.se
        return Differences(compared.estimates[kept], se[kept], self.paired.games, compared.margins[kept])

    def _compare(self, metric: Metric, margin: float) -> Comparison:
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
        margins = margin * metric.margin * (np.abs(values[:count]) if metric.relative else np.ones(count))
        slack_se = se
        if metric.relative:
            # The margin is a share of the base's mean, and has an error too: with that of the difference alone,
            # differences as large as the margin were called small in 5.5 to 5.8 % of comparisons instead of 5 %.
            up = np.where(estimates < 0, -1, 1)
            slack_se = sides.combine(np.hstack([np.diag(margin * metric.margin + up), np.diag(-up)])).se
        return Comparison(values.reshape(2, count), covariance, estimates, se, margins, slack_se, differing)

    def _row(self, metric: Metric, margin: float, level: float) -> Row:
        """Compare one metric; of a metric by position, the position whose difference is clearest.

        That position was chosen for its difference, and the largest of several differences is not zero where none of
        them is: its interval is one of several simultaneous ones, its p-value is that of the largest of so many
        (Šidák), and equivalence is shown only where it is for every position.
        """
        games = self.paired.games
        values, covariance, estimates, se, margins, slack_se, differing = self._compare(metric, margin)
        count = len(estimates)
        variances = np.diagonal(covariance).reshape(2, count)
        sd = np.sqrt(np.maximum(variances.mean(axis=0), 0))
        # Two positions have the same edge but for its sign.
        comparisons = 1 if count <= 2 else count
        interval = mean_interval(estimates, se, games, simultaneous_level(level, comparisons))
        p_equivalence = float(np.max(_defined(equivalence_p_value(estimates, slack_se, margins), 0.0)))
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
            "base_value": float(values[0, at]),
            "variant_value": float(values[1, at]),
            **dict(zip(("effect", "effect_low", "effect_high"), effects, strict=True)),
            "correlation": _in_units(float(covariance[at, count + at]), float(np.sqrt(variances[:, at].prod()))),
            "variance_ratio": _in_units(float(variances[:, at].sum()), float(se[at] ** 2 * games)),
            "identical_rounds": self.identical_rounds,
            "sd": float(sd[at]),
            "margin": float(margins[at]),
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
    return levels_text(point.factors)


def _defined(values: Floats, otherwise: float) -> Floats:
    return np.where(np.isnan(values), otherwise, values)


def _in_units(value: float, unit: float) -> float:
    """Divide; nothing in no units is nothing."""
    return float(value / unit) if unit else float(0 if value == 0 else np.copysign(np.inf, value))


# --- In words ----------------------------------------------------------------------------------------------------


def is_beyond(row: Mapping[str, Any]) -> bool:
    """Tell whether a difference is real and its whole interval beyond the margin."""
    outside = row["ci_low"] > row["margin"] or row["ci_high"] < -row["margin"]
    return row["verdict"] == CHANGED and outside


def is_small(row: Mapping[str, Any]) -> bool:
    """Tell whether a difference is shown to lie within the margin."""
    return row["verdict"] in (Verdict.NEGLIGIBLE, Verdict.REAL_BUT_NEGLIGIBLE)


def in_margins(row: Mapping[str, Any]) -> float:
    """Give the size of a difference as a multiple of its margin; no difference is none of any margin."""
    return abs(_in_units(row["estimate"], row["margin"]))


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
    """Conclude for one variant: what moved beyond its margin; what did not, or may have; how much stayed the same."""
    rows = sorted(part.to_dict("records"), key=_rank)
    of_kind = {kind: [row for row in rows if mark(row) == kind] for kind in MARKS}
    beyond, small, undecided = of_kind["beyond"], of_kind["small"], of_kind["open"]
    text = (
        f"Beyond the margin: {several(map(moved, beyond))}." if beyond else "Nothing is shown to be beyond its margin."
    )
    others = []
    if of_kind["perhaps"]:
        others.append(f"changed, perhaps beyond it: {several(map(moved, of_kind['perhaps']))}")
    if small:
        others.append(f"shown to stay within it: {several(map(named, small))}")
    if undecided:
        others.append(f"undecided: {several(map(named, undecided))}{games_that_decide(undecided)}")
    identical = _percent(rows[0]["identical_rounds"])
    rest = "; ".join(others)
    return f"{text} {rest[:1].upper()}{rest[1:]}. {identical} of the rounds stayed the same to the last card."


def _rank(row: Mapping[str, Any]) -> tuple[int, float]:
    """Give the place of a row where few are named: headlines, then the others by size, then what repeats a headline."""
    name = row["estimand"]
    if name in HEADLINES:
        return HEADLINES.index(name), 0
    return len(HEADLINES) + (name in REPEATING), -in_margins(row)


def terms(summary: "pd.DataFrame", adjustment: str) -> str:
    """Say what all rows of a comparison have in common."""
    games, level = int(summary["n"].max()), summary["ci_level"].iloc[0]
    margins = ", ".join(
        f"{metric_margin(metric, summary.attrs['margin'])} for {words}"
        for metric, words in zip(METRICS, ("win shares", "the dealer's edge", "lengths"), strict=False)
    )
    intervals = f"intervals of the paired difference, tests of a difference adjusted by {adjustment}"
    if "sequence" in set(summary["ci_kind"]):
        intervals = f"confidence sequences of the paired difference, which hold together for all {len(summary)} rows"
    text = (
        f"{counted(games, 'game')} each, paired by deal; margins {margins}, and as the table says for the rest; "
        f"{level_text(level)} {intervals}."
    )
    if cut := summary.attrs.get("truncated"):
        counts = "; ".join(f"{count:,} with {name}" for name, count in cut.items())
        text += f" Rounds cut at the turn cap, with the turns they had: {counts}."
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
    handles.append(Patch(label="within the margin; beyond it the scale is logarithmic", color=BAND))
    figure.legend(handles=handles, loc="outside upper left", ncols=columns, borderaxespad=0.2, handletextpad=0.2)


def scaled(row: Mapping[str, Any]) -> tuple[float, float, float]:
    """Give the difference and the ends of its interval as multiples of the margin."""
    value, low, high = (_in_units(row[name], row["margin"]) for name in ("estimate", "ci_low", "ci_high"))
    return value, low, high


def margin_axis(axes: "Axes", reach: float) -> None:
    """Scale an axis of differences in margins: linear within the margin, which is shaded, and logarithmic beyond it."""
    from matplotlib.ticker import NullLocator

    from craits_sim.plots import margin_band, reference

    margin_band(axes, 0, 1)
    reference(axes, 0, vertical=True)
    axes.set_xscale("symlog", linthresh=1, linscale=1)
    axes.set_xlim(-reach, reach)
    ticks = [tick for tick in (1, 10, 100, 1000) if tick <= reach]
    axes.set_xticks([*(-tick for tick in reversed(ticks)), 0, *ticks])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}".replace("-", "\N{MINUS SIGN}"))
    axes.set_xlabel("difference, as a multiple of the margin")


def reach_of(rows: Iterable[Mapping[str, Any]]) -> float:
    """Give the largest multiple of a margin that any interval holds, with room, and at least 2."""
    ends = np.abs([scaled(row) for row in rows])
    return 1.4 * max(float(ends[np.isfinite(ends)].max(initial=0)), 2)


def forest(axes: "Axes", name: str, part: "pd.DataFrame", reach: float) -> None:
    """Draw the differences of one variant, a row for each metric, with the values themselves on the right."""
    from craits_sim.plots import SOFT, beside, title

    level = level_text(part["ci_level"].iloc[0])
    title(
        axes,
        name,
        f"{level} intervals of paired differences · {_percent(part['identical_rounds'].iloc[0])} of rounds identical",
    )
    margin_axis(axes, reach)
    rows = part.to_dict("records")
    for place, row in enumerate(rows):
        style = marker_style(mark(row))
        value, *ends = np.clip(scaled(row), -reach, reach)
        axes.plot(ends, [place, place], color=style["color"], linewidth=2.2, alpha=0.55)
        axes.plot(value, place, zorder=3, **style)
        beside(axes, place, values(row), 8.5, SOFT if is_small(row) else "black")
    axes.set_yticks(range(len(rows)), [_axis_name(row) for row in rows])
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="y", visible=False)


def _axis_name(row: Mapping[str, Any]) -> str:
    return f"edge of {position(row)}" if row["estimand"] == "seat_edge" else TITLES[row["estimand"]]


def values(row: Mapping[str, Any]) -> str:
    """Write the values of base and variant with their unit, like ``58.4 → 70.1 turns``."""
    before, after = both_values(row)
    unit = row["unit"] if row["unit"] == "%" else f" {row['unit']}"
    return f"{before} → {after}{unit}".replace("-", "\N{MINUS SIGN}")
