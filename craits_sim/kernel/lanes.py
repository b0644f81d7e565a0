"""Where each quantity of a game lies: 64 games side by side in one flat array.

A *lane* is one game in play. Quantity by quantity the 64 lanes stand beside each other, so that one vector instruction
does the same thing for eight games:

    lanes[PLAYER + lane]               the seat to act in each lane
    lanes[HANDS + STRIDE * seat + lane] what that seat holds

Every name below is the start of such a *row*. All rows lie in one array, at constant distances: LLVM then sees that a
write to one row cannot touch another. With an array each it would have to check that at run time, and would not
vectorize.
"""

from enum import IntEnum

import numpy as np

from craits_sim.encode import MAX_PLAYERS

LANES = np.uint64(64)
"""Games in lockstep: a word has a bit for each, and all their rows fit into a first-level cache of 32 kB."""

STRIDE = LANES + np.uint64(8)
"""Words from one row to the next. With 64, rows would lie a power of two apart, share their places in the cache, and be
taken for each other where one is read soon after another is written (6 % slower)."""

MAX_DECKS = 2


class Status(IntEnum):
    """Whether a lane runs, or why it waits for the referee. A waiting lane still draws the cards that are owed."""

    RUNNING = 0
    PLAYING_OUT = 1  # somebody went out, and the player answers the crank or pays (RULES.md R16)
    WENT_OUT = 2  # the player has emptied its hand
    ANSWERED = 3  # the player has answered or paid in a crank that is played out
    KEPT_IN = 4  # a seat has emptied its hand with a card that keeps it in play (going_out.again, .on_ability)
    BLOCKED = 5
    TRUNCATED = 6
    IDLE = 7  # no game left for this lane


_names = iter(range(100))


def _row(width: int = 1) -> np.uint64:
    """Set aside ``width`` rows."""
    first = next(_names)
    for _ in range(width - 1):
        next(_names)
    return np.uint64(first) * STRIDE


# The table. Cards lie in sets, one word a deck: the next row is the second deck's.
STOCK = _row(MAX_DECKS)
TOP = _row(MAX_DECKS)  # the top card, a set of one
DISCARDS = _row(MAX_DECKS)  # the cards under it
OFFERED = _row(MAX_DECKS)  # what a play is restricted to: all cards, the one that a script or bot chose, or none
SUIT = _row()  # the suit to follow, as the set of its cards
NAMED = _row()  # the suit that a script or a bot names with its next card, as a set; empty: its bot chooses
MATCHING = _row()  # the cards whose rank matches the top card
FORWARD = _row()  # 1 clockwise, 0 the other way
CRANK = _row()  # the count, 0 outside a crank

# Whose turn it is, and how it goes.
PLAYER = _row()  # the seat to act
STATUS = _row()
TURNS = _row()  # of this round, all seats
DUG = _row()  # cards that the player has drawn this turn, where it may play after drawing
IDLE_TURNS = _row()  # turns in a row in which no card moved (RULES.md R13)

# Cards that are still to be drawn.
OWED = _row()  # encode.OWED_NOW and its like
DRAWER = _row()

# The two random streams of the round.
DECK_S0 = _row()
DECK_S1 = _row()
CHOICE_S0 = _row()
CHOICE_S1 = _row()

# For bots that think: what they see at their turn.
NEAR_SEATS = _row()  # how near each seat is to going out, three bits a seat
NEAREST = _row()  # the nearest seat but the player
HAND = _row(MAX_DECKS)  # the player's
PLAYABLE = _row(MAX_DECKS)  # the cards of it that may be played
STANDINGS = _row()  # how each seat stands in the game, four bits a seat, signed

# From one part of a step to the next.
SOURCE = _row(MAX_DECKS)  # the cards of which one moves
PICK = _row()  # which of them, counted from the lowest
MOVED = _row(MAX_DECKS)  # that card, a set of one; empty where none moves
FLAGS = _row()  # PLAYS and its like, and above them random bits

# What is counted, in small fields of one word, which go to the ledger before they can overflow.
COUNTS = _row()  # sixteen bits each: cards drawn, those that pay a crank, reshuffles, cranks started
TURNS_BY_SEAT = _row()  # `seat_field` bits a seat
SKIPS_BY_SEAT = _row()
FORCED_BY_SEAT = _row()

# What only the referee uses.
WINNER = _row()  # the seat that went out first, NOBODY while none has
UNANNOUNCED = _row()  # 1 + the seat that has one card left and may have forgotten to announce it, else 0
PASSED_OVER = _row()  # a bit for each seat that loses its next turn (RULES.md R10)
GAME = _row()  # its index
ROUND = _row()
DEALER = _row()

HANDS = _row(MAX_PLAYERS * MAX_DECKS)  # first decks' cards of seats 0 to 9, then second decks'

# Details of a batch. They come last: a build without them has no use for this memory.
CHOICE_TURNS = _row()  # turns of this round in which more than one card could be played
ENDED_CRANKS = _row()  # counts of the cranks that ended since the referee last looked, `ENDED_CRANK` bits each
PAID_BY_SEAT = _row()  # cards drawn to pay a crank, `seat_field` bits a seat

ROWS = next(_names)
SECOND_DECK = STRIDE  # from a row of a first deck to that of the second
SECOND_HANDS = HANDS + np.uint64(MAX_PLAYERS) * STRIDE
NOBODY = np.uint64(MAX_PLAYERS)
PLAYS, DRAWS, RESHUFFLES = (np.uint64(1 << place) for place in range(3))  # in FLAGS
RANDOM_BITS = np.uint64(3)  # where they start in FLAGS
COUNT_FIELD = np.uint64(16)
STEPS_BETWEEN = 3
"""Steps from one look of the referee to the next; a lane that waits does so for half of them."""

ENDED_CRANK = np.uint64(32)
"""Bits for the count of an ended crank: two fit into a word, and no more can end between two looks. A crank starts in
one step and ends in another, so that of three steps in a row two at most, the first and the last, end one."""


def aligned_zeros(words: int) -> np.ndarray:
    """Make an array of zeros, aligned so that no vector lies across two cache lines."""
    padded = np.zeros(words + 8, np.uint64)
    start = -padded.ctypes.data // 8 % 8
    return padded[start : start + words]


def new_lanes() -> np.ndarray:
    """Make the array of 64 lanes without games."""
    lanes = aligned_zeros(ROWS * int(STRIDE))
    lanes[int(STATUS) : int(STATUS + LANES)] = Status.IDLE
    lanes[int(OFFERED) : int(OFFERED + SECOND_DECK + LANES)] = 0xFFFF_FFFF_FFFF_FFFF
    return lanes
