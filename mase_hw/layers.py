"""What lowering needs to know of a model: a graph of layers with integers, no torch in sight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Place
from mase_hw.geometry import Frame, Geometry
from mase_hw.numerics.codes import Affine, Codes
from mase_hw.numerics.rounding import Integers

Order = tuple[int, ...] | None  # element k of a stream is element order[k] of torch's flattened tensor; None: the same


@dataclass(frozen=True)
class Layer:
    """One node of the model's graph that becomes hardware."""

    name: str
    op: str
    spec: QuantSpec  # not quantized: only where the operator allows it
    in_features: int  # of all its inputs together, of one vector each
    out_features: int
    integers: Mapping[str, Integers] = field(default_factory=dict)  # linear: weight, bias; batch norm: scale, shift;
    # a convolution has them in torch's shapes, an average has a divisor for each window
    place: Place | None = None  # the line of the user's model
    called: str = ""  # what the user's model calls, for messages: `Linear`, `torch.relu`
    inputs: tuple[str, ...] = ()  # the layers, or inputs of the model, that it reads, in the order of its arguments
    frame: Frame = ()  # positions of what it reads; () where it reads a plain vector, also one that was a frame
    geometry: Geometry | None = None  # of a layer that reads windows of its frame
    groups: int = 1  # of a convolution: outputs of a group read the channels of that group alone
    factor: Frame = ()  # of an upsampling: how often each position is repeated, in each dimension
    order: Order = None  # of its result, where that is a plain vector; a frame goes position by position

    @property
    def out_frame(self) -> Frame:
        """Positions of its result."""
        if self.factor:
            return tuple(size * times for size, times in zip(self.frame, self.factor, strict=True))
        return self.frame if self.geometry is None else self.geometry.out_frame

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
    frame: Frame = ()  # its positions, where it is read as a frame; the features are then those of one position
    codes: Codes | None = None  # how real numbers become its integers, where that takes a scale

    @property
    def features(self) -> int:
        return prod(self.shape) // prod(self.frame)


@dataclass(frozen=True)
class LayerGraph:
    """The layers in topological order, what the model takes, and which results it returns.

    Names are unique over inputs and layers. A result may be read several times, also by the output.
    """

    inputs: tuple[ModelInput, ...]
    layers: tuple[Layer, ...]
    outputs: tuple[str, ...]  # layers, in the order in which the model returns their results
    output_orders: tuple[Order, ...] = ()  # for each output; left out: the same order
    output_values: tuple[Affine | None, ...] = ()  # what an output's integers stand for, where that takes a scale

    def __post_init__(self) -> None:
        if not self.output_values:
            object.__setattr__(self, "output_values", (None,) * len(self.outputs))
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
        """Features of one vector of a result, or of an input of the model."""
        layer = self.by_name.get(name)
        return layer.out_features if layer else self._input(name).features

    def frame_of(self, name: str) -> Frame:
        """Positions of a result, or of an input of the model."""
        layer = self.by_name.get(name)
        return layer.out_frame if layer else self._input(name).frame

    def features_read(self, layer: Layer) -> list[int]:
        """Features of one vector of each input, as the layer reads it: a frame may be read as one long vector."""
        sizes = ((self.features_of(name), prod(self.frame_of(name))) for name in layer.inputs)
        return [features * positions // prod(layer.frame) for features, positions in sizes]

    def _input(self, name: str) -> ModelInput:
        return next(x for x in self.inputs if x.name == name)

    @property
    def input(self) -> ModelInput:
        """The input of a model that has one."""
        (x,) = self.inputs
        return x


def chain(layers: Sequence[Layer], shape: tuple[int, ...], order: Order = None) -> LayerGraph:
    """Layers that follow one another: each reads the one before it, the first the model's input."""
    names = ["x", *(layer.name for layer in layers)]
    joined = tuple(replace(layer, inputs=(before,)) for layer, before in zip(layers, names[:-1], strict=True))
    return LayerGraph((ModelInput("x", shape, order),), joined, (names[-1],))
