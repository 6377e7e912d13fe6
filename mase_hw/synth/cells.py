"""What kind of resource a cell of a mapped netlist is, and which of its inputs its outputs depend on at once."""

from __future__ import annotations

import re
from collections.abc import Mapping

KINDS = ("lut", "lutram", "ff", "carry", "dsp", "bram")  # as in Cost; every other cell is shown by its name

_PATTERNS = {
    "lut": r"LUT[1-6]|SB_LUT4|\$lut",
    "lutram": r"RAM(16|32|64|128|256|512)[XM]\w*|SRL(16|C16|C32)E?|(TRELLIS_)?DPR16X4\w*",
    "ff": r"FD[RSCP]E(_1)?|LD[CP]E(_1)?|TRELLIS_FF|SB_DFF\w*|\$_(S|AL)?DFF\w*_|\$_FF_|\$_DLATCH\w*_|\$_SR_\w+_",
    "carry": r"CARRY[48]|CCU2C|SB_CARRY",
    "dsp": r"DSP48E[12]|MULT(9X9|18X18)[CD]|ALU(24|54)[AB]|SB_MAC16",
    "bram": r"RAMB(18|36)E[12]|DP16KD|PDPW16KD|SB_RAM(40_4K\w*|256x16\w*)|SB_SPRAM256KA",
}
_KNOWN = {kind: re.compile(pattern) for kind, pattern in _PATTERNS.items()}
_WIRES = re.compile(r"BUFGP?|BUFGCTRL|BUFHCE|SB_GB|DCCA")  # clock buffers: no level of logic
_DOUBLE = re.compile(r"RAMB36E[12]")  # a RAMB36 counts as two RAMB18
_READ_ADDRESS = re.compile(r"A\d*|ADDR[A-Z]|DPRA\d*|RAD")
_CARRY_IN = ("CI", "CIN")
_CARRY_OUT = ("CO", "COUT")
_DSP_REGISTERS = ("AREG", "BREG", "MREG", "PREG", "A_REG", "B_REG", "PIPELINE_16x16_MULT_REG2")


def kind_of(cell: str) -> str | None:
    """The kind of a cell type; None where it is none of `KINDS`."""
    return next((kind for kind, pattern in _KNOWN.items() if pattern.fullmatch(cell)), None)


def units(cell: str) -> int:
    """What one cell counts as, of its kind."""
    return 2 if _DOUBLE.fullmatch(cell) else 1


def level(cell: str) -> int:
    """The levels of logic that a signal passes in the cell."""
    return 0 if _WIRES.fullmatch(cell) else 1


def is_carry(cell: str) -> bool:
    return kind_of(cell) == "carry"


def cascades(source: str, sink: str) -> bool:
    """Whether a carry goes on in the same chain, from output `source` of one carry cell to input `sink` of the next."""
    return source in _CARRY_OUT and sink in _CARRY_IN


def passes(cell: str, parameters: Mapping[str, str], port: str) -> bool:
    """Whether a change at the input `port` reaches the outputs without a clock edge."""
    kind = kind_of(cell)
    if kind in ("ff", "bram"):
        return False
    if kind == "lutram":  # written at the clock's edge, read at once
        return bool(_READ_ADDRESS.fullmatch(port))
    if kind == "dsp":  # its inner registers cut the path, wherever they are
        registered = any(set(parameters.get(name, "0")) - {"0"} for name in _DSP_REGISTERS)
        return not registered and parameters.get("BOTOUTPUT_SELECT") != "01"  # SB_MAC16's output register
    return True


def reaches(cell: str, port: str, sink: int, source: int) -> bool:
    """Whether bit `sink` of the input `port` can change bit `source` of an output: carries run upwards only."""
    return port not in ("S", "DI") or not is_carry(cell) or sink <= source
