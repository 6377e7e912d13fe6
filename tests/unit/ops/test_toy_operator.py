"""An operator from outside the package: one declaration, and every command knows it."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from support import assert_software_equal, by_type, named, randomized, spec
from torch import Tensor, nn

import mase_hw
from mase_hw.cli import main
from mase_hw.config.write import toml_text
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, read_build
from mase_hw.flow import Compiled, compile_model
from mase_hw.graph import MaseGraph, get_mase_op, get_mase_type
from mase_hw.ir import Component
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.operator import LISTED, OPERATORS, built_operators, operators
from mase_hw.passes import add_common_metadata_analysis_pass
from mase_hw.passes.analysis.operations import computations
from mase_hw.simulate.stimulus import stimulus

HERE = Path(__file__).parent
ROOT = Path(mase_hw.__file__).parents[1]
BYTE, NARROW = Fixed(8, 4), Fixed(5, 2)
LAYER = spec(data_in=BYTE, weight=Fixed(5, 3), bias=BYTE)
NET = """
import torch
from torch import nn
from toy.modules import Abs


class Net(nn.Module):
    input_shape = (6,)

    def __init__(self):
        super().__init__()
        self.fc1, self.size, self.fc2 = nn.Linear(6, 8), Abs(), nn.Linear(8, 4)

    def forward(self, x):
        return torch.abs(self.fc2(self.size(self.fc1(x))))
"""


@pytest.fixture(scope="module", autouse=True)
def toy() -> Iterator[Any]:
    """The package, imported; other tests must not find its operator."""
    assert "abs" not in operators()
    yield importlib.import_module("toy")
    del OPERATORS["abs"], Component.kinds["abs"]
    for name in [name for name in sys.modules if name.split(".")[0] == "toy"]:
        del sys.modules[name]


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory, toy: Any) -> Build:
    """What `mase-hw emit` writes for a model with it as a module between linear layers, and as a function behind."""
    folder = tmp_path_factory.mktemp("toy")
    (folder / "net.py").write_text(NET, encoding="utf-8")
    quantize = {"by": "type", "linear": LAYER, "abs": spec(data_in=BYTE, data_out=NARROW)}
    values = {"model": "net.py:Net", "seed": 3, "passes": {"quantize": quantize}, "hardware": {"target_interval": 4}}
    (folder / "net.toml").write_text(toml_text(values), encoding="utf-8")
    main(["emit", str(folder / "net.toml"), "--out", str(folder / "build"), "--quiet"])
    return read_build(folder / "build")


class Ways(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.size = importlib.import_module("toy.modules").Abs()

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return self.size(x), torch.abs(x), abs(x), x.abs(), x.__abs__()


def test_whatever_means_it_is_known() -> None:
    calls = [node for node in MaseGraph(Ways()).nodes if node.op.startswith("call_")]
    assert len(calls) == 5
    assert {get_mase_op(node) for node in calls} == {"abs"}
    assert {get_mase_type(node) for node in calls} == {"builtin_func"}


class Overwrites(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(5, 6), nn.Linear(6, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.fc1(x)
        x.abs_()
        return self.fc2(x)


def test_in_place() -> None:
    tables = by_type(linear=LAYER, abs=spec(data_in=BYTE))
    compiled = compile_model(randomized(Overwrites()), (5,), tables, top="net")
    assert [node.op for node in compiled.design.nodes] == ["linear", "abs", "linear"]
    assert_software_equal(compiled)


def test_its_computations_are_counted() -> None:
    graph = MaseGraph(Ways())
    add_common_metadata_analysis_pass(graph, {"dummy_in": {"x": torch.zeros(1, 6)}})
    counted = [computations(node, node.meta["mase"].common) for node in graph.nodes if node.op.startswith("call_")]
    assert counted == [6] * 5


def drawn(k: int) -> Compiled:
    """The operator with types, lanes and bounds drawn at random, first or behind a linear layer."""
    rng = np.random.default_rng(k)

    def fixed() -> Fixed:
        return Fixed(int(rng.integers(2, 10)), int(rng.integers(-2, 8)), bool(rng.random() < 0.7))

    rounding = list(Rounding)[k % 2]
    size = importlib.import_module("toy.modules").Abs()
    model = nn.Sequential(nn.Linear(5, 6), size) if k % 3 else nn.Sequential(size)
    entry = spec(rounding, data_in=fixed(), data_out=fixed() if k % 4 else None)
    last = f"_{len(model) - 1}"
    tables = {"by": "name", "default": {"config": {"name": None}}, last: entry}
    if k % 3:
        tables["_0"] = spec(rounding, data_in=fixed(), weight=fixed(), bias=fixed())
    lanes = int(rng.choice([1, 2, 3, 6]))
    hardware = named(**{last: {"data_in_parallelism": lanes, "data_out_parallelism": lanes}})
    return compile_model(randomized(model, k), (5 if k % 3 else 6,), tables, hardware, top="drawn")


@pytest.mark.parametrize("k", range(12))
def test_torch_equals_the_integers(k: int) -> None:
    compiled = drawn(k)
    assert "abs" in {component.kind for component in compiled.design.components}
    assert_software_equal(compiled)


def test_a_function_is_quantized_as_the_module_is(build: Build) -> None:
    kinds = {node.name: node.op for node in build.design.nodes}
    assert kinds == {"fc1": "linear", "size": "abs", "fc2": "linear", "abs_1": "abs"}
    assert build.design.output.fixed == NARROW


def test_types_are_asked_for() -> None:
    with pytest.raises(ProblemsError) as found:
        compile_model(randomized(nn.Sequential(nn.Linear(5, 6), Ways().size)), (5,), by_type(linear=LAYER), top="net")
    lines = ["[passes.quantize.abs.config]", 'name = "integer"', "data_in_width = 8", "data_in_frac_width = 4"]
    assert "_1: Abs is not quantized" in str(found.value)
    assert all(line in str(found.value) for line in lines)


def prove(build: Build, capsys: pytest.CaptureFixture[str]) -> tuple[Any, list[dict[str, Any]]]:
    """The exit code and the claims."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["prove", str(build.path), "--config", str(build.path.parent / "net.toml"), "--json"])
    return ended.value.code, json.loads(capsys.readouterr().out)


