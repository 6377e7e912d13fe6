"""Fake quantizers: floats in, floats on the grid of a fixed-point type out, with straight-through gradients."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from mase_hw.numerics import Fixed, Rounding, to_grid

FLOAT32_BITS = 24  # integers up to 2**24 are exact in float32


class _StraightThrough(torch.autograd.Function):
    """Forward rounds and saturates. Backward is the identity for values within the type's range and zero for those
    beyond it: a saturated value does not move the result, so it gets no gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, to: Fixed, rounding: Rounding) -> Tensor:
        ctx.save_for_backward(x)
        ctx.to = to
        return to_grid(x, to, rounding)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        (x,) = ctx.saved_tensors
        lo, hi = ctx.to.lo * 2.0**-ctx.to.frac, ctx.to.hi * 2.0**-ctx.to.frac
        return grads[0] * ((x >= lo) & (x <= hi)), None, None


@dataclass(frozen=True)
class Quantizer:
    """`quantizer(x)`: `x` on the grid of `to`, in float64 when `x` is or when `to` is too wide for float32."""

    to: Fixed
    rounding: Rounding

    @property
    def dtype(self) -> torch.dtype:
        """The smallest float type that holds every value of the type."""
        return torch.float32 if self.to.width <= FLOAT32_BITS else torch.float64

    def __call__(self, x: Tensor) -> Tensor:
        result = torch.promote_types(x.dtype, self.dtype)
        # Scaled down in float32, a tiny negative number could vanish before floor sees its sign.
        vanishes = self.to.frac < 0 and self.rounding is Rounding.FLOOR
        wide = x.to(torch.float64 if vanishes else result)
        y: Tensor = _StraightThrough.apply(wide, self.to, self.rounding)  # type: ignore[no-untyped-call]
        return y.to(result)


def make_quantizer(to: Fixed | None, rounding: Rounding | None) -> Quantizer | None:
    """The quantizer of an argument that may have no type."""
    return None if to is None or rounding is None else Quantizer(to, rounding)
