"""The tensors around a node: the parameters it uses, the activations it reads, and whether it makes a tensor at all."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from torch import Tensor, fx

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_node_place
from mase_hw.graph.joins import operands, sources
from mase_hw.graph.opcodes import arguments, known
from mase_hw.passes.analysis.init_metadata import metadata_of


def parameters_of(node: fx.Node) -> dict[str, Tensor]:
    """The float parameters (and, for `F.batch_norm`, running statistics) by MASE's argument names."""
    module = get_node_module(node)
    if module is not None:
        tensors = (*module.named_parameters(recurse=False), *module.named_buffers(recurse=False))
        wanted = ("weight", "bias", "running_mean", "running_var")
        return {name: tensor for name, tensor in tensors if name in wanted}
    found: dict[str, Tensor] = {}
    if get_mase_op(node) == "mul":
        constant = operands(node, "mul").constant
        return {"weight": attribute_of(constant)} if isinstance(constant, fx.Node) else {}
    for name, value in _named(node).items():
        if name != "input" and isinstance(value, fx.Node) and value.op == "get_attr":
            tensor = attribute_of(value)
            if tensor.is_floating_point():
                found[name] = tensor
    return found


def attribute_of(node: fx.Node) -> Tensor:
    """The parameter or the buffer that a get_attr node names."""
    assert node.op == "get_attr", node.op
    tensor = attrgetter(str(node.target))(node.graph.owning_module)
    assert isinstance(tensor, Tensor)
    return tensor


def activations_of(node: fx.Node) -> dict[str, fx.Node]:
    """The nodes whose results are the node's `data_in_0`, `data_in_1`, ..."""
    named = _named(node)
    if named:
        source = named.get("input")
        return {"data_in_0": source} if isinstance(source, fx.Node) else {}
    return {f"data_in_{k}": source for k, source in enumerate(sources(node, get_mase_op(node)))}


def _named(node: fx.Node) -> dict[str, Any]:
    """The arguments of a functional form whose names are known; of everything else none."""
    op = get_mase_op(node)
    named = op in known().signatures or op.startswith("batch_norm")
    return arguments(node, op) if named and node.op in ("call_function", "call_method") else {}


def asks_shape(node: fx.Node) -> bool:
    """`x.shape`, `x.size(0)` and what is picked out of them: numbers, not tensors."""
    op = get_mase_op(node)
    if op == "getitem":
        return isinstance(node.args[0], fx.Node) and asks_shape(node.args[0])
    return op == "size" or (op == "getattr" and node.args[1] == "shape")


def common_of(node: fx.Node, graph: MaseGraph, asker: str) -> dict[str, Any]:
    """The node's common metadata; a Problem when nobody has written it yet."""
    common = metadata_of(node, graph).common
    if "args" not in common:
        text = f"{asker}: the shapes of {node.name} are not known"
        raise ProblemsError(Problem(text, get_node_place(node), "run add_common_metadata_analysis_pass first"))
    return common


def stat_of(node: fx.Node, graph: MaseGraph, side: str, name: str) -> dict[str, Any]:
    """The place of the statistics of one argument (`side` args) or result (`side` results)."""
    entries = metadata_of(node, graph).software.setdefault(side, {})
    stat = entries.setdefault(name, {"stat": {}}).setdefault("stat", {})
    assert isinstance(stat, dict)
    return stat
