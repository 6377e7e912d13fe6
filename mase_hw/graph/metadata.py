"""What is known about a node: `node.meta["mase"]`, in MASE's shape, and the questions everything asks of a node."""

from __future__ import annotations

from typing import Any

from torch import fx, nn

from mase_hw.diagnostics import PLACE_KEY, Place
from mase_hw.graph.opcodes import op_of_function, op_of_method, op_of_module


class MaseMetadata:
    """A node's parameters: `common` (types and shapes), `software` (statistics), `hardware` (what is built)."""

    def __init__(self, node: fx.Node, model: fx.GraphModule) -> None:
        self.node = node
        self.model = model
        self.parameters: dict[str, dict[str, Any]] = {"common": {}, "software": {}, "hardware": {}}

    @property
    def common(self) -> dict[str, Any]:
        return self.parameters["common"]

    @property
    def software(self) -> dict[str, Any]:
        return self.parameters["software"]

    @property
    def hardware(self) -> dict[str, Any]:
        return self.parameters["hardware"]

    def __getitem__(self, key: str) -> dict[str, Any]:
        return self.parameters[key]

    @property
    def module(self) -> nn.Module | None:
        """The module that the node calls."""
        return self.model.get_submodule(str(self.node.target)) if self.node.op == "call_module" else None

    @property
    def place(self) -> Place | None:
        """The line of the user's model that made the node."""
        return get_node_place(self.node)

    def __repr__(self) -> str:
        return f"MaseMetadata({self.node.name}, {self.parameters!r})"


def get_node_place(node: fx.Node) -> Place | None:
    place = node.meta.get(PLACE_KEY)
    assert place is None or isinstance(place, Place)
    return place


def get_node_module(node: fx.Node) -> nn.Module | None:
    """The module that a call_module node calls, else None."""
    if node.op != "call_module":
        return None
    model = node.graph.owning_module
    assert model is not None, f"{node.name} belongs to no GraphModule"
    return model.get_submodule(str(node.target))


def get_node_actual_target(node: fx.Node) -> Any:
    """The module or function a node calls; for a method, an attribute, an input or the output, its name."""
    module = get_node_module(node)
    return node.target if module is None else module


def get_mase_type_and_op(node: fx.Node) -> tuple[str, str]:
    """(mase_type, mase_op) read off the node itself."""
    module = get_node_module(node)
    if module is not None:
        return op_of_module(module)
    if node.op == "call_function":
        assert callable(node.target)
        return op_of_function(node.target)
    if node.op == "call_method":
        return op_of_method(str(node.target))
    return node.op, node.op


def _known(node: fx.Node, key: str) -> str | None:
    metadata = node.meta.get("mase")
    return metadata.common.get(key) if isinstance(metadata, MaseMetadata) else None


def get_mase_op(node: fx.Node) -> str:
    """What the node does: `linear`, `relu`, `batch_norm1d`, ...; `F.batch_norm` has its rank once shapes are known."""
    return _known(node, "mase_op") or get_mase_type_and_op(node)[1]


def get_mase_type(node: fx.Node) -> str:
    """`module_related_func`, `module`, `builtin_func`, `placeholder`, `get_attr` or `output`."""
    return _known(node, "mase_type") or get_mase_type_and_op(node)[0]


def get_parent_name(target: str) -> tuple[str, str]:
    """The name of the module that holds `target`, and `target`'s name in it: `a.b.2` gives (`a.b`, `2`)."""
    parent, _, name = target.rpartition(".")
    return parent, name
