"""Widths: every adder of data is wide enough for its exact sum, and not one bit wider.

That it is wide enough follows from the values. That it is not too wide is seen from the bounds of its sums, which some
input reaches, because they are affine. Adders that are one array, written once in a loop over lanes, have one width:
that of the widest of their sums, over all steps. Where sums are accumulated step by step, it is the accumulator that is
looked at: the widest of all. The highest bits of an adder that lead to no output are not built, and do not count.
"""

from __future__ import annotations

import re
from collections import defaultdict
from itertools import takewhile

from mase_hw.prove.claims import NotProvedError
from mase_hw.prove.netlist import Netlist
from mase_hw.prove.symbolic import Symbolic
from mase_hw.prove.timing import cone_of

_INDEX = re.compile(r"\[\d+\]|\$\d+$")  # the lane of a loop, the number that Yosys gives a cell


def prove_widths(symbolic: Symbolic, netlist: Netlist, *, accumulates: bool) -> str:
    """Looks at the sums of a run on exact words."""
    arrays: dict[tuple[str, str, int], int] = defaultdict(int)
    built = cone_of(netlist, netlist.ports["data_out_0"])
    for cell, total, width in symbolic.sums:
        bits = width - sum(1 for _ in takewhile(lambda net: net not in built, reversed(cell.ports["Y"])))
        key = (cell.source, _INDEX.sub("", cell.name), bits)
        signed = bool(cell.parameters.get("A_SIGNED"))
        arrays[key] = max(arrays[key], _needed(total.lo, total.hi, bits, signed))
    if accumulates and arrays:
        widest = max(arrays, key=lambda key: key[2])
        arrays = {widest: max(arrays.values())}
    for (source, _, bits), needed in arrays.items():
        if bits > needed:
            raise NotProvedError(f"{source}: {bits} bits for sums that need {needed}", refuted=not accumulates)
    what = "accumulators have" if accumulates else f"{len(arrays)} adders, or arrays of adders, have"
    return f"{what} no bit to spare"


def _needed(lo: int, hi: int, bits: int, signed: bool) -> int:
    """Bits of a number between these, known modulo 2**bits; of a signed one, with its sign."""
    found = []
    for turn in {lo >> bits, hi >> bits, (lo >> bits) + 1} if signed else {lo >> bits}:
        low, high = lo - (turn << bits), hi - (turn << bits)
        found.append(high.bit_length() if low >= 0 and not signed else max(high, ~low).bit_length() + 1)
    return min(found)
