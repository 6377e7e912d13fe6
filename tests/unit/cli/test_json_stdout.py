"""With --json stdout is the document alone: all that a user's own code prints is on stderr."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from mase_hw.cli import main

NET = """\
import os
import sys

from torch import nn

print("the file is run")
os.system("echo a process prints")


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        print("made")
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        print("called")
        os.write(1, b"C code prints\\n")
        sys.__stdout__.write("by its name\\n")
        return self.fc(x)
"""
DATA = """\
import numpy as np

print("data is run")


def load():
    print("data is read")
    x, y = np.ones((4, 3)), np.array([0, 1, 0, 1])
    return x, y, x, y, x, y
"""
TOML = """\
model = "net.py:Net"
dataset = "data.py:load"
project = "net"
max_epochs = 1
[passes.quantize]
by = "type"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 4
data_in_frac_width = 2
weight_width = 4
weight_frac_width = 2
bias_width = 4
bias_frac_width = 2
"""
PRINTED = ("the file is run", "made", "called", "data is run", "data is read")
BELOW = ("a process prints", "C code prints", "by its name")  # not by sys.stdout
COMMANDS = (
    ("emit", "net.toml"),
    ("test", "--config", "net.toml"),
    ("transform", "--config", "net.toml"),
    ("train", "--config", "net.toml"),
    ("explore", "net.toml"),
    ("prove", "net.toml"),
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, text in (("net.py", NET), ("data.py", DATA), ("net.toml", TOML)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_what_a_model_prints_is_on_stderr(
    project: Path, arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0] == "prove":
        main(["emit", "net.toml", "--quiet"])
        capsys.readouterr()
    try:
        main([*arguments, "--json"])
    except SystemExit as ended:
        assert not ended.code  # noqa: PT017  (prove ends with 0)
    said = capsys.readouterr()
    json.loads(said.out)
    wanted = PRINTED if arguments[0] != "explore" else PRINTED[:3]
    assert [text for text in wanted if text not in said.err.splitlines()] == []


def test_so_is_what_its_processes_and_its_c_code_print(project: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mase_hw", "emit", "net.toml", "--json"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["top"] == "net"
    assert [text for text in (*PRINTED, *BELOW) if text not in done.stderr.splitlines()] == []


def test_without_json_stdout_is_as_it_was(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["emit", "net.toml", "--json"])
    capsys.readouterr()
    main(["emit", "net.toml"])
    said = capsys.readouterr()
    assert [text for text in PRINTED if text not in said.out.splitlines()] == []
    assert said.err == ""
