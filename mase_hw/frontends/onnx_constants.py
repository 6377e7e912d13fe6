"""The constants of an ONNX graph: initializers, and what follows from constants alone (quantized weights)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, Array, Finder, OnnxGraph, OnnxNode
from mase_hw.frontends.onnx_quant import Constant, on_constant, parse_quant

_FLOAT_TYPES = (1, 11)  # TensorProto.FLOAT, DOUBLE


class Constants:
    """Numbers by the name of their tensor. A node that reads constants alone is computed when its result is asked for.

    Of what cannot be computed the reason is a problem, once.
    """

    def __init__(self, graph: OnnxGraph, finder: Finder) -> None:
        self._finder = finder
        self._raw = dict(graph.constants)
        self._known: dict[str, Constant | None] = {}
        self._makers: dict[str, OnnxNode] = {}
        for node in graph.nodes:
            constant = all(not name or name in self for name in node.inputs)
            if constant and node.inputs and node.outputs[0] not in self._raw:
                self._makers[node.outputs[0]] = node

    def __contains__(self, name: str, /) -> bool:
        return name in self._raw or name in self._makers

    def array(self, name: str) -> Array | None:
        """The tensor as it is stored, or as it was computed: shapes, scales, bit widths."""
        if name in self._raw:
            return self._raw[name]
        found = self.get(name)
        return None if found is None else found.values

    def get(self, name: str) -> Constant | None:
        """None: it cannot be had, which has been told, or there is no such constant."""
        if name not in self._known:
            self._known[name] = None
            self._known[name] = self._make(self._makers[name]) if name in self._makers else self._stored(name)
        return self._known[name]

    def _stored(self, name: str) -> Constant | None:
        array = self._raw.get(name)
        if array is None or array.dtype.kind not in "fiu":
            return None
        return Constant(array.astype(np.float64), None, (name,))

    def _make(self, node: OnnxNode) -> Constant | None:
        operand = self.get(node.inputs[0])
        if node.is_quant:
            quant = parse_quant(node, self.array, self._finder)
            if operand is None or quant is None:
                return None
            if not np.isfinite(operand.values).all():
                bad = int((~np.isfinite(operand.values)).sum())
                text = f"{bad} of the {operand.values.size} values that it quantizes are NaN or infinite"
                self._finder.node(node, text, "check the training")
                return None
            made = on_constant(quant, operand, self._finder)
            return None if made is None else Constant(made.values, made.fixed, made.names + node.inputs[1:])
        compute = _OPERATORS.get(node.op) if node.domain in STANDARD_DOMAINS else None
        if compute is None:
            hint = "fold constants before: qonnx-cleanup or onnxsim do"
            self._finder.node(node, "is not supported on constants", hint)
            return None
        if operand is None:
            return None
        try:
            values = compute(operand.values, node, self.array)
        except (ValueError, TypeError, IndexError, OverflowError):
            values = None
        if values is None:
            self._finder.node(node, "its attributes do not fit the constant that it reads")
            return None
        return Constant(values, operand.fixed, operand.names)


_Get = Callable[[str], Array | None]


def _transpose(values: Any, node: OnnxNode, get: _Get) -> Any:
    return np.transpose(values, node.attributes.get("perm"))


def _reshape(values: Any, node: OnnxNode, get: _Get) -> Any:
    shape = get(node.inputs[1])
    if shape is None or shape.ndim != 1:
        return None
    sizes = [int(size) for size in shape]
    return values.reshape([values.shape[k] if size == 0 else size for k, size in enumerate(sizes)])


def _axes(values: Any, node: OnnxNode, get: _Get) -> Any:
    given = get(node.inputs[1]) if len(node.inputs) > 1 else node.attributes.get("axes")
    axes = None if given is None else tuple(int(axis) for axis in np.atleast_1d(given))
    if node.op == "Squeeze":
        return np.squeeze(values, axes)
    return None if axes is None else np.expand_dims(values, axes)


def _cast(values: Any, node: OnnxNode, get: _Get) -> Any:
    return values if node.attributes.get("to") in _FLOAT_TYPES else None


def _same(values: Any, node: OnnxNode, get: _Get) -> Any:
    return values


_OPERATORS: dict[str, Callable[[Any, OnnxNode, _Get], Any]] = {
    "Transpose": _transpose,
    "Reshape": _reshape,
    "Squeeze": _axes,
    "Unsqueeze": _axes,
    "Cast": _cast,
    "Identity": _same,
}
