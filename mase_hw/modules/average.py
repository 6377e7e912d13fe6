"""Averages over windows: the exact sum, divided once.

The quotient of two integers is no number of a fixed-point type, but it rounds to one as the exact fraction does: with
sums below 2**52, float64's nearest number lies on the same side of every tie and of every integer.
"""

from __future__ import annotations

from math import prod

import torch
import torch.nn.functional as F
from torch import Tensor

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.geometry import Frame
from mase_hw.modules.exact import Accumulator
from mase_hw.numerics import MAX_ACCUMULATOR_BITS
from mase_hw.ops.window_options import WindowOptions

MAX_SUM_BITS = MAX_ACCUMULATOR_BITS - 1  # a bit is left, so that the quotient rounds as the fraction


def average(x: Tensor, options: WindowOptions) -> Tensor:
    """[..., channels, *frame] to [..., channels, *out_frame], in float64. Gradients pass through."""
    rank = len(options.kernel)
    frame = tuple(x.shape[-rank:])
    geometry, lead = options.geometry(frame), x.shape[:-rank]
    pads = [side for before_after in reversed(geometry.plane.padding) for side in before_after]
    plane = F.pad(x.double().reshape(-1, 1, *geometry.plane.frame), pads)
    sums = F.avg_pool2d(plane, geometry.plane.kernel, geometry.plane.stride, divisor_override=1)
    divisors = torch.from_numpy(options.divisors(frame)).to(x.device)
    return sums.reshape(*lead, *geometry.out_frame) / divisors.reshape(geometry.out_frame)


def averaged(label: str, options: WindowOptions, frame: Frame, read: Accumulator) -> Accumulator | None:
    """The averages as integers in units of a power of two; None where a divisor is none.

    A sum that float64 cannot hold is a Problem.
    """
    taps, divisors = prod(options.kernel), set(options.divisors(frame).tolist())
    if taps * read.bound > 1 << MAX_SUM_BITS:
        text = f"{label}: the exact sum of {taps} values can reach {(taps * read.bound).bit_length()} bits"
        hint = "quantize it: data_in_width and data_in_frac_width are the type of what it reads"
        raise ProblemsError(Problem(f"{text}; {MAX_SUM_BITS} is the most that rounds exactly", hint=hint))
    if any(divisor & (divisor - 1) for divisor in divisors):
        return None
    bits = max(divisors).bit_length() - 1
    return Accumulator(read.frac + bits, taps * read.bound << bits)
