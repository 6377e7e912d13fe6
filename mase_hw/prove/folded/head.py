"""The head of a folded layer: its counters and its double buffer, register by register.

Let `V` vectors be written whole and `R` read to their last step. Stated is: the halves that are written and read are
`V` and `R` modulo 2; a half is full where it holds a vector that is whole and not read, so `V - R` is 0, 1 or 2; a beat
is taken while `V - R < 2`; a step is issued where `V > R`, or where the row that it reads is not the one that is being
written. In the second case no pass has ended: the row that is read is never ahead of the row that is written, and the
last row is not written before its vector is whole. So a step reads a row of vector `R` that is there, and no beat is
written over one that is still to be read.
"""

from __future__ import annotations

import numpy as np

from mase_hw.ir import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.folded.places import Places
from mase_hw.prove.folded.steps import check_address, check_nest
from mase_hw.prove.netlist.cones import Cones, Given, grid
from mase_hw.prove.netlist.netlist import Cell, Net
from mase_hw.prove.words.carried import Value
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words


class Head:
    """Raises where anything is not as stated."""

    word = "word"

    def __init__(self, places: Places, x: Stream, cones: Cones) -> None:
        self.places, self.fold, self.x, self.cones = places, places.fold, x, cones
        self.lanes, self.inputs = places.fold.p_in, places.inputs
        self.deep = places.rows > 1

    def check_counters(self) -> None:
        self._check_handshake()
        self._check_steps()
        self._check_write()
        self._check_halves()

    def _check_handshake(self) -> None:
        cones = self.cones
        a, b = grid(2, 2)
        cones.check_net("in_fire", {"data_in_0_valid": a, "data_in_0_ready": b}, a & b)
        cones.check_net("issue", {"enable": a, "there": b}, a & b)
        full, half = grid(4, 2)
        cones.check_net("data_in_0_ready", {"full_q": full, "write_half_q": half}, (full >> half & 1) == 0)
        self._check_there(full, half)

    def _check_there(self, full: Integers, half: Integers) -> None:
        """Its half is full, or the row is not the one that is being written."""
        cones, found, ahead = self.cones, np.zeros_like(full), not self.deep
        for net in cones.alternatives("there"):
            cell, _ = cones.driver.get(net, (None, 0))
            rows = [cones.named(name) for name in ("word_q", "write_word_q")] if self.deep else []
            if cell is not None and cell.type == "$ne" and {cell.ports["A"], cell.ports["B"]} == set(rows):
                ahead = True
            elif rows and not cones.support(net).isdisjoint(rows[0]):
                a, b = grid(self.places.rows, self.places.rows)
                cones.check([net], {"word_q": a, "write_word_q": b}, (a != b).astype(np.int64), "there")
                ahead = True
            else:
                found |= cones.bit(net, {"full_q": full, "read_half_q": half}, len(full), "there")
        if not ahead or not np.array_equal(found, full >> half & 1):
            raise NotProvedError("a step is issued in other cases than those that were stated")

    def _check_steps(self) -> None:
        lasts = check_nest(self.cones, self.places.counters, "issue")
        for name, those in (("pass_last", [last for last in lasts if last != "block_last"]), ("vector_last", lasts)):
            ends = grid(1, *[2] * len(those))
            self.cones.check_net(name, dict(zip(those, ends[1:], strict=True)), np.all(ends[1:] or [ends[0] == 0], 0))

    def steps(self) -> Given:
        return check_address(self.cones, self.places.counters, "issue", self.fold.steps)

    def _check_write(self) -> None:
        """Bank after bank, row after row, to the last beat of a vector."""
        cones, banks, rows = self.cones, self.fold.banks, self.places.rows
        if banks == 1 and rows == 1:
            if cones.named("write_last") != ("1",):
                raise NotProvedError("write_last is not always high")
            return
        row, bank = (axis.copy() for axis in grid(rows, banks))
        last = (row == rows - 1) & (bank == (self.places.last_bank if banks > 1 else 0))
        real = (row < rows - 1) | (bank <= self.places.last_bank) if banks > 1 else row >= 0
        row, bank, last = row[real], bank[real], last[real].astype(np.int64)
        place: dict[str, Integers] = {"write_word_q": row} if self.deep else {}
        place |= {"bank_q": 1 << bank} if banks > 1 else {}
        cones.check_net("write_last", place, last)
        written = np.asarray(last == 1) | (bank == banks - 1)
        if banks > 1:
            cones.check_net("word_written", place, written)
        n = len(row)
        fire = np.repeat([0, 1], n)
        row, bank, last, written = (np.tile(each, 2) for each in (row, bank, last, written))
        moved = {"in_fire": fire, "write_last": last, **({"word_written": written * 1} if banks > 1 else {})}
        place = {name: np.tile(each, 2) for name, each in place.items()}
        if self.deep:
            after = np.where(fire & written, np.where(last, 0, row + 1), row)
            cones.check_register("write_word_q", 0, {**moved, **place}, after)
        if banks > 1:
            after = np.where(fire, np.where(written, 1, 2 << bank), 1 << bank)
            cones.check_register("bank_q", 1, {**moved, **place}, after)

    def _check_halves(self) -> None:
        cones = self.cones
        for name, moves, last in (("write_done", "in_fire", "write_last"), ("read_done", "issue", "vector_last")):
            a, b = grid(2, cones.values(last))
            cones.check_net(name, {moves: a, last: b}, a & b)
        full, written, read, into, out = grid(4, 2, 2, 2, 2)
        real = ~((written & read == 1) & (into == out))  # it is full, or not yet whole
        given = {"full_q": full, "write_done": written, "read_done": read, "write_half_q": into, "read_half_q": out}
        wanted = (full | written << into) & ~(read << out)
        cones.check_register("full_q", 0, {name: each[real] for name, each in given.items()}, wanted[real])
        half, done = grid(2, 2)
        for name, moves in (("write_half_q", "write_done"), ("read_half_q", "read_done")):
            cones.check_register(name, 0, {name: half, moves: done}, half ^ done)

    @property
    def x_bits(self) -> int:
        """Bits of an element that are kept; its other bits are copies of its sign, or 0."""
        bits = len(self.cones.named("beat")) // self.x.lanes
        lo, hi = int(min(self.x.lo)), int(max(self.x.hi))
        least, most = (0, (1 << bits) - 1) if lo >= 0 else (-(1 << bits - 1), (1 << bits - 1) - 1)
        if lo < least or hi > most:
            raise NotProvedError(f"{bits} bits of an input do not hold {lo} to {hi}")
        return bits

    def check_buffer(self) -> None:
        """Every beat is written to its bank at the row that is counted; the word is read from the row of the step."""
        cones, x, size = self.cones, self.x, self.x_bits
        entering = cones.netlist.ports["data_in_0"]
        lanes = [entering[k * x.fixed.width :][:size] for k in range(x.lanes)]
        if cones.named("beat") != tuple(net for lane in lanes for net in lane):
            raise NotProvedError("beat is not the lower bits of the input's elements")
        stored = cones.named("stored")
        banks = [cell for cell in cones.netlist.cells if cell.type == "$mem_v2" and cell.parameters["WR_PORTS"]]
        width = len(cones.named("beat"))
        if len(banks) != self.fold.banks or len(stored) < self.fold.banks * width:
            raise NotProvedError("the input is not kept in its banks")
        for k in range(self.fold.banks):
            nets = stored[k * width : (k + 1) * width]
            mine = [cell for cell in banks if cell.ports["RD_DATA"] == nets]
            if len(mine) != 1:
                raise NotProvedError(f"bank {k} is not one memory")
            self._check_bank(mine[0], k)
        self._check_word(stored)

    def _check_bank(self, cell: Cell, bank: int) -> None:
        cones, rows = self.cones, self.places.rows
        parameters = cell.parameters
        clocked = ("RD_CLK_ENABLE", "OFFSET", "RD_WIDE_CONTINUATION", "WR_WIDE_CONTINUATION")
        bits = (rows - 1).bit_length()
        if any(parameters[name] for name in clocked) or parameters["WR_PORTS"] != 1 or parameters["RD_PORTS"] != 1:
            raise NotProvedError("a bank is not read within a cycle and written at one port")
        if min(parameters["SIZE"], 1 << parameters["ABITS"]) < (1 << bits) + rows:
            raise NotProvedError("a bank has too few words")
        half, row = grid(2, rows)
        for port, counts in (("WR_ADDR", ("write_half_q", "write_word_q")), ("RD_ADDR", ("read_half_q", "word_q"))):
            given = {counts[0]: half, **({counts[1]: row} if self.deep else {})}
            cones.check(cell.ports[port], given, (half << bits) + row, f"the address {port} of a bank")
        if cell.ports["WR_DATA"] != cones.named("beat"):
            raise NotProvedError("something else than the beat is written")
        fire, mine = grid(2, 2)
        own: Given = (
            {"in_fire": fire, (cones.named("bank_q")[bank],): mine} if self.fold.banks > 1 else {"in_fire": fire}
        )
        wanted = fire & mine if self.fold.banks > 1 else fire
        for net in set(cell.ports["WR_EN"]):
            cones.check([net], own, wanted, "whether a bank is written")

    def _check_word(self, stored: tuple[Net, ...]) -> None:
        """The word of a step: what is stored, or a slice of it, with zeros where there is no more."""
        word, slices, size = self.cones.named("word"), self.fold.slices, self.x_bits
        if len(word) != self.fold.p_in * size:
            raise NotProvedError("a word has another number of lanes")
        if slices == 1:
            if word != stored:
                raise NotProvedError("the word is not what is stored")
            return
        count = -(-len(stored) // size)
        words = Words(np.zeros(count, np.int64), np.full(count, (1 << size) - 1))
        variables = [words.variable(k) for k in range(count)]
        bits: list[Value] = [words.bit(variables[k // size], k % size) for k in range(len(stored))]
        given: dict[Net, Value] = {net: bit for net, bit in zip(stored, bits, strict=True) if isinstance(net, int)}
        whole: list[Value] = [given[net] if isinstance(net, int) else int(net) for net in stored]
        for k in range(slices):
            select = {net: k >> n & 1 for n, net in enumerate(self.cones.named("slice_q"))}
            found = self.cones.words(word, {**given, **select}, Symbolic(words))
            wanted = whole[k * len(word) : (k + 1) * len(word)]
            if len(wanted) != len(word) or found != wanted:
                raise NotProvedError("the word is not the slice that the counter names")
