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
from mase_hw.modules.base import check_finite
from mase_hw.modules.matrix import MatrixMixin


class _ConvInteger(MatrixMixin, _ConvNd):
    """What both ranks share. Padded positions hold zeros, which every type has."""

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
        self._set_matrix(spec, label or self.op, in_channels // groups * prod(self.kernel_size))

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
        new._take(weight, bias)
        return new

    def _product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        with torch.backends.nnpack.flags(enabled=False):
            y: Tensor = self._conv_forward(x, weight, bias)
        return y

    def _sums_whole_float32(self, device: torch.device) -> bool:
        """Elsewhere torch may take fewer bits, or Winograd's method, whose sums are no integers; in float64 never."""
        known = device.type == "cpu" and platform.machine().lower() in ("x86_64", "amd64")
        return known and super()._sums_whole_float32(device)


class Conv1dInteger(_ConvInteger, nn.Conv1d):
    """A Conv1d whose input, weight and bias (and output, where `data_out` is given) are quantized."""

    op = "conv1d"


class Conv2dInteger(_ConvInteger, nn.Conv2d):
    """A Conv2d whose input, weight and bias (and output, where `data_out` is given) are quantized."""

    op = "conv2d"
