"""An ONNX file as a model: `read_onnx` gives its layers, `quantize_table` their types as [passes.quantize]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase_hw.config.entries import PerNode
from mase_hw.config.places import Places
from mase_hw.config.quantize import ARGUMENTS, QuantSpec, parse_quantize
from mase_hw.config.user_code import is_onnx
from mase_hw.diagnostics import Collector, Place, Problem, ProblemsError
from mase_hw.frontends.onnx_arrange import arrange, input_key
from mase_hw.frontends.onnx_graph import Finder, OnnxGraph
from mase_hw.frontends.onnx_names import Names
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_quant import ActivationQuant
from mase_hw.frontends.onnx_read import read_graph
from mase_hw.frontends.onnx_scaled_walk import Scaled, has_scales, walk_scaled
from mase_hw.frontends.onnx_softmax import without_softmax
from mase_hw.frontends.onnx_steps import Conv, Flatten, Join, Linear, Mul
from mase_hw.frontends.onnx_types import type_layers
from mase_hw.frontends.onnx_walk import walk
from mase_hw.numerics import Fixed

OPERATORS = (
    *("linear", "relu", "batch_norm1d", "add", "sub", "cat", "mul", "batch_norm2d", "zero_pad", "thresholds"),
    *(f"{op}{rank}d" for op in ("conv", "max_pool", "avg_pool") for rank in (1, 2)),
)


@dataclass(frozen=True)
class OnnxModel:
    """The layers of a file, each behind those that it reads. `quantized`: it has Quant nodes, which say the types.

    `inputs` have the names that layers read them by, `input_names` are those that the model has for them.
    """

    path: Path
    inputs: Mapping[str, tuple[int, ...]]
    input_names: tuple[str, ...]
    layers: tuple[Placed, ...]
    outputs: tuple[str, ...]  # results that the model returns
    quantized: bool
    scaled: Scaled | None = None  # of a file with scales: what the integers of its ports stand for
    notes: tuple[str, ...] = ()

    @property
    def is_chain(self) -> bool:
        """Whether one layer follows the other, from one input to one output, and each is a module of torch's."""
        if self.scaled is not None or any(isinstance(placed.step, Join | Mul) for placed in self.layers):
            return False
        before = [*self.inputs, *(placed.step.name for placed in self.layers)]
        reads = [placed.inputs for placed in self.layers]
        return len(self.inputs) == 1 and [*reads, self.outputs] == [(name,) for name in before]


def read_onnx(path: Path, where: Place | None = None) -> OnnxModel:
    """The model in the file at `path`, or all that stands in its way. `where` is the TOML's line that names it."""
    damaged = "the file is damaged: export it again"
    try:
        graph, notes = without_softmax(read_graph(path, where))
        names = Names()
        if has_scales(graph):
            return _scaled(graph, names, notes)
        with Collector() as problems:
            walked = walk(graph, problems, names)
            layers, outputs = arrange(walked, graph.inputs, names, Finder(problems, graph.place))
    except RecursionError:
        raise ProblemsError(Problem("its constants are nested too deeply", Place(path), damaged)) from None
    quantized = any(isinstance(link.step, ActivationQuant) or _has_type(link.step) for link in walked.links)
    inputs = {input_key(name): shape for name, shape in graph.inputs.items()}
    input_names = tuple(names.take_input(name) for name in graph.inputs)
    return OnnxModel(path, inputs, input_names, layers, outputs, quantized, notes=notes)


def _scaled(graph: OnnxGraph, names: Names, notes: tuple[str, ...]) -> OnnxModel:
    with Collector() as problems:
        found = walk_scaled(graph, problems, names)
    inputs = {input_key(name): shape for name, shape in graph.inputs.items()}
    input_names = tuple(names.take_input(name) for name in graph.inputs)
    return OnnxModel(graph.path, inputs, input_names, found.layers, found.outputs, True, found, notes)


def _has_type(step: object) -> bool:
    if isinstance(step, Mul):
        return step.weight.fixed is not None
    if not isinstance(step, Linear | Conv):
        return False
    return step.weight.fixed is not None or (step.bias is not None and step.bias.fixed is not None)


def quantize_table(
    model: OnnxModel, written: Mapping[str, Any], places: Places | None = None
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """[passes.quantize] with the file's types in it, by name, and notes. A type that `written` gives wins."""
    if not model.quantized:
        return written, model.notes
    with Collector() as problems:
        if model.scaled is not None and written:
            text = f"passes.quantize: {model.path.name} states every type itself, with scales that are no powers of two"
            problems.add(text, None if places is None else places.of("passes", "quantize"), "delete the table")
            problems.raise_if_any()
        asked = parse_quantize(written, problems, places, partial=True)
        problems.raise_if_any()
        _check_keys(model, asked, problems)
        types = type_layers(model.layers, asked, Finder(problems, Place(model.path)))
    table: dict[str, Any] = {"by": "name"}
    for name, spec in types.specs.items():
        table[name] = {"config": _config(spec)}
    return table, (*model.notes, *types.notes)


def _check_keys(model: OnnxModel, asked: PerNode[QuantSpec], problems: Collector) -> None:
    nodes = {p.step.name: getattr(p.step, "op", "relu") for p in model.layers if not isinstance(p.step, Flatten)}
    asked.check_keys(nodes, OPERATORS, problems)


def _config(spec: QuantSpec) -> dict[str, Any]:
    assert spec.rounding is not None
    config: dict[str, Any] = {"name": spec.rounding.value}
    for argument in ARGUMENTS:
        fixed: Fixed | None = getattr(spec, argument)
        if fixed is not None:
            config[f"{argument}_width"], config[f"{argument}_frac_width"] = fixed.width, fixed.frac
            config[f"{argument}_signed"] = fixed.signed
    return config


def with_file_types(
    values: Mapping[str, Any], base: Path, places: Places, problems: Collector
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """A TOML's values whose [passes.quantize] says what its ONNX file says, and notes; other models are left alone."""
    name = values.get("model")
    passes = values.get("passes", {})
    written = passes.get("quantize", {}) if isinstance(passes, Mapping) else None
    if not isinstance(name, str) or not is_onnx(name) or not isinstance(written, Mapping):
        return values, ()
    nothing = {**values, "passes": {**passes, "quantize": {}}}  # what is wrong with the table has been told here
    model = problems.attempt(lambda: read_onnx(base / name, places.of("model")))
    if model is None:
        parse_quantize(written, problems, places, partial=True)
        return nothing, ()
    if not model.quantized:
        return values, model.notes
    fuse = passes.get("fuse_batch_norm")
    if isinstance(fuse, Mapping) and fuse.get("enabled", True):
        text = f"passes.fuse_batch_norm: {name} has Quant nodes, and its types would not fit the fused layers"
        hint = "fold the batch norms before the export, or delete the table"
        problems.add(text, places.of("passes", "fuse_batch_norm"), hint)
    done = problems.attempt(lambda: quantize_table(model, written, places))
    if done is None:
        return nothing, ()
    return {**values, "passes": {**passes, "quantize": done[0]}}, done[1]
