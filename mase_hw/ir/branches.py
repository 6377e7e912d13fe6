"""Components where streams part and meet: forks hand a beat to several readers, concatenations join vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx import branches
from mase_hw.ir.branch_control import ConcatControl, ForkControl
from mase_hw.ir.component import REGISTERED, Component, Instance, Pipe, ReadyPaths
from mase_hw.ir.control import Control
from mase_hw.ir.meaning import Meaning, Move
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True, eq=False)
class Fork(Component):
    """Every output is the input. A beat stays until each branch has taken it, each in its own cycle.

    Buffered, a second beat waits behind it, and the input's ready comes from a register.
    """

    kind = "fork"
    buffered: bool
    latency = 1

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return x * len(self.outputs)

    def meaning(self) -> Meaning:
        return Move.copies(self.input.features, len(self.outputs))

    @property
    def interval(self) -> int:
        return self.input.beats

    @property
    def ready_paths(self) -> ReadyPaths:
        return REGISTERED if self.buffered else frozenset((k, 0) for k in range(len(self.outputs)))

    def control(self) -> Control:
        return ForkControl(len(self.outputs), buffered=self.buffered)

    def instance(self) -> Instance:
        return Instance(template="fork", values={"outputs": self.outputs, "buffered": self.buffered})

    def cost(self) -> Cost:
        return branches.fork(self.input.width, len(self.outputs), buffered=self.buffered)


def fork(name: str, x: Stream, count: int, *, buffered: bool) -> Fork:
    """A fork of `x`; the branches' streams are named after it and numbered."""
    return Fork(name, (x,), tuple(x.renamed(f"{name}_out_{k}") for k in range(count)), buffered)


@dataclass(frozen=True, eq=False)
class Concat(Component):
    """The inputs' vectors one after the other, beat by beat; all streams have the same lanes."""

    kind = "concat"
    latency = 1

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (np.concatenate(x, axis=1),)

    def meaning(self) -> Meaning:
        return Move.joined([x.features for x in self.inputs])

    @property
    def interval(self) -> int:
        return self.output.beats

    @property
    def ready_paths(self) -> ReadyPaths:
        return frozenset((0, k) for k in range(len(self.inputs)))

    def control(self) -> Control:
        return ConcatControl(tuple(x.beats for x in self.inputs))

    def instance(self) -> Instance:
        return Instance(template="concat", values={"inputs": self.inputs})

    def cost(self) -> Cost:
        return branches.concat(self.output.width, len(self.inputs), self.output.beats)


@dataclass(frozen=True, eq=False)
class ConcatWide(Pipe):
    """Whole vectors side by side in one beat: wires, and a register at which they meet."""

    kind = "concat_wide"
    latency = 1

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (np.concatenate(x, axis=1),)

    def meaning(self) -> Meaning:
        return Move.joined([x.features for x in self.inputs])

    def instance(self) -> Instance:
        return Instance(template="concat_wide", values={"inputs": self.inputs})

    def cost(self) -> Cost:
        return branches.concat_wide(self.output.width, len(self.inputs))


def concat(name: str, parts: Sequence[Stream]) -> Concat | ConcatWide:
    """One stream of the parts' vectors joined; all parts have one type. Whole vectors meet in one beat."""
    first = parts[0]
    assert len({(x.fixed, x.frame) for x in parts}) == 1, f"{name}: parts of several types or frames"
    lo, hi, step = (tuple(n for x in parts for n in getattr(x, side)) for side in ("lo", "hi", "step"))
    wide = all(x.beats == 1 for x in parts)
    assert wide or len({x.lanes for x in parts}) == 1, f"{name}: beats of several widths"
    lanes = len(lo) if wide else first.lanes
    out = replace(first, name=f"{name}_out", features=len(lo), lanes=lanes, lo=lo, hi=hi, step=step)
    return ConcatWide(name, tuple(parts), (out,)) if wide else Concat(name, tuple(parts), (out,))
