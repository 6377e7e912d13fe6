"""Every pass on graphs whose results are read several times and joined."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from graphs import common, eight, graph_of, node_of, problems_of, software
from torch import Tensor, nn

from mase_hw.graph import MaseGraph, deepcopy_mase_graph
from mase_hw.modules import AddInteger, CatInteger, MulInteger, SubInteger
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    calibrate_transform_pass,
    count_bitops_analysis_pass,
    count_flops_analysis_pass,
    fuse_batch_norm_transform_pass,
    init_metadata_analysis_pass,
    profile_statistics_analysis_pass,
    prune_transform_pass,
    quantize_transform_pass,
    redefine_linear_transform_pass,
    remove_identity_transform_pass,
    report_graph_analysis_pass,
    summarize_quantization_analysis_pass,
)

BATCH = 8


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(16, 4), nn.Linear(4, 4), nn.Linear(8, 3)
        self.norm_a, self.norm_b, self.same = nn.BatchNorm1d(4), nn.BatchNorm1d(4), nn.Identity()
        self.scale = nn.Parameter(torch.tensor([0.5, -0.25, 1.0, 2.0]))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.a(x)
        n = self.norm_a(h)
        s = self.same(h) + self.norm_b(self.b(n))
        d = (s - n) * self.scale
        return self.c(torch.cat([d, s], 1)), s


JOINS = {
    "by": "type",
    "linear": eight("data_in", "weight", "bias"),
    "batch_norm1d": eight("data_in", "weight", "bias"),
    **{op: eight("data_in") for op in ("add", "sub", "cat")},
    "mul": eight("data_in", "weight"),
}


def residual() -> MaseGraph:
    return graph_of(Residual(), batch=BATCH)


def samples() -> list[Tensor]:
    torch.manual_seed(5)
    return [torch.randn(BATCH, 16) for _ in range(3)]


def test_metadata() -> None:
    graph = residual()
    assert list(common(graph, "add")["args"]) == ["data_in_0", "data_in_1"]
    assert torch.equal(
        common(graph, "sub")["args"]["data_in_1"]["value"], common(graph, "norm_a")["results"]["data_out_0"]["value"]
    )
    assert list(common(graph, "mul")["args"]) == ["data_in_0", "weight"]
    assert list(common(graph, "cat")["args"]) == ["data_in_0", "data_in_1"]
    output = common(graph, "output")
    assert [entry["shape"] for entry in output["results"].values()] == [[BATCH, 3], [BATCH, 4]]
    assert list(output["args"]) == ["data_in_0", "data_in_1"]


def test_metadata_of_a_result_read_twice_by_one_node() -> None:
    class Double(nn.Module):
        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            y = torch.cat([x, x + x], 1)
            return y, y

    graph = graph_of(Double())
    assert list(common(graph, "add")["args"]) == ["data_in_0", "data_in_1"]
    assert len(common(graph, "output")["args"]) == len(common(graph, "output")["results"]) == 2


def test_quantize_and_summarize(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = residual()
    graph, info = quantize_transform_pass(residual(), JOINS)
    assert info["quantized"] == ["a", "norm_a", "b", "norm_b", "add", "sub", "mul", "cat", "c"]
    kinds = {name: type(graph.modules[name]) for name in ("add", "sub", "mul", "cat")}
    assert kinds == {"add": AddInteger, "sub": SubInteger, "mul": MulInteger, "cat": CatInteger}
    for name in ("data_in_0", "data_in_1"):
        assert common(graph, "add")["args"][name]["precision"] == [8, 4]
    assert common(graph, "mul")["args"]["weight"]["precision"] == [8, 4]
    assert not [node for node in graph.nodes if node.op == "get_attr"]
    y, s = graph.model(samples()[0])
    assert y.shape == (BATCH, 3)
    assert torch.equal(s * 16, (s * 16).round())
    again, _ = quantize_transform_pass(graph, JOINS | {"add": eight("data_in", frac=2)})  # other types
    assert again.modules["add"].spec.data_in.frac == 2
    _, told = summarize_quantization_analysis_pass(before, graph, tmp_path)
    assert {row["OP"]: row["Changed"] for row in told["summary"] if row["OP"] in kinds} == dict.fromkeys(kinds, 1)
    _, report = report_graph_analysis_pass(graph)
    assert {"AddInteger", "CatInteger"} <= set(report["layers"])
    capsys.readouterr()


def test_a_default_leaves_what_has_no_quantized_form() -> None:
    class Odd(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.add(x, x, alpha=2) + x * x + (x + 1)

    default = {"by": "type", "default": eight("data_in")}
    _, info = quantize_transform_pass(graph_of(Odd()), default)
    assert info["quantized"] == ["add_1", "add_3"]
    (problem,) = problems_of(quantize_transform_pass, graph_of(Odd()), {"by": "type", "add": eight("data_in")})
    assert problem.message == "passes.quantize.add: add cannot be quantized: add uses alpha=2"


def test_a_float_layer_behind_an_exact_sum_gets_its_own_type() -> None:
    entries = {name: eight("data_in", "weight", "bias") for name in ("a", "norm_a", "b", "norm_b")}
    graph, info = quantize_transform_pass(residual(), {"by": "name", **entries})
    assert info["casts"] == ["cat_cast"]
    y, s = graph.model(samples()[0])
    assert (y.dtype, s.dtype) == (torch.float32, torch.float64)


def test_a_sum_that_float64_cannot_hold() -> None:
    wide = {"name": "integer", "data_in_width": 24, "weight_width": 22, "bias_width": 8}
    low = {"config": wide | dict.fromkeys(("data_in_frac_width", "weight_frac_width", "bias_frac_width"), 0)}
    high = {"config": wide | dict.fromkeys(("data_in_frac_width", "weight_frac_width", "bias_frac_width"), 6)}
    entries = {"by": "name", "a": low, "norm_a": low, "b": high, "norm_b": high, "c": low}
    graph = residual()
    problems = problems_of(quantize_transform_pass, graph, entries)
    assert problems[0].message == "add: the exact sum of its inputs can reach 61 bits; 53 is the most that stays exact"
    assert not [node for node in graph.nodes if "Integer" in str(type(graph.modules.get(str(node.target))))]


def test_statistics_and_calibration() -> None:
    graph = residual()
    args: dict[str, Any] = {
        "by": "type",
        "target_activation_nodes": ["add", "mul"],
        "target_weight_nodes": ["mul"],
        "activation_statistics": {"range_min_max": {}, "save": {}},
        "weight_statistics": {"range_min_max": {}},
        "input_generator": iter(samples()),
        "num_samples": 3 * BATCH,
    }
    profile_statistics_analysis_pass(graph, args)
    stats = software(graph, "add")["args"]
    seen = {name: stats[name]["stat"]["save"]["data"] for name in ("data_in_0", "data_in_1")}
    assert torch.equal(seen["data_in_0"], torch.cat([graph.modules["a"](x) for x in samples()]))
    assert software(graph, "mul")["args"]["weight"]["stat"]["range_min_max"]["max"] == 2.0

    free = {"by": "type", "add": eight("data_in"), "mul": eight("data_in", "weight")}
    for entry in (free["add"], free["mul"]):
        entry["config"] = {key: value for key, value in entry["config"].items() if "frac" not in key}  # type: ignore[index]
    by_stats, info = calibrate_transform_pass(deepcopy_mase_graph(graph), free)
    run = {"input_generator": iter(samples()), "num_samples": 3 * BATCH}
    by_samples, same = calibrate_transform_pass(deepcopy_mase_graph(graph), free | run)
    assert info["quantize"] == same["quantize"]
    assert same["quantize"]["mul"]["config"]["weight_frac_width"] == 2
    rows = {(row["node"], row["tensor"]): row for row in same["fits"]}
    assert rows["add", "data_in"]["total"] == 2 * 3 * BATCH * 4  # both inputs
    most = max(float(value.abs().max()) for value in seen.values())
    fixed = by_samples.modules["add"].spec.data_in
    assert most <= 2 * fixed.hi * 2.0**-fixed.frac
    assert by_stats.modules["add"].spec == by_samples.modules["add"].spec


def test_counts() -> None:
    graph = residual()
    _, flops = count_flops_analysis_pass(graph)
    _, bits = count_bitops_analysis_pass(graph)
    assert {name: flops["flops"][name] for name in ("add", "sub", "mul", "cat")} == {
        **dict.fromkeys(("add", "sub", "mul"), BATCH * 4),
        "cat": 0,
    }
    assert flops["uncounted"] == bits["uncounted"] == []
    assert bits["bitops"]["add"] == BATCH * 4 * 32
    quantized, _ = quantize_transform_pass(graph, JOINS)
    _, bits = count_bitops_analysis_pass(quantized)
    assert bits["bitops"]["add"] == BATCH * 4 * 8
    assert bits["bitops"]["mul"] == BATCH * 4 * 8 * 8


def test_fuse_batch_norm_folds_only_what_nobody_else_reads() -> None:
    graph = residual()
    x = samples()[0]
    before = graph.model(x)
    graph, info = fuse_batch_norm_transform_pass(graph)
    assert info == {"fused": {"norm_b": "b"}, "refused": {"norm_a": "a is also read by same"}}
    for was, now in zip(before, graph.model(x), strict=True):
        assert torch.allclose(was, now, atol=1e-6)


def test_remove_identity_on_a_branch() -> None:
    graph, info = remove_identity_transform_pass(residual())
    assert info["removed"] == ["same"]
    assert node_of(graph, "add").args[0] is node_of(graph, "a")
    graph.fx_graph.lint()


def widened(*names: str) -> dict[str, Any]:
    modes = {"a": "output_only", "b": "both", "c": "input_only"}
    entries = {name: {"config": {"name": modes[name], "channel_multiplier": 2}} for name in names}
    return {"config": {"by": "name", "default": {"config": {"name": None}}, **entries}}


def test_redefine_across_a_sum() -> None:
    class Plain(Residual):
        def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
            h = self.a(x)
            s = h + self.norm_b(self.b(h))
            return self.c(torch.cat([s - h, s], 1))

    graph, info = redefine_linear_transform_pass(graph_of(Plain()), widened("a", "b", "c"))
    assert info["changed"]["c"] == ((8, 3), (16, 3))
    assert graph.model(samples()[0]).shape == (BATCH, 3)
    problems = problems_of(redefine_linear_transform_pass, graph_of(Plain()), widened("a"))
    assert problems[0].message == "add: joins a (2 times as wide) with b (1 times as wide)"
    problems = problems_of(redefine_linear_transform_pass, residual(), widened("a", "b", "c"))
    assert "mul: mul cannot follow a, which is 2 times as wide" in [problem.message for problem in problems]


def test_prune() -> None:
    graph, info = prune_transform_pass(residual(), {"weight": {"sparsity": 0.5}})
    assert [row["node"] for row in info["layers"]] == ["a", "b", "c"]
    assert info["sparsity"] == 0.5
    graph, _ = quantize_transform_pass(graph, JOINS)
    assert (graph.modules["b"].integers()["weight"] == 0).sum() >= 8


def test_two_inputs_have_their_own_metadata() -> None:
    class Two(nn.Module):
        def forward(self, x: Tensor, z: Tensor) -> Tensor:
            return torch.cat([x, z], dim=1)

    graph, _ = init_metadata_analysis_pass(MaseGraph(Two()))
    dummy = {"x": torch.randn(2, 5), "z": torch.randn(2, 3)}
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": dummy})
    assert [entry["shape"] for entry in common(graph, "cat")["args"].values()] == [[2, 5], [2, 3]]
