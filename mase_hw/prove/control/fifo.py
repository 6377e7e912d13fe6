"""A FIFO of any depth: neither overflows nor underflows, and gives what it took, in order.

The argument, for `count` beats of which the oldest is at `read` and the next goes to `write`:

1. `valid` is `count > 0` and `ready` is `count < depth`; so a beat leaves only if there is one, and comes only if there
   is room. `count` goes up by the beats that come and down by those that leave: it stays within `0..depth`.
2. `read` moves to the next place, round after the last, when a beat leaves, and `write` when one comes. All three start
   from 0. So `write` is `read + count`, round, at any time.
3. The memory is written at `write`, with the input, when a beat comes, and read at `read`. A beat comes only while
   `count < depth`, and then `write` is none of the places of the `count` beats that wait.

Each number in 1 and 2 depends on itself and on whether a beat comes or leaves, nothing else, which the netlist shows;
so each is gone through by itself, for all its values, and the cost grows with the depth alone. 3 is wiring.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mase_hw.ir.plumbing import Fifo
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cells import function, operands
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist


def prove_counters(component: Fifo, netlist: Netlist) -> str:
    """Steps 1 and 2."""
    logic, depth, ports = Logic(netlist), component.depth, netlist.ports
    names = {name: _named(netlist, name) for name in ("count_q", "read_q", "write_q", "in_fire", "out_fire")}
    comes, leaves = names["in_fire"], names["out_fire"]
    for count in range(depth + 1):
        for come in range(2):
            for leave in range(2):
                given = _given((names["count_q"], count), (ports["data_in_0_valid"], come), (ports["rst"], 0))
                given |= _given((ports["data_out_0_ready"], leave))
                moved = logic.number(comes, given), logic.number(leaves, given)
                _equal(logic.number(ports["data_out_0_valid"], given), int(count > 0), f"valid with {count} beats")
                _equal(logic.number(ports["data_in_0_ready"], given), int(count < depth), f"ready with {count} beats")
                _equal(moved[0], come * (count < depth), f"whether a beat comes, with {count} beats")
                _equal(moved[1], leave * (count > 0), f"whether a beat leaves, with {count} beats")
                after = logic.number(logic.next_of(names["count_q"]), given)
                _equal(after, count + moved[0] - moved[1], f"the count after {count} beats")
    for name, moves in (("read_q", leaves), ("write_q", comes)):
        for place in range(depth):
            for move in range(2):
                given = _given((names[name], place), (moves, move), (ports["rst"], 0))
                after = logic.number(logic.next_of(names[name]), given)
                _equal(after, (place + move) % depth, f"{name} after place {place}")
    for name in ("count_q", "read_q", "write_q"):
        _equal(logic.number(logic.next_of(names[name]), _given((ports["rst"], 1))), 0, f"{name} after reset")
    return f"an invariant of its counters, each gone through by itself for all values up to {depth}; no deadlock"


def prove_memory(component: Fifo, netlist: Netlist) -> str:
    """Step 3."""
    logic, ports = Logic(netlist), netlist.ports
    memories = [cell for cell in netlist.cells if cell.type == "$mem_v2"]
    if len(memories) != 1:
        raise NotProvedError(f"{len(memories)} memories where one is expected")
    memory = memories[0]
    sizes = {"SIZE": component.depth, "WIDTH": component.input.width, "OFFSET": 0, "RD_PORTS": 1, "WR_PORTS": 1}
    for name, wanted in {**sizes, "RD_CLK_ENABLE": 0, "WR_CLK_ENABLE": 1}.items():
        _equal(memory.parameters[name], wanted, f"{name} of the memory")
    joined = {"RD_ADDR": _named(netlist, "read_q"), "WR_ADDR": _named(netlist, "write_q")}
    for port, nets in {**joined, "RD_DATA": ports["data_out_0"], "WR_DATA": ports["data_in_0"]}.items():
        if memory.ports[port] != nets:
            raise NotProvedError(f"{port} of the memory is joined to something else")
    for comes in range(2):
        enables = logic.number(memory.ports["WR_EN"], _given((_named(netlist, "in_fire"), comes)))
        _equal(enables, comes * ((1 << component.input.width) - 1), "whether the memory is written")
    return "its memory is written at one counter and read at the other, by the invariant of the counters"


class Logic:
    """Evaluates single nets from others that are given; it takes only the branch that a multiplexer selects."""

    def __init__(self, netlist: Netlist) -> None:
        self.driver = {net: (cell, k) for cell in netlist.cells for k, net in enumerate(cell.ports.get("Y", ()))}
        flops = [cell for cell in netlist.cells if cell.type == "$dff"]
        self.after = {q: d for cell in flops for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True)}
        self.functions = {cell.name: function(cell) for cell, k in self.driver.values() if k == 0}

    def next_of(self, nets: Sequence[Net]) -> list[Net]:
        return [self.after[net] for net in nets]

    def number(self, nets: Sequence[Net], given: Mapping[Net, int]) -> int:
        """Raises where the nets depend on anything that is not given."""
        done: dict[str, int] = {}
        return sum(self._bit(net, given, done) << k for k, net in enumerate(nets))

    def _bit(self, net: Net, given: Mapping[Net, int], done: dict[str, int]) -> int:
        if net in ("0", "1"):
            return int(net)
        if net in given:
            return given[net]
        if net not in self.driver:
            raise NotProvedError("a counter depends on something else than itself and its moves")
        cell, k = self.driver[net]
        if cell.type == "$mux":
            taken = "B" if self._bit(cell.ports["S"][0], given, done) else "A"
            return self._bit(cell.ports[taken][k], given, done)
        if cell.name not in done:
            done[cell.name] = self._cell(cell, given, done)
        return (done[cell.name] >> k) & 1

    def _cell(self, cell: Cell, given: Mapping[Net, int], done: dict[str, int]) -> int:
        read = (sum(self._bit(net, given, done) << k for k, net in enumerate(cell.ports[p])) for p in operands(cell))
        return self.functions[cell.name](*read)


def _named(netlist: Netlist, name: str) -> tuple[Net, ...]:
    if name not in netlist.names:
        raise NotProvedError(f"there is no {name}")
    return netlist.names[name]


def _given(*numbers: tuple[Sequence[Net], int]) -> dict[Net, int]:
    return {net: (number >> k) & 1 for nets, number in numbers for k, net in enumerate(nets)}


def _equal(found: int, wanted: int, what: str) -> None:
    if found != wanted:
        raise NotProvedError(f"{what} is {found}, not {wanted}", refuted=True)
