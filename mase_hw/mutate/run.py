"""A mutation run: draws the mutants of a build, tries them side by side, and gives each verdict as it comes."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.mutate import work
from mase_hw.mutate.judge import Engine, Judge, Sound, Verdict
from mase_hw.mutate.mutant import Kind, Mutant
from mase_hw.mutate.netlist import netlist_mutants, shares
from mase_hw.mutate.source import source_mutants
from mase_hw.mutate.store import Store, mutant_key, subject_key
from mase_hw.mutate.subject import read_texts, subjects
from mase_hw.mutate.work import Task
from mase_hw.mutate.worker import CrashedError, TimedOutError, Worker
from mase_hw.prove.claims import Claim
from mase_hw.simulate.whole import check_whole

SOUND_SECONDS = 3600.0


@dataclass(frozen=True)
class Request:
    """What the user asks for."""

    count: int = 40
    seed: int = 0
    engine: Engine = "both"
    kinds: tuple[Kind, ...] = ("source", "netlist")
    jobs: int = max(1, os.cpu_count() or 1)


@dataclass(frozen=True)
class Judged:
    """A mutant and its verdict."""

    mutant: Mutant
    verdict: Verdict


class Run:
    """One run over a build. `mutants` is how many there are, once `__iter__` has begun."""

    def __init__(self, build: Build, request: Request, progress: Callable[[str], None] = lambda text: None) -> None:
        check_whole(build)
        self._build, self._request, self._progress = build, request, progress
        self._path = build.path.resolve()
        self._subjects = subjects(self._path)
        self._store = Store(self._path)
        self._workers: SimpleQueue[Worker] = SimpleQueue()
        self._all = [Worker() for _ in range(request.jobs)]
        for worker in self._all:
            self._workers.put(worker)
        self.mutants = 0

    def __iter__(self) -> Iterator[Judged]:
        """Each mutant with its verdict, in the order in which they are done."""
        with tempfile.TemporaryDirectory(prefix="mase-hw-mutate-") as name, ThreadPoolExecutor(len(self._all)) as pool:
            folder = Path(name)
            try:
                yield from self._judged(folder, pool)
            finally:  # Ctrl-C too: nothing goes on behind the back of who stopped it
                pool.shutdown(wait=False, cancel_futures=True)
                for worker in self._all:
                    worker.stop()

    def _judged(self, folder: Path, pool: ThreadPoolExecutor) -> Iterator[Judged]:
        drawn = self._draw(folder)
        self.mutants = len(drawn)
        concerned = {mutant.place + str(k): self._concerned(mutant) for k, (mutant, _) in enumerate(drawn)}
        needed = sorted({c for each in concerned.values() for c in each}, key=lambda c: self._subjects[c].size)
        sounds = dict(zip(needed, pool.map(lambda c: self._sound(c, folder), needed), strict=True))
        _refuse_unsound(self._build, sounds)
        judge = Judge(self._path, sounds, self._request.engine)
        keys = {c: subject_key(self._subjects[c], self._request.engine) for c in needed}
        waiting: dict[Future[Verdict], tuple[Mutant, str]] = {}
        for k, (mutant, number) in enumerate(drawn):
            components = concerned[mutant.place + str(k)]
            name = mutant_key(mutant, self._request.engine, [keys[c] for c in components])
            known = self._store.verdict(name)
            if known is not None:
                yield Judged(mutant, known)
                continue
            place = folder / f"mutant{k}" if mutant.kind == "source" else folder / "netlists" / mutant.component
            waiting[pool.submit(self._one, judge, mutant, number, components, place)] = (mutant, name)
        self._progress("trying mutants")
        for future in as_completed(waiting):
            mutant, name = waiting[future]
            verdict = future.result()
            self._store.put(name, verdict)
            yield Judged(mutant, verdict)

    def _one(self, judge: Judge, mutant: Mutant, number: int, components: list[str], place: Path) -> Verdict:
        worker = self._workers.get()
        try:
            if mutant.kind == "netlist":
                return judge.netlist(mutant, number, place, worker)
            return judge.source(mutant, components, place, worker)
        finally:
            self._workers.put(worker)

    def _draw(self, folder: Path) -> list[tuple[Mutant, int]]:
        """The mutants, netlist ones with their number in their component's list."""
        request, kinds = self._request, self._request.kinds
        self._progress("drawing mutants")
        drawn: list[tuple[Mutant, int]] = []
        of_netlist = request.count // len(kinds) if "netlist" in kinds else 0
        if "source" in kinds:
            texts = read_texts(self._build)
            drawn += [(mutant, 0) for mutant in source_mutants(texts, request.count - of_netlist, request.seed)]
        for component, count in shares(self._subjects, of_netlist).items():
            place = folder / "netlists" / component
            found = netlist_mutants(self._subjects[component], count, request.seed, place)
            drawn += [(mutant, number) for number, mutant in enumerate(found, 1)]
        return drawn

    def _concerned(self, mutant: Mutant) -> list[str]:
        """The components whose files it changes, the smallest first; for the top's own file, the whole design."""
        if mutant.kind == "netlist":
            return [mutant.component]
        touched = [name for name, subject in self._subjects.items() if name and mutant.file in subject.texts]
        return sorted(touched, key=lambda name: self._subjects[name].size) or [""]

    def _sound(self, component: str, folder: Path) -> Sound:
        """The unmutated subject, simulated and proved: how long that takes bounds how long a mutant may take."""
        subject, engine = self._subjects[component], self._request.engine
        place = folder / "sound" / subject.name
        files = subject.write(place)
        name = subject_key(subject, engine)
        known = self._store.get(name)
        if known is None:
            self._progress(f"trying {subject.name} as it is")
            task = Task(self._path, component, place, tuple(file.name for file in files))
            worker = self._workers.get()
            try:
                known = _measured(task, worker, engine)
            finally:
                self._workers.put(worker)
            self._store.put(name, known)
        unproved = tuple(Claim(*claim) for claim in known["unproved"])
        failed = Claim(subject.name, "bench", "refuted", "", known["bench"]) if known["bench"] else None
        return Sound(subject, place, known["simulate"], known["prove"], (*unproved, *([failed] if failed else [])))


def _measured(task: Task, worker: Worker, engine: Engine) -> dict[str, Any]:
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


def _refuse_unsound(build: Build, sounds: dict[str, Sound]) -> None:
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
