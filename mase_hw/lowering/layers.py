"""What lowering needs to know of a model: a graph of layers with integers, no torch in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Place
from mase_hw.numerics.rounding import Integers

MATRIX_OPS = ("linear",)  # features in and out may differ
ELEMENTWISE_OPS = ("relu", "batch_norm1d")
TYPELESS_OPS = ("relu",)  # may be left unquantized: they hand their reader's type on to their producer

Order = tuple[int, ...] | None  # element k of a stream is element order[k] of torch's flattened tensor; None: the same


@dataclass(frozen=True)
class Layer:
    """One node of the model's graph that becomes hardware."""

    name: str
    op: str
    spec: QuantSpec  # not quantized: only where the operator allows it
    in_features: int  # of all its inputs together, of one vector each
    out_features: int
    integers: Mapping[str, Integers] = field(default_factory=dict)  # linear: weight, bias; batch norm: scale, shift
    place: Place | None = None  # the line of the user's model
    called: str = ""  # what the user's model calls, for messages: `Linear`, `torch.relu`
    inputs: tuple[str, ...] = ()  # the layers, or inputs of the model, that it reads, in the order of its arguments

    @property
    def note(self) -> tuple[str, ...]:
        """For a Problem: which line of the model this is."""
        return (f"{self.name} is the {self.called} called at {self.place}",) if self.place else ()


@dataclass(frozen=True)
class ModelInput:
    """An argument of the model's forward."""

    name: str
    shape: tuple[int, ...]  # of one sample
    order: Order = None

    @property
    def features(self) -> int:
        return prod(self.shape)


@dataclass(frozen=True)
class LayerGraph:
    """The layers in topological order, what the model takes, and which results it returns.

    Names are unique over inputs and layers. A result may be read several times, also by the output.
    """

    inputs: tuple[ModelInput, ...]
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]  # layers, in the order in which the model returns their results
    output_orders: tuple[Order, ...] = ()  # for each output; left out: the same order

    def __post_init__(self) -> None:
        if not self.output_orders:
            object.__setattr__(self, "output_orders", (None,) * len(self.outputs))

    @cached_property
    def by_name(self) -> dict[str, Layer]:
        return {layer.name: layer for layer in self.layers}

    @cached_property
    def readers(self) -> dict[str, list[tuple[Layer, int]]]:
        """For each result, the layers that read it, and as which of their inputs. The output is not among them."""
        found: dict[str, list[tuple[Layer, int]]] = {
            name: [] for name in (*(x.name for x in self.inputs), *self.by_name)
        }
        for layer in self.layers:
            for port, name in enumerate(layer.inputs):
                found[name].append((layer, port))
        return found

    def features_of(self, name: str) -> int:
        """Features of a result, or of an input of the model."""
        layer = self.by_name.get(name)
        return layer.out_features if layer else next(x.features for x in self.inputs if x.name == name)

    @property
    def input(self) -> ModelInput:
        """The input of a model that has one."""
        (x,) = self.inputs
        return x


def chain(layers: Sequence[Layer], shape: tuple[int, ...], order: Order = None) -> LayerGraph:
    """Layers that follow one another: each reads the one before it, the first the model's input."""
    names = ["x", *(layer.name for layer in layers)]
    joined = tuple(replace(layer, inputs=(before,)) for layer, before in zip(layers, names[:-1], strict=True))
    kept = None if any(layer.op in MATRIX_OPS for layer in layers) else order
    return LayerGraph((ModelInput("x", shape, order),), joined, (names[-1],), (kept,))
