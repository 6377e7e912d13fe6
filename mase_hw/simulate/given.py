"""Given vectors through the RTL of a build, compared with the integer reference: the integers that came out."""

from __future__ import annotations

from typing import get_args

import numpy as np

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.numerics.rounding import Integers
from mase_hw.simulate.bench import PATTERNS, simulate
from mase_hw.simulate.check import Engine, SimRequest, make_job
from mase_hw.simulate.native import simulate_native
from mase_hw.simulate.native_stimulus import Blocks
from mase_hw.simulate.outcome import Outcome
from mase_hw.simulate.stimulus import Stimulus


class SimulationError(ProblemsError):
    """The RTL gave another integer, or in another cycle, than it should; `outcome` has all of it."""

    def __init__(self, name: str, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(*(Problem(f"{name}: {failure.rstrip()}") for failure in outcome.failures))


def simulate_given(build: Build, x: Integers, engine: Engine = "native", stall: str = "all", seed: int = 0) -> Integers:
    """The output's integers for the vectors `x`, under every pattern asked for, or a SimulationError."""
    patterns = PATTERNS if stall == "all" else tuple(pattern for pattern in PATTERNS if pattern == stall)
    if not patterns:
        hint = nearest(stall, [*PATTERNS, "all"], "patterns")
        raise ProblemsError(Problem(f'stall = "{stall}" is no stall pattern', hint=hint))
    if engine not in get_args(Engine):
        hint = nearest(engine, get_args(Engine), "engines")
        raise ProblemsError(Problem(f'engine = "{engine}" is unknown', hint=hint))
    design, files = build.design, tuple(build.rtl)
    stimulus = Stimulus((np.ascontiguousarray(x, np.int64),), (("given", len(x)),))
    work = build.path / "sim" / "given" / engine
    if engine == "native":
        outcome = simulate_native(design, files, Blocks(design, stimulus, 0, seed), patterns, seed, work)
    else:
        request = SimRequest(0, seed, patterns, engine=engine)
        outcome = simulate(make_job(design, files, stimulus, request, None), work)
    if outcome.stopped:
        raise KeyboardInterrupt
    if not outcome.passed:
        raise SimulationError(design.name, outcome)
    y = design.run(stimulus.x)[design.output.name]
    # Every integer was compared with this very array, so that it is what the RTL gave.
    for pattern in outcome.patterns:
        assert sum(stream.equal for stream in pattern.outputs()) == y.size
    assert {pattern.pattern for pattern in outcome.patterns} == set(patterns)
    return y
