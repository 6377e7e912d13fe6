"""Saturation and error of each layer, against what is computed here in another way."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import torch
from support import by_type, eight_bit, randomized, spec
from torch import nn
from torch.nn import functional as F

from mase_hw.emit import Build, write_build
from mase_hw.float_layers import float_layers
from mase_hw.flow import compile_model
from mase_hw.numerics import Fixed
from mase_hw.pipeline.graphs import traced
from mase_hw.report.values import values


def _exactly(matrix: np.ndarray, bias: np.ndarray, x: np.ndarray, frac: int, to: Fixed) -> tuple[int, int]:
    """How many results lie below and above a type, in Python's own integers; Python rounds half to even."""
    low = high = 0
    for vector in x.tolist():
        for row, constant in zip(matrix.tolist(), bias.tolist(), strict=True):
            exact = sum(a * b for a, b in zip(row, vector, strict=True)) + constant
            rounded = round(Fraction(exact) / 2 ** (frac - to.frac))
            low, high = low + (rounded < to.lo), high + (rounded > to.hi)
    return low, high


def test_saturation_counts_what_was_clamped(build: Build) -> None:
    found = {layer["name"]: layer for layer in values(build)["layers"]}
    assert list(found) == ["input", "fc1", "bn + relu", "fc2"]
    samples = build.samples
    assert samples is not None
    fc1 = build.design.component("fc1")
    matrix, bias = fc1.matrix << fc1.product_shift, fc1.bias
    low, high = _exactly(matrix, bias, samples.x, fc1.finish.frac, Fixed(6, 3))
    assert low > 0
    assert high > 0
    assert found["fc1"]["clamped"] == {"low": low, "high": high, "values": 40 * 6}
    assert found["fc2"]["clamped"] is None  # the last layer's type is that of its accumulator
    floats = build.floats["input"]
    assert found["input"]["clamped"]["high"] == int((floats > (31 + 0.5) / 8).sum()) > 0
    assert found["input"]["clamped"]["low"] == int((floats < (-32 - 0.5) / 8).sum()) > 0


def test_every_value_is_in_the_histograms(build: Build) -> None:
    content = values(build)
    assert (content["origin"], content["vectors"], content["compared_with_floats"]) == ("data set", 40, 40)
    for layer in content["layers"]:
        features = {"input": 4, "fc2": 3}.get(layer["name"], 6)
        assert sum(layer["histogram"]["counts"]) == sum(layer["error"]["histogram"]["counts"]) == 40 * features
        assert layer["range"][0] <= layer["smallest"] <= layer["largest"] <= layer["range"][1]


def test_the_error_is_the_difference_to_the_float_model(build: Build, project: Path) -> None:
    samples = build.samples
    assert samples is not None
    found = {layer["name"]: layer for layer in values(build)["layers"]}
    streams = build.design.run(samples.x)
    floats = build.floats
    joined = np.maximum(floats["node.bn"], 0)  # the merged ReLU's; the batch norm's own is as it was before in place
    assert (floats["node.bn"] < 0).any()
    assert np.array_equal(joined, floats["node.relu"])
    bn = build.design.component("bn").output
    error = streams[bn.name] * 2.0**-bn.fixed.frac - joined
    assert found["bn + relu"]["error"]["largest"] == np.abs(error).max()
    assert np.isclose(found["bn + relu"]["error"]["rms"], np.sqrt((error**2).mean()), rtol=1e-12)
    assert np.array_equal(floats["node.fc2"].argmax(1), samples.float_labels)


def test_a_build_without_data_uses_the_vectors_of_a_simulation(tmp_path: Path) -> None:
    model = randomized(nn.Sequential(nn.Linear(4, 3), nn.ReLU()))
    design = compile_model(model, (4,), eight_bit(), target_interval=2).design
    content = values(write_build(tmp_path / "b", design, {}, None))
    assert content["origin"] == "stimulus"
    assert content["vectors"] > 256
    assert [layer["error"] for layer in content["layers"]] == [None, None]
    assert content["layers"][0]["clamped"] is None


class Images(nn.Module):
    """Elementwise before the matrix, on images: their stream has another order than torch. Functions, not modules."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(12, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.relu(self.fc(torch.flatten(F.relu(x), 1)))


def test_float_values_stand_in_the_order_of_the_stream() -> None:
    fixed = Fixed(8, 4)
    model = randomized(Images())
    relu = spec(data_in=fixed)
    quantize = by_type(linear=spec(data_in=fixed, weight=fixed, bias=fixed), relu=relu)
    compiled = compile_model(model, (3, 2, 2), quantize)
    x = np.random.default_rng(0).normal(size=(5, 3, 2, 2)).astype(np.float32)
    found = float_layers(traced(model, (3, 2, 2)), compiled.layers, x)
    streamed = x.transpose(0, 2, 3, 1).reshape(5, 12)  # channels fastest
    assert np.array_equal(found["input"], streamed)
    assert np.array_equal(found["node.relu"], np.maximum(streamed, 0))
    with torch.inference_mode():
        want = model.double()(torch.from_numpy(x).double()).numpy()
    assert np.allclose(found["node.relu_1"], want, rtol=1e-6, atol=1e-6)
    assert set(found) == {"input", *(f"node.{node.name}" for node in compiled.design.nodes)}


def test_a_fused_batch_norm_is_compared_with_its_float_sum() -> None:
    model = randomized(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)))
    compiled = compile_model(model, (4,), eight_bit(), fuse_batch_norm=True)
    x = np.random.default_rng(1).normal(size=(6, 4)).astype(np.float32)
    found = float_layers(traced(model, (4,), fuse_batch_norm=True), compiled.layers, x)
    with torch.inference_mode():
        want = model.double()(torch.from_numpy(x).double()).numpy()
    (name,) = (key for key in found if key != "input")
    assert np.allclose(found[name], want, rtol=1e-5, atol=1e-6)
