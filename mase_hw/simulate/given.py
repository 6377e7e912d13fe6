"""Given vectors through the RTL of a build, compared with the integer reference: the integers that came out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

import numpy as np

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.emit.written import check_written
from mase_hw.ir.design import sample_counts
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.bench import simulate
from mase_hw.simulate.check import Engine, SimRequest, make_job
from mase_hw.simulate.job import PATTERNS
from mase_hw.simulate.native import simulate_native
from mase_hw.simulate.native_stimulus import Blocks
from mase_hw.simulate.outcome import Outcome
from mase_hw.simulate.stimulus import Stimulus


class SimulationError(ProblemsError):
    """The RTL gave another integer, or in another cycle, than it should; `outcome` has all of it."""

    def __init__(self, name: str, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(*(Problem(f"{name}: {failure.rstrip()}") for failure in outcome.failures))


def simulate_given(
    build: Build, x: Sequence[Integers], engine: Engine = "native", stall: str = "all", seed: int = 0
) -> tuple[Integers, ...]:
    """The outputs' integers for the vectors `x` of each input, under every pattern asked for, or a SimulationError."""
    patterns = PATTERNS if stall == "all" else tuple(pattern for pattern in PATTERNS if pattern == stall)
    if not patterns:
        hint = nearest(stall, [*PATTERNS, "all"], "patterns")
        raise ProblemsError(Problem(f'stall = "{stall}" is no stall pattern', hint=hint))
    if engine not in get_args(Engine):
        hint = nearest(engine, get_args(Engine), "engines")
        raise ProblemsError(Problem(f'engine = "{engine}" is unknown', hint=hint))
    check_written(build)
    design, files = build.design, tuple(build.rtl)
    inputs = tuple(np.ascontiguousarray(rows, np.int64) for rows in x)
    (samples,) = sample_counts(design.inputs, inputs)
    stimulus = Stimulus(inputs, (("given", samples),))
    work = build.results_folder(f"sim/given/{engine}")
    if engine == "native":
        outcome = simulate_native(design, files, Blocks(design, stimulus, 0, seed), patterns, seed, work)
    else:
        request = SimRequest(0, seed, patterns, engine=engine)
        outcome = simulate(make_job(design, files, stimulus, request, None), work)
    if outcome.stopped:
        raise KeyboardInterrupt
    if not outcome.passed:
        raise SimulationError(design.name, outcome)
    y = design.results(*inputs)
    place = [stream.name for stream in design.outputs].index
    # Every integer was compared with these very arrays, so that they are what the RTL gave.
    for pattern in outcome.patterns:
        assert [stream.equal for stream in sorted(pattern.outputs(), key=lambda stream: place(stream.name))] == [
            rows.size for rows in y
        ]
    assert {pattern.pattern for pattern in outcome.patterns} == set(patterns)
    return y
