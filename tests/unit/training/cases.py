"""A small classification task and small models for the tests of training."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mase_hw.config import TrainingConfig
from mase_hw.datasets import Dataset

SETTINGS = TrainingConfig(max_epochs=4, batch_size=32, learning_rate=1e-2, accelerator="cpu")


def blobs(train: int = 97, val: int = 40, test: int = 60, seed: int = 0) -> Dataset:
    """Three clouds in six dimensions. 97 = 3 * 32 + 1: the last batch would have one sample."""
    draw = np.random.default_rng(seed)
    centres = draw.normal(size=(3, 6)) * 2
    parts: list[np.ndarray] = []
    for size in (train, val, test):
        y = np.arange(size, dtype=np.int64) % 3
        parts += [(centres[y] + draw.normal(size=(size, 6))).astype(np.float32), y]
    return Dataset("blobs", *parts)


class Net(nn.Module):
    """Batch norm and dropout, so that statistics and random numbers must be kept too."""

    input_shape = (6,)

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 12)
        self.bn = nn.BatchNorm1d(12)
        self.drop = nn.Dropout(0.2)
        self.fc2 = nn.Linear(12, 3)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.fc2(self.drop(torch.relu(self.bn(self.fc1(x)))))
        return out


class Functional(nn.Module):
    """The same without modules: parameters and buffers of the model itself."""

    input_shape = (6,)

    def __init__(self) -> None:
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(12, 6) * 0.4)
        self.scale, self.shift = nn.Parameter(torch.ones(12)), nn.Parameter(torch.zeros(12))
        self.register_buffer("mean", torch.zeros(12))
        self.register_buffer("var", torch.ones(12))
        self.w2 = nn.Parameter(torch.randn(3, 12) * 0.3)

    def forward(self, x: Tensor) -> Tensor:
        x = F.linear(x, self.w1)
        x = F.batch_norm(x, self.mean, self.var, self.scale, self.shift, training=self.training)
        return F.linear(F.relu(x), self.w2)


def net(seed: int = 0, kind: type[nn.Module] = Net) -> nn.Module:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return kind()


def same_weights(one: nn.Module, other: nn.Module) -> bool:
    """Every parameter and buffer, to the bit."""
    pairs = zip(one.state_dict().items(), other.state_dict().items(), strict=True)
    return all(a == b and torch.equal(x, y) for (a, x), (b, y) in pairs)
