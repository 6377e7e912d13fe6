"""A netlist run cycle by cycle on plain numbers, many samples at once: every wire is 0 or 1 in each of them.

This is a simulator of its own, beside the words of the proof: what they claim is seen here again, or is not true.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.netlist.gates import Gates, Wire, Wires
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.words.carried import Unknown
from mase_hw.prove.words.machine import Memory, order


class PlainMachine:
    """Inputs are put by port, `settle` computes every wire, `tick` moves the registers, which start with any bits."""

    def __init__(self, netlist: Netlist, rng: np.random.Generator, samples: int = 1) -> None:
        self.netlist, self.gates, self.rng = netlist, Gates(samples, undefined=0), rng
        self.registers = [cell for cell in netlist.cells if cell.type == "$dff"]
        memories = [Memory(cell) for cell in netlist.cells if cell.type == "$mem_v2"]
        self.rows = {id(memory): [[self._started(bit) for bit in row] for row in memory.words] for memory in memories}
        self.memories = memories
        self.order = [
            (item, {port: nets for port, nets in item.ports.items() if port != "Y"} if isinstance(item, Cell) else {})
            for item in order(netlist, memories)
        ]
        self.wires: dict[Net, Wire] = {"0": 0, "1": self.gates.ones, "x": 0}
        for cell in self.registers:
            self.wires |= {net: self._any() for net in cell.ports["Q"]}

    def _any(self) -> int:
        return int.from_bytes(self.rng.bytes(self.gates.samples // 8 + 1), "little") & self.gates.ones

    def _started(self, bit: object) -> Wire:
        """What a bit of a memory holds at first."""
        return self.gates.ones * bit if isinstance(bit, int) else self._any()

    def put(self, port: str, pattern: int) -> None:
        """The same number in every sample; nothing where there is no such port."""
        for k, net in enumerate(self.netlist.ports.get(port, ())):
            self.wires[net] = self.gates.ones * ((pattern >> k) & 1)

    def put_wires(self, port: str, wires: Sequence[Wire]) -> None:
        self.wires.update(zip(self.netlist.ports[port], wires, strict=True))

    def numbers(self, nets: Sequence[Net]) -> list[int]:
        """The number on these nets, in each sample."""
        found = [0] * self.gates.samples
        for k, net in enumerate(nets):
            wire = self.wires[net]
            assert not isinstance(wire, Unknown)
            for n, bit in enumerate(reversed(f"{wire:b}")):
                if bit == "1":
                    found[n] |= 1 << k
        return found

    def number(self, port: str) -> int:
        """What a port carries in the first sample."""
        return self.numbers(self.netlist.ports[port])[0]

    def settle(self) -> None:
        wires, evaluate = self.wires, self.gates.evaluate
        for item, ports in self.order:
            if isinstance(item, Cell):
                read = {port: [wires[net] for net in nets] for port, nets in ports.items()}
                wires.update(zip(item.ports["Y"], evaluate(item, read), strict=True))
            else:
                self._read(*item)

    def tick(self) -> None:
        wires = self.wires
        moved = [(cell.ports["Q"], [wires[net] for net in cell.ports["D"]]) for cell in self.registers]
        for memory in self.memories:
            for k in range(int(memory.cell.parameters["WR_PORTS"])):
                self._write(memory, k)
        for nets, values in moved:
            wires.update(zip(nets, values, strict=True))

    def _addressed(self, memory: Memory, nets: Sequence[Net]) -> Iterator[tuple[int, Wire]]:
        """Rows of a memory, each with the samples in which it is the one that is addressed."""
        gates, address = self.gates, [self.wires[net] for net in nets]
        if (number := gates.constant(address)) is not None:
            if 0 <= number - memory.offset < memory.size:
                yield number - memory.offset, gates.ones
            return
        for row in range(memory.size):
            match: Wire = gates.ones
            for k, wire in enumerate(address):
                match = gates.both(match, wire if (row + memory.offset) >> k & 1 else gates.inverted(wire))
            if match != 0:
                yield row, match

    def _read(self, memory: Memory, k: int) -> None:
        found: Wires = [0] * memory.width  # a row that there is not
        for row, match in self._addressed(memory, memory.part("RD_ADDR", k, memory.index_bits)):
            both = (self.gates.both(match, bit) for bit in self.rows[id(memory)][row])
            found = list(map(self.gates.either, found, both))
        self.wires.update(zip(memory.part("RD_DATA", k, memory.width), found, strict=True))

    def _write(self, memory: Memory, k: int) -> None:
        enables, data = (
            [self.wires[net] for net in memory.part(port, k, memory.width)] for port in ("WR_EN", "WR_DATA")
        )
        if all(wire == 0 for wire in enables):
            return
        for row, match in self._addressed(memory, memory.part("WR_ADDR", k, memory.index_bits)):
            held = self.rows[id(memory)][row]
            now = (self.gates.both(match, wire) for wire in enables)
            self.rows[id(memory)][row] = list(map(self.gates.chosen, now, held, data))


def slices(vectors: Integers, width: int) -> Wires:
    """The wires of some lanes, `[samples, lanes]` numbers of `width` bits each, lowest first."""
    bits = (vectors[:, :, None] >> np.arange(width)) & 1
    packed = np.packbits(bits.reshape(len(vectors), -1).astype(np.uint8), axis=0, bitorder="little")
    return [int.from_bytes(packed[:, k].tobytes(), "little") for k in range(packed.shape[1])]
