"""`search` on networks with two heads and with a second input."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mase_hw.cli import main
from mase_hw.emit import read_build

MODELS = """
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc, self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 3), nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.fc(x) + x)
        return self.a(h), self.b(h)


class Two(nn.Module):
    input_shape = ((8,), (4,))

    def __init__(self):
        super().__init__()
        self.fc, self.fz, self.out = nn.Linear(8, 8), nn.Linear(4, 8), nn.Linear(8, 3)

    def forward(self, x, z):
        return self.out(torch.relu(self.fc(x) - self.fz(z)))
"""
DATA = """
import numpy as np
from mase_hw.datasets import Dataset


def make():
    draw = np.random.default_rng(0)
    x = draw.normal(size=(64, 8)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64) + (x[:, 1] > 0)
    return Dataset("three", x, y, x[:32], y[:32], x[:32], y[:32], 3)
"""
SPACE = """
[search.search_space.setup]
by = "type"
[search.search_space.seed.default.config]
name = ["integer"]
data_in_width = [8]
data_in_frac_width = [4]
weight_width = [3, 6]
weight_frac_width = [2]
bias_width = [6]
bias_frac_width = [4]
[search.strategy.hw_runner.lut]
[search.strategy.hw_runner.interval]
[search.strategy.setup]
sampler = "brute"
sum_scaled_metrics = false
"""
HARDWARE = """
[search.strategy.metrics]
lut.direction = "minimize"
interval.at_most = 64
"""
SOFTWARE = """
[search.strategy.sw_runner.basic_evaluation]
data_loader = "val_dataloader"
[search.strategy.metrics]
accuracy.direction = "maximize"
lut.direction = "minimize"
"""


def search(folder: Path, name: str, text: str, *options: str) -> None:
    (folder / "net.py").write_text(MODELS)
    (folder / "data.py").write_text(DATA)
    (folder / "net.toml").write_text(f'model = "net.py:{name}"\nproject = "net"\n{text}')
    main(["search", "--config", str(folder / "net.toml"), "--project-dir", str(folder), *options])


def best(folder: Path) -> dict[str, Any]:
    (found,) = folder.rglob("best.json")
    entries: dict[str, Any] = json.loads(found.read_text())
    return next(iter(entries.values()))


def test_two_heads_are_judged_by_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    search(tmp_path, "Heads", f'dataset = "data.py:make"\n{SPACE}{SOFTWARE}', "--emit-best")
    (build,) = (path.parent for path in tmp_path.rglob("manifest.json"))
    samples = read_build(build).samples
    assert samples is not None
    assert best(tmp_path)["software_metrics"]["accuracy"] == np.mean(
        samples.y.reshape(32, -1).argmax(1) == samples.labels
    )


@pytest.mark.parametrize("name", ["Heads", "Two"])
def test_hardware_alone_needs_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    search(tmp_path, name, SPACE + HARDWARE, "--emit-best")
    (build,) = (path.parent for path in tmp_path.rglob("manifest.json"))
    found = best(tmp_path)
    assert found["software_metrics"] == {}
    assert json.loads((build / "manifest.json").read_text())["interval"] == found["hardware_metrics"]["interval"]


def test_accuracy_needs_a_runner(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    without = "".join(line for line in SOFTWARE.splitlines(True) if "runner" not in line and "loader" not in line)
    with pytest.raises(SystemExit, match="1"):
        search(tmp_path, "Heads", SPACE + without)
    err = capsys.readouterr().err
    assert "nothing measures accuracy" in err
    assert "add [search.strategy.sw_runner.basic_evaluation]" in err
