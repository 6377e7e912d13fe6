"""A subject as it is: what the bench and the prover say of it, which is what its mutants are judged by."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.mutate import work
from mase_hw.mutate.judge import Engine, Sound
from mase_hw.mutate.work import JudgingTask
from mase_hw.mutate.worker import CrashedError, TimedOutError, Worker
from mase_hw.prove.claims.claim import Claim

SOUND_SECONDS = 3600.0


def measured(task: JudgingTask, worker: Worker, engine: Engine) -> dict[str, Any]:
    """What the bench and the prover say of a subject, and how long they take."""
    name = task.subject.name
    try:
        compiled = worker.call(work.compile_native, task, seconds=SOUND_SECONDS)
        started = time.perf_counter()
        bench = compiled if compiled.invalid else worker.call(work.simulate, task, seconds=SOUND_SECONDS)
        simulated = time.perf_counter()
        unproved: tuple[Claim, ...] = ()
        if engine != "native":
            unproved = worker.call(work.prove, task, seconds=SOUND_SECONDS).unproved
        proved = time.perf_counter()
    except (TimedOutError, CrashedError) as error:
        text = f"{name} cannot be tried unmutated: {error or f'no answer in {SOUND_SECONDS:.0f} s'}"
        raise ProblemsError(Problem(text, hint="see what `mase-hw sim` and `mase-hw prove` say of the build")) from None
    claims = [[c.component, c.about, c.status, c.method, c.detail] for c in unproved]
    return {"bench": bench.no, "simulate": simulated - started, "prove": proved - simulated, "unproved": claims}


def refuse_unsound(build: Build, sounds: Mapping[str, Sound]) -> None:
    """Mutants of what fails anyway say nothing."""
    problems = [
        Problem(
            f"{sound.subject.name} fails before anything is mutated: {claim.detail}",
            hint=f"mend it first: mase-hw sim {build.path}",
        )
        for sound in sounds.values()
        for claim in sound.unproved
        if claim.about == "bench"
    ]
    if problems:
        raise ProblemsError(*problems)
