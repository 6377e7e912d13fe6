"""OnnxNet: the layers of an ONNX file as a torch module, with the file's weights."""

from __future__ import annotations

import operator
from collections import OrderedDict
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, fx, nn

from mase_hw.diagnostics import PLACE_KEY, Collector, Place
from mase_hw.frontends.onnx_file import OnnxModel, read_onnx
from mase_hw.frontends.onnx_graph import OnnxNode, Reals
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_steps import Conv, Flatten, Join, Layer, Linear, Mul, Pad, Pool, Relu, Staircase
from mase_hw.modules.codes import FromCodes, ToCodes
from mase_hw.modules.thresholds import Thresholds


class OnnxNet(nn.Sequential):
    """One layer after the other, named as the file names them.

    A layer's weights are the numbers that its Quant gives, not those before it.
    """

    def __init__(self, model: OnnxModel) -> None:
        assert model.is_chain
        super().__init__(OrderedDict(_modules(model)))
        (self.input_shape,) = model.inputs.values()


def load_onnx(path: Path, where: Place | None = None) -> nn.Module:
    """The model in the file at `path`, with its weights."""
    model = read_onnx(path, where)
    return OnnxNet(model) if model.is_chain else branched(model)


def branched(model: OnnxModel) -> fx.GraphModule:
    """Layers that branch and join: a module whose graph has the file's names, for its sums and products too."""
    things: dict[str, nn.Module | Tensor] = {}
    for name, module in _modules(model):
        things[name] = module
    graph, place = fx.Graph(), Place(model.path)
    results = {
        key: graph.create_node("placeholder", name, name=name)
        for key, name in zip(model.inputs, model.input_names, strict=True)
    }
    names = {placed.step.name for placed in model.layers}
    for key, codes in (model.scaled.codes if model.scaled is not None else {}).items():
        _insert(graph, things, results, key, "codes", ToCodes(codes), names)
    with Collector() as problems:
        for placed in model.layers:
            step, read = placed.step, [results[name] for name in placed.inputs]
            if isinstance(step, Mul):
                constant = f"{step.name}_constant"
                while constant in things or constant in results:
                    constant += "_"
                things[constant] = _single(step.node, step.weight.values, "constant", problems, place)
                read.append(graph.create_node("get_attr", constant, name=constant))
            results[step.name] = _call(graph, placed, read)
    scaled = model.scaled
    for k, name in enumerate(model.outputs if scaled is not None else ()):
        assert scaled is not None
        _insert(graph, things, results, name, "real", FromCodes(scaled.values[k]), names)
    returned = [results[name] for name in model.outputs]
    graph.output(returned[0] if len(returned) == 1 else tuple(returned))
    for node in graph.nodes:
        node.meta[PLACE_KEY] = place
    net = fx.GraphModule(things, graph, "OnnxNet")
    shapes = tuple(model.inputs.values())
    stated = {"input_shape": shapes[0] if len(shapes) == 1 else shapes}
    vars(net).update(stated)
    net.meta["_user_preserved_attributes"] = stated  # torch gives them to copies
    return net


def _insert(
    graph: fx.Graph,
    things: dict[str, nn.Module | Tensor],
    results: dict[str, fx.Node],
    name: str,
    what: str,
    module: nn.Module,
    layers: Collection[str],
) -> None:
    """Puts a module behind a result; what reads the result reads the module's."""
    title = f"{results[name].name}_{what}"
    while title in layers or any(node.name == title for node in graph.nodes):
        title += "_"
    things[title] = module
    results[name] = graph.create_node("call_module", title, (results[name],), name=title)


def _call(graph: fx.Graph, placed: Placed, read: list[fx.Node]) -> fx.Node:
    step = placed.step
    if isinstance(step, Mul):
        node = graph.create_node("call_function", operator.mul, tuple(read), name=step.name)
    elif not isinstance(step, Join):
        node = graph.create_node("call_module", step.name, tuple(read), name=step.name)
    elif step.op == "cat":
        node = graph.create_node("call_function", torch.cat, (read, 1), name=step.name)
    else:
        function = operator.add if step.op == "add" else operator.sub
        node = graph.create_node("call_function", function, tuple(read), name=step.name)
    assert node.name == step.name, "torch.fx renamed a layer"
    return node


