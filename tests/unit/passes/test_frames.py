"""From torch to layers on frames: the quantized torch model = the layers in integers, by `==`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from frame_reference import run_frames
from hypothesis import given, settings
from hypothesis import strategies as st
from support import assert_software_equal, by_type, quantize_input, randomized, real_inputs, run_quantized, spec
from torch import Tensor, nn

from mase_hw.diagnostics import Collector
from mase_hw.float_layers import float_layers
from mase_hw.flow import compile_model
from mase_hw.geometry import Geometry
from mase_hw.graph import MaseGraph
from mase_hw.layers import LayerGraph
from mase_hw.numerics import Fixed, Rounding
from mase_hw.passes.layers import read_layers
from mase_hw.pipeline.graphs import quantized_graph, traced
from mase_hw.samples import forward

EIGHT, SIX, ODD = Fixed(8, 4), Fixed(6, 2), Fixed(7, 5, signed=False)
MATRICES = ("linear", "conv1d", "conv2d", "batch_norm1d", "batch_norm2d")
POOLS = ("max_pool1d", "max_pool2d", "zero_pad", "upsample", "adaptive_max_pool2d", "amax")
AVERAGES = ("avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "mean")
PLAIN = by_type(**{op: spec(data_in=EIGHT, weight=EIGHT, bias=EIGHT) for op in MATRICES})
FLOOR = by_type(**{op: spec(Rounding.FLOOR, data_in=SIX, weight=SIX, bias=EIGHT, data_out=EIGHT) for op in MATRICES})
TYPED = PLAIN | {op: spec(data_in=SIX) for op in (*POOLS, *AVERAGES, "relu", "add", "sub", "mul", "cat")}
OUT = FLOOR | {op: spec(Rounding.FLOOR, data_in=EIGHT, data_out=ODD) for op in AVERAGES}
TABLES = {"plain": PLAIN, "floor": FLOOR, "typed": TYPED, "data_out": OUT}


class Net(nn.Module):
    """Layers of four channels, put together by a function."""

    def __init__(self, body: Callable[..., Any]) -> None:
        super().__init__()
        self.stem, self.c = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1, bias=False)
        self.deep, self.point = nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=4), nn.Conv2d(4, 4, 1)
        self.plain, self.wide = nn.Conv2d(4, 4, 2), nn.Conv2d(8, 4, 1)
        self.bn, self.norm = nn.BatchNorm2d(4), nn.BatchNorm1d(4)
        self.fc, self.image = nn.Linear(4, 5), nn.Linear(4 * 6 * 7, 5)
        self.seq, self.sequence = nn.Conv1d(4, 4, 3, padding=1), nn.Conv1d(3, 4, 5, dilation=2, padding=2)
        self.body = body
        self.scale = nn.Parameter(torch.tensor([0.5, -1.25, 3.0, 0.1]).reshape(4, 1, 1))

    def forward(self, x: Tensor) -> Any:
        return self.body(self, x)


def layers_of(
    body: Callable[..., Any], quantize: dict[str, Any] = PLAIN, shape: tuple[int, ...] = (3, 6, 7), **options: bool
) -> tuple[MaseGraph, LayerGraph]:
    model = randomized(Net(body), 1)
    with torch.no_grad():
        model.scale.copy_(torch.tensor([0.5, -1.25, 3.0, 0.1]).reshape(4, 1, 1))
    graph = quantized_graph(model, shape, quantize, **options)
    with Collector() as problems:
        return graph, read_layers(graph, problems)


def assert_equal(graph: MaseGraph, found: LayerGraph, count: int = 6) -> None:
    samples = tuple(real_inputs(EIGHT, x.shape, count, seed=k) for k, x in enumerate(found.inputs))
    got, expected = forward(graph.model, samples), run_frames(found, samples)
    assert len(got) == len(expected) == len(found.outputs)
    for values, wanted in zip(got, expected, strict=True):
        assert wanted.frac is not None
        flat = values.reshape(len(values), -1)
        # A quotient of integers: float64's nearest number is what torch hands on.
        exact = wanted.n if wanted.divisor is None else wanted.n / wanted.divisor
        assert np.array_equal(flat * 2.0**wanted.frac, exact)
        assert wanted.n.any()


def bottleneck(net: Net, x: Tensor) -> Tensor:
    h = torch.relu(net.bn(net.stem(x)))
    h = F.relu(net.c(h) + net.point(h))
    return net.fc(h.mean((2, 3)))


BODIES: dict[str, Callable[..., Any]] = {
    "convolution": lambda net, x: net.stem(x),
    "bottleneck": bottleneck,
    "groups": lambda net, x: net.deep(F.relu(net.stem(x))),
    "norm": lambda net, x: net.bn(net.stem(x)),
    "image to linear": lambda net, x: net.image(torch.flatten(torch.relu(net.stem(x)), 1)),
    "max pool": lambda net, x: net.c(F.max_pool2d(F.relu(net.stem(x)), 2)),
    "max pool, padded": lambda net, x: net.c(F.max_pool2d(net.stem(x), 3, 2, 1, ceil_mode=True)),
    "average": lambda net, x: net.c(F.avg_pool2d(net.stem(x), 3, 2, 1)),
    "average of what is there": lambda net, x: net.c(F.avg_pool2d(net.stem(x), 3, 2, 1, True, False)),
    "average, flattened": lambda net, x: net.fc(F.avg_pool2d(net.stem(x), (6, 7)).flatten(1)),
    "average by a number": lambda net, x: net.c(F.avg_pool2d(net.stem(x), 2, divisor_override=5)),
    "global": lambda net, x: net.fc(torch.flatten(F.adaptive_avg_pool2d(F.relu(net.stem(x)), 1), 1)),
    "to a divisor": lambda net, x: net.c(F.adaptive_avg_pool2d(net.stem(x), (3, 7))),
    "global maximum": lambda net, x: net.fc(net.stem(x).amax((2, 3))),
    "adaptive maximum": lambda net, x: net.c(F.adaptive_max_pool2d(net.stem(x), (2, 1))),
    "kernel from a size": lambda net, x: net.fc(F.max_pool2d(h := net.stem(x), h.shape[2:]).view(x.size(0), -1)),
    "mean, kept": lambda net, x: net.point(net.stem(x).mean([-1, -2], keepdim=True)),
    "mean of a view": lambda net, x: net.fc((h := net.stem(x)).view(h.size(0), 4, -1).mean(2)),
    "squeezed": lambda net, x: net.fc(net.stem(x).mean((2, 3), True).squeeze(-1).squeeze(-1)),
    "padding": lambda net, x: net.plain(F.pad(net.stem(x), (1, 0, 0, 2))),
    "padding of a pool": lambda net, x: net.c(F.max_pool2d(F.pad(net.stem(x), (0, 1)), 2)),
    "upsampling": lambda net, x: net.c(F.interpolate(F.relu(net.stem(x)), scale_factor=2)),
    "upsampling to a size": lambda net, x: net.c(F.interpolate(net.stem(x), (12, 21), mode="nearest")),
    "skip": lambda net, x: net.c((h := net.stem(x)) - net.point(h) * 0.25),
    "scaled channels": lambda net, x: net.c(net.stem(x) * net.scale),
    "concatenation": lambda net, x: net.wide(torch.cat([h := net.stem(x), F.relu(net.point(h))], 1)),
    "two heads": lambda net, x: (net.fc((h := F.relu(net.stem(x))).mean((2, 3))), net.deep(h)),
    "channels last": lambda net, x: net.image(net.stem(x).permute(0, 2, 3, 1).flatten(1)),
    "columns first": lambda net, x: net.image(F.relu(net.stem(x).transpose(2, 3).reshape(-1, 168))),
    "there and back": lambda net, x: net.c(net.stem(x).permute(0, 2, 3, 1).permute(0, 3, 1, 2)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", BODIES)
def test_torch_and_integers_agree(name: str, table: str) -> None:
    assert_equal(*layers_of(BODIES[name], TABLES[table]))


SEQUENCES: dict[str, Callable[..., Any]] = {
    "convolution": lambda net, x: net.seq(F.relu(net.norm(net.sequence(x)))),
    "pools": lambda net, x: net.seq(F.avg_pool1d(F.max_pool1d(net.sequence(x), 3, 2, 1), 3, 1, 1)),
    "global": lambda net, x: net.fc(F.adaptive_avg_pool1d(net.sequence(x), 1).flatten(1)),
    "mean": lambda net, x: net.fc(net.seq(net.sequence(x)).mean(2)),
    "maximum": lambda net, x: net.fc(net.seq(net.sequence(x)).amax(-1)),
    "padding": lambda net, x: net.seq(F.pad(net.sequence(x), (2, 1))),
    "upsampling": lambda net, x: net.seq(F.interpolate(net.sequence(x), scale_factor=3)),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str, table: str) -> None:
    graph, found = layers_of(SEQUENCES[name], TABLES[table], (3, 11))
    assert found.input.frame == (11,)
    assert_equal(graph, found)


FIXED = st.builds(Fixed, st.integers(2, 12), st.integers(-3, 12), st.booleans())


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_convolutions(data: st.DataObject) -> None:
    draw = data.draw
    groups, kernel = draw(st.sampled_from([1, 2, 3])), (draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    stride, dilation = ((draw(st.integers(1, 3)), draw(st.integers(1, 3))) for _ in range(2))
    sizes = [d * (k - 1) + 1 + draw(st.integers(0, 4)) for d, k in zip(dilation, kernel, strict=True)]
    padding: Any = (draw(st.integers(0, 2)), draw(st.integers(0, 3)))
    if draw(st.booleans()):
        padding, stride = "same", (1, 1)
    conv = nn.Conv2d(groups * 2, groups, kernel, stride, padding, dilation, groups, draw(st.booleans()))
    types = {name: draw(FIXED) for name in ("data_in", "weight", "bias")}
    rounding = draw(st.sampled_from(Rounding))
    table = by_type(conv2d=spec(rounding, **types, data_out=draw(st.none() | FIXED)))
    model = randomized(nn.Sequential(conv), draw(st.integers(0, 99)))
    graph = quantized_graph(model, (groups * 2, *sizes), table)
    with Collector() as problems:
        found = read_layers(graph, problems)
    samples = real_inputs(types["data_in"], (groups * 2, *sizes), 4)
    (got,), (wanted,) = forward(graph.model, samples), run_frames(found, [samples])
    assert wanted.frac is not None
    assert np.array_equal(got.reshape(4, -1) * 2.0**wanted.frac, wanted.n)


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_random_pools(data: st.DataObject) -> None:
    draw = data.draw
    kernel = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    stride = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    padding = draw(st.integers(0, kernel[0] // 2)), draw(st.integers(0, kernel[1] // 2))
    sizes = [k + draw(st.integers(0, 6)) for k in kernel]
    ceil, read = draw(st.booleans()), draw(FIXED)
    if draw(st.booleans()):
        divisor = draw(st.none() | st.integers(1, 9))
        pool: nn.Module = nn.AvgPool2d(kernel, stride, padding, ceil, draw(st.booleans()), divisor)
        out: Fixed | None = draw(FIXED)
    else:
        pool, out = nn.MaxPool2d(kernel, stride, padding, ceil_mode=ceil), None
    entry = spec(draw(st.sampled_from(Rounding)), data_in=read, data_out=out)
    graph = quantized_graph(nn.Sequential(pool), (2, *sizes), by_type(avg_pool2d=entry, max_pool2d=entry))
    with Collector() as problems:
        found = read_layers(graph, problems)
    samples = real_inputs(read, (2, *sizes), 4, seed=draw(st.integers(0, 99)))
    (got,), (wanted,) = forward(graph.model, samples), run_frames(found, [samples])
    assert wanted.frac is not None
    assert np.array_equal(got.reshape(4, -1) * 2.0**wanted.frac, wanted.n)


def test_what_a_layer_says() -> None:
    _, found = layers_of(lambda net, x: net.image(F.relu(net.stem(x)).flatten(1)))
    stem, relu, image = found.layers
    assert found.input.frame == (6, 7)
    assert (found.input.shape, found.input.features) == ((3, 6, 7), 3)
    assert (stem.op, stem.in_features, stem.out_features, stem.frame, stem.groups) == ("conv2d", 3, 4, (6, 7), 1)
    assert stem.geometry == Geometry.of((6, 7), (3, 3), padding=((1, 1), (1, 1)))
    assert stem.integers["weight"].shape == (4, 3, 3, 3)
    assert (relu.in_features, relu.out_features, relu.frame, relu.geometry) == (4, 4, (6, 7), None)
    assert (image.op, image.in_features, image.frame, image.out_frame) == ("linear", 168, (), ())
    assert found.features_read(image) == [168]
    _, found = layers_of(lambda net, x: net.deep(net.stem(x)))
    assert (found.layers[1].groups, found.layers[1].out_frame) == (4, (3, 4))
    assert (found.layers[1].in_features, found.layers[1].out_features) == (4, 8)
    assert found.output_orders == (tuple(np.arange(96).reshape(8, 12).T.ravel().tolist()),)


def test_pools_of_all_names_are_two_operators() -> None:
    for name in ("global", "to a divisor", "mean, kept", "bottleneck"):
        _, found = layers_of(BODIES[name])
        (pool,) = [layer for layer in found.layers if "pool" in layer.op]
        assert pool.op == "avg_pool2d", name
        assert pool.geometry is not None
        assert pool.geometry.is_global or name == "to a divisor"
    _, found = layers_of(BODIES["average of what is there"])
    assert found.layers[1].integers["divisor"].tolist() == np.outer([2, 3, 3, 1], [2, 3, 3, 2]).ravel().tolist()
    assert [layer.op for layer in layers_of(BODIES["global maximum"])[1].layers] == ["conv2d", "max_pool2d", "linear"]


def test_a_padding_goes_into_the_convolution_behind_it() -> None:
    _, found = layers_of(BODIES["padding"])
    stem, plain = found.layers
    assert plain.inputs == (stem.name,)
    assert plain.geometry == Geometry.of((6, 7), (2, 2), padding=((0, 2), (1, 0)))
    assert [layer.op for layer in layers_of(BODIES["padding"], TYPED)[1].layers] == ["conv2d", "zero_pad", "conv2d"]
    assert [layer.op for layer in layers_of(BODIES["padding of a pool"])[1].layers][1] == "zero_pad"


def test_an_image_that_is_only_flattened_stays_a_vector() -> None:
    graph = quantized_graph(randomized(nn.Sequential(nn.Flatten(), nn.Linear(12, 2)), 0), (3, 2, 2), PLAIN)
    with Collector() as problems:
        found = read_layers(graph, problems)
    assert (found.input.frame, found.layers[0].frame) == ((), ())
    assert found.input.order == (0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)


class Shaped(nn.Module):
    def __init__(self, before: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.conv, self.before = nn.Conv2d(3, 2, 3), before

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(self.before(x))


@pytest.mark.parametrize(
    ("shape", "before"),
    [
        ((5, 4, 3), lambda x: x.permute(0, 3, 1, 2)),
        ((60,), lambda x: x.view(-1, 3, 5, 4)),
        ((60,), lambda x: x.view(x.size(0), 5, 4, 3).permute(0, 3, 1, 2)),
        ((3, 4, 5), lambda x: x.transpose(2, 3)),
    ],
)
def test_an_input_may_come_in_any_order(shape: tuple[int, ...], before: Callable[[Tensor], Tensor]) -> None:
    graph = quantized_graph(randomized(Shaped(before), 2), shape, PLAIN)
    with Collector() as problems:
        found = read_layers(graph, problems)
    assert (found.input.shape, found.input.frame, found.input.features) == (shape, (5, 4), 3)
    assert_equal(graph, found)


def test_what_is_compiled_computes_the_same() -> None:
    """The vectors of streams, [samples * positions, features]: torch's, and those of the design's own interpreter."""
    net = nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.Conv2d(3, 4, 2, stride=2))
    table = by_type(conv2d=PLAIN["conv2d"], batch_norm2d=PLAIN["batch_norm2d"])
    compiled = compile_model(randomized(net, 0), (2, 5, 6), table)
    assert_software_equal(compiled, 16)
    assert quantize_input(compiled, real_inputs(EIGHT, (2, 5, 6), 3)).shape == (3 * 30, 2)
    assert run_quantized(compiled, real_inputs(EIGHT, (2, 5, 6), 3)).shape == (3 * 6, 4)


def test_what_is_compiled_of_pools_computes_the_same() -> None:
    layers = (nn.Conv2d(2, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3, padding=1, groups=4))
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 3))
    assert_software_equal(compile_model(randomized(net, 0), (2, 6, 6), PLAIN), 16)


def test_folded_batch_norms() -> None:
    graph, found = layers_of(lambda net, x: net.bn(net.c(net.stem(x))), fuse_batch_norm=True)
    assert [(layer.name, layer.op) for layer in found.layers] == [("stem", "conv2d"), ("c", "conv2d")]
    assert "bias" in found.by_name["c"].integers
    assert_equal(graph, found)


def test_float_values_of_every_layer_in_the_order_of_its_stream() -> None:
    body = BODIES["channels last"]
    _, found = layers_of(lambda net, x: (body(net, x), net.stem(x).permute(0, 3, 2, 1).flatten(1) * 0.5))
    model = randomized(Net(lambda net, x: (body(net, x), net.stem(x).permute(0, 3, 2, 1).flatten(1) * 0.5)), 1)
    x = real_inputs(EIGHT, (3, 6, 7), 5)
    floats = float_layers(traced(model, (3, 6, 7)), found, x)
    assert np.array_equal(floats["input"], x.transpose(0, 2, 3, 1).reshape(5, -1))
    stem = model.double().stem(torch.from_numpy(x).double()).detach().numpy()
    pixels = stem.transpose(0, 2, 3, 1).reshape(5, -1).astype(np.float32)
    assert np.array_equal(floats["node.stem"], pixels)
    assert np.array_equal(floats["node.mul"], pixels * np.float32(0.5))
