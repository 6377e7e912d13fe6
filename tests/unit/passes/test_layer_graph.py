"""From torch to layers where results branch and join: the quantized torch model = the layers in integers, by `==`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from layer_reference import run_layers
from support import by_type, randomized, real_inputs, spec
from torch import Tensor, nn

from mase_hw.diagnostics import Collector
from mase_hw.float_layers import float_layers
from mase_hw.graph import MaseGraph
from mase_hw.layers import LayerGraph
from mase_hw.models import Shapes
from mase_hw.numerics import Fixed, Rounding
from mase_hw.passes.layers import layer_graph_of
from mase_hw.pipeline.graphs import quantized_graph, traced
from mase_hw.samples import forward

EIGHT, SIX = Fixed(8, 4), Fixed(6, 2)
ENTRY = spec(data_in=EIGHT, weight=EIGHT, bias=EIGHT)
PLAIN = by_type(linear=ENTRY, batch_norm1d=ENTRY)
FLOOR = spec(Rounding.FLOOR, data_in=SIX, weight=SIX, bias=EIGHT)


class Net(nn.Module):
    """Layers of six features, put together by a function."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(6, 6) for _ in range(3))
        self.wide, self.image = nn.Linear(12, 4), nn.Linear(12, 6)
        self.norm = nn.BatchNorm1d(6)
        self.body = body
        self.scale = nn.Parameter(torch.tensor([0.5, -1.25, 3.0, 0.1, 0.0, 7.3]))
        self.register_buffer("factor", torch.tensor(0.3))

    def forward(self, x: Tensor) -> Any:
        return self.body(self, x)


class Net2(Net):
    def forward(self, x: Tensor, z: Tensor) -> Any:  # type: ignore[override]
        return self.body(self, x, z)


def layers_of(
    body: Callable[..., Any], quantize: dict[str, Any] = PLAIN, shapes: Shapes = ((6,),)
) -> tuple[MaseGraph, LayerGraph]:
    model = randomized((Net if len(shapes) == 1 else Net2)(body), 1)
    with torch.no_grad():
        model.scale.copy_(torch.tensor([0.5, -1.25, 3.0, 0.1, 0.0, 7.3]))
        model.factor.fill_(0.3)
    graph = quantized_graph(model, shapes, quantize)
    with Collector() as problems:
        return graph, layer_graph_of(graph, problems)


def assert_equal(graph: MaseGraph, found: LayerGraph) -> None:
    samples = tuple(real_inputs(EIGHT, x.shape, 48, seed=k) for k, x in enumerate(found.inputs))
    got = forward(graph.model, samples)
    expected = run_layers(found, samples)
    assert len(got) == len(expected) == len(found.outputs)
    for values, wanted in zip(got, expected, strict=True):
        assert wanted.frac is not None
        scaled = values.reshape(len(values), -1) * 2.0**wanted.frac
        assert np.array_equal(scaled, wanted.n)
        assert wanted.n.any()


def residual(net: Net, x: Tensor) -> Tensor:
    h = torch.relu(net.a(x))
    return net.c(h + net.b(h))


def in_place(net: Net, x: Tensor) -> Tensor:
    h = net.a(x)
    kept = h
    h += net.b(h)
    return net.c(kept)


def norms(net: Net, x: Tensor) -> Tensor:
    h = net.norm(net.a(x))
    h = h - torch.relu(net.b(h))
    return net.c(torch.sub(h, net.b(h)).add(h))


QUANTIZED_JOINS = PLAIN | {op: spec(data_in=SIX) for op in ("add", "sub", "cat", "mul")}
OUT_JOINS = PLAIN | {op: spec(Rounding.FLOOR, data_in=EIGHT, data_out=SIX) for op in ("add", "sub", "mul")}
OUT_JOINS |= {"cat": spec(Rounding.FLOOR, data_in=EIGHT, data_out=EIGHT)}  # it only moves numbers
WEIGHTS = PLAIN | {"mul": spec(data_in=SIX, weight=Fixed(5, 3))}
TABLES = {"unquantized": PLAIN, "quantized": QUANTIZED_JOINS, "data_out": OUT_JOINS, "weights": WEIGHTS}

