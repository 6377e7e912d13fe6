"""`read_graph`: the bytes of an ONNX file to an `OnnxGraph`, or to a Problem, whatever the bytes are."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from math import prod
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.frontends.onnx_external import external_bytes
from mase_hw.frontends.onnx_graph import Array, OnnxGraph, OnnxNode
from mase_hw.untrusted import RefusedError, read_regular

_FLOAT = 1  # TensorProto.FLOAT
_MAX_FEATURES = 1 << 24
_MAX_VALUES = 1 << 28  # of a tensor
_LARGEST = 1 << 30  # bytes of a file
_SCOPES = "pkg.torch.onnx.name_scopes"
# What onnx and numpy raise on a tensor whose parts contradict each other.
_BROKEN = (
    *(ValueError, TypeError, KeyError, IndexError, OverflowError, AttributeError),
    *(NotImplementedError, MemoryError, RecursionError),
)


def read_graph(path: Path, where: Place | None = None) -> OnnxGraph:
    """The graph of the file at `path`; `where` is the TOML's line that names it."""
    onnx = _package(path, where)
    proto = _parse(onnx, path, where)
    graph = proto.graph
    _check_names(graph, path)
    constants = {tensor.name: _array(onnx, tensor, path) for tensor in graph.initializer}
    nodes = []
    for k, made in enumerate(graph.node):
        node = _node(onnx, made, k, path)
        nodes.append(node)
        if node.op == "Constant" and not node.inputs and not node.is_quant:
            constants[node.outputs[0]] = _constant(onnx, node, path)
    inputs = [value for value in graph.input if value.name not in constants]
    if not inputs:
        text = "the graph has 0 inputs (none); hardware has one"
        raise ProblemsError(Problem(text, Place(path), "export a model with one input"))
    shapes = {value.name: _sample_shape(value, path) for value in inputs}
    for what, several in (("input", inputs), ("output", graph.output)):
        _expect_different(path, what, [value.name for value in several])
    return OnnxGraph(path, tuple(nodes), constants, shapes, tuple(value.name for value in graph.output))


def _package(path: Path, where: Place | None) -> ModuleType:
    try:
        import onnx
        import onnx.numpy_helper
    except ImportError:
        text = f"{path.name}: reading ONNX files needs the package onnx, which is not installed"
        raise ProblemsError(Problem(text, where, "pip install 'mase-hw[onnx]'")) from None
    return onnx


def _parse(onnx: ModuleType, path: Path, where: Place | None) -> Any:
    from google.protobuf.message import DecodeError  # comes with onnx

    if not path.is_file():
        known = [item.name for item in path.parent.glob("*.onnx")] if path.parent.is_dir() else []
        hint = nearest(path.name, known, "ONNX files there") if known else f"there is no ONNX file in {path.parent}"
        raise ProblemsError(Problem(f'model = "{path.name}": no such file', where, hint))
    try:
        data = read_regular(path, _LARGEST)
    except OSError as error:
        raise ProblemsError(Problem(f"cannot be read: {error.strerror}", Place(path))) from None
    except RefusedError as error:
        raise ProblemsError(Problem(str(error), Place(path))) from None
    try:
        proto = onnx.ModelProto.FromString(data)
    except (DecodeError, RecursionError):
        text = "is not an ONNX file: its bytes are no ONNX model"
        raise ProblemsError(Problem(text, Place(path), "was it written to its end? export it again")) from None
    if not proto.graph.node or not proto.graph.output:
        text = "is not an ONNX model with a graph: it has no nodes or no output"
        raise ProblemsError(Problem(text, Place(path), "was it written to its end? export it again"))
    return proto


def _check_names(graph: Any, path: Path) -> None:
    """protobuf hands out bytes that are not UTF-8 as they are."""
    names = [*(item.name for kind in (graph.initializer, graph.input, graph.output) for item in kind)]
    for node in graph.node:
        names += [node.name, node.op_type, node.domain, *node.input, *node.output]
        names += [attribute.name for attribute in node.attribute]
    if any(not isinstance(name, str) for name in names):
        text = "a name in it is not UTF-8"
        raise ProblemsError(Problem(text, Place(path), "the file is damaged: export it again"))


