"""What linear layers and convolutions share: a weight and a bias with types, an exact sum, at most one requantize."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin, check_finite, integers_of, required, share
from mase_hw.modules.exact import accumulator
from mase_hw.modules.quantizer import Quantizer


class MatrixMixin(QuantizedMixin):
    """A class with `weight` and `bias` gives `_product`; this class quantizes what goes into it."""

    needs = ("data_in", "weight", "bias")
    weight: Tensor
    bias: Any  # a tensor, or None: torch declares it differently in each class

    def _set_matrix(self, spec: QuantSpec, label: str, count: int) -> None:
        """`count` products are added for each output."""
        self._set_spec(spec, label)
        self._w = required(self, "weight", self.w_quantizer)
        self._b = None if self.bias is None else required(self, "bias", self.b_quantizer)
        types = self.x_quantizer.to, self._w.to, None if self._b is None else self._b.to
        self.accumulator = accumulator(label, count, *types)

    def _take(self, weight: Tensor, bias: Tensor | None) -> None:
        """Computes with these very tensors from now on."""
        share(self, "weight", weight)
        share(self, "bias", bias)

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.accumulator.dtype)

    def _product(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        raise NotImplementedError

    def _sums_whole_float32(self, device: torch.device) -> bool:
        """Whether torch adds products of float32 in whole float32."""
        return torch.get_float32_matmul_precision() == "highest"

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            return self._product(input.to(self.weight.dtype), self._masked_weight(), self.bias)
        dtype = self.accumulator.dtype if self._sums_whole_float32(input.device) else torch.float64
        with torch.autocast(input.device.type, enabled=False):
            x = self.x_quantizer(input).to(dtype)
            w = self._w(self._masked_weight()).to(dtype)
            b = None if self._b is None else self._b(self.bias).to(dtype)
            return self._finish(self._product(x, w, b).to(self.accumulator.dtype))

    def _masked_weight(self) -> Tensor:
        return self.weight if self.pruning_masks is None else self.weight * self.pruning_masks

    def integers(self) -> dict[str, Integers]:
        """What forward computes with: the weight, output channels first, and the bias where there is one."""
        check_finite(self.label, {"weight": self.weight, "bias": self.bias})
        return {name: integers_of(*values) for name, values in self.parameter_values().items()}

    def parameter_values(self) -> dict[str, tuple[Tensor, Quantizer]]:
        found = {"weight": (self._masked_weight(), self._w)}
        return found if self._b is None else {**found, "bias": (self.bias, self._b)}
