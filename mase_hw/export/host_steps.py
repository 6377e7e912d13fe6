"""A design as the steps of a host program: each reads named values and writes one, by its component's meaning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.finish import Finish
from mase_hw.ir.meaning import Affine, Move, Table
from mase_hw.numerics import Rounding
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Term:
    """One input of a sum. The weights are flat, row by row: all of a matrix, its diagonal, or none for the identity."""

    value: str
    features: int
    form: str  # "linear", "scaled", "plain"
    weights: Integers | None
    shift: int  # of the products, to the left


@dataclass(frozen=True)
class Sum:
    """`finish(sum of terms + constants)`."""

    value: str
    name: str
    op: str
    features: int
    terms: tuple[Term, ...]
    constants: Integers | None
    finish: Finish | None
    form = "sum"

    @property
    def changes(self) -> bool:
        return self.finish is not None and self.finish.changes

    @property
    def shift(self) -> int:
        """Fractional bits that are dropped; negative: that are added."""
        return 0 if self.finish is None else self.finish.frac - self.finish.fixed.frac

    @property
    def half_even(self) -> bool:
        return self.finish is not None and self.finish.rounding is Rounding.HALF_EVEN


@dataclass(frozen=True)
class Pick:
    """Runs of elements of other values, one after the other: `(value, start, stop)`."""

    value: str
    name: str
    op: str
    features: int
    runs: tuple[tuple[str, int, int], ...]
    form = "pick"


@dataclass(frozen=True)
class LookUp:
    """Element `j` is `table[start[j] + x[index[j]]]`; tables that are the same are there once."""

    value: str
    name: str
    op: str
    features: int
    source: str
    index: Integers
    start: Integers
    table: Integers
    form = "table"


Step = Sum | Pick | LookUp


@dataclass(frozen=True)
class Program:
    """The steps in order, and by which name each stream's values are known."""

    steps: tuple[Step, ...]
    values: dict[str, str]


def program(design: Design) -> Program:
    """The whole design; a component without a meaning has no host model, which is a Problem."""
    values = {x.name: f"x{k or ''}" for k, x in enumerate(design.inputs)}
    steps: list[Step] = []
    for component in design.components:
        named = [values[x.name] for x in component.inputs]
        for y, found in zip(component.outputs, _outputs(component, named, len(steps)), strict=True):
            if isinstance(found, str):
                values[y.name] = found
            else:
                steps.append(found)
                values[y.name] = found.value
    counts = {stream.positions for stream in design.streams}
    if len(counts) > 1:
        raise _no_model(design.name, "with frames of several sizes")
    return Program(tuple(steps), values)


def _outputs(component: Component, named: Sequence[str], number: int) -> list[Step | str]:
    """For each output a step, or the name of the value that it is."""
    meaning, kind = component.meaning(), f"of kind {component.kind}"
    if isinstance(meaning, Affine):
        return [_sum(component, meaning, named, f"v{number}")]
    if isinstance(meaning, Table):
        return [_look_up(component, meaning, named[0], f"v{number}")]
    if not isinstance(meaning, Move):
        raise _no_model(component.name, kind)
    found: list[Step | str] = []
    for y, sources in zip(component.outputs, meaning.sources, strict=True):
        runs = _runs(sources)
        if len(runs) == 1 and runs[0][1:] == (0, component.inputs[runs[0][0]].features):
            found.append(named[runs[0][0]])
        else:
            value = f"v{number + sum(isinstance(one, Pick) for one in found)}"
            picked = tuple((named[port], start, stop) for port, start, stop in runs)
            found.append(Pick(value, component.name, component.kind, y.features, picked))
    return found


def _runs(sources: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
    """Elements that follow each other in one input, together: `(input, start, stop)`."""
    runs: list[tuple[int, int, int]] = []
    for port, element in sources:
        if runs and runs[-1][0] == port and runs[-1][2] == element:
            runs[-1] = (port, runs[-1][1], element + 1)
        else:
            runs.append((port, element, element + 1))
    return runs


def _sum(component: Component, meaning: Affine, named: Sequence[str], value: str) -> Sum:
    y = component.output
    terms = [_term(x, matrix, name) for x, matrix, name in zip(component.inputs, meaning.factors, named, strict=True)]
    constants = meaning.constants if np.any(meaning.constants) else None
    return Sum(value, component.name, component.kind, y.features, tuple(terms), constants, meaning.finish)


def _term(x: Stream, matrix: Integers, value: str) -> Term:
    low = int(np.bitwise_or.reduce(np.abs(matrix), axis=None))  # its lowest bit is the lowest of all weights
    shift = (low & -low).bit_length() - 1 if low else 0
    weights = matrix >> shift
    if matrix.shape[0] != matrix.shape[1] or np.count_nonzero(matrix - np.diag(np.diagonal(matrix))):
        return Term(value, x.features, "linear", weights.ravel(), shift)
    diagonal = np.diagonal(weights)
    if shift == 0 and (diagonal == 1).all():
        return Term(value, x.features, "plain", None, 0)
    return Term(value, x.features, "scaled", diagonal, shift)


def _look_up(component: Component, meaning: Table, source: str, value: str) -> LookUp:
    places: dict[bytes, int] = {}
    parts: list[Integers] = []
    for table in meaning.values:
        key = np.asarray(table, np.int64).tobytes()
        if key not in places:
            places[key] = sum(map(len, parts))
            parts.append(np.asarray(table, np.int64))
    starts = [places[np.asarray(t, np.int64).tobytes()] - lo for t, lo in zip(meaning.values, meaning.lo, strict=True)]
    arrays = np.array(meaning.index, np.int64), np.array(starts, np.int64), np.concatenate(parts)
    return LookUp(value, component.name, component.kind, component.output.features, source, *arrays)


def _no_model(name: str, what: str) -> ProblemsError:
    text = f"{name}: a component {what} has no host model"
    return ProblemsError(Problem(text, hint="the other exports, and `mase-hw sim`, work with it"))
