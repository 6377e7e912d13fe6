"""What an unrolled layer takes: a pipelined graph of additions, and the requantize of each output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from mase_hw.adders import Pipeline
from mase_hw.cost.cost import Cost


def unrolled_cost(pipeline: Pipeline, ends: Sequence[Cost]) -> Cost:
    """`ends` is what each output's requantize takes, its register included.

    An addition takes a LUT where both operands have bits. Above, its carry chain goes on, and the longer operand drives
    it without a LUT cell.
    """
    encoding = pipeline.encoding
    chains = sum(-(-encoding.carried(k) // 4) for k in range(len(encoding.graph.adds)))
    kept = [pipeline.stages - pipeline.out_stage(j) for j in range(len(ends))]  # stages that hold a finished output
    registers = pipeline.register_bits + pipeline.stages
    registers -= sum(stages * (pipeline.out_width - end.ff) for stages, end in zip(kept, ends, strict=True))
    graph = Cost(sites=encoding.sites, lut=encoding.luts, ff=registers, carry=chains, depth=_levels(pipeline, ends))
    return sum((replace(end, ff=0) for end in ends), graph)


def _levels(pipeline: Pipeline, ends: Sequence[Cost]) -> int:
    """The longest run in a stage: two levels for each addition, a LUT and the carry chain, and what finishes it."""
    graph = pipeline.encoding.graph
    levels = [0] * graph.inputs
    for k, add in enumerate(graph.adds):
        stage = pipeline.node_stage(graph.inputs + k)
        before = max(levels[n] if pipeline.node_stage(n) == stage else 0 for n in (add.a, add.b))
        levels.append(before + 2 * (pipeline.encoding.overlap(k) > 0))
    deepest = max(levels)
    for j, (out, end) in enumerate(zip(graph.outputs, ends, strict=True)):
        if out.node is not None:
            here = pipeline.node_stage(out.node) == pipeline.out_stage(j)
            deepest = max(deepest, (levels[out.node] if here else 0) + end.depth)
    return deepest
