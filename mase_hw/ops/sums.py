"""The pipelined sums of an unrolled matrix: groups of terms, then groups of groups, each as wide as it must be."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np

from mase_hw.hardware.stream import Stream
from mase_hw.numerics import signed_width
from mase_hw.numerics.rounding import Integers

TERMS = 8  # summed between two registers


@dataclass(frozen=True)
class Term:
    """`source[index] * factor`; at the first level the source is the input, later the level before (factor 1)."""

    index: int
    factor: int


@dataclass(frozen=True)
class Sum:
    """One registered sum: terms and a constant, `width` bits wide."""

    output: int
    terms: tuple[Term, ...]
    constant: int
    width: int


def level_sizes(terms: int) -> list[int]:
    """How many sums each register level holds until one is left, TERMS of the level before in each."""
    sizes = [-(-max(1, terms) // TERMS)]
    while sizes[-1] > 1:
        sizes.append(-(-sizes[-1] // TERMS))
    return sizes


def sum_levels(matrix: Integers) -> int:
    """Register levels from the products to the finished sums."""
    return len(level_sizes(int(np.count_nonzero(matrix, axis=1).max())))


def sum_tree(x: Stream, matrix: Integers, constant: Integers) -> list[list[Sum]]:
    """The levels of `matrix @ x + constant`. The last level holds one sum for each output, in order."""
    groups: list[list[Sum]] = []
    bounds: list[list[tuple[int, int]]] = []
    first: list[Sum] = []
    ends: list[tuple[int, int]] = []
    for j, row in enumerate(matrix.tolist()):
        terms = [Term(i, w) for i, w in enumerate(row) if w]
        for k, chunk in enumerate(_chunks(terms)):
            start = int(constant[j]) if k == 0 else 0
            lo = start + sum(min(t.factor * x.lo[t.index], t.factor * x.hi[t.index]) for t in chunk)
            hi = start + sum(max(t.factor * x.lo[t.index], t.factor * x.hi[t.index]) for t in chunk)
            first.append(Sum(j, tuple(chunk), start, signed_width(lo, hi)))
            ends.append((lo, hi))
    groups.append(first)
    bounds.append(ends)
    for _ in range(sum_levels(matrix) - 1):
        level: list[Sum] = []
        ends = []
        for j, members in groupby(enumerate(groups[-1]), key=lambda member: member[1].output):
            for chunk in _chunks([Term(n, 1) for n, _ in members]):
                lo = sum(bounds[-1][t.index][0] for t in chunk)
                hi = sum(bounds[-1][t.index][1] for t in chunk)
                level.append(Sum(j, tuple(chunk), 0, signed_width(lo, hi)))
                ends.append((lo, hi))
        groups.append(level)
        bounds.append(ends)
    return _trimmed(groups)


def _trimmed(levels: list[list[Sum]]) -> list[list[Sum]]:
    """No sum wider than the one that reads it: where wide partial sums cancel, their upper bits do not matter."""
    trimmed = [levels[-1]]
    for level in levels[-2::-1]:
        reader = {term.index: total.width for total in trimmed[0] for term in total.terms}
        trimmed.insert(0, [replace(total, width=min(total.width, reader[n])) for n, total in enumerate(level)])
    return trimmed


def unused_inputs(x: Stream, level: list[Sum]) -> list[int]:
    """Inputs of which some bits reach no sum: no weight, or only sums narrower than the input's type."""
    reach = [0] * x.features
    for total in level:
        for term in total.terms:
            reach[term.index] = max(reach[term.index], total.width)
    return [i for i, width in enumerate(reach) if width < x.fixed.width + (not x.fixed.signed)]


def _chunks(terms: list[Term]) -> list[list[Term]]:
    """Terms in groups of at most TERMS; a row without terms still has one, empty, group."""
    return [terms[i : i + TERMS] for i in range(0, len(terms), TERMS)] or [[]]
