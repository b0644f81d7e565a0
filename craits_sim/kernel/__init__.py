"""Everything compiled, and the only place that imports numba.

===============  ====================================================================================
``_jit``         how functions are compiled, and where compiled code is kept
``words``        64-bit words: selects, bit counts, the k-th card of a set
``streams``      random numbers
``build``        the table sizes that are compiled
``lanes``        where each quantity of 64 games in lockstep lies
``step``         one card drawn or played in every lane: the inner loop
``table``        one lane, read between steps
``ledger``       what is kept of a lane's game and round besides its table
``deal``         the start of a round
``score``        what a hand counts
``details``      the details of a batch, counted on demand
``watch``        what hangs on single cards: events, shuffle pressure, announcements, checks
``script``       positions set up by a user, moves played as written
``referee``      the rare and the intricate between steps; the end of rounds and games
``simulate``     the loop, and `simulate_batch`
===============  ====================================================================================
"""

from craits_sim.kernel.simulate import KernelError, simulate_batch
from craits_sim.kernel.streams import RNG_LAYOUT

__all__ = ["RNG_LAYOUT", "KernelError", "simulate_batch"]
