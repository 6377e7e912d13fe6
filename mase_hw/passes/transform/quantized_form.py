"""The quantized module for a node, whether the node calls a module, a function or a method."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from torch import Tensor, fx, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.graph import get_node_module
from mase_hw.graph.opcodes import arguments
from mase_hw.modules import BatchNorm1dInteger, LinearInteger, QuantizedMixin, ReLUInteger, Statistics

_PERMANENT = "torch.nn.utils.parametrize.remove_parametrizations or torch.nn.utils.prune.remove"


def has_bias(node: fx.Node) -> bool:
    """Whether a linear node adds a bias."""
    module = get_node_module(node)
    return (arguments(node, "linear").get("bias") if module is None else module.bias) is not None


def quantized_form(node: fx.Node, op: str, spec: QuantSpec) -> QuantizedMixin:
    """A new quantized module on the very parameters that the node uses."""
    module = get_node_module(node)
    if module is not None:
        _check_plain(node, module)
        if isinstance(module, nn.Linear):
            return LinearInteger.from_float(module, spec, node.name)
        if isinstance(module, nn.BatchNorm1d):
            return BatchNorm1dInteger.from_float(module, spec, node.name)
        assert isinstance(module, nn.ReLU)
        return ReLUInteger.from_float(module, spec, node.name)
    if op == "relu":
        return ReLUInteger(spec=spec, label=node.name)
    given = arguments(node, op)
    tensors = {name: _tensor(node, name, given.get(name)) for name in ("weight", "bias", "running_mean", "running_var")}
    if op == "linear":
        assert tensors["weight"] is not None
        return LinearInteger.from_tensors(tensors["weight"], tensors["bias"], spec, node.name)
    mean, var = tensors["running_mean"], tensors["running_var"]
    if given.get("training", False) or mean is None or var is None:
        what = f"{node.name}: F.batch_norm takes the statistics of each batch, which has no quantized form"
        hint = "give it running_mean, running_var and training=self.training, and call model.eval() before MaseGraph"
        raise ProblemsError(Problem(what, hint=hint))
    eps, momentum = given.get("eps", 1e-5), given.get("momentum", 0.1)
    known = Statistics(mean, var, tensors["weight"], tensors["bias"], eps, momentum)
    return BatchNorm1dInteger.from_tensors(known, spec, node.name).eval()


def _tensor(node: fx.Node, name: str, value: Any) -> Tensor | None:
    """The model's own tensor behind an argument."""
    if value is None:
        return None
    if not isinstance(value, fx.Node) or value.op != "get_attr":
        what = f"{node.name}: its {name} is computed, and only a parameter or a buffer can be quantized"
        raise ProblemsError(Problem(what, hint=f"pass {name} as it is stored in the model (self.{name})"))
    tensor = attrgetter(str(value.target))(node.graph.owning_module)
    assert isinstance(tensor, Tensor)
    return tensor


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
