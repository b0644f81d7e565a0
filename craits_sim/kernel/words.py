"""Arithmetic on 64-bit words that vectorizes: selects, bit counts, the k-th card of a set.

The kernel computes in ``uint64`` throughout. Mixed with a signed integer numba would turn to float64, and a signed
index costs a check for wrap-around, so that every constant is a ``uint64`` as well.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from craits_sim.kernel._jit import inlined

U0, U1, U2, U3 = (np.uint64(n) for n in range(4))
LOWER_HALVES = tuple(
    np.uint64(mask)
    for mask in (
        0x0000_0000_FFFF_FFFF,
        0x0000_FFFF_0000_FFFF,
        0x00FF_00FF_00FF_00FF,
        0x0F0F_0F0F_0F0F_0F0F,
        0x3333_3333_3333_3333,
        0x5555_5555_5555_5555,
    )
)
ALL_BITS = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@intrinsic
def popcount(typing_context: Any, word: Any) -> Any:
    """Count the set bits of a word: one machine instruction, in vectors too where the CPU has it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


@intrinsic
def lowest_card(typing_context: Any, cards: Any) -> Any:
    """Give the position of the lowest set bit of a word that is not zero."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), True))

    return types.uint64(types.uint64), generate


@intrinsic
def sign(typing_context: Any, word: Any) -> Any:
    """Give all bits where the word is negative as a signed number, else none."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ashr(arguments[0], ir.Constant(ir.IntType(64), 63))

    return types.uint64(types.uint64), generate


@intrinsic
def select(typing_context: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Give ``yes`` where the condition holds, else ``no``, without a branch: both are always computed."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.select(*arguments)

    return types.uint64(types.boolean, types.uint64, types.uint64), generate


def _element(context: Any, builder: Any, array_type: Any, array: Any, index: Any) -> Any:
    """Give the address of an element of a 1-d array: no wrap-around, no bounds check."""
    data = arrayobj.make_array(array_type)(context, builder, array).data
    return builder.gep(data, [index], inbounds=True)


def _table_scope(module: Any) -> Any:
    """Name, for LLVM, the memory of rule tables as apart from the memory of the lanes."""
    domain = module.add_metadata(["craits"])
    return module.add_metadata([module.add_metadata(["rule tables", domain])])


@intrinsic
def read(typing_context: Any, lanes: Any, index: Any) -> Any:
    """Read a word of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        load = builder.load(_element(context, builder, signature.args[0], *arguments))
        load.set_metadata("noalias", _table_scope(builder.module))
        return load

    return types.uint64(lanes, types.uint64), generate


@intrinsic
def write(typing_context: Any, lanes: Any, index: Any, word: Any) -> Any:
    """Write a word of the lanes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, value = arguments
        store = builder.store(value, _element(context, builder, signature.args[0], array, at))
        store.set_metadata("noalias", _table_scope(builder.module))
        return context.get_dummy_value()

    return types.void(lanes, types.uint64, types.uint64), generate


FILLED = 4
"""Places that `fill` writes: a card has at most so many moves (``moves.py``)."""


@intrinsic
def fill(typing_context: Any, lanes: Any, index: Any, word: Any) -> Any:
    """Write a word to `FILLED` places from ``index`` on, by one vector instruction.

    numba leaves out the pass of LLVM that would make one store of four.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array, at, value = arguments
        vector = ir.VectorType(ir.IntType(64), FILLED)
        place = builder.bitcast(_element(context, builder, signature.args[0], array, at), vector.as_pointer())
        first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
        every = ir.Constant(ir.VectorType(ir.IntType(32), FILLED), [0] * FILLED)
        store = builder.store(builder.shuffle_vector(first, first, every), place, align=8)
        store.set_metadata("noalias", _table_scope(builder.module))
        return context.get_dummy_value()

    return types.void(lanes, types.uint64, types.uint64), generate


@intrinsic
def look_up(typing_context: Any, table: Any, index: Any) -> Any:
    """Read a rule table.

    The load is marked as touching no memory of the lanes. Without that promise LLVM must fear that writing a lane
    changes the table, and gives up on vectors: the step is then four times slower.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        load = builder.load(_element(context, builder, signature.args[0], *arguments))
        load.set_metadata("alias.scope", _table_scope(builder.module))
        return load

    return types.uint64(table, types.uint64), generate


@inlined
def bit(condition):
    """Give 1 where the condition holds, else 0."""
    return select(condition, U1, U0)


@inlined
def kth_card(cards, k):
    """Give the k-th card of a set (k from 0), as a set of one; an empty set where it holds no more than k.

    Six halvings: each keeps the lower or the upper half of what is left, which the same mask tells apart wherever it
    lies. The bit stays in its place, so that nothing has to be shifted back. All in arithmetic: the way through a
    comparison and a select is longer by three cycles each time, and nothing can be done meanwhile.
    """
    for lower_halves in LOWER_HALVES:
        in_lower = popcount(cards & lower_halves)
        in_upper = k - in_lower  # negative where the card is in the lower half
        cards &= ~(lower_halves ^ sign(in_upper))
        k = in_upper + (in_lower & sign(in_upper))
    return cards


@inlined
def position(card):
    """Give the position of the bit of a set of one card: its code, within its deck."""
    return popcount(card - U1)
