"""A network of LeNet's kind for 28 x 28 handwritten digits: two convolutions with pools, two linear layers."""

from __future__ import annotations

import torch
from torch import nn

from mase_hw.models.registry import register

SIDE = 28


@register("lenet")
class LeNet(nn.Module):
    """LeNet-5 with batch norms and ReLUs, maxima in the place of averages, and one hidden linear layer fewer."""

    input_shape = (1, SIDE, SIDE)

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 8, kernel_size=5, padding=2, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.relu1 = nn.ReLU()
        self.pool1 = nn.MaxPool2d(2)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=5, bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.relu2 = nn.ReLU()
        self.pool2 = nn.MaxPool2d(2)
        self.fc1 = nn.Linear(16 * 5 * 5, 64)
        self.relu3 = nn.ReLU()
        self.fc2 = nn.Linear(64, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.pool1(self.relu1(self.bn1(self.conv1(x))))
        x = self.pool2(self.relu2(self.bn2(self.conv2(x))))
        x = self.relu3(self.fc1(torch.flatten(x, 1)))
        scores: torch.Tensor = self.fc2(x)
        return scores
