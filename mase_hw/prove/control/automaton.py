"""The control of a component, taken from its netlist: a finite automaton of which every bit is known.

Control is every register that decides about a valid or a ready, and every other that is reset, as long as no bit of
data reaches it. What its logic computes for the rest of the component (selects, enables, addresses) is the *boundary*.
The logic is compiled to one Python function, since it is evaluated for every state and input.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.timing import combinational_cone, cone_of
from mase_hw.prove.netlist.cells import function, operands
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.words.carried import UNKNOWN
from mase_hw.prove.words.machine import Machine, order
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words

MARKS = "marks"  # a port of control bits, of the tail of a pipeline (staged.py)
MAX_FREE = 8  # registers of the control that are not reset: they are tried with every value
BITWISE = ("$not", "$pos", "$and", "$or", "$xor", "$xnor", "$mux", "$bwmux", "$dff")


class Automaton:
    """`steps(state)` gives the next states and the boundaries; states and boundaries are packed bits."""

    def __init__(self, netlist: Netlist) -> None:
        self.netlist = netlist
        self.inputs = dict.fromkeys(netlist.ports.get("data_in_0_valid", ()), "v")
        self.inputs[netlist.ports["enable" if "enable" in netlist.ports else "data_out_0_ready"][0]] = "r"
        self.marks = netlist.ports.get(MARKS, ())  # more inputs, which are control too
        self.registers = control_registers(netlist)
        self.state_bit = {net: k for k, net in enumerate(self.registers)}
        self.cells = self._control_cells()
        driven = {net for cell in self.cells for net in cell.ports["Y"]}
        self.known = {*driven, *self.registers, *self.inputs, *self.marks, *netlist.ports["rst"]}  # control nets
        self.boundary = self._boundary()
        self.boundary_bit = {net: k for k, net in enumerate(self.boundary)}
        self._steps = self._compile()
        self.starts = self._after_reset()

    @property
    def key(self) -> tuple[object, ...]:
        """The same for automata that do the same: the text of a step, the cells that it calls, where they start."""
        cells = tuple((c.type, tuple(sorted(c.parameters.items())), *map(c.width, sorted(c.ports))) for c in self.cells)
        return self.text, cells, tuple(self.starts)

    def steps(self, state: int, marks: int = 0) -> list[tuple[int, int]]:
        """The next state and the boundary, for inputs 0 to 3: `valid + 2 * ready`."""
        found = self._steps(state, marks)
        if any(unknown for _, _, unknown in found):
            raise NotProvedError("the control takes a branch that gives it no value", refuted=True)
        return [(after, boundary) for after, boundary, _ in found]

    def bits(self, nets: Iterable[Net]) -> int:
        """The boundary's bits that are these nets, as a mask."""
        return sum(1 << self.boundary_bit[net] for net in nets)

    def value(self, boundary: int, nets: Sequence[Net]) -> int:
        """The number on these nets, all of them constants or of the boundary."""
        found = 0
        for k, net in enumerate(nets):
            bit = int(net) if isinstance(net, str) else (boundary >> self.boundary_bit[net]) & 1
            found |= bit << k
        return found

    def _control_cells(self) -> list[Cell]:
        """Cells of which every input is known, in order."""
        known: set[Net] = {*self.inputs, *self.marks, *self.registers, *self.netlist.ports["rst"], "0", "1", "x"}
        self.perhaps: set[Net] = {"x"}  # nets that are x unless some multiplexer takes another branch
        found = []
        for cell in order(self.netlist):
            if not isinstance(cell, Cell):
                continue
            read = {net for port, nets in cell.ports.items() if port != "Y" for net in nets}
            if read <= known:
                found.append(cell)
                known.update(cell.ports["Y"])
                if read & self.perhaps:
                    self.perhaps.update(cell.ports["Y"])
        return found

    def _boundary(self) -> list[Net]:
        """Control nets that something else reads: data logic, memories, the two ends of the handshake."""
        control = {cell.name for cell in self.cells if not self.perhaps.intersection(cell.ports["Y"])}
        read: dict[Net, None] = {}
        for cell in self.netlist.cells:
            if cell.name in control or cell.type == "$scopeinfo":
                continue
            for port, nets in cell.ports.items():
                if port in ("Y", "Q", "RD_DATA", "CLK", "RD_CLK", "WR_CLK"):
                    continue
                if cell.type == "$dff":
                    nets = tuple(d for d, q in zip(nets, cell.ports["Q"], strict=True) if q not in self.state_bit)
                read.update(dict.fromkeys(nets))
        for port in ("data_out_0_valid", "data_in_0_ready", "data_out_0"):
            read.update(dict.fromkeys(self.netlist.ports.get(port, ())))
        return [net for net in read if net in self.known and net not in self.perhaps]

    def _compile(self) -> Callable[[int, int], list[tuple[int, int, int]]]:
        """State to the next state, the boundary, and 0, for each input: the last has a bit for every x in the others.

        What does not depend on the inputs is computed once for all of them.
        """
        netlist = self.netlist
        place: dict[Net, tuple[str, int]] = {net: ("s", k) for net, k in self.state_bit.items()}
        place |= {"1": ("1", 0), **{net: (name, 0) for net, name in self.inputs.items()}}
        place |= {net: ("m", k) for k, net in enumerate(self.marks)}
        unknown: dict[Net, tuple[str, int]] = {"x": ("1", 0)}
        space: dict[str, Any] = {}
        loop = {"s": 0, "m": 0, "1": 0, "r": 1, "v": 2}  # the innermost of the three in which a name gets its value
        lines: tuple[list[str], ...] = ([], [], [])
        pairs = [pair for cell in netlist.cells if cell.type == "$dff"
                 for pair in zip(cell.ports["Q"], cell.ports["D"], strict=True)]  # fmt: skip
        next_of = dict(pairs)
        after = [next_of[net] for net in self.registers]
        if any(isinstance(net, int) and net not in self.known for net in after):
            raise NotProvedError("a register that is reset, and no data reaches, depends on one that is not reset")
        needed = combinational_cone(netlist, [*after, *self.boundary])
        reset = netlist.ports["rst"][0]
        for n, cell in enumerate(self.cells):
            if not needed.intersection(cell.ports["Y"]):
                continue
            space[f"f{n}"] = function(cell)
            read = [["0" if net == reset else net for net in cell.ports[port]] for port in operands(cell)]
            names = {where[net][0] for where in (place, unknown) for nets in read for net in nets if net in where}
            level = max((loop[name] for name in names), default=0)
            lines[level].append(f"c{n} = f{n}({', '.join(_text(nets, place) for nets in read)})")
            place |= {net: (f"c{n}", k) for k, net in enumerate(cell.ports["Y"]) if isinstance(net, int)}
            loop |= {f"c{n}": level, f"x{n}": level}
            if self.perhaps.intersection(cell.ports["Y"]):
                flags = [_text(nets, unknown) for nets in read]
                wrong, all_bits = " or ".join(f"({flag})" for flag in flags), (1 << cell.width("Y")) - 1
                if cell.type == "$mux":  # the branch that is taken
                    taken = f"({flags[1]} if {_text(read[2], place)} else {flags[0]})"
                    lines[level].append(f"x{n} = {all_bits} if {flags[2]} else {taken}")
                else:
                    lines[level].append(f"x{n} = {all_bits} if {wrong} else 0")
                unknown |= {net: (f"x{n}", k) for k, net in enumerate(cell.ports["Y"])}
        ends = [_text(after, place), _text(self.boundary, place), _text([*after, *self.boundary], unknown)]
        lines[2].append(f"found.append(({', '.join(ends)}))")
        heads = ("def steps(s, m):", " found = []", *(f" {line}" for line in lines[0]), " for r in (0, 1):")
        inner = (*(f"  {line}" for line in lines[1]), "  for v in (0, 1):", *(f"   {line}" for line in lines[2]))
        self.text = "\n".join((*heads, *inner, " return found"))  # built above from numbers alone
        exec(self.text, space)
        made: Callable[[int, int], list[tuple[int, int, int]]] = space["steps"]
        return made

    def _after_reset(self) -> list[int]:
        """What the registers may hold after one cycle of reset, whatever they and everything else held before."""
        control = {cell.name for cell in self.cells}
        mine, every = set(self.registers), self.netlist.cells
        flops = [cell for cell in every if cell.type == "$dff" and mine.intersection(cell.ports["Q"])]
        cells = (*flops, *(cell for cell in every if cell.name in control))
        words = Words(np.zeros(1, np.int64), np.ones(1, np.int64))
        machine = Machine(replace(self.netlist, cells=cells), Symbolic(words))
        for nets in (*self.netlist.ports.values(), *(cell.ports["D"] for cell in flops)):
            machine.values |= {net: UNKNOWN for net in nets if isinstance(net, int)}
        machine.set("rst", [1])
        machine.settle()
        machine.tick()
        held = [machine.values[net] for net in self.registers]
        known = sum(bit << k for k, bit in enumerate(held) if isinstance(bit, int))
        free = [1 << k for k, bit in enumerate(held) if not isinstance(bit, int)]
        if len(free) > MAX_FREE:
            raise NotProvedError(f"{len(free)} registers that decide about valid or ready are not reset")
        return [known | sum(chosen) for n in range(len(free) + 1) for chosen in combinations(free, n)]


