"""The ranges that the proofs count on: what comes in has its type's whole range, and what goes out stays in its own."""

from __future__ import annotations

from mase_hw.ir import Component, Design, full_range
from mase_hw.ops.affine import matrix_bounds
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.reference import rows_of


def check_input(design: Design) -> None:
    """Raises where some input of the design is left out."""
    x = design.input
    if x != full_range(x.name, x.features, x.lanes, x.fixed):
        raise NotProvedError(f"{x.name} is taken for less than all numbers of its type")


def check_bounds(component: Component) -> None:
    """Raises where an output leaves the bounds that the next component counts on: rounding and clamping keep order."""
    ends = matrix_bounds(component.input, *rows_of(component))
    step = component.finish
    if step is not None:
        if ends[0].min() < step.lo or ends[1].max() > step.hi:
            text = f"the exact sums reach from {ends[0].min()} to {ends[1].max()}, not from {step.lo} to {step.hi}"
            raise NotProvedError(text)
        ends = step.execute(ends[0]), step.execute(ends[1])
    lo, hi = component.output.bounds
    for k in range(len(lo)):
        if ends[0][k] < lo[k] or ends[1][k] > hi[k]:
            name = f"{component.output.name}[{k}]"
            raise NotProvedError(f"{name} is taken for {lo[k]} to {hi[k]} and reaches {ends[0][k]} to {ends[1][k]}")
