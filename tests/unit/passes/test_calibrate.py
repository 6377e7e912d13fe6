"""calibrate_transform_pass: the best frac of all, from samples and from statistics; a complete config comes out."""

from __future__ import annotations

import copy
import tomllib
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from graphs import eight, graph_of, node_of, problems_of
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from mase_hw.config import parse_quantize
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph, get_node_module
from mase_hw.modules import BatchNorm1dInteger, LinearInteger, QuantizedMixin
from mase_hw.numerics import MAX_FRAC, Fixed, Rounding, to_integers
from mase_hw.passes import (
    calibrate_transform_pass,
    profile_statistics_analysis_pass,
    prune_transform_pass,
    quantize_transform_pass,
)
from mase_hw.passes.transform.best_frac import best_fit, measure

WIDTHS = {"name": "integer", "data_in_width": 8, "weight_width": 6, "bias_width": 8}
BOTH = {"by": "type", "linear": {"config": WIDTHS}, "batch_norm1d": {"config": WIDTHS}}


def samples(scale: float = 1.0, count: int = 4) -> list[Tensor]:
    torch.manual_seed(5)
    return [scale * torch.randn(32, 16) for _ in range(count)]


def sampled(scale: float = 1.0) -> dict[str, Any]:
    return {"input_generator": iter(samples(scale)), "num_samples": 128}


magnitudes = st.floats(-30, 30).map(lambda exponent: 2.0**exponent)
types = st.tuples(st.integers(2, 12), st.booleans()).map(lambda drawn: Fixed(drawn[0], 0, drawn[1]))


@settings(max_examples=60, deadline=None)
@given(
    like=types, size=st.integers(1, 40), scale=magnitudes, seed=st.integers(0, 999), rounding=st.sampled_from(Rounding)
)
def test_no_other_frac_is_better(like: Fixed, size: int, scale: float, seed: int, rounding: Rounding) -> None:
    rng = np.random.default_rng(seed)
    values = scale * rng.standard_normal(size) ** rng.choice([1, 3, 9])  # with outliers
    values[rng.random(size) < 0.1] = 0.0
    found = best_fit(values, like, rounding)
    every = [measure(values, replace(like, frac=frac), rounding) for frac in range(-MAX_FRAC, MAX_FRAC + 1)]
    assert found.mse == min(fit.mse for fit in every)
    integers = values * 2.0**found.fixed.frac
    whole = np.floor(integers) if rounding is Rounding.FLOOR else np.round(integers)
    assert found.saturated == ((whole < like.lo) | (whole > like.hi)).sum()
    assert found.total == size


def test_a_bound_on_frac_holds_and_zeros_have_no_opinion() -> None:
    values = np.array([1e-6, -3e-6])
    assert best_fit(values, Fixed(8, 0), Rounding.HALF_EVEN).fixed.frac > 20
    assert best_fit(values, Fixed(8, 0), Rounding.HALF_EVEN, highest=12).fixed.frac <= 12
    assert best_fit(np.zeros(5), Fixed(8, 0), Rounding.HALF_EVEN).fixed.frac == 0
    assert best_fit(np.array([1e30]), Fixed(8, 0), Rounding.HALF_EVEN).fixed.frac == -MAX_FRAC
    assert best_fit(np.array([1e-19]), Fixed(8, 0), Rounding.HALF_EVEN).fixed.frac == MAX_FRAC
    assert best_fit(np.array([1e-30]), Fixed(8, 0), Rounding.HALF_EVEN).fixed.frac == 0  # vanishes on every grid


@pytest.mark.parametrize(("values", "frac"), [([1, 2, 3], 0), ([0.5, 4], 1), ([64, 128], -2), ([0.3125], 4)])
def test_exact_values_take_no_more_fractional_bits_than_they_need(values: list[float], frac: int) -> None:
    fit = best_fit(np.array(values, np.float64), Fixed(8, 0), Rounding.HALF_EVEN)
    assert (fit.fixed.frac, fit.mse, fit.saturated) == (frac, 0.0, 0)


