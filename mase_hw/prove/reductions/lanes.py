"""The data of a reduction, lane by lane: one step of the accumulator, and what its finished value becomes.

After `k` taps the accumulator holds the largest of `k` elements, or their sum modulo `2**bits`: this is so after the
first, and is kept by every step. One step is looked at for every value of the accumulator and of the element, so the
number of steps does not matter. The finished sum fits its bits, and so is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mase_hw.ir import Stream
from mase_hw.ir.finish import Finish
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.cast import Cast
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import MAX_SAMPLES, Cones, Given, grid
from mase_hw.prove.netlist.netlist import Net
from mase_hw.prove.reductions.quotient import Quotient
from mase_hw.prove.words.carried import Value
from mase_hw.prove.words.reference import Reference
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words

Nets = tuple[Net, ...]


class Lanes:
    """The nets of a reduction's data."""

    def __init__(self, cones: Cones, x: Stream, finish: Finish | None, acc: Nets) -> None:
        """`acc`: what the accumulators hold."""
        self.cones, self.x, self.finish, self.acc = cones, x, finish, acc
        self.bits, rest = divmod(len(acc), x.lanes)
        if rest:
            raise NotProvedError("the accumulator has another number of lanes")
        self.entering = cones.netlist.ports["data_in_0"]
        lo, hi = (np.asarray(side).reshape(-1, x.lanes) for side in x.bounds)
        self.bounds = [(int(least), int(most)) for least, most in zip(lo.min(0), hi.max(0), strict=True)]
        self.finished: Nets = ()
        self.asked = np.array([], np.int64)  # finished sums at which the output changes

    def of(self, nets: Nets, lane: int) -> Nets:
        size = len(nets) // self.x.lanes
        return nets[lane * size : (lane + 1) * size]

    def check_holds(self, taken: Nets, held: Nets, moves: Net) -> None:
        """Raises unless registers hold while a net is low: whatever else is high."""
        for net, q in zip(taken, held, strict=True):
            if self.cones.chosen(net, {moves: 0}) != q:
                self._check_held(net, q, moves)

    def _check_held(self, net: Net, q: Net, moves: Net) -> None:
        """The same where the net is one of several that let it move."""
        for bit in (0, 1):
            self.cones.check([net], {(moves,): 0, (q,): bit}, np.array([bit]), "what is held")

    def check_step(self, taken: Nets, given: Given) -> None:
        """What is taken: with `first` the element, else the larger of it and the accumulator, or their sum."""
        if len(taken) != len(self.acc):
            raise NotProvedError("something else is taken than the accumulator has bits")
        for lane in range(self.x.lanes):
            if self.finish is None:
                self._check_larger(self.of(taken, lane), lane, given)
            else:
                self._check_sum(self.of(taken, lane), lane, given)

    def _check_larger(self, taken: Nets, lane: int, given: Given) -> None:
        lo, hi = self.bounds[lane]
        if lo < -(1 << self.bits - 1) or hi >= 1 << self.bits - 1:
            raise NotProvedError(f"{self.bits} bits of the accumulator do not hold {lo} to {hi}")
        both = np.arange(lo, hi + 1)
        if len(both) ** 2 > MAX_SAMPLES:
            raise NotProvedError(f"two elements of {len(both):,} values each are too many to be gone through")
        held, comes = grid(both, both)
        own: dict[Any, Integers | int] = {**given, self.of(self.entering, lane): comes}
        if 1 in self.cones.values("first"):  # whatever is held
            first = {**own, self.of(self.entering, lane): both, "first": 1}
            self.cones.check(taken, first, both, f"the first element of lane {lane}")
        if 0 in self.cones.values("first"):
            own |= {self.of(self.acc, lane): held, "first": 0}
            self.cones.check(taken, own, np.maximum(held, comes), f"the largest so far of lane {lane}")

    def _check_sum(self, taken: Nets, lane: int, given: Given) -> None:
        half, (lo, hi) = 1 << self.bits - 1, self.bounds[lane]
        words = Words(np.array([-half, lo]), np.array([half - 1, hi]))
        evaluator = Symbolic(words)
        held, comes = words.variable(0), words.variable(1)
        fixed: dict[Net, Value] = {
            net: bit for name, bit in given.items() for net in self._named(name) if isinstance(bit, int)
        }
        fixed |= {net: words.bit(comes, k) for k, net in enumerate(self.of(self.entering, lane))}
        (first,) = self.cones.named("first")
        for value in self.cones.values("first").tolist():
            if value:
                own, wanted = {**fixed, first: 1}, comes
            else:
                acc = {net: words.bit(held, k) for k, net in enumerate(self.of(self.acc, lane))}
                own, wanted = {**fixed, **acc, first: 0}, words.plus(held, comes)
            found = self.cones.words(taken, own, evaluator)
            if found != [words.bit(wanted, k) for k in range(self.bits)]:
                raise NotProvedError(f"what the accumulator of lane {lane} takes is not the sum so far")

    def _named(self, name: str | Nets) -> Nets:
        return self.cones.named(name) if isinstance(name, str) else name

    def check_result(self, taken: Nets, held: Nets, y: Stream) -> str:
        """What the output takes is the finished value of `held`; a part of a sentence says how that was seen."""
        if len(taken) != y.width or y.lanes != self.x.lanes:
            raise NotProvedError("the output has another number of bits")
        if self.finish is None:
            if any(self.of(taken, k) != self.of(held, k)[: y.fixed.width] for k in range(y.lanes)):
                raise NotProvedError("the output takes something else than the largest")
            return ""
        self.finished = held
        lo, hi = self.finish.lo, self.finish.hi
        least, most = (0, (1 << self.bits) - 1) if lo >= 0 else (-(1 << self.bits - 1), (1 << self.bits - 1) - 1)
        if lo < least or hi > most:
            raise NotProvedError(f"{self.bits} bits of the accumulator do not hold {lo} to {hi}")
        if self.finish.divisor > 1:
            quotient = Quotient(self.cones, self.finish)
            for k in range(y.lanes):
                quotient.check(self.of(held, k), self.of(taken, k))
            self.asked = quotient.changes
            return f"; the quotient by its {quotient.steps:,} steps"
        lanes = y.lanes
        one = Stream("finished", lanes, lanes, Fixed(self.bits + 1, 0), (lo,) * lanes, (hi,) * lanes)
        whole = Stream(y.name, lanes, lanes, y.fixed, (y.fixed.lo,) * lanes, (y.fixed.hi,) * lanes)
        reference = Reference(Cast("finished", (one,), (whole,), finish=self.finish))
        variables = reference.input_bits(0)
        size = one.fixed.width
        given = {net: variables[k // self.bits * size + k % self.bits] for k, net in enumerate(held)}
        reference.check_beat(0, self.cones.words(taken, given, reference.evaluator))
        for error in reference.failed.values():
            raise error
        return reference.rounded_by
