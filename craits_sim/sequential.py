"""When to stop playing: rules that look at the games played so far, and intervals that stay valid under such looks.

Two rules are offered. *Precision*: stop when an interval is narrow enough. Its width hardly depends on where it lies,
so that the interval at the end still holds as often as it says. *Until decided*: stop when the verdict is certain. That
looks at where the estimate lies, and the intervals of a fixed number of games would not survive it; the intervals of a
confidence sequence do: all of them, at any number of games, hold together with the stated confidence. Where a run waits
for several verdicts the error that is allowed is split among all their sequences (Bonferroni).

Stopping at p < 0.05 is not offered. A p-value is made for one look. Who looks at the p-value again and again, and stops
when it is small, finds a difference where there is none in a quarter of all runs of 20 looks, and sooner or later in
all of them.

Games are looked at after numbers of games that are fixed beforehand, and each look sees all games up to that number:
neither threads nor chunks decide where a run ends. Games in the order of their arrival would be a biased sample,
because short ones arrive first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lgamma
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craits_sim.stats import Floats, Interval, Moments, Verdict, simultaneous_level

FIRST_LOOK = 2_000
"""Games at the first look. With fewer, an estimated spread may be far too small by chance, and end the run."""

MOST_GAMES = 10_000_000
"""Where a run that looks ends at the latest, unless the user says another number."""

TUNED_AT = 50_000
"""The number of games at which the confidence sequence is narrowest, compared with an interval for that number.

