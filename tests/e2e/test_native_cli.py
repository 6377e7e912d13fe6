"""`mase-hw sim --engine native` as a user runs it: a build passes, a broken one is caught, Ctrl-C reports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from support import eight_bit, named, randomized
from torch import nn

from mase_hw.emit import Build, read_build, write_build
from mase_hw.flow import compile_model
from mase_hw.simulate.cache import root
from mase_hw.simulate.native import BLOCK
from mase_hw.simulate.native_build import build_library

pytestmark = pytest.mark.slow


class Net(nn.Module):
    """A folded layer, then an unrolled one."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(8, 6)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(6, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.fc2(self.relu1(self.fc1(x)))
        return out


def emit(folder: Path, change: tuple[str, int, int] | None = None) -> Build:
    """The net's build; with `change`, one weight (layer, row, column) moved by a quarter."""
    model = randomized(Net(), seed=1)
    if change is not None:
        layer, row, column = change
        with torch.no_grad():
            model.get_parameter(f"{layer}.weight")[row, column] += 0.25
    hardware = named(
        fc1={"implementation": "folded", "data_in_parallelism": 4, "data_out_parallelism": 3},
        fc2={"implementation": "unrolled"},
    )
    design = compile_model(model, (8,), eight_bit(), hardware, top="net").design
    return write_build(folder / "build", design, {}, None)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return emit(tmp_path_factory.mktemp("sound"))


def broken(sound: Build, folder: Path, file: str, text: str) -> Build:
    """A copy of the build with one RTL file replaced."""
    copy = folder / "broken"
    shutil.copytree(sound.path, copy)
    assert (copy / "rtl" / file).read_text() != text
    (copy / "rtl" / file).write_text(text)
    return read_build(copy)


def sim(build: Build, *more: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mase_hw", "sim", str(build.path), "--engine", "native", *map(str, more)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_sound_build_passes(sound: Build) -> None:
    done = sim(sound, "--vectors", 20_000)
    assert done.returncode == 0, done.stdout + done.stderr
    heading, *lines = done.stdout.splitlines()
    assert heading == f"{sound.path}: net, made without a TOML"
    found = re.fullmatch(r"design: (\d+) vectors x 4 stall patterns, (\d+) outputs compared, (\d+) equal", lines[0])
    assert found, lines[0]
    assert int(found[2]) == int(found[3]) == int(found[1]) * 4 * 4
    assert lines[-1] == "passed: every integer of the output equals the software reference"
    schedule = sound.design.schedule
    cycles = (
        f"interval {schedule.interval} predicted, {schedule.interval} simulated; latency {schedule.latency} predicted"
    )
    assert cycles in lines[2]
    results = json.loads((sound.path / "sim" / "design" / "native" / "results.json").read_text())
    assert results["engine"] == "native"


def test_a_component_alone(sound: Build) -> None:
    done = sim(sound, "--only", "fc1", "--vectors", 1000)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[1].startswith("fc1: ")


def test_a_wrong_weight_is_caught_and_traced(sound: Build, tmp_path: Path) -> None:
    """The first layer's RTL of a net with one other weight."""
    other = emit(tmp_path, change=("fc1", 2, 3))
    name = "net_fc1.sv"
    build = broken(sound, tmp_path, name, (other.path / "rtl" / name).read_text())
    done = sim(build, "--vectors", 2000)
    assert done.returncode == 1
    line = next(line for line in done.stdout.splitlines() if "FAILED design: none: " in line)
    seen = r"data_out_0 \(fc2\): vector \d+ element \d \(lane \d\): expected -?\d+, got -?\d+, cycle \d+; "
    traced = r"vectors \d+ to \d+ alone, with a probe on every stream: none: \w+ \(fc1\): vector \d+ element 2 "
    assert re.search(seen + traced, line), line
    assert "--engine native --stall none" in line


def test_a_missing_hold_is_caught(sound: Build, tmp_path: Path) -> None:
    """The run of pipelines at the end moves on although its last beat was not taken."""
    text = (sound.path / "rtl" / "net.sv").read_text()
    build = broken(sound, tmp_path, "net.sv", re.sub(r"(assign \w+_enable =) .*;", r"\1 1'b1;", text))
    done = sim(build, "--vectors", 2000, "--stall", "pressure")
    assert done.returncode == 1
    assert "stream rule broken at cycle" in done.stdout


def test_one_changed_layer_is_one_compilation(sound: Build, tmp_path: Path) -> None:
    """Long functions, which hold the arithmetic, are compiled again in the changed layer only."""
    build_library(sound.rtl, sound.design.name)
    cache = tmp_path / "cache"
    cache.mkdir()
    (cache / "runtime").symlink_to(root() / "runtime", target_is_directory=True)  # Verilator's own part is not new
    first = build_library(sound.rtl, sound.design.name, cache)
    assert {"Vtop_net_fc1", "Vtop_net_fc2"} < set(first.compiled)
    assert build_library(sound.rtl, sound.design.name, cache).compiled == ()
    for layer in ("fc1", "fc2"):
        other = emit(tmp_path / layer, change=(layer, 1, 1))
        built = build_library(other.rtl, other.design.name, cache)
        long = [name for name in built.compiled if "." in name]
        assert all(name.startswith(f"Vtop_net_{layer}.") for name in long), built.compiled
        assert any(name.startswith(f"Vtop_net_{layer}") for name in built.compiled), built.compiled
        assert built.library != first.library


# The command itself, which gets Ctrl-C in its sixth block: four patterns have the first one, two the second.
INTERRUPTED = """
import os, signal, sys
from mase_hw.cli import main
from mase_hw.simulate.native_pattern import PatternRun
feed, calls = PatternRun.feed, []
def counted(*arguments):
    feed(*arguments)
    calls.append(1)
    if len(calls) == 6:
        os.kill(os.getpid(), signal.SIGINT)
PatternRun.feed = counted
main(sys.argv[1:])
"""


def test_ctrl_c_reports_what_was_compared(sound: Build) -> None:
    more = ["sim", str(sound.path), "--engine", "native", "--vectors", "100000000"]
    done = subprocess.run([sys.executable, "-c", INTERRUPTED, *more], capture_output=True, text=True, check=False)
    text = done.stdout
    assert done.returncode == 130, text + done.stderr
    found = re.search(r"x 4 stall patterns, (\d+) outputs compared, (\d+) equal", text)
    assert found, text
    assert 5 * BLOCK * 4 < int(found[1]) == int(found[2]) <= 6 * BLOCK * 4
    seen = re.search(
        r"^  stopped after so many of them: none (\d+), gaps (\d+), pressure (\d+), both (\d+)$", text, re.M
    )
    assert seen, text
    assert [-(-int(count) // BLOCK) for count in seen.groups()] == [2, 2, 1, 1]
    assert text.splitlines()[-1].startswith("stopped: ")


def test_waves_need_the_other_engine(sound: Build) -> None:
    done = sim(sound, "--waves")
    assert done.returncode == 1
    assert "--waves needs --engine cocotb" in done.stderr
