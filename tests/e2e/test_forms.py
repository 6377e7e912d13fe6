"""The many ways to write a model: modules and functions, nested, shared, without bias, with what evaluation drops."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from support import assert_rtl_equal, assert_software_equal, eight_bit, named, randomized
from torch import Tensor, nn

from mase_hw.flow import compile_model


class Forms(nn.Module):
    """Every form that is supported, once."""

    def __init__(self) -> None:
        super().__init__()
        self.front = nn.Sequential(nn.Flatten(), nn.Sequential(nn.BatchNorm1d(8), nn.ReLU(inplace=True)))
        self.twice = nn.Linear(8, 8)
        self.list = nn.ModuleList([nn.Linear(8, 6, bias=False), nn.Identity(), nn.BatchNorm1d(6), nn.Dropout(0.5)])
        self.weight = nn.Parameter(torch.zeros(4, 6))
        self.bias = nn.Parameter(torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        x = self.front(x)
        x = F.relu(self.twice(x))
        x = torch.relu(self.twice(x))
        for layer in self.list:
            x = layer(x)
        x = F.dropout(x.relu(), training=self.training)
        return F.linear(x, self.weight, self.bias).view(x.shape[0], -1)


@pytest.mark.slow
@pytest.mark.parametrize("interval", [1, 12])
def test_every_form(interval: int, tmp_path: Path) -> None:
    compiled = compile_model(randomized(Forms()), (2, 2, 2), eight_bit(relu=True), target_interval=interval, top="dut")
    ops = [node.op for node in compiled.design.nodes]
    assert ops == [
        "batch_norm1d",
        "relu",
        "linear",
        "relu",
        "linear",
        "relu",
        "linear",
        "batch_norm1d",
        "relu",
        "linear",
    ]
    assert_software_equal(compiled, 200)
    assert_rtl_equal(compiled.design, tmp_path)


def test_hardware_metadata_is_written_where_mase_has_it() -> None:
    hardware = named(twice={"implementation": "folded", "data_in_parallelism": 8})
    compiled = compile_model(randomized(Forms()), (2, 2, 2), eight_bit(), hardware, target_interval=4)
    by_name = {node.name: node.meta["mase"].parameters["hardware"] for node in compiled.graph.fx_graph.nodes}
    assert by_name["twice"] == {
        "is_implicit": False,
        "implementation": "folded",
        "data_in_parallelism": 8,
        "data_out_parallelism": 8,
        "data_in_fifo_depth": 0,
        "array_in": 8,
        "array_out": 2,
        "use_dsp": False,
    }
    assert by_name["x"] == {"is_implicit": True}
