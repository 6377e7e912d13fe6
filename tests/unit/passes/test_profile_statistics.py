"""profile_statistics_analysis_pass: every statistic against numpy on all values, streaming, targets, mistakes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from graphs import graph_of, problems_of, software
from torch import Tensor, nn

from mase_hw.passes import profile_statistics_analysis_pass
from mase_hw.passes.analysis.statistics import STATISTICS

OPTIONS: dict[str, dict[str, Any]] = {
    "variance_precise": {},
    "variance_online": {},
    "range_min_max": {},
    "range_quantile": {"quantile": 0.9},
    "range_n_sigma": {"num_sigmas": 2},
    "save": {},
}


def batches(count: int = 4, size: int = 8) -> list[dict[str, Tensor]]:
    torch.manual_seed(3)
    return [{"x": 3 * torch.randn(size, 16) + 1} for _ in range(count)]


def args(dims: str = "all", **more: Any) -> dict[str, Any]:
    wanted = {name: {"device": "cpu", "dims": dims, **options} for name, options in OPTIONS.items()}
    return {
        "by": "type",
        "target_weight_nodes": ["linear"],
        "target_activation_nodes": ["linear"],
        "weight_statistics": wanted,
        "activation_statistics": wanted,
        "input_generator": iter(batches()),
        "num_samples": 32,
        **more,
    }


def expected(rows: np.ndarray) -> dict[str, dict[str, np.ndarray]]:
    """By the definitions, from all values at once; a row for each channel."""
    mean, std = rows.mean(1), rows.std(1)
    low, high = np.quantile(rows, 0.1, axis=1), np.quantile(rows, 0.9, axis=1)
    variance = {"mean": mean, "variance": rows.var(1)}
    return {
        "variance_precise": variance,
        "variance_online": variance,
        "range_min_max": {"min": rows.min(1), "max": rows.max(1), "range": rows.max(1) - rows.min(1)},
        "range_quantile": {"min": low, "max": high, "range": high - low},
        "range_n_sigma": {"min": mean - 2 * std, "max": mean + 2 * std, "range": 4 * std},
    }


@pytest.mark.parametrize("dims", ["all", "channel"])
@pytest.mark.parametrize("argument", ["data_in_0", "weight", "bias"])
def test_every_statistic_is_what_its_definition_says(dims: str, argument: str) -> None:
    graph = graph_of("jsc-tiny")
    graph, info = profile_statistics_analysis_pass(graph, args(dims))
    assert info == {"samples": 32, "notes": ()}
    layer = graph.modules["seq_blocks.2"]
    with torch.no_grad():
        seen = F.relu(graph.modules["seq_blocks.0"](torch.cat([batch["x"] for batch in batches()])))
    tensor = seen.T if argument == "data_in_0" else getattr(layer, argument)
    rows = tensor.detach().double().numpy().reshape(tensor.shape[0], -1)
    rows = rows.reshape(1, -1) if dims == "all" else rows
    stat = software(graph, "seq_blocks_2")["args"][argument]["stat"]
    assert set(stat) == set(STATISTICS)
    for name, values in expected(rows).items():
        assert stat[name]["count"] == rows.shape[1]
        for key, value in values.items():
            np.testing.assert_allclose(
                np.atleast_1d(stat[name][key]), value, rtol=1e-6, atol=1e-7, err_msg=f"{name} {key}"
            )
    whole = seen if argument == "data_in_0" else tensor
    assert torch.equal(stat["save"]["data"], whole)
    assert (stat["range_n_sigma"]["num_sigmas"], stat["range_quantile"]["quantile"]) == (2, 0.9)


def test_welford_holds_far_from_zero() -> None:
    far = [{"x": batch["x"] * 1e-3 + 1e4} for batch in batches(16)]
    config = {"variance_online": {}, "variance_precise": {}}
    graph = graph_of(nn.Sequential(nn.Identity()))
    pass_args = args(target_activation_nodes=["identity"], target_weight_nodes=[], activation_statistics=config)
    generator = iter([{str(graph.nodes[0].target): batch["x"].double()} for batch in far])
    graph, _ = profile_statistics_analysis_pass(graph, {**pass_args, "input_generator": generator, "num_samples": 128})
    stat = software(graph, "_0")["args"]["data_in_0"]["stat"]
    truth = np.concatenate([batch["x"].double().numpy() for batch in far]).var()
    assert stat["variance_online"]["variance"] == pytest.approx(truth, rel=1e-9)
    assert stat["variance_precise"]["variance"] == pytest.approx(truth, rel=1e-9)


def test_no_more_samples_are_taken_than_asked_for() -> None:
    source = iter(batches(10))
    _, info = profile_statistics_analysis_pass(graph_of("jsc-tiny"), args(input_generator=source, num_samples=20))
    assert info["samples"] == 20
    assert len(list(source)) == 7  # three batches of 8; the last was cut to 4


def test_the_last_batch_is_cut() -> None:
    graph, _ = profile_statistics_analysis_pass(graph_of("jsc-tiny"), args(num_samples=20))
    assert software(graph, "seq_blocks_2")["args"]["data_in_0"]["stat"]["range_min_max"]["count"] == 20 * 16


def test_a_generator_that_runs_dry_is_a_note_and_an_empty_one_a_problem() -> None:
    _, info = profile_statistics_analysis_pass(graph_of("jsc-tiny"), args(num_samples=100))
    assert info == {"samples": 32, "notes": ("input_generator ran dry after 32 of 100 samples",)}
    (problem,) = problems_of(profile_statistics_analysis_pass, graph_of("jsc-tiny"), args(input_generator=iter([])))
    assert "gave no sample" in problem.message
    assert "only once" in str(problem.hint)


@pytest.mark.parametrize("form", ["tensor", "pair", "dict"])
def test_what_a_generator_may_give(form: str) -> None:
    wrap = {"tensor": lambda x: x, "pair": lambda x: (x, torch.zeros(8)), "dict": lambda x: {"x": x}}[form]
    source = (wrap(batch["x"]) for batch in itertools.cycle(batches()))  # endless, as a data loader may be
    _, info = profile_statistics_analysis_pass(graph_of("jsc-tiny"), args(input_generator=source))
    assert info["samples"] == 32


def test_inputs_are_seen_before_an_inplace_layer_and_the_users_data_stay() -> None:
    net = nn.Sequential(nn.ReLU(inplace=True), nn.Linear(16, 4))
    graph = graph_of(net)
    graph.model.double()  # what is float64 already is copied by no conversion
    x = torch.randn(8, 16, dtype=torch.float64)
    before = x.clone()
    given = args(target_activation_nodes=["relu"], input_generator=iter([x]), num_samples=8)
    graph, _ = profile_statistics_analysis_pass(graph, given)
    assert torch.equal(x, before)
    stat = software(graph, "_0")["args"]["data_in_0"]["stat"]
    assert torch.equal(stat["save"]["data"], before)
    assert stat["range_quantile"]["min"] == pytest.approx(np.quantile(before.numpy(), 0.1))


class Functional(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 16))

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(F.linear(x, self.weight)) + 1


def test_functional_layers_are_profiled_too() -> None:
    model = Functional()
    given = args(target_activation_nodes=["linear", "relu"])
    graph, _ = profile_statistics_analysis_pass(graph_of(model), given)
    stat = software(graph, "linear")["args"]
    assert torch.equal(stat["weight"]["stat"]["save"]["data"], model.weight)
    assert stat["data_in_0"]["stat"]["range_min_max"]["count"] == 512
    assert software(graph, "relu")["args"]["data_in_0"]["stat"]["range_min_max"]["count"] == 128


def test_training_flags_and_running_statistics_stay() -> None:
    graph = graph_of("jsc-tiny")
    graph.model.train()
    before = graph.modules["seq_blocks.0"].running_mean.clone()
    profile_statistics_analysis_pass(graph, args())
    assert torch.equal(graph.modules["seq_blocks.0"].running_mean, before)
    assert all(module.training for module in graph.modules.values())


def test_every_mistake_is_told_at_once() -> None:
    wrong = args(
        target_weight_nodes=["linaer"],
        target_activation_nodes="relu",
        weight_statistics={"variance_precize": {}, "range_quantile": {"quantile": 1.5, "dims": "row"}},
        num_sample=3,
    )
    told = problems_of(profile_statistics_analysis_pass, graph_of("jsc-tiny"), wrong)
    assert [(problem.message.partition(": ")[2], problem.hint) for problem in told] == [
        ("unknown key num_sample", "did you mean num_samples?"),
        ('target_weight_nodes: "linaer" is no operator type', "did you mean linear?"),
        ('target_activation_nodes = "relu" is not a list', 'such as ["linear"]'),
        ("variance_precize is no statistic", "did you mean variance_precise?"),
        ('dims = "row" is unknown', "allowed: all, channel"),
        ("quantile = 1.5 is out of range", "allowed: 0.5 to 1"),
    ]


def test_mistakes_about_samples() -> None:
    given = args(by="name", target_weight_nodes=["seq_blocks_9"], target_activation_nodes=["seq_blocks_2"])
    del given["input_generator"]
    told = problems_of(profile_statistics_analysis_pass, graph_of("jsc-tiny"), {**given, "num_samples": 0})
    assert [problem.message.partition(": ")[2] for problem in told] == [
        'target_weight_nodes: "seq_blocks_9" names no node',
        "input_generator is missing",
        "num_samples = 0 is no positive integer",
    ]
    for batch, text in (
        ({"y": torch.zeros(2, 16)}, "forward has no argument y"),
        ({"x": [1, 2]}, "gives x as list, not as a tensor"),
        ({"x": torch.zeros(0, 16)}, "a batch without samples"),
        ({"x": torch.zeros(2, 15)}, "fails on a sample of input_generator"),
        ({"x": torch.full((2, 16), float("nan"))}, "data_in_0 holds 32 values of 32 that are NaN or infinite"),
    ):
        told = problems_of(profile_statistics_analysis_pass, graph_of("jsc-tiny"), args(input_generator=iter([batch])))
        assert text in told[0].message, told[0].message


def test_without_activation_targets_no_samples_are_needed() -> None:
    given = {"target_weight_nodes": ["linear"], "weight_statistics": {"range_min_max": {}}}
    graph, info = profile_statistics_analysis_pass(graph_of("jsc-tiny"), given)
    assert info["samples"] == 0
    assert set(software(graph, "seq_blocks_2")["args"]["bias"]["stat"]) == {"range_min_max"}
