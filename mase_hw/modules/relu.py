"""ReLUInteger: `max(n, 0)` on fixed-point values, exact; it commutes with both quantizers."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin


class ReLUInteger(QuantizedMixin, nn.ReLU):
    """A ReLU whose input (and output, where `data_out` is given) is quantized. Never in place."""

    def __init__(self, *, spec: QuantSpec, label: str = "relu") -> None:
        super().__init__(inplace=False)
        self._set_spec(spec, label)

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.x_quantizer.dtype)

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            return F.relu(input)
        return self._finish(F.relu(self.x_quantizer(input)).to(self.x_quantizer.dtype))

    def integers(self) -> dict[str, Integers]:
        return {}
