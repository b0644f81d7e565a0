"""How long does it take? Turns a round and a game, minutes under stated assumptions, and what can go wrong.

Blocked, truncated and tied are outcomes of their own (RULES.md R7, R13), given as shares of games: they are counted,
never dropped. A truncated round enters with the turns at which it was cut, so that its true length is only known to be
larger.
"""

from collections.abc import Iterator, Mapping
from math import nan
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.results import Batch, Ending
from craits_sim.stats import (
    Moments,
    counted,
    design_effect,
    interval_text,
    mean_interval,
    number_text,
    quantile_from_histogram,
    quantile_interval_from_histogram,
    zero_event_text,
)
from craits_sim.studies.base import (
    Ints,
    Option,
    Points,
    Row,
    SideBySideStudy,
    Sums,
    count_row,
    cross_sums,
    level_text,
    mean_rows,
    moments,
    with_interval,
)
from craits_sim.studies.factors import Answer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.rules import Rules

GAME_BINS = 16_384
ROUND_BINS = 8_192
"""Lengths beyond the last bin of a histogram are counted in it. The bins are fixed, so that the sums of chunks add."""

QUANTILES = (0.001, 0.005, *(percent / 100 for percent in range(1, 100)), 0.995, 0.999)
MARKED = (0.5, 0.9, 0.95)

SECONDS = (
    Option("seconds_per_turn", 8, "Assumed time of a turn, drawing left out."),
    Option("seconds_per_card_drawn", 2, "Assumed time to draw a card."),
    Option("seconds_per_card_dealt", 1, "Assumed time to deal a card."),
    Option("seconds_per_shuffle", 30, "Assumed time of a shuffle, before a deal or of the discards."),
)
"""The options of a study that gives minutes."""

OUTCOMES = {
    "tied_games": "tied for the win",
    "no_winner_games": "won by nobody",
    "blocked_games": "with a blocked round",
    "truncated_games": "with a round cut at the turn cap",
    "longest_games": f"of {GAME_BINS - 1:,} turns or more, not told apart",
    "longest_rounds": f"with a round of {ROUND_BINS - 1:,} turns or more, not told apart",
}
"""Shares of games, and what they are shares of. The last two are there only where such a length was seen."""

LONG = 10
"""Lengths that differ by this factor are drawn on a logarithmic scale."""


