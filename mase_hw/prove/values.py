"""Values: a component's netlist, run on exact words for every input at once, gives what the integers give.

The control of a component holds no data (see timing.py), so a run with known control and unknown data covers every
input. Registers and memories start unknown, and so does every input beat that is not valid: a result that depended on
what came before would be unknown itself. A pipe holds all its registers while `enable` is low, which is checked on its
netlist, so a stalled run is an unstalled one with pauses. Components with a handshake of their own are run without
stalls and with several seeded patterns of gaps and back-pressure.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from mase_hw.hardware import Component, Pipe
from mase_hw.hardware.plumbing import Plumbing
from mase_hw.prove.claims import NotProvedError
from mase_hw.prove.machine import Machine
from mase_hw.prove.netlist import Net, Netlist
from mase_hw.prove.reference import Reference
from mase_hw.prove.words import UNKNOWN

PATTERNS = 6  # of gaps and back-pressure
VECTORS = 3
ARRAY_PATTERNS = 2  # of components that compute, whose runs are long
MAX_CYCLES = 200_000


def prove_values(component: Component, netlist: Netlist) -> tuple[str, Machine]:
    """How it was proved, and the machine that ran; raises where it was not."""
    if isinstance(component, Pipe):
        _check_holds(netlist)
        machine = _run(component, netlist, None)
        return "exact words through the pipeline, clamping by exhaustion, registers hold while enable is low", machine
    machine = _run(component, netlist, None)
    patterns = PATTERNS if isinstance(component, Plumbing) else ARRAY_PATTERNS
    for seed in range(patterns):
        _run(component, netlist, random.Random(seed))
    return f"exact words for {VECTORS} vectors from reset, unstalled and in {patterns} patterns of stalls", machine


def _run(component: Component, netlist: Netlist, stalls: random.Random | None) -> Machine:
    """Several vectors one after the other; every output beat is compared."""
    pipe = isinstance(component, Pipe)
    x, y = component.input, component.output
    vectors = 1 if pipe and x.beats == 1 else VECTORS
    reference = Reference(component, vectors)
    machine = Machine(netlist, reference.words)
    beats = [(v, k) for v in range(vectors) for k in range(x.beats)]
    wanted = [(v, k) for v in range(vectors) for k in range(y.beats)]
    hidden = [UNKNOWN] * x.width

    def drive(reset: int, valid: int, ready: int) -> None:
        machine.set("clk", [0])
        machine.set("rst", [reset])
        machine.set("enable" if pipe else "data_out_0_ready", [ready])
        machine.set("data_in_0_valid", [valid])
        machine.set("data_in_0", reference.input_bits(*beats[0]) if valid else list(hidden))
        machine.settle()

    drive(1, 0, 1)
    machine.tick()
    offered = False
    for cycle in range(MAX_CYCLES):
        if not wanted:
            return machine
        offered = bool(beats) and (offered or stalls is None or stalls.random() < 0.6)
        ready = 1 if stalls is None or pipe else int(stalls.random() < 0.6)
        drive(0, int(offered), ready)
        out_valid = _control(machine, "data_out_0_valid", cycle)
        taken = offered and (pipe or _control(machine, "data_in_0_ready", cycle) == 1)
        if out_valid and ready:
            reference.check_beat(*wanted.pop(0), machine.get("data_out_0"))
        machine.tick()
        if taken:
            beats.pop(0)
            offered = False
    raise NotProvedError(f"no end within {MAX_CYCLES} cycles", refuted=True)


def _control(machine: Machine, port: str, cycle: int) -> int:
    value = machine.get(port)[0]
    if not isinstance(value, int):
        raise NotProvedError(f"{port} depends on data in cycle {cycle}")
    return value


def _check_holds(netlist: Netlist) -> None:
    """Every register keeps its value while `enable` is low: followed through the multiplexers on its input."""
    enable, reset = netlist.ports["enable"][0], netlist.ports["rst"][0]
    drivers = {cell.ports["Y"][k]: (cell, k) for cell in netlist.cells for k in range(len(cell.ports.get("Y", ())))}
    gates = {enable, *_anded(netlist, enable)}  # nets that are low whenever enable is
    for cell in netlist.cells:
        if cell.type != "$dff":
            continue
        for d, q in zip(cell.ports["D"], cell.ports["Q"], strict=True):
            net: Net = d
            while net != q:
                found = drivers.get(net)
                if found is None or found[0].type != "$mux" or found[0].ports["S"][0] not in {*gates, reset}:
                    raise NotProvedError(f"a register does not hold while enable is low ({cell.source})", refuted=True)
                net = found[0].ports["A"][found[1]]


def _anded(netlist: Netlist, enable: Net) -> Iterator[Net]:
    """What is `enable` AND something."""
    for cell in netlist.cells:
        if cell.type in ("$logic_and", "$and") and (enable,) in (cell.ports["A"], cell.ports["B"]):
            yield cell.ports["Y"][0]
