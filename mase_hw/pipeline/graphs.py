"""From a torch module to its quantized graph: traced, with metadata, batch norms folded, quantized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.graph import MaseGraph, get_node_place
from mase_hw.models import Shape, Shapes, as_shapes
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    add_software_metadata_analysis_pass,
    fuse_batch_norm_transform_pass,
    init_metadata_analysis_pass,
    quantize_transform_pass,
    remove_identity_transform_pass,
)


def traced(model: nn.Module, shape: Shape | Shapes, *, fuse_batch_norm: bool = False) -> MaseGraph:
    """The model's graph before it is quantized: its nodes have the names that the design's will have."""
    model.eval()
    graph = MaseGraph(model)
    graph, _ = remove_identity_transform_pass(graph)
    graph = with_metadata(graph, shape)
    if fuse_batch_norm:
        graph, _ = fuse_batch_norm_transform_pass(graph)
        graph = with_metadata(graph, shape)
    return graph


def quantized_graph(
    model: nn.Module, shape: Shape | Shapes, quantize: Mapping[str, Any], *, fuse_batch_norm: bool = False
) -> MaseGraph:
    """The model's graph, quantized, as far as software goes. `quantize` has the shape of [passes.quantize]."""
    return quantize_transform_pass(traced(model, shape, fuse_batch_norm=fuse_batch_norm), quantize)[0]


def with_metadata(graph: MaseGraph, shape: Shape | Shapes) -> MaseGraph:
    """The graph with common and software metadata, for samples of `shape`; several inputs have a tuple of shapes."""
    graph, _ = init_metadata_analysis_pass(graph)
    device = next((parameter.device for parameter in graph.model.parameters()), None)
    slots = [node for node in graph.fx_graph.nodes if node.op == "placeholder"]
    shapes = as_shapes(shape)
    if len(shapes) < len(slots):
        slots = [node for node in slots if not node.args]  # an argument with a default value keeps it
    if len(shapes) != len(slots):
        names = ", ".join(node.name for node in slots) or "none"
        told = f"{len(shapes)} shape{'s are' if len(shapes) > 1 else ' is'} known"
        hint = f"give the class input_shape = ({', '.join(['(16,)'] * len(slots))}), with the sizes of its inputs"
        place = get_node_place(slots[-1]) if slots else None
        raise ProblemsError(Problem(f"the model takes {len(slots)} inputs ({names}), and {told}", place, hint))
    dummy = {str(node.target): torch.zeros(2, *one, device=device) for node, one in zip(slots, shapes, strict=True)}
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": dummy, "add_value": False})
    graph, _ = add_software_metadata_analysis_pass(graph)
    return graph
