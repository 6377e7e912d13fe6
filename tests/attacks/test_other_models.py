"""Builds of another model that name the user's own: their RTL is right for what they say, so `model` alone tells.

Each is a design that its verifier accepts. Emitted, it is proved by all other claims, as any design is.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest

from mase_hw.cost.cost import Cost
from mase_hw.emit import Reals
from mase_hw.geometry import Geometry
from mase_hw.ir import Component, Design, Instance, Pipe, Stream, full_range
from mase_hw.ir.finish import Result
from mase_hw.ir.meaning import Meaning, Move, Table
from mase_hw.ir.plumbing import Scatter, SkidBuffer
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops import cast
from mase_hw.ops.add import add
from mase_hw.ops.affine import align
from mase_hw.ops.window import depthwise, reduce_most, reduce_sum, upsample, window
from mase_hw.prove.claims.model import claim_model

F4 = Fixed(4, 2)
RESULT = Result(F4, Rounding.HALF_EVEN)
POOL = Geometry.of((4, 4), (2, 2), (2, 2))


def designed(*components: Component, fixed: Fixed | None = None) -> Design:
    """A design of these, the last of which gives the output; `fixed`: behind a register that hands it on as this."""
    last = components[-1]
    if fixed is None:
        ends: tuple[Component, ...] = (replace(last, outputs=(last.output.renamed("data_out_0"),)),)
    else:
        ends = last, SkidBuffer("end", last.outputs, (replace(last.output, name="data_out_0", fixed=fixed),))
    design = Design("net", (*components[:-1], *ends))
    design.verify()
    return design


def pool(channels: int, kind: Callable[[str, Stream], Component], *, split: bool = False) -> Design:
    """A pool. `split`: its windows are cut into half as many lanes, so that it mixes channels and leaves out taps."""
    x = full_range("data_in_0", channels, channels, F4, (4, 4))
    taken = window("window", x, POOL, grouped=True)
    if not split:
        return designed(taken, kind("pool", taken.output))
    cut = Scatter("cut", taken.outputs, (taken.output.with_lanes("cut_out", channels // 2),))
    held = SkidBuffer("held", cut.outputs, (cut.output.renamed("held_out"),))
    return designed(taken, cut, held, kind("pool", held.output.viewed((2, 2, 2))))


def weighted(name: str, x: Stream) -> Component:
    matrix, bias = np.arange(8).reshape(2, 4), np.zeros(2, np.int64)
    return depthwise(name, x, matrix, bias, align(x.fixed, F4, None), RESULT)


def summed(*signs: int) -> Design:
    streams = [full_range(f"data_in_{k}", 2, 2, F4) for k in range(len(signs))]
    return designed(add("sum", streams, signs, RESULT))


@dataclass(frozen=True, eq=False)
class Own(Pipe):
    """An operator of somebody's own: a table, or the elements themselves."""

    latency = 1
    table: Integers | None = None

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)

    def meaning(self) -> Meaning:
        x = self.input
        if self.table is None:
            return Move.copies(x.features)
        return Table(tuple(range(x.features)), x.lo, (self.table,) * x.features)

    def instance(self) -> Instance:
        raise AssertionError("it is not emitted")

    def cost(self) -> Cost:
        raise AssertionError("it is not emitted")


def own(table: Integers | None) -> Design:
    x = full_range("data_in_0", 2, 2, F4)
    return designed(Own("own", (x,), (x.renamed("own_out"),), table))


def casted(frac: int = 1, fixed: Fixed | None = None, rows: int = 2) -> Design:
    x = full_range("data_in_0", 4, 4, F4, (rows, 4 // rows))
    return designed(cast("cast", x, Result(Fixed(4, frac), Rounding.FLOOR)), fixed=fixed)


def enlarged(*factors: int) -> Design:
    return designed(upsample("up", full_range("data_in_0", 2, 1, F4, (2, 2)), factors))


AVERAGE = partial(reduce_sum, result=RESULT, divisor=4)
NUMBERS = np.arange(F4.lo, F4.hi + 1)
MODELS: dict[str, tuple[Design, Design, str]] = {  # of the user, of the build, and what is said
    "a table with other values": (own(NUMBERS), own(np.minimum(NUMBERS, 6)), r"values 0 \[15\] is 6, and not 7"),
    "something else than a table": (own(NUMBERS), own(None), "it means a Move, and not a Table"),
    "the largest of half the taps of two channels": (
        pool(2, reduce_most), pool(2, reduce_most, split=True), r"pool: data_in is 2 x 2 x 2 x 4 x fixed"),
    "the average of half the taps of two channels": (
        pool(2, AVERAGE), pool(2, AVERAGE, split=True), r"pool: data_in is 2 x 2 x 2 x 4 x fixed"),
    "weights on half the taps of two channels": (
        pool(2, weighted), pool(2, weighted, split=True), r"pool: data_in is 2 x 2 x 2 x 4 x fixed"),
    "a sum of more": (summed(1, 1), summed(1, 1, 1), "sum: it reads data_in_0, data_in_1, data_in_2, and not data_in"),
    "a difference": (summed(1, 1), summed(1, -1), r"sum: factors 1 \[0, 0\] is -1, and not 1"),
    "a result that is handed on as another type": (
        casted(), casted(fixed=Fixed(4, 3)), r"its outputs are .* fixed\(4, 3\), and not .* fixed\(4, 1\)"),
    "another frame": (casted(), casted(rows=4), "data_in is 4 x 1 x 4 x .*, and not 2 x 2 x 4 x"),
    "enlarged the other way": (enlarged(1, 2), enlarged(2, 1), "up: data_out is 4 x 2 x 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
def test_another_model_is_false(name: str) -> None:
    honest, other, says = MODELS[name]
    for design in (honest, other):
        assert claim_model(design, design, "model.toml").status == "proved"
    found = claim_model(other, honest, "model.toml")
    assert found.status == "refuted"
    assert re.search(says, found.detail), found.detail
    assert claim_model(honest, other, "model.toml").status == "refuted"


ORDER = (1, 0, 2)
REALS = {
    "rounding": (Reals((Rounding.FLOOR,)), "its inputs are rounded as integer_floor, and not integer"),
    "input": (Reals(input_orders=(ORDER,)), "input_orders are not those of the model"),
    "output": (Reals(output_orders=(ORDER,)), "output_orders are not those of the model"),
}


@pytest.mark.parametrize("name", REALS)
def test_other_real_numbers_are_false(name: str) -> None:
    """Nothing of the RTL is another; who feeds it by the manifest is told wrong."""
    design, (reals, says) = casted(), REALS[name]
    found = claim_model(design, design, "model.toml", (reals, Reals()))
    assert found.status == "refuted"
    assert says in found.detail


def test_an_order_that_changes_nothing_is_none() -> None:
    design, same = casted(), Reals(input_orders=((0, 1, 2),))
    assert claim_model(design, design, "model.toml", (same, Reals())).status == "proved"
