"""The type of a result that several layers read, each with a type of its own."""

from __future__ import annotations

from dataclasses import replace

import pytest
from layer_graphs import linear

from mase_hw.config.quantize import QuantSpec
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer, LayerGraph, ModelInput
from mase_hw.lowering.types import types_of
from mase_hw.numerics import Fixed, Rounding

EVEN, FLOOR = Rounding.HALF_EVEN, Rounding.FLOOR
WEIGHT = Fixed(5, 2)


def reader(name: str, fixed: Fixed, rounding: Rounding) -> Layer:
    return replace(linear(name, "fc", 4, 2), spec=QuantSpec(rounding, fixed, WEIGHT, WEIGHT, None))


def type_of(a: Layer, b: Layer, *more: str) -> Result | None:
    """Of what `fc` gives, which both read, and the model too if it is named."""
    graph = LayerGraph((ModelInput("x", (4,)),), (linear("fc", "x", 4, 4), a, b), ("a", "b", *more))
    return types_of(graph).results["fc"]


def test_one_type_for_both() -> None:
    assert type_of(reader("a", Fixed(6, 3), EVEN), reader("b", Fixed(6, 3), EVEN)) == Result(Fixed(6, 3), EVEN)


@pytest.mark.parametrize(
    ("one", "other", "holds"),
    [
        (Fixed(6, 3), Fixed(9, 3), Fixed(9, 3)),
        (Fixed(6, 3, signed=False), Fixed(6, 3), Fixed(7, 3)),
        (Fixed(4, 3, signed=False), Fixed(6, 3, signed=False), Fixed(6, 3, signed=False)),
    ],
)
def test_at_one_binary_point_a_type_that_holds_both(one: Fixed, other: Fixed, holds: Fixed) -> None:
    """In either order: the second time only clamps."""
    for first, second in ((one, other), (other, one)):
        assert type_of(reader("a", first, FLOOR), reader("b", second, FLOOR)) == Result(holds, FLOOR)


def test_else_the_exact_result_goes_to_both() -> None:
    """To round twice would not give what each reader asks for."""
    assert type_of(reader("a", Fixed(6, 3), EVEN), reader("b", Fixed(6, 2), EVEN)) is None
    assert type_of(reader("a", Fixed(6, 3), EVEN), reader("b", Fixed(6, 3), FLOOR)) is None
    assert type_of(reader("a", Fixed(6, 3), EVEN), reader("b", Fixed(6, 3), EVEN), "fc") is None
