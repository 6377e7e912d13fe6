"""The AXI4-Stream top: cocotbext-axi drives it, every integer, TLAST and the padding are checked, faults are caught."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from support import assert_pyslang_elaborates, assert_yosys_elaborates, by_type, named, randomized, spec
from torch import nn

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, write_build
from mase_hw.emit.axis import axis_top
from mase_hw.flow import compile_model, emit
from mase_hw.numerics import Fixed
from mase_hw.simulate import Outcome, lint
from mase_hw.simulate.axis import MOST, fewer, find_cocotbext_axi, simulate_axis
from mase_hw.simulate.check import SimRequest, check
from mase_hw.simulate.stimulus import Stimulus, stimulus

slow = pytest.mark.slow


MODEL = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 3)

    def forward(self, x):
        return self.fc(x)
"""
CONFIG = """model = "net.py:Net"

[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "integer"
data_in_width = 5
data_in_frac_width = 3
weight_width = 4
weight_frac_width = 2
bias_width = 4
bias_frac_width = 2

[hardware]
top = "own"
interface = "axis"
"""


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(8, 6)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.fc2(self.relu1(self.fc1(x)))
        return out


class Axis(nn.Module):
    """Its one layer has the name that the wrapper would have."""

    def __init__(self) -> None:
        super().__init__()
        self.axis = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.axis(x)
        return out


def folded(folder: Path) -> Build:
    """Two beats in and two out; 6 bits in a byte in, 10 signed bits in two bytes out."""
    narrow = Fixed(6, 3)
    entry = spec(data_in=narrow, weight=narrow, bias=narrow)
    lanes = {"implementation": "folded", "data_in_parallelism": 4, "data_out_parallelism": 3}
    more = {"implementation": "folded", "data_in_parallelism": 3, "data_out_parallelism": 2}
    design = compile_model(randomized(Net(), 1), (8,), by_type(linear=entry), named(fc1=lanes, fc2=more), top="net")
    return write_build(folder, design.design, {}, None, interface="axis")


def unrolled(folder: Path) -> Build:
    """One beat in and one out, unsigned at both ends; no padding in, five bits of it out."""
    entry = spec(data_in=Fixed(8, 4, False), weight=Fixed(6, 3), bias=Fixed(6, 3), data_out=Fixed(3, 0, False))
    design = compile_model(randomized(Axis(), 2), (4,), by_type(linear=entry), top="wide").design
    return write_build(folder, design, {}, None, interface="axis")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return folded(tmp_path_factory.mktemp("axis") / "net")


def run(build: Build, work: Path, files: tuple[Path, ...] = (), patterns: tuple[str, ...] = ("both",)) -> Outcome:
    assert build.axis is not None
    vectors = stimulus(build.design, 40, 3)
    asked = tuple(p for p in SimRequest().patterns if p in patterns)
    return simulate_axis(build.design, build.axis, files or tuple(build.rtl), vectors, asked, 5, work)


def test_the_manifest_and_the_files(build: Build, tmp_path: Path) -> None:
    assert build.manifest["axis"] == {
        "top": "net_axis",
        "clock": "aclk",
        "reset": "aresetn",
        "inputs": [{"name": "s_axis", "lane_bytes": 1, "tdata_width": 32}],
        "outputs": [{"name": "m_axis", "lane_bytes": 2, "tdata_width": 32}],
    }
    assert [path.name for path in build.rtl[-2:]] == ["net.sv", "net_axis.v"]
    plain = write_build(tmp_path / "plain", build.design, {}, None)
    assert plain.axis is None
    assert "axis" not in plain.manifest
    assert [path.name for path in plain.rtl] == [path.name for path in build.rtl[:-1]]
    assert build.manifest["top"] == plain.manifest["top"] == "net"


def test_a_toml_asks_for_it(tmp_path: Path) -> None:
    (tmp_path / "net.py").write_text(MODEL)
    (tmp_path / "model.toml").write_text(CONFIG)
    build, _ = emit(load_config(tmp_path / "model.toml"), tmp_path / "build")
    assert build.axis is not None
    assert build.axis.module == "own_axis"
    assert build.axis.inputs[0].padding == 3
    first = {"rounding": "integer", "input_order": None, "output_order": None}
    every = {"roundings": ["integer"], "input_orders": [None], "output_orders": [None]}
    assert build.manifest["reals"] == {**first, **every}
    assert (build.path / "rtl" / "files.f").read_text().splitlines()[-2:] == ["own.sv", "own_axis.v"]


def test_a_layer_called_axis_does_not_collide(tmp_path: Path) -> None:
    build = unrolled(tmp_path / "wide")
    assert axis_top(build.design).module == "wide_axis_top"
    assert [path.name for path in build.rtl[-3:]] == ["wide_axis.sv", "wide.sv", "wide_axis_top.v"]


def test_fewer_keeps_some_of_every_group(build: Build) -> None:
    axis = build.axis
    assert axis is not None
    x = np.arange(30_000, dtype=np.int64)[:, None].repeat(8, 1)
    found = fewer(axis, Stimulus((x,), (("data set", 29_000), ("all largest", 1), ("random", 999))))
    assert [label for label, _ in found.groups] == ["data set", "all largest", "random"]
    assert len(found.x) == sum(count for _, count in found.groups) <= MOST + 3
    assert found.x[0, 0] == 0
    assert 29_000 in found.x[:, 0]  # the only one of its group
    few = Stimulus((x[:50],), (("random", 50),))
    assert fewer(axis, few) is few


