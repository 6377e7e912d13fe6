"""A depthwise convolution of any frame: the array of a folded layer whose steps are the beats that come.

There is no buffer. Every beat that is taken is a step, and each lane of it is multiplied by a weight of its own. What
is said of the line, the rows and the accumulators of a folded layer holds here too. The taps of a window are a block.
"""

from __future__ import annotations

from functools import cached_property
from itertools import product

import numpy as np

from mase_hw.ir.meaning import Weighted
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window.depthwise import Depthwise
from mase_hw.ops.window.reduce_control import DEPTHWISE
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.control.line import Line, find_line
from mase_hw.prove.folded.rows import Array, Nets
from mase_hw.prove.folded.steps import check_address, check_nest
from mase_hw.prove.folded.tail import Tail
from mase_hw.prove.folded.widths import prove_accumulators
from mase_hw.prove.netlist.cones import Cones, Given, grid
from mase_hw.prove.netlist.netlist import Netlist


class Beats:
    """The head: a step is a beat that is taken."""

    word = "element"

    def __init__(self, component: Depthwise, cones: Cones) -> None:
        self.component, self.cones, self.lanes = component, cones, component.input.lanes
        self.counters = [(name, n) for name, n in (("word", component.taps), ("block", component.blocks)) if n > 1]

    def check_counters(self) -> None:
        cones = self.cones
        a, b = grid(2, 2)
        cones.check_net("in_fire", {"data_in_0_valid": a, "data_in_0_ready": b}, a & b)
        if cones.netlist.ports["data_in_0_ready"] != cones.named("enable"):
            raise NotProvedError("data_in_0_ready is not enable")
        check_nest(cones, self.counters, "in_fire")

    def steps(self) -> Given:
        return check_address(self.cones, self.counters, "in_fire", self.component.taps * self.component.blocks)

    @cached_property
    def inputs(self) -> Integers:
        """The input element of each [tap, lane]."""
        return np.arange(self.component.taps * self.lanes).reshape(self.component.taps, self.lanes)

    @cached_property
    def x_bits(self) -> int:
        """Bits of an element that are looked at; its other bits are copies of its sign, or 0."""
        x, element = self.component.input, self.cones.named("element")
        bits = len(element) // x.lanes
        lo, hi = int(min(x.lo)), int(max(x.hi))
        least, most = (0, (1 << bits) - 1) if lo >= 0 else (-(1 << bits - 1), (1 << bits - 1) - 1)
        entering = self.cones.netlist.ports["data_in_0"]
        lanes = [entering[k * x.fixed.width :][:bits] for k in range(x.lanes)]
        if lo < least or hi > most or element != tuple(net for lane in lanes for net in lane):
            raise NotProvedError("its elements are not the lower bits of those that come")
        return bits


class BeatsTail(Tail):
    """One beat leaves for each window."""

    issue, pass_last = "in_fire", "word_last"

    def _check_done(self, finished: Nets) -> None:
        """The output register takes what is there whenever it is free."""

    def _check_whole(self) -> None:
        cones = self.cones
        valid, ready = grid(2, 2)
        cones.check_net("free", {"valid_q": valid, "data_out_0_ready": ready}, (1 - valid) | ready)
        if cones.netlist.ports["data_out_0_valid"] != cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")
        valid, free, fin = grid(2, 2, 2)
        given: Given = {"valid_q": valid, "free": free, (cones.named("last_q")[-1],): fin}
        cones.check_register("valid_q", 0, given, np.where(free, fin, valid))

    def _check_output(self, rounded: Nets) -> None:
        cones, free = self.cones, self.cones.named("free")[0]
        held, after = cones.named("y_q"), cones.after("y_q")
        if cones.netlist.ports["data_out_0"] != held:
            raise NotProvedError("data_out_0 is not y_q")
        for q, net, y in zip(held, after, rounded, strict=True):
            if cones.followed(net, {free: 1}) != y or cones.followed(net, {free: 0}) != q:
                raise NotProvedError("the output register takes something else")


