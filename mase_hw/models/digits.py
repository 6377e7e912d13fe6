"""The network of the digits example: 64 pixels to 10 classes."""

from __future__ import annotations

import torch
from torch import nn

from mase_hw.models.registry import register


@register("digits-mlp")
class DigitsMlp(nn.Module):
    """64-32-16-10, each hidden layer normed and rectified; the scores come straight from the last linear layer."""

    input_shape = (64,)

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(64, 32)
        self.bn1 = nn.BatchNorm1d(32)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(32, 16)
        self.bn2 = nn.BatchNorm1d(16)
        self.relu2 = nn.ReLU()
        self.fc3 = nn.Linear(16, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu1(self.bn1(self.fc1(x)))
        x = self.relu2(self.bn2(self.fc2(x)))
        scores: torch.Tensor = self.fc3(x)
        return scores
