"""A small network of images learns through its quantizers, with and without folded batch norms."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from cases import SETTINGS
from torch import Tensor, nn

from mase_hw.config_file import load_config
from mase_hw.datasets import Dataset
from mase_hw.training import evaluate, train
from mase_hw.training.quantized import quantized_network

WIDTHS = "\n".join(['name = "integer"', *(f"{a}_width = 6\n{a}_frac_width = 3" for a in ("data_in", "weight", "bias"))])
TOML = 'model = "x"\n[passes.quantize]\nby = "type"\n' + "".join(
    f"[passes.quantize.{op}.config]\n{WIDTHS}\n" for op in ("conv2d", "linear", "batch_norm2d")
)
FUSED = TOML.replace("[passes.quantize.batch_norm2d", "[passes.fuse_batch_norm]\n[passes.quantize.batch_norm2d")


class Cnn(nn.Module):
    """Convolutions, a norm, a maximum and an average."""

    input_shape = (1, 8, 8)

    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(1, 6, 3, padding=1), nn.BatchNorm2d(6)
        self.pool, self.conv2 = nn.MaxPool2d(2), nn.Conv2d(6, 8, 3, bias=False)
        self.fc = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(torch.relu(self.bn1(self.conv1(x))))
        y: Tensor = self.fc(torch.relu(self.conv2(x)).mean((2, 3)))
        return y


def stripes() -> Dataset:
    """Noise with stripes: rows, columns, or squares."""
    draw = np.random.default_rng(0)
    rows, columns = np.indices((8, 8)) % 4 < 2
    patterns = np.stack([rows, columns, rows ^ columns]).astype(np.float32) * 2 - 1
    parts: list[np.ndarray] = []
    for size in (192, 60, 60):
        y = np.arange(size, dtype=np.int64) % 3
        parts += [(patterns[y] + draw.normal(size=(size, 8, 8)) * 0.7).astype(np.float32)[:, None], y]
    return Dataset("stripes", *parts)


@pytest.mark.parametrize("text", [TOML, FUSED], ids=["norms", "fused"])
def test_learns(text: str, tmp_path: Path) -> None:
    (tmp_path / "q.toml").write_text(text)
    asked, data = load_config(tmp_path / "q.toml"), stripes()
    torch.manual_seed(0)
    model = Cnn()
    through = quantized_network(asked, (1, 8, 8))
    before = evaluate(through(model), data.x_val, data.y_val)
    keys = list(model.state_dict())
    result = train(
        model,
        data,
        replace(SETTINGS, max_epochs=6, learning_rate=2e-2),
        seed=0,
        out=tmp_path / "out",
        progress=False,
        through=through,
    )
    assert result.score.accuracy > max(0.8, before.accuracy)
    assert result.score == evaluate(through(model), data.x_val, data.y_val)
    assert list(model.state_dict()) == keys
