"""The array of a folded layer: what one step adds to the accumulators, for every step at once.

The registers between the buffer and the accumulators hand on what they take (line.py), so for a step they are wires. A
row is a function of some bits of the weights' table and of one input lane. It is looked at for all values of both, and
is `a x + b` with numbers that the bits of the table decide. The additions are looked at once, on exact words, with the
rows as variables. So what a step adds follows from its place in the tables, and all steps are compared as arrays.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from mase_hw.numerics.rounding import Integers
from mase_hw.ops.linear.folded import LinearFolded
from mase_hw.ops.window.depthwise import Depthwise
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.line import Line
from mase_hw.prove.netlist.cones import Cones, Given, grid
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.words.carried import Value
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words

MAX_CODE = 12  # bits of the table that one row may depend on
_ROW = re.compile(r"gen_stage\d+\[(\d+)\]\.row(\d+)")
Nets = tuple[Net, ...]


class Steps(Protocol):
    """The head: what a step takes."""

    word: str  # the name of its inputs
    lanes: int

    @property
    def inputs(self) -> Integers:
        """The input element of each [step of a block, lane]; -1: padding."""
        ...

    @property
    def x_bits(self) -> int:
        """Bits of each input."""
        ...

    def steps(self) -> Given:
        """What the counters hold at every step."""
        ...


class Array:
    """What a step adds: `factors[step, output lane, input lane]`, `constants[step, output lane]`, modulo the bits."""

    def __init__(self, component: LinearFolded | Depthwise, head: Steps, netlist: Netlist, line: Line) -> None:
        self.component, self.head, self.fold = component, head, component.array.fold
        self.cones = Cones(as_wires(netlist, line))
        self.steps = head.steps()
        self.word = self.cones.named(head.word)
        self.parts = {net for name, nets in netlist.names.items() if re.fullmatch(r"part\d+", name) for net in nets}
        steps, lanes = self.fold.steps, self.fold.p_out
        self.factors = np.zeros((steps, lanes, head.lanes), np.int64)
        self.constants = np.zeros((steps, lanes), np.int64)
        self.bases: list[int] = []
        self.bits, rest = divmod(len(self.cones.named("acc_q")), lanes)
        if rest:
            raise NotProvedError("the accumulators have another number of lanes")
        for lane in range(lanes):
            self._add_lane(lane)

    def acc(self, lane: int) -> Nets:
        """The accumulator of an output lane."""
        return self.cones.named("acc_q")[lane * self.bits : (lane + 1) * self.bits]

    def next(self, lane: int) -> Nets:
        """What it takes."""
        return self.cones.named(f"gen_stage{len(self.component.array.stages) - 1}[{lane}].next")

    def _add_lane(self, lane: int) -> None:
        rows = {int(n): nets for o, n, nets in self._rows if o == lane}
        shifts = [row.shift for row in self.component.array.rows]  # a hint: compared below
        if sorted(rows) != list(range(len(shifts))):
            raise NotProvedError("it has other rows than those that were stated")
        start = self.cones.named(f"gen_stage0[{lane}].t0")
        begins = self._numbers(start)
        self.constants[:, lane] += begins
        for n, shift in enumerate(shifts):
            x, factor, constant = self._row(rows[n])
            self.factors[:, lane, x] += factor << shift
            self.constants[:, lane] += constant << shift
        ordered = [rows[n] for n in range(len(shifts))]
        self.bases.append(self._check_sums(lane, ordered, shifts, start, int(begins.max())))

    def check_reaches(self, block: int, lane: int, x: Integers, total: int) -> None:
        """Raises unless the steps of a block, run on numbers one after another, end with this sum in the adder."""
        fold, size = self.fold, self.head.x_bits
        steps = np.arange(block * fold.words, (block + 1) * fold.words)
        inputs = np.where(self.head.inputs < 0, 0, x[self.head.inputs]) & (1 << size) - 1
        nets, start = self.next(lane), self.cones.named(f"gen_stage0[{lane}].t0")
        given: dict[Nets, Integers] = {start: self._numbers(start)[steps]} if set(start) != {"0"} else {}
        given |= {self.word[k * size : (k + 1) * size]: inputs[:, k] for k in range(self.head.lanes)}
        codes = self.cones.behind(nets, {*self.word, *self.parts}) & self.parts
        given |= {(net,): self._numbers((net,))[steps] for net in codes if isinstance(net, int)}
        once = self.cones.numbers(nets, {**given, "first_q": 1}, len(steps), "a step")
        held = np.cumsum(once) - np.arange(len(steps)) * self.bases[lane]  # after each step
        before = np.append(0, held[:-1]) & (1 << self.bits) - 1
        first = (steps == steps[0]).astype(np.int64)
        again = self.cones.numbers(nets, {**given, "first_q": first, self.acc(lane): before}, len(steps), "a step")
        if (again - held & (1 << self.bits) - 1).any() or int(again[-1]) != total & (1 << self.bits) - 1:
            raise NotProvedError(f"a run on {x.tolist()} never gives the sum {total}")

    @cached_property
    def _rows(self) -> list[tuple[int, int, Nets]]:
        found = ((_ROW.fullmatch(name), nets) for name, nets in self.cones.netlist.names.items())
        return [(int(match[1]), int(match[2]), nets) for match, nets in found if match]

    def _row(self, nets: Nets) -> tuple[int, Integers, Integers]:
        """The input lane of a row, and its factor and constant at every step."""
        size = self.head.x_bits
        behind = self.cones.behind(nets, {*self.word, *self.parts})
        code: Nets = tuple(sorted(net for net in behind & self.parts if isinstance(net, int)))
        places = [k for k, net in enumerate(self.word) if net in behind]
        lane = places[0] // size if places else 0
        if len(code) > MAX_CODE or any(k // size != lane for k in places):
            raise NotProvedError("a row depends on more than some weight bits and one input")
        codes, x = grid(1 << len(code), 1 << size)
        given: Given = {code: codes, self.word[lane * size : (lane + 1) * size]: x}
        found = self.cones.numbers(nets, given, len(x), "a row").reshape(1 << len(code), 1 << size)
        number = np.arange(1 << size)
        if min(self.component.input.lo) < 0:
            number = number - (number >> size - 1 << size)
        constant = found[:, 0]
        factor = (found[:, 1] - constant) * number[1]  # where x is 1, or, of one bit with a sign, -1
        used = self._numbers(code)
        wrong = (found != factor[:, None] * number + constant[:, None]).any(1)
        if wrong[np.unique(used)].any():
            raise NotProvedError("a row is no multiple of its input")
        return lane, factor[used], constant[used]

    def _numbers(self, nets: Nets) -> Integers:
        """The number on some nets at every step: from the tables, and else from the counters."""
        found = np.zeros(self.fold.steps, np.int64)
        for k, net in enumerate(nets):
            at = self.cones.wired(net)
            if at in self._tables:
                bit = self._tables[at].astype(np.int64)
            elif isinstance(at, str):
                bit = np.full(self.fold.steps, int(at))
            else:
                bit = self.cones.bit(at, self._known(at), self.fold.steps, "what a step starts from")
            found |= bit << k
        return found

    def _known(self, net: Net) -> Given:
        """The counters, and the bits of tables that a net depends on."""
        mine = {one: self._tables[one] for one in self.cones.support(net) if one in self._tables}
        return {**self.steps, **{(one,): bits.astype(np.int64) for one, bits in mine.items()}}

    @cached_property
    def _tables(self) -> dict[Net, NDArray[np.uint8]]:
        """What memories that are never written give at every step, bit by bit."""
        found: dict[Net, NDArray[np.uint8]] = {}
        for cell in self.cones.netlist.cells:
            if cell.type != "$mem_v2" or cell.parameters["WR_PORTS"]:
                continue
            content, width = cell.parameters["INIT"], cell.parameters["WIDTH"]
            if not isinstance(content, int) or cell.parameters["RD_CLK_ENABLE"]:
                raise NotProvedError(f"a table has bits that are not known ({cell.source})")
            size, bits = cell.parameters["SIZE"], cell.parameters["ABITS"]
            octets = np.frombuffer(content.to_bytes(size * width // 8 + 1, "little"), np.uint8)
            table = np.unpackbits(octets, count=size * width, bitorder="little").reshape(size, width)
            for port in range(cell.parameters["RD_PORTS"]):
                address = cell.ports["RD_ADDR"][port * bits : (port + 1) * bits]
                row = self.cones.numbers(address, self.steps, self.fold.steps, "the address of a table")
                row = row - cell.parameters["OFFSET"]
                if row.min() < 0 or row.max() >= size:
                    raise NotProvedError(f"a table is read beyond its rows ({cell.source})")
                columns = np.ascontiguousarray(table[row].T)
                found.update(zip(cell.ports["RD_DATA"][port * width : (port + 1) * width], columns, strict=True))
        return found

    def _check_sums(self, lane: int, rows: list[Nets], shifts: list[int], start: Nets, most: int) -> int:
        """What the first sum of a block starts from; raises unless the rows are added to it, each at its shift."""
        own = {nets: k for k, nets in enumerate(dict.fromkeys([*rows, start]))}
        varies = {nets: k for nets, k in own.items() if not all(isinstance(net, str) for net in nets)}
        bits = [net for nets in varies for net in nets]
        if len(set(bits)) != len(bits):
            raise NotProvedError("two rows share a net")
        hi = np.array([*(most if nets == start else (1 << len(nets)) - 1 for nets in own), (1 << self.bits) - 1])
        words = Words(np.zeros(len(hi), np.int64), hi)
        factors, constant = np.zeros(len(hi), np.int64), 0
        for nets, shift in zip([*rows, start], [*shifts, 0], strict=True):
            if nets in varies:
                factors[own[nets]] += 1 << shift
            else:
                constant += sum(int(net) << k for k, net in enumerate(nets) if isinstance(net, str)) << shift
        variables = {nets: words.variable(k) for nets, k in varies.items()}
        given: dict[Net, Value] = {
            net: words.bit(variable, k)
            for nets, variable in variables.items()
            for k, net in enumerate(nets)
            if isinstance(net, int)
        }
        base = self.component.array.base  # a hint
        held = words.variable(len(hi) - 1)
        given |= {net: words.bit(held, k) for k, net in enumerate(self.acc(lane)) if isinstance(net, int)}
        first = self.cones.named("first_q")[0]
        for value, more in ((0, None), (1, base)):
            wanted = words.word(factors, constant + (more or 0))
            wanted = words.plus(wanted, held) if more is None else wanted
            found = self.cones.words(self.next(lane), {**given, first: value}, Symbolic(words))
            if found != [words.bit(wanted, k) for k in range(self.bits)]:
                raise NotProvedError(f"what the accumulator of lane {lane} takes is not the sum of its rows")
        return base


def as_wires(netlist: Netlist, line: Line) -> Netlist:
    """Head and tail with the registers of the line as wires."""
    given = line.head.ports["data_out_0"][len(line.entries) :]
    joined = [
        Cell(f"level 1 of {k}", "$pos", {"A_SIGNED": 0}, {"A": (d,), "Y": (q,)}, "")
        for k, (d, q) in enumerate(zip(given, line.tail.ports["data_in_0"], strict=True))
    ]
    cells = {cell.name: cell for cell in line.head.cells}
    for cell in line.tail.cells:
        if cells.get(cell.name, cell).ports == cell.ports:
            cells[cell.name] = cell
        else:
            cells[f"{cell.name} of the tail"] = replace(cell, name=f"{cell.name} of the tail")
    return replace(netlist, cells=(*cells.values(), *joined))
