"""What a bot of your own sees: one number for each thing, and a table of the moves that it may make.

A bot is a function ``choose(view, moves)`` in a Python file, in the Python that numba compiles (numbers, loops, numpy
arrays). It gives the number of the move that it makes: the row of ``moves``, from 0. See ``experiments/mybot.py``.

It must choose by what it is given alone, so that the same seed plays the same games: for chance there is
``view.random``, while numpy's random numbers would differ from run to run.

*View*: a record of the fields of `VIEW_DTYPE`; ``view.players`` and ``view.cards_of[seat]`` read them. Seats are
numbers from 0, clockwise, and ``view.seat`` is the bot's own. What others hold is not there; how many cards they hold
is.

*Moves*: an int64 array of one row a move and the columns of `MOVE_COLUMNS`: the card, the suit to follow after it, and
the features by which careful weighs the move (`craits_sim.features.FEATURES`). Each column has a name in capitals here:
``moves[k, FOLLOWS]``. A card that may name the suit has a row for each suit.
"""

import numpy as np

from craits_sim.features import FEATURES

SEATS = 10
"""Length of the fields that have an entry a seat; those of seats that are not at the table are 0."""

VIEW_DTYPE = np.dtype(
    [
        ("players", np.int64),  # 2 to 10
        ("seat", np.int64),  # the bot's own
        ("dealer", np.int64),  # seat
        ("round", np.int64),  # from 0
        ("rounds", np.int64),  # of the game
        ("turn", np.int64),  # turns of this round before this one
        ("starter", np.int64),  # 1 if the bot, as dealer, names the suit of the card that it has turned up
        ("direction", np.int64),  # 1 clockwise, -1 the other way
        ("crank", np.int64),  # its count, 0 outside a crank
        ("top_rank", np.int64),  # of the top card: 0 (A) to 12 (K)
        ("suit", np.int64),  # the suit to follow: 0 (C), 1 (D), 2 (H) or 3 (S)
        ("stock", np.int64),  # cards in the stock
        ("discards", np.int64),  # cards under the top card
        ("cards_of", np.int64, SEATS),  # cards that each seat holds
        ("totals", np.int64, SEATS),  # points of each seat before this round
        ("held", np.int64, 13),  # cards of each rank in the bot's hand
        ("held_of_suit", np.int64, 4),  # cards of each suit in the bot's hand
        ("unseen", np.int64, 13),  # cards of each rank that the bot has not seen: not in its hand nor in the pile
        ("unseen_of_suit", np.int64, 4),
        ("random", np.int64),  # a random number from 0 to 2**63 - 1, another at each turn
    ]
)
"""The fields of a view, all int64."""

MOVE_COLUMNS = ("card", "suit", *FEATURES)
"""The columns of the moves: ``card`` is suit * 16 + rank (`craits_sim.cards`), ``suit`` a number from 0 to 3."""

CARD, SUIT = 0, 1
(
    SHED,
    SHED_LATE,
    SHED_BEHIND,
    THREE,
    WILD,
    WILD_LATE,
    FOLLOWS,
    SUIT_HELD,
    STUCK,
    LAST_FOLLOWS,
    UNSEEN,
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
) = range(2, 2 + len(FEATURES))
