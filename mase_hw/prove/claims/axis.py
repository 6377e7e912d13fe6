"""Axis: the AXI4-Stream top is the design, elements padded to whole bytes, and counts of beats; port by port.

The top's netlist has the design as one cell, of which nothing but the ports is looked at. What goes in and out is
compared wire by wire. Reset and handshakes are functions of two bits, all of which are tried. A counter of beats is
gone through from reset, beside a count of our own. The flag and the count of wrong TLASTs depend on their last value
and on one net, which says that a beat with a wrong one is taken. This is checked; then the net is gone through with the
counter, and the count for all its values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from mase_hw.emit.axis import CLOCK, RESET, AxisPort
from mase_hw.ir import Design
from mase_hw.language.allowed import CHECKS
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.timing import combinational_cone, cone_of
from mase_hw.prove.control.fifo import Logic
from mase_hw.prove.netlist.clocking import check_clocked
from mase_hw.prove.netlist.drivers import check_driven
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.netlist.plain import PlainMachine, slices
from mase_hw.prove.netlist.ports import Ports, check_ports, design_ports, outputs_of

MAX_STATES = 1 << 16  # of a counter of beats
ERRORS = 16  # bits of the count of errors
FLAG, COUNT = "tlast_error", "tlast_error_count"  # of all inputs together
SEVERAL = "wrong"  # the signal with a bit for each input, where there are several


def prove_axis(design: Design, inputs: Sequence[AxisPort], outputs: Sequence[AxisPort], top: Netlist) -> str:
    """How it was proved; raises where it was not."""
    check_ports(_ports(inputs, outputs), top)
    wrapper = _Wrapper(design, top)
    wrongs = wrapper.wrongs(inputs)
    for port, wrong in zip(inputs, wrongs, strict=True):
        wrapper.check_input(port, wrong)
    wrapper.check_counted(wrongs)
    for port in outputs:
        wrapper.check_output(port)
    ends = [f"{port.prefix} has {port.stream.sample_beats}" for port in (*inputs, *outputs)]
    text = (
        "elements in whole bytes, wire by wire; handshakes passed on but in reset; TLAST on the last beat of a vector"
    )
    return f"{text} ({', '.join(ends)}), gone through; wrong ones are counted"


@dataclass(frozen=True)
class _Move:
    """Inputs of a cycle, and whether a beat moves in it."""

    given: dict[Net, int]
    fires: int


class _Wrapper:
    """The netlist around the design."""

    def __init__(self, design: Design, top: Netlist) -> None:
        inside = [cell for cell in top.cells if not cell.type.startswith("$")]
        if [cell.type for cell in inside] != [design.name]:
            raise NotProvedError(f"it does not hold {design.name}, once, and nothing else", refuted=True)
        self.inside: Cell = inside[0]
        self.ports = top.ports
        wanted = design_ports(design)
        widths = {port: len(nets) for port, nets in self.inside.ports.items()}
        if widths != {port: width for port, (_, width) in wanted.items()}:
            raise NotProvedError(f"the ports of {design.name} are not those of its streams", refuted=True)
        if self.inside.parameters not in ({}, {CHECKS: 0}):
            raise NotProvedError(f"{design.name} has other parameters than {CHECKS} = 0", refuted=True)
        check_driven(top, {self.inside.name: outputs_of(wanted)})
        self.netlist = replace(top, cells=tuple(cell for cell in top.cells if cell is not self.inside))
        others = {port: nets for port, nets in top.ports.items() if port != CLOCK}
        check_clocked(replace(self.netlist, ports={**others, "clk": top.ports[CLOCK]}))
        self.logic = Logic(self.netlist)
        self.reset = top.ports[RESET][0]
        _same(self.inside.ports["clk"], top.ports[CLOCK], "clk of the design")
        for active in (0, 1):
            found = self.logic.number(self.inside.ports["rst"], {self.reset: active})
            _equal(found, 1 - active, f"rst of the design while {RESET} is {active}")

    def check_input(self, port: AxisPort, wrong: Net) -> None:
        """`wrong` says that a beat with a wrong TLAST is taken here."""
        name, stream = port.prefix, port.stream
        data, width = self.ports[f"{name}_tdata"], stream.fixed.width
        wanted = [data[lane * port.lane_bits + k] for lane in range(stream.lanes) for k in range(width)]
        _same(self.inside.ports[stream.name], tuple(wanted), f"what {name} gives to the design")
        valid, ready = self.ports[f"{name}_tvalid"], self.inside.ports[f"{stream.name}_ready"]
        _same(self.inside.ports[f"{stream.name}_valid"], valid, f"valid of {name}")
        self._check_gated(f"{name}_tready", ready[0])
        last = self.ports[f"{name}_tlast"][0]

        def look(held: Mapping[Net, int], beat: int) -> None:
            for v, r, said in product((0, 1), repeat=3):
                found = self.logic.number([wrong], {**held, valid[0]: v, ready[0]: r, last: said})
                _equal(
                    found,
                    v & r & (said ^ (beat == stream.sample_beats - 1)),
                    f"whether TLAST of {name} is wrong at {beat}",
                )

        self._count(wrong, _moves(valid[0], ready[0]), stream.sample_beats, look)

    def check_output(self, port: AxisPort) -> None:
        name, stream = port.prefix, port.stream
        data, width = self.inside.ports[stream.name], stream.fixed.width
        lanes = [data[lane * width : (lane + 1) * width] for lane in range(stream.lanes)]
        fill = [(lane[-1] if stream.fixed.signed else "0",) * port.padding for lane in lanes]
        wanted = tuple(net for lane, more in zip(lanes, fill, strict=True) for net in (*lane, *more))
        _same(self.ports[f"{name}_tdata"], wanted, f"data of {name}")
        valid, ready = self.inside.ports[f"{stream.name}_valid"], self.ports[f"{name}_tready"]
        _same(self.inside.ports[f"{stream.name}_ready"], ready, f"ready of {name}")
        self._check_gated(f"{name}_tvalid", valid[0])
        last = self.ports[f"{name}_tlast"]

        def look(held: Mapping[Net, int], beat: int) -> None:
            _equal(
                self.logic.number(last, held), int(beat == stream.sample_beats - 1), f"TLAST of {name} at beat {beat}"
            )

        self._count(last[0], _moves(valid[0], ready[0]), stream.sample_beats, look)

    def _check_gated(self, port: str, net: Net) -> None:
        """It is a signal of the design, and low in reset."""
        for active, signal in product((0, 1), repeat=2):
            found = self.logic.number(self.ports[port], {self.reset: active, net: signal})
            _equal(found, active & signal, f"{port} while {RESET} is {active}")

    def _count(
        self, of: Net, moves: Sequence[_Move], beats: int, look: Callable[[Mapping[Net, int], int], None]
    ) -> None:
        """Every state of the registers that a net depends on, with the beat that comes next."""
        logic = self.logic
        registers = sorted(net for net in cone_of(self.netlist, [of]) if isinstance(net, int) and net in logic.after)
        after = logic.next_of(registers)
        todo = [(logic.number(after, {self.reset: 0}), 0)]
        seen = set(todo)
        while todo:
            state, beat = todo.pop()
            held = {net: (state >> k) & 1 for k, net in enumerate(registers)} | {self.reset: 1}
            look(held, beat)
            for move in moves:
                then = logic.number(after, held | move.given), (beat + move.fires) % beats
                if then not in seen:
                    seen.add(then)
                    todo.append(then)
            if len(seen) > MAX_STATES:
                raise NotProvedError(f"a counter of beats has more than {MAX_STATES:,} states")

    def wrongs(self, inputs: Sequence[AxisPort]) -> list[Net]:
        """For each input a net that sets the flag: they and reset decide about it, and nothing else.

        With several inputs they are the bits of a signal, which is found by its name and then checked.
        """
        flag = self.ports[FLAG][0]
        after = self.logic.after.get(flag)
        if after is None:
            raise NotProvedError(f"{FLAG} is no register", refuted=True)
        if len(inputs) == 1:
            return [self._wrong(flag, after)]
        nets = list(self.netlist.names.get(SEVERAL, ()))
        if len(nets) != len(inputs):
            raise NotProvedError(f"it has no signal {SEVERAL} with a bit for each input")
        for bits in product((0, 1), repeat=len(nets) + 1):
            given = dict(zip([*nets, flag], bits, strict=True))
            _equal(self.logic.number([after], {self.reset: 1, **given}), int(any(bits)), f"{FLAG} after {bits}")
        _equal(self.logic.number([after], {self.reset: 0}), 0, f"{FLAG} after reset")
        return nets

    def _wrong(self, flag: Net, after: Net) -> Net:
        cone = combinational_cone(self.netlist, [after])
        selects = {cell.ports["S"][0] for cell in self.netlist.cells if cell.type == "$mux"}
        for net in selects & cone - {self.reset}:
            try:
                held = [
                    self.logic.number([after], {self.reset: 1, net: w, flag: e}) for w, e in product((0, 1), repeat=2)
                ]
                if held == [0, 1, 1, 1] and not self.logic.number([after], {self.reset: 0}):
                    return net
            except NotProvedError:
                continue
        raise NotProvedError(f"{FLAG} is not set by a wrong TLAST and kept until reset")

    def check_counted(self, wrongs: Sequence[Net]) -> None:
        """One more for each, until it is full: for all values."""
        logic, count = self.logic, self.ports[COUNT]
        if any(net not in logic.after for net in count):
            raise NotProvedError("the count of wrong TLASTs is no register", refuted=True)
        after = logic.next_of(count)
        cone = cone_of(self.netlist, after, through_registers=False, before=set(wrongs))
        cells = tuple(
            cell
            for cell in self.netlist.cells
            if cone.intersection(cell.ports.get("Y", ())) and not set(wrongs).intersection(cell.ports["Y"])
        )
        known = {*wrongs, self.reset, *count, *(net for cell in cells for net in cell.ports["Y"])}
        if any(isinstance(net, int) and net not in known for net in _read(cells)):
            raise NotProvedError("the count of wrong TLASTs depends on something else")
        values = np.arange(1 << ERRORS)
        ports = {"wrong": tuple(wrongs), "count": count, RESET: (self.reset,)}
        machine = PlainMachine(replace(self.netlist, cells=cells, ports=ports), np.random.default_rng(0), len(values))
        machine.put_wires("count", slices(values[:, None], ERRORS))
        for active, pattern in product((0, 1), range(1 << len(wrongs))):
            more = pattern.bit_count()
            machine.put("wrong", pattern)
            machine.put(RESET, active)
            machine.settle()
            wanted = slices(np.minimum(values + more, values[-1])[:, None] * active, ERRORS)
            if [machine.wires[net] for net in after] != wanted:
                raise NotProvedError("wrong TLASTs are not counted one by one", refuted=True)


def _ports(inputs: Sequence[AxisPort], outputs: Sequence[AxisPort]) -> Ports:
    found = {CLOCK: ("input", 1), RESET: ("input", 1), FLAG: ("output", 1), COUNT: ("output", ERRORS)}
    for side, into, back in ((inputs, "input", "output"), (outputs, "output", "input")):
        for port in side:
            found[f"{port.prefix}_tdata"] = (into, port.tdata_width)
            found |= {f"{port.prefix}_tvalid": (into, 1), f"{port.prefix}_tlast": (into, 1)}
            found[f"{port.prefix}_tready"] = (back, 1)
    return found


def _moves(valid: Net, ready: Net) -> list[_Move]:
    return [_Move({valid: v, ready: r}, v & r) for v, r in product((0, 1), repeat=2)]


def _read(cells: Sequence[Cell]) -> Iterator[Net]:
    return (net for cell in cells for port, nets in cell.ports.items() if port != "Y" for net in nets)


def _same(found: tuple[Net, ...], wanted: tuple[Net, ...], what: str) -> None:
    if found != wanted:
        raise NotProvedError(f"{what} is joined otherwise than it should be", refuted=True)


def _equal(found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise NotProvedError(f"{what} is {found}, not {wanted}", refuted=True)
