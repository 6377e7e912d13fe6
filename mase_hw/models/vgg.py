"""VGG7 for 32 x 32 colour images, with MASE's names of layers, so that its checkpoints and TOMLs fit."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn

from mase_hw.models.registry import register

CHANNELS = (128, 256, 512)  # of the three blocks; each ends by halving both sides of the image
SIDE = 32
HIDDEN = 1024


@register("vgg7")
class Vgg7(nn.Module):
    """Three blocks of two convolutions, each normed and rectified, then a pooling; two hidden layers; the scores."""

    def __init__(self, num_classes: int = 10) -> None:
        super().__init__()
        self.input_shape = (3, SIDE, SIDE)
        layers: list[nn.Module] = []
        for before, after in pairwise((3, *CHANNELS)):
            for channels in (before, after):
                convolution = nn.Conv2d(channels, after, kernel_size=3, padding=1)
                layers += [convolution, nn.BatchNorm2d(after), nn.ReLU(inplace=True)]
            layers.append(nn.MaxPool2d(kernel_size=2, stride=2))
        self.feature_layers = nn.Sequential(*layers)
        left = SIDE >> len(CHANNELS)
        self.classifier = nn.Sequential(
            nn.Linear(CHANNELS[-1] * left * left, HIDDEN),
            nn.ReLU(inplace=True),
            nn.Linear(HIDDEN, HIDDEN),
            nn.ReLU(inplace=True),
        )
        self.last_layer = nn.Linear(HIDDEN, num_classes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.flatten(self.feature_layers(x), 1)
        scores: torch.Tensor = self.last_layer(self.classifier(x))
        return scores
