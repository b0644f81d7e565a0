"""The numbers that a command line or an experiment file may give: how they are read and what is allowed."""

import os
from dataclasses import dataclass
from decimal import Decimal

from craits_sim.text import toml_value

_SUFFIXES = {"k": 1_000, "m": 1_000_000}


class NumberError(ValueError):
    """A value that is no number, or a number outside the allowed range."""


@dataclass(frozen=True)
class Whole:
    """The whole numbers from ``low`` to ``high``, also written ``100_000``, ``100k``, ``1e5`` or ``1m``."""

    low: int
    high: int

    def __str__(self) -> str:
        return f"whole numbers from {self.low:,} to {self.high:,}"

    def parse(self, value: object) -> int:
        """Read a number or its text.

        Raises
        ------
        NumberError
            If the value is no number, no whole number, or outside the range.
        """
        number = _decimal(value)
        # The range comes first: the remainder of a huge number cannot be computed.
        if number is None or not self.low <= number <= self.high or number % 1:
            raise NumberError(f"{toml_value(value)}: allowed are {self}")
        return int(number)


@dataclass(frozen=True)
class Real:
    """The numbers between ``low`` and ``high``, the bounds left out where ``bounds`` is false.

    ``unit`` is what they count, for messages; a number is given without it.
    """

    low: float
    high: float
    bounds: bool = False
    unit: str = ""

    def __str__(self) -> str:
        words = ("from", "to") if self.bounds else ("above", "and below")
        unit = f", in {self.unit}" if self.unit else ""
        return f"numbers {words[0]} {self.low:,} {words[1]} {self.high:,}{unit}"

    def parse(self, value: object) -> float:
        """Read a number or its text.

        Raises
        ------
        NumberError
            If the value is no number or outside the range; not-a-number and infinity are.
        """
        number = _decimal(value)
        if number is None or not (self.low <= number <= self.high if self.bounds else self.low < number < self.high):
            raise NumberError(f"{toml_value(value)}: allowed are {self}")
        return float(number)


GAMES = Whole(1, 10**10)
"""The limit keeps the 64-bit sums of squares exact, for totals of up to 30,000 points a game."""

SEED = Whole(0, 2**64 - 1)
THREADS = Whole(1, 1024)
PLAYERS = Whole(2, 10)

POINTS = Whole(1, 1000)
"""Design points."""

LEVEL = Real(0.5, 1)
"""Above 0.5, because a test of equivalence uses the interval of level ``2 * level - 1``."""

MARGIN = Real(0, 1_000_000)
STUDY_OPTION = Real(0, 1_000_000, bounds=True)

GENERATIONS = Whole(1, 100_000)
"""Of a search for weights."""

SIGMA = Real(0, 100)


def _decimal(value: object) -> Decimal | None:
    """Give the finite decimal number that a value or its text stands for, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    text = str(value).strip().lower()
    factor = _SUFFIXES.get(text[-1:], 1)
    try:
        number = Decimal(text[:-1] if factor > 1 else text) * factor
    except ArithmeticError:
        return None
    return number if number.is_finite() else None


def usable_cpus() -> int:
    """Count the CPUs that this process may use: as many threads play unless the user says otherwise."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
