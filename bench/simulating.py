"""Builds and runs of the whole-design bench under cocotb and Verilator."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from measure import Group, best
from models import DIGITS, JSC, JSC_FOLDED, LARGE, Model

from mase_hw import flow
from mase_hw.config import load_config
from mase_hw.emit import Build, write_build
from mase_hw.models import input_shape
from mase_hw.simulate import PATTERNS, Outcome, simulate
from mase_hw.simulate.check import Request, make_job
from mase_hw.simulate.stimulus import stimulus


def speed(model: Model, folder: Path, cache: Path) -> Group:
    """Vectors a second: the integer reference, the quantized torch model, the RTL with every stream compared."""
    compiled, build = _compile(model, folder)
    design = compiled.design
    vectors = stimulus(design, model.vectors, seed=0).x
    count = len(vectors)
    real = (vectors * 2.0**-design.input.fixed.frac).astype(np.float32).reshape(count, *compiled.chain.input_shape)
    reference = count / best(lambda: design.run(vectors))
    group = Group(f"sim: {model.name}, {count} vectors", "integer reference (numpy)", reference, "vectors/s")
    group.add("quantized torch model", count / best(lambda: flow.run_quantized(compiled, real)))
    outcome = _simulate(build, model.vectors, folder / "work", cache)
    for pattern in outcome.patterns:
        group.add(f"RTL, stalls: {pattern.pattern}", count / pattern.seconds)
    group.add("RTL, all patterns, process start included", count * len(PATTERNS) / outcome.run_seconds)
    cycles = outcome.pattern("none").cycles
    assert cycles is not None
    group.add("RTL, clock cycles, stalls: none", cycles / outcome.pattern("none").seconds)
    return group


def builds(model: Model, folder: Path) -> Group:
    """Seconds to an executable: nothing cached, Verilator's runtime cached, all cached."""
    cache = folder / "cache"
    first, second = (_compile(model, folder / str(seed), seed)[1] for seed in (1, 2))
    cold = _simulate(first, 16, folder / "work", cache)
    group = Group(f"build: {model.name}", "cold build", cold.build_seconds)
    changed = _simulate(second, 16, folder / "work", cache)
    group.add("build of a changed design", changed.build_seconds)
    again = _simulate(second, 16, folder / "work", cache)
    group.add("build of an unchanged design", again.build_seconds)
    group.add("changed design, built and run", changed.build_seconds + changed.run_seconds)
    group.add("unchanged design, run", again.build_seconds + again.run_seconds)
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


def _simulate(build: Build, vectors: int, work: Path, cache: Path) -> Outcome:
    request = Request(vectors=vectors)
    job = make_job(build.design, tuple(build.rtl), stimulus(build.design, vectors, 0), request, None)
    outcome = simulate(job, work, cache)
    if not outcome.passed:
        raise RuntimeError("a figure of a failed run is worth nothing:\n" + "\n".join(outcome.failures))
    return outcome


def groups(folder: Path) -> list[Group]:
    """Every measurement of this file."""
    cache = folder / "cache"
    measured = [speed(model, folder / model.project, cache) for model in (JSC, JSC_FOLDED, DIGITS, LARGE)]
    return [*measured, *(builds(model, folder / f"{model.project}-builds") for model in (JSC_FOLDED, JSC))]
