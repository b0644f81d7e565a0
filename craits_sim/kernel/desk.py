"""What bots that think work with, besides the lanes."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from craits_sim.kernel.slate import MOST_MOVES, new_slate
from craits_sim.view import MOVE_COLUMNS, VIEW_DTYPE


class Desk(NamedTuple):
    """Scratch of the bots that think."""

    slate: NDArray[np.uint64]
    seen: NDArray[np.void]  # (1,) of VIEW_DTYPE: what a bot of the user's own sees
    moves: NDArray[np.int64]  # (MOST_MOVES, columns) the moves that it may make
    asked: NDArray[np.int64]  # (2,) how often such bots were asked, and how many moves there were the last time
    trouble: NDArray[np.int64]  # (4,) set when its choice was no move: 1, its seat, what it gave, how many moves


def new_desk(thinking: bool) -> Desk:
    """Make an empty desk; for bots that do not think, one without room for moves."""
    return Desk(
        slate=new_slate(thinking),
        seen=np.zeros(1, VIEW_DTYPE),
        moves=np.zeros((MOST_MOVES, len(MOVE_COLUMNS)), np.int64),
        asked=np.zeros(2, np.int64),
        trouble=np.zeros(4, np.int64),
    )
