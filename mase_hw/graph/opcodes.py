"""MASE types and ops: one table from module classes, functions and methods to the op they stand for.

`module_related_func` has a counterpart in `torch.nn.functional`, `module` has none, `builtin_func` is one of torch's
(or Python's) own functions; `placeholder`, `get_attr` and `output` are those of torch.fx.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import fx, nn

MODULE_RELATED_FUNC = "module_related_func"
MODULE = "module"
BUILTIN_FUNC = "builtin_func"

_TYPES: dict[str, tuple[str, ...]] = {
    MODULE_RELATED_FUNC: (
        *("linear", "relu", "dropout", "conv1d", "conv2d", "max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"),
        *("softmax", "log_softmax", "sigmoid", "tanh", "gelu", "hardtanh", "leaky_relu"),
    ),
    MODULE: ("batch_norm", "batch_norm1d", "batch_norm2d", "identity", "sequential"),
    BUILTIN_FUNC: (
        *("flatten", "view", "reshape", "squeeze", "unsqueeze", "transpose", "permute", "cat", "size", "to"),
        *("add", "sub", "mul", "matmul", "bmm", "mean", "getitem", "getattr"),
    ),
}
TYPE_OF_OP: dict[str, str] = {op: mase_type for mase_type, ops in _TYPES.items() for op in ops}

MODULE_OPS: dict[type[nn.Module], str] = {
    nn.Linear: "linear",
    nn.ReLU: "relu",
    nn.Dropout: "dropout",
    nn.BatchNorm1d: "batch_norm1d",
    nn.BatchNorm2d: "batch_norm2d",
    nn.Identity: "identity",
    nn.Flatten: "flatten",
    nn.Sequential: "sequential",
    nn.Conv1d: "conv1d",
    nn.Conv2d: "conv2d",
    nn.MaxPool2d: "max_pool2d",
    nn.AvgPool2d: "avg_pool2d",
    nn.AdaptiveAvgPool2d: "adaptive_avg_pool2d",
    nn.Softmax: "softmax",
    nn.LogSoftmax: "log_softmax",
    nn.LeakyReLU: "leaky_relu",
}

FUNCTION_OPS: dict[Callable[..., Any], str] = {
    F.linear: "linear",
    F.relu: "relu",
    F.relu_: "relu",
    torch.relu: "relu",
    torch.relu_: "relu",
    F.dropout: "dropout",
    torch.dropout: "dropout",
    F.batch_norm: "batch_norm",  # torch has one function for every rank; the input's shape decides: see `op_for_rank`
    torch.flatten: "flatten",
    torch.reshape: "reshape",
    F.conv1d: "conv1d",
    F.conv2d: "conv2d",
    F.max_pool2d: "max_pool2d",
    F.avg_pool2d: "avg_pool2d",
    F.adaptive_avg_pool2d: "adaptive_avg_pool2d",
    operator.add: "add",
    operator.iadd: "add",
    torch.add: "add",
    operator.sub: "sub",
    operator.isub: "sub",
    torch.sub: "sub",
    torch.subtract: "sub",
    operator.mul: "mul",
    operator.imul: "mul",
    torch.mul: "mul",
    torch.multiply: "mul",
    operator.matmul: "matmul",
    torch.matmul: "matmul",
    torch.cat: "cat",
    torch.concat: "cat",
    torch.concatenate: "cat",
}

METHOD_OPS: dict[str, str] = {
    "contiguous": "identity",
    **{f"__{kind}{op}__": op for op in ("add", "sub", "mul") for kind in ("", "r", "i")},
    "subtract": "sub",
    "subtract_": "sub",
    "multiply": "mul",
    "multiply_": "mul",
}
INPLACE_OPERATORS: dict[Callable[..., Any], Callable[..., Any]] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
}

# What functional forms call their arguments, in order. Others take tensors only, as far as this project is concerned.
SIGNATURES: dict[str, tuple[str, ...]] = {
    "linear": ("input", "weight", "bias"),
    "conv1d": ("input", "weight", "bias"),
    "conv2d": ("input", "weight", "bias"),
    "relu": ("input", "inplace"),
    "dropout": ("input", "p", "training", "inplace"),
    "batch_norm": ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"),
}

_FUNCTIONAL_NAMES = frozenset(name.replace("_", "") for name in dir(F) if not name.startswith("_"))


def op_of_module(module: nn.Module) -> tuple[str, str]:
    """(mase_type, mase_op) of a module. A subclass keeps its parent's op as long as it keeps its meaning."""
    kind = type(module)
    own = getattr(kind, "mase_op", None)  # of a quantized class that stands for a function
    if own is not None and is_quantized_class(kind):
        return TYPE_OF_OP[own], own
    for base in kind.__mro__:
        if base in MODULE_OPS and (base.forward is kind.forward or is_quantized_class(kind)):
            return TYPE_OF_OP[MODULE_OPS[base]], MODULE_OPS[base]
    name = kind.__name__.lower()
    return (MODULE_RELATED_FUNC if name in _FUNCTIONAL_NAMES else MODULE), name


def op_of_function(function: Callable[..., Any]) -> tuple[str, str]:
    op = FUNCTION_OPS.get(function) or getattr(function, "mase_op", None)
    if op is not None:
        return TYPE_OF_OP[op], op
    name = str(getattr(function, "__name__", type(function).__name__)).lower()
    if name in TYPE_OF_OP:
        return TYPE_OF_OP[name], name
    return (MODULE_RELATED_FUNC if getattr(F, name, None) is function else BUILTIN_FUNC), name


def op_of_method(name: str) -> tuple[str, str]:
    # x.relu_() is x.relu(), in place
    op = METHOD_OPS.get(name) or (name if name.startswith("__") else name.rstrip("_")).lower()
    return TYPE_OF_OP.get(op, BUILTIN_FUNC), op


def op_for_rank(op: str, rank: int) -> str:
    """`batch_norm` named by the rank of its input, as the modules are: 2 (or 3) is batch_norm1d, 4 is batch_norm2d."""
    return {2: "batch_norm1d", 3: "batch_norm1d", 4: "batch_norm2d"}.get(rank, op) if op == "batch_norm" else op


def is_quantized_class(kind: type[nn.Module]) -> bool:
    """Whether the class is one of `mase_hw.modules` (they say so themselves: this package is below theirs)."""
    return bool(getattr(kind, "mase_quantized", False))


def arguments(node: fx.Node, op: str) -> dict[str, Any]:
    """The arguments of a functional form by name; where torch's names are not known here: `0`, `1`, ..."""
    names = SIGNATURES.get("batch_norm" if op.startswith("batch_norm") else op, ())
    given = {names[k] if k < len(names) else str(k): value for k, value in enumerate(node.args)}
    return {**given, **node.kwargs}


def is_inplace(node: fx.Node, op: str, module: nn.Module | None) -> bool:
    """Whether a relu, an add, a sub or a mul overwrites its (first) input."""
    if op not in ("relu", "add", "sub", "mul"):
        return False
    if module is not None:
        return bool(getattr(module, "inplace", False))
    if isinstance(node.target, str):
        return node.target.startswith("__i") if node.target.endswith("__") else node.target.endswith("_")
    if op != "relu":
        return node.target in INPLACE_OPERATORS
    return node.target in (F.relu_, torch.relu_) or bool(arguments(node, "relu").get("inplace", False))