def _single(node: OnnxNode, values: Reals, what: str, problems: Collector, place: Place) -> Tensor:
    """Numbers in torch's own float type, if that has them."""
    wide = torch.from_numpy(values.copy())
    if not torch.equal(wide.float().double(), wide):
        problems.add(f"{node.label}: its {what} has numbers that float32 has not", place, "export it in float32")
    return wide.float()


def _modules(model: OnnxModel) -> list[tuple[str, nn.Module]]:
    """The layers that are modules, by name."""
    with Collector() as problems:
        return [
            (placed.step.name, _module(placed.step, problems, Place(model.path)))
            for placed in model.layers
            if not isinstance(placed.step, Join | Mul)
        ]


def _module(step: Layer, problems: Collector, place: Place) -> nn.Module:
    assert not isinstance(step, Join | Mul)
    if isinstance(step, Flatten):
        return nn.Flatten()
    if isinstance(step, Relu):
        return nn.ReLU()
    if isinstance(step, Pad):
        sides = tuple(side for pads in reversed(step.padding) for side in pads)
        return nn.ZeroPad1d(sides) if len(step.padding) == 1 else nn.ZeroPad2d(sides)  # type: ignore[arg-type]
    if isinstance(step, Pool):
        return _pool(step)
    if isinstance(step, Staircase):
        exact = int(np.abs(step.thresholds).max()) <= 1 << 24
        limits = torch.from_numpy(step.thresholds.astype(np.float32 if exact else np.float64))
        return Thresholds(limits, float(step.start), float(step.step))

    def single(values: Reals, what: str) -> Tensor:
        return _single(step.node, values, what, problems, place)

    if isinstance(step, Linear):
        outs, ins = step.weight.values.shape
        linear = nn.Linear(ins, outs, step.bias is not None, device="meta")
        linear.weight = nn.Parameter(single(step.weight.values, "weight"))
        if step.bias is not None:
            linear.bias = nn.Parameter(single(step.bias.values, "bias"))
        return linear
    if isinstance(step, Conv):
        return _convolution(step, single)
    norm = (nn.BatchNorm2d if step.rank == 2 else nn.BatchNorm1d)(len(step.gamma), eps=step.eps)
    norm.weight = nn.Parameter(single(step.gamma, "scale"))
    norm.bias = nn.Parameter(single(step.beta, "B"))
    norm.running_mean, norm.running_var = single(step.mean, "mean"), single(step.var, "variance")
    return norm


def _pool(step: Pool) -> nn.Module:
    w, rank = step.windows, len(step.windows.frame)
    sides = tuple(before for before, _ in w.padding)
    kind: Any
    if not step.averages:
        kind = (nn.MaxPool1d, nn.MaxPool2d)[rank - 1]
        made: nn.Module = kind(w.kernel, w.stride, sides, w.dilation, ceil_mode=step.ceil)
        return made
    kind = (nn.AvgPool1d, nn.AvgPool2d)[rank - 1]
    average: nn.Module = kind(w.kernel, w.stride, sides, step.ceil, step.count_include_pad)
    return average


def _convolution(step: Conv, single: Callable[[Reals, str], Tensor]) -> nn.Module:
    w = step.windows
    outs, ins = step.weight.values.shape[:2]
    sides = tuple(before for before, _ in w.padding)
    kind: Any = (nn.Conv1d, nn.Conv2d)[len(w.frame) - 1]
    has_bias = step.bias is not None
    made = kind(ins * step.groups, outs, w.kernel, w.stride, sides, w.dilation, step.groups, has_bias, device="meta")
    made.weight = nn.Parameter(single(step.weight.values, "weight"))
    if step.bias is not None:
        made.bias = nn.Parameter(single(step.bias.values, "bias"))
    assert isinstance(made, nn.Module)
    return made
