"""How the nodes of an adder graph are held in hardware: unsigned, with a known offset, as wide as their proven range.

A node's value is `u + offset` with `u >= 0`. Sums of unsigned numbers need no sign extension: an adder takes a LUT only
where both of its operands have bits. To subtract, the operand's bits are inverted, `-u = ~u - (2**width - 1)`, and what
is constant goes into the offset; so do upper bits that all values of a node share. All offsets meet in one constant for
each output, together with the bias.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mase_hw.adders.graph import AdderGraph
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Wire:
    """A node as a signal: `value = u + offset`, `0 <= u <= hi`."""

    offset: int
    hi: int

    @property
    def width(self) -> int:
        return self.hi.bit_length()


@dataclass(frozen=True)
class Encoding:
    """Every node of a graph as a wire; `flip` says which inputs have their sign bit inverted."""

    graph: AdderGraph
    wires: tuple[Wire, ...]
    flip: tuple[bool, ...]

    def output(self, j: int) -> tuple[int, int]:
        """Constant and largest value of output `j`: it is the constant plus an unsigned number up to the second."""
        out = self.graph.outputs[j]
        if out.node is None:
            return 0, 0
        wire = self.wires[out.node]
        if out.minus:
            full = (1 << wire.width) - 1
            return -(wire.offset + full) << out.shift, full << out.shift
        return wire.offset << out.shift, wire.hi << out.shift

    def overlap(self, k: int) -> int:
        """Bits of addition `k` where both operands have bits: its LUTs."""
        add = self.graph.adds[k]
        ends = (self.wires[add.a].width + add.shift_a, self.wires[add.b].width + add.shift_b)
        return max(0, min(*ends, self.wires[self.graph.inputs + k].width) - max(add.shift_a, add.shift_b))

    def carried(self, k: int) -> int:
        """Bits of addition `k` that are in its carry chain."""
        add = self.graph.adds[k]
        return self.wires[self.graph.inputs + k].width - max(add.shift_a, add.shift_b) if self.overlap(k) else 0

    def driven(self, k: int) -> int:
        """Bits of addition `k`'s carry chain where an operand has a bit: each takes a LUT site."""
        add = self.graph.adds[k]
        ends = (self.wires[add.a].width + add.shift_a, self.wires[add.b].width + add.shift_b)
        top = min(max(ends), self.wires[self.graph.inputs + k].width)
        return top - max(add.shift_a, add.shift_b) if self.overlap(k) else 0

    @property
    def luts(self) -> int:
        return sum(self.overlap(k) for k in range(len(self.graph.adds)))

    @property
    def sites(self) -> int:
        return sum(self.driven(k) for k in range(len(self.graph.adds)))


def encode(graph: AdderGraph, lo: Integers, hi: Integers) -> Encoding:
    """The graph for inputs within `lo..hi`. The bounds of a node come from what it computes, not from its operands'."""
    flip = [low < 0 <= high for low, high in zip(lo.tolist(), hi.tolist(), strict=True)]
    wires = []
    for low, high in zip(lo.tolist(), hi.tolist(), strict=True):
        width = max(low, ~low, high, ~high).bit_length()  # without the sign bit
        offset = -(1 << width) if low < 0 else 0
        wires.append(Wire(offset, high - offset))
    if not graph.adds:  # the rows of thousands of inputs are millions of numbers
        return Encoding(graph, tuple(wires), tuple(flip))
    up, down = np.maximum(graph.rows, 0), np.minimum(graph.rows, 0)
    lowest, highest = (up @ lo + down @ hi).tolist(), (up @ hi + down @ lo).tolist()
    for k, add in enumerate(graph.adds, graph.inputs):
        offset = 0
        for node, shift, minus in ((add.a, add.shift_a, add.minus_a), (add.b, add.shift_b, add.minus_b)):
            wire = wires[node]
            own = -(wire.offset + (1 << wire.width) - 1) if minus else wire.offset
            offset += own << shift
        if lowest[k] < highest[k]:  # upper bits that all values share are not added up, but known
            width = ((lowest[k] - offset) ^ (highest[k] - offset)).bit_length()
            offset += (highest[k] - offset) >> width << width
        wires.append(Wire(offset, highest[k] - offset))
    return Encoding(graph, tuple(wires), tuple(flip))
