"""Intervals, tests and verdicts: numbers in, numbers out.

The unit of inference is the game. Everything here starts from exact sums over independent games, so that rounds of one
game, and seats of one round, may depend on each other in any way. scipy and statsmodels are imported when first needed,
because reading the list of studies must not wait for them.
"""

from enum import StrEnum
from math import ceil, floor, inf, isfinite, log, log10, nan, sqrt
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]

POWER = 0.8
"""The chance of a decision that "this many games would decide it" promises."""


class Interval(NamedTuple):
    """The two ends of an interval, or of one interval for each estimate."""

    low: Floats
    high: Floats

    def times(self, factor: float) -> "Interval":
        """Give the interval in another unit."""
        return Interval(self.low * factor, self.high * factor)


class Moments(NamedTuple):
    """The mean of K quantities over independent games, and how they vary together."""

    games: int
    mean: Floats  # (K,)
    covariance: Floats  # (K, K) of one game; NaN for a single game

    @classmethod
    def from_sums(cls, games: int, sums: ArrayLike, products: ArrayLike, unit: float = 1) -> Self:
        """Make the moments from exact sums over games.

        Parameters
        ----------
        games
            Number of games, 1 or more.
        sums
            Shape (K,): sum of each quantity over the games.
        products
            Shape (K, K): sum over the games of the products of each two quantities.
        unit
            What the sums count in; the moments are in multiples of it.
        """
        mean = np.asarray(sums) / games
        second = np.asarray(products) / games
        # Sums of squares of whole numbers are exact, so that subtracting the squared mean loses nothing that matters.
        covariance = (second - np.outer(mean, mean)) * (games / (games - 1) if games > 1 else nan)
        return cls(games, mean / unit, covariance / unit**2)

    @property
    def se(self) -> Floats:
        """Shape (K,): the standard error of each mean."""
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0) / self.games)

    def combine(self, weights: ArrayLike) -> "Moments":
        """Give the moments of M weighted sums of the quantities; ``weights`` has shape (M, K)."""
        matrix = np.asarray(weights, np.float64)
        return Moments(self.games, matrix @ self.mean, matrix @ self.covariance @ matrix.T)

    def deviations(self) -> "Moments":
        """Give the moments of each quantity's difference from the mean of all K."""
        count = len(self.mean)
        return self.combine(np.eye(count) - 1 / count)


def ratio_of_means(moments: Moments, numerator: Floats, denominator: Floats) -> tuple[float, float]:
    """Give the ratio of two weighted sums of means, and its standard error over games (delta method).

    So a share of all cranks, or of all turns, allows for games that have many of them.

    Returns
    -------
    tuple
        NaN twice where the denominator is zero.
    """
    parts = moments.combine(np.stack([numerator, denominator]))
    if parts.mean[1] == 0:
        return nan, nan
    ratio = float(parts.mean[0] / parts.mean[1])
    # What a game has more than the ratio makes of its denominator.
    excess = parts.combine([[1, -ratio]])
    return ratio, float(excess.se[0] / parts.mean[1])


def mean_interval(mean: ArrayLike, se: ArrayLike, games: int, level: float) -> Interval:
    """Give the t interval of each mean over ``games`` independent games; NaN for a single game."""
    from scipy.stats import t

    reach = t.ppf((1 + level) / 2, games - 1) * np.asarray(se) if games > 1 else np.full(np.shape(se), nan)
    return Interval(np.asarray(mean) - reach, np.asarray(mean) + reach)


def simultaneous_level(level: float, comparisons: int, method: str = "sidak") -> float:
    """Give the level of each of several intervals that hold together at ``level``.

    Parameters
    ----------
    method
        ``sidak``: exact for independent normal estimates and safe for correlated ones; ``bonferroni``: safe for any
        estimates, and a little wider.

    Raises
    ------
    ValueError
        For another method.
    """
    if method == "sidak":
        return float(level ** (1 / comparisons))
    if method == "bonferroni":
        return 1 - (1 - level) / comparisons
    raise ValueError(f'"{method}" is no method: sidak or bonferroni')


