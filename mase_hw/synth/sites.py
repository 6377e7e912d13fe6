"""LUT sites of a mapped netlist: what its LUTs and its carry chains take on the chip.

On a Xilinx chip the input S of a carry cell comes from the LUT beside it. Where a LUT cell drives S, it is that LUT.
Where a register, a port, an inverter or another chain drives S, the LUT beside it is taken all the same, though Yosys
has no cell for it. A constant takes none. Bits above the last one that is used are left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mase_hw.synth.cells import kind_of

_CARRY = re.compile(r"CARRY[48]")  # other technologies have no carry cells whose S comes from a LUT cell


def bare_carries(module: Mapping[str, Any]) -> int:
    """Used inputs S of carry cells that neither a LUT nor a constant drives."""
    chains = [cell["connections"] for cell in module["cells"].values() if _CARRY.fullmatch(cell["type"])]
    if not chains:
        return 0
    luts, read = _driven_and_read(module)
    count = 0
    for wires in chains:
        pairs = zip(wires["O"], wires["CO"], strict=True)
        last = max((k for k, pair in enumerate(pairs) if not read.isdisjoint(pair)), default=-1)
        count += sum(not isinstance(bit, str) and bit not in luts for bit in wires["S"][: last + 1])
    return count


def _driven_and_read(module: Mapping[str, Any]) -> tuple[set[int], set[int | str]]:
    """Nets that LUTs drive, and nets that anything reads. Constants are texts."""
    luts: set[int] = set()
    read: set[int | str] = set()
    for cell in module["cells"].values():
        is_lut = kind_of(cell["type"]) == "lut"
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] != "output":
                read.update(bits)
            elif is_lut:
                luts.update(bits)
    for port in module["ports"].values():
        if port["direction"] == "output":
            read.update(port["bits"])
    return luts, read
