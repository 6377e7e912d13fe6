"""AddInteger, SubInteger, CatInteger: several inputs brought to one type, then joined exactly."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin
from mase_hw.modules.exact import range_of, total


class _SumInteger(QuantizedMixin):
    """`data_in` rules both inputs, before the sum; the sum is exact, with at most one requantize behind it."""

    sign: ClassVar[int]

    def __init__(self, *, spec: QuantSpec, label: str | None = None) -> None:
        super().__init__()
        self._set_spec(spec, label or self.mase_op)
        self.accumulator = total(self.label, [range_of(self.x_quantizer.to)] * 2)

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.accumulator.dtype)

    def forward(self, input: Tensor, other: Tensor) -> Tensor:
        if self.bypass:
            return input + self.sign * other
        with torch.autocast(input.device.type, enabled=False):
            x, y = (self.x_quantizer(value).to(self.accumulator.dtype) for value in (input, other))
            return self._finish(x + self.sign * y)

    def integers(self) -> dict[str, Integers]:
        return {}


class AddInteger(_SumInteger):
    """`x + y` of two results of the same shape."""

    mase_op = "add"
    sign = 1


class SubInteger(_SumInteger):
    """`x - y` of two results of the same shape."""

    mase_op = "sub"
    sign = -1


class CatInteger(QuantizedMixin):
    """The parts one after the other along `dim`, each quantized as `data_in`."""

    mase_op = "cat"

    def __init__(self, dim: int = 1, *, spec: QuantSpec, label: str = "cat") -> None:
        super().__init__()
        self._set_spec(spec, label)
        self.dim = dim

    @classmethod
    def from_float(cls, module: CatInteger, spec: QuantSpec, label: str = "cat") -> CatInteger:
        return cls(module.dim, spec=spec, label=label).train(module.training)

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.x_quantizer.dtype)

    def forward(self, *parts: Tensor) -> Tensor:
        if self.bypass:
            return torch.cat(parts, self.dim)
        with torch.autocast(parts[0].device.type, enabled=False):
            return self._finish(torch.cat([self.x_quantizer(x).to(self.x_quantizer.dtype) for x in parts], self.dim))

    def integers(self) -> dict[str, Integers]:
        return {}

    def extra_repr(self) -> str:
        return f"dim={self.dim}, {super().extra_repr()}"
