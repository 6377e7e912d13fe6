"""Replays: the inputs that reach the bounds of a sum are run on plain numbers, and the adder is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Component
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.netlist.driven import Driven
from mase_hw.prove.netlist.netlist import Cell, Netlist
from mase_hw.prove.words.sums import Sum
from mase_hw.prove.words.words import Words

VECTORS = 3  # the same one again and again: what is left of the one before it is no other
MAX_SAMPLES = 8192  # of one run
TRIED = 2046  # random inputs, besides the least and the greatest


@dataclass(frozen=True)
class Adder:
    """A cell, how many of its bits are built, and what they mean."""

    cell: Cell
    bits: int
    signed: bool  # as it is read
    again: bool  # whether it adds to its own sums


def replay(component: Component, netlist: Netlist, sums: Sequence[Sum], words: Words) -> list[Reached]:
    """What each adder was seen to hold; raises where one of them never holds what it should."""
    found: list[Reached] = []
    for first in range(0, len(sums), MAX_SAMPLES // 2):
        found += _replay(component, netlist, sums[first : first + MAX_SAMPLES // 2], words)
    return found


def _replay(component: Component, netlist: Netlist, sums: Sequence[Sum], words: Words) -> list[Reached]:
    inputs = [words.reaching(one.total) for one in sums]
    wanted = [bound for one in sums for bound in (one.total.lo, one.total.hi)]
    x = np.stack([vector for pair in inputs for vector in pair])
    run = Driven(component, netlist, np.stack([x] * VECTORS), np.random.default_rng(2))
    missing = set(range(len(wanted)))
    for _ in range(2 * (component.latency + VECTORS * component.interval)):
        if not missing:
            break
        run.settle()
        missing -= {n for n in missing if _holds(run, sums[n // 2], n, wanted[n])}
        run.tick()
    for n in sorted(missing):
        text = f"{sums[n // 2].cell.source}: a run on {x[n].tolist()} never gives the sum {wanted[n]}"
        raise NotProvedError(text)
    return [
        Reached(
            one.cell.source, one.cell.width("Y"), (one.total.lo, one.total.hi), (tuple(lo.tolist()), tuple(hi.tolist()))
        )
        for one, (lo, hi) in zip(sums, inputs, strict=True)
    ]


def _holds(run: Driven, one: Sum, sample: int, total: int) -> bool:
    """Whether an adder's output is this sum, as far as it has bits."""
    wires = run.machine.wires
    for k, net in enumerate(one.cell.ports["Y"][one.lift :]):
        wire = wires[net]
        if not isinstance(wire, int) or (wire >> sample) & 1 != (total >> (one.shift + k)) & 1:
            return False
    return True


def search(component: Component, netlist: Netlist, adders: Sequence[Adder]) -> list[Reached]:
    """For adders of a pipe whose sums are not affine: two inputs, of which one takes the highest bit."""
    if not adders:
        return []
    rng = np.random.default_rng(3)
    lo, hi = (np.asarray(side) for side in component.input.bounds)
    x = np.stack([lo, hi, *rng.integers(lo, hi + 1, (TRIED, len(lo)))])
    run = Driven(component, netlist, np.stack([x] * (component.latency + 1)), rng)
    for _ in range(component.latency):
        run.settle()
        run.tick()
    run.settle()
    found = []
    for adder in adders:
        numbers = np.array(run.machine.numbers(adder.cell.ports["Y"][: adder.bits]))
        if adder.signed:
            numbers = numbers - ((numbers >> (adder.bits - 1)) << adder.bits)
        least, greatest = int(numbers.argmin()), int(numbers.argmax())
        bounds = int(numbers[least]), int(numbers[greatest])
        if max(bounds[1], ~bounds[0]).bit_length() + adder.signed < adder.bits:
            raise NotProvedError(f"{adder.cell.source}: no input was found that takes all {adder.bits} bits")
        vectors = tuple(x[least].tolist()), tuple(x[greatest].tolist())
        found.append(Reached(adder.cell.source, adder.bits, bounds, vectors))
    return found
