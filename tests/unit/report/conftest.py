"""A small project, emitted once from a TOML: four features, a batch norm, a merged ReLU, three classes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mase_hw.config_file import load_config
from mase_hw.emit import Build, read_build
from mase_hw.flow import emit

MODEL = """
import numpy as np
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1, self.bn, self.relu = nn.Linear(4, 6), nn.BatchNorm1d(6), nn.ReLU(inplace=True)
        self.fc2 = nn.Linear(6, 3)

    def forward(self, x):
        return self.fc2(self.relu(self.bn(self.fc1(x))))

def load():
    rng = np.random.default_rng(5)
    x = rng.normal(0, 4, (40, 4)).astype(np.float32)
    y = rng.integers(0, 3, 40)
    return {"x_train": x, "y_train": y, "x_test": x, "y_test": y}
"""
TOML = """
model = "net.py:Net"
dataset = "net.py:load"
project = "small"
[passes.quantize]
by = "type"
[passes.quantize.default.config]
name = "NA"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 6
data_in_frac_width = 3
weight_width = 6
weight_frac_width = 4
bias_width = 6
bias_frac_width = 4
[passes.quantize.batch_norm1d.config]
name = "integer"
data_in_width = 6
data_in_frac_width = 3
weight_width = 6
weight_frac_width = 3
bias_width = 6
bias_frac_width = 3
[hardware]
top = "tiny"
target_interval = 6
"""


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the TOML, with its build in build/small."""
    folder = tmp_path_factory.mktemp("project")
    (folder / "net.py").write_text(MODEL)
    (folder / "model.toml").write_text(TOML)
    emit(load_config(folder / "model.toml"), folder / "build" / "small")
    return folder


@pytest.fixture
def build(project: Path, tmp_path: Path) -> Build:
    """A copy of the build that a test may do anything to."""
    return read_build(Path(shutil.copytree(project / "build" / "small", tmp_path / "build" / "small")))
