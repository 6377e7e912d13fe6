"""Every stage in order: model.toml -> torch module -> graph -> passes -> hardware -> RTL in a build folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mase_hw.config import Config
from mase_hw.config.hardware import HardwareTarget, identifier_from, why_no_identifier
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.emit import Build, Reals, Samples, write_build
from mase_hw.float_layers import float_layers
from mase_hw.graph import MaseGraph
from mase_hw.ir import Design
from mase_hw.loading import load_data, load_weights
from mase_hw.lowering.layers import Chain
from mase_hw.lowering.lower import lower
from mase_hw.lowering.parts import wanted_types
from mase_hw.models import input_shape
from mase_hw.numerics import to_integers
from mase_hw.numerics.rounding import Integers
from mase_hw.passes import (
    add_common_metadata_analysis_pass,
    add_hardware_metadata_analysis_pass,
    add_software_metadata_analysis_pass,
    fuse_batch_norm_transform_pass,
    init_metadata_analysis_pass,
    quantize_transform_pass,
    remove_identity_transform_pass,
)

_BATCH = 1024


@dataclass(frozen=True)
class Compiled:
    """A model carried as far as hardware, nothing written yet."""

    model: nn.Module  # as the user wrote it, in floats
    graph: MaseGraph  # quantized, with metadata
    chain: Chain
    design: Design


@dataclass(frozen=True)
class Prepared:
    """What a configuration describes, carried as far as hardware, with its data and notes for the user."""

    config: Config
    compiled: Compiled
    dataset: Dataset | None
    notes: tuple[str, ...]


def emit(config: Config, out: Path) -> tuple[Build, tuple[str, ...]]:
    """Everything from the TOML to the build folder `out`, and notes for the user."""
    prepared = prepare(config)
    return write(prepared, out, config.sources), prepared.notes


def prepare(config: Config, module: nn.Module | None = None, *, as_it_is: bool = False) -> Prepared:
    """Everything from the configuration to the design. `module` stands for the model that it names.

    `as_it_is`: the module has its weights already.
    """
    assert module is not None or not as_it_is
    with Collector() as problems:
        loaded: tuple[nn.Module, tuple[str, ...]] | None
        if module is not None and as_it_is:
            loaded = module, config.notes
        else:
            loaded = problems.attempt(lambda: load_weights(config, module))
        dataset = problems.attempt(lambda: load_data(config, None if loaded is None else loaded[0]))
    assert loaded is not None
    model, notes = loaded
    compiled = compile_model(
        model,
        input_shape(model, dataset, config.where("model" if dataset is None else "dataset")),
        quantize={**config.raw["passes"]["quantize"], "places": config.places},
        hardware={"config": config.hardware, "quantize": config.quantize},
        target=config.target,
        fuse_batch_norm=config.fuse_batch_norm,
    )
    return Prepared(config, compiled, dataset, notes)


def write(prepared: Prepared, out: Path, sources: Mapping[str, Path]) -> Build:
    """The build folder `out`; `sources` are the files that it was made from."""
    config, compiled, dataset = prepared.config, prepared.compiled, prepared.dataset
    samples = None if dataset is None else run_samples(compiled, dataset)
    interface = config.target.interface
    floats = None if dataset is None else run_floats(prepared, dataset)
    return write_build(out, compiled.design, dict(config.raw), samples, sources, interface, reals(compiled), floats)


def compile_model(
    model: nn.Module,
    shape: tuple[int, ...],
    quantize: Mapping[str, Any],
    hardware: Mapping[str, Any] | None = None,
    *,
    target_interval: int | None = None,
    top: str = "top",
    target: HardwareTarget | None = None,
    fuse_batch_norm: bool = False,
) -> Compiled:
    """From a torch module to the design. `quantize` and `hardware` have the shape of their tables in a TOML.

    `target` is the whole of [hardware]; `top` and `target_interval` are for those who need no more of it.
    """
    target = target or HardwareTarget(top, target_interval=target_interval)
    if reason := why_no_identifier(target.top):
        hint = f"for example {identifier_from(target.top)}"
        raise ProblemsError(Problem(f'top = "{target.top}" {reason}', hint=hint))
    graph = quantized_graph(model, shape, quantize, fuse_batch_norm=fuse_batch_norm)
    graph, info = add_hardware_metadata_analysis_pass(graph, {**(hardware or {}), "target": target})
    return Compiled(model, graph, info["chain"], lower(target.top, info["chain"], info["choices"], target))


def quantized_graph(
    model: nn.Module, shape: tuple[int, ...], quantize: Mapping[str, Any], *, fuse_batch_norm: bool = False
) -> MaseGraph:
    """The model's graph, quantized, as far as software goes."""
    return quantize_transform_pass(float_graph(model, shape, fuse_batch_norm=fuse_batch_norm), quantize)[0]


