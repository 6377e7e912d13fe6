"""ToCodes and FromCodes: between real numbers and the integers that stand for them, by any scale, exactly.

Between the two a model computes with integers alone. No hardware belongs to them: they say what a port's integers mean.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mase_hw.numerics.codes import Affine, Codes


class ToCodes(nn.Module):
    """Real numbers to the integers of an input port. Every integer begins at a least float64, so nothing is divided."""

    limits: Tensor

    def __init__(self, codes: Codes) -> None:
        super().__init__()
        self.codes = codes
        self.register_buffer("limits", torch.from_numpy(codes.limits), persistent=False)

    def forward(self, input: Tensor) -> Tensor:
        wide = input.detach().double().contiguous()
        return (torch.searchsorted(self.limits, wide, right=True) + self.codes.lo).float()

    def extra_repr(self) -> str:
        return f"scale={float(self.codes.scale):g}, {self.codes.lo}..{self.codes.hi}"


class FromCodes(nn.Module):
    """The integers of an output port to the numbers that they stand for; with `raw` they stay integers."""

    factor: Tensor
    offset: Tensor

    def __init__(self, values: Affine) -> None:
        super().__init__()
        self.values, self.raw = values, False
        for name, side in (("factor", values.scale), ("offset", values.offset)):
            self.register_buffer(name, torch.tensor(side, dtype=torch.float64), persistent=False)

    def forward(self, input: Tensor) -> Tensor:
        if self.raw:
            return input
        along = (1, -1, *([1] * (input.dim() - 2)))
        return input.double() * self.factor.view(along) + self.offset.view(along)
