"""The line of a pipeline, found in a netlist: registers that all move with one enable, level after level.

The registers of level 1 take what the head gives, those of every other level what the level before holds, and nothing
else; all of them hold while the enable is low. Nothing reads a level but the next one; the tail reads the last.
So what is in level `k` came in `k` enabled cycles ago, whatever else happened: the line needs no states of its own.
`marks` are the bits of it that are control. They are handed on as they are; all other bits may be computed with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import groupby, product

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.timing import cone_of
from mase_hw.prove.control.automaton import MARKS, MAX_FREE, control_registers
from mase_hw.prove.control.flow import PASSED
from mase_hw.prove.control.sources import Sources
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist

TRIED = 4  # nets that may be the enable: those that enable the most registers


@dataclass(frozen=True)
class Line:
    """The two netlists that are left without the line, and what joins them."""

    depth: int
    head: Netlist  # its `enable` is an input; its `data_out_0` is what level 1 takes
    tail: (
        Netlist  # its `data_in_0` is what level 1 holds, or is fixed, its `data_in_0_ready` the enable; `marks`: inputs
    )
    entries: tuple[Net, ...]  # where the marks enter the line, in the head
    empty: frozenset[int]  # marks that a level may have after reset
    groups: tuple[tuple[int, int], ...]  # bits of `data_in_0` of the tail that are one register: from, to


def find_line(netlist: Netlist, depth: int) -> Line:
    """The line of so many levels; raises where there is none."""
    control = set(control_registers(netlist))
    enabled: dict[Net, dict[Net, Net]] = {}  # for each enable: the registers, and what they take
    reset = netlist.ports["rst"][0]
    driver = {net: (cell, k) for cell in netlist.cells for k, net in enumerate(cell.ports.get("Y", ()))}
    cleared: dict[Net, Net] = {}  # what a register is reset to
    for cell in netlist.cells:
        for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True) if cell.type == "$dff" else ():
            net = _chosen(driver, d, {reset: 0})
            enable = driver[net][0].ports["S"][0] if net in driver and driver[net][0].type == "$mux" else "x"
            after = {_chosen(driver, d, {reset: 1, enable: k}) for k in (0, 1)}
            if len(after) == 1 and after <= {"0", "1"}:
                cleared[q] = after.pop()
            if isinstance(enable, int) and _chosen(driver, d, {reset: 0, enable: 0}) == q:
                enabled.setdefault(enable, {})[q] = _chosen(driver, d, {reset: 0, enable: 1})
    likely = Counter({enable: len(taken) for enable, taken in enabled.items()}).most_common(TRIED)
    why: list[NotProvedError] = []
    for enable, _ in likely:
        try:
            return _Cut(netlist, depth, enable, enabled[enable], control, cleared).line()
        except NotProvedError as error:
            why.append(error)
    raise why[0] if why else NotProvedError("no register is enabled")


def _chosen(driver: dict[Net, tuple[Cell, int]], net: Net, known: dict[Net, int]) -> Net:
    """What multiplexers with these selects let through."""
    while (found := driver.get(net)) is not None and found[0].type == "$mux" and found[0].ports["S"][0] in known:
        cell, k = found
        net = cell.ports["B" if known[cell.ports["S"][0]] else "A"][k]
    return net


class _Cut:
    """A netlist cut in three, at one enable."""

    def __init__(
        self,
        netlist: Netlist,
        depth: int,
        enable: Net,
        taken: dict[Net, Net],
        control: set[Net],
        cleared: dict[Net, Net],
    ) -> None:
        self.netlist, self.depth, self.enable, self.control, self.cleared = netlist, depth, enable, control, cleared
        self.sources = Sources(netlist, enable)
        self.fixed = {q for q, d in taken.items() if not self.sources.of(d)}  # always the same, once they have moved
        self.level = self._levels(taken)
        self.taken = {q: d for q, d in taken.items() if 1 <= self.level.get(q, 0) <= depth}
        self.at = [[q for q in self.taken if self.level[q] == k] for k in range(depth + 1)]
        if not all(self.at[1:]):
            raise NotProvedError(f"no line of {depth} levels")
        self._check_read()

    def _levels(self, taken: dict[Net, Net]) -> dict[Net, int]:
        """One more than the level of what a register takes; 1 where it takes anything that is not of the line."""
        reads = {q: self.sources.of(d) for q, d in taken.items()}
        found: dict[Net, int] = {}
        chained = self._chained(reads)
        unlevelled = self.fixed.union(chained)
        todo = [q for q in reads if q not in unlevelled]
        while todo:
            later = []
            for q in todo:
                others = reads[q] - unlevelled
                if not others <= taken.keys():
                    found[q] = 1
                elif all(other in found for other in others):
                    levels = {found[other] for other in others}
                    found[q] = levels.pop() + 1 if len(levels) == 1 and 0 not in levels else 0  # 0: not of the line
                else:
                    later.append(q)
            if len(later) == len(todo):
                break  # they depend on each other
            todo = later
        for these in (*([q] for q in reversed(chained)), self.fixed):  # readers first
            near: dict[Net, set[int]] = {q: set() for q in these}  # it is where those are that it is read with
            for reader, read in reads.items():
                for q in read & near.keys() if 0 < found.get(reader, 0) <= self.depth else ():
                    near[q].add(found[reader] - 1)
            found |= {q: levels.pop() if levels else self.depth for q, levels in near.items() if len(levels) < 2}
        return found

    def _chained(self, reads: Mapping[Net, AbstractSet[Net]]) -> list[Net]:
        """Registers that take nothing but what is fixed, or one of these, in order: the same once all have moved.

        Each is one level behind what it takes, so that has moved by the time that a step is beside it.
        """
        found: dict[Net, None] = {}
        while more := [
            q for q in reads if q not in self.fixed | found.keys() and reads[q] <= self.fixed | found.keys()
        ]:
            found |= dict.fromkeys(more)
        return list(found)

    def _check_read(self) -> None:
        """Nothing but the next level reads a level, and no level but the first reads what is not of the line."""
        levels = [frozenset(level) for level in self.at]
        inner = frozenset().union(*levels[1 : self.depth])
        for q, d in self.taken.items():
            k, read = self.level[q], self.sources.of(d)
            if k > 1 and not read <= levels[k - 1]:
                raise NotProvedError("a level of the line takes what is not of the level before")
            if k == 1 and not read.isdisjoint(self.taken):
                raise NotProvedError("the first level of the line takes what is of the line")
        for sink in self.sources.sinks(self.taken):
            if not self.sources.of(sink).isdisjoint(inner):
                raise NotProvedError("a level of the line is read by more than the next one")
        if (
            len(next((cell.ports["Y"] for cell in self.netlist.cells if self.enable in cell.ports.get("Y", ())), ()))
            > 1
        ):
            raise NotProvedError("the enable of the line is one of several bits")

    def line(self) -> Line:
        netlist, ports, end = self.netlist, self.netlist.ports, self.at[self.depth]
        marks = [q for q in end if q in self.control]
        entries, empty = self._chains(marks)
        first = [q for q in self.taken if (self.level[q] == 1 or q in self.fixed) and q not in self.control]
        given = [self.taken[q] for q in first]
        head = cone_of(netlist, [*entries, *given, *ports["data_in_0_ready"]], before={self.enable}, whole=True)
        tail = cone_of(
            netlist, [self.enable, *ports["data_out_0_valid"], *ports["data_out_0"]], before=set(end), whole=True
        )
        if head & {*self.taken, *ports["data_out_0_ready"]}:
            raise NotProvedError("the head of the pipeline depends on more than the enable")
        if tail & {*self.taken.keys() - set(end), *ports["data_in_0_valid"], *ports["data_in_0"]}:
            raise NotProvedError("the tail of the pipeline depends on more than the line")
        if head & tail & _held(netlist):
            raise NotProvedError("head and tail of the pipeline share a register")
        passed = self._passed()
        computed = cone_of(
            netlist, [net for cell in passed for net in cell.ports["A"]], through_registers=False, whole=True
        )
        both = {name: ports[name] for name in ("clk", "rst")}
        head_ports = both | {name: ports[name] for name in ("data_in_0", "data_in_0_valid", "data_in_0_ready")}
        head_ports |= {"enable": (self.enable,), "data_out_0": (*entries, *given)}
        tail_ports = both | {name: ports[name] for name in ("data_out_0", "data_out_0_valid", "data_out_0_ready")}
        tail_ports |= {"data_in_0": tuple(first), "data_in_0_ready": (self.enable,), MARKS: tuple(marks)}
        return Line(
            self.depth,
            replace(netlist, ports=head_ports, cells=_within(netlist, head, {self.enable})),
            replace(netlist, ports=tail_ports, cells=(*_within(netlist, tail | computed, self.taken), *passed)),
            entries,
            empty,
            self._groups(first),
        )

    def _chains(self, marks: Sequence[Net]) -> tuple[tuple[Net, ...], frozenset[int]]:
        """From the marks at the end back to where they enter, and what the levels may hold of them after reset."""
        empty: set[int] = set()
        at = list(marks)
        for k in range(self.depth, 0, -1):
            after = [self.cleared.get(q, "x") for q in at]
            if after.count("x") > MAX_FREE or any(isinstance(value, int) for value in after):
                raise NotProvedError("marks of the line are not reset")
            choices = product(*((0, 1) if value == "x" else (int(value),) for value in after))
            empty |= {sum(bit << n for n, bit in enumerate(bits)) for bits in choices}
            at = [self.taken[q] for q in at]
            if k > 1 and not set(at) <= self.control & set(self.at[k - 1]):
                raise NotProvedError("a mark of the line is not handed on as it is")
        return tuple(at), frozenset(empty)

    def _passed(self) -> list[Cell]:
        """The registers of all levels but the first, marks left out, as wires: in an enabled cycle they are."""
        found = []
        for cell in self.netlist.cells:
            for k in range(2, self.depth + 1) if cell.type == "$dff" else ():
                mine = (q for q in cell.ports["Q"] if q in self.taken and self.level[q] == k)
                bits = tuple(q for q in mine if q not in self.control and q not in self.fixed)
                if bits:
                    ports: dict[str, tuple[Net, ...]] = {"A": tuple(self.taken[q] for q in bits), "Y": bits}
                    found.append(Cell(f"{cell.name}[{k}]", "$pos", {"A_SIGNED": 0, PASSED: 1}, ports, cell.source))
        return found

    def _groups(self, first: Sequence[Net]) -> tuple[tuple[int, int], ...]:
        whose = {q: cell.name for cell in self.netlist.cells if cell.type == "$dff" for q in cell.ports["Q"]}
        found, start = [], 0
        for _, bits in groupby(first, key=whose.__getitem__):
            end = start + len(list(bits))
            found.append((start, end))
            start = end
        return tuple(found)


def _held(netlist: Netlist) -> set[Net]:
    """What registers and memories hold."""
    found = {q for cell in netlist.cells if cell.type == "$dff" for q in cell.ports["Q"]}
    memories = [cell for cell in netlist.cells if cell.type == "$mem_v2" and cell.parameters["WR_PORTS"]]
    return found | {net for cell in memories for net in cell.ports["RD_DATA"]}


def _within(netlist: Netlist, nets: Container[Net], without: Container[Net]) -> tuple[Cell, ...]:
    """The cells that drive some nets but not others; of cells that work bit by bit, these bits."""
    found = []
    for cell in netlist.cells:
        out = next((port for port in ("Y", "Q", "RD_DATA") if port in cell.ports), "")
        places = [k for k, net in enumerate(cell.ports.get(out, ())) if net in nets and net not in without]
        if not places:
            continue
        size = cell.width(out)
        even = all(len(bits) == size for port, bits in cell.ports.items() if port not in ("S", "CLK"))
        if len(places) < size and even and cell.type in ("$dff", "$mux", "$not", "$and", "$or", "$xor"):
            ports = {
                port: bits if port == "CLK" or (port == "S" and cell.type == "$mux") else tuple(bits[k] for k in places)
                for port, bits in cell.ports.items()
            }
            cell = replace(cell, ports=ports)
        found.append(cell)
    return tuple(found)