def float_graph(model: nn.Module, shape: tuple[int, ...], *, fuse_batch_norm: bool = False) -> MaseGraph:
    """The model's graph before it is quantized: its nodes have the names that the design's will have."""
    model.eval()
    graph = MaseGraph(model)
    graph, _ = remove_identity_transform_pass(graph)
    graph = with_metadata(graph, shape)
    if fuse_batch_norm:
        graph, _ = fuse_batch_norm_transform_pass(graph)
        graph = with_metadata(graph, shape)
    return graph


def with_metadata(graph: MaseGraph, shape: tuple[int, ...]) -> MaseGraph:
    """The graph with common and software metadata, for samples of `shape`."""
    graph, _ = init_metadata_analysis_pass(graph)
    device = next((parameter.device for parameter in graph.model.parameters()), None)
    names = [str(node.target) for node in graph.fx_graph.nodes if node.op == "placeholder"]
    dummy = {name: torch.zeros(2, *shape, device=device) for name in names}
    graph, _ = add_common_metadata_analysis_pass(graph, {"dummy_in": dummy, "add_value": False})
    graph, _ = add_software_metadata_analysis_pass(graph)
    return graph


def run_samples(compiled: Compiled, dataset: Dataset) -> Samples:
    """The data set's test split through the float and the quantized model, and through the integer reference.

    The quantized torch model and the reference must agree to the last bit; if they do not, it is our bug.
    """
    design = compiled.design
    x = quantize_input(compiled, dataset.x_test)
    y = run_quantized(compiled, dataset.x_test)
    (reference,) = design.results(x)
    assert np.array_equal(y, reference), "the quantized torch model and the integer reference differ"
    float_labels = _forward(compiled.model, dataset.x_test).argmax(1)
    return Samples((x,), (y,), dataset.y_test, float_labels)


def run_floats(prepared: Prepared, dataset: Dataset) -> dict[str, np.ndarray]:
    """What the float model has at its input and behind each layer, for the first samples of the test split."""
    chain, fuse = prepared.compiled.chain, prepared.config.fuse_batch_norm
    graph = float_graph(prepared.compiled.model, chain.input_shape, fuse_batch_norm=fuse)
    return float_layers(graph, chain, dataset.x_test)


def reals(compiled: Compiled) -> Reals:
    """How real samples become vectors, for those who have the build alone."""
    chain = compiled.chain
    wanted = wanted_types(chain.layers)[0]
    assert wanted is not None
    return Reals((wanted.rounding,), (chain.order,), (chain.output_order,))


def quantize_input(compiled: Compiled, samples: np.ndarray) -> Integers:
    """Samples as the vectors of the input stream, in the stream's order."""
    chain, design = compiled.chain, compiled.design
    wanted = wanted_types(chain.layers)[0]
    assert wanted is not None
    flat = to_integers(samples.reshape(len(samples), -1), design.input.fixed, wanted.rounding)
    return flat if chain.order is None else flat[:, list(chain.order)]


def run_quantized(compiled: Compiled, samples: np.ndarray) -> Integers:
    """What the quantized torch model computes, as integers of the output's type."""
    values = _forward(compiled.graph.model, samples)
    scaled = values.reshape(len(values), -1) * 2.0**compiled.design.output.fixed.frac
    integers = scaled.astype(np.int64)
    assert np.array_equal(integers, scaled), "the quantized torch model left the grid of its output type"
    order = compiled.chain.output_order
    return integers if order is None else integers[:, list(order)]


def _forward(model: nn.Module, samples: np.ndarray) -> np.ndarray:
    model.eval()
    with torch.inference_mode():
        parts = [model(torch.from_numpy(samples[k : k + _BATCH])) for k in range(0, len(samples), _BATCH)]
    return torch.cat(parts).double().numpy()
