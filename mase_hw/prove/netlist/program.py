"""A netlist as a program of gates on single bits: what `sim/netlist_run.cpp` runs for 64 runs at once.

The cells mean what `gates.py` says: it is called once for each cell, on bits that note what is done with them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import numpy.typing as npt

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.gates import Gates, Wire, Wires
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.words.machine import Memory, order

AND, OR, XOR, NOT, MUX, READ = range(6)  # as in netlist_run.cpp
ZERO, ONE = 0, 1  # the slots of the constants
MAX_GATES = 20_000_000
Numbers = npt.NDArray[np.int64]


class Bit(int):
    """A bit that differs between runs, in a slot. The integers 0 and 1 are the constants.

    It is an integer that equals no constant, so that `gates.py` takes it for a wire.
    """

    tape: Tape
    slot: int

    def __and__(self, other: int) -> int:
        if not isinstance(other, Bit):
            return self if other else 0
        return self if other is self else self.tape.gate(AND, self.slot, other.slot)

    def __or__(self, other: int) -> int:
        if not isinstance(other, Bit):
            return 1 if other else self
        return self if other is self else self.tape.gate(OR, self.slot, other.slot)

    def __xor__(self, other: int) -> int:
        if not isinstance(other, Bit):
            return self.tape.inverse(self) if other else self
        return 0 if other is self else self.tape.gate(XOR, self.slot, other.slot)

    __rand__, __ror__, __rxor__ = __and__, __or__, __xor__


class Tape:
    """The gates in the order in which they were noted, and how deep each of them lies."""

    def __init__(self) -> None:
        self.leaves = 2
        self.gates: list[tuple[int, int, int, int]] = []  # function and three operands
        self.levels: list[int] = []
        self._inverse: dict[int, Bit] = {}
        self._known: dict[tuple[int, ...], Bit] = {}

    def leaf(self) -> Bit:
        """A bit that is put there from outside. All of them come before the first gate."""
        assert not self.gates
        self.leaves += 1
        return self._bit(self.leaves - 1)

    def gate(self, function: int, a: int, b: int = 0, c: int = 0) -> Bit:
        key = (function, a, b, c)
        if (known := self._known.get(key)) is not None:
            return known
        return self._known.setdefault(key, self._noted(key, (a, b, c)))

    def inverse(self, bit: Bit) -> Bit:
        if (known := self._inverse.get(bit.slot)) is None:
            known = self.gate(NOT, bit.slot)
            self._inverse |= {bit.slot: known, known.slot: bit}
        return known

    def read(self, port: int, address: Sequence[int], width: int) -> list[Bit]:
        """The bits of a memory's row. They lie in a level together, one behind the other."""
        return [self._noted((READ, port, k, 0), address) for k in range(width)]

    def level(self, slot: int) -> int:
        return self.levels[slot - self.leaves] if slot >= self.leaves else 0

    def _noted(self, gate: tuple[int, int, int, int], operands: Sequence[int]) -> Bit:
        if len(self.gates) > MAX_GATES:
            raise NotProvedError(f"it has more than {MAX_GATES:,} gates")
        self.levels.append(1 + max(map(self.level, operands), default=0))
        self.gates.append(gate)
        return self._bit(self.leaves + len(self.gates) - 1)

    def _bit(self, slot: int) -> Bit:
        bit = Bit(slot + 2)  # no constant
        bit.tape, bit.slot = self, slot
        return bit


class _Noting(Gates):
    """Gates on bits of a tape."""

    def __init__(self, tape: Tape) -> None:
        super().__init__(1, undefined=0)
        self.tape = tape

    def evaluate(self, cell: Cell, ports: Mapping[str, Wires]) -> Wires:
        if cell.type == "$pmux":  # two branches at once have no value: here the last one is taken
            width, a = cell.width("Y"), ports["A"]
            for k, s in enumerate(ports["S"]):
                a = [self.chosen(s, x, y) for x, y in zip(a, ports["B"][k * width : (k + 1) * width], strict=True)]
            return a
        signed = cell.type in ("$shift", "$shiftx") and cell.parameters.get("B_SIGNED")
        if signed and self.constant(ports["B"]) is None:
            return self._both_sides(cell, ports["A"], ports["B"])
        return super().evaluate(cell, ports)

    def _both_sides(self, cell: Cell, a: Wires, b: Wires) -> Wires:
        """A shift by a signed number: to the left first, by what its sign stands for, then to the right by the rest."""
        if len(b) > 16:
            raise NotProvedError(f"a shift by a number of {len(b)} bits ({cell.source})")
        if cell.type == "$shift":
            a = self._extended(cell, "A", a, max(cell.width("Y"), len(a)))
        most = 1 << (len(b) - 1)
        wide: Wires = [*a, *[0] * most]
        found = [self.chosen(b[-1], x, y) for x, y in zip(wide, [*[0] * most, *a], strict=True)]
        for k, wire in enumerate(b[:-1]):
            found = [self.chosen(wire, x, y) for x, y in zip(found, [*found[1 << k :], *[0] * (1 << k)], strict=True)]
        return [*found, *[0] * cell.width("Y")][: cell.width("Y")]

    def chosen(self, select: Wire, zero: Wire, one: Wire) -> Wire:
        if all(isinstance(wire, Bit) for wire in (select, zero, one)) and zero != one:
            return self.tape.gate(MUX, *(wire.slot for wire in (select, zero, one) if isinstance(wire, Bit)))
        return super().chosen(select, zero, one)


