"""Images of a data set through a build: their vectors, blocks of them, the floats beside them, a missed target."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support import spec
from torch import nn

import mase_hw.ir.design as design_module
from mase_hw.config_file import load_config
from mase_hw.datasets import load_dataset
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import read_build
from mase_hw.flow import Compiled, compile_model, emit
from mase_hw.ir import Design
from mase_hw.numerics import Fixed
from mase_hw.report.values import values
from mase_hw.samples import quantize_inputs, run_quantized
from mase_hw.simulate.native_stimulus import blocks
from mase_hw.simulate.stimulus import Stimulus, stimulus
from mase_hw.simulate.whole import check_whole

TOML = """\
model = "net.py:Net"
dataset = "net.py:images"
[passes.quantize]
by = "type"
[passes.quantize.conv2d.config]
name = "integer"
data_in_width = 4
data_in_frac_width = 2
weight_width = 4
weight_frac_width = 3
bias_width = 4
bias_frac_width = 3
"""
NET = """\
import numpy as np
from torch import nn


class Net(nn.Sequential):
    input_shape = (2, 6, 5)

    def __init__(self):
        super().__init__(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 4, (4, 3)), nn.Flatten())


def images():
    rng = np.random.default_rng(0)
    return rng.normal(size=(7, 2, 6, 5)).astype(np.float32), np.arange(7) % 4
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("images")
    (folder / "net.py").write_text(NET, "utf-8")
    (folder / "model.toml").write_text(TOML, "utf-8")
    emit(load_config(folder / "model.toml"), folder / "build")
    return folder


def conv(target: int | None = None) -> Compiled:
    torch.manual_seed(0)
    fixed = Fixed(4, 2)
    entry = spec(data_in=fixed, weight=fixed, bias=fixed)
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Conv2d(2, 2, 3))
    quantize = {"by": "type", "default": {"config": {"name": None}}, "conv2d": entry}
    return compile_model(net.eval(), (1, 9, 9), quantize, target_interval=target)


def test_the_samples_of_a_build_are_vectors_of_its_ports(folder: Path) -> None:
    build = read_build(folder / "build")
    check_whole(build)
    samples, design = build.samples, build.design
    assert samples is not None
    assert samples.x.shape == (7 * 30, 2)
    image = load_dataset("net.py:images", folder).x_test[3]
    wanted = np.clip(np.round(image.transpose(1, 2, 0) * 4), -8, 7)  # row by row, the channels of a pixel together
    assert np.array_equal(samples.x[3 * 30 : 4 * 30].reshape(6, 5, 2), wanted)
    assert np.array_equal(design.run(samples.x)["data_out_0"], samples.y)


def test_results_in_blocks_are_those_of_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = conv()
    design = compiled.design
    images = np.random.default_rng(1).normal(size=(7, 1, 9, 9)).astype(np.float32)
    x = quantize_inputs(compiled.layers, images)
    wanted = design.run(*x)["data_out_0"]
    calls: list[int] = []
    run = Design.run
    monkeypatch.setattr(Design, "run", lambda self, *x: calls.append(len(x[0])) or run(self, *x))
    monkeypatch.setattr(design_module, "AT_ONCE", 2 * sum(s.positions * s.features for s in design.streams))
    (found,) = design.results(*x)
    assert calls == [2 * 81, 2 * 81, 2 * 81, 81]
    assert np.array_equal(found, wanted)
    assert np.array_equal(found, run_quantized(compiled.graph, compiled.layers, design, images)[0])


def test_a_report_compares_images_with_the_float_model(folder: Path) -> None:
    content = values(read_build(folder / "build"))
    assert (content["vectors"], content["compared_with_floats"]) == (7, 7)
    found = {layer["name"]: layer for layer in content["layers"]}
    image = load_dataset("net.py:images", folder).x_test
    assert found["input"]["clamped"]["high"] == int((image > 7.5 / 4).sum()) > 0
    assert found["input"]["error"]["values"] == 7 * 60
    first = next(layer for name, layer in found.items() if name.startswith("_0"))
    assert first["error"]["values"] == 7 * 4 * 3 * 3
    assert 0 < first["error"]["rms"] < 0.5


def test_a_target_that_is_missed_between_frames_is_noted() -> None:
    """What is chosen follows the costs; whatever it is, the note is there if, and only if, the interval is longer."""
    seen = set()
    for target in (90, 100, 147, 200, 300, 882):
        made = conv(target)
        interval = made.design.schedule.interval
        text = f"target_interval = {target} is missed: {interval} cycles"
        assert [note.startswith(text) for note in made.notes] == [True] * (interval > target), (interval, made.notes)
        seen.add(interval > target)
    assert seen == {True, False}


def test_a_target_below_the_positions_is_a_problem() -> None:
    with pytest.raises(ProblemsError) as caught:
        conv(60)
    (problem,) = [problem for problem in caught.value.problems if "_0" in problem.message]
    assert problem.message == "hardware._0: its 81 positions take a cycle each, target_interval is 60"
    assert problem.hint == "raise target_interval to 81 or more"


@pytest.mark.parametrize("make", [lambda *x: stimulus(*x, first=5), lambda *x: blocks(*x, 5).fixed])
def test_so_many_samples_run_as_are_asked_for(folder: Path, make: Callable[..., Stimulus]) -> None:
    build = read_build(folder / "build")
    assert build.samples is not None
    made = make(build.design, 0, 0, build.samples.inputs)
    assert made.groups[0] == ("data set", 5)
    assert np.array_equal(made.x[: 5 * 30], build.samples.x[: 5 * 30])


def test_fewer_samples_run_where_they_are_frames(folder: Path) -> None:
    design = read_build(folder / "build").design
    images = np.zeros((40 * 30, 2), np.int64)
    cycles = 32 * int(design.schedule.interval)
    groups = dict(stimulus(design, None, 0, (images,), cycles).groups)
    assert (groups["data set"], groups["one hot"], groups["random"]) == (32, 4, 32)
    assert dict(stimulus(design, None, 0, (images,), cycles, first=40).groups)["data set"] == 40
