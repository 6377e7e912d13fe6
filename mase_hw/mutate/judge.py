"""The judge: one mutant tried on every subject that it touches, until something notices it."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from mase_hw.ir.plumbing import Plumbing
from mase_hw.mutate import work
from mase_hw.mutate.equal import DIFFERS, SOLVER, equal_states, equal_streams
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.subject import Subject
from mase_hw.mutate.work import Answer, JudgingTask
from mase_hw.mutate.worker import CrashedError, TimedOutError, Worker
from mase_hw.prove.claims.claim import Claim

Engine = Literal["prove", "native", "both", "any"]
Status = Literal["killed", "equivalent", "alive", "invalid"]
READ_SECONDS = 300.0
BUILD_SECONDS = 900.0
CHEAP = 5.0  # seconds of a proof that are less than those of a comparison
NO_ANSWER = "no answer"
_PROVED = "its values, timing and handshake are proved, for every input; cycles as predicted in simulation"


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
        return max(120.0, 10 * self.prove)  # another machine, or one that is busy, takes longer


@dataclass(frozen=True)
class Proof:
    """What the prover says of a mutant: "" if all is proved; whether it may behave otherwise, and whether it does."""

    text: str
    doubts: bool = True
    refuted: bool = False


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

    def together(self, mutants: Mapping[int, Mutant], component: str, folder: Path, worker: Worker) -> dict[int, str]:
        """What the bench sees of source mutants of one file, all compiled as one design; "" is nothing.

        Those that cannot be put together with others, or are no design at all, are not in it.
        """
        sound = self._sounds[component]
        folder.mkdir(parents=True, exist_ok=True)
        task = JudgingTask(self._build, component, folder, tuple(sound.subject.texts))
        try:
            compiled = worker.call(work.together, task, mutants, seconds=BUILD_SECONDS)
        except TimedOutError:
            return {}
        if compiled is None:  # one of them is refused, nobody says which
            numbers = list(mutants)
            halves = numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]
            parts = [{n: mutants[n] for n in half} for half in halves if len(numbers) > 1]
            found = [self.together(part, component, folder / str(k), worker) for k, part in enumerate(parts)]
            return {n: said for each in found for n, said in each.items()}
        return {number: self._run(sound, replace(task, number=number), worker).no for number in compiled}

    def source(
        self, mutant: Mutant, components: Sequence[str], folder: Path, worker: Worker, bench: str | None = None
    ) -> Verdict:
        """A source mutant: killed if it is on one of its subjects, equivalent if it is on all of them.

        `bench` is what the bench saw on the first of them, if it was asked already.
        """
        started, verdicts = time.perf_counter(), []
        for component in components:
            sound = self._sounds[component]
            files = sound.subject.write(folder / (component or "design"), {mutant.file: mutant.text})
            names = tuple(file.name for file in files)
            task = JudgingTask(self._build, component, files[0].parent, names, sound=sound.folder)
            verdicts.append(self._try(sound, task, worker, bench if component == components[0] else None))
            if verdicts[-1].status in ("killed", "invalid"):
                break
        worst = next((v for v in verdicts if v.status in ("killed", "invalid", "alive")), verdicts[-1])
        return replace(verdicts[-1] if verdicts[-1].status == "killed" else worst, seconds=_since(started))

    def netlist(self, mutant: Mutant, number: int, folder: Path, worker: Worker) -> Verdict:
        """Mutant `number` of the list in `folder`."""
        started, sound = time.perf_counter(), self._sounds[mutant.component]
        names = tuple(sound.subject.texts)
        task = JudgingTask(self._build, mutant.component, folder, names, number, mutant.command, sound.folder)
        return replace(self._try(sound, task, worker), seconds=_since(started))

    def _try(self, sound: Sound, task: JudgingTask, worker: Worker, bench: str | None = None) -> Verdict:
        name = sound.subject.name
        if task.netlist and self._engine == "any":  # it is a design, and the bench is the cheapest
            bench = self._simulate(sound, task, worker).no
            if _seen(bench):
                return Verdict("killed", name, bench)
        try:
            read = worker.call(work.read, task, seconds=READ_SECONDS)
        except (TimedOutError, CrashedError) as error:  # not hidden among the invalid ones
            return Verdict("alive", name, why=f"cannot be tried: {error or f'no answer in {READ_SECONDS:.0f} s'}")
        if read.invalid:
            return Verdict("invalid", name, why=read.no)
        if read.same:
            return Verdict("equivalent", name, why="Yosys reads the same netlist")
        if self._engine != "prove" and bench is None:
            answer = self._simulate(sound, task, worker)
            if answer.invalid:
                assert not task.netlist, f"a netlist that Yosys wrote cannot be simulated: {answer.no}"
                return Verdict("invalid", name, why=answer.no)
            bench = answer.no
        if _seen(bench):
            prover = self._prove(sound, task, worker).text if self._engine == "both" else None
            return Verdict("killed", name, bench, prover)
        return self._unseen(sound, task, worker, bench)

    def _unseen(self, sound: Sound, task: JudgingTask, worker: Worker, bench: str | None) -> Verdict:
        """The bench saw nothing, or was not asked: the prover and what shows that it is equal, the cheapest first."""
        name, proof, why = sound.subject.name, None, ""
        steps = ["states", "prove", "long", "streams"]  # of a top, a wire that is joined otherwise decides
        if task.component and sound.prove < CHEAP:
            steps = ["prove", "long", "states", "streams"]
        if bench is None:  # a proof alone does not show that it is equal
            steps = ["states", "streams", "prove"]
        for step in steps:
            if step == "prove" and self._engine != "native":
                proof = self._prove(sound, task, worker)
                if bench == "" and task.component and not sound.unproved and not proof.doubts:
                    return Verdict("equivalent", name, bench, why=_PROVED)
                plumbing = task.component and isinstance(sound.subject.part, Plumbing)  # proved for any input
                if proof.refuted and not plumbing:
                    return Verdict("killed", name, bench, proof.text)
            elif step == "long" and bench == "":
                said = self._simulate(sound, task, worker, work.MANY)
                if _seen(said.no) and not said.invalid:
                    text = f"with {work.MANY} random vectors: {said.no}"
                    return Verdict("killed", name, text, None if proof is None else proof.text)
            elif step in ("states", "streams"):
                compared = self._compared(equal_states if step == "states" else equal_streams, task, worker)
                if not compared.no:
                    return Verdict("equivalent", name, bench, why=compared.why)
                why = compared.no
        verdict = Verdict("alive", name, bench, None if proof is None else proof.text, why)
        if verdict.by:
            return replace(verdict, status="killed")
        return self._survivor(sound, task, worker, verdict)

    def _survivor(self, sound: Sound, task: JudgingTask, worker: Worker, verdict: Verdict) -> Verdict:
        """A simulation decides between a mutant that is equivalent and a hole in the prover."""
        if verdict.prover is None or verdict.prover or sound.unproved or verdict.bench:
            return verdict
        if verdict.bench is None:
            seen = self._simulate(sound, task, worker).no
            if seen:
                return replace(verdict, why=f"every claim is proved, and yet a bench sees: {seen}")
        if task.component and DIFFERS not in verdict.why:
            return replace(verdict, status="equivalent", why=_PROVED)
        return verdict

    def _simulate(self, sound: Sound, task: JudgingTask, worker: Worker, vectors: int = work.VECTORS) -> Answer:
        with self._locks[task.folder]:  # its runs read which mutant is awake from one file
            try:
                compiled = worker.call(work.compile_native, task, seconds=BUILD_SECONDS)
            except TimedOutError:
                return Answer(f"{NO_ANSWER}: it was not compiled in {BUILD_SECONDS:.0f} s")
            return compiled if compiled.invalid else self._run(sound, task, worker, vectors)

    def _run(self, sound: Sound, task: JudgingTask, worker: Worker, vectors: int = work.VECTORS) -> Answer:
        limit = sound.simulate_limit * vectors / work.VECTORS
        try:
            return worker.call(work.simulate, task, vectors, seconds=limit)
        except TimedOutError:
            # The limit is ten times what the unmutated subject takes, or more.
            return Answer(f"hangs: no end in {limit:.0f} s, where the unmutated one takes {sound.simulate:.1f} s")
        except CrashedError as error:
            return Answer(f"the simulation ended with {error}")

    def _prove(self, sound: Sound, task: JudgingTask, worker: Worker) -> Proof:
        """What the prover no longer proves of what it proves of the unmutated subject."""
        try:
            answer = worker.call(work.prove, task, seconds=sound.prove_limit)
        except TimedOutError:
            return Proof(f"{NO_ANSWER} in {sound.prove_limit:.0f} s")
        except CrashedError as error:
            return Proof(f"{NO_ANSWER}: it ended with {error}")
        known = {(claim.component, claim.about) for claim in sound.unproved}
        new = [claim for claim in answer.unproved if (claim.component, claim.about) not in known]
        text = "; ".join(f"{claim.about} {claim.status}: {claim.detail}" for claim in new)
        # Widths say how much hardware there is, not what it does. Values are refuted by an input and its wrong output,
        # the wiring of a whole design by a bit that comes from elsewhere.
        doubts = any(claim.about != "widths" for claim in new)
        decides = "values" if task.component else "wiring"
        return Proof(text, doubts, any((claim.about, claim.status) == (decides, "refuted") for claim in new))

    def _compared(self, how: Callable[[JudgingTask], Answer], task: JudgingTask, worker: Worker) -> Answer:
        try:
            return worker.call(how, task, seconds=READ_SECONDS + 5 * SOLVER)
        except (TimedOutError, CrashedError) as error:
            return Answer(f"not shown to be equal: {error or 'no answer in time'}")


def _seen(bench: str | None) -> bool:
    return bool(bench) and not str(bench).startswith(NO_ANSWER)


def _since(started: float) -> float:
    return round(time.perf_counter() - started, 2)
