"""torch.fx tracing that remembers which line of the user's model made each node."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from torch import fx, nn
from torch.fx.proxy import TraceError

from mase_hw.config.table import nearest
from mase_hw.diagnostics import PLACE_KEY, Problem, ProblemsError
from mase_hw.graph.opcodes import is_quantized_class, known, op_of_module
from mase_hw.graph.places import USER_ERRORS, place_of_error, place_of_forward, place_of_frame
from mase_hw.graph.proxy import InplaceProxy


class Tracer(fx.Tracer):
    """Modules of torch.nn, quantized modules and the given classes stay whole; everything else is traced through."""

    def __init__(self, whole: Iterable[type[nn.Module]] = ()) -> None:
        super().__init__()
        self._whole = tuple(whole)

    def is_leaf_module(self, m: nn.Module, module_qualified_name: str) -> bool:
        if isinstance(m, self._whole) or is_quantized_class(type(m)):
            return True
        if isinstance(m, (nn.Sequential, nn.ModuleList)):
            return False
        # A subclass of a layer that adds no forward of its own is still that layer.
        is_layer = op_of_module(m)[1] in known().modules.values() and not isinstance(m, fx.GraphModule)
        return is_layer or super().is_leaf_module(m, module_qualified_name)

    def proxy(self, node: fx.Node) -> fx.Proxy:
        return InplaceProxy(node, self)

    def create_node(self, *args: Any, **kwargs: Any) -> fx.Node:
        node = super().create_node(*args, **kwargs)
        place = place_of_frame(sys._getframe(1), outermost=__file__)
        node.meta[PLACE_KEY] = place or place_of_forward(self.root)
        return node


def trace(model: nn.Module, concrete_args: dict[str, Any] | None, whole: Iterable[type[nn.Module]]) -> fx.Graph:
    """The model's graph; a model that cannot be traced is a Problem at the user's line."""
    try:
        return Tracer(whole).trace(model, concrete_args)
    except USER_ERRORS as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0].partition(". ")[0]
        hint = "torch.fx runs forward() once, without values: only layers and tensor operations can be followed"
        if isinstance(error, TraceError):
            hint = "the graph must not depend on values: no `if`, loop or conversion on a tensor"
        elif isinstance(error, AttributeError) and isinstance(error.obj, nn.Module):
            own = [*error.obj._modules, *error.obj._parameters, *error.obj._buffers]
            hint = nearest(str(error.name), own, "it has") if own else "give it one in __init__"
        where = place_of_error(error.__traceback__) or place_of_forward(model)
        problem = Problem(f"{type(model).__name__}: forward cannot be traced: {said}", where, hint)
        raise ProblemsError(problem) from error
