"""The registers that are no control, in bundles that move together, and what each of them takes at a clock edge.

A register bit takes what the multiplexers on its input let through; where their selects are control, they are known in
every node. Bits with the same multiplexers, in the same stage, are one bundle. How bits are bundled changes no result,
only how often the same is computed.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import BITWISE, Automaton
from mase_hw.prove.netlist.netlist import Cell, Net
from mase_hw.prove.words.machine import Memory, order

HOLD = "hold"


@dataclass
class Take:
    """Nets that are taken: the cells that compute them, and what these read."""

    nets: tuple[Net, ...]
    cells: tuple[Cell | tuple[Cell, int], ...]  # a port of a memory that is never written counts as a cell
    control: tuple[Net, ...]  # of the boundary
    mask: int  # their bits of the boundary
    bundles: tuple[int, ...]
    reads: tuple[tuple[str, int], ...]  # memories that are written to: name, port
    data: bool  # whether it reads the input
    found: dict[Any, Any] = field(default_factory=dict)  # results, by what was read


@dataclass
class Bundle:
    """Register bits, and what they take for each value of their selects."""

    bits: list[Net]
    inputs: list[Net]
    mask: int
    groups: list[tuple[int, int]]  # those of them that are one register of the netlist: from, to
    takes: dict[int, Take | str] = field(default_factory=dict)


class Bundles:
    """All bundles of a netlist, and the memories that are written to."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton, self.netlist = automaton, automaton.netlist
        cells = self.netlist.cells
        self.driver = {net: (cell, k) for cell in cells for k, net in enumerate(cell.ports.get("Y", ()))}
        self.memories = {cell.name: cell for cell in cells if cell.type == "$mem_v2"}
        items = order(self.netlist, [Memory(cell) for cell in self.memories.values()])
        self.rank = {_name(item): n for n, item in enumerate(items)}
        self.read: dict[Net, tuple[Cell, int, int]] = {}  # bits that memories give: memory, port, bit
        for cell in self.memories.values():
            width = cell.parameters["WIDTH"]
            self.read |= {net: (cell, k // width, k % width) for k, net in enumerate(cell.ports["RD_DATA"])}
        self.written = [cell for cell in self.memories.values() if cell.parameters["WR_PORTS"]]
        self.bundles = self._bundles()
        self.place = {net: (b, k) for b, bundle in enumerate(self.bundles) for k, net in enumerate(bundle.bits)}

    def taken(self, bundle: Bundle, boundary: int) -> Take | str:
        """What the bundle takes at the clock edge."""
        key = boundary & bundle.mask
        found = bundle.takes.get(key)
        if found is None:
            nets = tuple(self._chosen(net, boundary) for net in bundle.inputs)
            found = bundle.takes[key] = HOLD if list(nets) == bundle.bits else self.take(nets)
        return found

    def take(self, nets: Sequence[Net]) -> Take:
        """The cells between some nets and what is held, or control, or the input."""
        automaton, data = self.automaton, set(self.netlist.ports["data_in_0"])
        control: dict[Net, None] = {}
        bundles: dict[int, None] = {}
        reads: dict[tuple[str, int], None] = {}
        cells: dict[Any, Cell | tuple[Cell, int]] = {}
        seen: set[Net] = set()
        todo, has_data = list(nets), False
        while todo:
            net = todo.pop()
            if net in seen or isinstance(net, str):
                continue
            seen.add(net)
            if net in automaton.boundary_bit:
                control[net] = None
            elif net in self.place:
                bundles[self.place[net][0]] = None
            elif net in data:
                has_data = True
            elif net in self.read:
                cell, port, _ = self.read[net]
                bits = cell.parameters["ABITS"]
                address = cell.ports["RD_ADDR"][port * bits : (port + 1) * bits]
                if cell in self.written:
                    reads[cell.name, port] = None
                    control.update(dict.fromkeys(self._known(address, cell)))
                else:
                    cells[cell.name, port] = (cell, port)
                    todo += address
            elif net in self.driver:
                cell = self.driver[net][0]
                if cell.name not in cells:
                    cells[cell.name] = cell
                    todo += [source for port, sources in cell.ports.items() if port != "Y" for source in sources]
            else:
                raise NotProvedError(f"net {net} comes from nowhere")
        ordered = [cells[name] for name in sorted(cells, key=self.rank.__getitem__)]
        mask = automaton.bits(control)
        return Take(tuple(nets), tuple(ordered), tuple(control), mask, tuple(bundles), tuple(reads), has_data)

    def _known(self, nets: Sequence[Net], cell: Cell) -> list[Net]:
        wanted: list[Net] = [net for net in nets if not isinstance(net, str)]
        if any(net not in self.automaton.boundary_bit for net in wanted):
            raise NotProvedError(f"a memory is addressed by something that is not control ({cell.source})")
        return wanted

    def _chosen(self, net: Net, boundary: int) -> Net:
        while (found := self.driver.get(net)) is not None:
            cell, k = found
            select = cell.ports["S"][0] if cell.type == "$mux" else ""
            if select not in self.automaton.boundary_bit:
                return net
            net = cell.ports["B" if self.automaton.value(boundary, [select]) else "A"][k]
        return net

    def _bundles(self) -> list[Bundle]:
        level = self._levels()
        found: dict[Any, Bundle] = {}
        for cell in self.netlist.cells:
            if cell.type != "$dff":
                continue
            pairs = [(d, q) for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True)
                     if q not in self.automaton.state_bit]  # fmt: skip
            starts: dict[int, tuple[Bundle, int]] = {}
            for d, q in pairs:
                selects: set[Net] = set()
                key = (self._shape(d, q, selects), level.get(q, 0))
                if key not in found:
                    found[key] = Bundle([], [], self.automaton.bits(selects), [])
                bundle = found[key]
                starts.setdefault(id(bundle), (bundle, len(bundle.bits)))
                bundle.bits.append(q)
                bundle.inputs.append(d)
            for bundle, start in starts.values():
                bundle.groups.append((start, len(bundle.bits)))
        return list(found.values())

    def _shape(self, net: Net, own: Net, selects: set[Net]) -> Any:
        """The multiplexers with known selects on a register's input, and where they let it hold."""
        found = self.driver.get(net)
        if found is None or found[0].type != "$mux" or found[0].ports["S"][0] not in self.automaton.boundary_bit:
            return net == own
        cell, k = found
        selects.add(cell.ports["S"][0])
        return cell.ports["S"][0], *(self._shape(cell.ports[port][k], own, selects) for port in ("A", "B"))

    def _levels(self) -> dict[Net, int]:
        """How many registers lie between the input, or a memory, or else control, and each net: the least."""
        leads: dict[Any, list[tuple[Any, int]]] = defaultdict(list)
        known = self.automaton.known
        for cell in self.netlist.cells:
            for out in ("Y", "Q", "RD_DATA"):
                if out not in cell.ports or (out == "RD_DATA" and cell in self.written):
                    continue
                for port, nets in cell.ports.items():
                    if (
                        port == out
                        or port.endswith("CLK")
                        or (cell.type == "$mux" and port == "S" and nets[0] in known)
                    ):
                        continue
                    if cell.type in BITWISE and len(nets) == len(cell.ports[out]):
                        for a, b in zip(nets, cell.ports[out], strict=True):
                            leads[a].append((b, int(cell.type == "$dff")))
                    else:
                        for net in nets:
                            leads[net].append(((cell.name, out), 0))
                leads[(cell.name, out)] += [(net, 0) for net in cell.ports[out]]
        level: dict[Any, int] = {}
        stored = [net for cell in self.written for net in cell.ports["RD_DATA"]]
        for sources in ([*self.netlist.ports["data_in_0"], *stored], list(known)):
            todo = deque((net, 0) for net in sources if net not in level)
            while todo:
                at, far = todo.popleft()
                if at in level or (at in known and far) or isinstance(at, str):
                    continue
                level[at] = far
                for net, cost in leads[at]:
                    if net not in level:
                        (todo.append if cost else todo.appendleft)((net, far + cost))
        return {net: far for net, far in level.items() if isinstance(net, int)}


def _name(item: Cell | tuple[Memory, int]) -> Any:
    return item.name if isinstance(item, Cell) else (item[0].cell.name, item[1])
