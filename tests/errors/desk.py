"""A newcomer's desk: a folder with a small model and its TOML, and the command line."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mase_hw.cli import main

MODEL = """\
import torch
from torch import nn


class MLP(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 4)
        self.bn = nn.BatchNorm1d(4)
        self.fc2 = nn.Linear(4, 2)

    def forward(self, x):
        x = self.fc1(x)
        x = torch.relu(self.bn(x))
        return self.fc2(x)
"""
WIDTHS = """\
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
"""
LINEAR = f"[passes.quantize.linear.config]\n{WIDTHS}"
NORM = f"[passes.quantize.batch_norm1d.config]\n{WIDTHS}"
TOML = f'model = "mlp.py:MLP"\n[passes.quantize]\nby = "type"\n{LINEAR}{NORM}'
BY_NAME = '[passes.hardware]\nby = "name"\n'  # stands in lines 20 and 21 behind TOML

Files = Mapping[str, str | bytes]


def mlp(init: str, forward: str) -> dict[str, str]:
    """A model file with the given bodies: `init` starts in line 9."""
    head = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass MLP(nn.Module):\n"
    init = textwrap.indent(f"super().__init__()\n{init}", " " * 8)
    forward = textwrap.indent(forward, " " * 8)
    return {"mlp.py": f"{head}    def __init__(self):\n{init}\n    def forward(self, x):\n{forward}"}


def toml(old: str, new: str, count: int = 1) -> dict[str, str]:
    """The TOML with something in it changed."""
    assert old in TOML
    return {"model.toml": TOML.replace(old, new, count)}


def toml_and(more: str) -> dict[str, str]:
    return {"model.toml": TOML + more}


def top_and_toml(first: str) -> dict[str, str]:
    return {"model.toml": first + TOML}


@dataclass(frozen=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Desk:
    """The folder, which is the current one."""

    def __init__(self, path: Path, build: Path | None = None) -> None:
        self.path = path
        self.build = build  # a whole build of the model, to be copied
        self.write({"mlp.py": MODEL, "model.toml": TOML})

    def write(self, files: Files) -> None:
        for name, content in files.items():
            (self.path / name).write_bytes(content if isinstance(content, bytes) else content.encode())

    def place_build(self, name: str) -> Path:
        assert self.build is not None
        return Path(shutil.copytree(self.build, self.path / name))

    def run(self, *arguments: str) -> Ran:
        out, err = io.StringIO(), io.StringIO()
        code = 0
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(list(arguments))
            except SystemExit as error:
                code = int(error.code or 0)
        return Ran(code, out.getvalue(), err.getvalue())

    def refused(self, *arguments: str) -> str:
        """What a command says that ends with 1, prints nothing else, and leaves every file as it was."""
        before = snapshot(self.path)
        ran = self.run(*arguments)
        assert (ran.code, ran.out) == (1, ""), ran
        assert snapshot(self.path) == before
        return ran.err


def snapshot(folder: Path) -> dict[str, bytes | None]:
    """Every file's bytes, every folder's name, hidden ones too."""
    found: dict[str, bytes | None] = {}
    for base, folders, files in os.walk(folder):
        for name in folders:
            found[str(Path(base, name).relative_to(folder))] = None
        for name in files:
            path = Path(base, name)
            found[str(path.relative_to(folder))] = path.read_bytes()
    return found
