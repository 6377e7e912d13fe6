"""MaseGraph: a torch model as a graph whose nodes carry MASE's metadata."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Any

from torch import fx, nn

from mase_hw.graph.inplace import settle_inplace
from mase_hw.graph.metadata import MaseMetadata
from mase_hw.graph.table import graph_html
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
        settle_inplace(self.model)

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
        return graph_html(self.nodes)

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
