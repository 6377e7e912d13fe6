"""Replays: the inputs that reach the bounds of a sum are run on plain numbers, and the adder is looked at."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.ir import Component
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.netlist.driven import Driven
from mase_hw.prove.netlist.netlist import Cell, Netlist
from mase_hw.prove.words.sums import Sum
from mase_hw.prove.words.words import Words

VECTORS = 3  # the same one again and again: what is left of the one before it is no other
MAX_SAMPLES = 8192  # of one run
TRIED = 2046  # random inputs, besides the least and the greatest
_INDEX = re.compile(r"\[\d+\]|\$\d+$")  # the lane of a loop, the number that Yosys gives a cell


@dataclass(frozen=True)
class Adder:
    """A cell, how many of its bits are built, and what they mean."""

    cell: Cell
    bits: int
    signed: bool  # as it is read
    again: bool  # whether it adds to its own sums
    alone: bool = False  # what reads it has zeros above it: it is the sum itself, and not known modulo its bits

    @property
    def array(self) -> tuple[str, str, int]:
        """The same for adders that are written once, in a loop over lanes."""
        return self.cell.source, _INDEX.sub("", self.cell.name), self.bits


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
    beats = component.input.beats
    run = Driven(component, netlist, np.stack([x] * (component.latency // beats + 2)), rng)
    held: list[list[Integers]] = [[] for _ in adders]  # in each cycle, while every beat passes every stage
    for cycle in range(component.latency + beats):
        run.settle()
        if cycle >= component.latency:  # nothing from before the reset is left
            for adder, numbers in zip(adders, held, strict=True):
                numbers.append(_numbers(run, adder))
        run.tick()
    found: dict[tuple[str, str, int], tuple[int, Reached]] = {}  # the furthest of each array
    for adder, numbers in zip(adders, held, strict=True):
        each = np.stack(numbers)
        least, greatest = int(each.min(axis=0).argmin()), int(each.max(axis=0).argmax())
        bounds = int(each.min()), int(each.max())
        needed = max(bounds[1], ~bounds[0]).bit_length() + adder.signed
        vectors = tuple(x[least].tolist()), tuple(x[greatest].tolist())
        reached = Reached(adder.cell.source, adder.bits, bounds, vectors)
        if adder.array not in found or found[adder.array][0] < needed:
            found[adder.array] = needed, reached
    for needed, reached in found.values():
        if needed < reached.bits:
            raise NotProvedError(f"{reached.source}: no input was found that takes all {reached.bits} bits")
    return [reached for _, reached in found.values()]


def _numbers(run: Driven, adder: Adder) -> Integers:
    """What an adder holds, in every sample."""
    numbers = np.array(run.machine.numbers(adder.cell.ports["Y"][: adder.bits]))
    return numbers - ((numbers >> (adder.bits - 1)) << adder.bits) if adder.signed else numbers
