"""Reading the machine code of the step: whether its loops over lanes work on vectors, and how wide."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numba

from craits_sim.bots import BotSpec
from craits_sim.kernel.build import build_for
from craits_sim.kernel.lanes import new_lanes
from craits_sim.kernel.own import encode_table
from craits_sim.kernel.step import step
from craits_sim.rules import Rules

REGISTERS = {
    512: re.compile(r"%zmm\d"),
    256: re.compile(r"%ymm\d"),
    128: re.compile(r"%xmm\d|\bv\d+\.\d"),  # x86, ARM
}
"""How vector registers are written, by their bits; the widest first."""

WORD_BITS = 64
SHORT_LOOP = 20
"""Instructions below which a loop is no part of a step but of something that numba adds."""

_LABEL = re.compile(r"(\.?LBB0_\d+):")  # blocks of the first function
_JUMP = re.compile(r"\s+[a-z][\w.]*\s(?:.*[\s,])?(\.?LBB0_\d+)$")
_INSTRUCTION = re.compile(r"\s+[a-z]")


class Loop(NamedTuple):
    """A loop over the lanes, in machine code."""

    instructions: int
    of_vectors: int  # instructions among them that use registers of ``bits``
    bits: int  # width of the registers that most vector instructions use; 0 where the loop works on single words

    def __str__(self) -> str:
        if not self.bits:
            return f"no vectors ({self.instructions} instructions)"
        games = self.bits // WORD_BITS
        share = f"{self.of_vectors} of {self.instructions} instructions"
        return f"{self.bits}-bit vectors, {games} games an instruction ({share})"


def step_loops(rules: Rules, bots: Sequence[BotSpec]) -> list[Loop]:
    """Compile the step for a table, and give its loops in the order of their code.

    Compiling takes some seconds. numba does not show the machine code that it has loaded from its cache, and in the
    kernel that code is mingled with other; so the step is compiled here once more, alone, with the same options.
    """
    encoded_rules, encoded_bots = encode_table(rules, bots)
    arguments = new_lanes(), encoded_rules, encoded_bots, build_for(encoded_rules, encoded_bots)

    def step_alone(lanes, rules, bots, build):
        step(lanes, rules, bots, build)

    function: Any = numba.njit(step_alone, nogil=True, error_model="numpy", _nrt=False)
    signature = tuple(numba.typeof(argument) for argument in arguments)
    function.compile(signature)
    return [loop for loop in find_loops(function.inspect_asm(signature)) if loop.instructions >= SHORT_LOOP]


def find_loops(assembly: str) -> Iterator[Loop]:
    """Find the innermost loops of the first function in a text of machine code."""
    lines = assembly.splitlines()
    labels: dict[str, int] = {}
    spans: list[tuple[int, int]] = []
    for number, line in enumerate(lines):
        if label := _LABEL.match(line):
            labels[label[1]] = number
        elif (jump := _JUMP.match(line)) and jump[1] in labels:
            spans.append((labels[jump[1]], number))
    for start, end in spans:
        if not any(start <= first and last <= end for first, last in spans if (first, last) != (start, end)):
            yield _measure([line for line in lines[start : end + 1] if _INSTRUCTION.match(line)])


def _measure(instructions: Sequence[str]) -> Loop:
    """Count the instructions of a loop by the widest register that each uses."""
    count = dict.fromkeys([*REGISTERS, 0], 0)
    for instruction in instructions:
        count[next((bits for bits, register in REGISTERS.items() if register.search(instruction)), 0)] += 1
    of_vectors, bits = max((count[bits], bits) for bits in REGISTERS)
    if 2 * of_vectors < len(instructions):
        return Loop(len(instructions), 0, 0)
    return Loop(len(instructions), of_vectors, bits)
