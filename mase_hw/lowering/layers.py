"""What lowering needs to know of a model: a chain of layers with integers, no torch in sight."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Place
from mase_hw.numerics.rounding import Integers

MATRIX_OPS = ("linear",)  # features in and out may differ
ELEMENTWISE_OPS = ("relu", "batch_norm1d")
TYPELESS_OPS = ("relu",)  # may be left unquantized: they hand their reader's type on to their producer


@dataclass(frozen=True)
class Layer:
    """One node of the model's graph that becomes hardware."""

    name: str
    op: str
    spec: QuantSpec  # not quantized: only for TYPELESS_OPS
    in_features: int
    out_features: int
    integers: Mapping[str, Integers] = field(default_factory=dict)  # linear: weight, bias; batch norm: scale, shift
    place: Place | None = None  # the line of the user's model
    called: str = ""  # what the user's model calls, for messages: `Linear`, `torch.relu`

    @property
    def note(self) -> tuple[str, ...]:
        """For a Problem: which line of the model this is."""
        return (f"{self.name} is the {self.called} called at {self.place}",) if self.place else ()


@dataclass(frozen=True)
class Chain:
    """The layers from input to output. `order` maps the stream's elements to the model's flattened input."""

    layers: tuple[Layer, ...]
    input_shape: tuple[int, ...]  # of one sample
    order: tuple[int, ...] | None = None  # None: the same order

    @property
    def features(self) -> int:
        return self.layers[0].in_features

    @property
    def output_order(self) -> tuple[int, ...] | None:
        """The same for the output: a matrix takes the input's order in, elementwise layers hand it on."""
        return None if any(layer.op in MATRIX_OPS for layer in self.layers) else self.order
