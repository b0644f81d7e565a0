"""Whole shuffles, for those who test them; the deal itself stops when its cards are dealt."""

import numpy as np

from craits_sim.kernel._jit import compiled
from craits_sim.kernel.deal import shuffle_on
from craits_sim.kernel.streams import DECK, open_stream
from craits_sim.kernel.words import U0


@compiled
def shuffle_decks(decks, seed):
    """Shuffle each row of ``decks`` with the stream and the steps of the deal of the first round of a game.

    Parameters
    ----------
    decks : uint8 array, shape (N, C)
        Row g is shuffled as in game g; C is 104 or less.
    seed : uint64
    """
    for game in range(len(decks)):
        deck = decks[game]
        s0, s1 = open_stream(seed, np.uint64(game), U0, DECK)
        for left in range(len(deck), 0, -1):
            _, s0, s1 = shuffle_on(deck, np.uint64(left), s0, s1)
