"""Requantize where little is left of a number: every small range, rounded by both rules, saturated or not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from together import assert_all_equal

from mase_hw.ir import Design, Stream
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.affine import align
from mase_hw.ops.linear.unrolled import unrolled

RANGES = [(lo, hi) for lo in range(-9, 8) for hi in range(lo, 8, 3)]
X, ONE = Fixed(5, 3), Fixed(2, 0)


@pytest.mark.slow
@pytest.mark.parametrize("rounding", list(Rounding))
def test_every_small_range(rounding: Rounding, tmp_path: Path) -> None:
    """A lane for each range; each has a requantize made for it, of which some never change."""
    lo, hi = (tuple(side) for side in zip(*RANGES, strict=True))
    x = Stream("data_in_0", len(RANGES), len(RANGES), X, lo, hi)
    weights, bias = np.eye(len(RANGES), dtype=np.int64), np.zeros(len(RANGES), np.int64)
    designs = {}
    for result in (Fixed(6, 2), Fixed(6, 1), Fixed(3, 0), Fixed(2, 1, signed=False)):
        layer = unrolled("fc", x, weights, bias, align(X, ONE, None), Result(result, rounding))
        designs[str(result)] = Design("dut", (replace(layer, outputs=(layer.output.renamed("data_out_0"),)),))
    assert_all_equal(designs, tmp_path, count=24)
