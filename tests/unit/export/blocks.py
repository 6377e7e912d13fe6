"""A small build with and without an AXI4-Stream top."""

from __future__ import annotations

from pathlib import Path

import torch
from support import by_type, named, randomized, spec
from torch import nn

from mase_hw.config.hardware import Interface
from mase_hw.emit import Build, write_build
from mase_hw.flow import compile_model
from mase_hw.numerics import Fixed


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(6, 4)
        self.relu1 = nn.ReLU()
        self.fc2 = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out: torch.Tensor = self.fc2(self.relu1(self.fc1(x)))
        return out


def make_build(folder: Path, interface: Interface) -> Build:
    narrow = Fixed(5, 3)
    entry = spec(data_in=narrow, weight=narrow, bias=narrow)
    folded = {"implementation": "folded", "data_in_parallelism": 3, "data_out_parallelism": 2}
    hardware = named(fc1=folded, fc2={"implementation": "unrolled"})
    design = compile_model(randomized(Net(), 1), (6,), by_type(linear=entry), hardware, top="net").design
    return write_build(folder, design, {}, None, interface=interface)
