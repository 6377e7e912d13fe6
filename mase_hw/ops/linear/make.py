"""linear: `acc_j = sum_i x_i * w_ji + b_j`, exact, then one requantize. Unrolled or folded."""

from __future__ import annotations

import numpy as np

from mase_hw.ir.finish import Result
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import align
from mase_hw.ops.linear.folded import LinearFolded, folded_linear
from mase_hw.ops.linear.unrolled import LinearUnrolled, unrolled

Linear = LinearFolded | LinearUnrolled


def linear(
    name: str,
    x: Stream,
    weight: Integers,
    bias: Integers | None,
    weight_fixed: Fixed,
    bias_fixed: Fixed | None,
    result: Result | None,
    *,
    out_lanes: int,
    folded: bool,
    array: tuple[int, int] | None = None,
    use_dsp: bool = False,
) -> Linear:
    """A linear layer on `x`; `weight` [out, in] and `bias` [out] are integers of the given types."""
    alignment = align(x.fixed, weight_fixed, bias_fixed)
    constant = np.zeros(len(weight), np.int64) if bias is None else bias << alignment.constant_shift
    if not folded:
        return unrolled(name, x, weight, constant, alignment, result)
    return folded_linear(
        name, x, weight, constant, alignment, result, out_lanes=out_lanes, array=array, use_dsp=use_dsp
    )