@dataclass(frozen=True)
class MemoryPort:
    """A port of memory number `memory`: slots of its address, and of a write its data and enables."""

    memory: int
    address: list[int]
    data: list[int]
    enables: list[int]


@dataclass(frozen=True)
class Program:
    """Gates sorted by depth and kind. Slot `first_gate + k` holds what gate `k` gives."""

    slots: dict[Net, int]
    first_gate: int
    gates: npt.NDArray[np.int32]  # [gates, 3]
    stretches: Numbers  # [stretches, 3]: function, first and last gate
    held: Numbers
    next: Numbers
    memories: list[Memory]
    reads: list[MemoryPort]
    writes: list[MemoryPort]


def program_of(netlist: Netlist, inputs: Sequence[Net]) -> Program:
    """The program of a netlist whose `inputs` are put there in every cycle."""
    tape = Tape()
    gates = _Noting(tape)
    wires: dict[Net, Wire] = {"0": 0, "1": 1, "x": 0}
    registers = [cell for cell in netlist.cells if cell.type == "$dff"]
    memories = [Memory(cell) for cell in netlist.cells if cell.type == "$mem_v2"]
    for net in [*inputs, *(q for cell in registers for q in cell.ports["Q"])]:
        if net not in wires:
            wires[net] = tape.leaf()

    def read_of(nets: Sequence[Net]) -> Wires:
        try:
            return [wires[net] for net in nets]
        except KeyError as error:
            raise NotProvedError(f"net {error.args[0]} is read and has no driver") from error

    reads: list[MemoryPort] = []
    for item in order(netlist, memories):
        if isinstance(item, Cell):
            ports = {port: read_of(nets) for port, nets in item.ports.items() if port != "Y"}
            wires.update(zip(item.ports["Y"], gates.evaluate(item, ports), strict=True))
        else:
            memory, k = item
            address = [_slot(wire) for wire in read_of(memory.part("RD_ADDR", k, memory.index_bits))]
            found = tape.read(len(reads), address, memory.width)
            reads.append(MemoryPort(memories.index(memory), address, [], []))
            wires.update(zip(memory.part("RD_DATA", k, memory.width), found, strict=True))
    writes = [
        MemoryPort(
            number,
            *(
                [_slot(wire) for wire in read_of(memory.part(port, k, width))]
                for port, width in (("WR_ADDR", memory.index_bits), ("WR_DATA", memory.width), ("WR_EN", memory.width))
            ),
        )
        for number, memory in enumerate(memories)
        for k in range(int(memory.cell.parameters["WR_PORTS"]))
    ]
    after = [_slot(wire) for cell in registers for wire in read_of(cell.ports["D"])]
    held = [_slot(wires[net]) for cell in registers for net in cell.ports["Q"]]
    return _sorted(tape, {net: _slot(wire) for net, wire in wires.items()}, held, after, memories, reads, writes)


def _slot(wire: Wire) -> int:
    assert isinstance(wire, int)
    return wire.slot if isinstance(wire, Bit) else ONE if wire else ZERO


def _sorted(
    tape: Tape,
    slots: dict[Net, int],
    held: list[int],
    after: list[int],
    memories: list[Memory],
    reads: list[MemoryPort],
    writes: list[MemoryPort],
) -> Program:
    """Gates by level and function, so that a stretch of them has nothing to wait for and nothing to decide."""
    gates = np.array(tape.gates, np.int64).reshape(-1, 4)
    rank = np.array(tape.levels, np.int64) * 8 + gates[:, 0]
    places = np.argsort(rank, kind="stable")  # the bits of one read stay together
    moved = np.arange(tape.leaves + len(gates))
    moved[tape.leaves + places] = tape.leaves + np.arange(len(gates))
    gates, rank = gates[places], rank[places]
    operands = gates[:, 1:].copy()
    computes = gates[:, 0] != READ
    operands[computes] = moved[operands[computes]]
    ends = [0, *(np.flatnonzero(np.diff(rank)) + 1).tolist(), len(gates)] if len(gates) else [0]
    stretches = [(int(gates[a, 0]), a, b) for a, b in pairwise(ends)]

    def at(places: list[int]) -> list[int]:
        return [int(slot) for slot in moved[np.array(places, np.int64)]] if places else []

    def port(each: MemoryPort) -> MemoryPort:
        return MemoryPort(each.memory, at(each.address), at(each.data), at(each.enables))

    return Program(
        {net: int(moved[slot]) for net, slot in slots.items()},
        tape.leaves,
        np.ascontiguousarray(operands, np.int32),
        np.array(stretches, np.int64).reshape(-1, 3),
        np.array(held, np.int64),
        np.array(at(after), np.int64),
        memories,
        [port(each) for each in reads],
        [port(each) for each in writes],
    )


def contents_of(memory: Memory) -> npt.NDArray[np.uint8]:
    """What a memory holds at first, row by row: 0, 1, or 2 for any bit."""
    return np.array([bit if isinstance(bit, int) else 2 for bit in chain.from_iterable(memory.words)], np.uint8)
