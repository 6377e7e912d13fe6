"""Handshake: the rules of a stream, nothing lost or given twice, no deadlock, and exactly the predicted cycles.

Three kinds of components. A pipe's valid goes through a chain of registers that move with `enable` and hold without it;
the top makes enable low exactly while a finished beat waits (wiring.py). A FIFO has an argument of its own (fifo.py).
The control of every other component is taken from its netlist and gone through, state by state, beside the model that
predicts its cycles (automaton.py, explore.py).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from mase_hw.ir import Component, Pipe
from mase_hw.ir.plumbing import Fifo
from mase_hw.ir.staged import StagedControl
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.timing import combinational_cone
from mase_hw.prove.claims.witness import seen_after_reset
from mase_hw.prove.control.automaton import Automaton
from mase_hw.prove.control.explore import Graph, check_progress, explore
from mase_hw.prove.control.fifo import prove_counters
from mase_hw.prove.control.flow import Flow
from mase_hw.prove.control.staged import Staged, explore_staged
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.words.reference import Reference
from mase_hw.prove.words.truths import Exhausted


@dataclass(frozen=True)
class Whole:
    """A component's control, and everything that it can do."""

    automaton: Automaton
    graph: Graph

    @property
    def states(self) -> str:
        return f"all {len(self.graph.nodes):,} states of its control"

    def run(self, reference: Reference | Exhausted) -> None:
        """What every register and memory holds in every state, and the outputs that follow."""
        x, y = reference.component.input, reference.component.output
        beats = [reference.input_bits(k) for k in range(x.beats)]
        Flow(self.automaton, self.graph, reference.evaluator, beats, y.beats).run(reference.check_beat)


Explored = Whole | Staged


def is_chain(component: Component) -> bool:
    """Whether it is a pipe that does not count beats: its control is its valid alone."""
    return isinstance(component, Pipe) and component.input.beats == 1


def prove_handshake(component: Component, netlist: Netlist) -> tuple[str, Explored | None]:
    """How it was proved, and what was gone through; raises where it was not."""
    if isinstance(component, Pipe):
        held = {net for cell in netlist.cells if cell.type == "$dff" for net in cell.ports["Q"]}
        for port in ("data_out_0", "data_out_0_valid"):
            if any(isinstance(net, int) and net not in held for net in netlist.ports[port]):
                raise NotProvedError(f"{port} does not come from registers", refuted=True)
        if is_chain(component):
            _check_chain(netlist, component.latency)
            return f"valid goes through {component.latency} registers, which hold while enable is low", None
    elif netlist.ports["data_out_0_ready"][0] in combinational_cone(netlist, netlist.ports["data_out_0_valid"]):
        raise NotProvedError("data_out_0_valid waits for data_out_0_ready", refuted=True)
    if isinstance(component, Fifo):
        return prove_counters(component, netlist), None
    model = None if isinstance(component, Pipe) else component.control()
    if isinstance(model, StagedControl):
        with suppress(NotProvedError):  # it is built otherwise, or wrong: then all of it is gone through at once
            staged = explore_staged(component, netlist, model)
            return _method(staged, *staged.progress()), staged
    automaton = Automaton(netlist)
    try:
        graph = explore(component, automaton)
        offered, owed = check_progress(graph, pipe=isinstance(component, Pipe))
    except NotProvedError as error:
        if len(automaton.starts) == 1:
            raise
        text = f"{error}; registers of its control are not reset"
        raise NotProvedError(text, refuted=error.refuted and _starts_so(component, automaton)) from error
    whole = Whole(automaton, graph)
    return _method(whole, offered, owed), whole


def _method(explored: Explored, offered: int, owed: int) -> str:
    wait = max(offered, owed) + 1
    within = "a cycle" if wait == 1 else f"{wait} cycles"
    text = f"{explored.states}, with every valid and ready: as predicted, cycle by cycle"
    return f"{text}; no deadlock: a beat moves within {within}"


def _starts_so(component: Component, automaton: Automaton) -> bool:
    """Whether it is also false from states that were seen after a reset: not all that may be there need to be."""
    automaton.starts = seen_after_reset(automaton.netlist, automaton.registers)
    try:
        check_progress(explore(component, automaton), pipe=isinstance(component, Pipe))
    except NotProvedError as error:
        return error.refuted
    return False


def _check_chain(netlist: Netlist, stages: int) -> None:
    """From the output's valid back to the input's: so many registers that are reset to 0."""
    enable, reset = netlist.ports["enable"][0], netlist.ports["rst"][0]
    driver = {net: (cell, k) for cell in netlist.cells for k, net in enumerate(cell.ports.get("Y", ()))}
    after = {q: d for cell in netlist.cells if cell.type == "$dff"
             for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True)}  # fmt: skip

    def taken(net: Net, known: dict[Net, int]) -> Net:
        while net in driver and driver[net][0].type == "$mux" and driver[net][0].ports["S"][0] in known:
            cell, k = driver[net]
            net = cell.ports["B" if known[cell.ports["S"][0]] else "A"][k]
        return net

    net = netlist.ports["data_out_0_valid"][0]
    for _ in range(stages):
        if net not in after:
            raise NotProvedError(f"valid does not go through {stages} registers", refuted=True)
        if taken(after[net], {reset: 0, enable: 0}) != net:
            raise NotProvedError("a register of valid does not hold while enable is low", refuted=True)
        if {taken(after[net], {reset: 1, enable: moves}) for moves in (0, 1)} != {"0"}:
            raise NotProvedError("a register of valid is not reset", refuted=True)
        net = taken(after[net], {reset: 0, enable: 1})
    if net != netlist.ports["data_in_0_valid"][0]:
        raise NotProvedError(f"valid does not come out after {stages} registers", refuted=True)