def share_interval(shares: ArrayLike, se: ArrayLike, games: int, level: float) -> Interval:
    """Give the normal interval of each share of wins, where a win may be shared.

    The spread of fractional wins is the observed one, because a binomial formula over-covers where ties are common.
    A share without spread, of a seat that won no game or every game, has the exact interval of a plain count.

    Parameters
    ----------
    shares, se
        Means over games of a quantity between 0 and 1, and their standard errors.
    """
    from scipy.stats import norm

    share, error = np.asarray(shares, np.float64), np.asarray(se, np.float64)
    reach = norm.ppf((1 + level) / 2) * error
    exact = clopper_pearson(np.round(share * games), games, level)
    # Not "error == 0": dividing a sum of squares may leave a last bit.
    constant = (error < 1e-9) & ((share < 1e-9) | (share > 1 - 1e-9))
    return Interval(
        np.where(constant, exact.low, np.maximum(share - reach, 0)),
        np.where(constant, exact.high, np.minimum(share + reach, 1)),
    )


def clopper_pearson(count: ArrayLike, games: int, level: float) -> Interval:
    """Give the exact binomial interval of the share of games in which something happened.

    Where it was seen in no game, or in every one, only one end is open and the whole error is spent on it: after no
    event the upper end is ``1 - (1 - level) ** (1 / games)``, the "rule of three" 3 / games at 95%.
    """
    from statsmodels.stats.proportion import proportion_confint

    counts = np.asarray(count, np.float64)
    alpha = 1 - level
    low, high = proportion_confint(counts, games, alpha=alpha, method="beta")
    one_sided = alpha ** (1 / games)
    return Interval(
        np.where(counts == games, one_sided, np.where(counts == 0, 0, low)),
        np.where(counts == 0, 1 - one_sided, np.where(counts == games, 1, high)),
    )


def wilson_interval(wins: ArrayLike, games: int, level: float) -> Interval:
    """Give Wilson's interval of the share of games won, for whole wins; it is good for few games too."""
    from statsmodels.stats.proportion import proportion_confint

    low, high = proportion_confint(np.asarray(wins), games, alpha=1 - level, method="wilson")
    return Interval(low, high)


def exact_p_value(wins: int, games: int, share: float) -> float:
    """Give the two-sided exact binomial p-value of the hypothesis that a game is won with probability ``share``."""
    from scipy.stats import binomtest

    return float(binomtest(wins, games, share).pvalue)


def binomial_below_p_value(count: int, games: int, share: float) -> float:
    """Give the exact one-sided p-value that something happens in less than ``share`` of games: small if it is rarer."""
    from scipy.stats import binom

    return float(binom.cdf(count, games, min(share, 1)))


def zero_event_text(games: int, level: float) -> str:
    """Say what never having seen an event in ``games`` games shows, like ``none in 1,000 games (< 3/N = 0.3%)``."""
    bound = -log(1 - level)
    if games < 10 * bound:  # too few for the approximation
        return f"none in {counted(games, 'game')} (< {100 * float(clopper_pearson(0, games, level).high):.2g}%)"
    return f"none in {counted(games, 'game')} (< {bound:.2g}/N = {100 * bound / games:.2g}%)"


def counted(number: int | str, noun: str) -> str:
    """Write a number of things, like ``1 game`` or ``200,000 games``."""
    text = f"{number:,}" if isinstance(number, int) else number
    return f"{text} {noun}" + "s" * (text != "1")


def quantile_from_histogram(histogram: NDArray[np.int64], q: float) -> int:
    """Give the smallest value that at least the share ``q`` of the counted values does not exceed.

    Parameters
    ----------
    histogram
        How many values are 0, 1, 2, ...; at least one value is counted.
    q
        Above 0, at most 1.
    """
    cumulative = np.cumsum(histogram)
    # A hair less than q * total, lest rounding up the product of, say, 0.95 and 20 asks for one value more.
    return int(np.searchsorted(cumulative, q * cumulative[-1] * (1 - 1e-12)))


def quantile_interval_from_histogram(
    histogram: NDArray[np.int64], q: float, level: float, design_effect: float = 1.0
) -> Interval:
    """Give the interval of a quantile between two order statistics, whose ranks are exact binomial ones.

    For independent values it is the interval of `scipy.stats.quantile_test`. For values that come in clusters, such as
    the rounds of a game, the ranks are those of the number of independent values that would be worth as much.

    Parameters
    ----------
    histogram
        How many values are 0, 1, 2, ...
    q
        Between 0 and 1, both left out.
    design_effect
        The variance of the share of values below the quantile, over what it would be for independent values.

    Returns
    -------
    Interval
        An end is NaN where there are too few values to give one.
    """
    from scipy.stats import binom

    cumulative = np.cumsum(histogram)
    total = int(cumulative[-1])
    worth = max(round(total / design_effect), 1)
    tail = (1 - level) / 2
    below, above = binom.ppf(tail, worth, q) - 1, binom.isf(tail, worth, q)

    def order_statistic(rank: float) -> float:
        scaled = floor(rank * total / worth)
        return float(np.searchsorted(cumulative, scaled, side="right")) if 0 <= scaled < total else nan

    return Interval(np.asarray(order_statistic(below)), np.asarray(order_statistic(above)))


