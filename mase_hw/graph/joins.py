"""What add, sub, mul and cat work on: results of other nodes, a constant, and options that change their meaning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import fx

JOINS = ("add", "sub", "cat")  # read several results
BRANCH_OPS = (*JOINS, "mul")

Constant = fx.Node | int | float  # a get_attr node: a parameter or a buffer


@dataclass(frozen=True)
class Operands:
    """`streams` are the results that the node reads, in the order of its arguments, repeated where it repeats them."""

    streams: tuple[fx.Node, ...]
    constant: Constant | None = None  # of an add, a sub or a mul
    dim: int = 0  # of a cat
    variant: str | None = None  # an option with which torch computes something else, such as `alpha=2`


def operands(node: fx.Node, op: str) -> Operands:
    """The operands of a node whose op is one of `BRANCH_OPS`."""
    assert op in BRANCH_OPS, op
    if node.op == "call_module":  # a quantized module has its constant and its dimension itself
        module = node.graph.owning_module
        dim = getattr(module.get_submodule(str(node.target)), "dim", 0) if module is not None else 0
        return Operands(_nodes(node.args), dim=int(dim))
    given = dict(zip(("tensors", "dim") if op == "cat" else ("input", "other"), node.args, strict=False))
    given |= {str(k): value for k, value in enumerate(node.args) if k > 1}
    given |= node.kwargs
    return _cat(given) if op == "cat" else _binary(node, given)


def _cat(given: dict[str, Any]) -> Operands:
    parts = given.pop("tensors", None)
    dim = given.pop("dim", given.pop("axis", 0))
    variant = _variant(given)
    if not isinstance(parts, tuple | list) or not all(isinstance(part, fx.Node) for part in parts):
        return Operands((), variant="parts that are computed")
    if not isinstance(dim, int):
        return Operands(tuple(parts), variant="a dim that is computed")
    return Operands(tuple(parts), dim=dim, variant=variant)


def _binary(node: fx.Node, given: dict[str, Any]) -> Operands:
    pair = [given.pop("input", None), given.pop("other", None)]
    if node.target == "__rsub__":
        pair.reverse()
    if given.get("alpha") == 1:
        del given["alpha"]
    streams = tuple(value for value in pair if isinstance(value, fx.Node) and value.op != "get_attr")
    constants = [value for value in pair if value not in streams]
    variant = _variant(given)
    if any(not isinstance(value, Constant) or isinstance(value, bool) for value in constants):
        variant = variant or "an operand that is no number and no tensor"
    return Operands(streams, constants[0] if constants and variant is None else None, variant=variant)


def _variant(given: dict[str, Any]) -> str | None:
    left = [f"{key}={value}" for key, value in given.items() if value is not None]
    return ", ".join(left) or None


def _nodes(args: Any) -> tuple[fx.Node, ...]:
    return tuple(value for value in args if isinstance(value, fx.Node))


def sources(node: fx.Node, op: str) -> list[fx.Node]:
    """The nodes whose results are `data_in_0`, `data_in_1`, ...: in order, repeated where the node repeats them."""
    if op == "mul" and node.op != "call_module":
        streams = list(operands(node, op).streams)
        return streams or list(node.all_input_nodes)
    if op in JOINS or node.op == "output":
        found: list[fx.Node] = []
        fx.map_arg((node.args, node.kwargs), found.append)
        return found
    return list(node.all_input_nodes)


def why_not_plain(node: fx.Node, op: str) -> tuple[str, str] | None:
    """Why the node is not the op that this project knows, as a verb phrase, and a hint; None: it is.

    Plain are the sum and the difference of two results of one shape, the product of a result and a constant, and the
    concatenation of at least two results.
    """
    found = operands(node, op)
    if found.variant is not None:
        hint = "write alpha as a multiplication of its own" if "alpha" in found.variant else "call it without"
        return f"uses {found.variant}", hint
    if not found.streams:
        hint = "compute the constant once, in __init__, and store it as a buffer"
        return "works on constants of the model, not on its input", hint
    if op == "mul":
        hint = "only a multiplication by a number, a parameter or a buffer is supported"
        return ("multiplies two results", hint) if len(found.streams) > 1 else None
    if len(found.streams) == 1:
        if op == "cat":
            return "joins one result alone", "delete the call"
        verb = "adds" if op == "add" else "subtracts"
        return f"{verb} a constant", "give the constant to the linear layer before it as a bias"
    shapes = [_shape(stream) for stream in found.streams]
    if op != "cat" and None not in shapes and shapes[0] != shapes[1]:
        return f"joins results of shapes {shapes[0]} and {shapes[1]}", "there is no broadcasting: give both one shape"
    return None


def _shape(node: fx.Node) -> list[int] | None:
    """The shape in the metadata; None where it is not known."""
    metadata = node.meta.get("mase")
    common: dict[str, Any] = metadata.common if metadata is not None else {}
    entry = common.get("results", {}).get("data_out_0")
    return None if entry is None else list(entry["shape"])
