"""What each layer of a graph may become: the operators' candidates, with the cycles that they allow."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mase_hw.config.hardware import HardwareSpec
from mase_hw.ops.choice import Choice
from mase_hw.ops.linear.space import SOLVED_WEIGHTS
from mase_hw.ops.operator import Site, Wish, operator_of


@dataclass(frozen=True)
class Candidate:
    """A choice and the cycles per vector that its components allow."""

    choice: Choice
    interval: int


def candidates(site: Site, spec: HardwareSpec, wish: Wish) -> list[Candidate]:
    """All choices for a layer that are fast enough; what `spec` fixes is fixed."""
    found = operator_of(site.layer.op).candidates(site, spec, wish)
    timed = (Candidate(choice, interval_of(site, choice)) for choice in found)
    return [candidate for candidate in timed if candidate.interval <= wish.slowest]


def interval_of(site: Site, choice: Choice) -> int:
    """Cycles per vector of the slowest of a layer's components, adapters and FIFO included."""
    operator, layer = operator_of(site.layer.op), site.layer
    lanes = operator.lanes(site, choice)[0] if len(site.inputs) > 1 else (choice.data_in_parallelism,)
    beats_in = max(features // p for features, p in zip(site.features, lanes, strict=True))
    beats = max(beats_in, layer.out_features // choice.data_out_parallelism)
    if choice.data_in_fifo_depth == 1 and len(site.inputs) == 1:
        beats = max(beats, 2 * beats_in)  # a FIFO of one beat takes every second cycle
    return max(beats, operator.cycles(site, choice))


def unsolved(sites: Iterable[Site], specs: Iterable[HardwareSpec]) -> list[str]:
    """Layers that are too large to be unrolled unless a user asks for it."""
    pairs = ((site.layer, spec) for site, spec in zip(sites, specs, strict=True))
    return [
        layer.name
        for layer, spec in pairs
        if operator_of(layer.op).matrix
        and spec.implementation == "auto"
        and layer.in_features * layer.out_features > SOLVED_WEIGHTS
    ]
