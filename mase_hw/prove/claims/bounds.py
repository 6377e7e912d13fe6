"""The ranges that the proofs count on: what comes in has its type's whole range, and what goes out stays in its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.ir.meaning import Most, Move, Repeated, Steps, Table, Weighted, Windows
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import matrix_bounds
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.words.reference import rows_of


def check_input(design: Design) -> None:
    """Raises where some input of the design is left out."""
    for x in design.inputs:
        if x != full_range(x.name, x.features, x.lanes, x.fixed, x.frame):
            raise NotProvedError(f"{x.name} is taken for less than all numbers of its type")


def check_bounds(component: Component) -> None:
    """Raises where an output leaves the bounds that the next component counts on: rounding and clamping keep order."""
    meaning = component.meaning()
    if isinstance(meaning, Move):
        for y, elements in zip(component.outputs, meaning.sources, strict=True):
            sources = [(component.inputs[port].lo[k], component.inputs[port].hi[k]) for port, k in elements]
            _check_within(y, [lo for lo, _ in sources], [hi for _, hi in sources])
        return
    if isinstance(meaning, Repeated):
        _check_within(component.output, component.input.lo, component.input.hi)
        return
    if isinstance(meaning, Windows):
        _check_windows(component, meaning)
        return
    if isinstance(meaning, Table):
        _check_within(component.output, [int(v.min()) for v in meaning.values], [int(v.max()) for v in meaning.values])
        return
    if isinstance(meaning, Steps):
        reached = [meaning.ends(element) for element in range(len(meaning.limits))]
        _check_within(component.output, [lo for lo, _ in reached], [hi for _, hi in reached])
        return
    if isinstance(meaning, Most | Weighted):
        ends = _reduced(component, meaning)
    else:
        ends = matrix_bounds(component.input, *rows_of(component))
    step = component.finish
    if step is not None:
        if ends[0].min() < step.lo or ends[1].max() > step.hi:
            text = f"the exact sums reach from {ends[0].min()} to {ends[1].max()}, not from {step.lo} to {step.hi}"
            raise NotProvedError(text)
        ends = step.execute(ends[0]), step.execute(ends[1])
    _check_within(component.output, ends[0].tolist(), ends[1].tolist())


def _reduced(component: Component, meaning: Most | Weighted) -> tuple[Integers, Integers]:
    """The largest, or the sum, over elements that are each within their own bounds."""
    if isinstance(meaning, Most):
        shape = meaning.blocks, meaning.taps, meaning.lanes
    else:
        blocks, taps, lanes = meaning.factors.shape
        shape = blocks, taps, lanes
    lo, hi = (np.resize(side, shape) for side in component.input.bounds)  # repeated, vector by vector
    if isinstance(meaning, Most):
        return lo.max(1).ravel(), hi.max(1).ravel()
    sides = meaning.factors * lo, meaning.factors * hi
    least, most = (side(*sides).sum(1).ravel() + meaning.constants for side in (np.minimum, np.maximum))
    return np.asarray(least), np.asarray(most)


def _check_windows(component: Component, meaning: Windows) -> None:
    """Under a tap lies any position of the frame, or padding, if that is so at some window."""
    x, group = component.input, meaning.group or component.input.features
    lo, hi = [], []
    for padded in meaning.geometry.padded_taps:
        more = (meaning.fill,) if padded else ()
        lo += [min((*x.lo[k::group], *more)) for k in range(group)]
        hi += [max((*x.hi[k::group], *more)) for k in range(group)]
    _check_within(component.output, lo, hi)


def _check_within(y: Stream, lo: Sequence[int], hi: Sequence[int]) -> None:
    for k, (least, most) in enumerate(zip(lo, hi, strict=True)):
        if least < y.lo[k] or most > y.hi[k]:
            text = f"{y.name}[{k}] is taken for {y.lo[k]} to {y.hi[k]} and reaches {least} to {most}"
            raise NotProvedError(text)
