"""Convolutions and pools of an ONNX file: their windows, as torch's modules take them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mase_hw.frontends.onnx_graph import OnnxNode
from mase_hw.frontends.onnx_names import layer_candidates, node_candidates
from mase_hw.frontends.onnx_state import Walk, constant_of
from mase_hw.frontends.onnx_steps import Conv, Flatten, Pad, Pool
from mase_hw.geometry import Frame, Geometry, Pads

_SAME = ("SAME_UPPER", "SAME_LOWER")


def conv(state: Walk, node: OnnxNode) -> None:
    if node.inputs[0] in state.constants:
        state.finder.node(node, "convolves a constant with the input", "write it as input x constant")
        return
    weight = constant_of(state, node, 1, "weight")
    bias = constant_of(state, node, 2, "bias") if len(node.inputs) > 2 and node.inputs[2] else None
    if weight is None or state.finder.found.problems or not is_frame(state, node):
        return
    groups, channels = state.finder.number(node, "group", 1), state.shape[0]
    outs, ins, *kernel = weight.values.shape
    if len(kernel) != len(state.shape) - 1 or groups < 1 or ins * groups != channels or outs % groups:
        told = ", ".join(map(str, state.shape))
        text = f"a weight of shape {weight.values.shape} in {groups:g} groups does not fit [batch, {told}]"
        state.finder.node(node, text)
        return
    windows = _windows(state, node, tuple(kernel))
    if windows is None:
        return
    if bias is not None and bias.values.size != outs:
        state.finder.node(node, f"adds a bias of shape {bias.values.shape} to {outs} channels", "add one for each")
        return
    names = [*weight.names, *(bias.names if bias else ())]
    name = state.names.take(layer_candidates(node.name, node.scope, names), "conv")
    if any(before != after for before, after in windows.padding):
        _pad(state, f"{name}_pad", windows.padding)
        windows = replace(windows, frame=_padded(windows), padding=((0, 0),) * len(kernel))
    added = None if bias is None else replace(bias, values=bias.values.reshape(-1))
    state.add(Conv(name, node, weight, added, windows, int(groups)))
    _made(state, (outs, *windows.out_frame))


def max_pool(state: Walk, node: OnnxNode) -> None:
    if len(node.outputs) > 1 and node.outputs[1]:
        state.finder.node(node, "its indices are an output", "export it without them")
        return
    _pool(state, node, "max_pool")


def average_pool(state: Walk, node: OnnxNode) -> None:
    _pool(state, node, "avg_pool")


def _pool(state: Walk, node: OnnxNode, kind: str) -> None:
    if not is_frame(state, node):
        return
    kernel = tuple(int(size) for size in np.atleast_1d(node.attributes.get("kernel_shape", ())))
    ceil = bool(state.finder.number(node, "ceil_mode", 0))
    counted = bool(state.finder.number(node, "count_include_pad", 0))
    if len(kernel) != len(state.shape) - 1:
        state.finder.node(node, f"a kernel of {len(kernel)} dimensions does not fit [batch, {_told(state)}]")
        return
    windows = _windows(state, node, kernel, ceil=ceil)
    if windows is None:
        return
    name = state.names.take(node_candidates(node.name, node.scope), kind)
    one_sided = any(before != after for before, after in windows.padding)
    if one_sided and kind == "avg_pool" and counted and not ceil:
        _pad(state, f"{name}_pad", windows.padding)
        windows = replace(windows, frame=_padded(windows), padding=((0, 0),) * len(kernel))
    elif one_sided or any(2 * before > taps for (before, _), taps in zip(windows.padding, kernel, strict=True)):
        text = f"pads {windows.padding}, and a pool pads both sides alike, by half its kernel at most"
        state.finder.node(node, text, "pad before it, or choose other pads")
        return
    if kind == "avg_pool" and set(windows.dilation) != {1}:
        state.finder.node(node, "an average over positions that lie apart is not supported", "use dilations of 1")
        return
    rank = len(kernel)
    step = Pool(name, node, f"{kind}{rank}d", windows, ceil, counted)
    state.add(step)
    _made(state, (state.shape[0], *step.out_frame))


def global_pool(state: Walk, node: OnnxNode) -> None:
    """GlobalAveragePool, GlobalMaxPool."""
    if is_frame(state, node):
        _whole(state, node, "avg_pool" if node.op == "GlobalAveragePool" else "max_pool", keep=True)


def reduce(state: Walk, node: OnnxNode) -> None:
    """ReduceMean, ReduceMax over all positions."""
    if not is_frame(state, node):
        return
    given: Any = node.attributes.get("axes")
    if len(node.inputs) > 1 and node.inputs[1]:
        told = constant_of(state, node, 1, "axes")
        given = None if told is None else told.values
    rank = len(state.shape) + 1
    axes = [] if given is None else sorted(int(axis) % rank for axis in np.atleast_1d(given))
    if axes != list(range(2, rank)):
        text = f"reduces the axes {axes or 'all'} of [batch, {_told(state)}]"
        state.finder.node(node, text, "only all positions of an image together can be")
        return
    keep = bool(state.finder.number(node, "keepdims", 1))
    _whole(state, node, "avg_pool" if node.op == "ReduceMean" else "max_pool", keep=keep)


def _whole(state: Walk, node: OnnxNode, kind: str, *, keep: bool) -> None:
    frame = tuple(state.shape[1:])
    name = state.names.take(node_candidates(node.name, node.scope), kind)
    state.add(Pool(name, node, f"{kind}{len(frame)}d", Geometry.of(frame, frame), False, True))
    _made(state, (state.shape[0], *[1] * len(frame)))
    if not keep:
        flatten(state, state.names.take([f"{name}_flatten"], "flatten"))


def flatten(state: Walk, name: str) -> None:
    """To [batch, features]; a second step of one node."""
    made = state.makes
    if state.source == made:  # the tensor has a step already: that one makes another, which has no name in the file
        state.rename(f"{made} before {name}")
    state.add(Flatten(name))
    state.shape = (len(state.order),)


def pad(state: Walk, node: OnnxNode) -> None:
    """Zeros around a frame."""
    if not is_frame(state, node):
        return
    mode = node.attributes.get("mode", "constant")
    given: Any = node.attributes.get("pads")
    if len(node.inputs) > 1 and node.inputs[1]:
        told = constant_of(state, node, 1, "pads")
        given = None if told is None else told.values
    value = node.attributes.get("value", 0.0)
    if len(node.inputs) > 2 and node.inputs[2]:
        constant = constant_of(state, node, 2, "value")
        value = 0.0 if constant is None else float(constant.values.reshape(-1)[0])
    sides, rank = [int(side) for side in np.atleast_1d(given if given is not None else [])], len(state.shape) + 1
    if mode != "constant" or value != 0:
        what = f"mode = {mode!r}" if mode != "constant" else f"the value {value:g}"
        state.finder.node(node, f"pads with {what}", "zeros are the only padding")
        return
    ends = list(zip(sides[:rank], sides[rank:], strict=False))
    if len(sides) != 2 * rank or any(ends[k] != (0, 0) for k in (0, 1)) or min(sides) < 0:
        state.finder.node(node, f"pads {sides}", "only positions of an image can be padded, none taken away")
        return
    name = state.names.take(node_candidates(node.name, node.scope), "pad")
    state.add(Pad(name, tuple(ends[2:])))
    _made(state, (state.shape[0], *(size + sum(pads) for size, pads in zip(state.shape[1:], ends[2:], strict=True))))


def _pad(state: Walk, name: str, padding: Pads) -> None:
    """A padding in front of the present node, which has none in the file."""
    step = Pad(state.names.take([name], "pad"), padding)
    makes = state.makes
    state.makes = f"{makes} padded"
    state.add(step)
    shape = (state.shape[0], *(size + sum(pads) for size, pads in zip(state.shape[1:], padding, strict=True)))
    _made(state, shape)
    state.leave()
    state.makes = makes


def _made(state: Walk, shape: tuple[int, ...]) -> None:
    state.shape, state.order, state.biasless = shape, np.arange(int(np.prod(shape))), False


def is_frame(state: Walk, node: OnnxNode) -> bool:
    """Whether the present tensor is [batch, channels, *positions], in that order; a problem where it is not."""
    if len(state.shape) not in (2, 3):
        text = f"reads [batch, {_told(state)}], not [batch, channels, positions] or [batch, channels, rows, columns]"
        state.finder.node(node, text)
        return False
    if (state.order != np.arange(len(state.order))).any():
        text = "reads an image whose axes a Transpose has moved, which would need a buffer"
        state.finder.node(node, text, "export it without the Transpose: as [batch, channels, rows, columns]")
        return False
    return True


def _told(state: Walk) -> str:
    return ", ".join(map(str, state.shape))


def _windows(state: Walk, node: OnnxNode, kernel: Frame, *, ceil: bool = False) -> Geometry | None:
    """The node's windows on the present frame, or a problem."""
    rank, frame = len(kernel), tuple(state.shape[1:])

    def sizes(key: str, usual: int, count: int) -> list[int]:
        given = node.attributes.get(key)
        return [usual] * count if given is None else [int(size) for size in np.atleast_1d(given)]

    strides, dilations, pads = sizes("strides", 1, rank), sizes("dilations", 1, rank), sizes("pads", 0, 2 * rank)
    stated = node.attributes.get("kernel_shape")
    wrong = stated is not None and tuple(int(size) for size in np.atleast_1d(stated)) != kernel
    if wrong or (len(strides), len(dilations), len(pads)) != (rank, rank, 2 * rank) or min(*strides, *dilations) < 1:
        state.finder.node(node, "its kernel_shape, strides, dilations and pads do not fit one another")
        return None
    if min(pads) < 0:
        state.finder.node(node, f"pads {pads}", "a pad is not negative")
        return None
    padding = tuple((pads[k], pads[k + rank]) for k in range(rank))
    auto = str(node.attributes.get("auto_pad", "NOTSET"))
    if auto in _SAME:
        padding = tuple(
            _same(size, taps, stride, dilation, auto)
            for size, taps, stride, dilation in zip(frame, kernel, strides, dilations, strict=True)
        )
    elif auto == "VALID":
        padding = ((0, 0),) * rank
    geometry = Geometry.of(frame, kernel, strides, padding, dilations)
    if min(geometry.out_frame) < 1 and not (ceil and min(geometry.out_frame) == 0):
        reach = " x ".join(map(str, geometry.reach))
        text = f"its kernel reaches over {reach} positions, and its padded input has"
        state.finder.node(node, f"{text} {' x '.join(map(str, _padded(geometry)))}")
        return None
    return geometry


def _same(size: int, taps: int, stride: int, dilation: int, auto: str) -> tuple[int, int]:
    """ONNX's rule: as many outputs as strides begin in the frame."""
    outs = -(-size // stride)
    whole = max((outs - 1) * stride + dilation * (taps - 1) + 1 - size, 0)
    less, more = whole // 2, whole - whole // 2
    return (less, more) if auto == "SAME_UPPER" else (more, less)


def _padded(windows: Geometry) -> Frame:
    return tuple(size + sum(pads) for size, pads in zip(windows.frame, windows.padding, strict=True))
