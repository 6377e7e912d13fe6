"""FINN's CNV, a network of one-bit weights and activations, from the integers of `cnv_w1a1.npz`; and CIFAR-10."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from torch import nn

from mase_hw.modules import Thresholds

HERE = Path(__file__).resolve().parent
POOLED = (1, 3)  # a pool of 2 follows these convolutions
CONVOLUTIONS, LAYERS = 6, 9


def stored(name: str) -> dict[str, np.ndarray]:
    """The arrays of a file in $MASE_HW_DATA, or in `data` beside this file."""
    folders = [Path(os.environ["MASE_HW_DATA"])] if "MASE_HW_DATA" in os.environ else []
    for folder in (*folders, HERE / "data"):
        for path in (folder / name, folder / "models" / name):
            if path.is_file():
                with np.load(path) as arrays:
                    return {key: arrays[key] for key in arrays.files}
    raise FileNotFoundError(f"{name} lies neither in $MASE_HW_DATA nor in {HERE / 'data'}")


class CNV(nn.Module):
    """Six convolutions of 3 x 3 without padding, three matrices; every one but the last has thresholds behind it.

    In the file, weights and activations are -1 and +1. Here an activation b is 0 or 1, one bit, and stands for
    a = 2 b - 1. A sum over w a is 2 (sum over w b) - (sum over w), so a threshold on the one is one on the other.
    """

    input_shape = (3, 32, 32)
    has_weights = True  # its own: the TOML names no checkpoint

    def __init__(self) -> None:
        super().__init__()
        arrays = stored("cnv_w1a1.npz")
        for k in range(LAYERS):
            weight = torch.from_numpy(arrays[f"W{k}"].astype(np.float32))
            rows = weight.flatten(1)
            if k < CONVOLUTIONS:
                layer: nn.Module = nn.Conv2d(weight.shape[1], len(weight), 3, bias=False)
                self.add_module(f"conv{k}", layer)
            else:
                layer = nn.Linear(weight.shape[1], len(weight), bias=k == LAYERS - 1)
                self.add_module(f"fc{k - CONVOLUTIONS}", layer)
            with torch.no_grad():
                last = k == LAYERS - 1
                layer.weight.copy_(2 * weight if last else weight)
                if last:
                    layer.bias.copy_(-rows.sum(1))
            if not last:
                self.add_module(f"act{k}", Thresholds(_limits(k, rows, arrays[f"T{k}"])))
        self.pool1, self.pool3 = nn.MaxPool2d(2), nn.MaxPool2d(2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.act0(self.conv0(x))
        x = self.pool1(self.act1(self.conv1(x)))
        x = self.act2(self.conv2(x))
        x = self.pool3(self.act3(self.conv3(x)))
        x = self.act4(self.conv4(x))
        x = self.act5(self.conv5(x))
        x = torch.flatten(x, 1)
        x = self.act6(self.fc0(x))
        x = self.act7(self.fc1(x))
        scores: torch.Tensor = self.fc2(x)
        return scores


def _limits(k: int, rows: torch.Tensor, above: np.ndarray) -> torch.Tensor:
    """The least sum that a channel answers with 1. The file compares with `>`, and all sums are whole numbers."""
    t = torch.from_numpy(above.astype(np.float32))
    if k == 0:  # pixels are whole numbers from -128 to 127, and twice their sum is compared
        return torch.floor(t / 2) + 1
    # The file counts products that are +1: (fan_in + sum of w a) / 2 > t, which is
    # (fan_in - sum of w) / 2 + (sum of w b) > t.
    return torch.floor(t - (rows.shape[1] - rows.sum(1, keepdim=True)) / 2) + 1


def images() -> dict[str, np.ndarray]:
    """CIFAR-10's test images; a pixel is floor((2 x / 255 - 1) * 128), as a whole number."""
    arrays = stored("cifar10_test.npz")
    values = np.floor((2 * arrays["x_test"].astype(np.float64) / 255 - 1) * 128).clip(-128, 127)
    return {"x_test": values.astype(np.float32), "y_test": arrays["y_test"]}
