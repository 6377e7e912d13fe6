"""A design as the steps of a host program, by its components' meanings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.export.host_steps import Largest, LookUp, Pick, Repeat, Step, Sum, Term, Window
from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.meaning import Affine, Meaning, Most, Move, Repeated, Steps, Table, Weighted, Windows
from mase_hw.numerics.rounding import Integers

MAX_TABLE = 1 << 22  # numbers of all thresholds of a component together


class Head(NamedTuple):
    """The first fields of every step."""

    value: str
    name: str
    op: str
    vectors: int
    features: int


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
    return Program(tuple(steps), values)


def _outputs(component: Component, named: Sequence[str], number: int) -> list[Step | str]:
    """For each output a step, or the name of the value that it is."""
    meaning = component.meaning()
    if isinstance(meaning, Move):
        return _moved(component, meaning, named, number)
    if meaning is None or type(meaning) not in _STEPS:
        raise _no_model(component)
    y = component.output
    head = Head(f"v{number}", component.name, component.kind, y.positions, y.features)
    return [_STEPS[type(meaning)](meaning, component, named, head)]


def _moved(component: Component, meaning: Move, named: Sequence[str], number: int) -> list[Step | str]:
    found: list[Step | str] = []
    for y, sources in zip(component.outputs, meaning.sources, strict=True):
        runs = _runs(sources)
        if len(runs) == 1 and runs[0][1:] == (0, component.inputs[runs[0][0]].features):
            found.append(named[runs[0][0]])
            continue
        value = f"v{number + sum(isinstance(one, Pick) for one in found)}"
        picked = tuple((named[port], component.inputs[port].features, start, stop) for port, start, stop in runs)
        found.append(Pick(value, component.name, component.kind, y.positions, y.features, picked))
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


def _affine(meaning: Affine, component: Component, named: Sequence[str], head: Head) -> Step:
    terms = [_term(x, matrix, name) for x, matrix, name in zip(component.inputs, meaning.factors, named, strict=True)]
    return Sum(*head, tuple(terms), _some(meaning.constants), meaning.finish)


def _weighted(meaning: Weighted, component: Component, named: Sequence[str], head: Head) -> Step:
    weights, shift = _shifted(meaning.factors)
    kept = None if (weights == 1).all() else weights.ravel()
    term = Term(named[0], component.input.features, "taps", meaning.factors.shape, kept, shift)
    return Sum(*head, (term,), _some(meaning.constants), meaning.finish)


def _term(x: Stream, matrix: Integers, value: str) -> Term:
    weights, shift = _shifted(matrix)
    if matrix.shape[0] != matrix.shape[1] or np.count_nonzero(matrix - np.diag(np.diagonal(matrix))):
        return Term(value, x.features, "linear", matrix.shape, weights.ravel(), shift)
    diagonal = np.diagonal(weights)
    if shift == 0 and (diagonal == 1).all():
        return Term(value, x.features, "plain", (), None, 0)
    return Term(value, x.features, "scaled", diagonal.shape, diagonal, shift)


def _shifted(weights: Integers) -> tuple[Integers, int]:
    """The weights without the zero bits that they all end with, and the number of these."""
    low = int(np.bitwise_or.reduce(np.abs(weights), axis=None))  # its lowest bit is the lowest of all weights
    shift = (low & -low).bit_length() - 1 if low else 0
    return weights >> shift, shift


def _some(constants: Integers) -> Integers | None:
    return constants if np.any(constants) else None


def _look_up(meaning: Table, component: Component, named: Sequence[str], head: Head) -> Step:
    places: dict[bytes, int] = {}
    parts: list[Integers] = []
    for table in meaning.values:
        key = np.asarray(table, np.int64).tobytes()
        if key not in places:
            places[key] = sum(map(len, parts))
            parts.append(np.asarray(table, np.int64))
    starts = [places[np.asarray(t, np.int64).tobytes()] - lo for t, lo in zip(meaning.values, meaning.lo, strict=True)]
    arrays = np.array(meaning.index, np.int64), np.array(starts, np.int64), np.concatenate(parts)
    return LookUp(*head, named[0], component.input.features, *arrays)


def _stepped(meaning: Steps, component: Component, named: Sequence[str], head: Head) -> Step:
    """Thresholds as a table of every number, where these are not too many."""
    ends = list(zip(meaning.lo, meaning.hi, strict=True))
    if sum(hi - lo + 1 for lo, hi in ends) > MAX_TABLE:
        raise _no_model(component)
    values = tuple(meaning.of(k, np.arange(lo, hi + 1)) for k, (lo, hi) in enumerate(ends))
    return _look_up(Table(tuple(range(len(ends))), meaning.lo, values), component, named, head)


def _window(meaning: Windows, component: Component, named: Sequence[str], head: Head) -> Step:
    features = component.input.features
    return Window(*head, named[0], features, meaning.geometry, meaning.group or features, meaning.fill)


def _most(meaning: Most, component: Component, named: Sequence[str], head: Head) -> Step:
    return Largest(*head, named[0], meaning.taps, meaning.lanes)


def _repeated(meaning: Repeated, component: Component, named: Sequence[str], head: Head) -> Step:
    down, across = (1, *meaning.factors)[-2:]
    return Repeat(*head, named[0], meaning.frame[-1], down, across)


_STEPS: dict[type[Meaning], Callable[[Any, Component, Sequence[str], Head], Step]] = {
    Affine: _affine,
    Weighted: _weighted,
    Table: _look_up,
    Steps: _stepped,
    Windows: _window,
    Most: _most,
    Repeated: _repeated,
}


def _no_model(component: Component) -> ProblemsError:
    text = f"{component.name}: a component of kind {component.kind} has no host model"
    return ProblemsError(Problem(text, hint="the other exports, and `mase-hw sim`, work with it"))
