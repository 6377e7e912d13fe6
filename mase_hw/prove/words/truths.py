"""Every input gone through: a bit is the table of its values for all vectors of a few inputs, the rest unknown.

Where the words of the affine argument end, and an output depends on few inputs, this is a proof of its own. The netlist
is run as it is with words, cycle by cycle or state by state; the inputs that the output must not depend on are unknown,
so what comes out known does not depend on them, nor on anything that came before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from mase_hw.ir import Component
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.gates import Gates, Wire
from mase_hw.prove.netlist.netlist import Cell
from mase_hw.prove.netlist.plain import slices
from mase_hw.prove.words.carried import UNKNOWN, Truth, Unknown, Value
from mase_hw.prove.words.reference import Reference
from mase_hw.prove.words.symbolic import Values

MAX_VECTORS = (1 << 20, 1 << 16)  # that are gone through for one output: of a pipe, in every state of a control
AT_ONCE = 1 << 17  # of these in one run
SHARED = 1 << 12  # outputs that together have no more are gone through at once


class Truths:
    """Evaluates cells of a netlist on tables."""

    def __init__(self, vectors: int) -> None:
        self.gates = Gates(vectors)
        self._known: dict[int, Truth] = {}  # equal tables are one object

    def evaluate(self, cell: Cell, inputs: dict[str, Values]) -> Values:
        """The output of a combinational cell."""
        ports = {port: [self._wire(value) for value in values] for port, values in inputs.items()}
        return [self.value(wire) for wire in self.gates.evaluate(cell, ports)]

    def gathered(self, values: Values) -> Values:
        """The bits of a register: each is by itself."""
        return values

    def value(self, wire: Wire) -> Value:
        if isinstance(wire, Unknown):
            return UNKNOWN
        if wire in (0, self.gates.ones):
            return int(wire != 0)
        return self._known.setdefault(wire, Truth(wire))

    def _wire(self, value: Value) -> Wire:
        if isinstance(value, Truth):
            return value.table
        assert isinstance(value, int | Unknown)
        return value if isinstance(value, Unknown) else value * self.gates.ones


@dataclass
class Group:
    """Outputs, and the inputs that they depend on, with the number of their vectors."""

    elements: list[int]
    inputs: list[int]
    vectors: int


class Exhausted:
    """What a component has to compute for some of its outputs, for all vectors of the inputs that these depend on."""

    def __init__(self, component: Component, group: Group, first: int = 0) -> None:
        """As many vectors as are gone through at once, from the one with this number on."""
        self.component, self.elements, inputs = component, group.elements, group.inputs
        lo, hi = (np.asarray(side) for side in component.input.bounds)
        number = np.arange(first, min(first + AT_ONCE, group.vectors))
        self.x = np.tile(lo, (len(number), 1))
        for i in inputs:
            number, digit = np.divmod(number, hi[i] - lo[i] + 1)
            self.x[:, i] += digit
        self.evaluator = Truths(len(self.x))
        width = component.input.fixed.width
        known = np.zeros(len(lo), bool)
        known[inputs] = True
        bits = [self.evaluator.value(wire) for wire in slices(self.x, width)]
        self.bits = [bit if known[k // width] else UNKNOWN for k, bit in enumerate(bits)]
        self.wanted = slices(component.execute(self.x)[0][:, self.elements], component.output.fixed.width)

    def input_bits(self, beat: int) -> Values:
        wires = self.component.input.width
        return self.bits[beat * wires : (beat + 1) * wires]

    def check_beat(self, beat: int, bits: Values) -> None:
        """Raises where one of the outputs is not what it has to be; the others are not looked at."""
        out = self.component.output
        width = out.fixed.width
        for n, element in enumerate(self.elements):
            if element // out.lanes == beat:
                lane = element % out.lanes
                for k, bit in enumerate(bits[lane * width : (lane + 1) * width]):
                    self._check(f"{out.name}[{element}]: bit {k}", bit, self.wanted[n * width + k])

    def _check(self, name: str, bit: Value, wanted: Wire) -> None:
        if bit is UNKNOWN:
            raise NotProvedError(f"{name} is not a function of the inputs that it depends on")
        if bit != self.evaluator.value(wanted):
            table = bit.table if isinstance(bit, Truth) else self.evaluator.gates.ones * (bit == 1)
            assert isinstance(wanted, int)
            wrong = table ^ wanted
            vector = self.x[(wrong & -wrong).bit_length() - 1]
            raise NotProvedError(f"{name} is wrong for {vector.tolist()}", suspect=vector)


def groups(reference: Reference, elements: Sequence[int], most: int, *, all_inputs: bool = False) -> list[Group]:
    """Outputs that are gone through together; raises where one of them depends on too much.

    `all_inputs`: what an output depends on may also cancel out in the netlist, rather than not be there.
    """
    lo, hi = (np.asarray(side) for side in reference.component.input.bounds)
    found: list[Group] = []
    for element in elements:
        needed = np.flatnonzero(((reference.rows[element] != 0) | all_inputs) & (lo < hi)).tolist()
        for group in found:
            together = sorted({*group.inputs, *needed})
            size = prod((hi - lo + 1)[together].tolist())
            if together == group.inputs or size <= SHARED:
                group.elements.append(element)
                group.inputs, group.vectors = together, size
                break
        else:
            found.append(Group([element], needed, prod((hi - lo + 1)[needed].tolist())))
            if found[-1].vectors > most:
                raise NotProvedError("the inputs that it depends on have too many vectors to go through")
    return found
