"""Where the moves that bots weigh lie: those of all lanes side by side in one flat array, as lanes do (``lanes.py``).

A bot compares few moves at a time, but 64 lanes together have some hundred. So all that think at once write their moves
one after the other on the slate, and one straight loop over the slate computes the features of all (``moves.py``).
"""

import numpy as np

from craits_sim.features import FEATURES
from craits_sim.kernel.lanes import LANES, aligned_zeros

MOST_MOVES = 208
"""Moves of one lane: every card of a deck with every suit; of two copies of a card one is a move."""

BLOCK = np.uint64(16)
"""Moves that are computed together, a whole number of vectors."""

MOVES = int(LANES) * MOST_MOVES

ROW = np.uint64(MOVES + 72)
"""Words from one row to the next; no power of two, for the reason given in ``lanes.py``."""

_names = iter(range(100))


def _row() -> np.uint64:
    """Set aside a row."""
    return np.uint64(next(_names)) * ROW


# The move, and what it is judged by.
CARD = _row()  # its code
NEW_SUIT = _row()  # the suit to follow after it, 0 to 3
REST = _row()  # the hand without the card
SECOND_REST = _row()
UNSEEN = _row()
SECOND_UNSEEN = _row()
SHED_POINTS = _row()  # signed
SITUATION = _row()  # the same for all moves of a lane, in fields of one word

# The fields of a situation, above those of lanes.NEAR_SEATS. One word: with seven, a careful bot is 4 % slower.
AT_NEAREST = np.uint64(30)  # three bits: lanes.NEAREST
AT_FORWARD = np.uint64(33)  # one bit: lanes.FORWARD
AT_SEAT = np.uint64(34)  # four bits, as the next two
AT_STANDING = np.uint64(38)  # signed
AT_WEIGHING = np.uint64(42)  # by which row of weights it is scored
AT_CRANK = np.uint64(46)  # lanes.CRANK

SCORE = _row()  # signed
# The features (`craits_sim.features`), signed.
(
    SHED,
    SHED_LATE,
    SHED_BEHIND,
    THREE,
    WILD,
    WILD_LATE,
    FOLLOWS,
    SUIT,
    STUCK,
    LAST_FOLLOWS,
    UNSEEN_FOLLOWS,
    NEXT_NEAR,
    SKIPS,
    SKIPS_NEAR,
    DRAWS,
    DRAWS_NEAR,
    AGAIN,
    AGAIN_STUCK,
    CRANK_STARTS,
    CRANK_ANSWERS,
    CRANK_DANGER,
    CRANK_KEPT,
) = (_row() for _ in FEATURES)
FIRST_FEATURE = SHED
ALL_FEATURES = len(FEATURES)

_WORDS = next(_names) * int(ROW)


def new_slate(thinking: bool) -> np.ndarray:
    """Make an empty slate; for bots that do not think, one without room.

    Aligned as the lanes are: where vectors lie across cache lines, weighing takes a third longer.
    """
    return aligned_zeros(_WORDS if thinking else 0)
