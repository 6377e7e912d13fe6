"""The judge: one mutant tried on every subject that it touches, until something notices it."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mase_hw.mutate import work
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.subject import Subject
from mase_hw.mutate.work import Answer, Task
from mase_hw.mutate.worker import CrashedError, TimedOutError, Worker
from mase_hw.prove.claims import Claim

Engine = Literal["prove", "native", "both"]
Status = Literal["killed", "equivalent", "alive", "invalid"]
READ_SECONDS = 300.0
BUILD_SECONDS = 900.0
NO_ANSWER = "no answer"


@dataclass(frozen=True)
class Sound:
    """An unmutated subject: its files, how long its steps take, which claims are not proved of it anyway."""

    subject: Subject
    folder: Path
    simulate: float
    prove: float
    unproved: tuple[Claim, ...]

    @property
    def simulate_limit(self) -> float:
        return max(30.0, 10 * self.simulate)

    @property
    def prove_limit(self) -> float:
        return max(20.0, 3 * self.prove)


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant. `bench` and `prover` say what each saw: "" for nothing, None if it was not asked."""

    status: Status
    subject: str = ""  # on which it was decided
    bench: str | None = None
    prover: str | None = None
    why: str = ""  # why it is equivalent or invalid, or what is odd about one that is alive
    seconds: float = 0.0

    @property
    def by(self) -> tuple[str, ...]:
        """Who kills it."""
        seen = {"bench": self.bench, "prover": self.prover}
        return tuple(who for who, text in seen.items() if text and not text.startswith(NO_ANSWER))


class Judge:
    """Tries mutants on the subjects of one build; several threads may use it, each with a worker of its own."""

    def __init__(self, build: Path, sounds: Mapping[str, Sound], engine: Engine) -> None:
        self._build, self._sounds, self._engine = build, sounds, engine
        self._locks: dict[Path, threading.Lock] = defaultdict(threading.Lock)

    def source(self, mutant: Mutant, components: Sequence[str], folder: Path, worker: Worker) -> Verdict:
        """A source mutant: killed if it is on one of its subjects, equivalent if it is on all of them."""
        started, verdicts = time.perf_counter(), []
        for component in components:
            sound = self._sounds[component]
            files = sound.subject.write(folder / (component or "design"), {mutant.file: mutant.text})
            names = tuple(file.name for file in files)
            task = Task(self._build, component, files[0].parent, names, sound=sound.folder)
            verdicts.append(self._try(sound, task, worker))
            if verdicts[-1].status in ("killed", "invalid"):
                break
        worst = next((v for v in verdicts if v.status in ("killed", "invalid", "alive")), verdicts[-1])
        return replace(verdicts[-1] if verdicts[-1].status == "killed" else worst, seconds=_since(started))

    def netlist(self, mutant: Mutant, number: int, folder: Path, worker: Worker) -> Verdict:
        """Mutant `number` of the list in `folder`."""
        started, sound = time.perf_counter(), self._sounds[mutant.component]
        names = tuple(sound.subject.texts)
        task = Task(self._build, mutant.component, folder, names, number, mutant.command, sound.folder)
        return replace(self._try(sound, task, worker), seconds=_since(started))

    def _try(self, sound: Sound, task: Task, worker: Worker) -> Verdict:
        name = sound.subject.name
        try:
            read = worker.call(work.read, task, seconds=READ_SECONDS)
        except (TimedOutError, CrashedError) as error:  # not hidden among the invalid ones
            return Verdict("alive", name, why=f"cannot be tried: {error or f'no answer in {READ_SECONDS:.0f} s'}")
        if read.invalid:
            return Verdict("invalid", name, why=read.no)
        if read.same:
            return Verdict("equivalent", name, why="Yosys reads the same netlist")
        bench = prover = None
        if self._engine != "prove":
            answer = self._simulate(sound, task, worker)
            if answer.invalid:
                assert not task.number, f"a netlist that Yosys wrote cannot be simulated: {answer.no}"
                return Verdict("invalid", name, why=answer.no)
            bench = answer.no
        seen = bench and not bench.startswith(NO_ANSWER)
        compared = Answer() if seen else self._compared(task, worker)
        if not seen and not compared.no:
            return Verdict("equivalent", name, bench, why=compared.why)
        if self._engine != "native":
            prover = self._prove(sound, task, worker)
        verdict = Verdict("alive", name, bench, prover, compared.no)
        if verdict.by:
            return replace(verdict, status="killed")
        return self._survivor(sound, task, worker, verdict)

    def _survivor(self, sound: Sound, task: Task, worker: Worker, verdict: Verdict) -> Verdict:
        """A simulation decides between a mutant that is equivalent and a hole in the prover."""
        if verdict.prover is None or verdict.prover or sound.unproved:
            return verdict
        if verdict.bench is None:
            seen = self._simulate(sound, task, worker).no
            if seen:
                return replace(verdict, why=f"every claim is proved, and yet a bench sees: {seen}")
        if sound.subject.pipe:
            why = "every claim is proved, for every input; cycles as predicted in simulation"
            return replace(verdict, status="equivalent", why=why)
        return verdict

    def _simulate(self, sound: Sound, task: Task, worker: Worker) -> Answer:
        limit = sound.simulate_limit
        with self._locks[task.folder]:  # its runs read which mutant is awake from one file
            try:
                compiled = worker.call(work.compile_native, task, seconds=BUILD_SECONDS)
            except TimedOutError:
                return Answer(f"{NO_ANSWER}: it was not compiled in {BUILD_SECONDS:.0f} s")
            if compiled.invalid:
                return compiled
            try:
                return worker.call(work.simulate, task, seconds=limit)
            except TimedOutError:
                # The limit is ten times what the unmutated subject takes, or more.
                return Answer(f"hangs: no end in {limit:.0f} s, where the unmutated one takes {sound.simulate:.1f} s")
            except CrashedError as error:
                return Answer(f"the simulation ended with {error}")

    def _prove(self, sound: Sound, task: Task, worker: Worker) -> str:
        """What the prover no longer proves; "" if it proves all that it proves of the unmutated subject."""
        try:
            answer = worker.call(work.prove, task, seconds=sound.prove_limit)
        except TimedOutError:
            return f"{NO_ANSWER} in {sound.prove_limit:.0f} s"
        except CrashedError as error:
            return f"{NO_ANSWER}: it ended with {error}"
        known = {(claim.component, claim.about) for claim in sound.unproved}
        new = [claim for claim in answer.unproved if (claim.component, claim.about) not in known]
        return "; ".join(f"{claim.about} {claim.status}: {claim.detail}" for claim in new)

    def _compared(self, task: Task, worker: Worker) -> Answer:
        try:
            return worker.call(work.compare, task, seconds=READ_SECONDS + 5 * work.SOLVER)
        except (TimedOutError, CrashedError) as error:
            return Answer(f"not shown to be equal: {error or 'no answer in time'}")


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 2)
