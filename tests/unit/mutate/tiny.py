"""Designs of one component that build and prove in a second."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mase_hw.ir import Component, Design, full_range
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.linear.make import linear

F4 = Fixed(4, 2)


def gather() -> Design:
    x = full_range("data_in_0", 4, 2, F4)
    return _design(Gather("gather", (x,), (x.with_lanes("out", 4),)))


def positive() -> Design:
    """A gather whose inputs are never negative."""
    x = full_range("data_in_0", 4, 2, F4)
    known = replace(x, lo=(0,) * 4)
    return _design(Gather("gather", (known,), (known.with_lanes("out", 4),)))


def skid() -> Design:
    x = full_range("data_in_0", 4, 2, F4)
    return _design(SkidBuffer("skid", (x,), (x.renamed("out"),)))


def scatter() -> Design:
    x = full_range("data_in_0", 4, 4, F4)
    return _design(Scatter("scatter", (x,), (x.with_lanes("out", 2),)))


def fifo() -> Design:
    x = full_range("data_in_0", 4, 2, F4)
    return _design(Fifo("fifo", (x,), (x.renamed("out"),), 3))


def pipe() -> Design:
    """Two unrolled rows with rounding and clamping."""
    x = full_range("data_in_0", 2, 2, F4)
    weight, bias = np.array([[3, -5], [2, 7]]), np.array([1, -3])
    result = Result(F4, Rounding.HALF_EVEN)
    return _design(linear("fc", x, weight, bias, F4, F4, result, out_lanes=2, folded=False))


def _design(component: Component) -> Design:
    last = replace(component, outputs=(component.output.renamed("data_out_0"),))
    design = Design("net", (last,))
    design.verify()
    return design
