"""Checks of an installation: the random numbers, the shuffle, the games, the speed of the machine code.

Every check plays with fixed seeds: on every machine it sees the same games, so that it fails for a fault and never by
chance. A check says in a few words what it has seen, or raises `CheckFailed`.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import factorial, hypot, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from craits_sim import aggregate, runner
from craits_sim.bots import parse_bots
from craits_sim.design import DesignPoint
from craits_sim.kernel import simulate_batch
from craits_sim.kernel.shuffles import shuffle_decks
from craits_sim.kernel.streams import advance, philox
from craits_sim.kernel.vectors import WORD_BITS, step_loops
from craits_sim.results import WIN_UNIT, Batch
from craits_sim.rules import RulesError, load_rules, preset_names
from craits_sim.stats import Floats
from craits_sim.studies.base import Sums, cross_sums, moments

Decks = NDArray[np.uint8]

SMALLEST_P = 1e-6
"""A shuffle fails below this p-value: a good one would in a millionth of all seeds."""

LARGEST_Z = 5.0
"""The largest difference from a known figure, in standard errors."""


class CheckFailed(Exception):
    """What a check has found wrong, for people."""


class Result(NamedTuple):
    """What came of a check."""

    name: str
    ok: bool
    detail: str  # what was seen, or why it failed


# --- Random numbers -----------------------------------------------------------------------------------------

PHILOX_VECTORS = (
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
)
"""Counter, key and block of Philox4x32-10: the known answers that come with Random123."""

XOROSHIRO_VECTOR = (
    *(393217, 669327710093319, 1732421326133921491, 11394790081659126983, 9555452776773192676),
    *(3586421180005889563, 1691397964866707553, 10735626796753111697, 15216282715349408991, 14247243556711267923),
)
"""The first numbers of xoroshiro128++ from the state (1, 2), as its authors' program gives them."""


def check_philox() -> str:
    for counter, key, block in PHILOX_VECTORS:
        given = tuple(int(word) for word in philox(*map(np.uint64, counter + key)))
        if given != block:
            raise CheckFailed(f"the block of counter {counter} and key {key} is {given}, published is {block}")
    return f"{len(PHILOX_VECTORS)} published blocks"


def check_xoroshiro() -> str:
    state = np.uint64(1), np.uint64(2)
    for place, published in enumerate(XOROSHIRO_VECTOR):
        number, *state = advance(*map(np.uint64, state))
        if int(number) != published:
            raise CheckFailed(f"number {place} is {int(number)}, published is {published}")
    return f"{len(XOROSHIRO_VECTOR)} published numbers"


# --- The shuffle --------------------------------------------------------------------------------------------


def shuffled_decks(games: int, seed: int, cards: int = 52) -> Decks:
    """Shuffle sorted decks as the kernel does, one for each game; shape (games, cards), cards numbered from 0."""
    decks = np.tile(np.arange(cards, dtype=np.uint8), (games, 1))
    shuffle_decks(decks, np.uint64(seed))
    return decks


def p_of_places(decks: Decks) -> float:
    """Give the p-value of a chi-square test that each card is equally likely at each place."""
    games, cards = decks.shape
    cells = decks.astype(np.int64) * cards + np.arange(cards)
    # Rows and columns of the table all add up to the number of games: (cards - 1)**2 degrees of freedom are left.
    statistic = _chi_square(np.bincount(cells.ravel(), minlength=cards**2), games / cards) * (cards - 1) / cards
    return float(stats.chi2.sf(statistic, (cards - 1) ** 2))


def p_of_pairs(decks: Decks, place: int) -> float:
    """Give the p-value of a chi-square test that each pair of cards is equally likely at a place and the next."""
    games, cards = decks.shape
    pairs = np.bincount(decks[:, place].astype(np.int64) * cards + decks[:, place + 1], minlength=cards**2)
    different = ~np.eye(cards, dtype=bool).ravel()
    statistic = _chi_square(pairs[different], games / (cards * (cards - 1)))
    return float(stats.chi2.sf(statistic, cards * (cards - 1) - 1))


def p_of_fixed_points(decks: Decks) -> float:
    """Give the p-value of a chi-square test of how many cards stay where they were: Poisson with mean 1."""
    games, cards = decks.shape
    most = 6
    fixed = np.minimum((decks == np.arange(cards)).sum(axis=1), most)
    shares = np.array([np.exp(-1) / factorial(count) for count in range(most)])
    expected = games * np.append(shares, 1 - shares.sum())
    statistic = _chi_square(np.bincount(fixed, minlength=most + 1), expected)
    return float(stats.chi2.sf(statistic, most))


