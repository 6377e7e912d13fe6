"""A Brevitas network, trained for some steps and exported to QONNX, against Brevitas' own forward: every integer."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from support import quantize_input, run_quantized
from torch import Tensor, nn
from torch.nn import functional as F

from mase_hw.config_file import load_config
from mase_hw.flow import compile_model
from mase_hw.models import load_model
from mase_hw.numerics import Fixed

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import brevitas.nn as qnn
    from brevitas.export import export_qonnx
    from brevitas.quant import (
        Int8ActPerTensorFixedPoint,
        Int8WeightPerChannelFixedPointMSE,
        Int8WeightPerTensorFixedPoint,
        Int16Bias,
        Uint8ActPerTensorFixedPoint,
    )

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


class Net(nn.Module):
    """8-12-4: every quantizer of a network for fixed-point hardware."""

    def __init__(self) -> None:
        super().__init__()
        act = {"return_quant_tensor": True}
        self.inp = qnn.QuantIdentity(act_quant=Int8ActPerTensorFixedPoint, bit_width=6, **act)
        weight = {"weight_quant": Int8WeightPerTensorFixedPoint, "weight_bit_width": 4}
        self.fc1 = qnn.QuantLinear(8, 12, bias=True, bias_quant=Int16Bias, **weight)
        self.act1 = qnn.QuantReLU(act_quant=Uint8ActPerTensorFixedPoint, bit_width=5, **act)
        self.fc2 = qnn.QuantLinear(12, 4, bias=False, weight_quant=Int8WeightPerChannelFixedPointMSE)
        self.out = qnn.QuantIdentity(act_quant=Int8ActPerTensorFixedPoint)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.out(self.fc2(self.act1(self.fc1(self.inp(x)))))
        return out


def trained() -> Net:
    torch.manual_seed(0)
    net = Net()
    optimizer = torch.optim.Adam(net.parameters(), 0.02)
    for _ in range(15):
        x = torch.randn(64, 8)
        loss = F.cross_entropy(net(x), (x[:, :4] * torch.tensor([1.0, 2.0, 4.0, 0.5])).argmax(1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return net.eval()


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> tuple[Net, Path]:
    net = trained()
    path = tmp_path_factory.mktemp("brevitas") / "net.onnx"
    export_qonnx(net, torch.randn(1, 8), export_path=str(path), dynamo=False)
    return net, path


def inputs() -> np.ndarray:
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1.5, (500, 8))
    x[::2] = np.round(x[::2] * 16) / 16  # exact halves among them
    x[0], x[1] = -100, 100
    x[2:20] = rng.choice([-100.0, 100.0], (18, 8))
    return x.astype(np.float32)


def test_layers_and_types_are_those_of_the_brevitas_model(exported: tuple[Net, Path]) -> None:
    net, path = exported
    config = load_config(path)
    assert [name for name, _ in load_model(config.model, config.base).named_children()] == ["fc1", "act1", "fc2"]
    fc1, fc2 = (config.quantize.for_node(name, "linear") for name in ("fc1", "fc2"))

    def frac(scale: Tensor) -> int:
        return int(-torch.log2(scale).max().round())

    assert fc1.data_in == Fixed(6, frac(net.inp.act_quant.scale()))
    assert fc1.weight == Fixed(4, frac(net.fc1.quant_weight().scale))
    assert fc1.bias == Fixed(16, fc1.data_in.frac + fc1.weight.frac)
    assert fc2.data_in == Fixed(5, frac(net.act1.act_quant.scale()), signed=False)
    assert fc2.weight is not None
    assert fc2.weight.frac == frac(net.fc2.quant_weight().scale)
    assert fc2.data_out == Fixed(8, frac(net.out.act_quant.scale()))


def test_every_integer_equals_brevitas(exported: tuple[Net, Path]) -> None:
    net, path = exported
    x = inputs()
    with torch.inference_mode():
        expected = net(torch.from_numpy(x)).double().numpy()
    assert len(np.unique(expected)) > 30  # or there would be little to compare
    config = load_config(path)
    compiled = compile_model(load_model(config.model, config.base), (8,), config.raw["passes"]["quantize"])
    design = compiled.design
    whole = expected * 2.0**design.output.fixed.frac
    assert np.array_equal(run_quantized(compiled, x), whole)
    assert np.array_equal(design.run(quantize_input(compiled, x))[design.output.name], whole)
