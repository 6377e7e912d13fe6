"""The gallery's examples, with the commands that stand there."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mase_hw.cli import main
from mase_hw.emit import read_build

ROOT = Path(__file__).resolve().parents[2]
GALLERY = (ROOT / "docs" / "gallery.md").read_text("utf-8")


def run(example: str, folder: Path) -> str:
    """Runs the block of commands that names the example, beside the examples; what it said."""
    blocks = [block for block in re.findall(r"```sh\n(.*?)```", GALLERY, re.DOTALL) if f"examples/{example}" in block]
    assert len(blocks) == 1
    (folder / "examples").symlink_to(ROOT / "examples", target_is_directory=True)
    said = ""
    for line in blocks[0].splitlines():
        program, *words = line.split()
        assert program == "mase-hw"
        command = [sys.executable, "-m", "mase_hw", *words]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        said += done.stdout
    return said


def test_every_example_is_shown_and_names_its_test() -> None:
    examples = {path.name for path in (ROOT / "examples").iterdir() if path.is_dir()}
    assert {name for name in examples if f"../examples/{name}/" not in GALLERY} == set()
    for test in re.findall(r"`(tests/[\w/]+\.py)`", GALLERY):
        assert (ROOT / test).is_file()
    assert len(re.findall(r"[Rr]un by `tests/", GALLERY)) >= len(examples)


@pytest.mark.slow
@pytest.mark.nightly
def test_jets_every_cycle(tmp_path: Path) -> None:
    said = run("jets", tmp_path)
    assert "interval 1 cycles" in said
    assert "100000 random" in said
    assert said.endswith("passed: every integer of the output equals the software reference\n")


@pytest.mark.slow
def test_mnist_images_in_hardware(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The committed images through the trained RTL: every score equal, every digit right."""
    monkeypatch.delenv("MASE_HW_DATA", raising=False)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    said = run("mnist", tmp_path)
    assert "interval 4108 cycles" in said
    assert "  vectors: 100 data set, " in said
    assert "  accuracy: float 100.00%, quantized 100.00%, hardware 100.00%\n" in said
    assert said.endswith("passed: every integer of the output equals the software reference\n")
    build = read_build(tmp_path / "build" / "mnist")
    assert build.samples is not None
    with np.load(ROOT / "examples" / "mnist" / "test_100.npz") as stored:
        assert np.array_equal(build.samples.x.reshape(100, 28, 28), stored["x"])  # a pixel is a byte in hardware
        (scores,) = build.design.results(build.samples.x)
        assert np.array_equal(scores.argmax(1), stored["y"])
    main(["sim", str(tmp_path / "build" / "mnist"), "--engine", "native", "--stall", "none", "--samples", "10"])
    few = capsys.readouterr().out
    assert "  accuracy: float 100.00%, quantized 100.00% of 100 samples\n" in few
    assert "  of the first 10 of them: float 100.00%, quantized 100.00%, hardware 100.00%\n" in few


@pytest.mark.slow
def test_the_qonnx_file(tmp_path: Path) -> None:
    """Built from the file alone; its integers are those of qonnx's own execution."""
    from qonnx.core.modelwrapper import ModelWrapper
    from qonnx.core.onnx_exec import execute_onnx
    from qonnx.transformation.infer_shapes import InferShapes

    said = run("qonnx", tmp_path)
    assert said.endswith("passed: every integer of every stream equals the software reference\n")
    design = read_build(tmp_path / "build" / "qonnx").design
    model = ModelWrapper(str(ROOT / "examples" / "qonnx" / "net.onnx")).transform(InferShapes())
    rng = np.random.default_rng(1)
    x = rng.integers(design.input.fixed.lo, design.input.fixed.hi + 1, (12, design.input.features))
    for vector in x:
        real = (vector * 2.0**-design.input.fixed.frac).astype(np.float32)[None]
        theirs = execute_onnx(model, {"x": real})["y"].astype(np.float64) * 2.0**design.output.fixed.frac
        assert np.array_equal(design.run(vector[None])[design.output.name], theirs)


def test_the_qonnx_file_is_what_its_program_writes(tmp_path: Path) -> None:
    folder = ROOT / "examples" / "qonnx"
    (tmp_path / "make.py").write_bytes((folder / "make.py").read_bytes())
    subprocess.run([sys.executable, "make.py"], cwd=tmp_path, check=True)
    assert (tmp_path / "net.onnx").read_bytes() == (folder / "net.onnx").read_bytes()
