"""VGG7: its layers, their names in the graph, its shapes."""

from __future__ import annotations

import torch
from torch import nn

from mase_hw.graph import MaseGraph
from mase_hw.models import get_model, input_shape

CONVOLUTIONS = {0: (3, 128), 3: (128, 128), 7: (128, 256), 10: (256, 256), 14: (256, 512), 17: (512, 512)}


def test_layers() -> None:
    model = get_model("vgg7")
    features = model.get_submodule("feature_layers")
    assert isinstance(features, nn.Sequential)
    assert len(features) == 21
    for index, (before, after) in CONVOLUTIONS.items():
        convolution, norm, relu = features[index : index + 3]
        assert isinstance(convolution, nn.Conv2d)
        assert (convolution.in_channels, convolution.out_channels) == (before, after)
        assert (convolution.kernel_size, convolution.padding, convolution.stride) == ((3, 3), (1, 1), (1, 1))
        assert isinstance(norm, nn.BatchNorm2d)
        assert norm.num_features == after
        assert isinstance(relu, nn.ReLU)
    assert all(isinstance(features[index], nn.MaxPool2d) for index in (6, 13, 20))
    linear = [layer for layer in model.modules() if isinstance(layer, nn.Linear)]
    assert [(layer.in_features, layer.out_features) for layer in linear] == [(8192, 1024), (1024, 1024), (1024, 10)]


def test_shapes() -> None:
    model = get_model("vgg7").eval()
    assert input_shape(model) == (3, 32, 32)
    with torch.no_grad():
        assert model(torch.zeros(2, 3, 32, 32)).shape == (2, 10)
    assert get_model("vgg7", num_classes=4).get_submodule("last_layer").out_features == 4


def test_names_of_nodes() -> None:
    graph = MaseGraph(get_model("vgg7").eval())
    modules = [node.name for node in graph.fx_graph.nodes if node.op == "call_module"]
    features = [f"feature_layers_{index}" for index in range(21)]
    assert modules == [*features, *(f"classifier_{index}" for index in range(4)), "last_layer"]
    others = [node.name for node in graph.fx_graph.nodes if node.op in ("call_function", "call_method")]
    assert others == ["flatten"]
