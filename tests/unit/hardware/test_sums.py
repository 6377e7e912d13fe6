"""The pipelined sums of an unrolled matrix: no register holds bits that the sum that reads it does not need."""

from __future__ import annotations

import numpy as np

from mase_hw.hardware.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.ops.sums import sum_tree


def test_no_sum_is_wider_than_the_sum_that_reads_it() -> None:
    """Features that are constant (a batch norm with gamma = 0) let large partial sums cancel each other."""
    values = (100,) * 16
    x = Stream("x", 16, 16, Fixed(8, 4), values, values)
    matrix = np.array([[7] * 8 + [-7] * 8], np.int64)
    first, last = sum_tree(x, matrix, np.zeros(1, np.int64))
    assert last[0].width == 2
    assert [total.width for total in first] == [2, 2]
