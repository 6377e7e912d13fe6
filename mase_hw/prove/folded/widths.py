"""Widths of accumulators: as wide as the widest finished sum, which two inputs show, run step by step."""

from __future__ import annotations

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.claims.replay import Adder
from mase_hw.prove.claims.widths import looked_at
from mase_hw.prove.folded.rows import Array
from mase_hw.prove.netlist.netlist import Netlist


def prove_accumulators(
    netlist: Netlist, array: Array, factors: Integers, bounds: tuple[Integers, Integers], outputs: Integers
) -> tuple[str, tuple[Reached, ...]]:
    """`factors[output, input]`; `bounds` of what the accumulators hold; the output of each [block, lane]."""
    lanes = _accumulators(netlist, array)
    lo, hi = bounds
    needed = np.array([max(int(b), ~int(a), 1).bit_length() + 1 for a, b in zip(lo, hi, strict=True)])
    widest = int(np.lexsort((hi - lo, needed))[-1])
    (block, lane), *_ = np.argwhere(outputs == widest)
    adder = lanes[int(lane)]
    if adder.bits > needed[widest]:
        raise NotProvedError(f"{adder.cell.source}: {adder.bits} bits for sums that need {needed[widest]}")
    ends = np.asarray(array.component.input.bounds, np.int64)
    inputs = [np.where(factors[widest] * sign > 0, ends[1], ends[0]) for sign in (-1, 1)]
    sums = int(lo[widest]), int(hi[widest])
    for x, total in zip(inputs, sums, strict=True):
        array.check_reaches(int(block), int(lane), x, total)
    reached = Reached(adder.cell.source, adder.bits, sums, (tuple(inputs[0].tolist()), tuple(inputs[1].tolist())))
    text = "an array of accumulators: it holds both bounds of its widest sum, run step by step"
    return f"{text}, and has no bit to spare", (reached,)


def _accumulators(netlist: Netlist, array: Array) -> dict[int, Adder]:
    """The adders whose sums are rounded, by their output lane; raises where there are others."""
    adders = looked_at(netlist, accumulates=True)
    lanes = range(array.fold.p_out)
    found = {k: adder for k in lanes for adder in adders.values() if adder.cell.ports["Y"] == array.next(k)}
    if len(found) != len(adders) or len(found) != len(lanes):
        raise NotProvedError("it has adders that are no accumulators")
    return found
