"""Which bot plays best? Every bot alone among others of each other kind, with all seats rotated on the same deals.

The study is called after what it makes, a ladder of bots from the best to the weakest: `craits bots` lists them, and
plays nothing. ``--bots`` names its rungs, two or more, in any order, not the bots of a table.

What a bot is worth depends on who else plays, so that win shares come first, one for each ordered pair (`rotation` says
how it is played): of one X among n - 1 of Y. What tells two bots apart is the *lead* of X over Y, half of what one X
wins more among Ys than one Y wins among Xs. It is zero for bots that play alike; for two players it is what X wins more
than half of the games.

Ratings put the bots on one scale and come second, because a scale of one number a bot cannot hold what happens between
each two. They are those of the Plackett-Luce model on an Elo scale (`craits_sim.stats.elo_ratings`), from who ends a
game with fewer points than who. Their errors come from a bootstrap over deals: a replicate draws the means over game
indices from the normal law that they have, whatever a game is like, with the covariance that was observed.
"""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from itertools import combinations, permutations
from typing import TYPE_CHECKING, Any

import numpy as np

from craits_sim.bots import BotSpec, parse_bot
from craits_sim.stats import (
    Floats,
    Moments,
    Verdict,
    elo_ratings,
    interval_text,
    mean_interval,
    number_text,
    share_interval,
    simultaneous_level,
)
from craits_sim.studies.base import (
    games_that_decide,
    judged_rows,
    level_text,
    listed,
    rows_of,
    several,
    texts,
    verdict_text,
)
from craits_sim.studies.factors import Answer
from craits_sim.studies.rotation import Match, RotationStudy, weights

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

    from craits_sim.design import DesignPoint, Experiment
    from craits_sim.studies.base import Row

REPLICATES = 400
"""Replicates of the bootstrap: a standard error of 400 is itself known to 4%."""

EQUAL, UNCLEAR = "\N{ALMOST EQUAL TO}", "?"
"""What marks in the matrix a pair that is shown to be equal within the margin, and one that is not told apart."""


