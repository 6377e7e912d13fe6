"""Handshake: valid and data hold until ready, and valid never waits for ready. From any state, not only reachable ones.

A pipe's outputs are registers; they hold while `enable` is low (values.py), and the top makes enable low exactly while
a finished beat waits (wiring.py). A component with a handshake of its own is put into a state where every register is a
name of its own, only its valid is 1 and its ready 0: after the clock edge, valid must be 1 and the output must be what
it was, whatever the other inputs do.
"""

from __future__ import annotations

from mase_hw.hardware import Component, Pipe
from mase_hw.hardware.plumbing import Fifo
from mase_hw.prove.claims import NotProvedError
from mase_hw.prove.fifo import prove_fifo
from mase_hw.prove.names import Names, Value
from mase_hw.prove.netlist import Netlist
from mase_hw.prove.timing import combinational_cone


def prove_handshake(component: Component, netlist: Netlist) -> str:
    """How it was proved; raises where it was not."""
    held = {net for cell in netlist.cells if cell.type == "$dff" for net in cell.ports["Q"]}
    if isinstance(component, Pipe):
        for port in ("data_out_0", "data_out_0_valid"):
            if any(isinstance(net, int) and net not in held for net in netlist.ports[port]):
                raise NotProvedError(f"{port} does not come from registers", refuted=True)
        return "outputs are registers that hold while enable is low"
    ready, valid = netlist.ports["data_out_0_ready"][0], netlist.ports["data_out_0_valid"][0]
    if ready in combinational_cone(netlist, [valid]):
        raise NotProvedError("data_out_0_valid waits for data_out_0_ready", refuted=True)
    if isinstance(component, Fifo):
        return prove_fifo(component, netlist)
    _check_holds(netlist)
    return "from every state with valid high and ready low, valid and data are the same after the clock edge"


def _check_holds(netlist: Netlist) -> None:
    valid, data = netlist.ports["data_out_0_valid"], netlist.ports["data_out_0"]
    machine = Names(netlist)
    if not machine.assume(valid[0], 1):
        raise NotProvedError("data_out_0_valid is not a register: no induction is made for such a component")
    machine.set("rst", 0)
    machine.set("data_out_0_ready", 0)
    machine.settle()
    before: list[Value] = [machine.values[net] for net in data]
    machine.tick()
    machine.settle()
    if machine.values[valid[0]] != 1:
        raise NotProvedError("data_out_0_valid may fall before data_out_0_ready, from a state that may never be met")
    for k, (net, value) in enumerate(zip(data, before, strict=True)):
        if value is None or machine.values[net] != value:
            raise NotProvedError(f"bit {k} of data_out_0 may change before ready, from a state that may never be met")
