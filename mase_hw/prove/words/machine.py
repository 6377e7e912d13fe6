"""A component's netlist run cycle by cycle on exact words: registers and memories, unknown until they are written."""

from __future__ import annotations

from collections.abc import Sequence
from graphlib import TopologicalSorter
from operator import is_
from typing import Protocol

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.words.carried import UNKNOWN, Value
from mase_hw.prove.words.symbolic import Values

_SEQUENTIAL = ("$dff", "$mem_v2", "$scopeinfo")


class Evaluator(Protocol):
    """What cells compute, on words (symbolic.py) or on tables (truths.py)."""

    def evaluate(self, cell: Cell, inputs: dict[str, Values]) -> Values: ...

    def gathered(self, values: Values) -> Values: ...


class Machine:
    """Inputs are set by port, then `settle` computes every wire and `tick` moves the registers."""

    def __init__(self, netlist: Netlist, evaluator: Evaluator) -> None:
        self.netlist, self.evaluator = netlist, evaluator
        self.values: dict[Net, Value] = {"0": 0, "1": 1, "x": UNKNOWN}
        self.registers = [cell for cell in netlist.cells if cell.type == "$dff"]
        self.memories = [Memory(cell) for cell in netlist.cells if cell.type == "$mem_v2"]
        self.order = order(netlist, self.memories)
        self._seen: dict[str, Values] = {}  # what each cell read last: the very same gives the same again
        for register in self.registers:
            self.values.update(dict.fromkeys(register.ports["Q"], UNKNOWN))

    def set(self, port: str, values: Values) -> None:
        nets = self.netlist.ports[port]
        if len(nets) != len(values):
            raise NotProvedError(f"{port} has {len(nets)} bits, not {len(values)}", refuted=True)
        self.values.update(zip(nets, values, strict=True))

    def get(self, port: str) -> Values:
        return [self.values[net] for net in self.netlist.ports[port]]

    def settle(self) -> None:
        for cell in self.order:
            if isinstance(cell, Cell):
                inputs = {port: [self.values[n] for n in nets] for port, nets in cell.ports.items() if port != "Y"}
                flat = [value for values in inputs.values() for value in values]
                if all(map(is_, self._seen.get(cell.name, ()), flat)) and cell.name in self._seen:
                    continue
                self._seen[cell.name] = flat
                self.values.update(zip(cell.ports["Y"], self.evaluator.evaluate(cell, inputs), strict=True))
            else:
                memory, port = cell
                memory.read(self, port)

    def tick(self) -> None:
        taken = [[self.values[net] for net in cell.ports["D"]] for cell in self.registers]
        moved = [
            (cell.ports["Q"], self.evaluator.gathered(bits)) for cell, bits in zip(self.registers, taken, strict=True)
        ]
        for memory in self.memories:
            memory.tick(self)
        for nets, values in moved:
            self.values.update(zip(nets, values, strict=True))

    def number(self, nets: tuple[Net, ...]) -> int | None:
        """The nets as an unsigned number, where all of them are known."""
        bits = [self.values[net] for net in nets]
        if not all(isinstance(bit, int) for bit in bits):
            return None
        return sum(bit << k for k, bit in enumerate(bits) if isinstance(bit, int))


class Memory:
    """A `$mem_v2` whose reads are combinational and whose writes happen at the clock edge."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell
        self.width, self.size = cell.parameters["WIDTH"], cell.parameters["SIZE"]
        self.index_bits = cell.parameters["ABITS"]
        self.offset = cell.parameters["OFFSET"]
        assert cell.parameters["RD_CLK_ENABLE"] == 0, "memory reads are expected to be combinational"
        initial = cell.parameters["INIT"]
        self.words: list[Values] = [[UNKNOWN] * self.width for _ in range(self.size)]
        # What a memory that is written holds at first is gone after a while, and no reset brings it back.
        if isinstance(initial, int) and not cell.parameters["WR_PORTS"]:
            bits = [(initial >> k) & 1 for k in range(self.width * self.size)]
            self.words = [list(bits[k * self.width : (k + 1) * self.width]) for k in range(self.size)]

    @property
    def reads(self) -> int:
        return int(self.cell.parameters["RD_PORTS"])

    def part(self, port: str, k: int, width: int) -> tuple[Net, ...]:
        return self.cell.ports[port][k * width : (k + 1) * width]

    def read(self, machine: Machine, k: int) -> None:
        address = machine.number(self.part("RD_ADDR", k, self.index_bits))
        known = address is not None and 0 <= address - self.offset < self.size
        values: Values = [UNKNOWN] * self.width
        if known and address is not None:
            values = self.words[address - self.offset]
        machine.values.update(zip(self.part("RD_DATA", k, self.width), values, strict=True))

    def tick(self, machine: Machine) -> None:
        for k in range(int(self.cell.parameters["WR_PORTS"])):
            enables = [machine.values[net] for net in self.part("WR_EN", k, self.width)]
            data = [machine.values[net] for net in self.part("WR_DATA", k, self.width)]
            address = machine.number(self.part("WR_ADDR", k, self.index_bits))
            if all(isinstance(enable, int) and enable == 0 for enable in enables):
                continue
            rows = range(self.size) if address is None else [address - self.offset]
            for row in rows:
                if not 0 <= row < self.size:
                    continue
                for bit, (enable, value) in enumerate(zip(enables, data, strict=True)):
                    if isinstance(enable, int) and enable == 0:
                        continue
                    sure = isinstance(enable, int) and address is not None
                    self.words[row][bit] = value if sure else UNKNOWN


def order(netlist: Netlist, memories: Sequence[Memory] = ()) -> list[Cell | tuple[Memory, int]]:
    """Combinational cells and memory reads, each after what it reads."""
    items: dict[str, Cell | tuple[Memory, int]] = {}
    drives: dict[Net, str] = {}
    reads: dict[str, tuple[Net, ...]] = {}
    for cell in netlist.cells:
        if cell.type in _SEQUENTIAL:
            continue
        items[cell.name] = cell
        reads[cell.name] = tuple(net for port, nets in cell.ports.items() if port != "Y" for net in nets)
        drives.update(dict.fromkeys(cell.ports["Y"], cell.name))
    for memory in memories:
        for k in range(memory.reads):
            name = f"{memory.cell.name}[{k}]"
            items[name] = (memory, k)
            reads[name] = memory.part("RD_ADDR", k, memory.index_bits)
            drives.update(dict.fromkeys(memory.part("RD_DATA", k, memory.width), name))
    graph = {name: {drives[net] for net in nets if net in drives} for name, nets in reads.items()}
    return [items[name] for name in TopologicalSorter(graph).static_order()]
