"""Train, test, train through quantizers, transform, emit and simulate digits, all from the command line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from mase_hw.cli import main

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "examples" / "digits" / "model.toml"
CKPTS = Path("mase_output/digits-mlp_classification_digits/software/training_ckpts")
COMMAND = [sys.executable, "-m", "mase_hw"]


def mase_hw(*arguments: object, cwd: Path, code: int = 0) -> str:
    done = subprocess.run([*COMMAND, *map(str, arguments)], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout if code == 0 else done.stderr


def accuracy(said: str, name: str) -> float:
    (line,) = [line for line in said.splitlines() if line.startswith(name)]
    return float(line.split("accuracy ")[1].split("%")[0])


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Trained as the labs type it."""
    folder = tmp_path_factory.mktemp("training")
    options = ("--max-epochs", 8, "--batch-size", 64, "--learning-rate", "1e-2", "--seed", 1)
    said = mase_hw("train", "digits-mlp", "digits", *options, cwd=folder)
    assert "note: the weights start at random, from seed 1" in said
    assert said.count("validation loss") == 8
    assert accuracy(said, "test split with the best weights") > 90
    assert (folder / CKPTS / "best.ckpt").exists()
    return folder


@pytest.mark.nightly
def test_from_training_to_hardware(trained: Path) -> None:
    """The quantized accuracy that training reports is the accuracy of the RTL."""
    best = trained / CKPTS / "best.ckpt"
    said = mase_hw("test", "digits-mlp", "digits", "--load", best, cwd=trained)
    assert accuracy(said, "float") > 90

    options = ("--config", MODEL, "--load", best, "--max-epochs", 3, "--project", "qat")
    said = mase_hw("train", *options, cwd=trained)
    assert "note: training through the quantizers of [passes.quantize]" in said
    quantized = accuracy(said, "test split with the best weights")
    assert quantized > 90

    tuned = trained / "mase_output/qat/software/training_ckpts/best.ckpt"
    said = mase_hw(
        "transform", "--config", MODEL, "--task", "cls", "--cpu=0", "--load", tuned, "--project", "qat", cwd=trained
    )
    assert accuracy(said, "transformed") == quantized
    assert "LinearInteger" in said
    toml = Path("mase_output/qat/software/transform/transform.toml")
    assert sorted(path.name for path in (trained / toml).parent.iterdir()) == [
        "model.safetensors",
        "transform.toml",
        "transformed.safetensors",
    ]
    mase_hw("emit", toml, cwd=trained)
    said = mase_hw("sim", "build/qat", "--only", "design", "--stall", "none", "--vectors", 16, cwd=trained)
    (line,) = [line for line in said.splitlines() if "accuracy" in line]
    assert line.endswith(f"quantized {quantized:.2f}%, hardware {quantized:.2f}%")


@pytest.mark.slow
def test_ctrl_c_keeps_the_finished_epochs_and_says_how_to_go_on(tmp_path: Path) -> None:
    words = ["train", "digits-mlp", "digits", "--max-epochs", "4000", "--seed", "2"]
    running = subprocess.Popen(
        [*COMMAND, *words], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    last = tmp_path / CKPTS / "last.ckpt"
    deadline = time.monotonic() + 600
    while not last.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(running.pid, signal.SIGINT)
    _, said = running.communicate(timeout=600)  # ends at once, also on a busy machine
    assert running.returncode == 130, said
    epochs = torch.load(last, weights_only=True)["epoch"] + 1
    assert said == (
        f"interrupted: {epochs} epochs are kept in {CKPTS / 'last.ckpt'}; go on with:\n"
        "  mase-hw train digits-mlp digits --seed 2 --max-epochs 4000 --resume\n"
    )
    assert not list(last.parent.glob(".*")), "something half-written is left"
    more = mase_hw(*words[:3], "--seed", 2, "--max-epochs", epochs + 1, "--resume", cwd=tmp_path)
    assert f"epoch {epochs + 1}/{epochs + 1}" in more
    assert more.count("validation loss") == 1


@pytest.mark.slow
def test_mistakes_are_told_together_and_nothing_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    def refused(*words: str) -> str:
        """In this process: torch is loaded once."""
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 1
        return capsys.readouterr().err

    said = refused("train", "jsc-tny", "digit")
    assert 'MODEL: error: model = "jsc-tny" is unknown' in said
    assert 'DATASET: error: dataset = "digit" is not available' in said
    said = refused("train", "jsc-tiny", "digits")
    assert said.startswith("DATASET: error: SeqBlocks takes samples of shape (16,), those of digits are ")
    assert refused("test", "jsc-tiny").startswith("command line: error: dataset is missing\n")
    assert refused("train", "digits-mlp", "digits", "--resume").startswith(
        f"error: checkpoint {CKPTS / 'last.ckpt'} does not exist: there is nothing to resume\n"
    )
    assert list(tmp_path.iterdir()) == []


def test_starting_the_command_line_does_not_load_torch() -> None:
    program = "import sys, mase_hw.cli.train, mase_hw.cli.test, mase_hw.cli.transform; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


@pytest.mark.parametrize("command", ["train", "test", "transform"])
def test_help_has_examples(command: str, tmp_path: Path) -> None:
    said = mase_hw(command, "--help", cwd=tmp_path)
    assert f"mase-hw {command} " in said.partition("Examples:")[2]
