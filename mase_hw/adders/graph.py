"""A constant matrix times a vector as shared shifts and additions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mase_hw.numerics.rounding import Integers

_SHIFT = 63  # no number here is wider


@dataclass(frozen=True)
class Add:
    """`±(a << shift_a) ± (b << shift_b)`: nodes by index, not both subtracted, one of the shifts is 0."""

    a: int
    shift_a: int
    minus_a: bool
    b: int
    shift_b: int
    minus_b: bool


@dataclass(frozen=True)
class Output:
    """`±(node << shift)`; no node means zero."""

    node: int | None
    shift: int = 0
    minus: bool = False


@dataclass(frozen=True)
class AdderGraph:
    """Nodes `0 .. inputs-1` are the inputs, the following ones `adds`, each of which reads nodes before it."""

    inputs: int
    adds: tuple[Add, ...]
    outputs: tuple[Output, ...]

    @cached_property
    def rows(self) -> Integers:
        """What each node computes: its factor for every input, [nodes, inputs]."""
        rows = np.zeros((self.inputs + len(self.adds), self.inputs), np.int64)
        rows[: self.inputs] = np.eye(self.inputs, dtype=np.int64)
        for k, add in enumerate(self.adds, self.inputs):
            a, b = rows[add.a] << add.shift_a, rows[add.b] << add.shift_b
            rows[k] = (-a if add.minus_a else a) + (-b if add.minus_b else b)
        return rows

    @cached_property
    def matrix(self) -> Integers:
        """[outputs, inputs]"""
        matrix = np.zeros((len(self.outputs), self.inputs), np.int64)
        for j, out in enumerate(self.outputs):
            if out.node is not None:
                matrix[j] = self.rows[out.node] << out.shift
                if out.minus:
                    matrix[j] *= -1
        return matrix

    @cached_property
    def levels(self) -> list[int]:
        """For each node the most additions on a path from an input to it."""
        levels = [0] * self.inputs
        for add in self.adds:
            levels.append(1 + max(levels[add.a], levels[add.b]))
        return levels

    @property
    def depth(self) -> int:
        return max((self.levels[out.node] for out in self.outputs if out.node is not None), default=0)

    def to_arrays(self) -> tuple[Integers, Integers]:
        """The same as two arrays of integers, to be stored."""
        adds = [(x.a, x.shift_a, x.minus_a, x.b, x.shift_b, x.minus_b) for x in self.adds]
        outputs = [(-1 if x.node is None else x.node, x.shift, x.minus) for x in self.outputs]
        return np.array(adds, np.int64).reshape(-1, 6), np.array(outputs, np.int64).reshape(-1, 3)

    @staticmethod
    def from_arrays(inputs: int, adds: Integers, outputs: Integers) -> AdderGraph:
        """The graph of `to_arrays`. The arrays may come from a build: other nodes and long shifts are a ValueError."""
        shifts = np.concatenate([adds[:, 1], adds[:, 4], outputs[:, 1]])
        known = inputs + np.arange(len(adds))  # what an addition may read lies before it
        later = (adds[:, [0, 3]] >= known[:, None]).any() or (outputs[:, 0] >= inputs + len(adds)).any()
        if later or (adds[:, [0, 3]] < 0).any() or (len(shifts) and not 0 <= shifts.min() <= shifts.max() <= _SHIFT):
            raise ValueError("an adder graph with other nodes or longer shifts than there are")
        return AdderGraph(
            inputs,
            tuple(Add(a, sa, bool(ma), b, sb, bool(mb)) for a, sa, ma, b, sb, mb in adds.tolist()),
            tuple(Output(None if node < 0 else node, shift, bool(minus)) for node, shift, minus in outputs.tolist()),
        )


@dataclass(frozen=True)
class Ref:
    """`±(node << shift)` while a graph is being built; no node means zero."""

    node: int | None
    shift: int = 0
    minus: bool = False

    def shifted(self, by: int, minus: bool = False) -> Ref:
        return Ref(self.node, self.shift + by, self.minus != minus)


class Builder:
    """Collects the additions of a graph; the same addition is made once."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.adds: list[Add] = []
        self._made: dict[Add, int] = {}

    def add(self, a: Ref, b: Ref) -> Ref:
        """A reference to `a + b`."""
        if a.node is None or b.node is None:
            return a if b.node is None else b
        shift = min(a.shift, b.shift)
        minus = a.minus and b.minus
        (node_a, shift_a, minus_a), (node_b, shift_b, minus_b) = sorted(
            [(a.node, a.shift - shift, a.minus and not minus), (b.node, b.shift - shift, b.minus and not minus)],
            key=lambda operand: (operand[2], operand),  # the first operand is one that is added
        )
        add = Add(node_a, shift_a, minus_a, node_b, shift_b, minus_b)
        if add not in self._made:
            self._made[add] = self.inputs + len(self.adds)
            self.adds.append(add)
        return Ref(self._made[add], shift, minus)

    def graph(self, outputs: Sequence[Ref]) -> AdderGraph:
        """The graph of these outputs, without additions that none of them needs."""
        needed = {out.node for out in outputs if out.node is not None}
        for k in range(len(self.adds) - 1, -1, -1):
            if self.inputs + k in needed:
                needed |= {self.adds[k].a, self.adds[k].b}
        place = {k: k for k in range(self.inputs)}
        kept: list[Add] = []
        for k, add in enumerate(self.adds, self.inputs):
            if k in needed:
                place[k] = self.inputs + len(kept)
                kept.append(Add(place[add.a], add.shift_a, add.minus_a, place[add.b], add.shift_b, add.minus_b))
        refs = (Output(None if out.node is None else place[out.node], out.shift, out.minus) for out in outputs)
        return AdderGraph(self.inputs, tuple(kept), tuple(refs))
