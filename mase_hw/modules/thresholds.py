"""Thresholds: a staircase for each channel, an activation of few bits; and ThresholdsInteger, its quantized form."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.modules.base import Integers, QuantizedMixin, check_finite, integers_of
from mase_hw.modules.exact import exact_constant
from mase_hw.modules.quantizer import Quantizer
from mase_hw.numerics import Fixed, Rounding


class Thresholds(nn.Module):
    """`start + step * (the number of thresholds of its channel that are <= x)`. Channels are dimension 1.

    `thresholds` is [channels, count]; one row serves all channels. With one threshold and the steps 0 and 1 it is an
    activation of one bit; with start -1 and step 2 its values are -1 and +1.
    """

    thresholds: Tensor

    def __init__(self, thresholds: Tensor, start: float = 0.0, step: float = 1.0) -> None:
        super().__init__()
        if thresholds.dim() != 2 or not thresholds.numel():
            text = f"thresholds are [channels, count], not a tensor of shape {list(thresholds.shape)}"
            raise ProblemsError(Problem(text, hint="give one row for each channel, or one row for all"))
        self.register_buffer("thresholds", thresholds)
        self.start, self.step = start, step

    def forward(self, input: Tensor) -> Tensor:
        return self.start + self.step * self._reached(input)

    def _reached(self, x: Tensor) -> Tensor:
        along = (1, -1, *([1] * (x.dim() - 2)))
        wide = torch.promote_types(x.dtype, self.thresholds.dtype)
        reached = torch.zeros_like(x, dtype=wide)
        for column in self.thresholds.T:
            reached = reached + (x.to(wide) >= column.to(wide).view(along))
        return reached

    def types(self, label: str) -> tuple[Fixed, Fixed]:
        """The narrowest types of the thresholds and of the levels."""
        check_finite(label, {"thresholds": self.thresholds, "levels": self.levels})
        return exact_constant(label, self.thresholds), exact_constant(label, self.levels)

    @property
    def levels(self) -> Tensor:
        """The value for each number of thresholds that are reached."""
        count = torch.arange(self.thresholds.shape[1] + 1, dtype=torch.float64)
        return self.start + self.step * count

    def exact_integers(self, label: str, features: int) -> dict[str, Integers]:
        """Thresholds [features, count] and levels, in the types above."""
        rows = self.thresholds.expand(features, -1)
        exact = [Quantizer(fixed, Rounding.HALF_EVEN) for fixed in self.types(label)]
        return {"thresholds": integers_of(rows, exact[0]), "levels": integers_of(self.levels, exact[1])}

    def extra_repr(self) -> str:
        channels, count = self.thresholds.shape
        return f"channels={channels}, count={count}, start={self.start}, step={self.step}"


class ThresholdsInteger(QuantizedMixin, Thresholds):
    """Thresholds of a quantized input. The thresholds themselves are taken as they are."""

    def __init__(
        self, thresholds: Tensor, start: float = 0.0, step: float = 1.0, *, spec: QuantSpec, label: str = "thresholds"
    ) -> None:
        super().__init__(thresholds, start, step)
        self._set_spec(spec, label)
        self.types(label)  # what no type holds is a Problem here, not in the first forward

    @classmethod
    def from_float(cls, module: Thresholds, spec: QuantSpec, label: str = "thresholds") -> ThresholdsInteger:
        return cls(module.thresholds, module.start, module.step, spec=spec, label=label).train(module.training)

    @property
    def result_dtype(self) -> torch.dtype:
        return self._result_dtype(torch.float64)

    def forward(self, input: Tensor) -> Tensor:
        if self.bypass:
            return Thresholds.forward(self, input)
        return self._finish(Thresholds.forward(self, self.x_quantizer(input).double()))

    def integers(self) -> dict[str, Integers]:
        """Thresholds [channels, count] and levels."""
        return self.exact_integers(self.label, self.thresholds.shape[0])
