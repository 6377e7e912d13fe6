"""The windows of a node: of a module, or of a function with its arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from types import SimpleNamespace
from typing import Any

from torch import Tensor, fx, nn
from torch.nn.modules.conv import _ConvNd

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.geometry import Frame
from mase_hw.graph import MaseMetadata, get_node_module
from mase_hw.graph.opcodes import arguments
from mase_hw.modules.pool import Amax, Mean
from mase_hw.modules.resize import ZeroPad
from mase_hw.modules.windows import (
    adaptive_options,
    avg_pool_options,
    conv_options,
    max_pool_options,
    pad_options,
    shown,
    sizes_of,
    whole_options,
)
from mase_hw.ops.window_options import WindowOptions

CONVS = ("conv1d", "conv2d")
AVERAGES = ("avg_pool1d", "avg_pool2d", "adaptive_avg_pool1d", "adaptive_avg_pool2d", "mean")
MAXIMA = ("max_pool1d", "max_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "amax")
WINDOWED = (*CONVS, *AVERAGES, *MAXIMA, "zero_pad")
ON_FRAMES = (*WINDOWED, "upsample", "batch_norm2d")
_RANKED = ("1d", "2d")

# The module that a function stands for, from the function's arguments without the input.
_MODULES: dict[str, Callable[..., nn.Module]] = {
    "max_pool1d": nn.MaxPool1d,
    "max_pool2d": nn.MaxPool2d,
    "avg_pool1d": nn.AvgPool1d,
    "avg_pool2d": nn.AvgPool2d,
    "adaptive_avg_pool1d": nn.AdaptiveAvgPool1d,
    "adaptive_avg_pool2d": nn.AdaptiveAvgPool2d,
    "adaptive_max_pool1d": nn.AdaptiveMaxPool1d,
    "adaptive_max_pool2d": nn.AdaptiveMaxPool2d,
    "mean": Mean,
    "amax": Amax,
    "zero_pad": lambda pad, mode="constant", value=None: ZeroPad(pad, mode, value),
    "upsample": lambda size=None, scale_factor=None, mode="nearest", **_: nn.Upsample(size, scale_factor, mode),
}


def float_form(node: fx.Node, op: str) -> nn.Module:
    """The module of a pool, a padding or an upsampling; of a function, one made from its arguments."""
    module = get_node_module(node)
    if module is not None:
        return module
    given = {name: value_of(node, name, value) for name, value in arguments(node, op).items() if name != "input"}
    given.pop("dtype", None)
    try:
        return _MODULES[op](**given)
    except TypeError:
        text = f"{node.name}: its arguments {', '.join(given)} are not those of {op} here"
        raise ProblemsError(Problem(text, hint="use the module of torch.nn instead")) from None


def value_of(node: fx.Node, name: str, value: Any) -> Any:
    """A number that a function is given: as it is written, or as it was computed from shapes."""
    if isinstance(value, Sequence) and not isinstance(value, str):
        return tuple(value_of(node, name, each) for each in value)
    if not isinstance(value, fx.Node):
        return value
    metadata = value.meta.get("mase")
    known = metadata.common.get("results", {}) if isinstance(metadata, MaseMetadata) else {}
    found = [entry.get("value") for entry in known.values()]
    if not found or any(isinstance(each, Tensor) or each is None for each in found):
        text = f"{node.name}: its {name} is computed, and its value is not known"
        raise ProblemsError(Problem(text, hint=f"write {name} as a number"))
    return found[0] if len(found) == 1 else tuple(found)


def options_of(node: fx.Node, op: str, frame: Frame) -> WindowOptions:
    """The windows of a node on a frame; what has none of the kind that is supported is a Problem."""
    rank, label = len(frame), node.name
    if op in CONVS:
        return conv_options(_convolution(node, op))
    module: Any = float_form(node, op)
    if getattr(module, "return_indices", False):
        raise ProblemsError(Problem(f"{label}: a pool that returns indices", hint="call it without return_indices"))
    if op in ("max_pool1d", "max_pool2d"):
        return max_pool_options(module, rank)
    if op in ("avg_pool1d", "avg_pool2d"):
        return avg_pool_options(module, rank)
    if op == "zero_pad":
        return pad_options(label, module, rank)
    if op in ("mean", "amax"):
        return whole_options(label, module.dim, 2 + rank, frame)
    return adaptive_options(label, module.output_size, frame)


def _convolution(node: fx.Node, op: str) -> Any:
    """The module; of a function, what it says of its windows."""
    module = get_node_module(node)
    if module is not None:
        assert isinstance(module, _ConvNd)
        if module.padding_mode != "zeros":
            text = f"{node.name}: padding_mode = {module.padding_mode!r} is not supported in hardware"
            raise ProblemsError(Problem(text, hint="pad with zeros: padding_mode='zeros'"))
        return module
    given = conv_arguments(node, op)
    kernel = node.meta["mase"].common["args"]["weight"]["shape"][2:]
    return SimpleNamespace(kernel_size=tuple(kernel), **given)


def conv_arguments(node: fx.Node, op: str) -> dict[str, Any]:
    """Stride, padding, dilation and groups of a functional convolution, one number for each dimension."""
    given, rank = arguments(node, op), int(op[-2])
    found: dict[str, Any] = {}
    for name, usual in (("stride", 1), ("padding", 0), ("dilation", 1)):
        value = value_of(node, name, given.get(name, usual))
        found[name] = value if isinstance(value, str) else sizes_of(value, rank)
    return {**found, "groups": value_of(node, "groups", given.get("groups", 1))}


def groups_of(node: fx.Node, op: str) -> int:
    module = get_node_module(node)
    return int(conv_arguments(node, op)["groups"] if module is None else module.groups)  # type: ignore[arg-type]


def rank_of(op: str) -> int | None:
    """How many dimensions a frame must have; None: 1 or 2."""
    return int(op[-2]) if op.endswith(_RANKED) and op != "batch_norm1d" else None


def why_unfit(node: fx.Node, op: str, shape: Sequence[int]) -> tuple[str, str] | None:
    """Why torch refuses an input of this shape, in words of our own, and a hint; None: for another reason."""
    rank = rank_of(op)
    if op not in ON_FRAMES or rank is None:
        return None
    sample = "channels, rows, columns" if rank == 2 else "channels, positions"
    if len(shape) != rank + 2:
        text = f"takes [batch, {sample}], not a tensor of shape {list(shape)}"
        return text, f"give the model samples of shape ({sample}): its input_shape, or the data set's"
    module = get_node_module(node)
    if op in CONVS and module is not None and module.in_channels != shape[1]:
        hint = "check it against the layer before it, or against the data set where it is the first layer"
        return f"takes {module.in_channels} channels, not a tensor of shape {list(shape)}", hint
    if op not in WINDOWED:
        return None
    try:
        geometry = options_of(node, op, tuple(shape[2:])).geometry(tuple(shape[2:]))
    except (ProblemsError, KeyError, ValueError):
        return None
    padded = [size + sum(pads) for size, pads in zip(geometry.frame, geometry.padding, strict=True)]
    if min(geometry.out_frame) < 1 or not prod(padded):
        text = f"its kernel reaches over {shown(geometry.reach)} positions, and its padded input has {shown(padded)}"
        return text, "give it a smaller kernel or more padding, or take away a stride or a pool before it"
    return None