def design_effect(games: int, rounds: int, below: int, below_squares: int) -> float:
    """Give the design effect of a share of rounds: its variance clustered by game over that of independent rounds.

    Parameters
    ----------
    below
        The number of rounds, of ``games`` times ``rounds``, that the share counts.
    below_squares
        The sum over games of the square of the number of such rounds in the game.
    """
    share = below / (games * rounds)
    independent = share * (1 - share) / rounds
    if games == 1 or independent == 0:
        return 1.0
    clustered = (below_squares / games / rounds**2 - share**2) * games / (games - 1)
    return max(clustered / independent, 1e-6)


def bootstrap_ratio(
    histogram: NDArray[np.int64], moments: Moments, level: float, random: np.random.Generator, replicates: int = 1000
) -> Interval:
    """Give the percentile interval of a share of clustered things, by a Poisson bootstrap over games.

    A replicate counts each game as often as a Poisson number of mean 1 says, so that the things of a game come
    together. Games that hold equally many of the things in question are interchangeable: how many of each kind a
    replicate has is a Poisson number too, with the observed count as its mean. So the histogram is all it takes, and
    rare things, which few games hold, are resampled exactly. The number of all things follows with the covariance that
    was observed.

    Parameters
    ----------
    histogram
        Shape (J,): how many games hold j of the things in question; the last bin also holds games with more.
    moments
        The means over games of two quantities: the things in question, and all things.
    """
    if moments.games < 2:
        return Interval(np.array(nan), np.array(nan))
    here, everything = moments.mean * moments.games
    counts = np.flatnonzero(histogram[1:]) + 1
    weights = counts.astype(np.float64)
    if len(counts) and counts[-1] == len(histogram) - 1:  # what the games of the last bin really hold, on average
        weights[-1] = (here - histogram[counts[:-1]] @ weights[:-1]) / histogram[-1]
    drawn = random.poisson(histogram[counts], (replicates, len(counts))) @ weights
    # Of a replicate, every game counts, those without such a thing too: the second moments, not the variances.
    second = moments.games * (moments.covariance + np.outer(moments.mean, moments.mean))
    slope = second[0, 1] / second[0, 0] if here else 0.0
    spread = np.sqrt(np.maximum(second[1, 1] - slope * second[0, 1], 0))
    total = everything + slope * (drawn - here) + spread * random.standard_normal(replicates)
    low, high = np.quantile(np.clip(drawn / np.maximum(total, 1), 0, 1), [(1 - level) / 2, (1 + level) / 2])
    return Interval(low, high)


def elo_ratings(ahead: Floats) -> Floats:
    """Rate competitors on an Elo scale by how often each finishes ahead of each other.

    The strengths are those of the Plackett-Luce model of finishing orders, where the first is any competitor with a
    probability in proportion to its strength, the next any of the others, and so on. Under it the order of any two is
    that of the Bradley-Terry model, so that the orders of all pairs, taken as if each were a match of its own, give
    consistent estimates (Azari Soufiani, Chen, Parkes, Xia 2013, Generalized method-of-moments for rank aggregation,
    NIPS: "full breaking"). A tie counts half for each. The estimate is that of `choix` (Maystre, Grossglauser 2015).

    Parameters
    ----------
    ahead
        Shape (B, B), above zero off the diagonal: how often, in any unit, one finishes ahead of another.

    Returns
    -------
    ndarray
        Shape (B,), of mean 0: 400 points more are ten times the strength.
    """
    from choix import ilsr_pairwise_dense

    return np.asarray(400 / log(10) * ilsr_pairwise_dense(ahead), np.float64)


class ChiSquareTest(NamedTuple):
    """A test whose statistic has a chi-square distribution where the hypothesis holds."""

    statistic: float
    df: int
    p_value: float


