"""What an ONNX file says, step by step from input to output, before types are given to layers."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.frontends.onnx_graph import OnnxNode, Reals
from mase_hw.frontends.onnx_quant import ActivationQuant, Constant
from mase_hw.geometry import Geometry, Pads
from mase_hw.numerics import Fixed
from mase_hw.numerics.rounding import Integers


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
class Conv:
    """`weight` is [out, in / groups, *kernel], as torch has it."""

    name: str
    node: OnnxNode
    weight: Constant
    bias: Constant | None
    windows: Geometry
    groups: int

    @property
    def op(self) -> str:
        return f"conv{len(self.windows.frame)}d"

    @property
    def features(self) -> int:
        return len(self.weight.values)


@dataclass(frozen=True)
class Pool:
    """The largest value or the average of each window."""

    name: str
    node: OnnxNode
    op: str
    windows: Geometry
    ceil: bool  # the last window may reach over the end, as torch has it
    count_include_pad: bool

    @property
    def averages(self) -> bool:
        return self.op.startswith("avg")

    @property
    def out_frame(self) -> tuple[int, ...]:
        """torch's rule, which ONNX takes over: with `ceil`, a last window starts inside the frame."""
        if not self.ceil:
            return self.windows.out_frame
        found = []
        w = self.windows
        for size, (before, after), reach, stride in zip(w.frame, w.padding, w.reach, w.stride, strict=True):
            outs = -(-(size + before + after - reach) // stride) + 1
            found.append(outs - 1 if (outs - 1) * stride >= size + before else outs)
        return tuple(found)

    @property
    def divisors(self) -> set[int] | None:
        """What sums are divided by, where that is the same for all windows; None where it is not."""
        plain = not self.ceil and (self.count_include_pad or not any(map(any, self.windows.padding)))
        return {self.windows.taps} if plain else None


@dataclass(frozen=True)
class Pad:
    """Zeros around a frame: before and after, in each dimension."""

    name: str
    padding: Pads

    op = "zero_pad"


@dataclass(frozen=True)
class Norm:
    """`(x - mean) / sqrt(var + eps) * gamma + beta`, for each feature, or for each channel of a frame of `rank`."""

    name: str
    node: OnnxNode
    gamma: Reals
    beta: Reals
    mean: Reals
    var: Reals
    eps: float
    rank: int = 0

    @property
    def op(self) -> str:
        return "batch_norm2d" if self.rank == 2 else "batch_norm1d"

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


@dataclass(frozen=True)
class Staircase:
    """`start + step * (the number of thresholds of its channel that are <= x)`, integers to integers of `fixed`.

    `reads` is the type of what it reads. `stated`: the result is an output of the model, in the type of the file.
    """

    name: str
    node: OnnxNode
    thresholds: Integers  # [features, count]
    start: int
    step: int
    fixed: Fixed
    features: int
    reads: Fixed
    stated: bool = False

    op = "thresholds"


Layer = Flatten | Relu | Linear | Conv | Pool | Pad | Norm | Mul | Join | Staircase
Step = Layer | ActivationQuant


@dataclass(frozen=True)
class Link:
    """A step, the tensors that it reads, and the one that it makes, by their names in the file."""

    step: Step
    reads: tuple[str, ...]
    makes: str
