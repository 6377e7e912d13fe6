"""A network of LeNet's kind, and MNIST where mnist.npz is found; else the images beside this file."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import torch
from torch import nn

HERE = Path(__file__).resolve().parent
TRAINED_ON = 55_000  # the training images after these validate


class LeNet(nn.Module):
    """Two convolutions, each with a ReLU and a pool, and one linear layer: 5,142 parameters."""

    input_shape = (1, 28, 28)

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.relu2 = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.fc = nn.Linear(16 * 4 * 4, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool1(self.relu1(self.conv1(x)))
        x = self.pool2(self.relu2(self.conv2(x)))
        scores: torch.Tensor = self.fc(torch.flatten(x, 1))
        return scores


def images() -> dict[str, np.ndarray]:
    """Pixels are 0, 1/256, ..., 255/256: an unsigned byte in hardware.

    `mnist.npz` is looked for in $MASE_HW_DATA and in `data` beside this file. Without it there is a test split alone.
    """
    folders = [Path(os.environ["MASE_HW_DATA"])] if "MASE_HW_DATA" in os.environ else []
    for folder in (*folders, HERE / "data"):
        if (folder / "mnist.npz").is_file():
            with np.load(folder / "mnist.npz") as stored:
                x, y = stored["x_train"], stored["y_train"]
                split = {"x_train": x[:TRAINED_ON], "y_train": y[:TRAINED_ON], "x_val": x[TRAINED_ON:]}
                split |= {"y_val": y[TRAINED_ON:], "x_test": stored["x_test"], "y_test": stored["y_test"]}
            break
    else:
        with np.load(HERE / "test_100.npz") as stored:
            split = {"x_test": stored["x"], "y_test": stored["y"]}
    return {name: _pixels(values) if name.startswith("x") else values for name, values in split.items()}


def _pixels(values: np.ndarray) -> np.ndarray:
    return values[:, None].astype(np.float32) / 256
