"""From torch.fx to MaseGraph: nodes, their MASE types and ops, their metadata, their line in the user's model."""

from mase_hw.graph.mase_graph import MaseGraph, deepcopy_mase_graph
from mase_hw.graph.metadata import (
    MaseMetadata,
    get_mase_op,
    get_mase_type,
    get_mase_type_and_op,
    get_node_actual_target,
    get_node_module,
    get_node_place,
    get_parent_name,
)

__all__ = [
    "MaseGraph",
    "MaseMetadata",
    "deepcopy_mase_graph",
    "get_mase_op",
    "get_mase_type",
    "get_mase_type_and_op",
    "get_node_actual_target",
    "get_node_module",
    "get_node_place",
    "get_parent_name",
]