def _array(onnx: ModuleType, tensor: Any, path: Path) -> Array:
    """A tensor's values. Data in another file is read from the model's own folder only."""
    if any(size < 0 for size in tensor.dims) or prod(tensor.dims) > _MAX_VALUES:
        text = f"tensor {tensor.name!r}: the shape {list(tensor.dims)} cannot be"
        raise ProblemsError(Problem(text, Place(path), "the file is damaged: export it again"))
    try:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            pairs = {entry.key: entry.value for entry in tensor.external_data}
            raw = external_bytes(pairs, path, tensor.name)
            inline = onnx.TensorProto(name=tensor.name, data_type=tensor.data_type, dims=tensor.dims, raw_data=raw)
            return np.asarray(onnx.numpy_helper.to_array(inline))
        return np.asarray(onnx.numpy_helper.to_array(tensor))
    except _BROKEN as error:
        said = (str(error).splitlines() or [""])[0]
        text = f"tensor {tensor.name!r}: its values do not fit its shape and type: {type(error).__name__}: {said}"
        raise ProblemsError(Problem(text, Place(path), "the file is damaged: export it again")) from None


def _node(onnx: ModuleType, made: Any, k: int, path: Path) -> OnnxNode:
    attributes: dict[str, Any] = {}
    for attribute in made.attribute:
        try:
            value = onnx.helper.get_attribute_value(attribute)
        except _BROKEN:  # of a type that does not exist
            text = f"node {made.name or k} ({made.op_type}): its attribute {attribute.name!r} cannot be read"
            raise ProblemsError(Problem(text, Place(path), "the file is damaged: export it again")) from None
        attributes[attribute.name] = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if not made.output or not made.output[0]:
        text = f"node {made.name or k} ({made.op_type}) has no output"
        raise ProblemsError(Problem(text, Place(path), "the file is damaged: export it again"))
    scopes = {entry.key: entry.value for entry in made.metadata_props}.get(_SCOPES, "")
    parts = (made.op_type, made.domain, made.name, tuple(made.input), tuple(made.output))
    return OnnxNode(*parts, attributes, _scope(scopes))


def _scope(text: str) -> str:
    """The innermost module of torch's list of name scopes; the list's last entry is the node itself."""
    try:
        scopes = ast.literal_eval(text) if text else []
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return ""
    return scopes[-2] if isinstance(scopes, list) and len(scopes) > 1 and isinstance(scopes[-2], str) else ""


def _constant(onnx: ModuleType, node: OnnxNode, path: Path) -> Array:
    given: Mapping[str, Any] = node.attributes
    if isinstance(given.get("value"), onnx.TensorProto):
        return _array(onnx, given["value"], path)
    for key in ("value_float", "value_floats", "value_int", "value_ints"):
        if key in given:
            return np.asarray(given[key], np.float32 if "float" in key else np.int64)
    text = f"{node.label}: has no value that is a tensor or a number"
    raise ProblemsError(Problem(text, Place(path), "export it with plain constants"))


def _expect_different(path: Path, what: str, names: list[str]) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        text = f"the graph has the {what} {twice!r} more than once"
        raise ProblemsError(Problem(text, Place(path), f"export a model that names each {what} once"))


def _sample_shape(value: Any, path: Path) -> tuple[int, ...]:
    kind = value.type.tensor_type
    if kind.elem_type != _FLOAT:
        text = f"the input {value.name!r} is not a tensor of 32-bit floats"
        raise ProblemsError(Problem(text, Place(path), "export the model with float32 inputs"))
    shape = tuple(dim.dim_value if dim.HasField("dim_value") else 0 for dim in kind.shape.dim)
    if len(shape) < 2 or shape[0] < 0 or any(size < 1 for size in shape[1:]):
        shown = ", ".join(str(size) if size > 0 else "?" for size in shape)
        text = f"the input {value.name!r} has the shape [{shown}], which does not say what one sample looks like"
        raise ProblemsError(Problem(text, Place(path), "export it as [batch, features...] with fixed features"))
    if prod(shape[1:]) > _MAX_FEATURES:
        text = f"the input {value.name!r} has {prod(shape[1:])} elements; {_MAX_FEATURES} are the most"
        raise ProblemsError(Problem(text, Place(path), "the file is damaged, or the model too large for hardware"))
    return shape[1:]