def wald_equal_shares(shares: Moments) -> ChiSquareTest:
    """Test whether all seats win equally often, with the observed covariance of the (shared) wins.

    Without shared wins this is close to Pearson's chi-square test; with them only this one holds. The degrees of
    freedom are the rank of the covariance: seats less one, and fewer where seats always win together, as partners do.
    """
    from scipy.linalg import pinvh
    from scipy.stats import chi2

    if shares.games < 2:
        return ChiSquareTest(nan, len(shares.mean) - 1, nan)
    deviations = shares.deviations()
    inverse, rank = pinvh(deviations.covariance, rtol=1e-9, atol=1e-15, return_rank=True)
    unexplained = deviations.mean - deviations.covariance @ inverse @ deviations.mean
    if np.abs(unexplained).max() > 1e-9:  # a difference that never varies
        return ChiSquareTest(inf, int(rank), 0.0)
    statistic = float(shares.games * deviations.mean @ inverse @ deviations.mean)
    return ChiSquareTest(statistic, int(rank), float(chi2.sf(statistic, rank)) if rank else 1.0)


def equal_means(estimates: ArrayLike, se: ArrayLike) -> ChiSquareTest:
    """Test whether estimates of several design points are equal, by Cochran's Q: their spread against their errors.

    The estimates are taken as independent. Those of design points that play the same deals rise and fall together, if
    at all, which makes the test cautious: it errs less often than it says.
    """
    from scipy.stats import chi2

    values, errors = np.asarray(estimates, np.float64), np.asarray(se, np.float64)
    df = len(values) - 1
    if np.ptp(values) == 0 and not np.isnan(errors).any():
        return ChiSquareTest(0.0, df, 1.0)
    if np.any(errors == 0):  # known exactly, and not equal
        return ChiSquareTest(inf, df, 0.0)
    weights = errors**-2
    statistic = float(weights @ (values - weights @ values / weights.sum()) ** 2)
    return ChiSquareTest(statistic, df, float(chi2.sf(statistic, df)))


def difference_p_value(estimate: ArrayLike, se: ArrayLike) -> Floats:
    """Give the two-sided normal p-value of no difference from zero; NaN for a zero estimate without spread."""
    from scipy.stats import norm

    return np.asarray(2 * norm.sf(_ratio(np.abs(estimate), se)))


def equivalence_p_value(estimate: ArrayLike, se: ArrayLike, margin: ArrayLike) -> Floats:
    """Give the p-value of the two one-sided tests (TOST): small where the truth is shown to lie within ± ``margin``."""
    from scipy.stats import norm

    return np.asarray(norm.sf(_ratio(np.asarray(margin) - np.abs(estimate), se)))


