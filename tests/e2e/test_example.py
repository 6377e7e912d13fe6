"""The default example as a user runs it: emit, simulate, read what was compared."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mase_hw.emit import read_build

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples" / "digits" / "model.toml"


def mase_hw(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mase_hw", *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example")
    done = mase_hw("emit", MODEL, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "interval 32 cycles, latency 64 cycles" in done.stdout
    return folder


@pytest.mark.slow
@pytest.mark.nightly
def test_waves_and_one_pattern(emitted: Path) -> None:
    done = mase_hw("sim", "build/digits", "--only", "design", "--stall", "both", "--vectors", 3, "--waves", cwd=emitted)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "x 1 stall patterns" in done.stdout
    waves = [path for path in (emitted / "build/digits/sim").iterdir() if path.name.startswith("waves.")]
    assert {path.suffix for path in waves} == {".fst", ".gtkw", ".sucl"}
    assert (emitted / "build/digits/sim/waves.fst").stat().st_size > 10_000


def test_a_build_says_what_it_was_made_from(emitted: Path) -> None:
    sources = json.loads((emitted / "build/digits/manifest.json").read_text())["sources"]
    assert sources["config"] == {"name": "model.toml", "sha256": hashlib.sha256(MODEL.read_bytes()).hexdigest()}
    checkpoint = MODEL.parent / sources["checkpoint"]["name"]
    assert sources["checkpoint"]["sha256"] == hashlib.sha256(checkpoint.read_bytes()).hexdigest()


def test_a_build_is_read_without_torch(emitted: Path) -> None:
    """Design, reference and stimulus come from the build folder alone."""
    program = """
import sys
from pathlib import Path
from mase_hw.cli import sim
from mase_hw.emit import read_build
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.stimulus import stimulus
build = read_build(Path("build/digits"))
job = make_job(build.design, tuple(build.rtl), stimulus(build.design, 4, 0, build.samples.inputs), SimRequest(), None)
assert len(job.values["data_out_0"]) > 355
assert "torch" not in sys.modules, "torch was imported"
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=emitted, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_stored_samples_are_what_the_quantized_model_computed(emitted: Path) -> None:
    build = read_build(emitted / "build" / "digits")
    samples = build.samples
    assert samples is not None
    assert np.array_equal(build.design.run(samples.x)[build.design.output.name], samples.y)


@pytest.mark.parametrize("command", [["--help"], ["emit", "--help"], ["sim", "--help"], ["doctor", "--help"]])
def test_help_has_examples(command: list[str], tmp_path: Path) -> None:
    done = mase_hw(*command, cwd=tmp_path)
    assert done.returncode == 0
    assert "mase-hw" in done.stdout
    assert "Traceback" not in done.stderr
