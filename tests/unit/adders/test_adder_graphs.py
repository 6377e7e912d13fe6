"""Adder graphs: what they compute, how their nodes are held, where their registers go."""

from __future__ import annotations

import sys
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mase_hw.adders import AdderGraph, Encoding, encode, pipeline, solve
from mase_hw.adders.csd import digit_count, digits, plain_graph, shared_graph
from mase_hw.numerics.rounding import Integers

SOLVER = sys.modules["mase_hw.adders.solve"]  # the module; the package has a function of that name


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@st.composite
def matrices(draw: st.DrawFn) -> Integers:
    rows, columns = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    top = draw(st.sampled_from([1, 3, 31, 255]))
    values = draw(st.lists(st.integers(-top, top), min_size=rows * columns, max_size=rows * columns))
    return np.array(values, np.int64).reshape(rows, columns)


@st.composite
def bounds(draw: st.DrawFn, count: int) -> tuple[Integers, Integers]:
    ends = [sorted(draw(st.tuples(st.integers(-40, 40), st.integers(-40, 40)))) for _ in range(count)]
    return np.array([low for low, _ in ends], np.int64), np.array([high for _, high in ends], np.int64)


def held(encoding: Encoding, x: Integers) -> list[Integers]:
    """Every node as the hardware holds it, computed with unsigned numbers of the stated widths alone."""
    graph, wires = encoding.graph, encoding.wires
    nodes = [x[:, i] - wires[i].offset for i in range(graph.inputs)]

    def operand(node: int, shift: int, minus: bool) -> Integers:
        return ((nodes[node] ^ ((1 << wires[node].width) - 1)) if minus else nodes[node]) << shift

    for k, add in enumerate(graph.adds, graph.inputs):
        total = operand(add.a, add.shift_a, add.minus_a) + operand(add.b, add.shift_b, add.minus_b)
        nodes.append(total & ((1 << wires[k].width) - 1))
    return nodes


def corners(lo: Integers, hi: Integers) -> Integers:
    return np.array(list(product(*zip(lo.tolist(), hi.tolist(), strict=True))), np.int64)


@given(n=st.integers(-5000, 5000))
def test_digits_add_up_and_none_are_neighbours(n: int) -> None:
    found = list(digits(n))
    assert sum((-1 if minus else 1) << shift for shift, minus in found) == n
    shifts = [shift for shift, _ in found]
    assert all(b - a >= 2 for a, b in pairwise(shifts))
    assert digit_count(np.array([[n]])) == len(found)


@given(matrix=matrices())
def test_both_own_solvers_compute_the_matrix(matrix: Integers) -> None:
    widths = [6] * matrix.shape[1]
    for graph in (plain_graph(matrix), shared_graph(matrix, widths)):
        assert np.array_equal(graph.matrix, matrix)
        again = AdderGraph.from_arrays(graph.inputs, *graph.to_arrays())
        assert again == graph


@given(data=st.data(), matrix=matrices())
def test_a_solution_is_exact_and_every_node_fits_its_width(data: st.DataObject, matrix: Integers) -> None:
    lo, hi = data.draw(bounds(matrix.shape[1]))
    graph = solve(matrix, lo, hi).graph
    encoding = encode(graph, lo, hi)
    x = corners(lo, hi)
    nodes = held(encoding, x)
    for k, (node, wire) in enumerate(zip(nodes, encoding.wires, strict=True)):
        assert node.min() >= 0
        assert node.max() == wire.hi  # the bound is reached: not one bit too wide
        assert k < graph.inputs or int(node.min() ^ node.max()).bit_length() == wire.width  # nor one that is known
        assert np.array_equal(node + wire.offset, x @ graph.rows[k])
    still = matrix @ np.where(lo == hi, lo, 0)
    for j, out in enumerate(graph.outputs):
        constant, highest = encoding.output(j)
        u = np.zeros(len(x), np.int64)
        if out.node is not None:
            width = encoding.wires[out.node].width
            u = (nodes[out.node] ^ ((1 << width) - 1 if out.minus else 0)) << out.shift
        assert u.max() <= highest
        assert np.array_equal(u + constant + still[j], x @ matrix[j])


