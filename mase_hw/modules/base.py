"""What the quantized modules share: their spec, their quantizers under MASE's names, their checks."""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.modules.quantizer import Quantizer, make_quantizer
from mase_hw.numerics import to_integers

Integers = npt.NDArray[np.int64]


class Quantized(Protocol):
    """What a reader of parameters needs of a quantized module."""

    def integers(self) -> dict[str, Integers]: ...


class QuantizedMixin(nn.Module):
    """`spec` and the quantizers made from it. `bypass` True computes as the float module does.

    `label` is the name that messages use. `needs` are the arguments whose type the op cannot do without, `optional`
    those that it takes as they are where they have none. `mase_op` is for classes that stand for a function.
    """

    mase_quantized: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("data_in",)
    optional: ClassVar[tuple[str, ...]] = ()
    mase_op: ClassVar[str]

    spec: QuantSpec
    label: str
    bypass: bool
    pruning_masks: Tensor | None

    def _set_spec(self, spec: QuantSpec, label: str) -> None:
        self.spec = spec
        self.label = label
        self.bypass = False
        self.x_quantizer = _required(label, "data_in", make_quantizer(spec.data_in, spec.rounding))
        self.w_quantizer = make_quantizer(spec.weight, spec.rounding)
        self.b_quantizer = make_quantizer(spec.bias, spec.rounding)
        self.out_quantizer = make_quantizer(spec.data_out, spec.rounding)
        self.register_buffer("pruning_masks", None, persistent=False)

    @classmethod
    def from_float(cls, module: Any, spec: QuantSpec, label: str = "layer") -> QuantizedMixin:
        """The quantized form of a module, on the very same parameters; of a quantized module, with other types.

        This one is for classes without parameters and options.
        """
        return cls(spec=spec, label=label).train(module.training)

    @property
    def result_dtype(self) -> torch.dtype:
        """The float type of the result, whatever the input's."""
        raise NotImplementedError

    def integers(self) -> dict[str, Integers]:
        """The integers that an evaluating forward computes with; NaN or infinity among them is a Problem."""
        raise NotImplementedError

    def parameter_values(self) -> dict[str, tuple[Tensor, Quantizer]]:
        """The real values that are quantized with the weight's and the bias' type, with their quantizers."""
        return {}

    def _finish(self, exact: Tensor) -> Tensor:
        """The result as the spec types it; without a data_out type, the exact accumulator."""
        if self.out_quantizer is None:
            return exact
        return self.out_quantizer(exact).to(self.out_quantizer.dtype)

    def _result_dtype(self, exact: torch.dtype) -> torch.dtype:
        return exact if self.out_quantizer is None else self.out_quantizer.dtype

    def extra_repr(self) -> str:
        kinds = (("data_in", self.spec.data_in), ("weight", self.spec.weight), ("bias", self.spec.bias))
        shown = [f"{name}={fixed}" for name, fixed in (*kinds, ("data_out", self.spec.data_out)) if fixed is not None]
        return ", ".join(filter(None, [super().extra_repr(), f"{self.spec.rounding}", *shown]))


def _required(label: str, argument: str, quantizer: Quantizer | None) -> Quantizer:
    if quantizer is None:
        keys = f"{argument}_width and {argument}_frac_width"
        raise ProblemsError(Problem(f"{label}: the type of {argument} is missing", hint=f"add {keys}"))
    return quantizer


def required(module: QuantizedMixin, argument: str, quantizer: Quantizer | None) -> Quantizer:
    """The quantizer of an argument that the op cannot do without."""
    return _required(module.label, argument, quantizer)


def check_finite(label: str, tensors: dict[str, Tensor | None]) -> None:
    """NaN or infinity in a parameter is a Problem that names the parameter and the first such index."""
    with Collector() as problems:
        for name, tensor in tensors.items():
            if tensor is None or bool(torch.isfinite(tensor).all()):
                continue
            first = torch.nonzero(~torch.isfinite(tensor))[0].tolist()
            index = ", ".join(str(k) for k in first)
            count = int((~torch.isfinite(tensor)).sum())
            value = float(tensor.detach()[tuple(first)])
            problems.add(
                f"{label}: {name}[{index}] is {value}",
                hint="a NaN or an infinity has no fixed-point value: check the checkpoint and the training",
                notes=(f"{count} of {tensor.numel()} values of {name} are not finite",) if count > 1 else (),
            )


def integers_of(values: Tensor, quantizer: Quantizer) -> Integers:
    return to_integers(values.detach().cpu().double().numpy(), quantizer.to, quantizer.rounding)


def share(module: nn.Module, name: str, value: Any) -> None:
    """Makes `name` of `module` the very tensor `value`: training one trains the other."""
    if value is None or isinstance(value, nn.Parameter):
        module.register_parameter(name, value)
    else:
        module.register_parameter(name, nn.Parameter(value, requires_grad=False))
