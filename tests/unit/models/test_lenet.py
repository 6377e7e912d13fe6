"""lenet: its shapes, its layers, and that it becomes layers on frames."""

from __future__ import annotations

import torch
from support import by_type, randomized, spec

from mase_hw.diagnostics import Collector
from mase_hw.models import get_model, input_shape
from mase_hw.numerics import Fixed
from mase_hw.passes.layers import read_layers
from mase_hw.pipeline.graphs import quantized_graph


def test_shapes() -> None:
    model = get_model("lenet").eval()
    assert input_shape(model) == (1, 28, 28)
    assert model(torch.zeros(2, 1, 28, 28)).shape == (2, 10)
    assert get_model("lenet", num_classes=4).eval()(torch.zeros(2, 1, 28, 28)).shape == (2, 4)
    assert sum(p.numel() for p in model.parameters()) == 29_762


def test_layers() -> None:
    entry = spec(data_in=Fixed(8, 4), weight=Fixed(8, 6), bias=Fixed(8, 4))
    graph = quantized_graph(
        randomized(get_model("lenet"), 0), (1, 28, 28), by_type(conv2d=entry, linear=entry), fuse_batch_norm=True
    )
    with Collector() as problems:
        found = read_layers(graph, problems)
    told = [(layer.name, layer.op, layer.in_features, layer.out_features, layer.out_frame) for layer in found.layers]
    assert told == [
        ("conv1", "conv2d", 1, 8, (28, 28)),
        ("relu1", "relu", 8, 8, (28, 28)),
        ("pool1", "max_pool2d", 8, 8, (14, 14)),
        ("conv2", "conv2d", 8, 16, (10, 10)),
        ("relu2", "relu", 16, 16, (10, 10)),
        ("pool2", "max_pool2d", 16, 16, (5, 5)),
        ("fc1", "linear", 400, 64, ()),
        ("relu3", "relu", 64, 64, ()),
        ("fc2", "linear", 64, 10, ()),
    ]
