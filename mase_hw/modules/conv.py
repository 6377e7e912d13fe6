"""Conv1dInteger, Conv2dInteger: a linear layer over each window, exact, then at most one requantize."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from math import prod
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn.modules.conv import _ConvNd

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.modules.base import Integers, QuantizedMixin, check_finite, integers_of, required, share
from mase_hw.modules.exact import accumulator
from mase_hw.modules.quantizer import Quantizer


class _ConvInteger(QuantizedMixin, _ConvNd):
    """What both ranks share. Padded positions hold zeros, which every type has."""

    needs = ("data_in", "weight", "bias")
    op: ClassVar[str]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: int = 1,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        spec: QuantSpec,
        label: str = "",
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, "zeros")
        super().__init__(*sizes, device, dtype)  # type: ignore[arg-type]
        self._set_spec(spec, label or self.op)
        self._w = required(self, "weight", self.w_quantizer)
        self._b = required(self, "bias", self.b_quantizer) if bias else None
        count = in_channels // groups * prod(self.kernel_size)
        self.accumulator = accumulator(
            self.label, count, self.x_quantizer.to, self._w.to, self._b.to if self._b else None
        )

    @classmethod
    def from_float(cls, module: _ConvNd, spec: QuantSpec, label: str = "") -> _ConvInteger:
        """The quantized form of `module`, on the very same parameters."""
        if module.padding_mode != "zeros":
            what = f"{label or cls.op}: padding_mode = {module.padding_mode!r} has no quantized form"
            raise ProblemsError(Problem(what, hint="pad with zeros: padding_mode='zeros'"))
        names = ("stride", "padding", "dilation", "groups")
        options = {name: getattr(module, name) for name in names}
        new = cls.from_tensors(module.weight, module.bias, options, spec, label).train(module.training)
        new.pruning_masks = getattr(module, "pruning_masks", None)
        return new

    @classmethod
    def from_tensors(
        cls, weight: Tensor, bias: Tensor | None, options: Mapping[str, Any], spec: QuantSpec, label: str = ""
    ) -> _ConvInteger:
        """For `F.conv2d(x, weight, bias, stride, padding, dilation, groups)`."""
        check_finite(label or cls.op, {"weight": weight, "bias": bias})
        outs, ins, *kernel = weight.shape
        ins *= options.get("groups", 1)
        new = cls(ins, outs, tuple(kernel), **options, bias=bias is not None, device="meta", spec=spec, label=label)
        share(new, "weight", weight)
        share(new, "bias", bias)
        return new

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.accumulator.dtype)

    def _masked_weight(self) -> Tensor:
        return self.weight if self.pruning_masks is None else self.weight * self.pruning_masks

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            return self._convolve(input.to(self.weight.dtype), self._masked_weight(), self.bias)
        dtype = self.accumulator.dtype
        if not _sums_products(input.device):
            dtype = torch.float64
        with torch.autocast(input.device.type, enabled=False), torch.backends.nnpack.flags(enabled=False):
            x = self.x_quantizer(input).to(dtype)
            w = self._w(self._masked_weight()).to(dtype)
            b = None if self._b is None else self._b(self._offset()).to(dtype)
            return self._finish(self._convolve(x, w, b).to(self.accumulator.dtype))

    def _offset(self) -> Tensor:
        assert self.bias is not None
        return self.bias

    def _convolve(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        y: Tensor = self._conv_forward(x, weight, bias)
        return y

    def integers(self) -> dict[str, Integers]:
        """What forward computes with: weight [out, in / groups, *kernel] and, where there is one, bias [out]."""
        check_finite(self.label, {"weight": self.weight, "bias": self.bias})
        return {name: integers_of(*values) for name, values in self.parameter_values().items()}

    def parameter_values(self) -> dict[str, tuple[Tensor, Quantizer]]:
        found = {"weight": (self._masked_weight(), self._w)}
        return found if self._b is None else {**found, "bias": (self._offset(), self._b)}


class Conv1dInteger(_ConvInteger, nn.Conv1d):
    """A Conv1d whose input, weight and bias (and output, where `data_out` is given) are quantized."""

    op = "conv1d"


class Conv2dInteger(_ConvInteger, nn.Conv2d):
    """A Conv2d whose input, weight and bias (and output, where `data_out` is given) are quantized."""

    op = "conv2d"


def _sums_products(device: torch.device) -> bool:
    """Whether torch convolves float32 by sums of products in whole float32.

    Elsewhere it may take fewer bits, or Winograd's method, whose sums are no integers; for float64 it has none of it.
    """
    if device.type != "cpu" or platform.machine().lower() not in ("x86_64", "amd64"):
        return False
    return torch.get_float32_matmul_precision() == "highest"
