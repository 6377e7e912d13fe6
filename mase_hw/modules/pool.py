"""Quantized pools: the largest value of each window, or the exact average, rounded once."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.average import average, averaged
from mase_hw.modules.base import Integers, QuantizedMixin
from mase_hw.modules.exact import range_of
from mase_hw.modules.windows import adaptive_options, avg_pool_options, positions, whole_options
from mase_hw.ops.window_options import WindowOptions


class _PoolInteger(QuantizedMixin):
    """A pool has no parameters: its options are those of the torch module whose place it takes."""

    options: ClassVar[tuple[str, ...]]  # of the float module, as its constructor calls them

    def __init__(self, *args: Any, spec: QuantSpec, label: str = "pool", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._set_spec(spec, label)

    @classmethod
    def from_float(cls, module: Any, spec: QuantSpec, label: str = "pool") -> _PoolInteger:
        options = {name: getattr(module, name) for name in cls.options}
        return cls(**options, spec=spec, label=label).train(module.training)

    def integers(self) -> dict[str, Integers]:
        return {}


class _MaxInteger(_PoolInteger):
    """A maximum is one of the values it is taken of: exact, and it keeps the type."""

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.x_quantizer.dtype)

    def forward(self, input: Tensor) -> Tensor:
        largest = super().forward  # of the float module
        if self.bypass:
            return self._one(largest(input))
        return self._finish(self._one(largest(self.x_quantizer(input))).to(self.x_quantizer.dtype))

    @staticmethod
    def _one(result: Any) -> Tensor:
        assert isinstance(result, Tensor), "a pool that gives indices"
        return result


class _AvgInteger(_PoolInteger):
    """An average. Without a `data_out` type the quotient is handed on in float64, and its reader rounds it."""

    def window(self, frame: tuple[int, ...]) -> WindowOptions:
        raise NotImplementedError

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(torch.float64)

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            y: Tensor = super().forward(input)
            return y
        with torch.autocast(input.device.type, enabled=False):
            frame = positions(input)
            options = self.window(frame)
            averaged(self.label, options, frame, range_of(self.x_quantizer.to))  # refuses what is not exact
            return self._finish(self._shaped(average(self.x_quantizer(input), options)))

    def _shaped(self, y: Tensor) -> Tensor:
        return y


class MaxPool1dInteger(_MaxInteger, nn.MaxPool1d):
    options = ("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")


class MaxPool2dInteger(_MaxInteger, nn.MaxPool2d):
    options = MaxPool1dInteger.options


class AdaptiveMaxPool1dInteger(_MaxInteger, nn.AdaptiveMaxPool1d):
    options = ("output_size", "return_indices")


class AdaptiveMaxPool2dInteger(_MaxInteger, nn.AdaptiveMaxPool2d):
    options = AdaptiveMaxPool1dInteger.options


class AvgPool1dInteger(_AvgInteger, nn.AvgPool1d):
    options = ("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def window(self, frame: tuple[int, ...]) -> WindowOptions:
        return avg_pool_options(self, 1)


class AvgPool2dInteger(_AvgInteger, nn.AvgPool2d):
    options = (*AvgPool1dInteger.options, "divisor_override")

    def window(self, frame: tuple[int, ...]) -> WindowOptions:
        return avg_pool_options(self, 2)


class AdaptiveAvgPool1dInteger(_AvgInteger, nn.AdaptiveAvgPool1d):
    options = ("output_size",)

    def window(self, frame: tuple[int, ...]) -> WindowOptions:
        return adaptive_options(self.label, self.output_size, frame)


class AdaptiveAvgPool2dInteger(_AvgInteger, nn.AdaptiveAvgPool2d):
    options = ("output_size",)

    def window(self, frame: tuple[int, ...]) -> WindowOptions:
        return adaptive_options(self.label, self.output_size, frame)


class Mean(nn.Module):
    """`x.mean(dim, keepdim)` as a module."""

    def __init__(self, dim: Any = None, keepdim: bool = False) -> None:
        super().__init__()
        self.dim, self.keepdim = dim, keepdim

    def forward(self, input: Tensor) -> Tensor:
        return input.mean(self.dim, self.keepdim)


class Amax(Mean):
    """`x.amax(dim, keepdim)` as a module."""

    def forward(self, input: Tensor) -> Tensor:
        return input.amax(self.dim, self.keepdim)


class MeanInteger(_AvgInteger, Mean):
    """The mean over all positions."""

    mase_op = "mean"
    options = ("dim", "keepdim")

    def window(self, frame: tuple[int, ...]) -> WindowOptions:
        return whole_options(self.label, self.dim, 2 + len(frame), frame)

    def _shaped(self, y: Tensor) -> Tensor:
        return y if self.keepdim else y.flatten(-2 if y.dim() == 3 else -3)


class AmaxInteger(_MaxInteger, Amax):
    """The largest value of all positions."""

    mase_op = "amax"
    options = ("dim", "keepdim")
