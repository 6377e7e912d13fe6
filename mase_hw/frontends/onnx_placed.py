"""A layer of an ONNX file at its place in the model, with the types that Quants give it."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.frontends.onnx_quant import ActivationQuant
from mase_hw.frontends.onnx_steps import Join, Layer
from mase_hw.numerics import Fixed, Rounding


@dataclass
class Placed:
    """A layer, the Quants that it takes, and the results that it reads.

    `ours`: it is in no file, we made it to do what a Quant does.
    """

    step: Layer
    quant_in: ActivationQuant | None = None
    quant_out: ActivationQuant | None = None
    fixed_in: Fixed | None = None  # of a layer of ours whose input is exact
    ours: bool = False
    inputs: tuple[str, ...] = ()

    @property
    def rounding(self) -> Rounding | None:
        """The rule that its Quants ask for; None: nothing is rounded."""
        given = self.quant_in or self.quant_out
        return None if given is None else given.rounding

    def takes(self, behind: ActivationQuant) -> bool:
        """Whether the layer can do what a Quant behind it does. Parts that are joined are quantized before."""
        if self._is_cat:
            return self.quant_in is None
        return self.rounding in (None, behind.rounding)

    def take(self, behind: ActivationQuant) -> None:
        if self._is_cat:
            self.quant_in = behind
        else:
            self.quant_out = behind

    @property
    def _is_cat(self) -> bool:
        return isinstance(self.step, Join) and self.step.op == "cat"
