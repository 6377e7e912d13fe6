"""A mutation run: draws the mutants of a build, tries them side by side, and gives each verdict as it comes."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from mase_hw.emit import Build
from mase_hw.emit.written import check_written
from mase_hw.mutate.judge import Engine, Judge, Sound, Verdict
from mase_hw.mutate.mutant import Kind, Mutant
from mase_hw.mutate.netlist import netlist_mutants, shares
from mase_hw.mutate.sound import measured, refuse_unsound
from mase_hw.mutate.source import source_mutants
from mase_hw.mutate.store import Store, kept_verdicts, mutant_key, subject_key
from mase_hw.mutate.subject import read_texts, subjects
from mase_hw.mutate.work import JudgingTask
from mase_hw.mutate.worker import Worker
from mase_hw.prove.claims.claim import Claim
from mase_hw.simulate.whole import check_whole

TOGETHER = 128  # source mutants that are compiled as one design


@dataclass(frozen=True)
class MutationRequest:
    """What the user asks for. `everywhere`: at every place of the source; `count` is of netlist mutants then."""

    count: int = 40
    seed: int = 0
    engine: Engine = "both"
    kinds: tuple[Kind, ...] = ("source", "netlist")
    jobs: int = max(1, os.cpu_count() or 1)
    everywhere: bool = False


@dataclass(frozen=True)
class Judged:
    """A mutant and its verdict."""

    mutant: Mutant
    verdict: Verdict


@dataclass(frozen=True)
class _Waiting:
    """A mutant without a verdict yet."""

    mutant: Mutant
    number: int  # netlist: of its component's list; source: of those that are drawn, from 1
    components: list[str]
    key: str
    place: Path


_Told = tuple[_Waiting, Verdict | str | None] | BaseException  # None: the bench was not asked


class Run:
    """One run over a build. `mutants` is how many there are, once `__iter__` has begun."""

    def __init__(
        self, build: Build, request: MutationRequest, progress: Callable[[str], None] = lambda text: None
    ) -> None:
        check_whole(build)
        check_written(build)
        self._build, self._request, self._progress = build, request, progress
        self._scratch = tempfile.TemporaryDirectory(prefix="mase-hw-mutate-")
        self._path = build.copy_to(Path(self._scratch.name) / "build")  # what the workers read
        self._subjects = subjects(self._path)
        self._store = Store(kept_verdicts(build.path))
        self._workers: SimpleQueue[Worker] = SimpleQueue()
        self._all = [Worker() for _ in range(request.jobs)]
        for worker in self._all:
            self._workers.put(worker)
        self.mutants = 0

    def __iter__(self) -> Iterator[Judged]:
        """Each mutant with its verdict, in the order in which they are done."""
        with self._scratch as name, ThreadPoolExecutor(len(self._all)) as pool:
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
        refuse_unsound(self._build, sounds)
        judge = Judge(self._path, sounds, self._request.engine)
        keys = {c: subject_key(self._subjects[c], self._request.engine) for c in needed}
        waiting = []
        for k, (mutant, number) in enumerate(drawn):
            components = concerned[mutant.place + str(k)]
            name = mutant_key(mutant, self._request.engine, [keys[c] for c in components])
            known = self._store.verdict(name)
            if known is not None:
                yield Judged(mutant, known)
            elif mutant.kind == "source":
                waiting.append(_Waiting(mutant, k + 1, components, name, folder / f"mutant{k}"))
            else:
                waiting.append(_Waiting(mutant, number, components, name, folder / "netlists" / mutant.component))
        self._progress("trying mutants")
        done: SimpleQueue[_Told] = SimpleQueue()
        for k, batch in enumerate(_batches(waiting)):
            pool.submit(self._bench, judge, batch, folder / f"batch{k}", done)
        left: list[tuple[_Waiting, str | None]] = []
        for each, found in _told(done, len(waiting)):
            if isinstance(found, Verdict):
                yield self._kept(each, found)
            else:
                left.append((each, found))
        # What a bench does not settle takes seconds or minutes each: the cheapest come first.
        left.sort(key=lambda one: (max(sounds[c].prove for c in one[0].components), one[0].number))
        for each, bench in left:
            pool.submit(self._one, judge, each, bench, done)
        for each, found in _told(done, len(left)):
            assert isinstance(found, Verdict)
            yield self._kept(each, found)

    def _kept(self, each: _Waiting, verdict: Verdict) -> Judged:
        self._store.put(each.key, verdict)
        return Judged(each.mutant, verdict)

    def _bench(self, judge: Judge, batch: list[_Waiting], folder: Path, done: SimpleQueue[_Told]) -> None:
        """What the bench says of source mutants that are compiled as one design; a verdict where that is enough."""
        worker, bench = self._workers.get(), dict[int, str]()
        try:
            if len(batch) > 1 and self._request.engine != "prove":
                mutants = {each.number: each.mutant for each in batch}
                bench = judge.together(mutants, batch[0].components[0], folder, worker)
            for each in batch:
                said = bench.get(each.number)
                enough = bool(said) and self._request.engine in ("native", "any")
                done.put((each, Verdict("killed", self._subjects[each.components[0]].name, said) if enough else said))
        except BaseException as error:  # told to who waits for the verdicts
            done.put(error)
        finally:
            self._workers.put(worker)

    def _one(self, judge: Judge, each: _Waiting, bench: str | None, done: SimpleQueue[_Told]) -> None:
        worker = self._workers.get()
        try:
            if each.mutant.kind == "netlist":
                verdict = judge.netlist(each.mutant, each.number, each.place, worker)
            else:
                verdict = judge.source(each.mutant, each.components, each.place, worker, bench)
                shutil.rmtree(each.place, ignore_errors=True)
            done.put((each, verdict))
        except BaseException as error:
            done.put(error)
        finally:
            self._workers.put(worker)

    def _draw(self, folder: Path) -> list[tuple[Mutant, int]]:
        """The mutants, netlist ones with their number in their component's list."""
        request, kinds = self._request, self._request.kinds
        self._progress("drawing mutants")
        drawn: list[tuple[Mutant, int]] = []
        of_netlist = request.count // (1 if request.everywhere else len(kinds)) if "netlist" in kinds else 0
        if "source" in kinds:
            texts = read_texts(self._build)
            count = None if request.everywhere else request.count - of_netlist
            drawn += [(mutant, 0) for mutant in source_mutants(texts, count, request.seed)]
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
            task = JudgingTask(self._path, component, place, tuple(file.name for file in files))
            worker = self._workers.get()
            try:
                known = measured(task, worker, engine)
            finally:
                self._workers.put(worker)
            self._store.put(name, known)
        unproved = tuple(Claim(*claim) for claim in known["unproved"])
        failed = Claim(subject.name, "bench", "refuted", "", known["bench"]) if known["bench"] else None
        return Sound(subject, place, known["simulate"], known["prove"], (*unproved, *([failed] if failed else [])))


def _told(done: SimpleQueue[_Told], count: int) -> Iterator[tuple[_Waiting, Verdict | str | None]]:
    for _ in range(count):
        found = done.get()
        if isinstance(found, BaseException):
            raise found
        yield found


def _batches(waiting: list[_Waiting]) -> list[list[_Waiting]]:
    """Source mutants of a file that are tried on the same component first, together; in the order of the first ones."""
    groups: dict[tuple[object, ...], list[list[_Waiting]]] = {}
    for k, each in enumerate(waiting):
        source = each.mutant.kind == "source"
        name = (each.mutant.file, each.components[0]) if source else (k,)
        batches = groups.setdefault(name, [[]])
        if len(batches[-1]) == TOGETHER:
            batches.append([])
        batches[-1].append(each)
    order = {id(each): k for k, each in enumerate(waiting)}
    return sorted((b for batches in groups.values() for b in batches), key=lambda batch: order[id(batch[0])])
