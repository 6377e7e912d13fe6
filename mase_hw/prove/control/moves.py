"""Forks and concatenations: components with several ports that move whole beats and compute nothing.

Their control is small. Every state that it can reach from reset is visited, with every combination of the inputs'
valids and the outputs' readies, beside the model that predicts cycles: each valid and each ready is the model's. Every
bit of data is followed through the multiplexers whose selects are control, to a register or to an input: so it is
known, in each state, which beat of which input each register holds. What an output offers must be the beat that comes
next on it, whole. Beats are counted from the last whole vector that all outputs have given, so there are finitely many
states.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from mase_hw.ir import Component
from mase_hw.ir.branches import Concat, Fork
from mase_hw.ir.control import Control
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.timing import cone_of
from mase_hw.prove.control.explore import cloned
from mase_hw.prove.control.states import States
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.netlist.plain import PlainMachine
from mase_hw.prove.words.carried import UNKNOWN
from mase_hw.prove.words.machine import Machine
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.words import Words

MAX_STATES = 200_000
ALWAYS = 64  # states, however few the model has
Beat = tuple[int, int]  # an input, and the number of one of its beats
Held = tuple[tuple[Beat, int] | None, ...]  # for each bit of data registers: a beat, and which bit of it


@dataclass(frozen=True)
class _State:
    control: tuple[int, ...]  # bits of the registers that are control
    taken: tuple[int, ...]  # beats of each input, since the last vector that all outputs have given
    given: tuple[int, ...]
    held: Held


def moves_beats(component: Component) -> bool:
    """Whether this argument is about it."""
    return isinstance(component, Fork | Concat)


def prove_moves(component: Component, netlist: Netlist) -> str:
    """How handshake and values were proved; raises where they were not."""
    walk = _Walk(component, netlist)
    model = component.control()
    start = walk.reset()
    seen = {(start, model.state())}
    todo: list[tuple[_State, Control]] = [(start, model)]
    states = States(MAX_STATES, ALWAYS)
    while todo:
        state, model = todo.pop()
        states.add((state.taken, state.given, model.state()))
        for after, then in walk.steps(state, model):
            key = (after, then.state())
            if key not in seen:
                seen.add(key)
                todo.append((after, then))
    return (
        f"all {len(seen):,} states of its control, with every valid and ready: as predicted, cycle by cycle, and every "
        "output is the beat that comes next"
    )


class _Walk:
    """One clock edge from a state, for all inputs at once."""

    def __init__(self, component: Component, netlist: Netlist) -> None:
        self.component, self.netlist = component, netlist
        self.ins, self.outs = len(component.inputs), len(component.outputs)
        self.driver = {net: (cell, k) for cell in netlist.cells for k, net in enumerate(cell.ports.get("Y", ()))}
        if any(cell.type == "$mem_v2" for cell in netlist.cells):
            raise NotProvedError("it has a memory")
        pairs = [pair for cell in netlist.cells if cell.type == "$dff"
                 for pair in zip(cell.ports["Q"], cell.ports["D"], strict=True)]  # fmt: skip
        ends = [f"data_in_{k}_ready" for k in range(self.ins)] + [f"data_out_{k}_valid" for k in range(self.outs)]
        decide = cone_of(netlist, [netlist.ports[port][0] for port in ends])
        self.control = [(q, d) for q, d in pairs if q in decide]
        self.data = [(q, d) for q, d in pairs if q not in decide]
        self.place = {q: k for k, (q, _) in enumerate(self.data)}
        self.source = {net: ((k, -1), bit) for k in range(self.ins)
                       for bit, net in enumerate(netlist.ports[f"data_in_{k}"])}  # fmt: skip
        if decide & set(self.source):
            raise NotProvedError("valid or ready depends on data", refuted=True)
        self.combinations = list(product((0, 1), repeat=self.ins + self.outs))
        self.machine = PlainMachine(netlist, np.random.default_rng(0), len(self.combinations))

    def reset(self) -> _State:
        """What one cycle of reset leaves, whatever was there before: every register and input starts unknown."""
        machine = Machine(self.netlist, Symbolic(Words(np.zeros(1, np.int64), np.ones(1, np.int64))))
        flops = [cell for cell in self.netlist.cells if cell.type == "$dff"]
        for nets in (*self.netlist.ports.values(), *(cell.ports["Q"] for cell in flops)):
            machine.values |= {net: UNKNOWN for net in nets if isinstance(net, int)}
        machine.set("rst", [1])
        machine.settle()
        machine.tick()
        found = [machine.values[q] for q, _ in self.control]
        known = tuple(bit for bit in found if isinstance(bit, int))
        if len(known) != len(found):
            raise NotProvedError("registers of its control are not reset")
        return _State(known, (0,) * self.ins, (0,) * self.outs, (None,) * len(self.data))

    def steps(self, state: _State, model: Control) -> Iterator[tuple[_State, Control]]:
        self._put(state.control, reset=0)
        self.machine.settle()
        for n, chosen in enumerate(self.combinations):
            offered = tuple(map(bool, chosen[: self.ins]))
            outs = tuple(map(bool, chosen[self.ins :]))
            valids = tuple(bool(self._port(f"data_out_{k}_valid", n)) for k in range(self.outs))
            readies = tuple(bool(self._port(f"data_in_{k}_ready", n)) for k in range(self.ins))
            if valids != model.valids or readies != model.readies(offered, outs):
                said = f"valid {model.valids}, ready {model.readies(offered, outs)}"
                raise NotProvedError(
                    f"valid {valids}, ready {readies} where {said} was predicted: {model.state()}", refuted=True
                )
            takes = tuple(a and b for a, b in zip(offered, readies, strict=True))
            gives = tuple(a and b for a, b in zip(valids, outs, strict=True))
            for k, valid in enumerate(valids):
                if valid:
                    self._check_output(state, k, n)
            then = cloned(model)
            then.clock(takes, outs)
            for k, valid in enumerate(valids):
                if valid and not outs[k] and not then.valids[k]:
                    raise NotProvedError(f"data_out_{k}_valid falls before data_out_{k}_ready", refuted=True)
                if valid and not outs[k] and self._output(state, k, n) != self._output_after(state, k, n):
                    raise NotProvedError(f"data_out_{k} changes before data_out_{k}_ready", refuted=True)
            yield self._after(state, n, takes, gives), then

    def _after(self, state: _State, n: int, takes: Sequence[bool], gives: Sequence[bool]) -> _State:
        control = tuple(self._bit(d, n) for _, d in self.control)
        taken = tuple(a + b for a, b in zip(state.taken, takes, strict=True))
        given = tuple(a + b for a, b in zip(state.given, gives, strict=True))
        held = tuple(self._carried(d, state, n) for _, d in self.data)
        whole = min(count // y.beats for count, y in zip(given, self.component.outputs, strict=True))
        back = [whole * x.beats for x in self.component.inputs]
        held = tuple(
            None if one is None or one[0][1] < back[one[0][0]] else ((one[0][0], one[0][1] - back[one[0][0]]), one[1])
            for one in held
        )
        return _State(
            control,
            tuple(count - less for count, less in zip(taken, back, strict=True)),
            tuple(count - whole * y.beats for count, y in zip(given, self.component.outputs, strict=True)),
            held,
        )

    def _check_output(self, state: _State, port: int, n: int) -> None:
        wanted = self._wanted(port, state.given[port])
        if wanted[1] >= state.taken[wanted[0]]:
            raise NotProvedError(f"data_out_{port} offers a beat that was not taken", refuted=True)
        for bit, one in enumerate(self._output(state, port, n)):
            if one != (wanted, bit):
                raise NotProvedError(f"data_out_{port}: bit {bit} is not that of the beat that comes next")

    def _wanted(self, port: int, number: int) -> Beat:
        """Which beat of which input an output gives as its beat `number`."""
        if isinstance(self.component, Fork):
            return 0, number
        vector, place = divmod(number, self.component.output.beats)
        for k, x in enumerate(self.component.inputs):
            if place < x.beats:
                return k, vector * x.beats + place
            place -= x.beats
        raise AssertionError("a beat behind the last part")

    def _output(self, state: _State, port: int, n: int) -> list[tuple[Beat, int] | None]:
        return [self._carried(net, state, n) for net in self.netlist.ports[f"data_out_{port}"]]

    def _output_after(self, state: _State, port: int, n: int) -> list[tuple[Beat, int] | None]:
        """What the output carries in the next cycle, where it comes from registers."""
        held = tuple(self._carried(d, state, n) for _, d in self.data)
        nets = self.netlist.ports[f"data_out_{port}"]
        if any(net not in self.place for net in nets):
            raise NotProvedError(f"data_out_{port} does not come from registers")
        return [held[self.place[net]] for net in nets]

    def _carried(self, net: Net, state: _State, n: int) -> tuple[Beat, int] | None:
        """The bit of a beat that a net carries, followed through multiplexers; None where it is of no beat."""
        while net in self.driver:
            cell, k = self.driver[net]
            if cell.type != "$mux":
                raise NotProvedError(f"data passes through a {cell.type} ({cell.source})")
            net = cell.ports["B" if self._selected(cell, n) else "A"][k]
        if net in self.place:
            return state.held[self.place[net]]
        if net in self.source:
            (port, _), bit = self.source[net]
            return (port, state.taken[port]), bit  # what is offered now is the beat that is taken next
        return None

    def _selected(self, cell: Cell, n: int) -> int:
        select = cell.ports["S"][0]
        if cone_of(self.netlist, [select], through_registers=False) & {*self.source, *self.place}:
            raise NotProvedError(f"data selects what is moved ({cell.source})")
        return self._bit(select, n)

    def _put(self, control: Sequence[int | None], *, reset: int) -> None:
        machine = self.machine
        ones = machine.gates.ones
        machine.put("clk", 0)
        machine.put("rst", reset)
        for (q, _), bit in zip(self.control, control, strict=True):
            if bit is not None:
                machine.wires[q] = ones * bit
        names = [f"data_in_{k}_valid" for k in range(self.ins)] + [f"data_out_{k}_ready" for k in range(self.outs)]
        for place, port in enumerate(names):
            wire = sum(chosen[place] << n for n, chosen in enumerate(self.combinations))
            machine.put_wires(port, [wire])
        for k in range(self.ins):
            machine.put(f"data_in_{k}", 0)

    def _bit(self, net: Net, n: int) -> int:
        wire = self.machine.wires[net]
        assert isinstance(wire, int)
        return (wire >> n) & 1

    def _port(self, port: str, n: int) -> int:
        return self._bit(self.netlist.ports[port][0], n)
