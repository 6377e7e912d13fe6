"""A file with scales, as layers of integers: which files that are, and the walk through one.

Every tensor is an integer stream and a chain of exact steps behind it. Matrices multiply integers; what stands between
two of them, up to a quantizer, becomes the thresholds of one staircase.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mase_hw.diagnostics import Collector
from mase_hw.frontends.onnx_arrange import input_key
from mase_hw.frontends.onnx_constants import Constants
from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, Array, Finder, OnnxGraph, OnnxNode
from mase_hw.frontends.onnx_names import Names
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_quant import MODES
from mase_hw.frontends.onnx_refusals import SUPPORTED as PLAIN
from mase_hw.frontends.onnx_refusals import refusal
from mase_hw.frontends.onnx_scaled_constants import ScaledConstants
from mase_hw.frontends.onnx_scaled_nodes import SUPPORTED, handler
from mase_hw.frontends.onnx_scaled_quant import QDQ, is_bipolar, is_quantizer, parse_quantizer
from mase_hw.frontends.onnx_scaled_state import Input, ScaledWalk
from mase_hw.frontends.onnx_staircase import Line, Raw, affine
from mase_hw.frontends.onnx_state import Known
from mase_hw.frontends.onnx_walk import needed, ordered, streams_of
from mase_hw.numerics import MAX_WIDTH
from mase_hw.numerics.codes import Affine, Codes

_ANY_RANK = 16
_PASSES = ("MaxPool", "GlobalMaxPool", "Relu", "Clip", "Identity", "Dropout", "Cast", "DequantizeLinear")


@dataclass(frozen=True)
class Scaled:
    """The layers; how real numbers become the integers of each input, and what those of each output stand for."""

    layers: tuple[Placed, ...]
    outputs: tuple[str, ...]
    codes: Mapping[str, Codes]  # by input_key
    values: tuple[Affine, ...]


def has_scales(graph: OnnxGraph) -> bool:
    """Whether the file has quantizers that our types alone do not state: a scale that is no power of two, a zero
    point, numbers of -1 and 1, QuantizeLinear, a rounding of its own, or constants between Quants that are no bias."""
    quants = [node for node in graph.nodes if is_quantizer(node)]
    if any(is_bipolar(node) or node.op in QDQ or _unusual(node, graph) for node in quants):
        return True
    plain = [node for node in graph.nodes if node.domain in STANDARD_DOMAINS]
    products = {node.outputs[0] for node in plain if node.op == "MatMul"}
    return bool(quants) and any(_shifts(node, graph, products) for node in plain)


def _shifts(node: OnnxNode, graph: OnnxGraph, products: Collection[str]) -> bool:
    """A division, or a constant that is added or subtracted and is no bias."""
    if node.op == "Div":
        return True
    constant = any(name in graph.constants for name in node.inputs)
    return constant and (node.op == "Sub" or (node.op == "Add" and not any(name in products for name in node.inputs)))


def _unusual(node: OnnxNode, graph: OnnxGraph) -> bool:
    if len(node.inputs) != 4:
        return False
    scale, zero, bits = (graph.constants.get(name) for name in node.inputs[1:])
    if scale is None or zero is None or bits is None or not _numbers(scale, zero, bits):
        return False  # whatever is wrong with it is told elsewhere
    wide = np.asarray(scale, np.float64)
    good = bool((np.isfinite(wide) & (wide > 0)).all())
    powers = bool((np.frexp(wide)[0] == 0.5).all())
    on_stream = node.inputs[0] not in graph.constants
    mode = str(node.attributes.get("rounding_mode", "ROUND")).upper()
    bipolar = node.attributes.get("signed") == 1 and bits.size == 1 and float(bits.flat[0]) == 1
    return good and (not powers or bool(np.any(zero != 0)) or bipolar or (on_stream and mode not in MODES))


def _numbers(*arrays: Array) -> bool:
    return all(array.size and array.dtype.kind in "fiu" for array in arrays)


def walk_scaled(graph: OnnxGraph, problems: Collector, names: Names) -> Scaled:
    """The layers in an order in which they can be computed, or all that stands in the way."""
    finder = Finder(problems, graph.place)
    constants = ScaledConstants(graph, finder)
    nodes = needed(graph, constants, finder, _refused)
    order = ordered(graph, nodes, constants, finder)
    known = {name: Known(name, shape, np.arange(int(np.prod(shape)))) for name, shape in graph.inputs.items()}
    state = ScaledWalk(_as_constants(constants), finder, names, known)
    state.chains = {name: (Raw(),) for name in graph.inputs}
    state.real = {name: Input(name) for name in graph.inputs}
    state.padded = frozenset(_padded(nodes, constants))
    for node in order:
        if is_quantizer(node) and node.op != "DequantizeLinear":  # all at once: they are often wrong together
            parse_quantizer(node, constants.array, finder, _ANY_RANK)
    problems.raise_if_any()
    readers = Counter(name for node in nodes for name in streams_of(node, constants)) + Counter(graph.outputs)
    for node in order:
        take = handler(node)
        assert take is not None, "refused before"
        read = streams_of(node, constants)[0]
        state.enter(node, read, shared=readers[read] > 1)
        take(state, node)
        state.leave()
        problems.raise_if_any()
    outputs, values = _outputs(graph, state, order, problems)
    problems.raise_if_any()
    inputs = {name: state.real[name] for name in graph.inputs}
    codes = {input_key(name): each.codes for name, each in inputs.items() if each.codes is not None}
    return Scaled(_placed(state, graph), outputs, codes, values)


def _refused(node: OnnxNode) -> tuple[str, str] | None:
    """Why a node is not taken, which others may be where scales are powers of two."""
    if handler(node) is not None:
        return None
    if node.domain in STANDARD_DOMAINS and node.op in PLAIN:
        text = "is not supported in a file with scales that are no powers of two, or with zero points"
        return text, f"supported: {', '.join(SUPPORTED)}"
    return refusal(node)


def _as_constants(constants: ScaledConstants) -> Constants:
    """What a Walk reads of its constants, ours have too."""
    given: Any = constants
    found: Constants = given
    return found


def _padded(nodes: Sequence[OnnxNode], constants: ScaledConstants) -> list[str]:
    """The tensors of quantizers whose numbers are padded with zeros further on."""
    makers = {node.outputs[0]: node for node in nodes}
    found = []
    for node in nodes:
        pads = np.any(np.atleast_1d(node.attributes.get("pads", 0)))
        same = str(node.attributes.get("auto_pad", "NOTSET")).startswith("SAME")
        if node.op != "Pad" and not (node.op == "Conv" and (pads or same)):
            continue
        name = node.inputs[0]
        while name in makers and (is_quantizer(makers[name]) or makers[name].op in _PASSES):
            found.append(name)
            name = makers[name].inputs[0]
    return found


def _outputs(
    graph: OnnxGraph, state: ScaledWalk, order: Sequence[OnnxNode], problems: Collector
) -> tuple[tuple[str, ...], tuple[Affine, ...]]:
    """The streams that the model returns, in the integers of the file, and what these stand for."""
    makers = {node.outputs[0]: node for node in order}
    sources, values = [], []
    for name in graph.outputs:
        if name not in makers:
            problems.add(f"the output {name!r} is an input of the model", graph.place, "return the result of a layer")
            continue
        node = makers[name]
        state.enter(node, name, shared=False)
        if (state.order != np.arange(len(state.order))).any():
            text = f"the elements of the output {name!r} are in another order than its layer gives them"
            problems.add(text, graph.place, "leave out the Transpose before the output")
            continue
        if not state.settle(node, outward=True) or not state.rises(node, state.chain):
            continue
        line = _values(node, state)
        if line is not None:
            values.append(line)
            state.flowing.taken = True
            sources.append(state.source)
    if len(set(sources)) < len(sources):
        problems.add("the model returns one result twice", graph.place, "return it once")
    return tuple(_result(state, source) for source in sources), tuple(values)


def _values(node: OnnxNode, state: ScaledWalk) -> Affine | None:
    """What the integers of an output stand for, in the nearest float64."""
    channels = len(state.flowing.lo)
    factor, offset = np.ones(channels), np.zeros(channels)
    exact = state.whole_chain()
    for part in exact:
        if not isinstance(part, Line):
            state.finder.node(node, "a ReLU or a Clip is the last node", "put a Quant behind it")
            return None
    rational = [part for part in exact if isinstance(part, Line)]
    index = next((k for k, part in enumerate(rational) if part.under is not None), len(rational))
    first = _affine(rational[:index], channels)
    factor, offset = (np.array([float(each) for each in side]) for side in first)
    for part in rational[index:]:
        root = 1.0 if part.under is None else np.sqrt(_floats(part.under))
        behind = 0.0 if part.behind is None else _floats(part.behind)
        own = _floats(part.factor)
        factor, offset = factor * own / root, (offset * own + _floats(part.offset)) / root + behind
    if (factor == 0).any():
        state.finder.node(node, "its result is multiplied by zero", "check the training")
        return None
    pairs = np.stack([factor, offset])
    if bool((pairs == pairs[:, :1]).all()):
        pairs = pairs[:, :1]
    return Affine(tuple(pairs[0].tolist()), tuple(pairs[1].tolist()))


def _affine(lines: Sequence[Line], channels: int) -> tuple[np.ndarray, np.ndarray]:
    found = affine(tuple(lines), channels)
    assert found is not None
    return found


def _floats(side: np.ndarray) -> np.ndarray:
    return np.array([float(each) for each in side])


def _result(state: ScaledWalk, source: str) -> str:
    if source in state.real and source not in {link.makes for link in state.links}:
        return input_key(source)
    return next(link.step.name for link in state.links if link.makes == source)  # type: ignore[union-attr]


def _placed(state: ScaledWalk, graph: OnnxGraph) -> tuple[Placed, ...]:
    """The layers with the type that each reads. A staircase stands before all that read its stream."""
    makers = {link.makes: link for link in state.links}
    done: set[str] = set()
    placed: list[Placed] = []

    def place(makes: str) -> None:
        if makes in done or makes not in makers:
            return
        done.add(makes)
        link = makers[makes]
        for read in link.reads:
            place(read)
        reads = tuple(_result(state, read) for read in link.reads)
        fixed = state.streams[link.reads[0]].type if link.reads[0] in state.streams else None
        assert fixed is None or fixed.width <= MAX_WIDTH or getattr(link.step, "op", "") == "thresholds"
        placed.append(Placed(link.step, fixed_in=fixed, ours=False, inputs=reads))  # type: ignore[arg-type]

    for link in state.links:
        place(link.makes)
    return tuple(placed)
