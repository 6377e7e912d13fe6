"""Abs, a module of torch, and AbsInteger, its quantized form."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin


class Abs(nn.Module):
    """The absolute value of every feature."""

    def forward(self, input: Tensor) -> Tensor:
        return input.abs()


class AbsInteger(QuantizedMixin, Abs):
    """The absolute value of a quantized input."""

    def __init__(self, *, spec: QuantSpec, label: str = "abs") -> None:
        super().__init__()
        self._set_spec(spec, label)

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.x_quantizer.dtype)

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            return input.abs()
        return self._finish(self.x_quantizer(input).abs().to(self.x_quantizer.dtype))

    def integers(self) -> dict[str, Integers]:
        return {}
