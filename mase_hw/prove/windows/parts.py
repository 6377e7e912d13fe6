"""What the proofs of all components share that keep positions of a frame: one memory, and data that are only moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import tainted
from mase_hw.prove.netlist.cones import Cones, grid
from mase_hw.prove.netlist.netlist import Cell, Netlist


def only_memory(netlist: Netlist, width: int) -> Cell:
    """The one memory of a netlist: one port that reads within a cycle, and one that writes whole words."""
    memories = [cell for cell in netlist.cells if cell.type == "$mem_v2"]
    if len(memories) != 1:
        raise NotProvedError(f"{len(memories)} memories where one is expected")
    wanted = {"WIDTH": width, "OFFSET": 0, "RD_PORTS": 1, "WR_PORTS": 1, "WR_CLK_ENABLE": 1}
    zero = ("RD_CLK_ENABLE", "RD_WIDE_CONTINUATION", "WR_WIDE_CONTINUATION")
    for name, number in {**wanted, **dict.fromkeys(zero, 0)}.items():
        if memories[0].parameters[name] != number:
            raise NotProvedError(f"{name} of the memory is {memories[0].parameters[name]}, not {number}")
    return memories[0]


def words_of(memory: Cell) -> int:
    """The words that can be addressed."""
    return int(min(memory.parameters["SIZE"], 1 << memory.parameters["ABITS"]))


def check_counter(cones: Cones, name: str, count: int, moves: Sequence[str]) -> None:
    """It counts `0 .. count - 1` and round again, while all of some nets are high; one that never moves may be 0."""
    if count == 1 and set(cones.named(name)) == {"0"}:
        return
    at, *high = grid(count, *map(cones.values, moves))
    given = {name: at, **dict(zip(moves, high, strict=True))}
    cones.check_register(name, 0, given, np.where(np.all([np.ones_like(at), *high], axis=0), (at + 1) % count, at))


def check_moved(netlist: Netlist) -> str:
    """Raises unless data pass through registers, memories and multiplexers alone."""
    data = tainted(netlist)
    for cell in netlist.cells:
        if cell.type not in ("$dff", "$mem_v2", "$mux") and data.intersection(cell.ports.get("Y", ())):
            raise NotProvedError(f"data passes through a {cell.type} ({cell.source})")
    return "there is no adder of data"