def _chi_square(seen: NDArray[np.int64], expected: Any) -> float:
    return float(((seen - expected) ** 2 / expected).sum())


def check_shuffle() -> str:
    decks = shuffled_decks(100_000, seed=1)
    p_values = {
        "cards by place": p_of_places(decks),
        "pairs at the top": p_of_pairs(decks, 50),
        "pairs in the middle": p_of_pairs(decks, 25),
        "cards left in place": p_of_fixed_points(decks),
    }
    for name, p_value in p_values.items():
        if p_value < SMALLEST_P:
            raise CheckFailed(f"{name}: p = {p_value:.2g}")
    return f"{len(decks):,} decks, smallest p-value {min(p_values.values()):.2f}"


# --- Games --------------------------------------------------------------------------------------------------


def check_conservation() -> str:
    points = []
    for preset in preset_names():
        for players in range(2, 6):
            try:
                rules = load_rules(preset, {"players": players})
            except RulesError:  # partners are four
                continue
            bots = parse_bots("random:forget=0.1,greedy,random,random,random", 5)[:players]
            points.append(DesignPoint({}, rules, bots))
    runner.get_ready(points)
    batches = [simulate_batch(point.rules, point.bots, 1, 0, 100, checks=True) for point in points]
    rounds = sum(batch.turns.size for batch in batches)
    return f"{rounds:,} rounds of {len(preset_names())} presets, every card in its place and every play legal"


def check_threads() -> str:
    rules = load_rules("classic", {"players": 3})
    point = DesignPoint({}, rules, parse_bots("random", 3))
    alone, *together = (
        runner.run([point], aggregate.tally, games=4000, seed=1, threads=threads) for threads in (1, 2, 4)
    )
    for sums in together:
        for name, values in alone.items():
            if not np.array_equal(values, sums[name]):
                raise CheckFailed(f"{name} depends on the number of threads")
    return "1, 2 and 4 threads give the same sums"


def check_vectors() -> str:
    loops = step_loops(load_rules("classic"), parse_bots("random", 4))
    if not any(loop.bits for loop in loops):
        raise CheckFailed("the simulator was compiled without vectors: games take several times as long")
    widths = sorted({loop.bits for loop in loops}, reverse=True)
    games = ", ".join(f"{bits // WORD_BITS} games an instruction" if bits else "single words" for bits in widths)
    return f"{' and '.join(f'{bits}-bit' for bits in widths if bits)} vectors: {games}"


# --- The yardstick ------------------------------------------------------------------------------------------

YARDSTICK_GAMES = 100_000

