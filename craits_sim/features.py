"""What a careful bot looks at when it compares its moves, and the files that say how much each thing weighs.

A *move* is a card that may be played, with the suit to follow after it. Its score is the sum of its features, each
times a weight; the bot makes the move of the highest score. Features are whole numbers and are read from the rules that
are played, so that the same weights mean something under a house rule.

Words used below. The *rest* is the hand without the card. A seat is *near* going out by 4 minus its cards, at least 0:
3 with one card left, 0 with four or more. A move *can be followed* by a card that could be played on it (RULES.md R8).
Cards are *unseen* by a seat that are neither in its hand nor in the discard pile, the top card included.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from pathlib import Path

from craits_sim.text import nearest, toml_value

FEATURES: dict[str, str] = {
    "shed": "points by which the hand gets cheaper, the effect of its 3s included (RULES.md R17, R18)",
    "shed_late": "the same, times how near the nearest other seat is to going out",
    "shed_behind": "the same, times the seat's standing: whole 20s of points behind the best other total, -5 to 5",
    "three": "1 for a 3, where 3s cancel cards or give a bonus (R18)",
    "wild": "1 for a card that can be played on anything or names the suit",
    "wild_late": "the same, times how near the nearest other seat is to going out",
    "follows": "cards of the rest that can follow the move",
    "suit": "cards of the rest in the suit to follow",
    "stuck": "1 if there is a rest and no card of it can follow the move",
    "last_follows": "1 if the rest is one card and can follow the move",
    "unseen": "unseen cards that can follow the move",
    "next_near": "how near the seat that acts next is to going out, 0 if the player does itself",
    "skips": "seats that lose a turn",
    "skips_near": "the same, times how near the neighbor is to going out",
    "draws": "cards that others have to draw by the ability of the card",
    "draws_near": "cards that the neighbor has to draw by it, times how near it is to going out",
    "again": "1 if the player takes another turn and a card of the rest can follow the move",
    "again_stuck": "1 if the player takes another turn, there is a rest and no card of it can follow the move",
    "crank_starts": "1 if the card starts a crank (R14)",
    "crank_answers": "cards of the rest that can be played in a crank, if there is one after the move",
    "crank_danger": "the count of the crank after the move, if no card of the rest can be played in it",
    "crank_kept": "1 if the card could be kept for a crank and there is none after the move",
}
"""What each feature counts, by its name, in the order of the columns that the kernel computes."""

UNIT = 1000
"""Weights are kept to this part of one, so that a score is a sum of whole numbers and the same on every machine."""

LARGEST_WEIGHT = 1000.0

TABLES = ("weights", "provenance", "search")
"""What a file of weights may hold: weights, where they come from, and what a search for better ones goes on from."""

_FOLDER = Path(__file__).parent / "weights"


class WeightsError(ValueError):
    """A file of weights that cannot be read; its text is one line for the user."""


def load_weights(path: Path) -> tuple[int, ...]:
    """Read a file of weights: a TOML table ``[weights]`` of numbers by feature; those it leaves out are 0.

    The other `TABLES` are not looked at.

    Returns
    -------
    tuple of int
        One weight a feature, in 1 / `UNIT`.

    Raises
    ------
    WeightsError
        If the file cannot be read, has another table, names an unknown feature, or a weight is no number of at most
        `LARGEST_WEIGHT`.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:  # numbers of thousands of digits are no TOMLDecodeError
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise WeightsError(f"{path}: {reason}") from None
    for name in table:
        if name not in TABLES:
            raise WeightsError(
                f"{path}: {_shown(name)} is no table; allowed are {', '.join(TABLES)}{nearest(name, TABLES)}"
            )
    weights = table.get("weights")
    if not isinstance(weights, Mapping) or not weights:
        raise WeightsError(f"{path}: there is no table [weights]; allowed are the features {', '.join(FEATURES)}")
    for name, weight in weights.items():
        if name not in FEATURES:
            allowed = f"allowed are {', '.join(FEATURES)}{nearest(name, FEATURES)}"
            raise WeightsError(f"{path}: weights.{_shown(name)} is no feature; {allowed}")
        is_number = isinstance(weight, int | float) and not isinstance(weight, bool)
        if not (is_number and abs(weight) <= LARGEST_WEIGHT):
            allowed = f"allowed are numbers from {-LARGEST_WEIGHT:g} to {LARGEST_WEIGHT:g}"
            raise WeightsError(f"{path}: weights.{name} = {toml_value(weight)}: {allowed}")
    return tuple(round(weights.get(name, 0) * UNIT) for name in FEATURES)


def _shown(key: str) -> str:
    return key if key.isprintable() else toml_value(key)


def shipped_weights(name: str, players: int) -> Path:
    """Give the file of the weights that come with the package.

    Parameters
    ----------
    name
        ``careful``, the same for all tables, or ``tuned``: found for classic at each table of 2 to 5 by searches of
        ``craits tune``, the last of which each file describes; a larger table takes those of 5.
    players
        Seats of the table.
    """
    return _FOLDER / ("careful.toml" if name == "careful" else f"tuned-{min(players, 5)}.toml")


def digest_of(weights: tuple[int, ...]) -> str:
    """Give eight hexadecimal digits that tell weights of the same name apart."""
    return hashlib.sha256(repr(weights).encode()).hexdigest()[:8]
