"""Where a float layer reads a quantized layer's float64 result, a cast back to the model's own float type."""

from __future__ import annotations

import torch
from torch import fx

from mase_hw.diagnostics import PLACE_KEY
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_node_place
from mase_hw.modules import QuantizedMixin
from mase_hw.modules.unquantized import EXACT_FUNCTIONS
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.analysis.windows import AVERAGES, MAXIMA

# These take any float type and hand it on. All others get the model's own type: a layer with float32 parameters would
# refuse float64.
_ANY_TYPE = frozenset(
    (
        *("relu", "identity", "dropout", "flatten", "view", "reshape", "squeeze", "unsqueeze", "transpose", "permute"),
        *("add", "sub", "mul", "cat", "size", "getitem", "getattr", "unflatten", "upsample", "zero_pad", "output"),
        *AVERAGES,
        *MAXIMA,
        *("thresholds", "tocodes", "fromcodes"),
        *("softmax", "log_softmax", "sigmoid", "tanh", "gelu", "leaky_relu"),
    )
)


def insert_casts(graph: MaseGraph) -> list[str]:
    """Inserts the casts, one for each result that needs it, and names them. The graph's output is never cast."""
    own = next((p.dtype for p in graph.model.parameters() if p.is_floating_point()), torch.float32)
    other: dict[fx.Node, torch.dtype] = {}  # nodes whose result is not of the model's own type
    casts: dict[fx.Node, fx.Node] = {}
    for node in list(graph.fx_graph.nodes):
        module, op = get_node_module(node), get_mase_op(node)
        if isinstance(module, QuantizedMixin):
            if module.result_dtype != own:
                other[node] = module.result_dtype
            continue
        if node.target in EXACT_FUNCTIONS.values() and own != torch.float64:
            other[node] = torch.float64
            continue
        sources = [source for source in node.all_input_nodes if source in other]
        if not sources or op == "to":
            continue
        if op in _ANY_TYPE:
            other[node] = max((other[source] for source in sources), key=lambda dtype: dtype.itemsize)
            continue
        for source in sources:
            if source not in casts:
                casts[source] = _cast(graph, source, own)
            node.replace_input_with(source, casts[source])
    return [cast.name for cast in casts.values()]


def _cast(graph: MaseGraph, source: fx.Node, dtype: torch.dtype) -> fx.Node:
    with graph.fx_graph.inserting_after(source):
        cast = graph.fx_graph.create_node("call_method", "to", (source, dtype), name=f"{source.name}_cast")
    cast.meta[PLACE_KEY] = get_node_place(source)
    metadata = metadata_of(cast, graph)
    result = metadata_of(source, graph).common.get("results", {}).get("data_out_0")
    if result is not None:
        entries = {"args": {"data_in_0": dict(result)}, "results": {"data_out_0": dict(result)}}
        metadata.parameters["common"] = {"mase_type": "builtin_func", "mase_op": "to", **entries}
    return cast
