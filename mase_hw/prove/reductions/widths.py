"""Widths of a reduction: what its adders hold where its sums are least and greatest takes their highest bits.

That they are wide enough is part of the values. The least sum is reached by the least elements, and the greatest by the
greatest. The accumulator is run on the last step to either, and what is behind it on both, and on every sum at which
the result changes. Of the inputs that are listed, every element is the one number that is given.
"""

from __future__ import annotations

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.claims.replay import Adder
from mase_hw.prove.claims.widths import looked_at
from mase_hw.prove.netlist.cones import Given
from mase_hw.prove.reductions.lanes import Lanes


def prove_reduced_widths(lanes: Lanes, taps: int) -> tuple[str, tuple[Reached, ...]]:
    """How it was proved, and what the adders were seen to hold."""
    arrays: dict[tuple[str, str, int], tuple[int, Reached]] = {}
    for adder in looked_at(lanes.cones.netlist, accumulates=False).values():
        lane, given, samples = _asked(lanes, adder, taps)
        held = _signed(adder, lanes.cones.numbers(adder.cell.ports["Y"][: adder.bits], given, samples, "a sum"))
        least, most = int(held.min()), int(held.max())
        needed = max(max(most, ~least).bit_length() + 1, 2) if adder.signed else most.bit_length()
        ends = tuple(lanes.bounds[lane])
        found = needed, Reached(adder.cell.source, adder.bits, (least, most), ((ends[0],), (ends[1],)))
        arrays[adder.array] = max(arrays.get(adder.array, found), found, key=lambda one: one[0])
    for needed, reached in arrays.values():
        if needed < reached.bits:
            raise NotProvedError(f"{reached.source}: {reached.bits} bits for sums that need {needed}")
    if not arrays:
        return "there is no adder of data", ()
    text = f"{len(arrays)} adders, or arrays of adders: each takes its highest bit where the sum is least or greatest"
    return text, tuple(reached for _, reached in sorted(arrays.values(), key=lambda one: -one[1].bits))


def _asked(lanes: Lanes, adder: Adder, taps: int) -> tuple[int, Given, int]:
    """The lane that an adder is of, and what it is run on."""
    support = set().union(*(lanes.cones.support(net) for net in adder.cell.ports["Y"]))
    for lane, ends in enumerate(lanes.bounds):
        x, acc = lanes.of(lanes.entering, lane), lanes.of(lanes.acc, lane)
        if support & set(x):
            comes = np.array(ends)
            first = 1 if taps == 1 else 0
            return lane, {acc: (taps - 1) * comes, x: comes, "first": first}, 2
        if lanes.finished and support & set(lanes.of(lanes.finished, lane)):
            assert lanes.finish is not None
            numbers = np.unique([lanes.finish.lo, lanes.finish.hi, *lanes.asked])
            return lane, {lanes.of(lanes.finished, lane): numbers}, len(numbers)
    raise NotProvedError(f"{adder.cell.source}: an adder of something else than a lane")


def _signed(adder: Adder, numbers: Integers) -> Integers:
    return numbers - ((numbers >> (adder.bits - 1)) << adder.bits) if adder.signed else numbers
