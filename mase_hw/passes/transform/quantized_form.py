"""The quantized module for a node, whether the node calls a module, a function or a method."""

from __future__ import annotations

from math import prod
from typing import Any

from torch import Tensor, fx, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.graph import get_node_module
from mase_hw.graph.joins import BRANCH_OPS, operands, why_not_plain
from mase_hw.graph.opcodes import arguments
from mase_hw.modules import CatInteger, MulInteger, QuantizedMixin, Statistics, quantized_modules
from mase_hw.passes.analysis.operations import MATRIX, NORMS
from mase_hw.passes.analysis.tensors import attribute_of
from mase_hw.passes.analysis.windows import CONVS, ON_FRAMES, WINDOWED, conv_arguments, float_form, options_of

_PERMANENT = "torch.nn.utils.parametrize.remove_parametrizations or torch.nn.utils.prune.remove"


def has_bias(node: fx.Node, op: str) -> bool:
    """Whether a node adds a bias: a linear layer or a convolution may have none."""
    if op not in MATRIX:
        return True
    module = get_node_module(node)
    return (arguments(node, op).get("bias") if module is None else module.bias) is not None


def why_no_form(node: fx.Node, op: str) -> str | None:
    """Why a node has no quantized form, to be read after its name; None: it has one."""
    if op not in quantized_modules():
        return "cannot be quantized"
    reason = why_not_plain(node, op) if op in BRANCH_OPS else None
    return None if reason is None else f"cannot be quantized: {node.name} {reason[0]}"


def quantized_form(node: fx.Node, op: str, spec: QuantSpec) -> QuantizedMixin:
    """A new quantized module on the very parameters that the node uses."""
    form, module = quantized_modules()[op], get_node_module(node)
    _check_windows(node, op)
    if module is not None:
        _check_plain(node, module)
        return form.from_float(module, spec, node.name)
    if op == "cat":
        return CatInteger(operands(node, op).dim, spec=spec, label=node.name)
    if op == "mul":
        return _product(node, spec)
    if op in ON_FRAMES and op not in (*CONVS, *NORMS):
        return form.from_float(float_form(node, op).eval(), spec, node.name)
    if op not in (*MATRIX, *NORMS):
        return form(spec=spec, label=node.name)
    given = arguments(node, op)
    tensors = {name: _tensor(node, name, given.get(name)) for name in ("weight", "bias", "running_mean", "running_var")}
    build: Any = form  # those of layers with parameters have another constructor
    if op in MATRIX:
        options = (conv_arguments(node, op),) if op in CONVS else ()
        made: QuantizedMixin = build.from_tensors(tensors["weight"], tensors["bias"], *options, spec, node.name)
        return made
    mean, var = tensors["running_mean"], tensors["running_var"]
    if given.get("training", False) or mean is None or var is None:
        what = f"{node.name}: F.batch_norm takes the statistics of each batch, which has no quantized form"
        hint = "give it running_mean, running_var and training=self.training, and call model.eval() before MaseGraph"
        raise ProblemsError(Problem(what, hint=hint))
    eps, momentum = given.get("eps", 1e-5), given.get("momentum", 0.1)
    known = Statistics(mean, var, tensors["weight"], tensors["bias"], eps, momentum)
    norm: QuantizedMixin = build.from_tensors(known, spec, node.name)
    return norm.eval()


def _check_windows(node: fx.Node, op: str) -> None:
    """A pool or a padding that streams cannot have is a Problem, as far as shapes are known."""
    common = node.meta["mase"].common if "mase" in node.meta else {}
    shape = common.get("args", {}).get("data_in_0", {}).get("shape", [])
    if op in WINDOWED and shape:
        options_of(node, op, tuple(shape[2:]))


def _product(node: fx.Node, spec: QuantSpec) -> MulInteger:
    constant = operands(node, "mul").constant
    assert constant is not None
    value = attribute_of(constant) if isinstance(constant, fx.Node) else constant
    common = node.meta["mase"].common if "mase" in node.meta else {}
    shape = common.get("results", {}).get("data_out_0", {}).get("shape")
    return MulInteger(value, spec=spec, features=None if shape is None else prod(shape[1:]), label=node.name)


def _tensor(node: fx.Node, name: str, value: Any) -> Tensor | None:
    """The model's own tensor behind an argument."""
    if value is None:
        return None
    if not isinstance(value, fx.Node) or value.op != "get_attr":
        what = f"{node.name}: its {name} is computed, and only a parameter or a buffer can be quantized"
        raise ProblemsError(Problem(what, hint=f"pass {name} as it is stored in the model (self.{name})"))
    return attribute_of(value)


def _check_plain(node: fx.Node, module: nn.Module) -> None:
    """Parametrizations, pruning and hooks would be lost: the quantized module reads the parameters directly."""
    for name in ("weight", "bias"):
        value = getattr(module, name, None)
        if isinstance(value, Tensor) and not isinstance(value, nn.Parameter):
            what = f"{node.name}: its {name} is computed by a parametrization or a pruning hook"
            raise ProblemsError(Problem(what, hint=f"make it permanent first: {_PERMANENT}"))
    if module._forward_hooks or module._forward_pre_hooks:
        what = f"{node.name}: forward hooks are registered on this {type(module).__name__}, and would be lost"
        raise ProblemsError(Problem(what, hint="remove the hooks before quantizing"))
