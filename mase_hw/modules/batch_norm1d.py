"""BatchNorm1dInteger, BatchNorm2dInteger: `x * scale + shift` on fixed-point values, exact, at most one requantize.

scale = gamma / sqrt(var + eps) and shift = beta - mean * scale are computed in float64 and quantized with the weight
and the bias type.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.modules.base import Integers, QuantizedMixin, check_finite, integers_of, required, share
from mase_hw.modules.exact import accumulator
from mase_hw.modules.quantizer import Quantizer


class Statistics(NamedTuple):
    """What `F.batch_norm` takes beside its input."""

    running_mean: Tensor
    running_var: Tensor
    weight: Tensor | None
    bias: Tensor | None
    eps: float = 1e-5
    momentum: float | None = 0.1


class _BatchNormInteger(QuantizedMixin, _BatchNorm):
    """Input, scale and shift (and output, where `data_out` is given) are quantized.

    In training it takes the batch's statistics and updates the running ones as torch does.
    """

    needs = ("data_in", "weight", "bias")

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
        *,
        spec: QuantSpec,
        label: str = "batch_norm1d",
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, True, device, dtype)
        self._set_spec(spec, label)
        self._w = required(self, "weight", self.w_quantizer)
        self._b = required(self, "bias", self.b_quantizer)
        self.accumulator = accumulator(label, 1, self.x_quantizer.to, self._w.to, self._b.to)

    @classmethod
    def from_float(cls, module: _BatchNorm, spec: QuantSpec, label: str = "batch_norm1d") -> Any:
        """The quantized form of `module`, on the very same parameters and running statistics."""
        if module.running_mean is None or module.running_var is None:
            raise ProblemsError(
                Problem(
                    f"{label}: a batch norm without running statistics cannot be quantized",
                    hint="build it with track_running_stats=True",
                )
            )
        known = Statistics(
            module.running_mean, module.running_var, module.weight, module.bias, module.eps, module.momentum
        )
        new = cls.from_tensors(known, spec, label)
        new.num_batches_tracked = module.num_batches_tracked
        return new.train(module.training)

    @classmethod
    def from_tensors(cls, known: Statistics, spec: QuantSpec, label: str = "batch_norm1d") -> Any:
        """For `F.batch_norm(x, running_mean, running_var, weight, bias, False, momentum, eps)`."""
        new = cls(len(known.running_mean), known.eps, known.momentum, True, "meta", spec=spec, label=label)
        new.affine = known.weight is not None
        new.running_mean, new.running_var = known.running_mean, known.running_var
        new.num_batches_tracked = torch.tensor(0, device=known.running_mean.device)
        share(new, "weight", known.weight)
        share(new, "bias", known.bias)
        new._check()
        return new

    def _check(self) -> None:
        assert self.running_var is not None
        named = {"weight": self.weight, "bias": self.bias}
        check_finite(self.label, {**named, "running_mean": self.running_mean, "running_var": self.running_var})
        least = int(self.running_var.argmin())
        if float(self.running_var[least]) + self.eps <= 0:
            what = f"running_var[{least}] is {float(self.running_var[least])}: a variance is not negative"
            raise ProblemsError(Problem(f"{self.label}: {what}", hint="check the checkpoint"))

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(self.accumulator.dtype)

    def _scale_and_shift(self, mean: Tensor | None, var: Tensor | None) -> tuple[Tensor, Tensor]:
        """In float64, whatever the parameters are in."""
        assert mean is not None
        assert var is not None
        scale = 1.0 / torch.sqrt(var.double() + self.eps)
        if self.weight is not None:
            scale = self.weight.double() / torch.sqrt(var.double() + self.eps)
        if self.pruning_masks is not None:
            scale = scale * self.pruning_masks
        shift = -mean.double() * scale
        return scale, shift if self.bias is None else self.bias.double() - mean.double() * scale

    def _batch_statistics(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and (biased) variance of this batch; the running statistics move as torch moves them."""
        assert self.running_mean is not None
        assert self.num_batches_tracked is not None
        with torch.no_grad():
            self.num_batches_tracked.add_(1)
            factor = 1.0 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
            seen = x.detach().to(self.running_mean.dtype)
            F.batch_norm(seen, self.running_mean, self.running_var, None, None, True, factor, self.eps)
        others = [axis for axis in range(x.dim()) if axis != 1]
        return x.double().mean(others), x.double().var(others, unbiased=False)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)  # type: ignore[no-untyped-call]
        if self.bypass:
            return _BatchNorm.forward(self, input.to(self.running_mean.dtype))  # type: ignore[union-attr]
        with torch.autocast(input.device.type, enabled=False):
            dtype = self.accumulator.dtype
            x = self.x_quantizer(input)
            statistics = self._batch_statistics(x) if self.training else (self.running_mean, self.running_var)
            scale, shift = self._scale_and_shift(*statistics)
            along = (1, -1, *([1] * (x.dim() - 2)))
            scale_q = self._w(scale).to(dtype).view(along)
            shift_q = self._b(shift).to(dtype).view(along)
            return self._finish(x.to(dtype) * scale_q + shift_q)

    def integers(self) -> dict[str, Integers]:
        """The integers that an evaluating forward computes with: scale [features] and shift [features]."""
        self._check()
        values = self.parameter_values()
        return {"scale": integers_of(*values["weight"]), "shift": integers_of(*values["bias"])}

    def parameter_values(self) -> dict[str, tuple[Tensor, Quantizer]]:
        """The scale has the weight's type, the shift the bias'."""
        scale, shift = self._scale_and_shift(self.running_mean, self.running_var)
        return {"weight": (scale, self._w), "bias": (shift, self._b)}


class BatchNorm1dInteger(_BatchNormInteger, nn.BatchNorm1d):
    """A quantized BatchNorm1d, of [batch, features] or of [batch, channels, positions]."""


class BatchNorm2dInteger(_BatchNormInteger, nn.BatchNorm2d):
    """A quantized BatchNorm2d, of [batch, channels, rows, columns]."""
