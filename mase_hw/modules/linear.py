"""LinearInteger: `acc_j = sum_i x_i * w_ji + b_j` on fixed-point values, exact, then at most one requantize."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin, check_finite, integers_of, required, share
from mase_hw.modules.exact import accumulator
from mase_hw.modules.quantizer import Quantizer


class LinearInteger(QuantizedMixin, nn.Linear):
    """A Linear whose input, weight and bias (and output, where `data_out` is given) are quantized."""

    needs = ("data_in", "weight", "bias")

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
        self._set_spec(spec, label)
        self._w = required(self, "weight", self.w_quantizer)
        self._b = required(self, "bias", self.b_quantizer) if bias else None
        self.accumulator = accumulator(
            label, in_features, self.x_quantizer.to, self._w.to, self._b.to if self._b else None
        )

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
            return F.linear(input.to(self.weight.dtype), self._masked_weight(), self.bias)
        dtype = self.accumulator.dtype
        if torch.get_float32_matmul_precision() != "highest":
            dtype = torch.float64  # torch may then multiply float32 in fewer bits
        with torch.autocast(input.device.type, enabled=False):
            x = self.x_quantizer(input).to(dtype)
            w = self._w(self._masked_weight()).to(dtype)
            b = None if self._b is None else self._b(self.bias).to(dtype)
            return self._finish(F.linear(x, w, b).to(self.accumulator.dtype))

    def integers(self) -> dict[str, Integers]:
        """The integers that forward computes with: weight [out, in] and, where there is one, bias [out]."""
        check_finite(self.label, {"weight": self.weight, "bias": self.bias})
        return {name: integers_of(*values) for name, values in self.parameter_values().items()}

    def parameter_values(self) -> dict[str, tuple[Tensor, Quantizer]]:
        found = {"weight": (self._masked_weight(), self._w)}
        return found if self._b is None else {**found, "bias": (self.bias, self._b)}
