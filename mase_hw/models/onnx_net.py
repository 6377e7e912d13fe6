"""OnnxNet: the layers of an ONNX file as a torch module, one after the other, with the file's weights."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor, nn

from mase_hw.diagnostics import Collector, Place
from mase_hw.frontends.onnx_file import OnnxModel, read_onnx
from mase_hw.frontends.onnx_graph import Reals
from mase_hw.frontends.onnx_steps import Flatten, Linear, Norm, Relu


class OnnxNet(nn.Sequential):
    """Named as the file names them. A layer's weights are the numbers that its Quant gives, not those before it."""

    def __init__(self, model: OnnxModel) -> None:
        with Collector() as problems:
            layers = [(placed.step.name, _module(placed.step, problems, Place(model.path))) for placed in model.layers]
        super().__init__(OrderedDict(layers))
        self.input_shape = model.input_shape


def load_onnx(path: Path, where: Place | None = None) -> OnnxNet:
    """The model in the file at `path`, with its weights."""
    return OnnxNet(read_onnx(path, where))


def _module(step: Flatten | Relu | Linear | Norm, problems: Collector, place: Place) -> nn.Module:
    if isinstance(step, Flatten):
        return nn.Flatten()
    if isinstance(step, Relu):
        return nn.ReLU()

    def single(values: Reals, what: str) -> Tensor:
        """In torch's own float type, if that has these numbers."""
        wide = torch.from_numpy(values.copy())
        if not torch.equal(wide.float().double(), wide):
            problems.add(
                f"{step.node.label}: its {what} has numbers that float32 has not", place, "export it in float32"
            )
        return wide.float()

    if isinstance(step, Linear):
        outs, ins = step.weight.values.shape
        linear = nn.Linear(ins, outs, step.bias is not None, device="meta")
        linear.weight = nn.Parameter(single(step.weight.values, "weight"))
        if step.bias is not None:
            linear.bias = nn.Parameter(single(step.bias.values, "bias"))
        return linear
    norm = nn.BatchNorm1d(len(step.gamma), eps=step.eps)
    norm.weight = nn.Parameter(single(step.gamma, "scale"))
    norm.bias = nn.Parameter(single(step.beta, "B"))
    norm.running_mean, norm.running_var = single(step.mean, "mean"), single(step.var, "variance")
    return norm