class LadderStudy(RotationStudy):
    """Win shares of bots against each other, how sure their order is, and their ratings."""

    name = "ladder"
    question = "Which bot plays best, and by how much?"
    default_games = 20_000
    default_bots = "random,greedy,careful,tuned"
    bots_meaning = "The bots to set against each other, two or more; with parameters: careful:noise=2."
    examples = ("--bots random,greedy,careful", "--bots careful,careful:noise=1 --players 2 --margin 0.5")
    headline_name = "lead of one bot over another, pp"

    def asked(self, experiment: "Experiment") -> "tuple[DesignPoint, ...]":
        from craits_sim.design import DesignError

        if "bots" in experiment.vary:
            raise DesignError("ladder sets all its bots against each other: name them in bots instead of varying them")
        # Bots that stand for rungs are no table of so many players.
        return super().asked(experiment.model_copy(update={"bots": "random"}))

    def design(self, experiment: "Experiment", max_points: int) -> "tuple[DesignPoint, ...]":
        from craits_sim.design import DesignError

        if find_spec("choix") is None:
            raise DesignError("ladder rates bots with choix, which is not installed: pip install 'craits-sim[bots]'")
        return super().design(experiment, max_points)

    def matches(self, point: "DesignPoint", experiment: "Experiment") -> list[Match]:
        bots = rungs(experiment)
        # Among two, one X among Ys and one Y among Xs are the same tables.
        pairs = combinations(bots, 2) if point.rules.players == 2 else permutations(bots, 2)
        return [Match(lone, others) for lone, others in pairs]

    def differences(self, means: Moments, point: "DesignPoint", experiment: "Experiment") -> Moments:
        return Pairs(means, self.matches(point, experiment), rungs(experiment), point.rules.players).leads

    def rows(self, means: Moments, point: "DesignPoint", experiment: "Experiment") -> "Iterator[Row]":
        level, players, bots = experiment.level, point.rules.players, rungs(experiment)
        margin = self.margin if experiment.margin is None else experiment.margin
        pairs = Pairs(means, self.matches(point, experiment), bots, players)
        of_bots = {"bot": np.array([str(bots[k]) for k in pairs.order])}

        for estimand, shares, columns in (
            ("mean_win_share", pairs.mean_shares.combine(np.eye(len(bots))[pairs.order]), of_bots),
            ("win_share", pairs.shares, _names(bots, pairs.ordered)),
        ):
            each = simultaneous_level(level, len(shares.mean))
            interval = share_interval(shares.mean / 100, shares.se / 100, shares.games, each).times(100)
            yield from rows_of(
                estimand, "%", shares, interval, level, "simultaneous", reference=100 / players, **columns
            )
        yield from judged_rows("lead", "pp", pairs.leads, margin, level, **_names(bots, pairs.ranked))
        ratings = pairs.ratings(np.random.default_rng(experiment.seed)).combine(np.eye(len(bots))[pairs.order])
        interval = mean_interval(ratings.mean, ratings.se, ratings.games, simultaneous_level(level, len(bots)))
        yield from rows_of("rating", "Elo", ratings, interval, level, "simultaneous", reference=0.0, **of_bots)

    def highlights(self, summary: "pd.DataFrame") -> "pd.DataFrame":
        return summary[summary["estimand"] != "win_share"]

    def plot(self, summary: "pd.DataFrame") -> "Figure":
        from craits_sim.plots import facets

        longest = max(map(len, summary["bot"]))
        return facets(summary, self.question, 12.0 + 0.06 * max(longest - 8, 0), self._height, self._draw)

    @staticmethod
    def _height(part: "pd.DataFrame") -> float:
        return 1.9 + 0.55 * (part["estimand"] == "rating").sum()

    def _draw(self, figure: "SubFigure", part: "pd.DataFrame", summary: "pd.DataFrame") -> None:
        from craits_sim.plots import dots, limits, reference, title

        table = {name: rows for name, rows in part.groupby("estimand", sort=False)}
        means, ratings = table["mean_win_share"], table["rating"]
        names, level, fair = list(means["bot"]), level_text(means["ci_level"].iloc[0]), means["reference"].iloc[0]
        left, middle, right = figure.subplots(1, 3, width_ratios=(3, 2.6, 3), sharey=True)

        title(left, "Games won, alone among each other bot", f"{level} simultaneous intervals · dashed: {fair:.4g}%")
        reference(left, fair, vertical=True)
        dots(left, means, names, labels=texts(means))
        low, high = limits(summary[summary["estimand"] == "mean_win_share"], fair)
        left.set_xlim(max(low, -3), high)
        left.set_xlabel("win share, %: mean over the other bots")

        title(middle, "Rating", f"by points, {level} simultaneous intervals · mean 0")
        reference(middle, 0, vertical=True)
        dots(middle, ratings, names, labels=texts(ratings, signed=True))
        middle.set_xlim(limits(summary[summary["estimand"] == "rating"], 0))
        middle.set_xlabel("Elo points: 400 more are ten times the strength")
        self._matrix(right, part, names, fair)

    @staticmethod
    def _matrix(axes: "Axes", part: "pd.DataFrame", names: Sequence[str], fair: float) -> None:
        """Draw the win share of the bot of a row, alone among those of a column."""
        from craits_sim.plots import matrix, title

        shares = part[part["estimand"] == "win_share"]
        cells, shown = np.full((len(names), len(names)), np.nan), {}
        marks = _marks(part)
        for row, text in zip(shares.to_dict("records"), texts(shares), strict=True):
            place = names.index(row["bot"]), names.index(row["against"])
            cells[place] = row["estimate"]
            shown[place] = text + marks.get(frozenset((row["bot"], row["against"])), "")
        title(
            axes,
            "Row alone among column, win share in %",
            f"{EQUAL} shown equal within ± {part.attrs['margin']:g} pp · {UNCLEAR} not told apart",
        )
        matrix(axes, cells, shown, center=fair)
        axes.set_xticks(range(len(names)), names, rotation=20 if max(map(len, names)) > 8 else 0)

    def sentence(self, part: "pd.DataFrame") -> str:
        return _sentence(part)

    def answer(self, row: "Row") -> Answer:
        # Which of two bots is better may depend on the design point: the first by name is asked about at all of them.
        first, second = sorted((row["bot"], row["against"]))
        lead = row["estimate"] if row["bot"] == first else -row["estimate"]
        return Answer(f"the lead of {first} over {second}", lead, row["se"], " pp", True)


