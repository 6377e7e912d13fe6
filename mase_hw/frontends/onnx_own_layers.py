"""Quants that no layer of an ONNX file takes: those that change nothing, and layers of our own for the others."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.frontends.onnx_names import Names, node_candidates
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_quant import ActivationQuant
from mase_hw.frontends.onnx_steps import Norm, Relu
from mase_hw.numerics import Fixed


def needed(quants: Sequence[ActivationQuant], relu: bool) -> list[ActivationQuant]:
    """Without those that change nothing: the one before already gives numbers of their type, or the one behind
    rounds alike and clamps to less.

    `relu`: a ReLU stands among them, and so nothing is negative.
    """
    kept: list[ActivationQuant] = []
    for quant in quants:
        if kept:
            shift = quant.fixed.frac - kept[-1].fixed.frac
            (lo, hi), (least, most) = kept[-1].range, quant.range
            if relu:
                lo, least = max(lo, 0), max(least, 0)
            if shift >= 0 and least <= lo << shift and hi << shift <= most:
                continue
            if shift == 0 and quant.rounding is kept[-1].rounding and lo <= least and most <= hi:
                kept.pop()
        kept.append(quant)
    return kept


def clamps(quant: ActivationQuant, relu: bool) -> bool:
    """Whether a narrow range cuts off a number that could come; after a ReLU the smallest of a signed type cannot."""
    return quant.narrow and not (relu and quant.fixed.signed)


def by_one(quant: ActivationQuant, shape: tuple[int, ...], names: Names, read: str) -> list[Placed]:
    """The Quant as a batch norm that changes nothing else."""
    return [Placed(_norm(quant, shape, names, 1.0, 0.0), quant, ours=True, inputs=(read,))]


def clamp(quant: ActivationQuant, shape: tuple[int, ...], names: Names, read: str) -> list[Placed]:
    """The narrow range by a ReLU: `max(n, lo) = relu(n - lo) + lo`, and `min(n, hi) = hi - relu(hi - n)`."""
    lo, hi = quant.range
    sign, end = (1.0, -lo) if quant.fixed.signed else (-1.0, hi)
    shift = end * 2.0**-quant.fixed.frac
    between = Fixed(quant.fixed.width, quant.fixed.frac, signed=False)
    first = Placed(_norm(quant, shape, names, sign, shift), quant, ours=True, inputs=(read,))
    relu = Relu(names.take([f"{first.step.name}_relu"], "relu"))
    back = _norm(quant, shape, names, sign, -shift if quant.fixed.signed else shift)
    return [
        first,
        Placed(relu, inputs=(first.step.name,)),
        Placed(back, fixed_in=between, ours=True, inputs=(relu.name,)),
    ]


def _norm(quant: ActivationQuant, shape: tuple[int, ...], names: Names, scale: float, shift: float) -> Norm:
    name = names.take(node_candidates(quant.node.name, quant.node.scope), "quant")
    one = np.ones(shape[0])
    return Norm(name, quant.node, one * scale, one * shift, one * 0, one, 0.0, len(shape) - 1)
