"""Small designs that together use all of the language, and their files as `emit` writes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np
from branching import ALL, residual

from mase_hw.emit import render
from mase_hw.emit.axis import axis_top, render_axis
from mase_hw.ir import Component, Design, full_range
from mase_hw.ir.plumbing import Gather, Scatter
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.add import add
from mase_hw.ops.linear.make import linear

F6, F8 = Fixed(6, 3), Fixed(8, 4)
Files = dict[str, bytes]


def files_of(design: Design) -> tuple[Files, str]:
    """Every file of a build with an AXI4-Stream top, and that top's name."""
    texts = render(design) | render_axis(design)
    return {name: text.encode() for name, text in texts.items()}, axis_top(design).module


@cache
def joined_files() -> tuple[Files, str]:
    """A fork, two unrolled layers, a skid buffer, a FIFO and a join."""
    return files_of(residual())


@cache
def folded_files() -> tuple[Files, str]:
    """A folded layer behind an adapter, with tables, functions and memories."""
    return files_of(folded())


def folded(array: tuple[int, int] = (2, 3), lanes: int = 4, **more: object) -> Design:
    x = full_range("data_in_0", 4, lanes, F6)
    scattered = Scatter("parts", (x,), (x.with_lanes("parts_out", 2),))
    rng = np.random.default_rng(0)
    weight, bias = rng.integers(-20, 20, (3, 4)), rng.integers(-20, 20, 3)
    result = Result(F6, Rounding.HALF_EVEN)
    layer = linear("fc", scattered.output, weight, bias, F6, F6, result, folded=True, array=array, out_lanes=3, **more)  # type: ignore[arg-type]
    return _design("net", [scattered, layer])


def gathered() -> Design:
    x = full_range("data_in_0", 4, 1, F8)
    wide = Gather("words", (x,), (x.with_lanes("words_out", 4),))
    return _design("gathered", [wide])


def added() -> Design:
    """A difference of numbers with different binary points, one of them unsigned."""
    inputs = [full_range("data_in_0", 4, 2, F8), full_range("data_in_1", 4, 2, Fixed(5, 2, signed=False))]
    return _design("added", [add("difference", inputs, (1, -1), Result(F6, Rounding.HALF_EVEN))])


def _design(name: str, components: list[Component]) -> Design:
    last = components[-1]
    outputs = (last.output.renamed("data_out_0"),)
    design = Design(name, (*components[:-1], replace(last, outputs=outputs)))
    design.verify()
    return design


def small() -> Iterator[Design]:
    """Designs built by hand."""
    yield from (make() for make in ALL)
    yield from (folded(), gathered(), added())