BODIES: dict[str, Callable[..., Any]] = {
    "residual": residual,
    "in place": in_place,
    "norms": norms,
    "twice": lambda net, x: net.b((h := net.a(x)) + h),
    "concat": lambda net, x: net.wide(torch.cat([net.a(x), net.b(x)], dim=1)),
    "concat returned": lambda net, x: torch.cat((net.b(h := net.a(x)), h), 1),
    "scaled skip": lambda net, x: net.c((h := net.a(x)) * 0.3 + net.b(h)),
    "scaled from the left": lambda net, x: net.c(2 * net.a(x) - net.factor * net.b(x)),
    "scaled per feature": lambda net, x: net.a(x) * net.scale,
    "a long sum": lambda net, x: (h := net.a(x)) + net.b(h) + net.c(h) + net.b(net.c(h)) * 0.1,
    "two heads": lambda net, x: (net.b(h := torch.relu(net.a(x))), net.c(h)),
    "a head inside": lambda net, x: [h := net.a(x), net.b(h), h],
    "returned twice": lambda net, x: (h := net.a(x), h),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", BODIES)
def test_torch_and_integers_agree(name: str, table: str) -> None:
    assert_equal(*layers_of(BODIES[name], TABLES[table]))


def test_a_concat_hands_its_readers_type_to_the_input() -> None:
    assert_equal(*layers_of(lambda net, x: net.wide(torch.cat([x, torch.relu(net.b(x))], dim=-1))))


TWO: dict[str, Callable[..., Any]] = {
    "sum": lambda net, x, z: net.c(net.a(x) + net.b(z)),
    "concat": lambda net, x, z: net.wide(torch.cat([x, z], 1)),
    "both": lambda net, x, z: (net.a(x) - net.b(z), net.c(z)),
}


@pytest.mark.parametrize("name", TWO)
def test_two_inputs(name: str) -> None:
    graph, found = layers_of(TWO[name], shapes=((6,), (6,)))
    assert [x.name for x in found.inputs] == ["x", "z"]
    assert_equal(graph, found)


def test_what_a_layer_says() -> None:
    _, found = layers_of(lambda net, x: (net.wide(torch.cat([h := net.a(x), net.b(x) * 0.75], 1)), h - h))
    by_name = found.by_name
    assert [layer.name for layer in found.layers] == ["a", "b", "mul", "cat", "wide", "sub"]
    assert found.outputs == ("wide", "sub")
    assert by_name["cat"].inputs == ("a", "mul")
    assert (by_name["cat"].in_features, by_name["cat"].out_features) == (12, 12)
    assert by_name["sub"].inputs == ("a", "a")
    assert (by_name["sub"].in_features, by_name["sub"].out_features, by_name["sub"].integers) == (12, 6, {})
    assert by_name["mul"].spec.weight == Fixed(3, 2)
    assert by_name["mul"].integers["scale"].tolist() == [3] * 6
    assert not by_name["mul"].spec.quantized
    assert by_name["sub"].called == "sub"
    assert [(layer.name, port) for layer, port in found.readers["a"]] == [("cat", 0), ("sub", 0), ("sub", 1)]


def test_a_constant_without_a_type_is_exactly_its_float32() -> None:
    for table in (PLAIN, PLAIN | {"mul": spec(data_in=SIX)}):
        _, found = layers_of(lambda net, x: net.a(x) * 0.1, table)
        fixed = found.by_name["mul"].spec.weight
        assert fixed is not None
        value = int(found.by_name["mul"].integers["scale"][0])
        assert value * 2.0**-fixed.frac == float(np.float32(0.1))
        assert value % 2 == 1  # no bit too many
    _, found = layers_of(lambda net, x: net.a(x) * 0.1, WEIGHTS)
    assert found.by_name["mul"].spec.weight == Fixed(5, 3)
    assert found.by_name["mul"].integers["scale"].tolist() == [1] * 6


class Images(nn.Module):
    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(12, 12), nn.Linear(17, 6)
        self.long, self.norm = nn.Linear(24, 6), nn.BatchNorm1d(12)
        self.body = body
        self.scale = nn.Parameter(torch.arange(12) / 8 - 0.5)

    def forward(self, x: Tensor, z: Tensor) -> Any:
        return self.body(self, x, z)


IMAGES: dict[str, Callable[..., Any]] = {
    "concat with features": lambda net, x, z: net.b(torch.cat([z, x.flatten(1)], 1)),
    "scaled": lambda net, x, z: (net.a(net.norm(x.flatten(1)) * net.scale), torch.relu(net.norm(z))),
    "sum in one order": lambda net, x, z: (h := net.norm(x.flatten(1))) + h * net.scale,
    "sum of images": lambda net, x, z: net.a(torch.flatten(torch.relu(x) - x, 1)),
}


@pytest.mark.parametrize("name", IMAGES)
def test_images_come_pixel_by_pixel(name: str) -> None:
    body, shape = IMAGES[name], (5,) if name == "concat with features" else (12,)
    model = randomized(Images(body if "sum" not in name else lambda net, x, z: (body(net, x, z), net.norm(z))), 3)
    table = PLAIN | {"sub": spec(data_in=EIGHT)}
    graph = quantized_graph(model, ((3, 2, 2), shape), table)
    with Collector() as problems:
        found = layer_graph_of(graph, problems)
    assert found.inputs[0].order == (0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)
    assert_equal(graph, found)


def test_float64_where_a_sum_passes_float32() -> None:
    """Both terms fit in float32's 24 bits, and their sum does not."""
    wide = spec(data_in=Fixed(12, 11), weight=Fixed(9, 8), bias=Fixed(20, 19))
    far = spec(data_in=Fixed(12, -4), weight=Fixed(9, 0), bias=Fixed(12, -4))
    table = {"by": "name", "a": wide, "b": far}
    graph, found = layers_of(lambda net, x, z: net.a(x) + net.b(z), table, ((6,), (6,)))
    rng = np.random.default_rng(0)
    samples = (rng.uniform(-1, 1, (64, 6)).astype(np.float32), rng.uniform(-30000, 30000, (64, 6)).astype(np.float32))
    assert {graph.modules[name].result_dtype for name in "ab"} == {torch.float32}
    (got,) = forward(graph.model, samples)
    (expected,) = run_layers(found, samples)
    assert expected.frac is not None
    assert np.abs(expected.n).max() > 1 << 24
    assert np.array_equal(got * 2.0**expected.frac, expected.n)


def test_float_values_of_every_layer_in_the_order_of_its_stream() -> None:
    model = randomized(Images(lambda net, x, z: (net.b(torch.cat([z, x.flatten(1)], 1)), net.norm(x.flatten(1)))), 3)
    graph = quantized_graph(model, ((3, 2, 2), (5,)), PLAIN)
    with Collector() as problems:
        found = layer_graph_of(graph, problems)
    x, z = real_inputs(EIGHT, (3, 2, 2), 6), real_inputs(EIGHT, (5,), 6, seed=1)
    floats = float_layers(traced(model, ((3, 2, 2), (5,))), found, (x, z))
    pixels = x.transpose(0, 2, 3, 1).reshape(6, -1)
    assert list(floats) == ["input.x", "input.z", "node.cat", "node.b", "node.norm"]
    assert np.array_equal(floats["input.x"], pixels)
    assert np.array_equal(floats["input.z"], z)
    assert np.array_equal(floats["node.cat"], np.concatenate([z, pixels], 1))
    _, norm = forward(model.double(), (x.astype(np.float64), z.astype(np.float64)))
    assert np.array_equal(floats["node.norm"], norm[:, list(found.inputs[0].order or ())].astype(np.float32))


def test_samples_are_not_overwritten() -> None:
    class InPlace(nn.Module):
        def forward(self, x: Tensor, z: Tensor) -> Tensor:
            x += z
            return x

    x, z = np.ones((3, 2), np.float32), np.ones((3, 2), np.float32)
    (y,) = forward(InPlace(), (x, z))
    assert y.tolist() == [[2, 2]] * 3
    assert x.tolist() == [[1, 1]] * 3
