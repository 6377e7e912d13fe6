"""The README's path from data to RTL, run as it is written there, in a copy of the example."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
MARK = "<!-- run by tests/e2e/test_digits_path.py -->"
PASSED = "passed: every integer of every stream equals the software reference"
FLOOR = 0.93  # of search.toml
SOFTWARE = Path("examples/digits/mase_output")


def commands() -> str:
    """The fenced block behind the mark."""
    blocks = re.findall(re.escape(MARK) + r"\n```sh\n(.*?)```\n", (ROOT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(blocks) == 1, "README.md has the mark once, and a sh block behind it"
    return str(blocks[0])


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a checkout has of the example, and the commands of an activated environment."""
    folder = tmp_path_factory.mktemp("clone")
    kept = shutil.ignore_patterns("mase_output", "build", "__pycache__")
    shutil.copytree(ROOT / "examples" / "digits", folder / "examples" / "digits", ignore=kept)
    programs = folder / "bin"
    programs.mkdir()
    for name, arguments in (("python", ""), ("mase-hw", "-m mase_hw")):
        (programs / name).write_text(f"#!/bin/sh\nexec '{sys.executable}' {arguments} \"$@\"\n", encoding="utf-8")
        (programs / name).chmod(0o755)
    return folder


@pytest.fixture(scope="module")
def said(clone: Path) -> str:
    environment = {**os.environ, "PATH": f"{clone / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["sh", "-eu"], input=commands(), cwd=clone, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def test_every_step_is_there() -> None:
    called = re.findall(r"^(?:mase-hw (\w+)|python (\w+\.py))", commands(), re.MULTILINE)
    steps = [command or script for command, script in called]
    wanted = ["train", "calibrate.py", "transform", "search", "emit", "sim"]
    assert list(dict.fromkeys(steps)) == wanted


@pytest.mark.nightly
def test_both_designs_are_simulated_and_equal(said: str) -> None:
    simulated = commands().count("mase-hw sim ")
    assert simulated == 2
    assert said.count(PASSED) == simulated


@pytest.mark.nightly
def test_quantization_keeps_the_accuracy(said: str) -> None:
    scores = dict(re.findall(r"^(float|transformed) +loss [\d.]+  accuracy ([\d.]+)%", said, re.MULTILINE))
    assert float(scores["float"]) > 95
    assert float(scores["transformed"]) > float(scores["float"]) - 1


@pytest.mark.nightly
def test_the_winner_keeps_the_floor_with_fewer_bits(said: str, clone: Path) -> None:
    found = json.loads((clone / SOFTWARE / "digits-search/software/search/best.json").read_text("utf-8"))
    assert list(found) == ["0"]
    assert found["0"]["software_metrics"]["accuracy"] >= FLOOR
    assert found["0"]["hardware_metrics"]["average_bitwidth"] < 8


@pytest.mark.nightly
def test_nothing_is_left_that_git_would_see(said: str, clone: Path) -> None:
    before = {path.name for path in (ROOT / "examples" / "digits").iterdir()}
    after = {path.name for path in (clone / "examples" / "digits").iterdir()}
    ignored = (ROOT / ".gitignore").read_text("utf-8").split()
    assert {f"{name}/" for name in after - before} <= set(ignored)
