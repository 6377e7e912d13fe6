"""What each layer of a graph may become: the operators' candidates, with the cycles that they allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from mase_hw.config.hardware import HardwareSpec
from mase_hw.ops.choice import Choice
from mase_hw.ops.linear.space import SOLVED_WEIGHTS
from mase_hw.ops.operator import Site, Wish, operator_of


@dataclass(frozen=True)
class Candidate:
    """A choice and the cycles per sample that its components allow."""

    choice: Choice
    interval: int


def candidates(site: Site, spec: HardwareSpec, wish: Wish) -> list[Candidate]:
    """All choices for a layer that are fast enough; what `spec` fixes is fixed."""
    of_vector = replace(wish, slowest=wish.slowest // prod(site.layer.out_frame))
    found = operator_of(site.layer.op).candidates(site, spec, of_vector)
    if wish.memories:
        operator = operator_of(site.layer.op)
        found = [replace(choice, block_ram=block) for choice in found for block in operator.memories(site, choice)]
    timed = (Candidate(choice, interval_of(site, choice)) for choice in found)
    return [candidate for candidate in timed if candidate.interval <= wish.slowest]


def interval_of(site: Site, choice: Choice) -> int:
    """Cycles per sample of the slowest of a layer's components, adapters and FIFO included."""
    operator, layer = operator_of(site.layer.op), site.layer
    lanes = operator.lanes(site, choice)[0] if len(site.inputs) > 1 else (choice.data_in_parallelism,)
    beats_in = max(x.positions * x.features // p for x, p in zip(site.inputs, lanes, strict=True))
    positions = prod(layer.out_frame)
    beats = max(beats_in, positions * layer.out_features // choice.data_out_parallelism)
    if choice.data_in_fifo_depth == 1 and len(site.inputs) == 1:
        beats = max(beats, 2 * beats_in)  # a FIFO of one beat takes every second cycle
    return max(beats, positions * operator.cycles(site, choice))


def unsolved(sites: Iterable[Site], specs: Iterable[HardwareSpec]) -> list[str]:
    """Layers that are too large to be unrolled unless a user asks for it."""
    pairs = ((site.layer, spec) for site, spec in zip(sites, specs, strict=True))
    return [
        layer.name
        for layer, spec in pairs
        if operator_of(layer.op).matrix
        and spec.implementation == "auto"
        and prod(operator_of(layer.op).sizes(layer)) > SOLVED_WEIGHTS
    ]