def control_registers(netlist: Netlist) -> list[Net]:
    """Registers that decide about a valid or a ready, and others that are reset: those that no data reach."""
    data = tainted(netlist)
    ends = [port for port in ("data_out_0_valid", "data_in_0_ready") if port in netlist.ports]
    decide = cone_of(netlist, [netlist.ports[port][0] for port in ends])
    if decide & data:
        raise NotProvedError("valid or ready depends on data", refuted=True)
    found: list[Net] = []
    reset = netlist.ports["rst"][0]
    for cell in netlist.cells:
        if cell.type != "$dff":
            continue
        plain = [k for k, net in enumerate(cell.ports["Q"]) if net not in data]
        if not plain:
            continue
        is_reset = reset in combinational_cone(netlist, [cell.ports["D"][k] for k in plain])
        found += [cell.ports["Q"][k] for k in plain if is_reset or cell.ports["Q"][k] in decide]
    return found


def tainted(netlist: Netlist) -> set[Net]:
    """Every net that a bit of the input's data reaches, through logic, registers and memories."""
    leads: dict[Net | tuple[str, str], list[Net | tuple[str, str]]] = defaultdict(list)
    for cell in netlist.cells:
        outs = [port for port in ("Y", "Q", "RD_DATA") if port in cell.ports]
        for out in outs:
            for port, nets in cell.ports.items():
                if port == out or port.endswith("CLK"):
                    continue
                if cell.type in BITWISE and len(nets) == len(cell.ports[out]):
                    for a, b in zip(nets, cell.ports[out], strict=True):
                        leads[a].append(b)
                else:
                    for net in nets:
                        leads[net].append((cell.name, out))
            leads[(cell.name, out)] += cell.ports[out]
    seen: set[Net | tuple[str, str]] = set()
    todo: list[Net | tuple[str, str]] = list(netlist.ports["data_in_0"])
    while todo:
        at = todo.pop()
        if at not in seen and at not in ("0", "1", "x"):
            seen.add(at)
            todo += leads[at]
    return {net for net in seen if isinstance(net, int)}


def _text(nets: Sequence[Net], place: dict[Net, tuple[str, int]]) -> str:
    """The number on some nets as an expression: neighbours of one variable are taken together; the rest is 0."""
    parts, k = ["0"], 0
    while k < len(nets):
        net = nets[k]
        if net not in place:
            k += 1
            continue
        name, low = place[net]
        length = 1
        while k + length < len(nets) and place.get(nets[k + length]) == (name, low + length):
            length += 1
        parts.append(f"(({name} >> {low}) & {(1 << length) - 1}) << {k}")
        k += length
    return " | ".join(parts)
