"""How much a netlist is, in gates on single bits: what is more than any design of ours is refused before it is run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError

MAX_GATES = 1 << 26  # of all modules together
MAX_TEXT = 1 << 30  # bytes of Yosys' netlist
WRITTEN = 16  # a bit that is written is a state of its own
_PRODUCTS = ("$mul", "$macc", "$macc_v2")
_SHIFTS = ("$shl", "$shr", "$sshl", "$sshr", "$shift", "$shiftx")


def check_work(modules: Mapping[str, Any], top: str) -> None:
    """A Problem where the gates of all modules are more than can be gone through."""
    total = 0
    for module in modules.values():
        for cell in module["cells"].values():
            total += gates_of(cell)
            if total > MAX_GATES:
                text = f"the RTL of {top} has more than {MAX_GATES:,} gates"
                raise ProblemsError(Problem(text, hint="no design that is emitted has so many"))


def gates_of(cell: Mapping[str, Any]) -> int:
    """About how many gates a cell is made of; of a table, its bits; of a memory, some for each."""
    widths = {port: len(nets) for port, nets in cell["connections"].items()}
    kind: str = cell["type"]
    if kind in _PRODUCTS:
        return widths.get("A", 1) * widths.get("B", 1)
    if kind in _SHIFTS:
        return max(widths.values()) * widths.get("B", 1)
    if kind == "$mem_v2":
        rows, width, written = (int(cell["parameters"][key], 2) for key in ("SIZE", "WIDTH", "WR_PORTS"))
        return rows * width * (WRITTEN if written else 1) + sum(widths.values())
    return max(widths.values(), default=0)