def test_every_claim_is_proved(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    code, claims = prove(build, capsys)
    assert code == 0
    assert {claim["status"] for claim in claims} == {"proved"}
    for name in ("size", "abs_1"):
        about = {claim["about"] for claim in claims if claim["component"] == name}
        assert about == {"values", "timing", "handshake", "widths"}


BROKEN = {
    "-3 keeps its sign": ("x[i] < 0 ?", "x[i] < -3 ?", "values"),  # -1 and -2 are rounded to 0 as 1 and 2 are
    "a bit to spare": (".SumWidth(9)", ".SumWidth(10)", "widths"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_template_is_not_proved(name: str, build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, about = BROKEN[name]
    [file] = [file for file in build.places if file.stem.endswith("_size")]
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    try:
        file.write_text(text.replace(old, new), encoding="utf-8")
        code, claims = prove(build, capsys)
    finally:
        file.write_text(text, encoding="utf-8")
    assert code == 1
    wrong = [(claim["component"], claim["about"]) for claim in claims if claim["status"] != "proved"]
    assert wrong == [("size", about)]


@pytest.mark.slow
def test_the_rtl_is_simulated(build: Build, capsys: pytest.CaptureFixture[str]) -> None:
    main(["sim", str(build.path), "--vectors", "20"])
    assert "passed: every integer of every stream equals the software reference" in capsys.readouterr().out


def test_the_report_draws_it(build: Build) -> None:
    main(["report", str(build.path), "--quiet"])
    page = (build.path / "report" / "index.html").read_text("utf-8")
    assert ">size<" in page


def test_the_host_model_computes_it(build: Build) -> None:
    main(["export", str(build.path), "--to", "python", "--quiet"])
    [path] = (build.path / "export" / "python").glob("*.py")
    found = importlib.util.spec_from_file_location("host_model", path)
    assert found is not None
    assert found.loader is not None
    host = importlib.util.module_from_spec(found)
    found.loader.exec_module(host)
    x = stimulus(build.design, 80, 1).x
    assert np.array_equal(host.run(x), build.design.results(x)[0])


def test_show(capsys: pytest.CaptureFixture[str]) -> None:
    main(["show", "abs"])
    text = capsys.readouterr().out
    assert "y = requantize(|x|)" in text
    assert "Absolute value abs: y = |x|, rounded half to even" in text


def test_an_entry_point_is_enough(tmp_path: Path) -> None:
    """An installed package is imported by the command itself."""
    info = tmp_path / "toy-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[mase_hw.operators]\nabs = toy\n", encoding="utf-8")
    command = [sys.executable, "-m", "mase_hw", "show", "abs", "--rtl"]
    places = [str(HERE), str(ROOT)]
    for known in (False, True):
        path = os.pathsep.join([*places, str(tmp_path)] if known else places)
        run = subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
        assert (run.returncode == 0) is known, run.stderr
        assert ("module example_abs" in run.stdout) is known


def test_nothing_else_knows_it() -> None:
    files = [*ROOT.glob("mase_hw/**/*.py"), *ROOT.glob("rtl_templates/**/*"), *ROOT.glob("sim/**/*.py")]
    words = ("toy.", '"abs"', "AbsInteger")
    known = [f for f in files if f.is_file() and any(word in f.read_text("utf-8") for word in words)]
    assert known == []


def test_the_project_s_own_operators_have_a_place_in_the_list() -> None:
    built = built_operators()
    assert list(built)[: len(LISTED)] == list(LISTED)
    assert {name for name, each in built.items() if type(each).__module__.startswith("mase_hw.")} == set(LISTED)
