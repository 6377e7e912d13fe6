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


@dataclass(frozen=True)
class Mul:
    """`x * weight`; the weight has one number, or one for each feature."""

    name: str
    node: OnnxNode
    weight: Constant
    features: int

    op = "mul"


@dataclass(frozen=True)
class Join:
    """`op` of several tensors: add, sub or cat."""

    name: str
    node: OnnxNode
    op: str
    features: int


Layer = Flatten | Relu | Linear | Norm | Mul | Join
Step = Layer | ActivationQuant


@dataclass(frozen=True)
class Link:
    """A step, the tensors that it reads, and the one that it makes, by their names in the file."""

    step: Step
    reads: tuple[str, ...]
    makes: str
