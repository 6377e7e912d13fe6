"""Samples of a model as the vectors of its design, and the design's results as the model's: shapes, order, types."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.ir import Design
from mase_hw.lowering.layers import LayerGraph
from mase_hw.lowering.parts import wanted_types
from mase_hw.numerics import Fixed, Rounding, to_integers
from mase_hw.numerics.rounding import Integers

Values = npt.NDArray[np.float64] | Integers


@dataclass(frozen=True)
class Read:
    """Input vectors in the stream's order, and whether the user gave one sample alone."""

    x: Integers
    single: bool


@dataclass(frozen=True)
class Vectors:
    """The two ends of a design, as its model sees them."""

    shape: tuple[int, ...]  # of one sample
    input_type: Fixed
    output_type: Fixed
    rounding: Rounding
    order: tuple[int, ...] | None
    output_order: tuple[int, ...] | None

    @staticmethod
    def of(chain: LayerGraph, design: Design) -> Vectors:
        wanted = wanted_types(chain.layers)[0]
        assert wanted is not None
        ends = design.input.fixed, design.output.fixed
        return Vectors(chain.input.shape, *ends, wanted.rounding, chain.input.order, chain.output_orders[0])

    def read(self, x: Any, *, integers: bool) -> Read:
        """The samples as integers of the input's type; what cannot be is a Problem."""
        given = _array(x)
        flat, single = self._rows(given)
        if integers and given.dtype.kind in "iu":
            lo, hi = self.input_type.lo, self.input_type.hi
            if flat.min() < lo or flat.max() > hi:
                text = f"x: {flat.min()}..{flat.max()} are not all integers of {self.input_type}"
                raise ProblemsError(Problem(text, hint=f"{lo} to {hi}; without integers=True they are real numbers"))
            found = flat.astype(np.int64)
        else:
            found = to_integers(flat, self.input_type, self.rounding)
        return Read(np.ascontiguousarray(found if self.order is None else found[:, list(self.order)]), single)

    def results(self, y: Integers, read: Read, integers: bool) -> Values:
        """The output's vectors in the model's order; real numbers are exact, as a float64 holds every output."""
        if self.output_order is not None:
            back = np.empty_like(y)
            back[:, list(self.output_order)] = y
            y = back
        found: Values = y if integers else np.asarray(y * 2.0**-self.output_type.frac, np.float64)
        return found[0] if read.single else found

    def _rows(self, given: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], bool]:
        features = int(np.prod(self.shape))
        if given.dtype.kind not in "fiub" or (given.dtype.kind == "f" and np.isnan(given).any()):
            what = "holds NaN" if given.dtype.kind == "f" else f"is of {given.dtype}"
            raise ProblemsError(Problem(f"x {what}", hint="an array of real numbers or of integers"))
        if given.shape in (self.shape, (features,)):
            return given.reshape(1, features), True
        if given.ndim and len(given) and given.shape[1:] in (self.shape, (features,)):
            return given.reshape(len(given), features), False
        text = f"x has the shape {given.shape}, one sample has {self.shape}"
        raise ProblemsError(Problem(text, hint=f"{('samples', *self.shape)} or one sample".replace("'", "")))


def _array(x: Any) -> npt.NDArray[Any]:
    """A numpy array of any array-like; a torch tensor may want gradients or be on another device."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    try:
        return np.asarray(x)
    except ValueError as error:  # rows of different lengths
        raise ProblemsError(Problem(f"x is no array: {error}", hint="all samples have the same shape")) from None
