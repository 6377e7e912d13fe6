"""A small network, its types, and a design of it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))


class Needs(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.fc = nn.Linear(features, 2)


def types(width: int = 8, frac: int = 4) -> dict[str, Any]:
    sides = ("data_in", "weight", "bias")
    numbers = {f"{side}_{key}": value for side in sides for key, value in (("width", width), ("frac_width", frac))}
    return {"name": "integer", **numbers}


def config(**more: Any) -> dict[str, Any]:
    return {"passes": {"quantize": {"by": "type", "linear": {"config": types()}}}, **more}


def seeded() -> Net:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net = Net()
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.mul_(2)
    return net
