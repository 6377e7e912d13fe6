"""Thresholds: torch = integer reference = RTL on vectors and frames, and what `prove` says of them."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

import numpy as np
import pytest
import torch
from support import assert_software_equal, by_type, spec
from together import assert_all_equal
from torch import Tensor, nn

from mase_hw.cli import main
from mase_hw.config.write import toml_text
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, read_build
from mase_hw.flow import Compiled, compile_model
from mase_hw.ir.finish import Result
from mase_hw.modules import Thresholds
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.thresholds import given_of, reached_from, thresholds
from mase_hw.simulate.stimulus import stimulus

BYTE = Fixed(8, 4)
RESULT_4 = Result(Fixed(4, 0), Rounding.HALF_EVEN)
NET = """
import torch
from torch import nn
from mase_hw.modules import Thresholds


class net(nn.Sequential):
    input_shape = (3,)

    def __init__(self):
        rows = torch.tensor([[-1.0, 0.3, 2.0], [-0.5, 0.0, 0.1]])
        super().__init__(nn.Linear(3, 2), Thresholds(rows, -1.0, 2.0), nn.Linear(2, 2))
"""
MATRIX = {"weight": Fixed(4, 2), "bias": Fixed(6, 4)}


def limits(channels: int, count: int, seed: int = 0) -> Tensor:
    drawn = torch.randn(channels, count, generator=torch.Generator().manual_seed(seed)) * 2
    return drawn.sort(1).values


class Images(nn.Module):
    """One bit behind a convolution, five thresholds behind the next, three that all features share at the end."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.conv1, self.act1 = nn.Conv2d(2, 4, 3), Thresholds(limits(4, 1))
        self.pool = nn.MaxPool2d(2)
        self.conv2, self.act2 = nn.Conv2d(4, 3, 2), Thresholds(limits(3, 5, 2), start=-1.0, step=0.5)
        self.fc, self.act3 = nn.Linear(3 * 2 * 2, 5), Thresholds(limits(1, 3, 3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.act2(self.conv2(self.pool(self.act1(self.conv1(x)))))
        y: Tensor = self.act3(self.fc(torch.flatten(x, 1)))
        return y


def images(interval: int) -> Compiled:
    tables = by_type(conv2d=spec(data_in=BYTE, **MATRIX), linear=spec(data_in=Fixed(4, 1), **MATRIX))
    return compile_model(Images(), (2, 8, 8), tables, top="dut", target_interval=interval)


def vectors(count: int, *, quantized: bool) -> Compiled:
    torch.manual_seed(count)
    model = nn.Sequential(nn.Linear(3, 6), Thresholds(limits(6, count), start=-1.0, step=2.0), nn.Linear(6, 2))
    tables = {"linear": spec(data_in=BYTE, **MATRIX)}
    if quantized:
        tables["thresholds"] = spec(data_in=Fixed(5, 2), data_out=Fixed(3, 0))
    return compile_model(model, (3,), by_type(**tables), top="dut")


def even(slopes: list[float]) -> Compiled:
    """16 levels in a row behind each sum: a multiplication crosses at the same numbers."""
    torch.manual_seed(1)
    rows = torch.tensor([[round((k - 8.5) / slope) / 64 for k in range(1, 16)] for slope in slopes])
    model = nn.Sequential(nn.Linear(6, len(slopes)), Thresholds(rows, start=-8.0), nn.Linear(len(slopes), 2))
    second = spec(data_in=Fixed(4, 0), **MATRIX)
    tables = {"by": "name", "_0": spec(data_in=BYTE, **MATRIX), "_2": second}
    return compile_model(model, (6,), tables, top="dut", target_interval=1)


def test_even_thresholds_are_a_multiplication() -> None:
    compiled = even([0.11, 0.013, 0.031, 0.25])
    assert [node.implementation for node in compiled.design.nodes][1] == "multiply"
    assert_software_equal(compiled)
    made = compiled.design.component("_1")
    layer = compiled.layers.by_name["_1"]
    search = thresholds("t", made.input, *given_of(layer, made.input), RESULT_4)
    lo, hi = made.input.bounds
    x = np.stack([np.linspace(*ends, 5000).astype(np.int64) for ends in zip(lo, hi, strict=True)], axis=1)
    assert np.array_equal(made.execute(x)[0], search.execute(x)[0])


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("count", [1, 2, 3, 6, 15])
def test_torch_and_the_integers_agree(count: int, quantized: bool) -> None:
    assert_software_equal(vectors(count, quantized=quantized))


def test_on_frames_torch_and_the_integers_agree() -> None:
    assert_software_equal(images(300))


@pytest.mark.slow
def test_the_rtl_agrees(tmp_path: Path) -> None:
    found = {
        "fast": images(64),
        "slow": images(300),
        "one": vectors(1, quantized=True),
        "six": vectors(6, quantized=False),
        "even": even([0.11, 0.013, 0.031, 0.25]),
    }
    assert_all_equal({name: compiled.design for name, compiled in found.items()}, tmp_path, 16, yosys=True)


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("thresholds")
    (folder / "net.py").write_text(NET, encoding="utf-8")
    values = {"model": "net.py:net", "passes": {"quantize": {"by": "type", "linear": spec(data_in=BYTE, **MATRIX)}}}
    (folder / "net.toml").write_text(toml_text(values), encoding="utf-8")
    main(["emit", str(folder / "net.toml"), "--out", str(folder / "build"), "--quiet"])
    return read_build(folder / "build")


def claims(build: Build, capsys: pytest.CaptureFixture[str]) -> list[tuple[str, str]]:
    """What `prove` says of the thresholds."""
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["prove", str(build.path), "--json"])
    found = json.loads(capsys.readouterr().out)
    return [(one["about"], one["status"]) for one in found if one["component"] == "_1"]


@pytest.mark.slow
def test_every_claim_is_proved(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(claims(build, capsys)) == [(about, "proved") for about in ("handshake", "timing", "values", "widths")]


def test_a_comparison_that_is_off_by_one_is_refuted(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    [file] = [file for file in build.places if file.stem.endswith("_1")]
    text = file.read_text("utf-8")
    assert text.count(">= limit") == 2
    try:
        file.write_text(text.replace(">= limit", "> limit", 1), encoding="utf-8")
        assert [one for one in claims(build, capsys) if one[1] != "proved"] == [("values", "refuted")]
    finally:
        file.write_text(text, encoding="utf-8")


def test_the_host_model_computes_them(build: Build) -> None:
    main(["export", str(build.path), "--to", "python", "--quiet"])
    [path] = (build.path / "export" / "python").glob("*.py")
    names = runpy.run_path(str(path))
    x = stimulus(build.design, 80, 1).x
    assert np.array_equal(names["run"](x), build.design.results(x)[0])


def test_a_threshold_between_two_numbers_is_reached_by_the_upper_one() -> None:
    assert reached_from(np.array([-5, -4, 0, 1, 4, 5]), -2).tolist() == [-1, -1, 0, 1, 1, 2]
    assert reached_from(np.array([-5, 3]), 2).tolist() == [-20, 12]


def test_thresholds_without_rows_are_refused() -> None:
    with pytest.raises(ProblemsError, match=re.escape("thresholds are [channels, count], not a tensor of shape [3]")):
        Thresholds(torch.zeros(3))