class DepthwiseProof:
    """Handshake, then values, then widths; each says how it was proved, or raises."""

    def __init__(self, component: Depthwise, netlist: Netlist) -> None:
        self.component, self.netlist = component, netlist
        self._parts: tuple[Beats, BeatsTail, Line] | None = None
        self._found: tuple[Array, int] | None = None

    def handshake(self) -> str:
        component, cones = self.component, Cones(self.netlist)
        if component.taps == 1:
            raise NotProvedError("a depthwise convolution of one tap has no accumulators")
        stages = len(component.array.stages)
        check_model(component, stages + 1)
        line = find_line(self.netlist, stages)
        head, tail = Beats(component, cones), BeatsTail(component, cones, line)
        head.check_counters()
        tail.check_control()
        self._parts = head, tail, line
        return (
            f"an invariant of its counters, each compared by itself, for {component.taps:,} beats that become one and "
            f"{stages} levels that hand on what they take: as predicted, cycle by cycle; "
            f"no deadlock: a beat moves within {stages + 2:,} cycles"
        )

    def values(self) -> str:
        if self._parts is None:
            raise NotProvedError("its handshake was not proved")
        head, tail, line = self._parts
        array = Array(self.component, head, self.netlist, line)
        offset = self._check_weights(array)
        lo, hi = self._bounds
        rounded = tail.check_data(array, offset, int(lo.min()), int(hi.max()))
        self._found = array, offset
        return f"every row of the array for all its values, and what all {array.fold.steps:,} steps add{rounded}"

    @property
    def _meaning(self) -> Weighted:
        meaning = self.component.meaning()
        assert isinstance(meaning, Weighted)
        return meaning

    @property
    def _bounds(self) -> tuple[Integers, Integers]:
        """The least and the greatest sum of each channel."""
        factors, x = self._meaning.factors, self.component.input
        lo, hi = (np.asarray(side).reshape(1, *factors.shape[1:]) for side in x.bounds)
        ends = factors * lo, factors * hi
        constants = self._meaning.constants
        return np.minimum(*ends).sum(1).ravel() + constants, np.maximum(*ends).sum(1).ravel() + constants

    def _check_weights(self, array: Array) -> int:
        """What the accumulators hold besides the sums, the same for all channels; raises where a weight is another."""
        factors, modulo = self._meaning.factors, 1 << array.bits
        blocks, taps, lanes = factors.shape
        wanted = factors[:, :, :, None] * np.eye(lanes, dtype=np.int64)
        wrong = (array.factors.reshape(wanted.shape) - wanted) % modulo != 0
        if wrong.any():
            block, tap, lane, x = (int(k) for k in np.argwhere(wrong)[0])
            found = int(array.factors.reshape(wanted.shape)[block, tap, lane, x])
            place = f"channel {block * lanes + lane}, tap {tap}"
            raise NotProvedError(f"{place}: a weight of {found} for lane {x}, not {wanted[block, tap, lane, x]}")
        sums = array.constants.reshape(blocks, taps, lanes).sum(1) + np.array(array.bases)
        left = np.unique((sums.ravel() - self._meaning.constants) % modulo)
        if len(left) != 1:
            raise NotProvedError("what is added to the sums differs from channel to channel")
        return int(left[0]) - (modulo if left[0] >= modulo >> 1 else 0)

    def widths(self) -> tuple[str, tuple[Reached, ...]]:
        """The accumulators are as wide as their widest finished sum, which two inputs show."""
        if self._found is None:
            raise NotProvedError("its values were not proved")
        array, offset = self._found
        blocks, taps, lanes = self._meaning.factors.shape
        rows = self._meaning.factors[:, :, :, None] * np.eye(lanes, dtype=np.int64)  # [block, tap, channel, lane]
        factors = rows.transpose(0, 2, 1, 3).reshape(blocks * lanes, taps * lanes)
        lo, hi = (side + offset for side in self._bounds)
        outputs = np.arange(blocks * lanes).reshape(blocks, lanes)
        return prove_accumulators(self.netlist, array, factors, (lo, hi), outputs)


def check_model(component: Depthwise, depth: int) -> None:
    """The model that predicts cycles has these numbers, and moves by them: tried around both ends of the counter."""
    control, taps = component.control(), component.taps
    if control.kind is not DEPTHWISE or control.params != (taps, depth) or any(control.state()):
        raise NotProvedError("its model counts otherwise")
    top = 1 << depth - 1
    lines = sorted({0, 1, top >> 1, top, top | 1, 2 * top - 1, top - 1})
    for tap, marks, bits in product(sorted({0, 1, taps - 2, taps - 1} & set(range(taps))), lines, range(8)):
        valid, offered, out = bits & 1, bits >> 1 & 1, bits >> 2
        free = not valid or out == 1
        finished = int(marks >= top)
        enable = not finished or free
        takes = enable and offered == 1
        control.words[:] = [valid, tap, marks]
        if control.valids != (valid == 1,) or control.readies((offered == 1,), (out == 1,)) != (enable,):
            raise NotProvedError("its model has another valid or ready")
        control.clock((takes,), (out == 1,))
        moved = (marks & top - 1) << 1 | (takes and tap == taps - 1) if enable else marks
        if list(control.state()) != [finished if free else valid, (tap + takes) % taps, moved]:
            raise NotProvedError("its model moves otherwise")