def test_types_of_a_network_fit_its_values() -> None:
    graph = graph_of("jsc-toy")
    with torch.no_grad():
        for name in ("weight", "bias", "running_mean", "running_var"):
            getattr(graph.modules["seq_blocks.0"], name).copy_(3 * torch.rand(16) + 0.5)
    floats = copy.deepcopy(graph)
    graph, info = calibrate_transform_pass(graph, {**copy.deepcopy(BOTH), **sampled(20.0)})
    x = torch.cat(samples(20.0))
    layer, norm = floats.modules["seq_blocks.2"], floats.modules["seq_blocks.0"]
    scale = (norm.weight.double() / torch.sqrt(norm.running_var.double() + norm.eps)).detach()
    shift = norm.bias.double().detach() - norm.running_mean.double() * scale
    with torch.no_grad():
        read = F.relu(norm(x))
    truth = {
        ("seq_blocks_0", "data_in", 8): x,
        ("seq_blocks_0", "weight", 6): scale,
        ("seq_blocks_0", "bias", 8): shift,
        ("seq_blocks_2", "data_in", 8): read,
        ("seq_blocks_2", "weight", 6): layer.weight,
        ("seq_blocks_2", "bias", 8): layer.bias,
    }
    rows = {(row["node"], row["tensor"], row["width"]): row for row in info["fits"]}
    for key, tensor in truth.items():
        fit = best_fit(tensor.detach().double().numpy().reshape(-1), Fixed(key[2], 0), Rounding.HALF_EVEN)
        row = rows[key]
        assert (row["frac"], row["mse"], row["saturated"], row["total"]) == (
            *(fit.fixed.frac, fit.mse, fit.saturated),
            tensor.numel(),
        ), key
    assert rows["seq_blocks_0", "data_in", 8]["frac"] < rows["seq_blocks_2", "weight", 6]["frac"]
    assert isinstance(get_node_module(node_of(graph, "seq_blocks_2")), LinearInteger)
    assert isinstance(get_node_module(node_of(graph, "seq_blocks_0")), BatchNorm1dInteger)
    spec = graph.modules["seq_blocks.2"].spec
    assert spec.weight == Fixed(6, rows["seq_blocks_2", "weight", 6]["frac"])
    assert "seq_blocks_2" in info["table"]
    assert "saturated" in info["table"]


def test_the_result_is_a_complete_config_in_python_and_in_toml() -> None:
    config = {**BOTH, "relu": {"config": {"name": "integer_floor", "data_in_width": 7, "data_in_signed": False}}}
    calibrated, info = calibrate_transform_pass(graph_of("jsc-toy"), {**config, **sampled()})
    read = tomllib.loads(info["toml"])["passes"]["quantize"]
    assert read == info["quantize"]
    with Collector() as problems:
        parsed = parse_quantize(read, problems)
    assert parsed.for_node("seq_blocks_1", "relu").rounding is Rounding.FLOOR
    again, _ = quantize_transform_pass(graph_of("jsc-toy"), read)
    assert [m.spec for m in again.modules.values() if isinstance(m, QuantizedMixin)] == [
        m.spec for m in calibrated.modules.values() if isinstance(m, QuantizedMixin)
    ]
    assert all(key.startswith("data_in") or key == "name" for key in read["seq_blocks_1"]["config"])
    assert read["seq_blocks_1"]["config"]["data_in_signed"] is False


def test_apply_false_leaves_the_graph_and_pass_args_stay() -> None:
    graph = graph_of("jsc-toy")
    given_args = {**BOTH, "apply": False}
    before = copy.deepcopy(given_args)
    generator = sampled()
    code = graph.model.code
    _, info = calibrate_transform_pass(graph, {**given_args, **generator})
    assert given_args == before
    assert graph.model.code == code
    assert not any(isinstance(module, QuantizedMixin) for module in graph.modules.values())
    assert set(info["quantize"]) - {"by", "default"} == {f"seq_blocks_{k}" for k in (0, 2, 3, 5, 6, 8, 9)}


def test_given_fracs_stay_and_auto_means_missing() -> None:
    config = {**WIDTHS, "weight_frac_width": 1, "data_in_frac_width": "auto"}
    found = []
    for entry in (config, {key: value for key, value in config.items() if value != "auto"}):
        _, info = calibrate_transform_pass(graph_of("jsc-tiny"), {"linear": {"config": entry}, **sampled()})
        found.append(info["quantize"]["seq_blocks_2"])
    assert found[0] == found[1]
    assert found[0]["config"]["weight_frac_width"] == 1
    weight = next(row for row in info["fits"] if row["tensor"] == "weight")
    assert weight["mse"] > 0


def test_data_out_is_calibrated_where_asked() -> None:
    config = {"by": "name", "seq_blocks_2": {"config": {**WIDTHS, "data_out_width": 5}}}
    graph = graph_of("jsc-tiny")
    with torch.no_grad():
        x = F.relu(graph.modules["seq_blocks.0"](torch.cat(samples())))
        y = graph.modules["seq_blocks.2"](x).double().numpy().reshape(-1)
    graph, info = calibrate_transform_pass(graph, {**config, **sampled()})
    fit = best_fit(y, Fixed(5, 0), Rounding.HALF_EVEN)
    assert graph.modules["seq_blocks.2"].spec.data_out == fit.fixed
    assert next(row["mse"] for row in info["fits"] if row["tensor"] == "data_out") == pytest.approx(fit.mse)


def profiled(statistic: dict[str, Any]) -> MaseGraph:
    graph = graph_of("jsc-tiny")
    pass_args = {"target_activation_nodes": ["linear"], "activation_statistics": statistic}
    return profile_statistics_analysis_pass(graph, {**pass_args, **sampled()})[0]


def test_saved_statistics_do_what_samples_do() -> None:
    config = {"linear": {"config": WIDTHS}}
    _, info = calibrate_transform_pass(profiled({"save": {}, "range_min_max": {}}), config)
    _, direct = calibrate_transform_pass(graph_of("jsc-tiny"), {**config, **sampled()})
    assert info["quantize"] == direct["quantize"]
    assert [row["from"] for row in info["fits"]] == ["save", "parameters", "parameters"]


