"""Which layer takes which Quant: quantizers of streams become `data_in` and `data_out` of the layers beside them.

A layer has one rounding rule. What no layer can take becomes a layer of its own: a batch norm by 1. A ReLU commutes
with every quantizer that keeps 0, and all of ours do; so where in a row of Quants it stands does not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.frontends.onnx_names import Names, node_candidates
from mase_hw.frontends.onnx_quant import ActivationQuant
from mase_hw.frontends.onnx_steps import Flatten, Linear, Norm, Relu, Step
from mase_hw.numerics import Fixed, Rounding


@dataclass
class Placed:
    """A layer and the Quants that it takes. `ours`: it is in no file, we made it to do what a Quant does."""

    step: Flatten | Relu | Linear | Norm
    quant_in: ActivationQuant | None = None
    quant_out: ActivationQuant | None = None
    fixed_in: Fixed | None = None  # of a layer of ours whose input is exact
    ours: bool = False

    @property
    def rounding(self) -> Rounding | None:
        """The rule that its Quants ask for; None: nothing is rounded."""
        given = self.quant_in or self.quant_out
        return None if given is None else given.rounding


def arrange(steps: Sequence[Step], features: int, names: Names) -> tuple[Placed, ...]:
    """The layers with their Quants. `features`: of the model's input."""
    placed: list[Placed] = []
    waiting: list[ActivationQuant] = []  # since the last layer
    relu = False
    last: Placed | None = None
    for step in steps:
        if isinstance(step, ActivationQuant):
            waiting.append(step)
        elif isinstance(step, Linear | Norm):
            placed += _settle(waiting, relu, last, features, names, before_layer=True)
            last = Placed(step, waiting[-1] if waiting else None)
            placed.append(last)
            features, waiting, relu = step.features, [], False
        else:
            placed.append(Placed(step))
            relu |= isinstance(step, Relu)
    placed += _settle(waiting, relu, last, features, names, before_layer=False)
    return tuple(placed)


def _settle(
    waiting: list[ActivationQuant],
    relu: bool,
    last: Placed | None,
    features: int,
    names: Names,
    *,
    before_layer: bool,
) -> list[Placed]:
    """Layers for the Quants that no layer takes. Leaves in `waiting` at most the one that the next layer takes."""
    waiting[:] = _needed(waiting)
    for_next = 1 if before_layer else 0
    made: list[Placed] = []
    if (
        last is not None
        and len(waiting) > for_next
        and not _clamps(waiting[0], relu)
        and last.rounding in (None, waiting[0].rounding)
    ):
        last.quant_out = waiting.pop(0)
    while len(waiting) > for_next or (waiting and _clamps(waiting[0], relu)):
        quant = waiting.pop(0)
        made += _clamp(quant, features, names) if _clamps(quant, relu) else [_by_one(quant, features, names)]
    return made


def _needed(quants: Sequence[ActivationQuant]) -> list[ActivationQuant]:
    """Without those that change nothing, because the one before already gives numbers of their type."""
    kept: list[ActivationQuant] = []
    for quant in quants:
        if kept:
            shift = quant.fixed.frac - kept[-1].fixed.frac
            (lo, hi), (least, most) = kept[-1].range, quant.range
            if shift >= 0 and least <= lo << shift and hi << shift <= most:
                continue
        kept.append(quant)
    return kept


def _clamps(quant: ActivationQuant, relu: bool) -> bool:
    """Whether a narrow range cuts off a number that could come; after a ReLU the smallest of a signed type cannot."""
    return quant.narrow and not (relu and quant.fixed.signed)


def _by_one(quant: ActivationQuant, features: int, names: Names) -> Placed:
    return Placed(_norm(quant, features, names, 1.0, 0.0), quant, ours=True)


def _clamp(quant: ActivationQuant, features: int, names: Names) -> list[Placed]:
    """The narrow range by a ReLU: `max(n, lo) = relu(n - lo) + lo`, and `min(n, hi) = hi - relu(hi - n)`."""
    lo, hi = quant.range
    sign, end = (1.0, -lo) if quant.fixed.signed else (-1.0, hi)
    shift = end * 2.0**-quant.fixed.frac
    between = Fixed(quant.fixed.width, quant.fixed.frac, signed=False)
    first = Placed(_norm(quant, features, names, sign, shift), quant, ours=True)
    relu = Placed(Relu(names.take([f"{first.step.name}_relu"], "relu")))
    back = _norm(quant, features, names, sign, -shift if quant.fixed.signed else shift)
    return [first, relu, Placed(back, fixed_in=between, ours=True)]


def _norm(quant: ActivationQuant, features: int, names: Names, scale: float, shift: float) -> Norm:
    name = names.take(node_candidates(quant.node.name, quant.node.scope), "quant")
    one = np.ones(features)
    return Norm(name, quant.node, one * scale, one * shift, one * 0, one, 0.0)
