"""Random streams: one for each seed, game, round and purpose.

A stream starts from one block of Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy
as 1, 2, 3") whose key is the seed and whose counter is (game, round, purpose), and runs on as xoroshiro128++ (Blackman,
Vigna 2021, "Scrambled linear pseudorandom number generators"). Variant, bots, threads and chunks are not in the
counter: any game can be played again alone, and two variants meet the same deals (common random numbers).

All functions take and give uint64; called from Python they need ``np.uint64`` arguments, for numba would take a plain
integer for a signed one.

=========  =====================================================
key        seed, low and high 32 bits
counter    game (low 32, high 32), round, purpose
state      output words 0, 1 and 2, 3, each pair low half first
=========  =====================================================
"""

import numpy as np

from craits_sim.kernel._jit import inlined

RNG_LAYOUT = "philox4x32-10/xoroshiro128++/1"
"""Names the layout; a result can be repeated by any version that has the same one."""

DECK, CHOICES, FIRST_DEALER = (np.uint64(n) for n in range(3))
"""Purposes: deal, draws and starter of a round; what its bots choose; who deals first in a game."""

REPLAY = np.uint64(8)
"""The bit of a purpose above which the number of a replay stands: the same deals with other choices."""

IMAGINED = np.uint64(1 << 31)
"""The first of the purposes of imagined worlds, one for each turn and world (``rollout.py``)."""

_HALF = np.uint64(0xFFFF_FFFF)
_BITS_32 = np.uint64(32)
_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint64(0x9E3779B9), np.uint64(0xBB67AE85))


@inlined
def philox(c0, c1, c2, c3, k0, k1):
    """Give the four 32-bit words (as uint64) of the Philox4x32-10 block of a counter and a key of 32-bit words."""
    for _ in range(10):
        p0 = _MULTIPLIERS[0] * c0
        p1 = _MULTIPLIERS[1] * c2
        c0, c1, c2, c3 = (p1 >> _BITS_32) ^ c1 ^ k0, p1 & _HALF, (p0 >> _BITS_32) ^ c3 ^ k1, p0 & _HALF
        k0 = (k0 + _WEYL[0]) & _HALF
        k1 = (k1 + _WEYL[1]) & _HALF
    return c0, c1, c2, c3


@inlined
def open_stream(seed, game, round_, purpose):
    """Give the first state (two words) of a stream.

    All arguments are uint64; ``round_`` and ``purpose`` must be below 2**32. The all-zero state, from which
    xoroshiro128++ never leaves, would come up once in 2**128 streams.
    """
    w0, w1, w2, w3 = philox(game & _HALF, game >> _BITS_32, round_, purpose, seed & _HALF, seed >> _BITS_32)
    return w0 | (w1 << _BITS_32), w2 | (w3 << _BITS_32)


@inlined
def rotate(word, by):
    """Rotate a word left by 1 to 63 bits."""
    return (word << np.uint64(by)) | (word >> np.uint64(64 - by))


@inlined
def advance(s0, s1):
    """Give the next 64 random bits of a stream and its new state: one step of xoroshiro128++."""
    z = rotate(s0 + s1, 17) + s0
    s1 ^= s0
    return z, rotate(s0, 49) ^ s1 ^ (s1 << np.uint64(21)), rotate(s1, 28)


@inlined
def below(z, n):
    """Turn random bits into an integer from 0 to n - 1 (n below 2**32).

    It is the high half of a 32-bit word times n. Some values are more likely than others by less than n/2**32: for a
    deck of 104 cards, 2.4e-8, far below what any number of games that can be played shows.
    """
    return ((z >> _BITS_32) * n) >> _BITS_32
