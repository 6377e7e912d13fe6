"""ToCodes and FromCodes: between real numbers and the integers that stand for them, by any scale, exactly.

Between the two a model computes with integers alone. No hardware belongs to them: they say what a port's integers mean.
Their constants are no buffers: `model.float()` must not round them.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mase_hw.numerics.codes import Affine, Codes


class ToCodes(nn.Module):
    """Real numbers to the integers of an input port. Every integer begins at a least float64, so nothing is divided."""

    def __init__(self, codes: Codes) -> None:
        super().__init__()
        self.codes = codes
        self._limits = torch.from_numpy(codes.limits)

    def forward(self, input: Tensor) -> Tensor:
        wide = input.detach().double().contiguous()
        reached = torch.searchsorted(self._limits.to(input.device), wide, right=True)
        return (reached + self.codes.lo).to(input.dtype if input.is_floating_point() else torch.float32)

    def extra_repr(self) -> str:
        return f"scale={float(self.codes.scale):g}, {self.codes.lo}..{self.codes.hi}"


class FromCodes(nn.Module):
    """The integers of an output port to the numbers that they stand for; with `raw` they stay integers."""

    def __init__(self, values: Affine) -> None:
        super().__init__()
        self.values, self.raw = values, False
        self._sides = torch.tensor([values.scale, values.offset], dtype=torch.float64)

    def forward(self, input: Tensor) -> Tensor:
        if self.raw:
            return input
        along = (1, -1, *([1] * (input.dim() - 2)))
        factor, offset = (side.view(along) for side in self._sides.to(input.device))
        values: Tensor = input.double() * factor + offset
        return values
