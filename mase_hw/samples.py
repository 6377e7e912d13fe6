"""Samples through the quantized torch model and through the integers: the same, to the last bit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from mase_hw.datasets import Dataset
from mase_hw.emit import Reals, Samples
from mase_hw.float_layers import float_layers
from mase_hw.graph import MaseGraph
from mase_hw.ir import Design
from mase_hw.layers import LayerGraph
from mase_hw.lowering.types import types_of
from mase_hw.modules.codes import FromCodes
from mase_hw.numerics import to_integers
from mase_hw.numerics.rounding import Integers
from mase_hw.pipeline.graphs import traced

_BATCH = 1024
Arrays = np.ndarray | Sequence[np.ndarray]  # of the one input, or of each


def run_samples(model: nn.Module, graph: MaseGraph, layers: LayerGraph, design: Design, dataset: Dataset) -> Samples:
    """The data set's test split through the float and the quantized model, and through the integer reference.

    The quantized torch model and the reference must agree to the last bit; if they do not, it is our bug.
    """
    x = quantize_inputs(layers, dataset.x_test)
    y = run_quantized(graph, layers, design, dataset.x_test)
    for got, wanted in zip(y, design.results(*x), strict=True):
        assert np.array_equal(got, wanted), "the quantized torch model and the integer reference differ"
    first = forward(model, dataset.x_test)[0]
    float_labels = np.moveaxis(first, 1, -1).reshape(len(first), -1).argmax(1)  # of a frame, in the stream's order
    return Samples(x, y, dataset.y_test, float_labels)


def run_floats(
    model: nn.Module, layers: LayerGraph, samples: np.ndarray, *, fuse_batch_norm: bool
) -> dict[str, np.ndarray]:
    """What the float model has at its input and behind each layer, for the first of these samples."""
    graph = traced(model, layers.input.shape, fuse_batch_norm=fuse_batch_norm)
    return float_layers(graph, layers, samples)


def reals(layers: LayerGraph) -> Reals:
    """How real samples become vectors, for those who have the build alone."""
    types = types_of(layers).inputs
    return Reals(
        tuple(types[x.name].rounding for x in layers.inputs),
        tuple(x.order for x in layers.inputs),
        layers.output_orders,
        tuple(x.codes for x in layers.inputs),
        layers.output_values,
    )


def quantize_inputs(layers: LayerGraph, samples: Arrays) -> tuple[Integers, ...]:
    """Samples as the vectors of the input streams, [samples * positions, features], in the streams' order."""
    types, found = types_of(layers).inputs, []
    for x, rows in zip(layers.inputs, _each(samples), strict=True):
        wanted = types[x.name]
        real = rows.reshape(len(rows), -1)
        flat = to_integers(real, wanted.fixed, wanted.rounding) if x.codes is None else x.codes.integers(real)
        ordered = flat if x.order is None else flat[:, list(x.order)]
        found.append(np.ascontiguousarray(ordered.reshape(-1, x.features)))
    return tuple(found)


def run_quantized(graph: MaseGraph, layers: LayerGraph, design: Design, samples: Arrays) -> tuple[Integers, ...]:
    """What the quantized torch model computes, as the vectors of the output streams."""
    found = []
    for module in graph.model.modules():
        if isinstance(module, FromCodes):
            module.raw = True
    results = forward(graph.model, samples)
    for module in graph.model.modules():
        if isinstance(module, FromCodes):
            module.raw = False
    for stream, order, values in zip(design.outputs, layers.output_orders, results, strict=True):
        scaled = values.reshape(len(values), -1) * 2.0**stream.fixed.frac
        integers = scaled.astype(np.int64)
        assert np.array_equal(integers, scaled), "the quantized torch model left the grid of its output type"
        ordered = integers if order is None else integers[:, list(order)]
        found.append(np.ascontiguousarray(ordered.reshape(-1, stream.features)))
    return tuple(found)


def forward(model: nn.Module, samples: Arrays) -> list[np.ndarray]:
    """What a model returns for samples, each of its results in float64."""
    model.eval()
    each = _each(samples)
    parts: list[list[torch.Tensor]] = []
    with torch.inference_mode():
        for k in range(0, len(each[0]), _BATCH):
            # Copies: a layer that works in place must not overwrite the samples.
            result = model(*(torch.tensor(rows[k : k + _BATCH]) for rows in each))
            parts.append(list(result) if isinstance(result, tuple | list) else [result])
    return [torch.cat(column).double().numpy() for column in zip(*parts, strict=True)]


def _each(samples: Arrays) -> list[np.ndarray]:
    return [samples] if isinstance(samples, np.ndarray) else list(samples)
