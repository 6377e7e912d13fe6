"""MASE types and ops: from module classes, functions and methods to the op they stand for, as the operators declare.

`module_related_func` has a counterpart in `torch.nn.functional`, `module` has none, `builtin_func` is one of torch's
(or Python's) own functions; `placeholder`, `get_attr` and `output` are those of torch.fx.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pkgutil import resolve_name
from typing import Any

import torch
import torch.nn.functional as F
from torch import fx, nn

from mase_hw.graph.joins import BRANCH_OPS
from mase_hw.ops.operator import Operator, operators

MODULE_RELATED_FUNC = "module_related_func"
MODULE = "module"
BUILTIN_FUNC = "builtin_func"

# What is known beside the operators: ops of models that never become hardware, or that become none.
_TYPES: dict[str, tuple[str, ...]] = {
    MODULE_RELATED_FUNC: (*("dropout", "softmax", "log_softmax", "sigmoid", "tanh", "gelu", "hardtanh", "leaky_relu"),),
    MODULE: ("batch_norm", "identity", "sequential"),
    BUILTIN_FUNC: (
        *("flatten", "unflatten", "view", "reshape", "squeeze", "unsqueeze", "transpose", "permute", "size", "to"),
        *("matmul", "bmm", "getitem", "getattr"),
    ),
}
_MODULES: dict[type[nn.Module], str] = {
    nn.Dropout: "dropout",
    nn.Identity: "identity",
    nn.Flatten: "flatten",
    nn.Unflatten: "unflatten",
    nn.Sequential: "sequential",
    nn.Softmax: "softmax",
    nn.LogSoftmax: "log_softmax",
    nn.LeakyReLU: "leaky_relu",
}
_FUNCTIONS: dict[Callable[..., Any], str] = {
    F.dropout: "dropout",
    torch.dropout: "dropout",
    F.batch_norm: "batch_norm",  # torch has one function for every rank; the input's shape decides: see `op_for_rank`
    torch.flatten: "flatten",
    torch.reshape: "reshape",
    torch.permute: "permute",
    torch.transpose: "transpose",
    torch.squeeze: "squeeze",
    torch.unsqueeze: "unsqueeze",
    operator.matmul: "matmul",
    torch.matmul: "matmul",
}
_METHODS: dict[str, str] = {"contiguous": "identity"}
_SIGNATURES: dict[str, tuple[str, ...]] = {
    "dropout": ("input", "p", "training", "inplace"),
    "batch_norm": ("input", "running_mean", "running_var", "weight", "bias", "training", "momentum", "eps"),
}
INPLACE_OPERATORS: dict[Callable[..., Any], Callable[..., Any]] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
}


@dataclass(frozen=True)
class Known:
    """What means which op, and what functional forms call their arguments, in order.

    Ops without a signature take tensors only, as far as this project is concerned.
    """

    types: dict[str, str]  # of each op: the MASE type
    modules: dict[type[nn.Module], str]
    functions: dict[Callable[..., Any], str]
    methods: dict[str, str]
    signatures: dict[str, tuple[str, ...]]


def known() -> Known:
    """The tables: those above, and what every registered operator declares."""
    return _known(tuple(operators().values()))


@cache
def _known(declared: tuple[Operator, ...]) -> Known:
    return Known(
        {op: kind for kind, ops in _TYPES.items() for op in ops} | {each.name: each.mase_type for each in declared},
        _MODULES | {resolve_name(path): each.name for each in declared for path in each.modules},
        _FUNCTIONS | {resolve_name(path): each.name for each in declared for path in each.functions},
        _METHODS | {name: each.name for each in declared for name in each.methods},
        _SIGNATURES | {each.name: each.signature for each in declared if each.name not in BRANCH_OPS},
    )


_FUNCTIONAL_NAMES = frozenset(name.replace("_", "") for name in dir(F) if not name.startswith("_"))


def op_of_module(module: nn.Module) -> tuple[str, str]:
    """(mase_type, mase_op) of a module. A subclass keeps its parent's op as long as it keeps its meaning."""
    kind, tables = type(module), known()
    own = getattr(kind, "mase_op", None)  # of a quantized class that stands for a function
    if own is not None and is_quantized_class(kind):
        return tables.types[own], own
    for base in kind.__mro__:
        if base in tables.modules and (base.forward is kind.forward or is_quantized_class(kind)):
            op = tables.modules[base]
            return tables.types[op], op
    name = kind.__name__.lower()
    return (MODULE_RELATED_FUNC if name in _FUNCTIONAL_NAMES else MODULE), name


def op_of_function(function: Callable[..., Any]) -> tuple[str, str]:
    types = known().types
    op = known().functions.get(function) or getattr(function, "mase_op", None)
    if op is not None:
        return types[op], op
    name = str(getattr(function, "__name__", type(function).__name__)).lower()
    if name in types:
        return types[name], name
    return (MODULE_RELATED_FUNC if getattr(F, name, None) is function else BUILTIN_FUNC), name


def op_of_method(name: str) -> tuple[str, str]:
    # x.relu_() is x.relu(), in place
    plain = name if name.startswith("__") else name.rstrip("_")
    op = known().methods.get(plain) or plain.lower()
    return known().types.get(op, BUILTIN_FUNC), op


def op_for_rank(op: str, rank: int) -> str:
    """`batch_norm` named by the rank of its input, as the modules are: 2 (or 3) is batch_norm1d, 4 is batch_norm2d."""
    return {2: "batch_norm1d", 3: "batch_norm1d", 4: "batch_norm2d"}.get(rank, op) if op == "batch_norm" else op


def is_quantized_class(kind: type[nn.Module]) -> bool:
    """Whether the class is one of `mase_hw.modules` (they say so themselves: this package is below theirs)."""
    return bool(getattr(kind, "mase_quantized", False))


def arguments(node: fx.Node, op: str) -> dict[str, Any]:
    """The arguments of a functional form by name; where torch's names are not known here: `0`, `1`, ..."""
    names = known().signatures.get("batch_norm" if op.startswith("batch_norm") else op, ())
    given = {names[k] if k < len(names) else str(k): value for k, value in enumerate(node.args)}
    return {**given, **node.kwargs}


def is_inplace(node: fx.Node, op: str, module: nn.Module | None) -> bool:
    """Whether an operator overwrites its (first) input: torch's names for that end with `_`, or begin with `__i`."""
    if op not in operators():
        return False
    if module is not None:
        return bool(getattr(module, "inplace", False))
    if node.target in INPLACE_OPERATORS or bool(arguments(node, op).get("inplace", False)):
        return True
    name = node.target if isinstance(node.target, str) else str(getattr(node.target, "__name__", ""))
    return name.startswith("__i") if name.endswith("__") else name.endswith("_")
