"""What all implementations of a linear layer share: the matrix, the bias, and the exact integers they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mase_hw.hardware.component import Component
from mase_hw.numerics.product import product
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import matrix_extremes
from mase_hw.ops.result import Finish

ADDERS_PER_STAGE = 4  # additions between two registers, unless the user says otherwise


@dataclass(frozen=True, eq=False)
class Matrix(Component):
    """`requantize((matrix @ x << product_shift) + bias)`."""

    matrix: Integers  # [out, in]
    bias: Integers  # aligned to the accumulator's binary point
    product_shift: int  # aligns products with the bias
    step: Finish

    def execute(self, x: Integers) -> Integers:
        return self.step.execute((product(x, self.matrix.T) << self.product_shift) + self.bias)

    def extremes(self) -> Integers:
        return matrix_extremes(self.input, self.matrix)

    def requantize_parameters(self, j: int, offset: int) -> dict[str, Any]:
        """Parameters of output `j`'s requantize, from its own bounds; `offset` is what it has to add."""
        lo, hi = self.input.bounds
        row = self.matrix[j] << self.product_shift
        up, down = np.maximum(row, 0), np.minimum(row, 0)
        bias = int(self.bias[j])
        bounds = (int(up @ lo + down @ hi) + bias, int(up @ hi + down @ lo) + bias)
        return self.step.parameters(bounds, offset)
