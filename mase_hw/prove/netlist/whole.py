"""The netlists of a top and its components put together again: one flat netlist, as it was proved part by part."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist

_GIVES = ("Y", "Q", "RD_DATA")
_CONSTANTS = ("0", "1", "x")


@dataclass(frozen=True)
class Part:
    """A module of the whole: its place in the hierarchy, such as `u_fc1` (the top has none), and its ports."""

    path: str
    ports: Mapping[str, tuple[Net, ...]]


@dataclass(frozen=True)
class Whole:
    """All cells; the top and every instance in it with the nets of their ports."""

    netlist: Netlist
    parts: tuple[Part, ...]


def join(top: Netlist, inside: Mapping[str, Netlist]) -> Whole:
    """A top in which the cells of the types `inside` are replaced by their netlists; those may have such cells too."""
    nets = _Nets()
    cells: list[Cell] = []
    parts: list[Part] = []
    _expand(top, "", inside, nets, cells, parts)
    found = Netlist(top.name, nets.ports(parts[0]), tuple(nets.cell(cell) for cell in cells), {})
    return Whole(found, tuple(Part(part.path, nets.ports(part)) for part in parts))


def _expand(
    netlist: Netlist,
    path: str,
    inside: Mapping[str, Netlist],
    nets: _Nets,
    cells: list[Cell],
    parts: list[Part],
) -> Part:
    """Adds what a module holds, in nets of its own."""
    first = nets.more(netlist)

    def own(each: Iterable[Net]) -> tuple[Net, ...]:
        return tuple(net + first if isinstance(net, int) else net for net in each)

    part = Part(path, {port: own(each) for port, each in netlist.ports.items()})
    parts.append(part)
    for cell in netlist.cells:
        ports = {port: own(each) for port, each in cell.ports.items()}
        if cell.type not in inside:
            if not cell.type.startswith("$") or "." in cell.type:
                raise NotProvedError(f"it holds {cell.type}, of which nothing is known")
            cells.append(replace(cell, name=f"{path}/{cell.name}", ports=ports))
            continue
        place = f"{path}.{cell.name}" if path else cell.name
        below = _expand(inside[cell.type], place, inside, nets, cells, parts)
        if set(ports) != set(below.ports):
            raise NotProvedError(f"the ports of {place} are not those of its module")
        for port, outer in ports.items():
            if len(outer) != len(below.ports[port]):
                raise NotProvedError(f"{port} of {place} is joined to {len(outer)} bits")
            for one, other in zip(outer, below.ports[port], strict=True):
                nets.same(one, other)
    return part


class _Nets:
    """Which nets are one."""

    def __init__(self) -> None:
        self._next = 2
        self._parent: dict[Net, Net] = {}

    def more(self, netlist: Netlist) -> int:
        """Room for the nets of one more module; what is added to their numbers."""
        every = [nets for cell in netlist.cells for nets in cell.ports.values()] + list(netlist.ports.values())
        first = self._next
        self._next += 1 + max((net for nets in every for net in nets if isinstance(net, int)), default=0)
        return first

    def of(self, net: Net) -> Net:
        while net in self._parent:
            self._parent[net] = above = self._parent.get(self._parent[net], self._parent[net])
            net = above
        return net

    def same(self, one: Net, other: Net) -> None:
        one, other = self.of(one), self.of(other)
        if one == other:
            return
        if one in _CONSTANTS:
            one, other = other, one
        if one in _CONSTANTS:
            raise NotProvedError("a net is tied to two constants")
        self._parent[one] = other

    def ports(self, part: Part) -> dict[str, tuple[Net, ...]]:
        return {port: tuple(self.of(net) for net in each) for port, each in part.ports.items()}

    def cell(self, cell: Cell) -> Cell:
        return replace(cell, ports={port: tuple(map(self.of, nets)) for port, nets in cell.ports.items()})


def check_drivers(netlist: Netlist, inputs: Iterable[Net]) -> None:
    """Raises where a net is driven twice, by cells, from outside or by a constant."""
    driven: set[Net] = set(_CONSTANTS)
    given = [*inputs, *(net for cell in netlist.cells for port in _GIVES for net in cell.ports.get(port, ()))]
    for net in given:
        if net in driven:
            raise NotProvedError(f"net {net} has two drivers")
        driven.add(net)
