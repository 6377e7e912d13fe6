"""MulInteger: `x * scale` with a constant on fixed-point values, exact, then at most one requantize."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.modules.base import Integers, QuantizedMixin, check_finite, integers_of
from mase_hw.modules.exact import Accumulator, accumulator, exact_constant
from mase_hw.modules.quantizer import Quantizer
from mase_hw.numerics import Fixed, Rounding


class MulInteger(QuantizedMixin):
    """Multiplies by a number, or by one number for each feature: a parameter or a buffer of the model.

    The constant is quantized as `weight`; without that type it is taken exactly as the float that it is (a Python
    number as its nearest float32). `features` says how many entries the scale has where the constant is one number.
    """

    mase_op = "mul"
    optional = ("weight",)
    weight: Tensor

    def __init__(
        self, constant: Tensor | float, *, spec: QuantSpec, features: int | None = None, label: str = "mul"
    ) -> None:
        super().__init__()
        self._set_spec(spec, label)
        value = constant_tensor(label, constant)
        if isinstance(value, nn.Parameter):
            self.register_parameter("weight", value)
        else:
            self.register_buffer("weight", value)
        self.features = features if features is not None and value.numel() == 1 else value.numel()
        self.accumulator  # noqa: B018  # a product that nothing holds is a Problem here, not in the first forward

    @classmethod
    def from_float(cls, module: MulInteger, spec: QuantSpec, label: str = "mul") -> MulInteger:
        new = cls(module.weight, spec=spec, features=module.features, label=label)
        return new.train(module.training)

    @property
    def constant_type(self) -> Fixed:
        """The type of the constant: the one given, or the narrowest that has its present values."""
        return exact_constant(self.label, self.weight) if self.w_quantizer is None else self.w_quantizer.to

    @property
    def accumulator(self) -> Accumulator:
        return accumulator(self.label, 1, self.x_quantizer.to, self.constant_type, None)

    @property
    def _dtype(self) -> torch.dtype:
        # An exact constant may change in training, and its bits with it.
        return torch.float64 if self.w_quantizer is None else self.accumulator.dtype

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self._dtype)

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            return input * self.weight
        with torch.autocast(input.device.type, enabled=False):
            weight = self.weight if self.w_quantizer is None else self.w_quantizer(self.weight)
            return self._finish(self.x_quantizer(input).to(self._dtype) * weight.to(self._dtype))

    def integers(self) -> dict[str, Integers]:
        """The integers that forward computes with: scale [features]."""
        check_finite(self.label, {"weight": self.weight})
        return {"scale": scale_of(self.weight, self.w_quantizer, self.constant_type, self.features)}


def constant_tensor(label: str, constant: Tensor | float) -> Tensor:
    """The constant as a tensor; NaN or infinity is a Problem."""
    value = constant if isinstance(constant, Tensor) else torch.tensor(constant, dtype=torch.float32)
    check_finite(label, {"weight": value})
    return value


def scale_of(constant: Tensor, quantizer: Quantizer | None, fixed: Fixed, features: int) -> Integers:
    """A constant as integers, one for each feature."""
    exact = quantizer or Quantizer(fixed, Rounding.HALF_EVEN)  # nothing is rounded in a type that has the values
    return np.array(np.broadcast_to(integers_of(constant, exact).reshape(-1), (features,)))
