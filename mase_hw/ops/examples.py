"""Small streams and integers for the examples on the operators' pages."""

from __future__ import annotations

import numpy as np

from mase_hw.ir.finish import Result
from mase_hw.ir.stream import Stream, full_range
from mase_hw.numerics import Fixed, Rounding

IN, WEIGHT, OUT = Fixed(8, 4), Fixed(4, 2), Fixed(6, 2)
RESULT = Result(OUT, Rounding.HALF_EVEN)
MATRIX = np.array([[3, -2, 0, 1], [-4, 1, 5, 2]])
BIAS = np.array([1, -2])
BEATS = "features / lanes"
READER = "data_out: data_in of the reader, or data_out of the layer's own; without either the exact sum"


def example_stream(lanes: int = 4, name: str = "data_in_0") -> Stream:
    return full_range(name, 4, lanes, IN)