def holm(p_values: ArrayLike) -> Floats:
    """Adjust p-values by Holm's method, so that the chance of any false finding is bounded; NaN stays NaN."""
    adjusted = np.array(p_values, np.float64)
    known = np.flatnonzero(np.isfinite(adjusted))
    # Not statsmodels' multipletests: it collects garbage at each call, which takes longer than all else in a report.
    ordered = known[np.argsort(adjusted[known])]
    steps = adjusted[ordered] * np.arange(len(ordered), 0, -1)
    adjusted[ordered] = np.minimum(np.maximum.accumulate(steps), 1)
    return adjusted


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Adjust p-values so that of all findings only the share of the level is false on average; none may be missing."""
    from statsmodels.stats.multitest import multipletests

    adjusted = np.asarray(p_values, np.float64)
    return np.asarray(multipletests(adjusted, method="fdr_bh")[1]) if adjusted.size else adjusted


class Verdict(StrEnum):
    """What the data say about a difference, against the margin below which nobody would care."""

    ADVANTAGE = "advantage"
    NEGLIGIBLE = "negligible"
    REAL_BUT_NEGLIGIBLE = "real but negligible"
    INCONCLUSIVE = "inconclusive"


def verdict(p_difference: float, p_equivalence: float, level: float) -> Verdict:
    """Cross the test of a difference with the test of equivalence.

    An *advantage* is a difference that is real and not shown to be negligible; its interval says whether it is shown to
    exceed the margin. Missing p-values, as after a single game, decide nothing.
    """
    real, small = p_difference < 1 - level, p_equivalence < 1 - level
    if small:
        return Verdict.REAL_BUT_NEGLIGIBLE if real else Verdict.NEGLIGIBLE
    return Verdict.ADVANTAGE if real else Verdict.INCONCLUSIVE


def games_to_detect(statistic: float, df: int, games: int, level: float, power: float = POWER) -> float:
    """Give the games at which a chi-square test would find a difference of the size seen, with chance ``power``.

    Parameters
    ----------
    statistic, df
        The test's result after ``games`` games; for one estimate ``(estimate / se) ** 2`` and 1.

    Returns
    -------
    float
        Infinite where no difference was seen.
    """
    from scipy.optimize import brentq
    from scipy.stats import chi2, ncx2

    if not 0 < statistic < inf or df == 0:
        return inf
    critical = chi2.ppf(level, df)
    needed = brentq(lambda noncentrality: ncx2.sf(critical, df, noncentrality) - power, 1e-9, 1e3)
    return float(games * needed / statistic)


def games_to_show_equivalence(
    estimate: ArrayLike, se: ArrayLike, games: int, margin: float, level: float, power: float = POWER
) -> float:
    """Give the games at which TOST would show that all estimates lie within ± ``margin``, if they are the truth.

    Returns
    -------
    float
        Infinite where an estimate is not within the margin.
    """
    from scipy.stats import norm

    slack = margin - np.abs(estimate)
    if np.any(slack <= 0):
        return inf
    errors_needed = norm.ppf(level) + norm.ppf((1 + power) / 2)
    return float(games * np.max(errors_needed * np.asarray(se) / slack) ** 2)


class Goal(StrEnum):
    """What a number of games is planned for; each has a size, in the unit of the quantity."""

    HALF_WIDTH = "half-width"
    """An interval of that half-width."""
    DIFFERENCE = "difference"
    """A two-sided test finds a true difference of that size, with the chance ``power``."""
    MARGIN = "margin"
    """TOST shows a true difference of zero to lie within ± that size, with the chance ``power``."""


def errors_needed(goal: Goal, level: float, power: float = POWER) -> float:
    """Give how many standard errors the size of a goal must be worth for the goal to be reached."""
    from scipy.stats import norm

    two_sided = norm.ppf((1 + level) / 2)
    if goal is Goal.HALF_WIDTH:
        return float(two_sided)
    if goal is Goal.DIFFERENCE:
        return float(two_sided + norm.ppf(power))
    return float(norm.ppf(level) + norm.ppf((1 + power) / 2))


def games_for(goal: Goal, size: float, sd: float, level: float, power: float = POWER) -> int:
    """Give the games that reach a goal of the given size, 2 or more.

    Parameters
    ----------
    size, sd
        Above 0, in one unit; ``sd`` is the spread of the quantity in one game.
    """
    return max(ceil((errors_needed(goal, level, power) * sd / size) ** 2), 2)


def size_reached(goal: Goal, games: int, sd: float, level: float, power: float = POWER) -> float:
    """Give the smallest size of a goal that ``games`` games reach: the inverse of `games_for`."""
    return errors_needed(goal, level, power) * sd / sqrt(games)


def equal_share_sd(players: int) -> float:
    """Give the spread of one seat's wins in a game, where each of ``players`` wins equally often and none is shared."""
    return sqrt(players - 1) / players


def round_up(number: float, digits: int = 2) -> int | None:
    """Round up to two digits, like 12,345 to 13,000; None for what is not finite."""
    if not isfinite(number):
        return None
    if number <= 0:
        return 0
    step = 10 ** max(floor(log10(number)) - digits + 1, 0)
    return ceil(number / step) * step


def digits_from_se(se: float) -> int:
    """Give the decimals that a standard error supports: the last one is worth at most one standard error.

    Returns
    -------
    int
        0 or more; 0 for an estimate without error, or without a known one.
    """
    return max(-floor(log10(se)), 0) if 0 < se < inf else 0


def number_text(value: float, se: float, signed: bool = False) -> str:
    """Write a number with the decimals that its standard error supports, like ``25.4``, ``1,203`` or ``+0.31``."""
    text = f"{value:{'+' if signed else ''},.{digits_from_se(se)}f}"
    return text if any(digit in text for digit in "123456789") else text.lstrip("+-")


def interval_text(low: float, high: float, se: float, signed: bool = False) -> str:
    """Write an interval, like ``25.3 to 25.5``; ``unknown`` or half of it where there are too few games for an end."""
    ends = [number_text(end, se, signed) for end in (low, high)]
    if isfinite(low) and isfinite(high):
        return " to ".join(ends)
    return f"{ends[0]} or more" if isfinite(low) else f"up to {ends[1]}" if isfinite(high) else "unknown"


def p_value_text(p_value: float) -> str:
    """Write a p-value, like ``p = 0.032`` or ``p < 0.001``."""
    if not isfinite(p_value):
        return "p unknown"
    if p_value < 0.001:
        return "p < 0.001"
    return f"p = {p_value:.1g}" if p_value < 0.01 else f"p = {p_value:.2g}" if p_value < 0.1 else f"p = {p_value:.2f}"


def _ratio(numerator: ArrayLike, se: ArrayLike) -> Floats:
    """Divide, with an infinite or missing quotient, and no warning, where there is no spread."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.divide(numerator, se), np.float64)
