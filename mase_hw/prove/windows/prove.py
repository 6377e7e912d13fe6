"""A window of any frame: its handshake is the predicted one, and it gives the positions that its geometry says.

The argument has two halves. The registers of the netlist move as stated, each compared by itself (registers.py). What
was stated leads from each read to the next, keeps the number of beats written in step with what the windows need, and
so reads only what is there (reads.py, level.py). Here the line buffer joins them: position `i` of the stream lies where
`i` modulo the buffer's size says, is read there, and leaves through one register.
"""

from __future__ import annotations

from math import prod

import numpy as np

from mase_hw.ops.window import Window
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import Cones
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.windows.level import Level
from mase_hw.prove.windows.parts import check_moved, only_memory
from mase_hw.prove.windows.reads import Reads
from mase_hw.prove.windows.registers import Registers


class WindowProof:
    """Handshake, then values; each says how it was proved, or raises."""

    def __init__(self, component: Window, netlist: Netlist) -> None:
        self.component, self.netlist = component, netlist
        self._registers: Registers | None = None

    def handshake(self) -> str:
        reads = Reads(self.component)
        level = Level(reads)
        level.check_model()
        registers = Registers(reads, level, Cones(self.netlist))
        registers.check()
        self._registers = registers
        windows = f"{prod(reads.out):,} windows of {reads.beats:,} beats"
        return (
            f"an invariant of its counters, each compared by itself, for {windows}: as predicted, cycle by cycle; "
            "no deadlock: a beat moves within 2 cycles"
        )

    def values(self) -> str:
        if self._registers is None:
            raise NotProvedError("its handshake was not proved")
        self._check_memory(self._registers)
        self._check_padded(self._registers)
        self._check_output(self._registers)
        return "every position is read where it was written, by the invariant of the counters; padding where it lies"

    def widths(self) -> str:
        return check_moved(self.netlist)

    def _check_memory(self, registers: Registers) -> None:
        """Written with every beat that comes, at its place; read at the place of the slot and the column."""
        cones, reads = registers.cones, registers.reads
        memory, pitch = only_memory(self.netlist, self.component.input.width), reads.plan.pitch
        place = np.arange(registers.level.ring)
        address = place // reads.row_beats * pitch + place % reads.row_beats
        if pitch < reads.row_beats or address[-1] >= min(memory.parameters["SIZE"], 1 << memory.parameters["ABITS"]):
            raise NotProvedError("the line buffer has too few words")
        cones.check(memory.ports["WR_ADDR"], registers.written(), address, "the address that is written")
        fire = np.arange(2)
        full = np.where(fire, -1, 0)
        for k, net in enumerate(memory.ports["WR_EN"]):
            cones.check([net], {"in_fire": fire}, full, f"whether bit {k} of the memory is written")
        if memory.ports["WR_DATA"] != self.netlist.ports["data_in_0"]:
            raise NotProvedError("something else than data_in_0 is written to the memory")
        parts = {"slot_q": place // reads.row_beats, "column_q": place % reads.row_beats}
        given = {name: values for name, values in parts.items() if values.any()}
        cones.check(memory.ports["RD_ADDR"], given, address, "the address that is read")

    def _check_padded(self, registers: Registers) -> None:
        """`padded` is the OR of what depends on the column and of what depends on the rows."""
        cones, reads = registers.cones, registers.reads
        columns = np.unique(reads.columns)
        beside = (columns < 0) | (columns >= reads.row_beats)
        outside = (reads.rows < 0) | (reads.rows >= reads.frame[0])
        if "padded" not in cones:
            if beside.any() or outside.any():
                raise NotProvedError("there is no padded")
            return
        line, tap = (part.ravel() for part in np.indices(outside.shape))
        rows = {name: values for name, values in (("line_q", line), ("tap_row_q", tap)) if name in cones}
        of_column = set(cones.named("column_q")) if "column_q" in cones else set()
        found = np.zeros_like(columns), np.zeros_like(line)
        for net in cones.alternatives("padded"):
            support = cones.support(net)
            if support and support <= of_column:
                np.bitwise_or(found[0], cones.bit(net, {"column_q": columns}, len(columns), "padded"), out=found[0])
            else:
                np.bitwise_or(found[1], cones.bit(net, rows, len(line), "padded"), out=found[1])
        if not np.array_equal(found[1] == 1, outside.ravel()):
            raise NotProvedError("padded is not what lies above and below the frame")
        if not outside.all() and not np.array_equal(found[0] == 1, beside):
            raise NotProvedError("padded is not what lies beside the frame")

    def _check_output(self, registers: Registers) -> None:
        """One register takes what is read, or padding, while a read is issued, and holds otherwise."""
        cones, memory, x = registers.cones, only_memory(self.netlist, self.component.input.width), self.component.input
        held = cones.named("data_q")
        if held != self.netlist.ports["data_out_0"] or len(held) != x.width:
            raise NotProvedError("data_out_0 is not data_q")
        issue, fill = cones.named("issue")[0], registers.reads.fill % (1 << x.fixed.width)
        pads = [{cones.named("padded")[0]: bit} for bit in (0, 1)] if "padded" in cones else [{}]
        for k, (taken, net) in enumerate(zip(cones.after("data_q"), held, strict=True)):
            wanted: list[Net] = [memory.ports["RD_DATA"][k], str(fill >> k % x.fixed.width & 1)]
            for pad, right in zip(pads, wanted, strict=False):
                if cones.chosen(taken, {issue: 0, **pad}) != net:
                    raise NotProvedError(f"bit {k} of the output does not hold")
                if cones.chosen(taken, {issue: 1, **pad}) != right:
                    raise NotProvedError(f"bit {k} of the output takes something else than what is read, or padding")
