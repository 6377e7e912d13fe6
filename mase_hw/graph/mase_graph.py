"""MaseGraph: a torch model as a graph whose nodes carry MASE's metadata."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from torch import fx, nn

from mase_hw.graph.metadata import MaseMetadata, get_mase_op, get_node_module
from mase_hw.graph.opcodes import is_inplace_relu
from mase_hw.graph.tracer import trace


class MaseGraph:
    """The graph of a model. The model's own structure is never changed; its parameters are shared with the graph's.

    `cf_args` are values for arguments of `forward` that steer its control flow; `custom_ops` are module classes that
    stay whole instead of being traced through.
    """

    def __init__(
        self,
        model: nn.Module,
        cf_args: dict[str, Any] | None = None,
        custom_ops: Iterable[type[nn.Module]] = (),
    ) -> None:
        if isinstance(model, fx.GraphModule):
            graph = copy.deepcopy(model.graph)
            for node in graph.nodes:
                node.meta.pop("mase", None)  # it speaks of the other graph
        else:
            graph = trace(model, cf_args, custom_ops)
        self.model = fx.GraphModule(model, graph)
        _order_inplace_readers(self.model)

    @property
    def fx_graph(self) -> fx.Graph:
        return self.model.graph

    @fx_graph.setter
    def fx_graph(self, graph: fx.Graph) -> None:
        self.model.graph = graph

    @property
    def modules(self) -> dict[str, nn.Module]:
        return dict(self.model.named_modules())

    @property
    def nodes(self) -> list[fx.Node]:
        return list(self.fx_graph.nodes)

    def _repr_html_(self) -> str:
        """For notebooks: the nodes as a table."""
        from mase_hw.notebook import graph_html

        return graph_html(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> MaseGraph:
        """Modules, parameters and metadata are all copied; nothing is shared with the original."""
        new = object.__new__(MaseGraph)
        new.model = copy.deepcopy(self.model, memo)
        for old_node, node in zip(self.fx_graph.nodes, new.fx_graph.nodes, strict=True):
            old = old_node.meta.get("mase")
            if isinstance(old, MaseMetadata):
                node.meta["mase"] = MaseMetadata(node, new.model)
                node.meta["mase"].parameters = copy.deepcopy(old.parameters, memo)
        return new


def deepcopy_mase_graph(graph: MaseGraph) -> MaseGraph:
    """A graph that shares nothing with `graph`."""
    return copy.deepcopy(graph)


def _order_inplace_readers(model: fx.GraphModule) -> None:
    """After an in-place relu, whoever reads its input reads its result: the graph then says what torch computes.

    Otherwise `x.relu_()` as a statement would look like a node that nobody reads.
    """
    position = {node: k for k, node in enumerate(model.graph.nodes)}
    changed = False
    for node in model.graph.nodes:
        if get_mase_op(node) != "relu" or not is_inplace_relu(node, get_node_module(node)):
            continue
        source = node.all_input_nodes[0]
        for reader in list(source.users):
            if position[reader] > position[node]:
                reader.replace_input_with(source, node)
                changed = True
    if changed:
        model.recompile()