KNOWN: dict[int, dict[str, tuple[tuple[float, ...], tuple[float, ...]]]] = {
    2: {
        "per_round": (
            (52.8661, 28.2713, 0.296686, 0, 2.01057, 5.81401),
            (0.00385, 0.00223, 4.91e-05, 0, 0.00015, 0.000431),
        ),
        "wins": ((0.497483, 0.502517), (0.000158, 0.000158)),
        "totals": ((495.498, 493.532), (0.0573, 0.0572)),
        "went_out": ((0.49839, 0.50161), (4.08e-05, 4.08e-05)),
        "points": ((32.9302, 33.0052), (0.00382, 0.00381)),
        "turns_of_round": (
            (
                66.1164,
                63.075,
                59.9194,
                56.53,
                52.6711,
                47.5695,
                39.264,
                22.6263,
                39.2889,
                47.569,
                52.7015,
                56.5466,
                59.9192,
                63.0441,
                66.1497,
            ),
            (
                0.0152,
                0.0152,
                0.0152,
                0.0151,
                0.0151,
                0.015,
                0.0146,
                0.0124,
                0.0146,
                0.015,
                0.0151,
                0.0152,
                0.0152,
                0.0152,
                0.0152,
            ),
        ),
        "sd_total": ((181.1, 180.86), (0.0405, 0.0404)),
    },
    4: {
        "per_round": (
            (58.3317, 34.1704, 0.692554, 0, 2.57927, 7.96019),
            (0.00342, 0.00217, 6.4e-05, 0, 0.000161, 0.00046),
        ),
        "wins": ((0.245208, 0.247817, 0.252549, 0.254426), (0.000136, 0.000136, 0.000137, 0.000138)),
        "totals": ((697.02, 695.508, 692.948, 691.884), (0.0588, 0.0587, 0.0588, 0.0587)),
        "went_out": ((0.241407, 0.258688, 0.254726, 0.245179), (3.49e-05, 3.57e-05, 3.56e-05, 3.51e-05)),
        "points": ((46.2368, 46.2597, 46.2585, 46.4024), (0.00391, 0.00392, 0.00392, 0.00392)),
        "turns_of_round": (
            (
                91.3048,
                82.3857,
                73.0745,
                63.3616,
                53.1073,
                41.6667,
                27.8452,
                9.5592,
                27.8372,
                41.6901,
                53.0772,
                63.3564,
                73.0599,
                82.3858,
                91.264,
            ),
            (
                0.0149,
                0.0146,
                0.0143,
                0.0139,
                0.0133,
                0.0125,
                0.011,
                0.00698,
                0.011,
                0.0125,
                0.0133,
                0.0139,
                0.0143,
                0.0146,
                0.0149,
            ),
        ),
        "sd_total": ((185.94, 185.75, 185.79, 185.64), (0.0416, 0.0415, 0.0415, 0.0415)),
    },
}
"""What classic rules come to with 2 and 4 random players: estimates and their standard errors.

Of 10,000,000 games of an independent program, ``tests/benchmarks/yardstick.cpp``; the keys are those of `_tally`.
``per_round`` lists the quantities of `aggregate.PER_ROUND`, ``turns_of_round`` rounds, the others positions or offsets.
"""


def check_yardstick(players: int) -> str:
    """Compare classic games of random bots with the known figures (RULES.md "Random play, the yardstick")."""
    rules = load_rules("classic", {"players": players})
    point = DesignPoint({}, rules, parse_bots("random", players))
    sums = runner.run([point], _tally, games=YARDSTICK_GAMES, seed=1, threads=2)
    figures = 0
    largest = 0.0
    for name, (estimates, errors) in _estimates(sums, len(rules.deals)):
        for place, (known, known_error) in enumerate(zip(*KNOWN[players][name], strict=True)):
            difference, error = abs(estimates[place] - known), hypot(errors[place], known_error)
            if difference > LARGEST_Z * error:
                raise CheckFailed(
                    f"{name}[{place}] is {estimates[place]:.5g}, known is {known:.5g}: "
                    f"the standard error of the difference is {error:.2g}"
                )
            figures += 1
            largest = max(largest, difference / error if error else 0)
    return f"{YARDSTICK_GAMES:,} games, {figures} figures within {largest:.1f} standard errors of the known ones"


def _tally(batches: Sequence[Batch]) -> Sums:
    return {**aggregate.tally(batches), **cross_sums("turns_of_round", batches[0].turns)}


def _estimates(sums: Sums, rounds: int) -> Iterator[tuple[str, tuple[Floats, Floats]]]:
    """Give name, estimates and standard errors of each kind of figure in `KNOWN`."""
    units = {
        "per_round": rounds,
        "wins": WIN_UNIT,
        "totals": 1,
        "went_out": rounds,
        "points": rounds,
        "turns_of_round": 1,
    }
    for name, unit in units.items():
        means = moments(sums, name, unit)
        yield name, (means.mean, means.se)
    deviations = np.sqrt(np.diagonal(moments(sums, "totals").covariance))
    yield "sd_total", (deviations, deviations / sqrt(2 * YARDSTICK_GAMES))


# --- All of them --------------------------------------------------------------------------------------------

CHECKS: dict[str, Callable[[], str]] = {
    "philox4x32-10": check_philox,
    "xoroshiro128++": check_xoroshiro,
    "shuffle": check_shuffle,
    "cards and plays": check_conservation,
    "threads": check_threads,
    "vectors": check_vectors,
    "yardstick, 2 players": partial(check_yardstick, 2),
    "yardstick, 4 players": partial(check_yardstick, 4),
}
"""Every check by its name, in the order in which they are made."""


def perform(name: str) -> Result:
    """Make a check. One that breaks down has failed, whatever the reason."""
    try:
        return Result(name, True, CHECKS[name]())
    except CheckFailed as failure:
        return Result(name, False, str(failure))
    except Exception as error:
        return Result(name, False, f"{type(error).__name__}: {error}")
