"""From a torch module to its quantized graph: traced, with metadata, batch norms folded, quantized."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from mase_hw.graph import MaseGraph
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    add_software_metadata_analysis_pass,
    fuse_batch_norm_transform_pass,
    init_metadata_analysis_pass,
    quantize_transform_pass,
    remove_identity_transform_pass,
)

Shape = tuple[int, ...]  # of one sample
Shapes = Shape | tuple[Shape, ...]  # of the one input, or of each


def each_shape(shapes: Shapes) -> tuple[Shape, ...]:
    """The shape of every input; a single shape stands for that of the only one."""
    if shapes and all(isinstance(shape, tuple | list) for shape in shapes):
        return tuple(tuple(shape) for shape in shapes)  # type: ignore[arg-type]
    return (tuple(shapes),)  # type: ignore[arg-type]


def traced(model: nn.Module, shapes: Shapes, *, fuse_batch_norm: bool = False) -> MaseGraph:
    """The model's graph before it is quantized: its nodes have the names that the design's will have."""
    model.eval()
    graph = MaseGraph(model)
    graph, _ = remove_identity_transform_pass(graph)
    graph = with_metadata(graph, shapes)
    if fuse_batch_norm:
        graph, _ = fuse_batch_norm_transform_pass(graph)
        graph = with_metadata(graph, shapes)
    return graph


def quantized_graph(
    model: nn.Module, shapes: Shapes, quantize: Mapping[str, Any], *, fuse_batch_norm: bool = False
) -> MaseGraph:
    """The model's graph, quantized, as far as software goes. `quantize` has the shape of [passes.quantize]."""
    return quantize_transform_pass(traced(model, shapes, fuse_batch_norm=fuse_batch_norm), quantize)[0]


def with_metadata(graph: MaseGraph, shapes: Shapes) -> MaseGraph:
    """The graph with common and software metadata, for samples of these shapes."""
    graph, _ = init_metadata_analysis_pass(graph)
    device = next((parameter.device for parameter in graph.model.parameters()), None)
    names = [str(node.target) for node in graph.fx_graph.nodes if node.op == "placeholder"]
    given = each_shape(shapes)
    if len(given) == 1:
        given *= len(names)
    dummy = {name: torch.zeros(2, *shape, device=device) for name, shape in zip(names, given, strict=True)}
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": dummy, "add_value": False})
    graph, _ = add_software_metadata_analysis_pass(graph)
    return graph
