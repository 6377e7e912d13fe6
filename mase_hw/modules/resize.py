"""ZeroPadInteger, UpsampleInteger: positions of zeros around a frame, and positions that are repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin
from mase_hw.modules.windows import pad_options, positions, upsample_factors


class ZeroPad(nn.Module):
    """`F.pad(x, padding, mode, value)` as a module."""

    def __init__(self, padding: Any, mode: str = "constant", value: float | None = None) -> None:
        super().__init__()
        self.padding, self.mode, self.value = padding, mode, value

    def forward(self, input: Tensor) -> Tensor:
        sides = self.padding if isinstance(self.padding, Sequence) else (self.padding,) * (2 * (input.dim() - 2))
        return F.pad(input, tuple(sides), self.mode, self.value)


class _MovedInteger(QuantizedMixin):
    """Nothing is computed: every result is one of the inputs, or 0."""

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.x_quantizer.dtype)

    def _check(self, input: Tensor) -> None:
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        moved = super().forward  # of the float module
        if self.bypass:
            y: Tensor = moved(input)
            return y
        self._check(input)
        return self._finish(moved(self.x_quantizer(input)).to(self.x_quantizer.dtype))

    def integers(self) -> dict[str, Integers]:
        return {}


class ZeroPadInteger(_MovedInteger, ZeroPad):
    """A zero padding whose input is quantized."""

    mase_op = "zero_pad"

    def __init__(self, padding: Any, mode: str = "constant", value: Any = 0, *, spec: QuantSpec, label: str) -> None:
        super().__init__(padding, mode, value)
        self._set_spec(spec, label)

    @classmethod
    def from_float(cls, module: Any, spec: QuantSpec, label: str = "zero_pad") -> ZeroPadInteger:
        mode, value = getattr(module, "mode", "constant"), getattr(module, "value", 0)
        return cls(module.padding, mode, value, spec=spec, label=label).train(module.training)

    def _check(self, input: Tensor) -> None:
        pad_options(self.label, self, len(positions(input)))


class UpsampleInteger(_MovedInteger, nn.Upsample):
    """A nearest upsampling whose input is quantized."""

    def __init__(self, size: Any = None, scale_factor: Any = None, mode: str = "nearest", **quantized: Any) -> None:
        super().__init__(size, scale_factor, mode)
        self._set_spec(quantized["spec"], quantized.get("label", "upsample"))

    @classmethod
    def from_float(cls, module: Any, spec: QuantSpec, label: str = "upsample") -> UpsampleInteger:
        new = cls(module.size, module.scale_factor, module.mode, spec=spec, label=label)
        return new.train(module.training)

    def _check(self, input: Tensor) -> None:
        upsample_factors(self.label, self, positions(input))