From 8,000 to 3,000,000 games it is at most 15% wider than if it were tuned to the number at hand.
"""


def looks(most_games: int) -> Iterator[int]:
    """Give the numbers of games to look at: `FIRST_LOOK`, then each a tenth more than the last, and ``most_games``."""
    games = FIRST_LOOK
    while games < most_games:
        yield games
        games += -(-games // 10)
    yield most_games


def sequence_errors(games: ArrayLike, level: float) -> Floats:
    """Give how many standard errors the asymptotic confidence sequence reaches to either side of a mean.

    After t games with mean m and standard deviation s of one game, the sequence is ::

        m ± s sqrt(2 (t q + 1) / (t² q) log(sqrt(t q + 1) / alpha)),  q = (log(1 - 2 log alpha) - 2 log alpha) / t_opt

    where alpha is 1 - ``level`` and t_opt is `TUNED_AT`; with the standard error s / sqrt(t), what this function gives
    is the rest. With probability ``level`` the true mean lies in it at *all* t from the first look on, so that one may
    stop for whatever reason. Like any interval from the central limit theorem it is asymptotic: it needs many games
    before the first look, and no distribution of the quantity.

    Source: Waudby-Smith, Arbour, Sinha, Kennedy, Ramdas (2024), Time-uniform central limit theory and asymptotic
    confidence sequences, Annals of Statistics 52(6), arXiv 2103.06476. The formula is its first one, after the normal
    mixture of Robbins; q is the square of its rho, approximately the best for t_opt.

    Parameters
    ----------
    games
        1 or more, of any shape, which is that of the result.
    """
    tq = _tuned(games, level)
    return np.asarray(np.sqrt(2 * (tq + 1) / tq * (0.5 * np.log1p(tq) - np.log(1 - level))))


def _tuned(games: ArrayLike, level: float) -> Floats:
    """Give t q of `sequence_errors`."""
    log_alpha = np.log(1 - level)
    q = (np.log(1 - 2 * log_alpha) - 2 * log_alpha) / TUNED_AT
    return np.asarray(games, np.float64) * q


def sequence_interval(means: ArrayLike, se: ArrayLike, games: ArrayLike, level: float, together: int = 1) -> Interval:
    """Give the confidence sequence of each mean after ``games`` games.

    Parameters
    ----------
    means, se
        Estimates and their standard errors, of one shape.
    games
        Broadcasts against them.
    together
        The number of means whose sequences hold together at ``level`` (Bonferroni's inequality, because the errors of
        sequences are not those that Šidák's holds for).
    """
    each = simultaneous_level(level, together, "bonferroni")
    reach = sequence_errors(games, each) * np.asarray(se)
    return Interval(np.asarray(means) - reach, np.asarray(means) + reach)


def sequence_p_value(
    differences: ArrayLike, se: ArrayLike, games: ArrayLike, level: float, together: int = 1
) -> Floats:
    """Give the p-value of no difference from zero that may be looked at after any number of games.

    It is below 1 - ``level`` exactly where the confidence sequence leaves out zero. With probability ``level`` and no
    difference that never happens. Not-a-number for no difference without spread.

    Parameters
    ----------
    together
        As in `sequence_interval`; the p-value is that of one difference, to be adjusted for their number.
    """
    tq = _tuned(games, simultaneous_level(level, together, "bonferroni"))
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = np.square(np.divide(differences, se))
    return np.asarray(np.minimum(np.sqrt(tq + 1) * np.exp(-squares / 2 * tq / (tq + 1)), 1))


def share_sequence(
    counts: ArrayLike, games: ArrayLike, level: float, together: int = 1, expected: float = 0.5
) -> Interval:
    """Give the confidence sequence of the share of games in which something happens, exact however rare it is.

    After S such games of t it holds each share p with ::

        B(a + S, b + t - S) / B(a, b) < p^S (1 - p)^(t - S) / alpha

    where B is the beta function: the likelihood of p against its mean under a beta distribution of parameters a = 1/2
    and b, whose mean is ``expected``. By Ville's inequality the true share lies in it at *all* t with probability
    ``level`` or more; unlike `sequence_interval` it needs no central limit theorem, so that it holds for what was never
    seen too.

    Source: the mixture of Robbins (1970), Statistical methods related to the law of the iterated logarithm, Annals of
    Mathematical Statistics 41(5); as a confidence sequence in Howard, Ramdas, McAuliffe, Sekhon (2021), Time-uniform,
    nonparametric, nonasymptotic confidence sequences, Annals of Statistics 49(2), arXiv 1810.08240.

    Parameters
    ----------
    counts, games
        Of shapes that broadcast; counts need not be whole numbers.
    together
        As in `sequence_interval`.
    expected
        Between 0 and 1, both left out: about where the question is whether the share lies below. It decides how wide
        the sequence is, not how often it holds.
    """
    seen, t = np.broadcast_arrays(np.asarray(counts, np.float64), np.asarray(games, np.float64))
    a, b = 0.5, 0.5 * (1 - expected) / expected
    enough = _log_beta(a + seen, b + t - seen) - _log_beta(a, b)
    enough += np.log(1 - simultaneous_level(level, together, "bonferroni"))

    def holds(shares: Floats) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore"):
            likelihood = seen * np.log(np.where(seen > 0, shares, 1))
            likelihood += (t - seen) * np.log1p(-np.where(t > seen, shares, 0))
        return np.asarray(likelihood > enough)

    def end(beyond: float) -> Floats:
        """Halve the way from the estimate, which the sequence holds, to an end that it does not."""
        inside, outside = seen / t, np.full(seen.shape, beyond)
        for _ in range(60):
            middle = (inside + outside) / 2
            held = holds(middle)
            inside, outside = np.where(held, middle, inside), np.where(held, outside, middle)
        return np.asarray(inside)

    return Interval(np.where(seen > 0, end(0.0), 0), np.where(seen < t, end(1.0), 1))


def _log_beta(a: ArrayLike, b: ArrayLike) -> Floats:
    log_gamma = np.vectorize(lgamma, [np.float64])
    return np.asarray(log_gamma(a) + log_gamma(b) - log_gamma(np.add(a, b)))


class Judged(Protocol):
    """What one verdict judges: numbers that have a confidence sequence each, and a margin around zero."""

    @property
    def margin(self) -> float | Floats:
        """The largest difference from zero that does not matter: one for all, or shape (K,)."""

    @property
    def count(self) -> int:
        """K, the number of sequences."""

    @property
    def farthest(self) -> int:
        """The number of the sequence whose estimate is farthest from zero."""

    def interval(self, level: float, together: int, games: Floats | None = None) -> Interval:
        """Give the confidence sequences as they are now, shape (K,), one of ``together`` that hold at ``level``.

        Parameters
        ----------
        games
            Shape (N,): give them as they would be after so many games, if the estimates are the truth; shape (N, K).
        """


@dataclass(frozen=True)
class Differences:
    """K differences from zero that one verdict judges together.

    Parameters
    ----------
    estimates, se
        Shape (K,), in the unit of the margin; where the error is not-a-number, nothing is decided.
    games
        The games that they come from.
    """

    estimates: Floats
    se: Floats
    games: int
    margin: float | Floats

    @classmethod
    def of(cls, differences: Moments, margin: float | Floats) -> "Differences":
        """Take the differences from their moments."""
        return cls(differences.mean, differences.se, differences.games, margin)

    @property
    def count(self) -> int:
        return len(self.estimates)

    @property
    def farthest(self) -> int:
        return int(np.argmax(np.abs(self.estimates)))

    def interval(self, level: float, together: int, games: Floats | None = None) -> Interval:
        if games is None:
            return sequence_interval(self.estimates, self.se, self.games, level, together)
        shrunk = self.se * np.sqrt(self.games / games[:, None])
        return sequence_interval(self.estimates, shrunk, games[:, None], level, together)

    def p_value(self, level: float, together: int) -> float:
        """Give the p-value of no difference at all, adjusted for the K of them but not for all ``together``."""
        p_values = sequence_p_value(self.estimates, self.se, self.games, level, together)
        return float(min(self.count * np.min(np.nan_to_num(p_values, nan=1.0)), 1.0))


@dataclass(frozen=True)
class RareShare:
    """The share of games in which something happened, judged by whether it is below a margin.

    Parameters
    ----------
    seen
        In how many of the games it happened.
    margin
        In percent of games, as the intervals are.
    """

    seen: int
    games: int
    margin: float

    @property
    def count(self) -> int:
        return 1

    @property
    def farthest(self) -> int:
        return 0

    def interval(self, level: float, together: int, games: Floats | None = None) -> Interval:
        t = np.array([self.games]) if games is None else games[:, None]
        # A margin of half of all games or more asks nothing that takes long to answer.
        return share_sequence(
            self.seen / self.games * t, t, level, together, expected=min(self.margin / 100, 0.5)
        ).times(100)


def is_decided(interval: Interval, margin: float | Floats) -> NDArray[np.bool_]:
    """Whether the verdict on K differences is certain: all within the margin, or one beyond it.

    Parameters
    ----------
    interval
        Simultaneous intervals of the differences from zero, shape (..., K).
    margin
        One for all, or shape (K,).

    Returns
    -------
    ndarray
        Shape (...).
    """
    within = (interval.low > -margin) & (interval.high < margin)
    beyond = (interval.low > margin) | (interval.high < -margin)
    return np.asarray(within.all(axis=-1) | beyond.any(axis=-1))


def sequence_verdict(interval: Interval, margin: float | Floats) -> Verdict:
    """Judge K differences from zero by their simultaneous intervals, shape (K,).

    The four-way verdict of `craits_sim.stats.verdict`, all from one set of intervals: where these hold it is right, at
    whatever number of games they are looked at. Not-a-number decides nothing.
    """
    real = bool(np.any((interval.low > 0) | (interval.high < 0)))
    if np.all((interval.low > -margin) & (interval.high < margin)):
        return Verdict.REAL_BUT_NEGLIGIBLE if real else Verdict.NEGLIGIBLE
    return Verdict.ADVANTAGE if real else Verdict.INCONCLUSIVE


def games_to_decide(judged: Judged, level: float, together: int) -> float:
    """Give the games at which a verdict would be certain, if the estimates are the truth; infinite where never.

    Parameters
    ----------
    together
        The number of sequences that hold together at ``level``.
    """
    games = np.geomspace(FIRST_LOOK, 1e12, 2000)
    deciding = games[is_decided(judged.interval(level, together, games), judged.margin)]
    return float(deciding[0]) if len(deciding) else np.inf
