"""Values: a component's netlist, run on exact words for every input at once, gives what the integers give.

The control of a component holds no data (see timing.py), so a run with known control and unknown data covers every
input.

A pipe that does not count beats is run for one vector, all else unknown: its registers, and every beat before and after
it. Nothing that its outputs depend on is control, but `enable`; and while that is low, all its registers hold. Both are
seen on its netlist. So each vector goes through as that one did, whatever its neighbours and the stalls are. All other
components but FIFOs are looked at in every state that their control can reach (flow.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from mase_hw.ir import Component, full_range
from mase_hw.ir.plumbing import Fifo, Plumbing
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.handshake import Explored, is_chain
from mase_hw.prove.claims.timing import cone_of
from mase_hw.prove.claims.witness import find_witness
from mase_hw.prove.control.fifo import prove_memory
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.words.carried import UNKNOWN
from mase_hw.prove.words.machine import Machine
from mase_hw.prove.words.reference import Reference
from mase_hw.prove.words.symbolic import Symbolic
from mase_hw.prove.words.truths import AT_ONCE, MAX_VECTORS, Exhausted, groups

BOUNDS = 1000  # sums whose bounds are tried where values are not proved


def prove_values(component: Component, netlist: Netlist, explored: Explored | None) -> tuple[str, Symbolic]:
    """How it was proved, and what evaluated it; raises where it was not."""
    if explored is None and not is_chain(component) and not isinstance(component, Fifo):
        raise NotProvedError("its handshake was not proved")
    reference = Reference(component)
    try:
        return _prove(reference, netlist, explored), reference.evaluator
    except NotProvedError as error:
        # Equal bits may have two names, and another structure may do the same: it is false only if a run shows it.
        suspects = [] if error.suspect is None else [error.suspect]
        bounds = [x for one in reference.evaluator.sums[:BOUNDS] for x in reference.words.reaching(one.total)]
        found = find_witness(component, netlist, suspects, bounds)
        text = str(error) if found is None else f"{error}; {found}"
        raise NotProvedError(text, refuted=found is not None) from error


def _prove(reference: Reference, netlist: Netlist, explored: Explored | None) -> str:
    component = reference.component
    if isinstance(component, Fifo):
        return prove_memory(component, netlist)
    if explored is None:
        _check_holds(netlist)
        _check_free(netlist)
        method = "exact words through the pipeline, registers hold while enable is low"
    else:
        method = f"exact words in every register and memory, in {explored.states}"
    _run(reference, netlist, explored)
    method += reference.rounded_by
    if reference.failed:
        vectors = _exhaust(reference, netlist, explored)
        method += f"; {len(reference.failed)} outputs by exhaustion, of {vectors:,} vectors at the most"
    return method


def _exhaust(reference: Reference, netlist: Netlist, explored: Explored | None) -> int:
    """Goes through all vectors of the inputs of those outputs that the words do not prove: how many, at the most."""
    first = next(iter(reference.failed.values()))
    if any(error.suspect is not None for error in reference.failed.values()):
        raise next(error for error in reference.failed.values() if error.suspect is not None)
    most, limit = 0, MAX_VECTORS[explored is not None]
    for all_inputs in (False, True):
        try:
            for group in groups(reference, sorted(reference.failed), limit, all_inputs=all_inputs):
                for vector in range(0, group.vectors, AT_ONCE):
                    _run(Exhausted(reference.component, group, vector), netlist, explored)
                most = max(most, group.vectors)
            return most
        except NotProvedError as error:
            why = error
            if error.suspect is not None:
                break
    raise NotProvedError(f"{first}; {why}", suspect=why.suspect) from why


def unit(component: Component) -> Component:
    """The component with what is looked at as one vector: where beats are only moved, a beat, or a wide one."""
    if not isinstance(component, Plumbing):
        return component
    x, y = component.input, component.output
    lanes = max(x.lanes, y.lanes)
    ends = [full_range(stream.name, lanes, stream.lanes, stream.fixed) for stream in (x, y)]
    return replace(component, inputs=(ends[0],), outputs=(ends[1],))


def _run(reference: Reference | Exhausted, netlist: Netlist, explored: Explored | None) -> None:
    """In every state of the control; of a pipe, one vector, from reset, all others unknown."""
    component = reference.component
    if explored is not None:
        explored.run(reference)
        return
    machine = Machine(netlist, reference.evaluator)
    hidden = [UNKNOWN] * component.input.width
    for cycle in range(-1, component.latency + 1):
        machine.set("clk", [0])
        machine.set("rst", [int(cycle < 0)])
        machine.set("enable", [1])
        machine.set("data_in_0_valid", [int(cycle == 0)])
        machine.set("data_in_0", reference.input_bits(0) if cycle == 0 else list(hidden))
        machine.settle()
        if cycle == component.latency:
            reference.check_beat(0, machine.get("data_out_0"))
        machine.tick()


def _check_free(netlist: Netlist) -> None:
    """Nothing that the output depends on is control: no valid, no reset."""
    cone = cone_of(netlist, netlist.ports["data_out_0"])
    for port in ("data_in_0_valid", "rst"):
        if netlist.ports[port][0] in cone:
            raise NotProvedError(f"data_out_0 depends on {port}")


def _check_holds(netlist: Netlist) -> None:
    """Every register keeps its value while `enable` is low: followed through the multiplexers on its input."""
    enable, reset = netlist.ports["enable"][0], netlist.ports["rst"][0]
    drivers = {cell.ports["Y"][k]: (cell, k) for cell in netlist.cells for k in range(len(cell.ports.get("Y", ())))}
    gates = {enable, *_anded(netlist, enable)}  # nets that are low whenever enable is
    for cell in netlist.cells:
        if cell.type == "$mem_v2" and cell.parameters["WR_PORTS"]:
            raise NotProvedError(f"a pipe has a memory that is written ({cell.source})")
        if cell.type != "$dff":
            continue
        for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True):
            net: Net = d
            while net != q:
                found = drivers.get(net)
                if found is None or found[0].type != "$mux" or found[0].ports["S"][0] not in {*gates, reset}:
                    raise NotProvedError(f"a register does not hold while enable is low ({cell.source})")
                net = found[0].ports["A"][found[1]]


def _anded(netlist: Netlist, enable: Net) -> Iterator[Net]:
    """What is `enable` AND something."""
    for cell in netlist.cells:
        if cell.type in ("$logic_and", "$and") and (enable,) in (cell.ports["A"], cell.ports["B"]):
            yield cell.ports["Y"][0]