def rungs(experiment: "Experiment") -> list[BotSpec]:
    """Read the bots of the ladder.

    Raises
    ------
    DesignError, BotError
        If there are fewer than two, one comes twice, or one cannot be read.
    """
    from craits_sim.design import DesignError

    bots = [parse_bot(text) for text in experiment.bots.split(",")]
    for bot in bots:
        if bots.count(bot) > 1:
            raise DesignError(f"{experiment.study} has nothing to compare: {bot} is given twice")
    if len(bots) < 2:
        raise DesignError(
            f"{experiment.study} compares two bots or more: bots = {experiment.bots} names one, give several, like "
            f"{LadderStudy.default_bots}"
        )
    return bots


class Pairs:
    """What the matches of B bots say of each bot and of each two; bots go by their numbers.

    Attributes
    ----------
    ordered : list of (int, int)
        All ordered pairs of two bots.
    shares : Moments
        The win share in percent of one of the first bot among the second, for each of `ordered`.
    mean_shares : Moments
        The mean of its shares, for each bot.
    order : list of int
        The bots by mean share, the best first.
    ranked : list of (int, int)
        All pairs, the bot with the higher mean share first.
    leads : Moments
        The lead of the first over the second in percentage points, for each of `ranked`.
    ahead : Moments
        How often the first ends a game with fewer points than one of the second, as a share, for each of `ordered`.
    """

    def __init__(self, means: Moments, matches: Sequence[Match], bots: Sequence[BotSpec], players: int) -> None:
        played = [(bots.index(match.lone), bots.index(match.others)) for match in matches]
        wins, edge, ahead = (weights(name, players, len(played)) for name in ("wins", "edge", "ahead"))
        self.ordered = list(permutations(range(len(bots)), 2))
        direct = _same(self.ordered, played)
        # Of two players, the one is alone as much as the other: the second pair is the first seen from the other side.
        mirrored = _same(self.ordered, [match[::-1] for match in played]) * (players == 2)
        self.shares = means.combine((direct + mirrored) @ wins - 2 * mirrored @ edge)
        edges = means.combine((direct - mirrored) @ edge)
        behind = means.combine((direct - mirrored) @ ahead)
        self.ahead = behind._replace(mean=behind.mean + mirrored.sum(axis=1))

        of_bot = [[first == bot for first, _ in self.ordered] for bot in range(len(bots))]
        self.mean_shares = self.shares.combine(np.array(of_bot) / (len(bots) - 1))
        self.order = [int(bot) for bot in np.argsort(-self.mean_shares.mean, kind="stable")]
        self.ranked = list(combinations(self.order, 2))
        reverse = [pair[::-1] for pair in self.ranked]
        self.leads = edges.combine((_same(self.ranked, self.ordered) - _same(reverse, self.ordered)) / 2)

    def ratings(self, random: np.random.Generator) -> Moments:
        """Rate the bots; the errors come from a bootstrap over deals."""
        games, mean = self.ahead.games, self.ahead.mean
        ratings = self._ratings(mean)
        if games < 2:
            return Moments(games, ratings, np.full((len(ratings), len(ratings)), np.nan))
        spread = self.ahead.covariance / games
        drawn = random.multivariate_normal(mean, spread, REPLICATES, check_valid="ignore", method="eigh")
        replicates = np.array([self._ratings(means) for means in drawn])
        return Moments(games, ratings, np.cov(replicates.T) * games)

    def _ratings(self, ahead: Floats) -> Floats:
        # Who was never ahead would have no rating: it counts as having been so in half of one game.
        least = 0.5 / self.ahead.games
        matrix = np.zeros((len(self.order), len(self.order)))
        for (first, second), share in zip(self.ordered, np.clip(ahead, least, 1 - least), strict=True):
            matrix[first, second] += share
            matrix[second, first] += 1 - share
        return elo_ratings(matrix)


def _same(pairs: Sequence[tuple[int, int]], others: Sequence[tuple[int, int]]) -> Floats:
    """Say which pairs are the same: 1 where they are, shape (pairs, others)."""
    return np.array([[float(pair == other) for other in others] for pair in pairs])


