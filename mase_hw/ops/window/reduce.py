"""Reduce: the largest or the sum over the taps of a window, or over all positions of a frame. Pools are made of it."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.cost.xilinx.window import division_cost, kept_cost, reduce_cost
from mase_hw.ir.component import REGISTERED, THROUGH, Component, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.meaning import Meaning, Most, Weighted
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window.reduce_control import GlobalReduceControl, ReduceControl


@dataclass(frozen=True, eq=False)
class Reduction(Component):
    """What both share. Without a finish it is the largest, in the type it comes in; with one it is the sum."""

    @abstractmethod
    def meaning(self) -> Meaning:
        """The largest, or the sum."""

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)

    @property
    def acc_unsigned(self) -> bool:
        """Whether a lane's result so far has no sign: a sum that is never negative."""
        return self.finish is not None and self.finish.lo >= 0

    @property
    def acc_bits(self) -> int:
        """Bits of a lane's result so far."""
        fixed = self.input.fixed
        if self.finish is None:
            return fixed.width + (not fixed.signed)
        return max(1, self.finish.hi.bit_length()) if self.acc_unsigned else self.finish.width

    def _values(self) -> dict[str, Any]:
        unsigned = self.acc_unsigned
        return {"most": self.finish is None, "step": self.finish, "acc_bits": self.acc_bits, "acc_unsigned": unsigned}

    @property
    def _held_bits(self) -> int:
        """Bits of a lane's result that are more than zeros."""
        return self.acc_bits - (self.finish is None and min(self.input.lo) >= 0)

    def _needs(self) -> tuple[str, ...]:
        if self.finish is None:
            return ()
        return ("mase_divide", "mase_requantize") if self.finish.divisor > 1 else ("mase_requantize",)

    def _cost(self, *counts: int, selects: bool) -> Cost:
        y, found = self.output, Cost()
        bits = self._held_bits
        if self.finish is not None:
            found = requantize_cost(self.finish.parameters()).times(y.lanes)
            by = self.finish.division()
            if by is not None:
                ties = 0 if by.tie is None else by.shift - by.tie
                found += division_cost(by.sum_bits, by.factor, ties).times(y.lanes)
        return found + reduce_cost(y.lanes, bits, y.fixed.width, counts, most=self.finish is None, selects=selects)


@dataclass(frozen=True, eq=False)
class Reduce(Reduction):
    """The taps of a window come one after the other, as a grouped `Window` gives them; one beat leaves for them."""

    kind = "reduce"
    counts_positions = True
    ready_paths = REGISTERED

    @property
    def taps(self) -> int:
        return self.input.beats

    @property
    def blocks(self) -> int:
        return self.input.frame[-1]

    def meaning(self) -> Meaning:
        lanes = self.input.lanes
        if self.finish is None:
            return Most(self.taps, lanes, self.blocks)
        ones = np.ones((self.blocks, self.taps, lanes), np.int64)
        return Weighted(ones, np.zeros(self.blocks * lanes, np.int64), self.finish)

    def control(self) -> Control:
        return ReduceControl(self.taps)

    @property
    def interval(self) -> int:
        """Of a vector of the output. A single tap is too short for a result to leave meanwhile: 3 cycles for 2."""
        return self.blocks * self.taps if self.taps > 1 else -(-3 * self.blocks // 2)

    @property
    def latency(self) -> int:
        return self.taps + 1

    def instance(self) -> Instance:
        return Instance(template="reduce", values={**self._values(), "taps": self.taps}, needs=self._needs())

    def cost(self) -> Cost:
        return self._cost(self.taps, selects=False)


@dataclass(frozen=True, eq=False)
class GlobalReduce(Reduction):
    """All positions of a frame become one vector."""

    kind = "global_reduce"
    counts_positions = True
    ready_paths = THROUGH

    def meaning(self) -> Meaning:
        x = self.input
        if self.finish is None:
            return Most(x.positions, x.features, 1)
        ones = np.ones((1, x.positions, x.features), np.int64)
        return Weighted(ones, np.zeros(x.features, np.int64), self.finish)

    def control(self) -> Control:
        return GlobalReduceControl(self.input.sample_beats, self.input.beats)

    @property
    def interval(self) -> int:
        return self.input.sample_beats

    @property
    def latency(self) -> int:
        return self.input.sample_beats - self.input.beats + 2

    def instance(self) -> Instance:
        return Instance(template="global_reduce", values=self._values(), needs=self._needs())

    def cost(self) -> Cost:
        x, bits = self.input, self._held_bits
        found = self._cost(x.positions, x.beats, selects=True)
        return found + kept_cost(x.lanes, bits, x.beats, x.positions)


def _by_lane(x: Stream) -> tuple[Integers, Integers]:
    """The bounds of a window's taps, [taps, lanes]."""
    lo, hi = x.bounds
    return lo.reshape(-1, x.lanes), hi.reshape(-1, x.lanes)


def _largest(name: str, x: Stream, frame: tuple[int, ...], lo: Integers, hi: Integers) -> Stream:
    sides = tuple(lo.tolist()), tuple(hi.tolist())
    return Stream(name, len(lo), x.lanes, x.fixed, *sides, frame, (min(x.step),) * len(lo))


def reduce_most(name: str, x: Stream) -> Reduce:
    """The largest of each lane over the taps of `x`'s windows. Padding must hold what never wins: the type's least."""
    lo, hi = (np.tile(side.max(0), x.frame[-1]) for side in _by_lane(x))
    return Reduce(name, (x,), (_largest(f"{name}_out", x, x.frame[:-1], lo, hi),))


def reduce_sum(name: str, x: Stream, result: Result | None, divisor: int = 1) -> Reduce:
    """The sum of each lane over the taps, divided by `divisor`: their number for an average."""
    lo, hi = (np.tile(side.sum(0), x.frame[-1]) for side in _by_lane(x))
    frame = x.frame[:-1]
    out, step = result_stream(f"{name}_out", x.lanes, (lo, hi), x.fixed.frac, result, frame=frame, divisor=divisor)
    return Reduce(name, (x,), (out,), finish=step)


def global_most(name: str, x: Stream) -> GlobalReduce:
    """The largest of each feature over all positions."""
    lo, hi = x.bounds
    return GlobalReduce(name, (x,), (_largest(f"{name}_out", x, (), lo, hi),))


def global_sum(name: str, x: Stream, result: Result | None, divisor: int | None = None) -> GlobalReduce:
    """The sum of each feature over all positions, divided by their number, or by `divisor`."""
    count = prod(x.frame)
    lo, hi = (side * count for side in x.bounds)
    by = count if divisor is None else divisor
    out, step = result_stream(f"{name}_out", x.lanes, (lo, hi), x.fixed.frac, result, divisor=by)
    return GlobalReduce(name, (x,), (out,), finish=step)
