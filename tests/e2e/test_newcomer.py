"""A newcomer's path as a script, from a model in a file to exports, and the README's commands for it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from mase_hw.emit import read_build

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "examples" / "newcomer" / "run.sh"
MARK = "<!-- run by tests/e2e/test_newcomer.py -->"
PASSED = "passed: every integer of every stream equals the software reference"


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which `mase-hw` is this one."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "mase-hw").write_text(f"#!/bin/sh\nexec '{sys.executable}' -m mase_hw \"$@\"\n", encoding="utf-8")
    (folder / "mase-hw").chmod(0o755)
    return {**os.environ, "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory, programs: dict[str, str]) -> tuple[Path, str]:
    """The folder that the script made, and what it said."""
    folder = tmp_path_factory.mktemp("newcomer") / "first"
    done = subprocess.run(
        ["sh", str(SCRIPT), str(folder)], env=programs, capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return folder, done.stdout


def steps(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith(("mase-hw ", "sed "))]


def test_the_readme_has_the_scripts_commands() -> None:
    """In the same order; the script may go on."""
    readme = (ROOT / "README.md").read_text("utf-8")
    (block,) = re.findall(re.escape(MARK) + r"\n```sh\n(.*?)```\n", readme, re.DOTALL)
    assert block.splitlines() == steps(SCRIPT.read_text("utf-8"))[: len(block.splitlines())]
    commands = [line.split()[1] for line in steps(block) if line.startswith("mase-hw")]
    assert commands == ["new", "train", "emit", "sim", "report", "export"]


def test_the_tutorial_has_them_too() -> None:
    text = (ROOT / "docs" / "tutorial.md").read_text("utf-8")
    missing = [line for line in steps(SCRIPT.read_text("utf-8")) if line not in text and "--to fusesoc" not in line]
    assert missing == []


def test_the_readmes_model_is_the_examples() -> None:
    """The tutorial prints the file; it is the one that runs."""
    (code,) = re.findall(r"```python\n(from torch.*?)```", (ROOT / "docs/tutorial.md").read_text("utf-8"), re.DOTALL)
    assert code.strip() in (SCRIPT.parent / "net.py").read_text("utf-8")


@pytest.mark.slow
def test_it_is_trained_and_simulated(ran: tuple[Path, str]) -> None:
    folder, said = ran
    assert said.count(PASSED) == 1
    assert "AXI4-Stream top: net_axis" in said
    assert re.search(r"^axis: \d+ vectors x 4 stall patterns, (\d+) outputs compared, \1 equal$", said, re.MULTILINE)
    assert "interval 128 predicted, 128 simulated" in said
    (scores,) = re.findall(
        r"^  accuracy: float ([\d.]+)%, quantized ([\d.]+)%, hardware ([\d.]+)%$", said, re.MULTILINE
    )
    assert min(map(float, scores)) > 93
    assert scores[1] == scores[2]
    build = read_build(folder / "build" / "net")
    assert build.samples is not None  # the test digits, with what the trained network said to them
    assert (folder / "mase_output/net/software/training_ckpts/best.ckpt").is_file()


@pytest.mark.slow
def test_it_is_reported(ran: tuple[Path, str], programs: dict[str, str]) -> None:
    folder, _ = ran
    page = (folder / "build/net/report/index.html").read_text("utf-8")
    assert "<svg" in page
    assert "net.py:Net" in page
    command = ["mase-hw", "report", "build/net", "--json"]
    done = subprocess.run(command, cwd=folder, env=programs, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    known = json.loads(done.stdout)
    assert known["simulation"]["status"] == "passed"
    assert known["layers"]["total"]["predicted"]["lut"] > 0
    assert known["accuracy"]["hardware"] == known["accuracy"]["quantized"] > 0.93


@pytest.mark.slow
def test_it_is_exported(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    exports = folder / "build" / "net" / "export"
    project = (exports / "vivado" / "net_axis.tcl").read_text("utf-8")
    assert "xc7z020clg400-1" in project
    for file in re.findall(r"^read_verilog (?:-sv )?\{(.*)\}$", project, re.MULTILINE):
        assert (exports / "vivado" / file).is_file()
    assert "-period 10.000" in (exports / "vivado" / "net_axis.xdc").read_text("utf-8")
    core = (exports / "fusesoc" / "net_axis.core").read_text("utf-8")
    assert "toplevel: net_axis" in core


@pytest.mark.slow
def test_the_host_model_says_what_the_network_said(ran: tuple[Path, str]) -> None:
    folder, _ = ran
    build = read_build(folder / "build" / "net")
    assert build.samples is not None
    model = _imported(folder / "build/net/export/python/net_reference.py")
    assert np.array_equal(model.run(build.samples.x), build.samples.y)
    sent = model.INPUT.pack_bytes(build.samples.x)
    assert np.array_equal(model.INPUT.unpack_bytes(sent), build.samples.x)


@pytest.mark.slow
def test_a_folder_that_exists_is_left_alone(ran: tuple[Path, str], programs: dict[str, str]) -> None:
    folder, _ = ran
    before = (folder / "net.toml").read_bytes()
    done = subprocess.run(["sh", str(SCRIPT), str(folder)], env=programs, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert (folder / "net.toml").read_bytes() == before


def _imported(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
