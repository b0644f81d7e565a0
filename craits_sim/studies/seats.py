"""Does any seat win more? Win shares and totals by position, and how much of them the dealer effect explains.

Position 0 is the first dealer of the game, position 1 the seat to that dealer's left, and so on clockwise (RULES.md
R2). Where the number of rounds is no multiple of the number of players some positions deal more often than others;
their edge may be nothing but that. So the points by offset from the dealer, which `dealer` studies for their own sake,
are added up as each position meets them, and shown beside the edge that was observed.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.results import WIN_UNIT, Batch
from craits_sim.sequential import Differences, Judged
from craits_sim.stats import (
    Moments,
    counted,
    difference_p_value,
    holm,
    interval_text,
    mean_interval,
    number_text,
    p_value_text,
    share_interval,
    simultaneous_level,
)
from craits_sim.studies.base import (
    Ints,
    Points,
    Row,
    SideBySideStudy,
    Sums,
    by_position,
    count_row,
    cross_sums,
    largest_row,
    level_text,
    moments,
    one_hot,
    rows_of,
    texts,
    verdict_text,
    with_interval,
)
from craits_sim.studies.factors import Answer

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import SubFigure

    from craits_sim.design import DesignPoint, Experiment


class SeatsStudy(SideBySideStudy):
    """Win share and mean total by position, against an equal share."""

    name = "seats"
    question = "Does any seat win more than its share?"
    margin = 1.0
    margin_unit = "percentage points of win share"
    most_margin = 100
    default_games = 200_000
    headline_name = "win share by position, pp"

    def tally_point(self, batch: Batch) -> Sums:
        games, rounds, players = batch.points.shape
        dealer = (batch.dealer - batch.first_dealer[:, None]) % players
        return {
            "games": np.array([games], np.int64),
            **cross_sums("wins", by_position(batch, batch.wins)),
            **cross_sums("totals", by_position(batch, batch.totals)),
            **cross_sums("deals", one_hot(dealer, players)),
            **cross_sums("points", batch.points.reshape(games, rounds * players)),
        }

    def rows(self, sums: Mapping[str, Ints], point: "DesignPoint", experiment: "Experiment") -> Iterator[Row]:
        level = experiment.level
        margin = self.margin if experiment.margin is None else experiment.margin
        players, sizes = point.rules.players, np.array(point.rules.deals)
        positions, each = np.arange(players), simultaneous_level(level, players)
        shares, totals = moments(sums, "wins", WIN_UNIT), moments(sums, "totals")
        games = shares.games
        percent = shares.combine(100 * np.eye(players))
        deviations = percent.deviations()

        interval = share_interval(shares.mean, shares.se, games, each).times(100)
        p_values = difference_p_value(deviations.mean, deviations.se)
        yield from rows_of(
            "win_share",
            "%",
            percent,
            interval,
            level,
            "simultaneous",
            position=positions,
            reference=100 / players,
            p_value=p_values,
            p_adjusted=holm(p_values),
        )
        yield largest_row("largest_edge", "pp", percent, margin, level)
        nobody = games - int(sums["wins"].sum()) // WIN_UNIT
        if nobody:
            yield count_row("no_winner", nobody, games, level)
        for name, estimates, reference in (
            ("mean_total", totals, None),
            ("edge", totals.deviations(), 0.0),
            ("predicted_edge", _predicted_edge(sums, sizes, players), 0.0),
        ):
            interval = mean_interval(estimates.mean, estimates.se, games, each)
            yield from rows_of(
                name, "points", estimates, interval, level, "simultaneous", position=positions, reference=reference
            )
        for name, unit, weights in (("deals", "rounds", np.ones_like(sizes)), ("cards_dealt", "cards", sizes)):
            exposure = moments(sums, "deals").combine(np.kron(weights, np.eye(players)))
            interval = mean_interval(exposure.mean, exposure.se, games, level)
            yield from rows_of(name, unit, exposure, interval, level, position=positions)

    def half_width(self, sums: Mapping[str, Ints], level: float) -> float:
        shares = moments(sums, "wins", WIN_UNIT)
        low, high = share_interval(shares.mean, shares.se, shares.games, simultaneous_level(level, len(shares.mean)))
        return 50 * float(np.max(high - low))

    def judged_point(self, sums: Mapping[str, Ints], margin: float) -> Judged:
        return Differences.of(moments(sums, "wins", WIN_UNIT / 100).deviations(), margin)

    def height(self, part: "pd.DataFrame") -> float:
        return 1.6 + 0.62 * (part["estimand"] == "win_share").sum()

    def draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import SOFT, dots, limits, margin_band, reference, title

        table = {name: rows for name, rows in part.groupby("estimand", sort=False)}
        shares, edges, predicted = table["win_share"], table["edge"], table["predicted_edge"]
        margin, fair = table["largest_edge"]["margin"].iloc[0], shares["reference"].iloc[0]
        level = level_text(shares["ci_level"].iloc[0])
        exposures = zip(
            ["first dealer", *(f"position {position}" for position in range(1, len(shares)))],
            texts(table["deals"]),
            texts(table["cards_dealt"]),
            strict=True,
        )
        names = [f"{name}\n{counted(deals, 'deal')}, {counted(cards, 'card')}" for name, deals, cards in exposures]
        left, right = figure.subplots(1, 2, width_ratios=(3, 2), sharey=True)

        title(
            left,
            "Games won",
            f"{level} simultaneous intervals · dashed: 1/{len(shares)} · band: margin ± {margin:g} pp",
        )
        margin_band(left, fair, margin)
        reference(left, fair, vertical=True)
        dots(left, shares, names, labels=texts(shares))
        # Tables of different sizes have different equal shares: what is on the same scale is the difference from them.
        drawn = summary[summary["estimand"] == "win_share"]
        columns = ["estimate", "ci_low", "ci_high"]
        differences = drawn[columns].sub(drawn["reference"], axis=0)
        left.set_xlim([fair + limit for limit in limits(differences, -margin, margin)])
        left.set_xlabel("win share, %")

        title(right, "Total, against the mean of all seats", "filled: observed · open: what dealing alone predicts")
        reference(right, 0, vertical=True)
        dots(right, edges, names)
        for place, row in enumerate(predicted.to_dict("records")):
            below = place + 0.24
            right.plot([row["ci_low"], row["ci_high"]], [below, below], color=SOFT, linewidth=1.2, alpha=0.6)
            right.plot(row["estimate"], below, marker="d", color=SOFT, markerfacecolor="white", linestyle="none")
        right.set_xlim(limits(summary[summary["estimand"].isin(["edge", "predicted_edge"])], 0))
        right.set_xlabel("points a game (fewer is better)")

    def height_side_by_side(self, points: Points) -> float:
        return 1.3 + sum(0.45 + 0.34 * (part["estimand"] == "win_share").sum() for _, part in points)

    def draw_side_by_side(self, figure: "SubFigure", points: Points) -> None:
        import pandas as pd

        from craits_sim.plots import Block, dot_blocks, limits, margin_band, reference, title

        first = points[0][1]
        margin, level = first.attrs["margin"], level_text(first["ci_level"].iloc[0])
        left, right = figure.subplots(1, 2, width_ratios=(3, 2), sharey=True)
        # Tables of different sizes have different equal shares: what they can share is the difference from them.
        shares, edges = [], []
        for label, part in points:
            won, total = part[part["estimand"] == "win_share"], part[part["estimand"] == "edge"]
            columns = ["estimate", "ci_low", "ci_high"]
            won = won.assign(**won[columns].sub(won["reference"], axis=0))
            names = ["first dealer", *(f"position {position}" for position in range(1, len(won)))]
            shares.append(Block(label, won, names, texts(won, signed=True)))
            edges.append(Block(label, total, names, texts(total, signed=True)))
        note = f"{level} simultaneous intervals"
        title(left, "Games won, against an equal share", f"{note} · band: margin ± {margin:g} pp")
        margin_band(left, 0, margin)
        reference(left, 0, vertical=True)
        dot_blocks(left, shares)
        left.set_xlim(limits(pd.concat([block.rows for block in shares]), -margin, margin))
        left.set_xlabel("percentage points of win share")
        title(right, "Total, against the mean of all seats", f"{note} · fewer is better")
        reference(right, 0, vertical=True)
        dot_blocks(right, edges, headings=False)
        right.set_xlim(limits(pd.concat([block.rows for block in edges]), 0))
        right.set_xlabel("points a game")

    def short_sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        (overall,) = table["largest_edge"]
        share = table["win_share"][overall["position"]]
        return (
            f"{_named(overall)} is farthest from an equal share, {_percent(share, share['se'])} against "
            f"{share['reference']:.4g}%: {verdict_text(overall, ' pp', 'advantage')}, "
            f"{p_value_text(overall['p_value'])}."
        )

    def answers(self, part: "pd.DataFrame") -> list[Answer]:
        return [
            Answer(
                f"the win share of {_named(row)}, against an equal one,",
                row["estimate"] - row["reference"],
                row["se"],
                " pp",
                True,
            )
            for row in part[part["estimand"] == "win_share"].to_dict("records")
        ]

    def sentence(self, part: "pd.DataFrame") -> str:
        table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
        shares, (overall,) = table["win_share"], table["largest_edge"]
        se = max(row["se"] for row in shares)
        ranked = sorted(shares, key=lambda row: -row["estimate"])
        best, worst = ranked[0], ranked[-1]
        fair, level = f"{best['reference']:.4g}%", level_text(best["ci_level"])
        text = (
            f"{_named(best).capitalize()} ({_exposure(table, best)}) wins most, {_percent(best, se)}, and "
            f"{_named(worst)} ({_exposure(table, worst)}) least, {_percent(worst, se)}"
        )
        test = "sequential test" if overall["ci_kind"] == "sequence" else "Wald test"
        if 0 not in (best["position"], worst["position"]):
            text += f"; the first dealer wins {_percent(shares[0], se)}"
        text += (
            f"; equal shares would be {fair}. Verdict: {verdict_text(overall, ' pp', 'advantage')}; {test} of equal "
            f"shares {p_value_text(overall['p_value'])}, {counted(overall['n'], 'game')}, "
            f"{level} simultaneous intervals. "
        )
        observed, predicted = (table[name][overall["position"]] for name in ("edge", "predicted_edge"))
        text += (
            f"The total of {_named(overall)} differs from the mean of all seats by "
            f"{with_interval(observed, ' points', signed=True)}; "
            f"the dealer effect alone predicts {number_text(predicted['estimate'], predicted['se'], signed=True)}."
        )
        if "no_winner" in table:
            nobody = table["no_winner"][0]
            text += (
                f" In {_rounded(nobody)}% of games nobody wins, so that the shares add to "
                f"{number_text(100 - nobody['estimate'], nobody['se'])}%: the reference stays {fair}, "
                "while the verdict compares the positions with each other."
            )
        return text


def _predicted_edge(sums: Mapping[str, Ints], sizes: Ints, players: int) -> Moments:
    """Give the edge in points that each position would have if only its offsets from the dealers mattered.

    The sum over rounds of the mean relative points at the position's offset and the round's deal size, weighted by how
    often each position dealt the round. Rounds of one deal size are pooled: where the deal passes in a fixed order a
    round has one position at each offset, and taken by itself it would only repeat what was observed. The standard
    errors take the frequency of dealing as known, which it is in a fixed order.
    """
    rounds, positions = len(sizes), np.arange(players)
    frequency = sums["deals"].reshape(rounds, players) / int(sums["games"][0])
    same_size = sizes[:, None] == sizes
    pooled = same_size / same_size.sum(axis=1)
    # exposure[r, p, o]: how often position p is at offset o in round r, which is how often position p - o deals.
    exposure = frequency[:, (positions[:, None] - positions) % players]
    weights = np.einsum("rpo,rs->pso", exposure, pooled)
    relative = weights - weights.mean(axis=2, keepdims=True)
    return moments(sums, "points").combine(relative.reshape(players, rounds * players))


def _named(row: Mapping[str, Any]) -> str:
    return "the first dealer" if row["position"] == 0 else f"position {row['position']}"


def _exposure(table: Mapping[str, list[Any]], row: Mapping[str, Any]) -> str:
    deals, cards = (table[name][row["position"]] for name in ("deals", "cards_dealt"))
    return f"{counted(_rounded(deals), 'deal')}, {counted(_rounded(cards), 'card')} dealt"


def _percent(row: Mapping[str, Any], se: float) -> str:
    return f"{number_text(row['estimate'], se)}% ({interval_text(row['ci_low'], row['ci_high'], se)})"


def _rounded(row: Mapping[str, Any]) -> str:
    return number_text(row["estimate"], row["se"])
