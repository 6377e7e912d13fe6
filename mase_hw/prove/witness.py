"""An input for which a netlist is wrong: found by running it on plain numbers, without any of the proof's rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.hardware import Component
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.cells import function, operands
from mase_hw.prove.machine import Machine
from mase_hw.prove.netlist import Cell, Net, Netlist
from mase_hw.prove.words import UNKNOWN, Words

STALLS = ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.5, 0.5))  # how often the input is valid and the output ready
MAX_WORK = 4_000_000  # bits computed in all: some seconds
RANDOM = 24  # vectors of a run, besides the suspects and the corners


def find_witness(component: Component, netlist: Netlist, suspects: Sequence[Integers] = ()) -> str | None:
    """In words, a beat that is not what it has to be; None where no run shows one, which proves nothing."""
    rng = np.random.default_rng(0)
    lo, hi = (np.asarray(side) for side in component.input.bounds)
    x = np.stack([*suspects, lo, hi, *rng.integers(lo, hi + 1, (RANDOM, len(lo)))])
    y = component.execute(x)
    work = sum(cell.width("Y") for cell in netlist.cells if "Y" in cell.ports) + 1
    cycles = MAX_WORK // (work * len(STALLS))
    for offers, takes in STALLS:
        run = _Run(component, netlist, x, y, np.random.default_rng(1))
        for _ in range(cycles):
            if run.given == len(y) * component.output.beats:
                break
            if (found := run.cycle(rng.random() < offers, rng.random() < takes)) is not None:
                return found
    return None


def seen_after_reset(netlist: Netlist, registers: Sequence[Net]) -> list[int]:
    """What these registers hold, as one number, after runs of one cycle of reset from any contents."""
    rng, found = np.random.default_rng(0), set()
    for _ in range(RANDOM):
        machine = PlainMachine(netlist, rng)
        for port, nets in netlist.ports.items():
            if not port.startswith("data_out_0") or port == "data_out_0_ready":
                machine.put(port, int.from_bytes(rng.bytes(len(nets) // 8 + 1), "little"))
        machine.put("rst", 1)
        machine.settle()
        machine.tick()
        found.add(machine.pattern(registers))
    return sorted(found)


class PlainMachine(Machine):
    """Every bit is 0 or 1; registers and memories start with any."""

    def __init__(self, netlist: Netlist, rng: np.random.Generator) -> None:
        super().__init__(netlist, Words(np.zeros(1, np.int64), np.zeros(1, np.int64)))
        self.functions = {cell.name: function(cell) for cell in self.order if isinstance(cell, Cell)}
        self.values["x"] = 0
        for cell in self.registers:
            self.values |= {net: int(rng.integers(2)) for net in cell.ports["Q"]}
        for memory in self.memories:
            memory.words = [[int(rng.integers(2)) if bit is UNKNOWN else bit for bit in row] for row in memory.words]

    def settle(self) -> None:
        for cell in self.order:
            if isinstance(cell, Cell):
                found = self.functions[cell.name](*(self.pattern(cell.ports[port]) for port in operands(cell)))
                self.values |= {net: (found >> k) & 1 for k, net in enumerate(cell.ports["Y"])}
            else:
                memory, port = cell
                memory.read(self, port)
                nets = memory.part("RD_DATA", port, memory.width)
                self.values |= {net: 0 for net in nets if self.values[net] is UNKNOWN}  # a row that there is not

    def pattern(self, nets: Sequence[Net]) -> int:
        values = self.values
        return sum(1 << k for k, net in enumerate(nets) if values[net] == 1)

    def put(self, port: str, pattern: int) -> None:
        if port in self.netlist.ports:
            self.set(port, [(pattern >> k) & 1 for k in range(len(self.netlist.ports[port]))])


class _Run:
    """A component between a source and a sink that keep to the rules of the streams."""

    def __init__(
        self, component: Component, netlist: Netlist, x: Integers, y: Integers, rng: np.random.Generator
    ) -> None:
        self.component, self.x, self.y = component, x, y
        self.beats = [_packed(beat, component.input.fixed.width) for beat in x.reshape(-1, component.input.lanes)]
        self.wanted = [_packed(beat, component.output.fixed.width) for beat in y.reshape(-1, component.output.lanes)]
        self.taken = self.given = 0
        self.waits = False  # an offered beat stays until it is taken
        self.pipe = "enable" in netlist.ports
        self.machine = PlainMachine(netlist, rng)
        for port, value in (("clk", 0), ("rst", 1), ("enable", 1), ("data_in_0_valid", 0), ("data_out_0_ready", 0)):
            self.machine.put(port, value)
        self.machine.put("data_in_0", 0)
        self.machine.settle()
        self.machine.tick()
        self.machine.put("rst", 0)

    def cycle(self, offer: bool, ready: bool) -> str | None:
        machine = self.machine
        valid = self.taken < len(self.beats) and (offer or self.waits)
        machine.put("data_in_0_valid", int(valid))
        machine.put("data_in_0", self.beats[self.taken] if valid else 0)
        machine.put("data_out_0_ready", int(ready))
        machine.settle()
        offered = machine.get("data_out_0_valid") == [1]
        if self.pipe:
            machine.put("enable", int(ready or not offered))
            machine.settle()
        found = None
        if offered:
            given = machine.pattern(machine.netlist.ports["data_out_0"])
            if given != self.wanted[self.given]:
                found = self._said(given)
            self.given += ready
        takes = valid and machine.get("enable" if self.pipe else "data_in_0_ready") == [1]
        self.taken, self.waits = self.taken + takes, valid and not takes
        machine.tick()
        return found

    def _said(self, given: int) -> str:
        out = self.component.output
        vector, beat = divmod(self.given, out.beats)
        width, signed = out.fixed.width, out.fixed.signed
        numbers = [(given >> (width * k)) & ((1 << width) - 1) for k in range(out.lanes)]
        numbers = [n - ((n >> (width - 1)) << width) if signed else n for n in numbers]
        wanted = self.y[vector, beat * out.lanes : (beat + 1) * out.lanes].tolist()
        lane = next(k for k in range(out.lanes) if numbers[k] != wanted[k])
        name = f"{out.name}[{beat * out.lanes + lane}]"
        return f"a run on numbers gives {name} = {numbers[lane]}, not {wanted[lane]}, for {self.x[vector].tolist()}"


def _packed(beat: Integers, width: int) -> int:
    return sum((int(n) & ((1 << width) - 1)) << (width * k) for k, n in enumerate(beat))
