"""count_bitops_analysis_pass: bit operations of a graph, for the batch it was analysed with.

With `n` computations (the table in `operations`) on inputs of `x` bits, weights of `w` and a bias of `b`:

| op | bit operations |
|---|---|
| linear, conv1d, conv2d | n * (x * w + max(b, x)); without a bias b = 0 |
| batch norm | n * x^2 |
| mul | n * x * (bits of the other operand) |
| everything else | n * x, where x is the widest operand |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mase_hw.graph import MaseGraph
from mase_hw.passes.analysis.operations import MATRIX, NORMS, computations
from mase_hw.passes.analysis.tensors import common_of


def count_bitops_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Each node's figure is `parameters["common"]["bitops"]`.

    `info`: `total_bitops`; `bitops` by node; `uncounted`, the nodes whose op has no formula here: they are in no sum.
    """
    bitops: dict[str, int] = {}
    uncounted: list[str] = []
    for node in graph.fx_graph.nodes:
        common = common_of(node, graph, "count_bitops_analysis_pass")
        count = computations(node, common)
        common.pop("bitops", None)
        if count is None:
            uncounted.append(node.name)
            continue
        bitops[node.name] = common["bitops"] = count * _bits(common) if count else 0
    return graph, {"total_bitops": sum(bitops.values()), "bitops": bitops, "uncounted": uncounted}


def _bits(common: Mapping[str, Any]) -> int:
    """Bit operations of one computation."""
    op, args = common["mase_op"], common["args"]
    precisions = {name: int(entry["precision"][0]) for name, entry in args.items() if entry["precision"]}
    x = precisions["data_in_0"]
    if op in MATRIX:
        return x * precisions["weight"] + max(precisions.get("bias", 0), x)
    if op in NORMS:
        return x * x
    if op == "mul":  # by a plain number: as wide as the tensor
        return x * precisions.get("data_in_1", precisions.get("weight", x))
    return max(bits for name, bits in precisions.items() if name.startswith("data_in_"))
