"""Convolutions and pools from QONNX files against qonnx's own execution: every number, with ==."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from qonnx_graphs import Graph, run_graph
from qonnx_nets import samples

from mase_hw.config_file import load_config
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.emit import read_build
from mase_hw.frontends.onnx_file import read_onnx
from mase_hw.layers import LayerGraph
from mase_hw.models import input_shapes, load_model
from mase_hw.passes.layers import read_layers
from mase_hw.pipeline.graphs import quantized_graph
from mase_hw.samples import forward

RNG = np.random.default_rng(5)
BATCH = 32


class Images(Graph):
    def conv(self, outs: int, ins: int, kernel: tuple[int, ...], name: str, *, bias: bool = False, **given: Any) -> Any:
        weight = self.quant_of(
            self.constant(RNG.normal(0, 0.6, (outs, ins, *kernel)), f"{name}.weight"), 3, 5, narrow=1
        )
        added = [self.quant_of(self.constant(RNG.normal(0, 1, outs), f"{name}.bias"), 5, 8)] if bias else []
        return self.then("Conv", weight, *added, name=f"/{name}/Conv", **given)


def stem(shape: tuple[int, ...] = (3, 6, 7), **given: Any) -> Images:
    net = Images(x=shape)
    net.quant(3, 6, "inp")
    net.conv(4, 3, (3,) * (len(shape) - 1), "conv1", bias=True, **({"pads": [1] * 2 * (len(shape) - 1)} | given))
    return net


def residual() -> Graph:
    """As Brevitas exports a ResNet: Quants of different types before the sums, ReLUs between Quants."""
    net = stem()
    h = net.quant(3, 6, "q1").relu("r1").quant(3, 6, "q1u", signed=0).tensor
    net.quant(3, 6, "c2.in").conv(4, 4, (3, 3), "conv2", pads=[1, 1, 1, 1])
    y = net.quant(2, 6, "q2").tensor
    net.join("Add", y, h, name="sum").relu("r2").quant(3, 6, "q3", signed=0)
    short = net.tensor
    net.quant(2, 6, "c3.in").conv(8, 4, (3, 3), "conv3", pads=[1, 1, 1, 1], strides=[2, 2])
    down = net.quant(3, 6, "q4").tensor
    net.tensor = short
    net.quant(3, 6, "d.in").conv(8, 4, (1, 1), "down", strides=[2, 2])
    net.join("Add", down, net.quant(2, 6, "q5").tensor, name="sum2").relu("r3").quant(3, 6, "q6", signed=0)
    return net.then("MaxPool", kernel_shape=[3, 4], name="pool").quant(2, 6).conv(5, 8, (1, 1), "fc").quant(1, 6)


def depthwise() -> Graph:
    """As a MobileNet has it, with three Quants in a row."""
    net = stem(strides=[2, 2])
    net.quant(4, 6).relu("r1").quant(3, 6, signed=0).quant(3, 6)
    net.conv(4, 1, (3, 3), "deep", bias=True, group=4, pads=[1, 1, 1, 1]).quant(4, 6).relu("r2").quant(3, 6, signed=0)
    net.then("GlobalAveragePool", name="gap").quant(4, 7)
    return net.conv(2, 4, (1, 1), "fc", bias=True).quant(2, 7)


def flattened() -> Graph:
    net = stem().relu("r1").quant(2, 5, signed=0)
    net.then("AveragePool", kernel_shape=[2, 2], strides=[2, 2], name="avg").quant(3, 6).then("Flatten", name="flat")
    return net.linear(RNG.normal(0, 0.5, (5, 36)), "fc", frac=3, bits=5)


def padded() -> Graph:
    """Padding on one side, by the convolution and by a node of its own."""
    net = stem(pads=[0, 1, 2, 0]).quant(3, 6)
    net.then("Pad", net.constant([0, 0, 1, 0, 0, 0, 0, 2], dtype=np.int64), name="pad")
    net.conv(2, 4, (3, 2), "conv2", auto_pad="SAME_UPPER", strides=[2, 2]).quant(2, 7)
    return net


def same() -> Graph:
    """What does not divide evenly is padded behind, then before."""
    net = stem().quant(3, 6).conv(4, 4, (2, 4), "conv2", auto_pad="SAME_UPPER").quant(2, 6)
    return net.conv(2, 4, (4, 2), "conv3", auto_pad="SAME_LOWER").quant(2, 7)


def normed() -> Graph:
    net = stem().quant(3, 6)
    net.features = 4
    net.norm([0.5, 1, 2, -1], [1, 0, -0.5, 2], [0, 1, 2, 0.5], [1, 1, 1, 1], 0.0, name="bn").quant(2, 6)
    net.then("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1], name="pool").then(
        "Mul", net.constant(np.array([0.5, 2, -1, 0.25]).reshape(1, 4, 1, 1)), name="gain"
    )
    return net.quant(3, 7).then("ReduceMean", axes=[2, 3], keepdims=0, name="mean").quant(4, 8)


def joined() -> Graph:
    net = stem()
    h = net.quant(3, 6).tensor
    y = net.conv(2, 4, (1, 1), "point").quant(3, 6).tensor
    net.join("Concat", h, y, name="cat", axis=1)
    return net.conv(3, 2, (2, 2), "conv2", group=3).quant(2, 7)


def sequence() -> Graph:
    net = stem((3, 12), dilations=[2]).relu("r1").quant(2, 5, signed=0)
    net.then("MaxPool", kernel_shape=[2], strides=[2], name="pool")
    return net.conv(2, 4, (3,), "conv2").quant(2, 7)


NETS: dict[str, Callable[[], Any]] = {
    made.__name__: made for made in (residual, depthwise, flattened, padded, same, normed, joined, sequence)
}


def layers(path: Path) -> tuple[Any, LayerGraph]:
    config = load_config(path)
    model = load_model(config.model, config.base)
    graph = quantized_graph(model, input_shapes(model), config.raw["passes"]["quantize"])
    with Collector() as problems:
        return graph, read_layers(graph, problems)


@pytest.mark.parametrize("name", NETS)
def test_torch_equals_qonnx(name: str, tmp_path: Path) -> None:
    net = NETS[name]()
    path = net.save(tmp_path / "net.onnx")
    given = {item: samples(np.random.default_rng(3), shape, 3, 6, BATCH) for item, shape in net.inputs.items()}
    (expected,) = run_graph(path, given)
    graph, found = layers(path)
    (got,) = forward(graph.model, tuple(given.values()))
    assert expected.any()
    assert np.array_equal(got.reshape(BATCH, -1), expected.reshape(BATCH, -1))
    assert found.input.frame == tuple(net.inputs["x"][1:])


def test_no_layer_is_added_for_quants_of_a_residual_block(tmp_path: Path) -> None:
    _, found = layers(residual().save(tmp_path / "net.onnx"))
    assert [layer.op for layer in found.layers if layer.op != "relu"] == [
        *("conv2d", "conv2d", "add", "conv2d", "conv2d", "add", "max_pool2d", "conv2d"),
    ]
    _, found = layers(depthwise().save(tmp_path / "net.onnx"))
    assert [(layer.op, layer.groups) for layer in found.layers if layer.op != "relu"] == [
        *(("conv2d", 1), ("conv2d", 4), ("avg_pool2d", 1), ("conv2d", 1)),
    ]


def test_one_sided_padding_is_part_of_the_convolution(tmp_path: Path) -> None:
    _, found = layers(padded().save(tmp_path / "net.onnx"))
    first, second = found.layers
    assert first.geometry is not None
    assert second.geometry is not None
    assert first.geometry.padding == ((0, 2), (1, 0))
    assert second.geometry.padding == ((1 + 1, 1), (0, 2))


def vector() -> Any:
    net = Images(x=6)
    net.quant(3, 6)
    return net.conv(2, 6, (3, 3), "conv")


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "kernel": (
        lambda: stem().conv(2, 4, (7, 3), "big"),
        "node /big/Conv (Conv): its kernel reaches over 7 x 3 positions, and its padded input has 6 x 7",
    ),
    "groups": (
        lambda: stem().conv(2, 4, (1, 1), "grouped", group=2),
        "node /grouped/Conv (Conv): a weight of shape (2, 4, 1, 1) in 2 groups does not fit [batch, 4, 6, 7]",
    ),
    "a vector": (
        vector,
        "node /conv/Conv (Conv): reads [batch, 6], not [batch, channels, positions] or ",
    ),
    "a Transpose": (
        lambda: stem().then("Transpose", perm=[0, 1, 3, 2], name="t").conv(2, 4, (1, 1), "point"),
        "node /point/Conv (Conv): reads an image whose axes a Transpose has moved, which would need a buffer",
    ),
    "a mode": (
        lambda: stem().then("Pad", mode="reflect", name="pad"),
        "node pad (Pad): pads with mode = 'reflect'",
    ),
    "a pool with one side": (
        lambda: stem().then("MaxPool", kernel_shape=[2, 2], pads=[0, 0, 1, 1], name="pool"),
        "node pool (MaxPool): pads ((0, 1), (0, 1)), and a pool pads both sides alike, by half its kernel at most",
    ),
    "a mean of channels": (
        lambda: stem().then("ReduceMean", axes=[1], name="mean"),
        "node mean (ReduceMean): reduces the axes [1] of [batch, 4, 6, 7]",
    ),
    "transposed": (
        lambda: stem().then("ConvTranspose", "conv1.weight", name="up"),
        "node up (ConvTranspose): is not supported in hardware",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, text = REFUSED[case]
    path = make().save(Path("net.onnx"))
    with pytest.raises(ProblemsError) as caught:
        read_onnx(path)
    assert text in caught.value.problems[0].message


DATA = """
import numpy as np