def test_without_the_extra_it_says_what_to_install(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "cocotbext" else there(name))
    with pytest.raises(ProblemsError, match=re.escape("pip install 'mase-hw[axis]'")):
        find_cocotbext_axi()
    with pytest.raises(ProblemsError, match="cocotbext-axi: not installed"):
        next(check(build, SimRequest()))  # before anything was simulated
    assert not (build.path / "sim" / "design").exists()


@slow
def test_the_top_is_clean_and_elaborates(build: Build, tmp_path: Path) -> None:
    for one in (build, unrolled(tmp_path / "wide")):
        assert one.axis is not None
        assert lint(one.rtl, one.axis.module) == []
        assert_pyslang_elaborates(one.rtl, one.axis.module)
        assert_yosys_elaborates(one.rtl, one.axis.module)


@slow
def test_sim_checks_the_axi_ports_and_the_streams_inside(build: Build) -> None:
    command = [sys.executable, "-m", "mase_hw", "sim", str(build.path), "--vectors", "50"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"^design: \d+ vectors x 4 .* \((\d+) of \1 inside\)$", done.stdout, re.M)
    found = re.search(r"^axis: (\d+) vectors x 4 stall patterns, (\d+) outputs compared, \2 equal$", done.stdout, re.M)
    assert found, done.stdout
    assert int(found[2]) == int(found[1]) * 4 * 4
    counted = re.search(r"every sample; (\d+) wrong ones sent besides, \1 counted$", done.stdout, re.M)
    assert counted
    assert int(counted[1]) > 50
    for name in ("fc1", "fc2"):
        assert re.search(rf"^{name}: ", done.stdout, re.M)
    results = json.loads((build.path / "sim" / "axis" / "results.json").read_text())
    assert results["torch_imported"] is False
    cycles = {entry["pattern"]: entry["cycles"] for entry in results["patterns"]}
    assert list(cycles) == ["none", "gaps", "pressure", "both"]
    assert cycles["none"] < min(cycles["gaps"], cycles["pressure"]) < cycles["both"]  # the stalls were real
    assert results["patterns"][0]["streams"][1]["cycles_checked"]


@slow
def test_unsigned_and_one_beat(tmp_path: Path) -> None:
    build = unrolled(tmp_path / "wide")
    outcome = run(build, tmp_path / "work", patterns=("none", "both"))
    assert outcome.passed, outcome.failures


@dataclass(frozen=True)
class Fault:
    old: str
    new: str
    says: str


FAULTS = {
    "zeros where the sign belongs": Fault(
        "{6{out_data[lane * 10 + 9]}}", "{6{1'b0}}", r"expected -\d+, got \d+ in TDATA"
    ),
    "padding is not ignored": Fault("s_axis_tdata[lane * 8 +: 6]", "s_axis_tdata[lane * 8 + 1 +: 6]", "expected"),
    "TLAST on every beat": Fault(
        "m_axis_tlast = out_last", "m_axis_tlast = 1'b1", "TLAST came after 1 beats of vector 0"
    ),
    "a wrong TLAST is swallowed": Fault("s_axis_tlast != in_last", "1'b0", r"tlast_error: \d+ beats .* count is 0"),
    "only missing TLASTs count": Fault("s_axis_tlast != in_last", "!s_axis_tlast && in_last", "tlast_error: "),
    "waiting beats count too": Fault("(in_fire && s_axis_tlast", "(s_axis_tvalid && s_axis_tlast", "tlast_error: "),
    "the flag is not sticky": Fault(
        "    end else if (in_fire",
        "    end else if (in_fire && tlast_error) begin\n      tlast_error <= 1'b0;\n    end else if (in_fire",
        "tlast_error: ",
    ),
    "the beat follows TLAST": Fault("in_beat <= in_last ?", "in_beat <= s_axis_tlast ?", "tlast_error: "),
    "reset leaves the output's beat": Fault(
        "if (!aresetn) out_beat <= 1'd0;\n    else if", "if", "TLAST came after 1 "
    ),
    "a beat is offered in reset": Fault("out_valid && aresetn", "out_valid", "stream rule broken"),
    "the flag is set, the count is not": Fault(
        "tlast_error_count + 16'd1", "tlast_error_count", "the count is 0 and the flag 1"
    ),
}


@slow
@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_in_the_wrapper_is_caught(build: Build, tmp_path: Path, name: str) -> None:
    fault = FAULTS[name]
    text = build.rtl[-1].read_text()
    assert text.count(fault.old) == 1
    (tmp_path / "net_axis.v").write_text(text.replace(fault.old, fault.new))
    outcome = run(build, tmp_path / "work", (*build.rtl[:-1], tmp_path / "net_axis.v"))
    assert not outcome.passed
    assert re.search(fault.says, outcome.failures[0]), outcome.failures[0]


@slow
def test_the_count_stops_at_its_largest(build: Build, tmp_path: Path) -> None:
    text = build.rtl[-1].read_text()
    (tmp_path / "net_axis.v").write_text(text.replace("tlast_error_count <= 16'd0", "tlast_error_count <= 16'hfffd"))
    outcome = run(build, tmp_path / "work", (*build.rtl[:-1], tmp_path / "net_axis.v"))
    assert "the count is 65533 and the flag 0" in outcome.failures[0]  # where TLAST was right, it stays where it starts
    wrong = (tmp_path / "net_axis.v").read_text().replace("if (!aresetn) in_beat", "if (1'b0) in_beat")
    (tmp_path / "net_axis.v").write_text(wrong.replace("in_last = in_beat == 1'd1", "in_last = 1'b0"))
    outcome = run(build, tmp_path / "work", (*build.rtl[:-1], tmp_path / "net_axis.v"))
    assert "the count is 65535 and the flag 1" in outcome.failures[0]
