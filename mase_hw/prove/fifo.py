"""A FIFO neither overflows nor underflows, and holds what it offers: gone through state by state.

The states are those with `write = read + count` and `count <= depth`, where reset starts. From each of them, with every
valid and ready, the next state is one of them again; so these are all that are ever met.
"""

from __future__ import annotations

import numpy as np

from mase_hw.hardware.plumbing import Fifo
from mase_hw.prove.claims import NotProvedError
from mase_hw.prove.machine import Machine
from mase_hw.prove.netlist import Netlist
from mase_hw.prove.words import UNKNOWN, Words

MAX_DEPTH = 64


def prove_fifo(component: Fifo, netlist: Netlist) -> str:
    """How it was proved; raises where it was not."""
    depth = component.depth
    if depth > MAX_DEPTH:
        raise NotProvedError(f"a FIFO of {depth} beats has too many states to go through (up to {MAX_DEPTH})")
    machine = Machine(netlist, Words(np.zeros(1, np.int64), np.ones(1, np.int64)))
    machine.set("clk", [0])
    machine.set("rst", [0])
    machine.set("data_in_0", [UNKNOWN] * component.input.width)
    for read in range(depth):
        for count in range(depth + 1):
            for inputs in range(4):
                _step(machine, depth, read, count, inputs & 1, inputs >> 1)
    return f"all {depth * (depth + 1)} states of its counters, with every valid and ready"


def _step(machine: Machine, depth: int, read: int, count: int, valid: int, ready: int) -> None:
    names = machine.netlist.names
    state = {"read_q": read, "write_q": (read + count) % depth, "count_q": count}
    for name, number in state.items():
        machine.values.update({net: (number >> k) & 1 for k, net in enumerate(names[name])})
    machine.set("data_in_0_valid", [valid])
    machine.set("data_out_0_ready", [ready])
    machine.settle()
    offers, takes = machine.get("data_out_0_valid") == [1], machine.get("data_in_0_ready") == [1]
    where = f"reading at {read} with {count} of {depth} beats"
    if offers != (count > 0) or takes != (count < depth):
        raise NotProvedError(f"valid or ready is wrong {where}", refuted=True)
    machine.tick()
    gone, come = int(offers and ready), int(takes and valid)
    wanted = {"read_q": (read + gone) % depth, "write_q": (read + count + come) % depth, "count_q": count + come - gone}
    for name, number in wanted.items():
        if machine.number(names[name]) != number:
            raise NotProvedError(f"{name} goes wrong {where}", refuted=True)
    # The beat at `read` waits: only the place at `write` is written, which is another one while a beat waits.
    if come and (read + count) % depth == read and count:
        raise NotProvedError(f"the beat that waits is overwritten {where}", refuted=True)
