"""Builds and runs of the whole-design bench under cocotb and Verilator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from measure import Group, best, seconds
from models import DIGITS, JSC, JSC_FOLDED, Model

from mase_hw import flow
from mase_hw.config_file import load_config
from mase_hw.emit import Build, write_build
from mase_hw.models import input_shape
from mase_hw.samples import run_quantized
from mase_hw.simulate import PATTERNS, Outcome, Pattern, simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.stimulus import stimulus


def speed(model: Model, folder: Path, cache: Path) -> Group:
    """Vectors per CPU second: the integer reference, the quantized torch model, the RTL with every stream compared."""
    compiled, build = _compile(model, folder)
    design = compiled.design
    vectors = stimulus(design, model.vectors, seed=0).x
    count = len(vectors)
    real = (vectors * 2.0**-design.input.fixed.frac).astype(np.float32).reshape(count, *compiled.layers.input.shape)
    reference = count / best(lambda: design.run(vectors), loops=5)
    group = Group(f"sim: {model.name}, {count} vectors", "integer reference (numpy)", reference, "per CPU s")
    group.add(
        "quantized torch model",
        count / best(lambda: run_quantized(compiled.graph, compiled.layers, compiled.design, real), loops=5),
    )
    work = folder / "work"
    _simulate(build, 1, ("none",), work, cache)  # builds the simulator
    taken: dict[str, float] = {}
    with seconds(taken, "none"):
        unstalled = _simulate(build, model.vectors, ("none",), work, cache)
    with seconds(taken, "all"):
        _simulate(build, model.vectors, PATTERNS, work, cache)
    group.add("RTL, never stalled", count / taken["none"])
    group.add("RTL, four stall patterns", count * len(PATTERNS) / taken["all"])
    cycles = unstalled.pattern("none").cycles
    assert cycles is not None
    group.add("clock cycles of the RTL, never stalled", cycles / taken["none"])
    return group


def builds(model: Model, folder: Path) -> Group:
    """CPU seconds of a simulation of few vectors: nothing cached, Verilator's runtime cached, all cached."""
    cache, work = folder / "cache", folder / "work"
    first, second = (_compile(model, folder / str(seed), seed)[1] for seed in (1, 2))
    taken: dict[str, float] = {}
    for name, build in (("cold", first), ("changed", second), ("unchanged", second)):
        with seconds(taken, name):
            _simulate(build, 16, PATTERNS, work, cache)
    group = Group(f"build and run: {model.name}", "nothing cached", taken["cold"])
    group.add("changed design, runtime cached", taken["changed"])
    group.add("unchanged design", taken["unchanged"])
    return group


def _compile(model: Model, folder: Path, seed: int = 0) -> tuple[flow.Compiled, Build]:
    config = load_config(model.write(folder, seed))
    module, _ = flow.load_weights(config)
    compiled = flow.compile_model(
        module,
        input_shape(module),
        quantize={**config.raw["passes"]["quantize"], "places": config.places},
        hardware={"config": config.hardware, "quantize": config.quantize},
        target_interval=config.target.target_interval,
        top=config.target.top,
    )
    return compiled, write_build(folder / "build", compiled.design, dict(config.raw), None)


def _simulate(build: Build, vectors: int, patterns: tuple[Pattern, ...], work: Path, cache: Path) -> Outcome:
    request = SimRequest(vectors=vectors, patterns=patterns)
    job = make_job(build.design, tuple(build.rtl), stimulus(build.design, vectors, 0), request, None)
    outcome = simulate(job, work, cache)
    if not outcome.passed:
        raise RuntimeError("a figure of a failed run is worth nothing:\n" + "\n".join(outcome.failures))
    return outcome


def groups(folder: Path) -> list[Group]:
    """Every measurement of this file."""
    torch.set_num_threads(1)  # threads that wait for each other burn CPU seconds, and these are what is counted
    cache = folder / "cache"
    measured = [speed(model, folder / model.project, cache) for model in (JSC, JSC_FOLDED, DIGITS)]
    return [*measured, *(builds(model, folder / f"{model.project}-builds") for model in (JSC_FOLDED, JSC))]
