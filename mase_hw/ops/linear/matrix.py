"""What all implementations of a linear layer share: the matrix, the bias, and the exact integers they make."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mase_hw.ir.component import Component
from mase_hw.ir.finish import Finish
from mase_hw.numerics.product import product
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import matrix_bounds, matrix_extremes
from mase_hw.ops.linear.equation import output_equation

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

    def equation(self, j: int) -> str:
        """Output `j` as text."""
        return output_equation(self.matrix[j], int(self.bias[j]), self.product_shift)

    def extremes(self) -> Integers:
        return matrix_extremes(self.input, self.matrix)

    def requantize_parameters(self, offset: int, *outputs: int) -> dict[str, Any]:
        """Parameters of the requantize of these outputs, from their own bounds; `offset` is what it has to add."""
        own = list(outputs)
        lo, hi = matrix_bounds(self.input, self.matrix[own] << self.product_shift, self.bias[own])
        return self.step.parameters((int(lo.min()), int(hi.max())), offset)
