"""Which registers, inputs and memories every net depends on within a cycle; one net counts as an input of its own."""

from __future__ import annotations

from collections.abc import Container, Iterator

from mase_hw.prove.claims.timing import sources_of
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist

_OUT = ("Y", "RD_DATA")


class Sources:
    """Sets of nets, found once for each net."""

    def __init__(self, netlist: Netlist, cut: Net) -> None:
        """`cut` is the net that is not looked behind."""
        self.netlist, self.cut = netlist, cut
        self._driver: dict[Net, tuple[Cell, str, int]] = {}
        for cell in netlist.cells:
            written = cell.type == "$mem_v2" and cell.parameters["WR_PORTS"]
            for port in _OUT if not written else ():  # what a memory holds is a source
                for k, net in enumerate(cell.ports.get(port, ())):
                    self._driver[net] = (cell, port, k)
        self._found: dict[Net, frozenset[Net]] = {}

    def of(self, net: Net) -> frozenset[Net]:
        """What a net depends on; constants do not count."""
        todo = [net]
        while todo:
            at = todo[-1]
            if at in self._found:
                todo.pop()
                continue
            if isinstance(at, str) or at == self.cut or at not in self._driver:
                self._found[at] = frozenset() if isinstance(at, str) else frozenset((at,))
                continue
            behind = list(sources_of(*self._driver[at]))
            missing = [source for source in behind if source not in self._found]
            todo += missing
            if not missing:
                self._found[at] = frozenset().union(*(self._found[source] for source in behind))
        return self._found[net]

    def sinks(self, besides: Container[Net]) -> Iterator[Net]:
        """Every net that a register, a memory, a port or the driver of `cut` reads, but for some registers."""
        for cell in self.netlist.cells:
            if cell.type == "$dff":
                yield from (d for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True) if q not in besides)
            elif cell.type == "$mem_v2" and cell.parameters["WR_PORTS"]:
                yield from (net for port, nets in cell.ports.items() if port != "RD_DATA" for net in nets)
        yield from (net for nets in self.netlist.ports.values() for net in nets)
        if self.cut in self._driver:
            yield from sources_of(*self._driver[self.cut])
