"""Samples of a model as the vectors of its design, and the design's results as the model's: shapes, order, types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.ir import Design, Stream
from mase_hw.layers import LayerGraph
from mase_hw.lowering.types import types_of
from mase_hw.numerics import Rounding, to_integers
from mase_hw.numerics.codes import Affine, Codes
from mase_hw.numerics.rounding import Integers

Values = npt.NDArray[np.float64] | Integers
Results = Any  # Values of the one output, or a tuple of them, one for each
Order = tuple[int, ...] | None  # element k of a sample in the stream is element order[k] of the model's flat tensor


@dataclass(frozen=True)
class Read:
    """The vectors of every input in its stream's order, and whether the user gave one sample alone."""

    inputs: tuple[Integers, ...]
    single: bool


@dataclass(frozen=True)
class InputSide:
    """An input port, as the model sees it; `argument` is what its `forward` calls it."""

    stream: Stream
    argument: str
    shape: tuple[int, ...]  # of one sample
    rounding: Rounding
    order: Order = None
    codes: Codes | None = None

    def read(self, x: Any, what: str, *, integers: bool) -> tuple[Integers, bool]:
        """Samples as vectors of the port's integers; what cannot be is a Problem that calls them `what`."""
        given = _array(x, what)
        flat, single = self._rows(given, what)
        fixed = self.stream.fixed
        if integers and given.dtype.kind in "iu":
            if flat.min() < fixed.lo or flat.max() > fixed.hi:
                text = f"{what}: {flat.min()}..{flat.max()} are not all integers of {fixed}"
                hint = f"{fixed.lo} to {fixed.hi}; without integers=True they are real numbers"
                raise ProblemsError(Problem(text, hint=hint))
            found = flat.astype(np.int64)
        else:
            found = to_integers(flat, fixed, self.rounding) if self.codes is None else self.codes.integers(flat)
        ordered = found if self.order is None else found[:, list(self.order)]
        return np.ascontiguousarray(ordered.reshape(-1, self.stream.features)), single

    def _rows(self, given: npt.NDArray[Any], what: str) -> tuple[npt.NDArray[Any], bool]:
        elements = int(np.prod(self.shape))
        if given.dtype.kind not in "fiub" or (given.dtype.kind == "f" and np.isnan(given).any()):
            wrong = "holds NaN" if given.dtype.kind == "f" else f"is of {given.dtype}"
            raise ProblemsError(Problem(f"{what} {wrong}", hint="an array of real numbers or of integers"))
        if given.shape in (self.shape, (elements,)):
            return given.reshape(1, elements), True
        if given.ndim and len(given) and given.shape[1:] in (self.shape, (elements,)):
            return given.reshape(len(given), elements), False
        text = f"{what} has the shape {given.shape}, one sample has {self.shape}"
        raise ProblemsError(Problem(text, hint=f"{('samples', *self.shape)} or one sample".replace("'", "")))


@dataclass(frozen=True)
class OutputSide:
    """An output port, as the model sees it."""

    stream: Stream
    order: Order = None
    values: Affine | None = None

    def result(self, y: Integers, single: bool, integers: bool) -> Values:
        """A row for each sample, in the model's order; real numbers are exact, as a float64 holds every output."""
        rows = y.reshape(-1, self.stream.positions * self.stream.features)
        if self.order is not None:
            back = np.empty_like(rows)
            back[:, list(self.order)] = rows
            rows = back
        found: Values = rows
        if not integers:
            unit = 2.0**-self.stream.fixed.frac
            found = np.asarray(rows * unit, np.float64) if self.values is None else self.values.values(rows)
        return found[0] if single else found


@dataclass(frozen=True)
class Vectors:
    """The ports of a design, as its model sees them."""

    inputs: tuple[InputSide, ...]
    outputs: tuple[OutputSide, ...]

    @staticmethod
    def of(layers: LayerGraph, design: Design) -> Vectors:
        types = types_of(layers).inputs
        inputs = [
            InputSide(stream, x.name, x.shape, types[x.name].rounding, x.order, x.codes)
            for stream, x in zip(design.inputs, layers.inputs, strict=True)
        ]
        outputs = zip(design.outputs, layers.output_orders, layers.output_values, strict=True)
        return Vectors(tuple(inputs), tuple(OutputSide(*output) for output in outputs))

    def read(self, x: Any, *, integers: bool) -> Read:
        """What the user gave, as integers of the inputs' types; what cannot be is a Problem.

        One input takes an array. Several take a tuple or list of one array each, or a mapping by port or argument.
        """
        given = self._apart(x)
        several = len(self.inputs) > 1
        found = [
            side.read(part, side.argument if several else "x", integers=integers)
            for side, part in zip(self.inputs, given, strict=True)
        ]
        counts = [len(rows) // side.stream.positions for side, (rows, _) in zip(self.inputs, found, strict=True)]
        if len(set(counts)) > 1 or len({single for _, single in found}) > 1:
            each = ", ".join(f"{side.argument} {count}" for side, count in zip(self.inputs, counts, strict=True))
            raise ProblemsError(Problem(f"the inputs have different numbers of samples: {each}"))
        return Read(tuple(rows for rows, _ in found), found[0][1])

    def results(self, y: Sequence[Integers], read: Read, integers: bool) -> Results:
        """The outputs' vectors as the model's results: an array, or a tuple of them where there are several."""
        sides = zip(self.outputs, y, strict=True)
        found = tuple(side.result(rows, read.single, integers) for side, rows in sides)
        return found[0] if len(found) == 1 else found

    def _apart(self, x: Any) -> list[Any]:
        """One array-like for each input."""
        if isinstance(x, Mapping):
            return self._by_name(x)
        if len(self.inputs) == 1:
            return [x]
        names = ", ".join(side.argument for side in self.inputs)
        if not isinstance(x, tuple | list) or len(x) != len(self.inputs):
            given = f"{len(x)} of them" if isinstance(x, tuple | list) else f"a {type(x).__name__}"
            text = f"x is {given}, and there are {len(self.inputs)} inputs: {names}"
            raise ProblemsError(Problem(text, hint="a tuple of arrays, or a mapping by the inputs' names"))
        return list(x)

    def _by_name(self, x: Mapping[Any, Any]) -> list[Any]:
        names = {name: k for k, side in enumerate(self.inputs) for name in (side.argument, side.stream.name)}
        places: dict[int, Any] = {}
        for name, part in x.items():
            if name not in names:
                hint = nearest(str(name), list(names), "inputs")
                raise ProblemsError(Problem(f"x: there is no input {name}", hint=hint))
            if names[name] in places:
                raise ProblemsError(Problem(f"x: the input {self.inputs[names[name]].argument} is given twice"))
            places[names[name]] = part
        missing = [side.argument for k, side in enumerate(self.inputs) if k not in places]
        if missing:
            raise ProblemsError(Problem(f"x: nothing is given for the input {missing[0]}"))
        return [places[k] for k in range(len(self.inputs))]


def _array(x: Any, what: str) -> npt.NDArray[Any]:
    """A numpy array of any array-like; a torch tensor may want gradients or be on another device."""
    if hasattr(x, "detach"):
        x = x.detach().cpu()
    try:
        return np.asarray(x)
    except ValueError as error:  # rows of different lengths
        raise ProblemsError(Problem(f"{what} is no array: {error}", hint="all samples have the same shape")) from None
