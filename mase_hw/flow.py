"""Every stage in order: model.toml -> torch module -> graph -> passes -> layers -> design -> RTL in a build folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torch import nn

from mase_hw.config import Config
from mase_hw.config.hardware import HardwareConfig, HardwareTarget, identifier_from, parse_hardware, why_no_identifier
from mase_hw.config.opened import data_files, opened_files
from mase_hw.config.quantize import QuantizeConfig
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.emit import Build, check_place, write_build
from mase_hw.graph import MaseGraph
from mase_hw.ir import Design
from mase_hw.layers import LayerGraph
from mase_hw.loading import check_labels, load_data, load_weights
from mase_hw.models import Shape, Shapes, input_shapes
from mase_hw.passes.saturation import notes_of_saturation, saturated_parameters
from mase_hw.pipeline.graphs import quantized_graph
from mase_hw.pipeline.hardware import ANY_HARDWARE, hardware_of
from mase_hw.samples import reals, run_floats, run_samples


@dataclass(frozen=True)
class Loaded:
    """What a configuration names: the model with its weights, the data set, and notes for the user."""

    model: nn.Module
    dataset: Dataset | None
    notes: tuple[str, ...]
    shapes: Shapes
    files: Mapping[str, Path]  # data that were read, beside what the TOML names


@dataclass(frozen=True)
class Compiled:
    """A model carried as far as hardware, nothing written yet."""

    model: nn.Module  # as the user wrote it, in floats
    graph: MaseGraph  # quantized, with metadata
    layers: LayerGraph
    design: Design
    notes: tuple[str, ...] = ()  # for the user, about the hardware


@dataclass(frozen=True)
class Prepared:
    """What a configuration describes, carried as far as hardware, with its data and notes for the user."""

    config: Config
    compiled: Compiled
    dataset: Dataset | None
    notes: tuple[str, ...]
    files: Mapping[str, Path] = field(default_factory=dict)  # data that were read, beside what the TOML names


def emit(config: Config, out: Path, *, replace: bool = False) -> tuple[Build, tuple[str, ...]]:
    """Everything from the TOML to the build folder `out`, and notes for the user.

    The build of another TOML is left alone, unless `replace` allows to replace it.
    """
    check_place(out, None if replace else config.path)  # before the work
    prepared = prepare(config)
    return write(prepared, out, config.sources, replace=replace), prepared.notes


def load(config: Config, module: nn.Module | None = None, *, as_it_is: bool = False) -> Loaded:
    """The model and the data set that a configuration names. `module` stands for that model.

    `as_it_is`: the module has its weights already.
    """
    assert module is not None or not as_it_is
    with Collector() as problems, opened_files() as opened:
        loaded: tuple[nn.Module, tuple[str, ...]] | None
        if module is not None and as_it_is:
            loaded = module, config.notes
        else:
            loaded = problems.attempt(lambda: load_weights(config, module))
        dataset = problems.attempt(lambda: load_data(config, None if loaded is None else loaded[0]))
    assert loaded is not None
    model, notes = loaded
    shapes = input_shapes(model, dataset, config.where("model" if dataset is None else "dataset"))
    files = data_files(opened, config.base, list(config.sources.values()))
    return Loaded(model, dataset, notes, shapes, files)


def prepare(config: Config, module: nn.Module | None = None, *, as_it_is: bool = False) -> Prepared:
    """Everything from the configuration to the design."""
    loaded = load(config, module, as_it_is=as_it_is)
    compiled = compile_model(
        loaded.model,
        loaded.shapes,
        quantize={**config.raw["passes"]["quantize"], "places": config.places},
        hardware={"config": config.hardware, "quantize": config.quantize},
        target=config.target,
        fuse_batch_norm=config.fuse_batch_norm,
    )
    if loaded.dataset is not None:
        check_labels(config, loaded.dataset, compiled.design.outputs[0].features)
    notes = (*loaded.notes, *compiled.notes, *notes_of_saturation(compiled.graph))
    return Prepared(config, compiled, loaded.dataset, notes, loaded.files)


def write(prepared: Prepared, out: Path, sources: Mapping[str, Path], *, replace: bool = False) -> Build:
    """The build folder `out`; `sources` are the files that it was made from, beside the data that were read."""
    config, compiled, dataset = prepared.config, prepared.compiled, prepared.dataset
    samples = floats = None
    if dataset is not None:
        samples = run_samples(compiled.model, compiled.graph, compiled.layers, compiled.design, dataset)
        fuse = config.fuse_batch_norm
        floats = run_floats(compiled.model, compiled.layers, dataset.x_test, fuse_batch_norm=fuse)
    files = {**prepared.files, **sources} if sources else {}
    values, noted, interface = dict(config.raw), reals(compiled.layers), config.target.interface
    clamped = saturated_parameters(compiled.graph)
    return write_build(out, compiled.design, values, samples, files, interface, noted, floats, clamped, replace=replace)


def compile_model(
    model: nn.Module,
    shape: Shape | Shapes,
    quantize: Mapping[str, Any],
    hardware: Mapping[str, Any] | None = None,
    *,
    target_interval: int | None = None,
    top: str = "top",
    target: HardwareTarget | None = None,
    fuse_batch_norm: bool = False,
) -> Compiled:
    """From a torch module to the design. `quantize` and `hardware` have the shape of their tables in a TOML.

    `shape` is that of one sample, or a tuple of shapes where the model takes several inputs. `target` is the whole of
    [hardware]; `top` and `target_interval` are for those who need no more of it.
    """
    target = target or HardwareTarget(top, target_interval=target_interval)
    if reason := why_no_identifier(target.top):
        hint = f"for example {identifier_from(target.top)}"
        raise ProblemsError(Problem(f'top = "{target.top}" {reason}', hint=hint))
    config, ruled = _parsed(dict(hardware or {}))
    graph = quantized_graph(model, shape, quantize, fuse_batch_norm=fuse_batch_norm)
    made = hardware_of(graph, config, target, ruled)
    return Compiled(model, graph, made.layers, made.design, made.notes)


def _parsed(table: dict[str, Any]) -> tuple[HardwareConfig, QuantizeConfig | None]:
    """[passes.hardware], parsed or not, and what was parsed of [passes.quantize], for messages."""
    config, ruled, places = table.pop("config", None), table.pop("quantize", None), table.pop("places", None)
    if isinstance(config, HardwareConfig) or not table:
        return config or ANY_HARDWARE, ruled
    with Collector() as problems:
        config = parse_hardware(table, problems, places)
    return config, ruled
