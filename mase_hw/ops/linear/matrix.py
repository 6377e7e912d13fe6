"""What all implementations of a linear layer share: the matrix, the bias, and the exact integers they make."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mase_hw.ir.component import Component
from mase_hw.ir.finish import Finish
from mase_hw.ir.meaning import Affine, Meaning
from mase_hw.numerics.product import product
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import matrix_bounds, matrix_extremes
from mase_hw.ops.linear.equation import output_equation


@dataclass(frozen=True, eq=False)
class Matrix(Component):
    """`requantize((matrix @ x << product_shift) + bias)`."""

    matrix: Integers  # [out, in]
    bias: Integers  # aligned to the accumulator's binary point
    product_shift: int  # aligns products with the bias
    finish: Finish = field(kw_only=True)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return (self.finish.execute((product(x[0], self.matrix.T) << self.product_shift) + self.bias),)

    def meaning(self) -> Meaning:
        return Affine((self.matrix << self.product_shift,), self.bias, self.finish)

    def extremes(self) -> tuple[Integers, ...]:
        return (matrix_extremes(self.input, self.matrix),)

    def equation(self, j: int) -> str:
        """Output `j` as text."""
        return output_equation(self.matrix[j], int(self.bias[j]), self.product_shift)

    def requantize_parameters(self, offset: int, *outputs: int) -> dict[str, Any]:
        """Parameters of the requantize of these outputs, from their own bounds; `offset` is what it has to add."""
        own = list(outputs)
        lo, hi = matrix_bounds(self.input, self.matrix[own] << self.product_shift, self.bias[own])
        return self.finish.parameters((int(lo.min()), int(hi.max())), offset)