class LengthStudy(SideBySideStudy):
    """Turns and minutes of rounds and games, and the outcomes that are no plain win."""

    name = "length"
    question = "How long does a game take?"
    margin = 60.0
    margin_unit = "turns a game"
    options = SECONDS
    default_games = 100_000
    headline_name = "mean turns a game"
    no_verdict = "says how long games take, and judges no difference against its margin"

    def tally_point(self, batch: Batch) -> Sums:
        games, rounds = batch.turns.shape
        lengths = np.column_stack([batch.turns.sum(axis=1), batch.drawn.sum(axis=1), batch.reshuffles.sum(axis=1)])
        # A game has at least j rounds of up to t turns if its j-th shortest round has; and the square of their number
        # is the sum of 2 j - 1 up to it. So a weighted histogram of the sorted rounds gives the squares for every t.
        ordered = np.minimum(np.sort(batch.turns, axis=1), ROUND_BINS - 1).ravel()
        weights = np.tile(2.0 * np.arange(1, rounds + 1) - 1, games)
        winners = np.count_nonzero(batch.wins, axis=1)
        return {
            "games": np.array([games], np.int64),
            **cross_sums("lengths", lengths),
            **cross_sums("turns_by_round", batch.turns),
            "game_turns": np.bincount(np.minimum(lengths[:, 0], GAME_BINS - 1), minlength=GAME_BINS),
            "round_turns": np.bincount(ordered, minlength=ROUND_BINS),
            "round_turns_squares": np.bincount(ordered, weights, minlength=ROUND_BINS).astype(np.int64),
            "winners": np.bincount(winners, minlength=batch.wins.shape[1] + 1),
            "longest_rounds": np.array([(batch.turns >= ROUND_BINS - 1).any(axis=1).sum()], np.int64),
            "games_with_ending": np.array([(batch.ending == ending).any(axis=1).sum() for ending in Ending], np.int64),
        }

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        rules, level, games = point.rules, experiment.level, int(sums["games"][0])
        rounds = len(rules.deals)
        seconds = assumed_seconds(experiment)
        lengths = moments(sums, "lengths")
        turns = lengths.combine([[1, 0, 0]])
        yield from mean_rows("mean_turns_per_game", "turns", turns, level)
        yield from mean_rows("mean_turns_per_round", "turns", turns.combine([[1 / rounds]]), level)
        minutes = minutes_of(lengths, rules, seconds)
        yield from mean_rows("mean_minutes_per_game", "minutes", minutes, level)

        # What a turn takes with the draws and reshuffles that come with it on average.
        before_play = seconds_before_play(rules, seconds)
        a_turn = float((60 * minutes.mean[0] - before_play) / turns.mean[0])
        for name, of in (("game", 1), ("round", rounds)):
            for row in self._quantile_rows(name, sums, rounds, level):
                yield row | {"minutes": (before_play / of + a_turn * row["estimate"]) / 60}
        yield from mean_rows(
            "mean_turns_by_round",
            "turns",
            moments(sums, "turns_by_round"),
            level,
            round=np.arange(1, rounds + 1),
            deal_size=np.array(rules.deals),
        )

        winners_of_one_side = 2 if rules.partners else 1
        yield count_row("tied_games", int(sums["winners"][winners_of_one_side + 1 :].sum()), games, level)
        if rules.win == "first_out":  # a lowest total is always somebody's
            yield count_row("no_winner_games", int(sums["winners"][0]), games, level)
        yield count_row("blocked_games", int(sums["games_with_ending"][Ending.BLOCKED]), games, level)
        yield count_row("truncated_games", int(sums["games_with_ending"][Ending.TRUNCATED]), games, level)
        yield count_row("longest_games", int(sums["game_turns"][-1]), games, level)
        yield count_row("longest_rounds", int(sums["longest_rounds"][0]), games, level)

    @staticmethod
    def _quantile_rows(name: str, sums: Mapping[str, Ints], rounds: int, level: float) -> Iterator[dict[str, Any]]:
        """Give the quantiles of the turns of a game, or of a round, whose intervals are clustered by game."""
        games, histogram = int(sums["games"][0]), sums[f"{name}_turns"]
        cumulative, squares = np.cumsum(histogram), np.cumsum(sums["round_turns_squares"])
        for q in QUANTILES:
            value = quantile_from_histogram(histogram, q)
            effect = 1.0
            if name == "round":
                effect = design_effect(games, rounds, int(cumulative[value]), int(squares[value]))
            interval = quantile_interval_from_histogram(histogram, q, level, effect)
            # The last bin holds everything beyond it too: an end there is not known.
            low, high = (float(end) if end < len(histogram) - 1 else nan for end in interval)
            yield {
                "estimand": f"turns_per_{name}",
                "quantile": q,
                "unit": "turns",
                "estimate": float(value),
                "se": nan,
                "ci_low": low,
                "ci_high": high,
                "ci_level": level,
                "ci_kind": "clustered" if name == "round" else "exact",
                "n": games,
            }

    def summarise(self, sums: Mapping[str, Ints], experiment: "Experiment") -> "pd.DataFrame":
        summary = super().summarise(sums, experiment)
        for estimand in ("longest_games", "longest_rounds"):
            rows = summary["estimand"] == estimand
            if not summary.loc[rows, "estimate"].any():
                summary = summary[~rows].reset_index(drop=True)
        summary.attrs["assumptions"] = assumptions(experiment)
        return summary

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        turns = moments(sums, "lengths").combine([[1, 0, 0]])
        low, high = mean_interval(turns.mean, turns.se, turns.games, level)
        return float(high[0] - low[0]) / 2

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        return summary[(summary["quantile"].isna() | summary["quantile"].isin(MARKED)) & summary["round"].isna()]

    def height(self, part: "pd.DataFrame") -> float:
        return sum(self._heights(part))

    @staticmethod
    def _heights(part: "pd.DataFrame") -> tuple[float, float]:
        """Give the heights of the panels of turns, and of the one of outcomes below them."""
        return 3.9, 1.1 + 0.38 * part["estimand"].isin(OUTCOMES).sum()

    def draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import rare_shares, title

        level = level_text(part["ci_level"].iloc[0])
        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=self._heights(part)).flat
        for axes, name in zip(upper.subplots(1, 2, sharey=True), ("round", "game"), strict=True):
            title(axes, f"Turns a {name}", f"{level} {_KINDS[name]} intervals at the marks")
            _scale(axes, name, summary, room=1.2)
            self._distribution(axes, part[part["estimand"] == f"turns_per_{name}"])
        _label(upper, summary)
        outcomes = part[part["estimand"].isin(OUTCOMES)]
        axes = lower.subplots()
        title(axes, "Share of games", f"exact {level} intervals")
        labels = [_outcome_text(row) for row in outcomes.to_dict("records")]
        rare_shares(axes, outcomes, [OUTCOMES[name] for name in outcomes["estimand"]], labels)

    @staticmethod
    def _distribution(axes: "Axes", rows: "pd.DataFrame") -> None:
        """Draw the distribution function through its quantiles, with marks, and minutes on a second axis."""
        from craits_sim.plots import INK, SOFT, seat_style, second_axis

        percent = 100 * rows["quantile"]
        axes.plot(rows["estimate"], percent, color=seat_style(0)["color"])
        for row in rows[rows["quantile"].isin(MARKED)].to_dict("records"):
            height = 100 * row["quantile"]
            axes.plot([axes.get_xlim()[0], row["estimate"]], [height, height], color=SOFT, linewidth=0.8, linestyle=":")
            axes.plot([row["ci_low"], row["ci_high"]], [height, height], color=INK, linewidth=3)
            axes.plot(row["estimate"], height, marker="o", color=INK)
            # The two upper marks are close together: the highest is named on its other side.
            highest = row["quantile"] == max(MARKED)
            axes.annotate(
                f"{height:g}%: {row['estimate']:,.0f} turns, {row['minutes']:,.0f} min",
                (row["estimate"], height),
                (-6, 3) if highest else (8, -2),
                textcoords="offset points",
                fontsize=8.5,
                ha="right" if highest else "left",
                va="bottom" if highest else "top",
            )
        axes.set_ylim(0, 106)
        second_axis(axes, rows[["estimate", "minutes"]].iloc[[0, -1]].to_numpy(), "minutes, assumed")

    def height_side_by_side(self, points: Points) -> float:
        return sum(self._heights_side_by_side(points))

    @staticmethod
    def _heights_side_by_side(points: Points) -> tuple[float, float]:
        lines = max(_wrapped(label).count("\n") + 1 for label, _ in points)
        return 4.1, 1.4 + max(0.36, 0.17 * lines + 0.06) * len(points)

    def draw_side_by_side(self, figure: "SubFigure", points: Points) -> None:
        """Draw the distributions over each other, and below them each kind of outcome for all design points."""
        import pandas as pd

        from craits_sim.plots import legend, rare_shares, seat_style, title

        summary = pd.concat([part for _, part in points])
        level, names = level_text(summary["ci_level"].iloc[0]), [_wrapped(label) for label, _ in points]
        upper, lower = figure.subfigures(2, 1, squeeze=False, height_ratios=self._heights_side_by_side(points)).flat
        legend(upper, [label for label, _ in points])
        for axes, name in zip(upper.subplots(1, 2, sharey=True), ("round", "game"), strict=True):
            title(axes, f"Turns a {name}", f"{level} {_KINDS[name]} intervals at 50, 90 and 95%")
            for number, (_, part) in enumerate(points):
                rows = part[part["estimand"] == f"turns_per_{name}"]
                style = seat_style(number)
                axes.plot(rows["estimate"], 100 * rows["quantile"], **style | {"marker": ""})
                for row in rows[rows["quantile"].isin(MARKED)].to_dict("records"):
                    height = 100 * row["quantile"]
                    axes.plot([row["ci_low"], row["ci_high"]], [height, height], color=style["color"], linewidth=3)
                    axes.plot(row["estimate"], height, **style | {"linestyle": "none"})
            axes.set_ylim(0, 106)
            _scale(axes, name, summary, room=1.02)
        _label(upper, summary)
        outcomes = [name for name in OUTCOMES if name in set(summary["estimand"])]
        for axes, name in zip(lower.subplots(1, len(outcomes), sharey=True), outcomes, strict=True):
            title(axes, fill(f"Games {OUTCOMES[name]}", 90 // len(outcomes)), f"exact {level} intervals")
            # Where a game always has a winner, the outcome that it has none leaves its place empty.
            places = [number for number, (_, part) in enumerate(points) if name in set(part["estimand"])]
            rare_shares(axes, summary[summary["estimand"] == name], names, [""] * len(places), places)

    def short_sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        marks = {row["quantile"]: row for row in table["turns_per_game"]}
        half, nearly = marks[0.5], marks[0.95]
        beyond = ", or more: longer games are not told apart" * (nearly["estimate"] == GAME_BINS - 1)
        return (
            f"{with_interval(table['mean_turns_per_game'][0], ' turns a game')}, half of the games up to "
            f"{half['estimate']:,.0f} and 95% up to {nearly['estimate']:,.0f} turns, which is {half['minutes']:.0f} "
            f"and {nearly['minutes']:.0f} minutes{beyond}."
        )

    def answers(self, part: "pd.DataFrame") -> list[Answer]:
        mean = part[part["estimand"] == "mean_turns_per_game"].iloc[0]
        return [Answer("the mean number of turns", mean["estimate"], mean["se"], " turns a game", False)]

    def conclude(self, summary: "pd.DataFrame") -> str:
        from craits_sim.plots import factor_columns

        assumed = f"\nMinutes assume {summary.attrs.get('assumptions', '')}." if factor_columns(summary) else ""
        return super().conclude(summary) + assumed

    def sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        marks = {row["quantile"]: row for row in table["turns_per_game"] if row["quantile"] in MARKED}
        half, most, nearly = (marks[q] for q in MARKED)
        a_round = {row["quantile"]: row for row in table["turns_per_round"]}
        text = (
            f"Half of the games take up to {_turns(half)} turns, 90% up to {_turns(most)} and 95% up to "
            f"{_turns(nearly)}, {level_text(half['ci_level'])} intervals in parentheses, {counted(half['n'], 'game')}. "
            f"That is {half['minutes']:.0f}, {most['minutes']:.0f} and {nearly['minutes']:.0f} minutes if one assumes "
            f"{part.attrs.get('assumptions', '')}. "
            f"A round takes {with_interval(table['mean_turns_per_round'][0], ' turns')} on average, and half of the "
            f"rounds up to {a_round[0.5]['estimate']:.0f}. "
        )
        seen = [f"{words}: {_outcome_text(table[name][0])}" for name, words in OUTCOMES.items() if name in table]
        text += f"Games {'; '.join(seen)}."
        if table["truncated_games"][0]["estimate"]:
            text += (
                " A round cut at the turn cap counts with the turns it had, so that long quantiles are lower bounds."
            )
        return text


def assumed_seconds(experiment: "Experiment") -> dict[str, float]:
    """Give the assumed seconds of a ``turn``, ``card_drawn``, ``card_dealt`` and ``shuffle``."""
    values = {option.name: float(option.default) for option in SECONDS} | dict(experiment.options)
    return {name.removeprefix("seconds_per_"): value for name, value in values.items()}


def assumptions(experiment: "Experiment") -> str:
    """Write the assumed seconds, like ``8 s a turn, 2 s a card drawn``."""
    return ", ".join(f"{value:g} s a {name.replace('_', ' ')}" for name, value in assumed_seconds(experiment).items())


def minutes_of(lengths: Moments, rules: "Rules", seconds: Mapping[str, float]) -> Moments:
    """Give the minutes of a game from its turns, cards drawn and reshuffles, shape (3,)."""
    in_play = np.array([seconds["turn"], seconds["card_drawn"], seconds["shuffle"]])
    minutes = lengths.combine([in_play / 60])
    return minutes._replace(mean=minutes.mean + seconds_before_play(rules, seconds) / 60)


def seconds_before_play(rules: "Rules", seconds: Mapping[str, float]) -> float:
    """Give the time that the shuffles and deals of a game take."""
    return seconds["card_dealt"] * rules.players * sum(rules.deals) + seconds["shuffle"] * len(rules.deals)


def _wrapped(label: str) -> str:
    """Break the label of a design point, to leave room for what it names."""
    return fill(label, 28)


def _label(figure: "SubFigure", summary: "pd.DataFrame") -> None:
    """Say what the vertical axis of the distributions is, and what minutes assume."""
    figure.axes[0].set_ylabel("share that takes no longer, %")
    figure.supxlabel(
        f"Minutes are no measurement, but assume {summary.attrs.get('assumptions', '')}.",
        x=0.012,
        ha="left",
        fontsize=8,
    )


def _scale(axes: "Axes", name: str, summary: "pd.DataFrame", room: float) -> None:
    """Scale the axis of the turns of a game or round: the longest lengths drawn, times ``room``, have place on it.

    It is logarithmic where a long tail, or design points of another order of size, would leave the rest no room.
    """
    rows = summary[summary["estimand"] == f"turns_per_{name}"]
    longest = rows["estimate"].max()
    typical = rows.loc[rows["quantile"] == 0.5, "estimate"].min()
    if longest > LONG * typical:
        axes.set_xscale("log")
        axes.set_xlim(max(rows["estimate"].min(), 1) / room, longest * room**4)
        axes.set_xlabel(f"turns a {name} (logarithmic)")
    else:
        axes.set_xlim(0, longest * room)
        axes.set_xlabel(f"turns a {name}")
    axes.xaxis.set_major_formatter("{x:,.0f}")


_KINDS = {"round": "order-statistic (clustered by game)", "game": "order-statistic (exact)"}


def _turns(row: Mapping[str, Any]) -> str:
    return f"{row['estimate']:,.0f} ({interval_text(row['ci_low'], row['ci_high'], row['se'])})"


def _outcome_text(row: Mapping[str, Any]) -> str:
    """Write the share of an outcome with its interval, or what never having seen it shows."""
    if row["estimate"] == 0:
        return zero_event_text(row["n"], row["ci_level"])
    return f"{number_text(row['estimate'], row['se'])}% ({interval_text(row['ci_low'], row['ci_high'], row['se'])})"
