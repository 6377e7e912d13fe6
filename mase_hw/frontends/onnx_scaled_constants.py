"""Constants of a file with scales: integers with their scales, or the numbers themselves; computed where they are read.

What a file computes from float constants alone is computed in the file's own float type, as any runtime does.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, Array, Finder, OnnxGraph, OnnxNode, Reals
from mase_hw.frontends.onnx_quant import Constant
from mase_hw.frontends.onnx_scaled_quant import Quantizer, dequantized_by, is_quantizer, parse_quantizer
from mase_hw.frontends.onnx_staircase import Ratios, ratios
from mase_hw.numerics import Fixed, signed_width
from mase_hw.numerics.crossing import Mode, rounded

ANY = -(1 << 40)  # of a shape that is computed: a size that is not known here; 0 stands for the batch


@dataclass(frozen=True)
class Numbers:
    """`values * scale`; without a scale, the values. `whole`: integers that a quantizer gave."""

    values: Array
    scale: Reals | None = None  # of the values' shape
    names: tuple[str, ...] = ()

    @property
    def ratios(self) -> Ratios:
        """The exact numbers, in one dimension."""
        exact = ratios(self.values)
        return exact if self.scale is None else exact * ratios(self.scale)


class ScaledConstants:
    """Numbers by the name of their tensor, with the interface of `Constants`; reasons are problems, once."""

    def __init__(self, graph: OnnxGraph, finder: Finder) -> None:
        self._finder = finder
        self._raw = dict(graph.constants)
        self._known: dict[str, Numbers | None] = {}
        self._makers: dict[str, OnnxNode] = {}
        for node in graph.nodes:
            if node.outputs[0] in self._raw:
                continue
            if node.op == "Shape" and node.domain in STANDARD_DOMAINS and node.inputs[0] not in self:
                shape = graph.inputs.get(node.inputs[0], (ANY,) * 7)
                self._raw[node.outputs[0]] = np.array([0, *shape], np.int64)
            elif node.inputs and all(not name or name in self for name in node.inputs):
                self._makers[node.outputs[0]] = node

    def __contains__(self, name: str, /) -> bool:
        return name in self._raw or name in self._makers

    def array(self, name: str) -> Array | None:
        """The tensor as it is stored or computed, where no scale goes with it."""
        found = self.numbers(name)
        return None if found is None or found.scale is not None else found.values

    def get(self, name: str) -> Constant | None:
        """What the layers of a matrix take: the integers, without their scale, and their type."""
        found = self.numbers(name)
        if found is None:
            return None
        values = np.asarray(found.values, np.float64)
        if found.scale is None:
            return Constant(values, None, found.names)
        ends = (int(values.min()), int(values.max())) if values.size else (0, 0)
        return Constant(values, Fixed(signed_width(*ends), 0), found.names)

    def numbers(self, name: str) -> Numbers | None:
        """None: it cannot be had, which has been told, or there is no such constant."""
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._make(self._makers[name]) if name in self._makers else self._stored(name)
        return self._known[name]

    def keep(self, name: str, numbers: Numbers) -> None:
        """The same numbers in another form."""
        self._known[name] = numbers

    def _stored(self, name: str) -> Numbers | None:
        array = self._raw.get(name)
        return None if array is None or array.dtype.kind not in "fiu" else Numbers(array, None, (name,))

    def _make(self, node: OnnxNode) -> Numbers | None:
        if is_quantizer(node):
            return self._quantized(node)
        operands = [self.numbers(name) for name in node.inputs if name]
        if any(each is None for each in operands):
            return None
        given = [each for each in operands if each is not None]
        plain = node.domain in STANDARD_DOMAINS
        move, compute = _MOVES.get(node.op), _ARITHMETIC.get(node.op)
        try:
            if plain and move is not None:
                return _moved(node, given, move)
            if plain and compute is not None and all(each.scale is None for each in given):
                with np.errstate(all="ignore"):
                    values = np.asarray(compute(*(each.values for each in given)))
                return Numbers(values.astype(given[0].values.dtype), None, given[0].names)
        except (ValueError, TypeError, IndexError, OverflowError, KeyError):
            self._finder.node(node, "its attributes do not fit the constants that it reads")
            return None
        self._finder.node(node, "is not supported on constants", "fold constants before: qonnx-cleanup or onnxsim do")
        return None

    def _quantized(self, node: OnnxNode) -> Numbers | None:
        """A weight behind its quantizer, or integers behind a DequantizeLinear."""
        operand = self.numbers(node.inputs[0])
        if operand is None:
            return None
        if node.op == "DequantizeLinear":
            said = dequantized_by(node, self.array, self._finder, operand.values.ndim)
            if said is None or operand.values.dtype.kind not in "iu":
                return None
            scale, zero = said
            shape = operand.values.shape
            try:
                whole = operand.values.astype(np.int64) - np.broadcast_to(zero.astype(np.int64), shape)
                full = np.broadcast_to(scale.astype(np.float64), shape)
            except ValueError:
                self._finder.node(node, f"a scale of shape {scale.shape} does not fit integers of shape {shape}")
                return None
            return Numbers(whole, full, (*operand.names, *node.inputs[1:]))
        quantizer = parse_quantizer(node, self.array, self._finder, operand.values.ndim)
        if quantizer is None:
            return None
        if operand.scale is not None:
            self._finder.node(node, "quantizes a constant that is quantized already", "leave one of the two out")
            return None
        values = np.asarray(operand.values, np.float64)
        if not np.isfinite(values).all():
            bad = int((~np.isfinite(values)).sum())
            text = f"{bad} of the {values.size} values that it quantizes are NaN or infinite"
            self._finder.node(node, text, "check the training")
            return None
        return self._rounded(node, quantizer, values, operand.names)

    def _rounded(self, node: OnnxNode, quantizer: Quantizer, values: Reals, names: tuple[str, ...]) -> Numbers | None:
        try:
            scale = np.broadcast_to(quantizer.scale, values.shape)
            before = np.broadcast_to(quantizer.before, values.shape)
        except ValueError:
            text = f"a scale of shape {quantizer.scale.shape} does not fit numbers of shape {values.shape}"
            self._finder.node(node, text)
            return None
        codes = round_quotients(values, scale, before, quantizer.mode)
        codes = np.clip(codes, quantizer.lo, quantizer.hi)
        if quantizer.mode is Mode.SIGN:
            codes = 2 * codes - 1
        if node.op == "QuantizeLinear":  # its result is an integer tensor; a DequantizeLinear takes the scale
            zero = np.broadcast_to(quantizer.zero, values.shape)
            return Numbers(codes + zero, None, (*names, *node.inputs[1:]))
        return Numbers(codes - before.astype(np.int64), scale, (*names, *node.inputs[1:]))


_NEAREST: dict[Mode, Callable[[Any], Any]] = {  # all others round at halves
    Mode.FLOOR: np.floor,
    Mode.CEIL: np.ceil,
    Mode.ZERO: np.trunc,
    Mode.AWAY: lambda x: np.sign(x) * np.ceil(np.abs(x)),
}


def round_quotients(values: Reals, scale: Reals, before: Reals, mode: Mode) -> Array:
    """`values / scale + before` as integers, rounded once and exactly; most of them are far from where that matters."""
    if mode is Mode.SIGN:  # the quotient's sign is that of the numbers
        return (values >= 0).astype(np.int64)
    with np.errstate(over="ignore"):
        near = np.clip(values / scale + before, -(2.0**40), 2.0**40)
    nearest = _NEAREST[mode](near) if mode in _NEAREST else np.floor(near + 0.5)
    found = np.asarray(nearest).astype(np.int64)
    steps = near if mode in _NEAREST else near + 0.5  # whole where the rounding steps
    doubtful = np.abs(steps - np.rint(steps)) < 1e-3
    for place in np.argwhere(doubtful & (np.abs(near) < 2.0**39)):
        index = tuple(place)
        exact = Fraction(float(values[index])) / Fraction(float(scale[index])) + Fraction(float(before[index]))
        found[index] = rounded(exact, mode)
    return found


def _moved(node: OnnxNode, given: list[Numbers], move: Callable[..., Any]) -> Numbers:
    """What moves numbers moves their scales alike."""
    if node.op == "Concat":
        axis = int(node.attributes["axis"])
        values = np.concatenate([each.values for each in given], axis)
        scaled = [each.scale for each in given if each.scale is not None]
        if len(scaled) not in (0, len(given)):
            raise ValueError
        return Numbers(values, np.concatenate(scaled, axis) if scaled else None, given[0].names)
    first, *others = given
    options = [each.values for each in others]
    values = np.asarray(move(first.values, node, *options))
    scale = None if first.scale is None else np.asarray(move(first.scale, node, *options))
    return replace(first, values=values, scale=scale)


def _reshape(values: Any, node: OnnxNode, shape: Array) -> Any:
    sizes = [int(size) for size in shape]
    return values.reshape([values.shape[k] if size == 0 else size for k, size in enumerate(sizes)])


def _axes(values: Any, node: OnnxNode, given: Array | None = None) -> Any:
    axes = node.attributes.get("axes") if given is None else given
    found = None if axes is None else tuple(int(axis) for axis in np.atleast_1d(axes))
    if node.op == "Squeeze":
        return np.squeeze(values, found)
    if found is None:
        raise ValueError
    return np.expand_dims(values, found)


def _slice(values: Any, node: OnnxNode, *given: Array) -> Any:
    starts, ends, *rest = given if given else [np.array(node.attributes[key]) for key in ("starts", "ends")]
    axes = rest[0] if rest else np.array(node.attributes.get("axes", range(len(starts))))
    steps = rest[1] if len(rest) > 1 else np.ones(len(starts), np.int64)
    index: list[Any] = [slice(None)] * values.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        index[int(axis)] = slice(int(start), int(end), int(step))
    return values[tuple(index)]


def _gather(values: Any, node: OnnxNode, indices: Array) -> Any:
    return np.take(values, indices.astype(np.int64), int(node.attributes.get("axis", 0)))


def _cast(values: Any, node: OnnxNode) -> Any:
    kinds = {1: np.float32, 6: np.int32, 7: np.int64, 11: np.float64}
    return values.astype(kinds[int(node.attributes["to"])])


_MOVES: dict[str, Callable[..., Any]] = {
    "Transpose": lambda values, node: np.transpose(values, node.attributes.get("perm")),
    "Reshape": _reshape,
    "Flatten": lambda values, node: values.reshape(values.shape[0], -1),
    "Squeeze": _axes,
    "Unsqueeze": _axes,
    "Slice": _slice,
    "Gather": _gather,
    "Cast": _cast,
    "Identity": lambda values, node: values,
    "Concat": _gather,  # of several tensors: `_moved` does it
}
_ARITHMETIC: dict[str, Callable[..., Any]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Div": np.divide,
    "Pow": np.power,
    "Sqrt": np.sqrt,
    "Neg": np.negative,
    "Exp": np.exp,
    "Reciprocal": np.reciprocal,
}
