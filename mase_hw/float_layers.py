"""What a float model has behind each of its layers: recorded by `emit`, for reports to compare with."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import torch
from torch import fx

from mase_hw.graph import MaseGraph
from mase_hw.lowering.layers import MATRIX_OPS, Chain

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


def float_layers(graph: MaseGraph, chain: Chain, samples: np.ndarray) -> dict[str, np.ndarray]:
    """`input` and `node.<name>`, each [samples, features] in the order of the design's stream.

    Computed in float64 and stored in float32: so the same bytes come out however torch splits its sums.
    """
    widest = max(chain.features, *(layer.out_features for layer in chain.layers))
    samples = samples[: max(1, min(_SAMPLES, _VALUES // widest))]
    recorder = _Recorder(copy.deepcopy(graph.model).double(), {layer.name for layer in chain.layers})
    with torch.inference_mode():
        recorder.run(torch.from_numpy(samples).double())
    order = slice(None) if chain.order is None else list(chain.order)
    found = {"input": samples.reshape(len(samples), -1).astype(np.float32)[:, order]}
    for layer in chain.layers:
        if layer.op in MATRIX_OPS:
            order = slice(None)  # a matrix takes the input's order in
        found[f"node.{layer.name}"] = recorder.values[layer.name][:, order]
    return found