def _names(bots: Sequence[BotSpec], pairs: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Give the columns that name the bots of pairs."""
    first, second = zip(*pairs, strict=True)
    return {
        "bot": np.array([str(bots[k]) for k in first]),
        "against": np.array([str(bots[k]) for k in second]),
    }


# --- In words ----------------------------------------------------------------------------------------------------


def _is_equal(row: "Row") -> bool:
    return row["verdict"] in (Verdict.NEGLIGIBLE, Verdict.REAL_BUT_NEGLIGIBLE)


def _marks(part: "pd.DataFrame") -> dict[frozenset[str], str]:
    """Give the mark of each pair that has one in the matrix."""
    marks = {}
    for row in part[part["estimand"] == "lead"].to_dict("records"):
        pair = frozenset((row["bot"], row["against"]))
        if row["verdict"] == Verdict.INCONCLUSIVE:
            marks[pair] = UNCLEAR
        elif _is_equal(row):
            marks[pair] = EQUAL
    return marks


def _sentence(part: "pd.DataFrame") -> str:
    """Conclude for one design point: the order, what is equal or not told apart, and the ratings."""
    table = {name: rows.to_dict("records") for name, rows in part.groupby("estimand", sort=False)}
    means, leads, ratings = table["mean_win_share"], table["lead"], table["rating"]
    se = max(row["se"] for row in means)
    ends = [f"{row['bot']} ({_share(row, se)})" for row in means]
    if len(means) == 2:
        (lead,) = leads
        shares = [f"one {row['bot']} among {row['against']} wins {_share(row, se)}" for row in table["win_share"]]
        text = (
            f"{listed(shares)}; equal bots would win {means[0]['reference']:.4g}%. Verdict: {_lead(lead)}, "
            f"{verdict_text(lead, ' pp', 'advantage')}."
        )
    else:
        text = (
            f"The order is {listed(ends)}: what one of it wins among the others, mean over the other bots; equal bots "
            f"would win {means[0]['reference']:.4g}%. {_pairs(leads)}"
        )
    points = [
        f"{row['bot']} {number_text(row['estimate'], row['se'], signed=True)} "
        f"({interval_text(row['ci_low'], row['ci_high'], row['se'], signed=True)})"
        for row in ratings
    ]
    return f"{text} Elo by points: {listed(points)}."


def _pairs(leads: "Sequence[Row]") -> str:
    """Say which bots are told apart and by how much, which are equal, and which are not told apart."""
    apart = [row for row in leads if row["verdict"] == Verdict.ADVANTAGE]
    equal = [row for row in leads if _is_equal(row)]
    unclear = [row for row in leads if row["verdict"] == Verdict.INCONCLUSIVE]
    texts = []
    if apart:
        closest = min(apart, key=lambda row: abs(row["estimate"]))
        which = f"All {len(leads)} pairs" if len(apart) == len(leads) else f"{len(apart)} of {len(leads)} pairs"
        told = f"{which} {'is' if len(apart) == 1 else 'are'} told apart"
        texts.append(f"{told}, the closest: {_lead(closest)}, {verdict_text(closest, ' pp', 'advantage')}")
        turned = [f"{row['against']} over {row['bot']}" for row in apart if row["estimate"] < 0]
        if turned:
            texts.append(f"against the order: {several(turned)}")
    if equal:
        texts.append(f"equal within {equal[0]['margin']:g} pp: {several([_lead(row) for row in equal])}")
    if unclear:
        together = several([_lead(row) for row in unclear])
        texts.append(f"not told apart: {together}{games_that_decide(unclear, 'deals')}")
    text = "; ".join(texts)
    return f"{text[:1].upper()}{text[1:]}."


def _lead(row: "Row") -> str:
    """Write a lead, like ``greedy leads random by +18.1 pp (17.8 to 18.4)``."""
    interval = interval_text(row["ci_low"], row["ci_high"], row["se"], signed=True)
    return (
        f"{row['bot']} leads {row['against']} by {number_text(row['estimate'], row['se'], signed=True)} pp ({interval})"
    )


def _share(row: "Row", se: float) -> str:
    return f"{number_text(row['estimate'], se)}%, {interval_text(row['ci_low'], row['ci_high'], se)}"
