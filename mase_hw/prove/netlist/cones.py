"""Single nets as functions of others, for many values at once: whatever is not given is unknown.

A net may be given that is driven by logic: it is then not looked behind. If the nets behind it are shown to have the
same values by themselves, what was found with it given holds for the whole. A result that is known depends on nothing
but what is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.timing import sources_of
from mase_hw.prove.netlist.gates import Gates, Wire
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.netlist.plain import slices
from mase_hw.prove.words.carried import UNKNOWN, Value
from mase_hw.prove.words.machine import Evaluator, order

MAX_SAMPLES = 1 << 24  # of one net: some seconds
# Numbers on some nets, a tuple, or on those of a name: the same count of each; a single one is in all samples.
Given = Mapping[Any, Integers | int]
_CHOOSING = ("$mux", "$bmux")
_OR = ("$logic_or", "$or")


class Cones:
    """The logic of a netlist, by the names of its nets."""

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self._cells = [cell for cell in order(netlist) if isinstance(cell, Cell)]
        self._rank = {cell.name: n for n, cell in enumerate(self._cells)}
        self.driver = {net: (cell, k) for cell in self._cells for k, net in enumerate(cell.ports["Y"])}
        flops = [cell for cell in netlist.cells if cell.type == "$dff"]
        self._after = {q: d for cell in flops for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True)}

    def __contains__(self, name: str) -> bool:
        return name in self.netlist.names

    def named(self, name: str) -> tuple[Net, ...]:
        if name not in self.netlist.names:
            raise NotProvedError(f"there is no {name}")
        return self.netlist.names[name]

    def bits(self, name: str) -> int:
        return len(self.named(name))

    def values(self, name: str) -> Integers:
        """What a net of one bit may carry: either, or the constant that it is."""
        nets = self.named(name)
        return np.array([int(nets[0])] if nets in (("0",), ("1",)) else [0, 1])

    def after(self, name: str) -> tuple[Net, ...]:
        """What a register takes at the clock edge."""
        nets = self.named(name)
        if len(set(nets)) != len(nets) or any(net not in self._after for net in nets):
            raise NotProvedError(f"{name} is no register")
        return tuple(self._after[net] for net in nets)

    def check(self, nets: Sequence[Net], given: Given, wanted: Integers, what: str) -> None:
        """Raises unless the number on some nets is the wanted one, modulo their range, in every sample."""
        for at, found in self._parts(nets, given, np.arange(len(wanted)), what):
            if found != slices(wanted[at][:, None], len(nets)):
                raise NotProvedError(f"{what} is another function than the one that was stated")

    def check_register(self, name: str, start: int, given: Given, wanted: Integers) -> None:
        """What a register is reset to, whatever everything else holds, and what it takes otherwise."""
        nets = self.after(name)
        self.check(nets, {"rst": 1}, np.array([start]), f"{name} after reset")
        self.check(nets, {"rst": 0, **given}, wanted, f"the next {name}")

    def bit(self, net: Net, given: Given, samples: int, what: str) -> Integers:
        """One net in each sample."""
        return self.numbers([net], given, samples, what)

    def numbers(self, nets: Sequence[Net], given: Given, samples: int, what: str) -> Integers:
        """The number on some nets in each sample."""
        found = np.zeros(samples, np.int64)
        for at, wires in self._parts(nets, given, np.arange(samples), what):
            for k, wire in enumerate(wires):
                found[at] |= _bits(wire, len(at)) << k
        return found

    def check_net(self, name: str, given: Given, wanted: Integers | NDArray[np.bool_]) -> None:
        """Raises unless a net of one bit is the wanted one in every sample."""
        nets = self.named(name)
        if len(nets) != 1:
            raise NotProvedError(f"{name} is not a single bit")
        self.check(nets, given, np.asarray(wanted, np.int64), name)

    def chosen(self, net: Net, given: Mapping[Net, int]) -> Net:
        """What a net carries, followed through multiplexers whose selects are given."""
        while net in self.driver and self.driver[net][0].type == "$mux":
            cell, k = self.driver[net]
            select = cell.ports["S"][0]
            if select not in given:
                break
            net = cell.ports["B" if given[select] else "A"][k]
        return net

    def followed(self, net: Net, given: Mapping[Net, int]) -> Net:
        """The same where the selects are computed from what is given."""
        own: Given = {"rst": 0, **{(one,): bit for one, bit in given.items()}}
        while net in self.driver and self.driver[net][0].type == "$mux":
            cell, k = self.driver[net]
            net = cell.ports["B" if self.bit(cell.ports["S"][0], own, 1, "what is chosen by")[0] else "A"][k]
        return net

    def wired(self, net: Net) -> Net:
        """What a net is joined to, through cells that change nothing."""
        while net in self.driver and self.driver[net][0].type == "$pos":
            cell, k = self.driver[net]
            if k >= cell.width("A"):
                break
            net = cell.ports["A"][k]
        return net

    def alternatives(self, name: str) -> list[Net]:
        """The nets of which a net is the OR, through gates of one bit."""
        found: list[Net] = []
        todo = list(self.named(name))
        if len(todo) != 1:
            raise NotProvedError(f"{name} is not a single bit")
        while todo:
            net = todo.pop()
            cell, _ = self.driver.get(net, (None, 0))
            if cell is not None and cell.type in _OR and all(len(nets) == 1 for nets in cell.ports.values()):
                todo += [cell.ports["A"][0], cell.ports["B"][0]]
            else:
                found.append(net)
        return found

    def support(self, net: Net) -> set[Net]:
        """The registers, ports and memories that a net depends on within a cycle."""
        return {one for one in self.behind([net], set()) if one not in self.driver and isinstance(one, int)}

    def words(self, nets: Sequence[Net], given: Mapping[Net, Value], evaluator: Evaluator) -> list[Value]:
        """Some nets on exact words, or on whatever the evaluator computes with."""
        values: dict[Net, Value] = {"0": 0, "1": 1, "x": UNKNOWN, **given}
        for cell in self._between(nets, set(given)):
            read = {port: [values.get(net, UNKNOWN) for net in own] for port, own in cell.ports.items() if port != "Y"}
            found = zip(cell.ports["Y"], evaluator.evaluate(cell, read), strict=True)
            values.update((net, value) for net, value in found if net not in given)
        return [values.get(net, UNKNOWN) for net in nets]

    def _between(self, nets: Sequence[Net], given: set[Net]) -> list[Cell]:
        """The cells between some nets and what is given, in order."""
        behind = self.behind(nets, given)
        found = {cell.name: cell for net in behind for cell, _ in [self.driver.get(net, (None, 0))] if cell is not None}
        return sorted(found.values(), key=lambda cell: self._rank[cell.name])

    def behind(self, nets: Sequence[Net], given: set[Net]) -> set[Net]:
        """All nets that some depend on within a cycle; those that are given are not looked behind."""
        seen: set[Net] = set()
        todo = list(nets)
        while todo:
            net = todo.pop()
            if net not in seen:
                seen.add(net)
                if net in self.driver and net not in given:
                    cell, k = self.driver[net]
                    todo += sources_of(cell, "Y", k, whole=True)
        return seen

    def _parts(
        self, nets: Sequence[Net], given: Given, at: Integers, what: str
    ) -> Iterator[tuple[Integers, list[int]]]:
        """Some samples and what the nets carry in them, until these are all of `at`.

        A wire is known in all samples or in none. Where a multiplexer chooses between one that is known and one that is
        not, the samples that take the one are looked at by themselves, and those that take the other.
        """
        own: Given = {name: numbers if isinstance(numbers, int) else numbers[at] for name, numbers in given.items()}
        found, choices = self._evaluate(nets, own, len(at))
        known = [wire for wire in found if isinstance(wire, int)]
        if len(known) == len(found):
            yield at, known
        elif choices:
            taken = _bits(choices[-1], len(at)) == 1
            yield from self._parts(nets, given, at[taken], what)
            yield from self._parts(nets, given, at[~taken], what)
        else:
            raise NotProvedError(f"{what} depends on something else, or has no value")

    def _evaluate(self, nets: Sequence[Net], given: Given, samples: int) -> tuple[list[Wire], list[int]]:
        """The wires of some nets, and selects that differ between samples and let through what is not known."""
        if samples > MAX_SAMPLES:
            raise NotProvedError(f"{samples:,} cases of one net are too many")
        gates = Gates(samples)
        wires = self._given(given, gates)
        fixed, choices = set(wires), []
        for cell in self._between(nets, fixed):
            read = {port: [wires.get(net, UNKNOWN) for net in own] for port, own in cell.ports.items() if port != "Y"}
            if cell.type in _CHOOSING and any(wire is UNKNOWN for port in ("A", "B") for wire in read.get(port, ())):
                choices += [wire for wire in read["S"] if isinstance(wire, int) and wire not in (0, gates.ones)]
            found = zip(cell.ports["Y"], gates.evaluate(cell, read), strict=True)
            wires.update((net, wire) for net, wire in found if net not in fixed)
        return [wires.get(net, UNKNOWN) for net in nets], choices

    def _given(self, given: Given, gates: Gates) -> dict[Net, Wire]:
        wires: dict[Net, Wire] = {"0": 0, "1": gates.ones, "x": UNKNOWN}
        for name, numbers in given.items():
            nets = self.named(name) if isinstance(name, str) else name
            if isinstance(numbers, int):
                patterns: list[Wire] = [gates.ones * (numbers >> k & 1) for k in range(len(nets))]
            else:
                patterns = slices(numbers[:, None], len(nets))
            for net, wire in zip(nets, patterns, strict=True):
                if net in wires and wires[net] != wire:
                    raise NotProvedError(f"{name} is joined to something else, or is a constant")
                wires[net] = wire
        return wires


def _bits(wire: int, samples: int) -> Integers:
    """A wire in each sample."""
    packed = np.frombuffer(wire.to_bytes(samples // 8 + 1, "little"), np.uint8)
    return np.unpackbits(packed, bitorder="little")[:samples].astype(np.int64)


def grid(*axes: Integers | range | int) -> list[Integers]:
    """Every combination of values of some axes, one array for each; a number `n` stands for `0 .. n - 1`."""
    values = [np.arange(axis) if isinstance(axis, int) else np.asarray(axis, np.int64) for axis in axes]
    return [part.ravel() for part in np.meshgrid(*values, indexing="ij")]