def load():
    drawn = np.random.default_rng(1)
    return drawn.normal(0, 3, (12, 3, 6, 7)).astype(np.float32), drawn.integers(0, 5, 12)
"""


def _command(*arguments: str, folder: Path) -> str:
    command = [sys.executable, "-m", "mase_hw", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.nightly
def test_a_residual_network_from_the_file_to_simulated_rtl(tmp_path: Path) -> None:
    """Of 420 cycles every layer needs some or all; 5 more were lost without the FIFO in front of conv2's window."""
    residual().save(tmp_path / "net.onnx")
    (tmp_path / "data.py").write_text(DATA)
    lines = ['model = "net.onnx"', 'dataset = "data.py:load"', "[hardware]", "target_interval = 420"]
    (tmp_path / "net.toml").write_text("\n".join(lines))
    assert "missed" not in _command("emit", "net.toml", "--out", "b", folder=tmp_path)
    build = read_build(tmp_path / "b")
    assert build.design.schedule.interval == 420
    assert any(component.name == "conv2_ahead" for component in build.design.components)
    assert build.samples is not None
    assert build.samples.float_labels.shape == (12,)
    options = ("--engine", "native", "--only", "design", "--vectors", "4", "--samples", "12")
    told = _command("sim", "b", *options, folder=tmp_path)
    assert "interval 420 predicted, 420 simulated" in told
    assert "12 data set" in told
