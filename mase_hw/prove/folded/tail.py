"""The tail of a folded layer: accumulators, what is rounded, and the output register, register by register.

A step that leaves the line is added to the accumulators, unless finished sums wait there for an output register that is
not free: then nothing moves. The first step behind the last one of a block starts anew. Finished sums go to the output
register as soon as it is free; there they are joined to a beat, or leave in parts.
"""

from __future__ import annotations

import numpy as np

from mase_hw.ir import Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.cast import Cast
from mase_hw.ops.linear.folded import LinearFolded
from mase_hw.ops.window.depthwise import Depthwise
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import MARKS
from mase_hw.prove.control.line import Line
from mase_hw.prove.folded.rows import Array, Nets
from mase_hw.prove.netlist.cones import Cones, Given, grid
from mase_hw.prove.netlist.netlist import Net
from mase_hw.prove.words.reference import Reference


class Tail:
    """Raises where anything is not as stated."""

    issue, pass_last = "issue", "pass_last"  # nets: a step goes into the line; it is the last of its block

    def __init__(self, component: LinearFolded | Depthwise, cones: Cones, line: Line) -> None:
        self.component, self.fold, self.cones, self.line = component, component.array.fold, cones, line

    def check_control(self) -> None:
        self._check_marks()
        cones, fold = self.cones, self.fold
        finished = (cones.named("last_q")[-1],)
        fin, free, last = grid(2, 2, 2)
        cones.check_net("enable", {finished: fin, "free": free}, (1 - fin) | free)
        self._check_done(finished)
        mark: Given = {finished: fin, "enable": free, self._mark("last_q"): last}
        ending = cones.after("last_q")[-1:]
        cones.check(ending, {"rst": 1}, np.array([0]), "last_q after reset")
        cones.check(ending, {"rst": 0, **mark}, np.where(free, last, fin), "the next last_q")
        first, enable, active, last = grid(2, 2, 2, 2)
        given = {"first_q": first, "enable": enable, self._mark("active_q"): active, self._mark("last_q"): last}
        real = active >= last
        wanted = np.where(enable & active, last, first)[real]
        cones.check_register("first_q", 1, {name: each[real] for name, each in given.items()}, wanted)
        if fold.parts > 1:
            self._check_parts()
        else:
            self._check_whole()

    def _check_done(self, finished: Nets) -> None:
        fin, free = grid(2, 2)
        self.cones.check_net("done", {finished: fin, "free": free}, fin & free)

    def _mark(self, name: str) -> Nets:
        """A mark at the end of the line."""
        return (self.cones.named(name)[self.line.depth - 1],)

    def _check_marks(self) -> None:
        """A step is there; it is the last of its block; of its vector. After reset there is none."""
        cones, marks = self.cones, self.line.tail.ports[MARKS]
        sizes = {name: cones.bits(name) for name in ("active_q", "last_q")}
        if sizes != {"active_q": self.line.depth, "last_q": self.line.depth + 1}:
            raise NotProvedError("its marks are not those of the line")
        issue, last = grid(2, cones.values(self.pass_last))
        stated = {self._mark("active_q")[0]: issue, self._mark("last_q")[0]: issue & last}
        for k, net in enumerate(marks):
            if net in stated:
                given = {self.issue: issue, self.pass_last: last}
                cones.check([self.line.entries[k]], given, stated[net], "a mark of a step")
                if any(value >> k & 1 for value in self.line.empty):
                    raise NotProvedError("there are steps in the line after reset")
            elif "end_q" not in cones or net != self._mark("end_q")[0]:
                raise NotProvedError("the line has marks that were not stated")
            elif self.line.entries[k] != cones.named("vector_last")[0]:
                raise NotProvedError("end_q does not mark the last step of a vector")
        if not stated.keys() <= set(marks):
            raise NotProvedError("the line does not hand on its marks")

    def _check_whole(self) -> None:
        cones, joined = self.cones, self.fold.joined
        valid, ready = grid(2, 2)
        cones.check_net("free", {"valid_q": valid, "data_out_0_ready": ready}, (1 - valid) | ready)
        if cones.netlist.ports["data_out_0_valid"] != cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")
        finished = (cones.named("last_q")[-1],)
        valid, free, fin, whole = grid(2, 2, 2, cones.values("whole"))
        given = {"valid_q": valid, "free": free, finished: fin, "whole": whole}
        cones.check_register("valid_q", 0, given, np.where(free, fin & whole, valid))
        if joined == 1:
            if cones.named("whole") != ("1",):
                raise NotProvedError("a block is not a beat")
            return
        block, done = grid(joined, 2)
        cones.check_net("whole", {"join_q": 1 << np.arange(joined)}, np.arange(joined) == joined - 1)
        given = {"join_q": 1 << block, "done": done, "whole": (block == joined - 1).astype(np.int64)}
        cones.check_register("join_q", 1, given, np.where(done, 1 << (block + 1) % joined, 1 << block))

    def _check_parts(self) -> None:
        """As many low bits are set as parts are still to leave."""
        cones, parts, last = self.cones, self.fold.parts, self.fold.last_parts
        left, ready = grid(parts + 1, 2)
        held = (1 << left) - 1
        cones.check_net("free", {"left_q": held, "data_out_0_ready": ready}, (left == 0) | ((ready == 1) & (left == 1)))
        if cones.netlist.ports["data_out_0_valid"] != cones.named("left_q")[:1]:
            raise NotProvedError("data_out_0_valid is not the lowest bit of left_q")
        left, ready, done, end = grid(parts + 1, 2, 2, 2 if last != parts else 1)
        held = (1 << left) - 1
        given: dict[str | Nets, Integers] = {"left_q": held, "data_out_0_ready": ready, "done": done}
        if last != parts:
            given[cones.named("end_q")[-1],] = end
            self._check_end()
        filled = np.where(end, (1 << last) - 1, (1 << parts) - 1)
        cones.check_register("left_q", 0, given, np.where(done, filled, np.where(ready, held >> 1, held)))

    def _check_end(self) -> None:
        """Not reset: it is looked at only beside a finished block, which has come through the line."""
        cones = self.cones
        end, enable, mark = grid(2, 2, 2)
        net, q = cones.after("end_q")[-1], (cones.named("end_q")[-1],)
        given = {q: end, "enable": enable, self._mark("end_q"): mark}
        cones.check([net], {"rst": 0, **given}, np.where(enable, mark, end), "the next end_q")

    def check_data(self, array: Array, offset: int, lo: int, hi: int) -> str:
        """What the accumulators take and the output gives; how rounding was seen. Finished sums lie in `lo..hi`."""
        cones, y, fold = self.cones, self.component.output, self.fold
        enable, active = cones.named("enable")[0], self._mark("active_q")[0]
        after = dict(zip(cones.named("acc_q"), cones.after("acc_q"), strict=True))
        for lane in range(fold.p_out):
            for q, net in zip(array.acc(lane), array.next(lane), strict=True):
                for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
                    if cones.followed(after[q], {enable: a, active: b}) != (net if a & b else q):
                        raise NotProvedError("an accumulator does not take its next sum with each step")
        rounded = cones.named("y")
        if len(rounded) != fold.p_out * y.fixed.width:
            raise NotProvedError("y has another number of bits")
        how = ""
        for lane in range(fold.p_out):
            nets = rounded[lane * y.fixed.width : (lane + 1) * y.fixed.width]
            how = self._check_rounded(array.acc(lane), nets, offset, lo, hi)
        self._check_output(rounded)
        return how

    def _check_rounded(self, acc: Nets, nets: Nets, offset: int, lo: int, hi: int) -> str:
        half, y = 1 << len(acc) - 1, self.component.output
        if lo + offset < -half or hi + offset >= half:
            raise NotProvedError(f"{len(acc)} bits of an accumulator do not hold {lo + offset} to {hi + offset}")
        wide = max(2, lo.bit_length() + 1, hi.bit_length() + 1)
        one = Stream("finished", 1, 1, Fixed(wide, 0), (lo,), (hi,))
        whole = Stream(y.name, 1, 1, y.fixed, (y.fixed.lo,), (y.fixed.hi,))
        reference = Reference(Cast("finished", (one,), (whole,), finish=self.component.finish))
        words = reference.words
        held = words.moved(words.variable(0), offset)
        given = {net: words.bit(held, k) for k, net in enumerate(acc)}
        reference.check_beat(0, self.cones.words(nets, given, reference.evaluator))
        for error in reference.failed.values():
            raise error
        return reference.rounded_by

    def _check_output(self, rounded: Nets) -> None:
        """The output register takes what is rounded where it belongs, hands on its parts, and holds otherwise."""
        cones, fold, y = self.cones, self.fold, self.component.output
        held, after = cones.named("y_q"), cones.after("y_q")
        if cones.netlist.ports["data_out_0"] != held[: y.width] or len(rounded) != fold.p_out * y.fixed.width:
            raise NotProvedError("data_out_0 is not the lowest part of y_q")
        done, ready = cones.named("done")[0], cones.netlist.ports["data_out_0_ready"][0]
        for k, (q, net) in enumerate(zip(held, after, strict=True)):
            if fold.parts > 1:
                shifted: Net = held[k + y.width] if k + y.width < len(held) else "0"
                cases = [({done: 1, ready: r}, rounded[k]) for r in (0, 1)]
                cases += [({done: 0, ready: 1}, shifted), ({done: 0, ready: 0}, q)]
            elif fold.joined > 1:
                block, place = divmod(k, len(rounded))
                mine = cones.named("join_q")[block]
                cases = [({done: a, mine: b}, rounded[place] if a & b else q) for a in (0, 1) for b in (0, 1)]
            else:
                cases = [({done: 1}, rounded[k]), ({done: 0}, q)]
            if any(cones.followed(net, given) != wanted for given, wanted in cases):
                raise NotProvedError(f"bit {k} of the output register takes something else")
