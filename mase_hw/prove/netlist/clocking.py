"""What every argument takes for granted: one clock, and no loop without a register."""

from __future__ import annotations

from graphlib import CycleError

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist
from mase_hw.prove.words.machine import Memory, order

_CLOCKS = ("CLK", "RD_CLK", "WR_CLK")


def check_clocked(netlist: Netlist) -> None:
    """Raises where a netlist is not what its cells are taken for, cycle by cycle."""
    clock = netlist.ports["clk"][0]
    for cell in netlist.cells:
        if cell.type == "$dff":
            _check_edges(cell, clock, "CLK", cell.ports["CLK"], cell.parameters["CLK_POLARITY"])
        elif cell.type == "$mem_v2":
            _check_written(cell, clock)
        elif cell.type != "$scopeinfo" and "Y" not in cell.ports:  # a latch, a register with an asynchronous reset
            raise NotProvedError(f"a cell of kind {cell.type} is not understood ({cell.source})")
        if any(clock in nets for port, nets in cell.ports.items() if port not in _CLOCKS):
            raise NotProvedError(f"the clock is used as data ({cell.source})")
    if any(clock in nets for port, nets in netlist.ports.items() if port != "clk"):
        raise NotProvedError("the clock is used as data")
    try:
        order(netlist, [Memory(cell) for cell in netlist.cells if cell.type == "$mem_v2"])
    except CycleError as error:
        raise NotProvedError(f"{len(error.args[1]) - 1} cells form a loop without a register") from error


def _check_written(cell: Cell, clock: Net) -> None:
    ports = cell.parameters["WR_PORTS"]
    if not ports:
        return
    if cell.parameters["WR_CLK_ENABLE"] != (1 << ports) - 1:
        raise NotProvedError(f"a memory is written without a clock ({cell.source})")
    _check_edges(cell, clock, "WR_CLK", cell.ports["WR_CLK"], cell.parameters["WR_CLK_POLARITY"])


def _check_edges(cell: Cell, clock: Net, port: str, nets: tuple[Net, ...], rising: int) -> None:
    if set(nets) != {clock} or rising != (1 << len(nets)) - 1:
        raise NotProvedError(f"{port} of a register or memory is not the rising edge of clk ({cell.source})")
