"""What a float model has behind each of its layers: recorded by `emit`, for reports to compare with."""

from __future__ import annotations

import copy
from math import prod
from typing import Any

import numpy as np
import torch
from torch import fx

from mase_hw.graph import MaseGraph
from mase_hw.layers import LayerGraph, Order
from mase_hw.passes.frames import stream_order
from mase_hw.passes.node_layers import as_order

_SAMPLES = 256
_VALUES = 1 << 17  # of the widest layer, so that wide networks do not make large builds


class _Recorder(fx.Interpreter):
    """Runs a graph and keeps the values of the nodes that are `wanted`, one row per sample."""

    def __init__(self, module: fx.GraphModule, wanted: set[str]) -> None:
        super().__init__(module)
        self.wanted = wanted
        self.values: dict[str, np.ndarray] = {}

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        if n.name in self.wanted and isinstance(result, torch.Tensor):
            # A copy: an in-place ReLU after this node writes over the tensor.
            self.values[n.name] = result.detach().flatten(1).numpy().astype(np.float32)
        return result


def float_layers(
    graph: MaseGraph, layers: LayerGraph, samples: np.ndarray | tuple[np.ndarray, ...]
) -> dict[str, np.ndarray]:
    """`input` and `node.<name>`, each [samples, features] in the order of the design's stream.

    With several inputs, `samples` has an array for each, and they are `input.<name>`.
    Computed in float64 and stored in float32: so the same bytes come out however torch splits its sums.
    """
    widest = max(prod(layers.frame_of(name)) * layers.features_of(name) for name in layers.readers)
    count = max(1, min(_SAMPLES, _VALUES // widest))
    arrays = [array[:count] for array in (samples if isinstance(samples, tuple) else (samples,))]
    recorder = _Recorder(copy.deepcopy(graph.model).double(), {layer.name for layer in layers.layers})
    with torch.inference_mode():
        recorder.run(*(torch.from_numpy(array).double() for array in arrays))
    orders = stream_orders(layers)
    found: dict[str, np.ndarray] = {}
    for x, array in zip(layers.inputs, arrays, strict=True):
        key = "input" if len(layers.inputs) == 1 else f"input.{x.name}"
        found[key] = _ordered(array.reshape(len(array), -1).astype(np.float32), orders[x.name])
    for layer in layers.layers:
        found[f"node.{layer.name}"] = _ordered(recorder.values[layer.name], orders[layer.name])
    return found


def stream_orders(layers: LayerGraph) -> dict[str, Order]:
    """The order of every input and of every layer's result."""
    orders: dict[str, Order] = {x.name: x.order for x in layers.inputs}
    for layer in layers.layers:
        orders[layer.name] = layer.order
        if layer.frame:
            orders[layer.name] = as_order(stream_order((layer.out_features, *layer.out_frame)))
    return orders


def _ordered(values: np.ndarray, order: Order) -> np.ndarray:
    return values if order is None else values[:, list(order)]
