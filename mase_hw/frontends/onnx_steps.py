"""What an ONNX file says, step by step from input to output, before types are given to layers."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.frontends.onnx_graph import OnnxNode, Reals
from mase_hw.frontends.onnx_quant import ActivationQuant, Constant


@dataclass(frozen=True)
class Flatten:
    """To [batch, features]."""

    name: str


@dataclass(frozen=True)
class Relu:
    name: str


@dataclass(frozen=True)
class Linear:
    """`weight` is [out, in], as torch has it."""

    name: str
    node: OnnxNode
    weight: Constant
    bias: Constant | None

    op = "linear"

    @property
    def features(self) -> int:
        return len(self.weight.values)


@dataclass(frozen=True)
class Norm:
    """`(x - mean) / sqrt(var + eps) * gamma + beta`."""

    name: str
    node: OnnxNode
    gamma: Reals
    beta: Reals
    mean: Reals
    var: Reals
    eps: float

    op = "batch_norm1d"

    @property
    def features(self) -> int:
        return len(self.gamma)


Step = Flatten | Relu | Linear | Norm | ActivationQuant