def test_what_outputs_share_is_made_once() -> None:
    row = [3, 5, -7, 11]
    matrix = np.array([row, row, [2 * n for n in row], [-n for n in row]])
    graph = shared_graph(matrix, [8] * 4)
    assert len(graph.adds) <= len(plain_graph(matrix[:1]).adds)
    assert len({out.node for out in graph.outputs}) == 1


def test_sharing_pays(rng: np.random.Generator) -> None:
    matrix = rng.integers(-100, 100, (16, 8))
    lo, hi = np.zeros(8, np.int64), np.full(8, 255)
    shared = encode(shared_graph(matrix, [8] * 8), lo, hi).luts
    assert shared < 0.85 * encode(plain_graph(matrix), lo, hi).luts


def test_inputs_without_weight_or_range_are_not_read(rng: np.random.Generator) -> None:
    matrix = rng.integers(1, 50, (3, 4))
    matrix[:, 1] = 0
    lo, hi = np.array([0, 0, 5, -8]), np.array([7, 7, 5, 7])
    graph = solve(matrix, lo, hi).graph
    assert not graph.matrix[:, [1, 2]].any()
    read = {node for add in graph.adds for node in (add.a, add.b)} | {out.node for out in graph.outputs}
    assert not read & {1, 2}


@pytest.mark.parametrize("da4ml", [True, False])
def test_a_large_matrix_is_solved_in_blocks(da4ml: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SOLVER, "BLOCK_TERMS", 60)
    monkeypatch.setattr(SOLVER, "_has_da4ml", lambda: da4ml)
    matrix = np.random.default_rng(1).integers(-100, 100, (12, 9))
    solution = solve(matrix, np.zeros(9, np.int64), np.full(9, 15))
    assert solution.method == ("da4ml" if da4ml else "own") + ", 7 blocks"
    assert np.array_equal(solution.graph.matrix, matrix)


def test_a_matrix_beyond_the_solvers_time_gets_a_plain_graph() -> None:
    matrix = np.random.default_rng(1).integers(-100, 100, (12, 9))
    solution = solve(matrix, np.zeros(9, np.int64), np.full(9, 15), 1e-9)
    assert solution.method == "plain: its shared graph would take about 0 s, more than solver_seconds = 1e-09"
    assert np.array_equal(solution.graph.matrix, matrix)


def test_weights_beyond_float32_go_to_our_solver() -> None:
    matrix = np.array([[(1 << 25) + 1, 3]])
    solution = solve(matrix, np.zeros(2, np.int64), np.full(2, 15))
    assert solution.method == "own"
    assert np.array_equal(solution.graph.matrix, matrix)


@pytest.mark.parametrize("per_stage", [1, 2, 3, 5])
def test_no_stage_has_more_additions_than_asked(per_stage: int, rng: np.random.Generator) -> None:
    matrix = rng.integers(-100, 100, (10, 12))
    encoding = encode(plain_graph(matrix), np.zeros(12, np.int64), np.full(12, 255))
    depth = encoding.graph.depth + 1
    found = pipeline(encoding, [True] * 10, 8, per_stage)
    ends = [0, *found.cuts, depth]
    assert all(0 < b - a <= per_stage for a, b in pairwise(ends))
    assert found.stages == -(-depth // per_stage)


def test_the_cuts_are_those_with_the_fewest_registers(rng: np.random.Generator) -> None:
    matrix = rng.integers(-100, 100, (6, 12))
    encoding = encode(plain_graph(matrix), np.zeros(12, np.int64), np.full(12, 255))
    found = pipeline(encoding, [True] * 6, 8, 4)
    depth = encoding.graph.depth + 1
    assert found.stages == 2
    others = [type(found)(encoding, found.finish, 8, (cut,)) for cut in range(depth - 4, 5)]
    assert len(others) > 1
    assert found.register_bits == min(other.register_bits for other in others)
    assert len({other.register_bits for other in others}) > 1


def test_thousands_of_inputs_without_an_addition_take_no_square_of_them() -> None:
    count = 100_000  # a matrix of their rows would be 80 GB
    encoding = encode(AdderGraph(count, (), ()), np.full(count, -8), np.full(count, 7))
    assert len(encoding.wires) == count
    assert (encoding.wires[-1].offset, encoding.wires[-1].hi, encoding.flip[-1]) == (-8, 15, True)
