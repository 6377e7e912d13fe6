"""Numbers as SystemVerilog text."""

from __future__ import annotations

import pytest

from mase_hw.emit.filters import constant, index_width, parameter, word
from mase_hw.ir.finish import Long


@pytest.mark.parametrize(
    ("value", "width", "text"),
    [(5, 8, "8'sd5"), (-5, 8, "-8'sd5"), (-128, 8, "8'sh80"), (0, 2, "2'sd0"), (127, 8, "8'sd127")],
)
def test_constant(value: int, width: int, text: str) -> None:
    assert constant(value, width) == text


@pytest.mark.parametrize("value", [128, -129])
def test_a_constant_that_does_not_fit_is_our_bug(value: int) -> None:
    with pytest.raises(AssertionError, match="does not fit 8 signed bits"):
        constant(value, 8)


def test_word_has_its_first_element_lowest() -> None:
    assert word([1, -1, 2], 4) == "12'h2f1"
    assert word([-1], 3) == "3'h7"
    with pytest.raises(AssertionError, match="does not fit 4 signed bits"):
        word([8], 4)


@pytest.mark.parametrize(("count", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (16, 4), (17, 5)])
def test_index_width(count: int, bits: int) -> None:
    assert index_width(count) == bits


def test_parameter() -> None:
    assert (parameter(True), parameter(False), parameter(-3)) == ("1'b1", "1'b0", "-3")
    assert parameter(Long(-3)) == "-64'sd3"