def test_a_range_is_held() -> None:
    graph = profiled({"range_min_max": {"dims": "channel"}})
    _, info = calibrate_transform_pass(graph, {"linear": {"config": WIDTHS}})
    row = info["fits"][0]
    assert (row["tensor"], row["from"], row["mse"]) == ("data_in", "range_min_max", None)
    stat = node_of(graph, "seq_blocks_2").meta["mase"].parameters["software"]["args"]["data_in_0"]["stat"]
    high = float(stat["range_min_max"]["max"].max())
    assert to_integers(high, Fixed(20, row["frac"]), Rounding.HALF_EVEN) <= 127
    assert to_integers(high, Fixed(20, row["frac"] + 1), Rounding.HALF_EVEN) > 127


def test_a_tiny_bias_does_not_burst_the_accumulator() -> None:
    net = nn.Sequential(nn.Linear(16, 4))
    nn.init.constant_(net[0].bias, 1e-14)
    wide = {"name": "integer", "data_in_width": 20, "weight_width": 20, "bias_width": 20}
    graph, info = calibrate_transform_pass(graph_of(net), {"linear": {"config": wide}, **sampled()})
    assert 1 << 51 < graph.modules["0"].accumulator.bound <= 1 << 53
    assert info["fits"][-1]["mse"] < 1e-29  # a zero would be 1e-28: what room there was is used


def test_pruned_weights_are_calibrated_as_they_are() -> None:
    graph, _ = prune_transform_pass(graph_of("jsc-tiny"), {"weight": {"sparsity": 1.0}})
    _, info = calibrate_transform_pass(graph, {"linear": {"config": WIDTHS}, **sampled()})
    weight = next(row for row in info["fits"] if row["tensor"] == "weight")
    assert (weight["frac"], weight["mse"]) == (0, 0.0)


def test_functional_layers() -> None:
    class Functional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(4, 16))
            self.register_buffer("mean", torch.randn(4))
            self.register_buffer("var", torch.rand(4) + 1)

        def forward(self, x: Tensor) -> Tensor:
            return F.batch_norm(F.linear(x, self.weight), self.mean, self.var)

    model = Functional()
    graph, info = calibrate_transform_pass(graph_of(model), {**BOTH, **sampled()})
    rows = {(row["node"], row["tensor"]): row for row in info["fits"]}
    assert ("linear", "bias") not in rows
    scale = 1 / np.sqrt(model.var.double().numpy() + 1e-5)
    shift = -model.mean.double().numpy() * scale
    assert rows["batch_norm", "weight"]["frac"] == best_fit(scale, Fixed(6, 0), Rounding.HALF_EVEN).fixed.frac
    assert rows["batch_norm", "bias"]["mse"] == pytest.approx(best_fit(shift, Fixed(8, 0), Rounding.HALF_EVEN).mse)
    assert graph.model(samples()[0]).shape == (32, 4)


def test_mistakes() -> None:
    def told(config: dict[str, Any], model: str = "jsc-tiny") -> list[str]:
        return [problem.message for problem in problems_of(calibrate_transform_pass, graph_of(model), config)]

    only_in = {"linear": {"config": {"name": "integer", "data_in_width": 8}}}
    assert told({**only_in, **sampled()}) == [
        "passes.quantize.linear: weight_width is missing, and seq_blocks_2 (linear) needs it",
        "passes.quantize.linear: bias_width is missing, and seq_blocks_2 (linear) needs it",
    ]
    assert told({"linear": {"config": WIDTHS}}) == [
        "calibrate_transform_pass: nothing is known of the values of data_in of seq_blocks_2"
    ]
    assert "no operator type" in told({"liner": {"config": WIDTHS}, **sampled()})[0]
    assert told({"linear": {"config": {**WIDTHS, "weight_frac_width": "automatic"}}, **sampled()}) == [
        'passes.quantize.linear: weight_frac_width = "automatic" is not an integer'
    ]
    assert told({"linear": {"config": WIDTHS}, "num_samples": 4}) == [
        "calibrate_transform_pass: input_generator is missing"
    ]
    assert told({"linear": {"config": {**WIDTHS, "weight_width": 99}}, **sampled()})[0].endswith("is out of range")
    (text,) = told({"output": {"config": WIDTHS}, "by": "type", **sampled()})
    assert text == "passes.quantize.output: output cannot be quantized"


def test_parameters_that_are_no_numbers_are_named() -> None:
    graph = graph_of("jsc-tiny")
    with torch.no_grad():
        graph.modules["seq_blocks.2"].weight[1, 2] = float("nan")
    config = {"linear": eight("data_in", "weight", "bias")}
    (problem,) = problems_of(calibrate_transform_pass, graph, config)
    assert problem.message == "seq_blocks_2: weight[1, 2] is nan"
