"""LinearInteger: `acc_j = sum_i x_i * w_ji + b_j` on fixed-point values, exact, then at most one requantize."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import check_finite
from mase_hw.modules.matrix import MatrixMixin


class LinearInteger(MatrixMixin, nn.Linear):
    """A Linear whose input, weight and bias (and output, where `data_out` is given) are quantized."""

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        spec: QuantSpec,
        label: str = "linear",
    ) -> None:
        super().__init__(in_features, out_features, bias, device, dtype)
        self._set_matrix(spec, label, in_features)

    @classmethod
    def from_float(cls, module: nn.Linear, spec: QuantSpec, label: str = "linear") -> LinearInteger:
        """The quantized form of `module`, on the very same parameters."""
        new = cls.from_tensors(module.weight, module.bias, spec, label).train(module.training)
        new.pruning_masks = getattr(module, "pruning_masks", None)
        return new

    @classmethod
    def from_tensors(cls, weight: Tensor, bias: Tensor | None, spec: QuantSpec, label: str = "linear") -> LinearInteger:
        """For `F.linear(x, weight, bias)`."""
        check_finite(label, {"weight": weight, "bias": bias})
        outs, ins = weight.shape
        new = cls(ins, outs, bias is not None, "meta", spec=spec, label=label)
        new._take(weight, bias)
        return new

    def _product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return F.linear(x, weight, bias)
