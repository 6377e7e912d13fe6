"""redefine_linear_transform_pass and redefine_vgg_transform_pass: sizes follow, nothing grows twice, contradictions."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from graphs import LINEAR, common, graph_of, problems_of
from torch import Tensor, nn

from mase_hw.graph import MaseGraph, deepcopy_mase_graph
from mase_hw.passes import (
    quantize_transform_pass,
    redefine_linear_transform_pass,
    redefine_vgg_transform_pass,
)


def entry(mode: str | None, multiplier: Any = None) -> dict[str, Any]:
    more = {} if multiplier is None else {"channel_multiplier": multiplier}
    return {"config": {"name": mode, **more}}


def lab(first: int = 2, second: int = 4) -> dict[str, Any]:
    return {
        "by": "name",
        "default": entry(None),
        "seq_blocks_2": entry("output_only", first),
        "seq_blocks_4": entry("both", second),
        "seq_blocks_6": entry("input_only"),
    }


def sizes(graph: MaseGraph) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = []
    for module in graph.model.modules():
        if isinstance(module, nn.Linear):
            found.append((module.in_features, module.out_features))
        elif isinstance(module, nn.Conv2d):
            found.append((module.in_channels, module.out_channels))
        elif isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
            found.append((module.num_features,))
    return found


def weights(graph: MaseGraph) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in graph.model.state_dict().items()}


def test_the_labs_network() -> None:
    graph, config = graph_of("jsc-d"), {"config": lab()}
    before = copy.deepcopy(config)
    graph, info = redefine_linear_transform_pass(graph=graph, pass_args=config)
    assert config == before
    assert sizes(graph) == [(16,), (16, 32), (32, 64), (64, 5)]
    assert info["changed"] == {
        "seq_blocks_2": ((16, 16), (16, 32)),
        "seq_blocks_4": ((16, 16), (32, 64)),
        "seq_blocks_6": ((16, 5), (64, 5)),
    }
    assert graph.model(torch.randn(8, 16)).shape == (8, 5)


def test_the_users_model_is_left_alone_and_unchanged_layers_keep_their_parameters() -> None:
    graph = graph_of("jsc-d")
    norm, layer = graph.modules["seq_blocks.0"], graph.modules["seq_blocks.2"]
    kept, bias = layer.weight.clone(), graph.modules["seq_blocks.4"].bias
    redefine_linear_transform_pass(graph, {"config": lab(1, 2)})
    assert graph.modules["seq_blocks.0"] is norm
    assert graph.modules["seq_blocks.2"] is layer
    assert torch.equal(layer.weight, kept)
    assert graph.modules["seq_blocks.4"].bias is not bias


def test_twice_is_once_and_another_config_starts_from_the_original() -> None:
    graph = graph_of("jsc-d")
    redefine_linear_transform_pass(graph, {"config": lab()})
    once = weights(graph)
    _, info = redefine_linear_transform_pass(graph, {"config": lab()})
    assert info["changed"] == {}
    assert all(torch.equal(once[name], tensor) for name, tensor in weights(graph).items())
    graph = deepcopy_mase_graph(graph)  # a copy remembers too
    redefine_linear_transform_pass(graph, {"config": lab(3, 1)})
    assert sizes(graph) == [(16,), (16, 48), (48, 16), (16, 5)]
    redefine_linear_transform_pass(graph, {"config": {}})
    assert sizes(graph) == [(16,), (16, 16), (16, 16), (16, 5)]


def test_weights_come_from_the_seed_and_the_name_alone() -> None:
    def made(seed: int, first: int = 2) -> dict[str, Tensor]:
        graph, _ = redefine_linear_transform_pass(graph_of("jsc-d"), {"config": lab(first), "seed": seed})
        return weights(graph)

    one, same, other = made(1), made(1), made(2)
    assert all(torch.equal(one[name], same[name]) for name in one)
    assert not torch.equal(one["seq_blocks.4.weight"], other["seq_blocks.4.weight"])
    assert torch.equal(one["seq_blocks.6.weight"], made(1, 3)["seq_blocks.6.weight"])
    graph = graph_of("jsc-d")
    state = torch.random.get_rng_state()
    redefine_linear_transform_pass(graph, {"config": lab()})
    assert torch.equal(torch.random.get_rng_state(), state), "the user's own generator is left alone"


def test_batch_norms_and_unnamed_layers_follow() -> None:
    graph, _ = redefine_linear_transform_pass(
        graph_of("test-hhy"), {"config": {"seq_blocks_2": entry("output_only", 3)}}
    )
    assert sizes(graph) == [(16,), (16, 96), (96,), (96, 16), (16,), (16, 8), (8,), (8, 5), (5,)]
    assert graph.model(torch.randn(4, 16)).shape == (4, 5)


def test_a_batch_norm_keeps_its_settings_and_a_layer_its_kind() -> None:
    norm = nn.BatchNorm1d(8, eps=0.5, momentum=None, affine=False)
    net = nn.Sequential(nn.Linear(16, 8, bias=False), norm, nn.Linear(8, 2)).double()
    graph = MaseGraph(net)
    graph.model.train()
    redefine_linear_transform_pass(graph, {"config": {"_0": entry("output_only", 2)}})
    new = graph.modules["1"]
    assert (new.num_features, new.eps, new.momentum, new.affine, new.training) == (16, 0.5, None, False, True)
    assert graph.modules["0"].bias is None
    assert graph.modules["0"].weight.dtype == graph.modules["2"].weight.dtype == torch.float64


@pytest.mark.parametrize("add_value", [True, False])
def test_metadata_follow(add_value: bool) -> None:
    graph = graph_of("jsc-d", batch=6, add_value=add_value)
    redefine_linear_transform_pass(graph, {"config": lab()})
    assert common(graph, "seq_blocks_4")["args"]["data_in_0"]["shape"] == [6, 32]
    assert common(graph, "seq_blocks_5")["results"]["data_out_0"]["shape"] == [6, 64]
    assert common(graph, "seq_blocks_4")["args"]["weight"]["shape"] == [64, 32]
    assert ("value" in common(graph, "seq_blocks_4")["args"]["weight"]) is add_value


def test_without_metadata_it_works_too() -> None:
    from mase_hw.models import get_model

    graph, _ = redefine_linear_transform_pass(MaseGraph(get_model("jsc-d")), {"config": lab()})
    assert sizes(graph)[1:] == [(16, 32), (32, 64), (64, 5)]


class Vgg(nn.Module):
    """Convolutions, norms, pooling, a view with a constant in it, a classifier."""

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.feature_layers = nn.Sequential(
            *(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(inplace=True)),
            *(
                nn.Conv2d(4, 6, 3, padding="same", padding_mode="reflect"),
                nn.BatchNorm2d(6),
                nn.ReLU(),
                nn.MaxPool2d(2),
            ),
        )
        self.classifier = nn.Sequential(nn.Linear(6 * 4 * 4, 10), nn.ReLU(), nn.Linear(10, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.feature_layers(x)
        if self.how == "view":
            x = x.view(-1, 96)
        elif self.how == "size":
            x = x.view(x.size(0), -1)
        elif self.how == "reshape":
            x = torch.reshape(x, (x.shape[0], 96))
        else:
            x = torch.flatten(x, 1)
        return self.classifier(x)


CONV = {"by": "name", "feature_layers_0": entry("output_only", 2), "feature_layers_3": entry("both", 4)}


@pytest.mark.parametrize("how", ["view", "size", "reshape", "flatten"])
def test_convolutions_and_what_comes_after_them(how: str) -> None:
    graph = graph_of(Vgg(how), 3, 8, 8, batch=5)
    redefine_vgg_transform_pass(graph, {"config": {**CONV, "classifier_0": entry("both", 2)}})
    assert sizes(graph) == [(3, 8), (8,), (8, 24), (24,), (384, 20), (20, 3)]
    assert graph.modules["feature_layers.3"].padding_mode == "reflect"
    assert graph.model(torch.randn(5, 3, 8, 8)).shape == (5, 3)
    redefine_vgg_transform_pass(graph, {"config": {**CONV, "classifier_0": entry("both", 2)}})
    assert sizes(graph) == [(3, 8), (8,), (8, 24), (24,), (384, 20), (20, 3)]
    redefine_vgg_transform_pass(graph, {})  # back; the config may also be the arguments themselves
    assert sizes(graph) == [(3, 4), (4,), (4, 6), (6,), (96, 10), (10, 3)]
    assert graph.model(torch.randn(5, 3, 8, 8)).shape == (5, 3)


def refused(
    model: nn.Module | str, config: dict[str, Any], *shape: int, vgg: bool = False
) -> list[tuple[str, str | None]]:
    graph = graph_of(model, *shape) if not isinstance(model, MaseGraph) else model
    before, code = sizes(graph), graph.model.code
    call = redefine_vgg_transform_pass if vgg else redefine_linear_transform_pass
    told = problems_of(call, graph, {"config": config})
    assert (sizes(graph), graph.model.code) == (before, code), "a refused pass leaves the graph as it was"
    return [(problem.message, problem.hint) for problem in told]


def test_contradictions() -> None:
    assert refused("jsc-d", {"seq_blocks_2": entry("both", 2), "seq_blocks_6": entry("input_only")}) == [
        (
            "seq_blocks_2: name = both widens its input, but the model's input before it is not widened",
            "make it output_only",
        ),
        (
            "seq_blocks_6: name = input_only widens its input, but seq_blocks_4 before it is not widened",
            "make it NA, or seq_blocks_4 output_only or both",
        ),
    ]
    told = refused("jsc-d", {"seq_blocks_2": entry("output_only", 2), "seq_blocks_4": entry("output_only", 2)})
    assert told == [
        ("seq_blocks_4: name = output_only keeps its input, but seq_blocks_2 before it is widened", "make it both")
    ]
    ((text, hint),) = refused("jsc-d", {"seq_blocks_6": entry("output_only", 2)})
    assert text == "seq_blocks_6: the model's result would be 2 times as wide as it is"
    assert "input_only" in str(hint)
    graph, _ = redefine_linear_transform_pass(graph_of("jsc-d"), {"config": lab(1, 1)})  # a multiplier of 1 is a choice
    assert sizes(graph) == [(16,), (16, 16), (16, 16), (16, 5)]


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (entry("output_only"), 'name = "output_only" needs a channel_multiplier'),
        (entry("output_only", 0), "channel_multiplier = 0 is out of range"),
        (entry("output_only", -2), "channel_multiplier = -2 is out of range"),
        (entry("output_only", 1.5), "channel_multiplier = 1.5 is not an integer"),
        (entry("output_only", True), "channel_multiplier = true is not an integer"),
        (entry("output", 2), 'name = "output" is unknown'),
        ({"config": {"name": "both", "channel_multipler": 2}}, "unknown key channel_multipler"),
    ],
)
def test_values_are_checked(wrong: dict[str, Any], text: str) -> None:
    told = refused("jsc-d", {"seq_blocks_2": wrong})
    assert told[0][0] == f"passes.redefine.seq_blocks_2: {text}"


def test_entries_must_mean_a_layer() -> None:
    ((text, hint),) = refused("jsc-d", {"seq_block_2": entry("output_only", 2)})
    assert (text, hint) == ("passes.redefine: no node is named seq_block_2", "did you mean seq_blocks_2?")
    ((text, _),) = refused("jsc-d", {"seq_blocks_1": entry("output_only", 2)})
    assert text == "passes.redefine.seq_blocks_1: seq_blocks_1 is no linear module but relu"
    ((text, _),) = refused(Vgg("view"), {"feature_layers_0": entry("output_only", 2)}, 3, 8, 8)
    assert text == "passes.redefine.feature_layers_0: feature_layers_0 is no linear module but conv2d"


class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 8), nn.Linear(16, 8), nn.Linear(8, 8)
        self.ln = nn.LayerNorm(8)
        self.scale = nn.Parameter(torch.ones(8))

    def forward(self, x: Tensor) -> Tensor:
        joined = self.a(x) + self.b(x)
        return self.ln(self.c(self.c(joined))) * self.scale


def test_branches_shared_modules_and_tensors_of_the_models_own() -> None:
    ((text, _),) = refused(Branches(), {"a": entry("output_only", 2)})[:1]
    assert text == "add: joins a (2 times as wide) with b (1 times as wide)"
    both = {"a": entry("output_only", 2), "b": entry("output_only", 2)}
    told = refused(Branches(), both)
    assert told[0][0] == "c_1: its module c is called twice, and would have to be 16 -> 8 and 8 -> 8"
    told = refused(Branches(), {"c_1": entry("output_only", 2)})
    assert "ln: layernorm cannot follow c_1, which is 2 times as wide" in [text for text, _ in told]

    class Own(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.weight = nn.Linear(16, 8), nn.Parameter(torch.ones(2, 8))

        def forward(self, x: Tensor) -> Tensor:
            return F.linear(self.fc(x), self.weight)

    told = refused(Own(), {"fc": entry("output_only", 2)})
    assert told[0][0] == "linear: linear cannot follow fc, which is 2 times as wide"


def test_quantized_and_grouped_layers_cannot_change_size() -> None:
    graph, _ = quantize_transform_pass(graph_of("jsc-d"), LINEAR)
    told = refused(graph, {"seq_blocks_2": entry("output_only", 2)})
    assert told[0] == ("seq_blocks_2: is quantized already and cannot become 16 -> 32", "redefine first, quantize then")
    net = nn.Sequential(nn.Conv2d(4, 4, 3, groups=2), nn.Flatten(), nn.Linear(16, 2))
    told = refused(net, {"_0": entry("output_only", 2)}, 4, 4, 4, vgg=True)
    assert told[0][0] == "_0: a convolution with groups = 2 cannot become 4 -> 8"


def test_quantized_layers_that_stay_keep_their_types() -> None:
    only = {"by": "name", "seq_blocks_2": LINEAR["linear"]}
    graph, _ = quantize_transform_pass(graph_of("jsc-d"), only)
    redefine_linear_transform_pass(graph, {"config": {"seq_blocks_4": entry("output_only", 2)}})
    assert sizes(graph) == [(16,), (16, 16), (16, 32), (32, 5)]
    assert common(graph, "seq_blocks_2")["args"]["weight"]["precision"] == [8, 4]
    assert common(graph, "seq_blocks_2")["args"]["data_in_0"]["type"] == "integer"
    assert common(graph, "seq_blocks_4")["args"]["weight"]["precision"] == [32]


def test_what_was_not_foreseen_is_undone() -> None:
    graph = graph_of(nn.Sequential(nn.Linear(16, 8), nn.Unflatten(1, (2, 4)), nn.Flatten(), nn.Linear(8, 2)))
    before = weights(graph)
    told = refused(graph, {"_0": entry("output_only", 2)})
    assert "_1" in told[0][0]
    assert all(torch.equal(before[name], tensor) for name, tensor in weights(graph).items())
    assert common(graph, "_3")["args"]["weight"]["shape"] == [2, 8]
