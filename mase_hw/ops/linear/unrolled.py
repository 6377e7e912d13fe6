"""linear, unrolled: the weights are wires in a shared shift-and-add graph, pipelined; a vector every cycle."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mase_hw.adders import ADDERS_PER_STAGE, SOLVER_SECONDS, AdderGraph, Pipeline, encode, pipeline, solve
from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx.requantize import requantize_cost
from mase_hw.cost.xilinx.unrolled import unrolled_cost
from mase_hw.ir.component import Instance, Pipe
from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.affine import Alignment, matrix_bounds
from mase_hw.ops.linear.adder_text import inputs_text, stages_text, unused_bits
from mase_hw.ops.linear.matrix import Matrix


@dataclass(frozen=True, eq=False)
class LinearUnrolled(Matrix, Pipe):
    """`matrix @ x + bias`, all inputs in one beat, all outputs in one beat. A batch norm has a diagonal matrix."""

    kind = "linear_unrolled"
    adds: Integers  # the adder graph of the matrix, as arrays
    outs: Integers
    adders_per_stage: int
    solver: str  # how the graph was found

    @cached_property
    def constants(self) -> list[int]:
        """What is added to each output's unsigned number: the graph's offsets, inputs that never change, the bias."""
        lo, hi = self.input.bounds
        fixed = self.matrix @ np.where(lo == hi, lo, 0)
        encoding = encode(self.graph, lo, hi)
        offsets = [encoding.output(j)[0] for j in range(self.output.features)]
        pairs = zip(offsets, fixed.tolist(), self.bias.tolist(), strict=True)
        return [((offset + still) << self.product_shift) + bias for offset, still, bias in pairs]

    @cached_property
    def graph(self) -> AdderGraph:
        return AdderGraph.from_arrays(self.input.features, self.adds, self.outs)

    @cached_property
    def pipeline(self) -> Pipeline:
        """The stages: an output has one more addition where it has a constant or is rounded."""
        encoding = encode(self.graph, *self.input.bounds)
        parameters = [self.lane_parameters(j) for j in range(self.output.features)]
        finish = [bool(p["Offset"]) or bool(p["HalfEven"]) or self.finish.changes for p in parameters]
        return pipeline(encoding, finish, self.output.fixed.width, self.adders_per_stage)

    def lane_parameters(self, j: int) -> dict[str, int]:
        """Parameters of output `j`'s requantize, from its own bounds."""
        return self.requantize_parameters(self.constants[j], j)

    @property
    def latency(self) -> int:
        return self.pipeline.stages

    def instance(self) -> Instance:
        stages = self.pipeline.stages
        values = {
            "inputs": inputs_text(self.pipeline.encoding, self.input),
            "outputs": [f"y{j}_q{stages}" for j in range(self.output.features - 1, -1, -1)],
            "stages": stages_text(self.pipeline, self.product_shift, self.lane_parameters, self.equation),
            "unused": unused_bits(self.pipeline.encoding, self.input),
            "step": self.finish,
            "adders": len(self.graph.adds),
            "depth": self.graph.depth,
            "solver": self.solver,
        }
        return Instance(template="linear_unrolled", values=values, needs=("mase_requantize",))

    def cost(self) -> Cost:
        return unrolled_cost(self.pipeline, [self._end(j) for j in range(self.output.features)])

    def _end(self, j: int) -> Cost:
        operand = self.pipeline.encoding.output(j)[1].bit_length() + self.product_shift
        return requantize_cost(self.lane_parameters(j), operand=operand, result=(self.output.lo[j], self.output.hi[j]))


def unrolled(
    name: str,
    x: Stream,
    matrix: Integers,
    bias: Integers,
    alignment: Alignment,
    result: Result | None,
    *,
    adders_per_stage: int = ADDERS_PER_STAGE,
    solver_seconds: float = SOLVER_SECONDS,
) -> LinearUnrolled:
    """`matrix @ x + bias` with the bias at the accumulator's binary point."""
    exact = matrix_bounds(x, matrix << alignment.product_shift, bias)
    out, step = result_stream(f"{name}_out", len(matrix), exact, alignment.frac, result, frame=x.frame)
    solution = solve(matrix, *x.bounds, solver_seconds)
    adds, outs = solution.graph.to_arrays()
    shift = alignment.product_shift
    return LinearUnrolled(
        name, (x,), (out,), matrix, bias, shift, adds, outs, adders_per_stage, solution.method, finish=step
    )
