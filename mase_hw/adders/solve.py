"""From a matrix to its adder graph: da4ml's solver where it is installed, ours where it is not, in blocks if need be.

What is tried depends on the size of the matrix alone, never on a clock, so that the same model gives the same hardware.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from mase_hw.adders.csd import digit_count, plain_graph, shared_graph
from mase_hw.adders.encode import encode
from mase_hw.adders.graph import AdderGraph, Builder, Ref
from mase_hw.numerics.rounding import Integers

SOLVER_SECONDS = 30.0
BLOCK_TERMS = 4000  # larger matrices are solved in blocks: the time grows with the square of the terms
SECONDS = {"da4ml": 1.5e-7, "own": 3e-7}  # CPU time by the square of a block's terms, measured
TRIES_SECONDS = 0.5  # a small matrix is solved in several ways
EXACT = 1 << 24  # da4ml takes float32


@dataclass(frozen=True)
class Solution:
    """A graph, and how it was found, in words for the report."""

    graph: AdderGraph
    method: str


def solve(matrix: Integers, lo: Integers, hi: Integers, seconds: float = SOLVER_SECONDS) -> Solution:
    """The graph of `matrix` [out, in] for inputs within `lo..hi`; inputs without weight or range take no part."""
    live = np.flatnonzero((matrix != 0).any(0) & (lo < hi))
    inner = matrix[:, live]
    solver = "da4ml" if _has_da4ml() and not _too_wide(inner, lo, hi) else "own"
    blocks = _blocks(inner)
    cost = sum(SECONDS[solver] * digit_count(inner[rows][:, columns]) ** 2 for rows, columns in blocks)
    builder = Builder(matrix.shape[1])
    if cost > seconds:
        method = f"plain: its shared graph would take about {cost:.0f} s, more than solver_seconds = {seconds:g}"
        refs = _append(builder, plain_graph(inner), live)
    else:
        method = solver if len(blocks) == 1 else f"{solver}, {len(blocks)} blocks"
        refs = [Ref(None)] * len(matrix)
        for rows, columns in blocks:
            part = _block(inner[rows][:, columns], lo[live[columns]], hi[live[columns]], solver)
            for j, ref in zip(rows, _append(builder, part, live[columns]), strict=True):
                refs[j] = builder.add(refs[j], ref)
    graph = builder.graph(refs)
    wanted = np.zeros_like(matrix)
    wanted[:, live] = inner
    assert np.array_equal(graph.matrix, wanted), "the solver's graph does not compute the matrix"
    return Solution(graph, method)


@cache
def _has_da4ml() -> bool:
    return find_spec("da4ml") is not None


def _too_wide(matrix: Integers, lo: Integers, hi: Integers) -> bool:
    return max((int(np.abs(array).max()) for array in (matrix, lo, hi) if array.size), default=0) >= EXACT


def _blocks(matrix: Integers) -> list[tuple[Integers, Integers]]:
    """Rows and columns of each block: the longer side is halved until a block has few enough terms."""
    todo = [(np.arange(matrix.shape[0]), np.arange(matrix.shape[1]))]
    blocks = []
    while todo:
        rows, columns = todo.pop()
        if max(len(rows), len(columns)) <= 1 or digit_count(matrix[rows][:, columns]) <= BLOCK_TERMS:
            blocks.append((rows, columns))
        elif len(rows) > len(columns):
            todo += [(half, columns) for half in reversed(np.array_split(rows, 2))]
        else:
            todo += [(rows, half) for half in reversed(np.array_split(columns, 2))]
    return blocks


def _block(matrix: Integers, lo: Integers, hi: Integers, solver: str) -> AdderGraph:
    """The cheapest of a few graphs; of equals the shallowest."""
    if matrix.size == 0 or not matrix.any():
        return Builder(matrix.shape[1]).graph([Ref(None)] * len(matrix))
    widths = [max(1, int(high - low).bit_length()) for low, high in zip(lo, hi, strict=True)]
    if solver == "own":
        return shared_graph(matrix, widths)
    cost = SECONDS[solver] * digit_count(matrix) ** 2
    tries: list[Callable[[], AdderGraph]] = [lambda: _da4ml(matrix, lo, hi, 2)]
    if cost < TRIES_SECONDS:
        tries += [lambda: _da4ml(matrix, lo, hi, 1), lambda: shared_graph(matrix, widths)]
    graphs = [attempt() for attempt in tries]
    return min(graphs, key=lambda graph: (encode(graph, lo, hi).sites, graph.depth))


def _da4ml(matrix: Integers, lo: Integers, hi: Integers, extra_depth: int) -> AdderGraph:
    """da4ml's graph, at most `extra_depth` additions deeper than the shallowest."""
    from da4ml.cmvm import solve as da4ml_solve

    ranges = [(float(low), float(high), 1.0) for low, high in zip(lo, hi, strict=True)]
    found: Any = da4ml_solve(matrix.T.astype(np.float32), qintervals=ranges, hard_dc=extra_depth)
    builder = Builder(matrix.shape[1])
    refs = [Ref(i) for i in range(matrix.shape[1])]
    for part in found.solutions:
        made: list[Ref] = []
        for op in part.ops:
            if op.opcode == -1:
                made.append(refs[op.id0].shifted(int(part.inp_shifts[op.id0])))
            else:
                assert op.opcode in (0, 1), f"da4ml used operation {op.opcode}"
                made.append(builder.add(made[op.id0], made[op.id1].shifted(int(op.data), op.opcode == 1)))
        ends = zip(part.out_idxs, part.out_shifts, part.out_negs, strict=True)
        refs = [Ref(None) if k < 0 else made[k].shifted(int(shift), bool(minus)) for k, shift, minus in ends]
    return builder.graph(refs)


def _append(builder: Builder, graph: AdderGraph, inputs: Integers) -> list[Ref]:
    """Adds a graph whose inputs are these inputs of the builder; its outputs there."""
    refs = [Ref(int(i)) for i in inputs]
    for add in graph.adds:
        a, b = refs[add.a], refs[add.b]
        refs.append(builder.add(a.shifted(add.shift_a, add.minus_a), b.shifted(add.shift_b, add.minus_b)))
    return [Ref(None) if out.node is None else refs[out.node].shifted(out.shift, out.minus) for out in graph.outputs]
