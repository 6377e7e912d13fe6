"""prune_transform_pass: which weights go, that they stay away, and what is said about it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from graphs import LINEAR, common, graph_of, problems_of, software
from torch import Tensor, nn

from mase_hw.graph import MaseGraph, deepcopy_mase_graph
from mase_hw.modules import LinearInteger
from mase_hw.passes import prune_transform_pass, quantize_transform_pass, report_node_meta_param_analysis_pass
from mase_hw.passes.transform.pruned import keep_zeros


def prune(graph: MaseGraph, sparsity: float, **more: Any) -> dict[str, Any]:
    chosen = {key: more.pop(key) for key in ("by", "target_weight_nodes") if key in more}
    return prune_transform_pass(graph, {"weight": {"sparsity": sparsity, **more}, **chosen})[1]


def linears(graph: MaseGraph) -> list[nn.Linear]:
    return [module for module in graph.modules.values() if isinstance(module, nn.Linear)]


def smallest(weight: Tensor, count: int) -> np.ndarray:
    """Where the `count` smallest magnitudes are."""
    flat = weight.detach().abs().numpy().ravel()
    gone = np.zeros(flat.size, bool)
    gone[np.argsort(flat, kind="stable")[:count]] = True
    return gone.reshape(weight.shape)


def test_elementwise_local() -> None:
    graph = graph_of("jsc-d")
    before = [layer.weight.detach().clone() for layer in linears(graph)]
    info = prune(graph, 0.3)
    for old, layer in zip(before, linears(graph), strict=True):
        gone = smallest(old, round(0.3 * old.numel()))
        assert np.array_equal((layer.weight == 0).numpy(), gone)
        assert np.array_equal(layer.pruning_masks.numpy(), ~gone)
        assert torch.equal(layer.weight[torch.from_numpy(~gone)], old[torch.from_numpy(~gone)])
    assert info["sparsity"] == (77 + 77 + 24) / 592
    assert [row["zeros"] for row in info["layers"]] == [77, 77, 24]
    assert "seq_blocks_6" in info["table"]


def test_elementwise_global() -> None:
    graph = graph_of("jsc-d")
    with torch.no_grad():
        linears(graph)[0].weight.mul_(0.01)  # all of them are smaller than most of the others
    joined = torch.cat([layer.weight.detach().flatten() for layer in linears(graph)])
    info = prune(graph, 0.5, scope="global")
    gone = smallest(joined, 296)
    assert np.array_equal(torch.cat([(layer.weight == 0).flatten() for layer in linears(graph)]).numpy(), gone)
    assert info["layers"][0]["zeros"] > 230
    assert info["sparsity"] == 0.5


@pytest.mark.parametrize("scope", ["local", "global"])
def test_neurons(scope: str) -> None:
    graph = graph_of("jsc-d")
    before = [layer.weight.detach().abs().mean(1) for layer in linears(graph)]
    biases = [layer.bias.detach().clone() for layer in linears(graph)]
    info = prune(graph, 0.25, granularity="neuron", scope=scope)
    if scope == "local":
        expected = [smallest(rows, round(0.25 * len(rows))) for rows in before]
    else:
        expected = list(np.split(smallest(torch.cat(before), round(0.25 * 37)), [16, 32]))
    for layer, gone, bias in zip(linears(graph), expected, biases, strict=True):
        assert np.array_equal((layer.weight == 0).all(1).numpy(), gone)
        assert np.array_equal((layer.weight == 0).any(1).numpy(), gone)
        assert torch.equal(layer.bias, bias)
    assert [row["zero neurons"] for row in info["layers"]] == [int(gone.sum()) for gone in expected]


@pytest.mark.parametrize("granularity", ["elementwise", "neuron"])
@pytest.mark.parametrize("scope", ["local", "global"])
def test_twice_is_once_and_pruned_weights_stay_pruned(granularity: str, scope: str) -> None:
    graph = graph_of("jsc-d")
    with torch.no_grad():
        linears(graph)[0].weight[3:7] = 0.0  # more zeros than asked for, in places that must not wander
    options = {"granularity": granularity, "scope": scope}
    prune(graph, 0.1, **options)
    masks = [layer.pruning_masks.clone() for layer in linears(graph)]
    prune(graph, 0.1, **options)
    assert all(torch.equal(mask, layer.pruning_masks) for mask, layer in zip(masks, linears(graph), strict=True))
    prune(graph, 0.0, **options)
    assert all(torch.equal(mask, layer.pruning_masks) for mask, layer in zip(masks, linears(graph), strict=True))
    prune(graph, 0.4, **options)
    for mask, layer in zip(masks, linears(graph), strict=True):
        assert bool((layer.pruning_masks <= mask).all())
    pruned = sum(float((1 - layer.pruning_masks).sum()) for layer in linears(graph))
    if granularity == "elementwise":
        assert pruned == (round(0.4 * 592) if scope == "global" else 102 + 102 + 32)


def test_elements_then_neurons() -> None:
    net = nn.Sequential(nn.Linear(4, 2, bias=False))
    with torch.no_grad():
        net[0].weight.copy_(torch.tensor([[9.0, 9.0, 0.1, 0.1], [1.0, 1.0, 1.0, 1.0]]))
    graph = graph_of(net, 4)
    prune(graph, 0.25)
    prune(graph, 0.5, granularity="neuron")
    assert linears(graph)[0].weight.tolist() == [[9.0, 9.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]


def train(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    torch.manual_seed(1)
    for _ in range(5):
        optimizer.zero_grad()
        model(torch.randn(32, 16)).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("quantized", ["no", "before", "after"])
@pytest.mark.parametrize("adam", [True, False])
def test_training_keeps_the_zeros(quantized: str, adam: bool) -> None:
    graph = graph_of("jsc-d")
    if quantized == "before":
        graph, _ = quantize_transform_pass(graph, LINEAR)
    prune(graph, 0.5)
    if quantized == "after":
        graph, _ = quantize_transform_pass(graph, LINEAR)
    assert isinstance(linears(graph)[0], LinearInteger) is (quantized != "no")
    before = [layer.weight.detach().clone() for layer in linears(graph)]
    parameters = graph.model.parameters()
    make = torch.optim.Adam if adam else torch.optim.SGD
    train(graph.model, make(parameters, lr=0.01, weight_decay=0.1))
    for old, layer in zip(before, linears(graph), strict=True):
        assert torch.equal(layer.weight == 0, old == 0)
        assert not torch.equal(layer.weight, old)
    if quantized != "no":
        assert np.count_nonzero(linears(graph)[0].integers()["weight"]) <= 128


def test_a_copy_keeps_the_zeros_once_told_to() -> None:
    graph = graph_of("jsc-d")
    prune(graph, 0.5)
    copied = deepcopy_mase_graph(graph)
    keep_zeros(copied.model)
    keep_zeros(copied.model)
    train(copied.model, torch.optim.SGD(copied.model.parameters(), lr=0.01))
    assert [int((layer.weight == 0).sum()) for layer in linears(copied)] == [128, 128, 40]
    assert "pruning_masks" not in "".join(copied.model.state_dict())


def test_the_sparsity_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    graph = graph_of("jsc-tiny")
    prune(graph, 0.25)
    assert software(graph, "seq_blocks_2")["args"]["weight"]["sparsity"] == 0.25
    value = common(graph, "seq_blocks_2")["args"]["weight"]["value"]
    assert int((value == 0).sum()) == 20
    report_node_meta_param_analysis_pass(graph, {"which": ("software",)})
    assert "sparsity: 0.25" in capsys.readouterr().out


def test_targets() -> None:
    graph = graph_of("jsc-d")
    info = prune(graph, 1.0, by="name", target_weight_nodes=["seq_blocks_4"])
    assert [row["node"] for row in info["layers"]] == ["seq_blocks_4"]
    assert [bool((layer.weight == 0).all()) for layer in linears(graph)] == [False, True, False]
    (problem,) = problems_of(prune, graph, 0.5, by="name", target_weight_nodes=["seq_blocks_1"])
    assert "seq_blocks_1 (relu) has no weights to prune" in problem.message


def test_convolutions_and_shared_modules() -> None:
    class Twice(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(2, 2, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            return self.conv(self.conv(x)) @ x

    graph = graph_of(Twice(), 2, 4, 4)
    info = prune(graph, 0.5, granularity="neuron")
    assert [(row["node"], row["weights"], row["zeros"]) for row in info["layers"]] == [("conv", 36, 18)]


def test_functional_forms_are_named_as_skipped() -> None:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 16))

        def forward(self, x: Tensor) -> Tensor:
            return nn.functional.linear(x, self.weight)

    info = prune(graph_of(Functional()), 0.5)
    assert (info["skipped"], info["layers"], info["sparsity"]) == (["linear"], [], 0.0)


def test_a_nan_is_named_and_nothing_is_pruned() -> None:
    graph = graph_of("jsc-d")
    with torch.no_grad():
        linears(graph)[0].weight[0, 1] = float("nan")
        linears(graph)[2].weight[2, 3] = float("inf")
    told = [problem.message for problem in problems_of(prune, graph, 0.5)]
    assert told == ["seq_blocks_2: weight[0, 1] is nan", "seq_blocks_6: weight[2, 3] is inf"]
    assert not (linears(graph)[1].weight == 0).any()


def test_mistakes() -> None:
    def told(pass_args: dict[str, Any]) -> list[str]:
        return [
            problem.message.partition(": ")[2]
            for problem in problems_of(prune_transform_pass, graph_of("jsc-d"), pass_args)
        ]

    assert told({}) == ["weight is missing"]
    assert told({"weight": {}}) == ["sparsity is missing"]
    assert told({"weight": {"sparsity": 1.5, "scope": "globl", "granularity": "row", "methd": 1}}) == [
        "unknown key methd",
        "sparsity = 1.5 is out of range",
        'granularity = "row" is unknown',
        'scope = "globl" is unknown',
    ]
    assert told({"weight": {"sparsity": float("nan")}}) == ["sparsity = nan is out of range"]
    assert told({"weight": {"sparsity": 0.5}, "target_weight_nodes": ["lineer"]}) == [
        'target_weight_nodes: "lineer" is no operator type'
    ]


def test_the_quantized_form_and_a_trained_copy_keep_the_zeros() -> None:
    import copy

    from mase_hw.config import TrainingConfig
    from mase_hw.config.quantize import QuantSpec
    from mase_hw.datasets import load_dataset
    from mase_hw.modules import LinearInteger
    from mase_hw.numerics import Fixed, Rounding
    from mase_hw.passes.transform.pruned import mask_of, set_mask
    from mase_hw.training.train import train

    layer = torch.nn.Linear(16, 5)
    mask = (torch.arange(80) % 2).reshape(5, 16).float()
    set_mask(layer, mask)
    fixed = Fixed(8, 4)
    quantized = LinearInteger.from_float(layer, QuantSpec(Rounding.HALF_EVEN, fixed, fixed, fixed))
    assert torch.equal(mask_of(quantized), mask)  # type: ignore[arg-type]
    model = copy.deepcopy(torch.nn.Sequential(layer))
    before = model[0].weight.detach().clone()
    train(model, load_dataset("random", Path()), TrainingConfig(max_epochs=1), seed=0, out=None, progress=False)
    assert not torch.equal(model[0].weight, before)
    assert bool((model[0].weight[mask == 0] == 0).all())
