"""What a float model has behind each of its layers: recorded by `emit`, for reports to compare with."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import fx

from mase_hw.graph import MaseGraph
from mase_hw.layers import LayerGraph, Order
from mase_hw.ops.operator import operator_of

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


def float_layers(graph: MaseGraph, layers: LayerGraph, samples: np.ndarray) -> dict[str, np.ndarray]:
    """`input` and `node.<name>`, each [samples, features] in the order of the design's stream.

    Computed in float64 and stored in float32: so the same bytes come out however torch splits its sums.
    """
    widest = max(layers.input.features, *(layer.out_features for layer in layers.layers))
    samples = samples[: max(1, min(_SAMPLES, _VALUES // widest))]
    recorder = _Recorder(copy.deepcopy(graph.model).double(), {layer.name for layer in layers.layers})
    with torch.inference_mode():
        recorder.run(torch.from_numpy(samples).double())
    orders = {layers.input.name: layers.input.order}
    found = {"input": _ordered(samples.reshape(len(samples), -1).astype(np.float32), layers.input.order)}
    for layer in layers.layers:  # a matrix takes the order of its input in
        orders[layer.name] = None if operator_of(layer.op).matrix else orders[layer.inputs[0]]
        found[f"node.{layer.name}"] = _ordered(recorder.values[layer.name], orders[layer.name])
    return found


def _ordered(values: np.ndarray, order: Order) -> np.ndarray:
    return values if order is None else values[:, list(order)]
