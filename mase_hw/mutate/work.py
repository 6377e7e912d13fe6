"""The work on one mutant, step by step, as it is done in a worker process: elaborate, simulate, prove."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mase_hw.diagnostics import ProblemsError
from mase_hw.isolated import python_command, tool_environment
from mase_hw.mutate import yosys as yosys_script
from mase_hw.mutate.combine import combine
from mase_hw.mutate.items import refused
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.subject import Subject, subjects
from mase_hw.prove.claims.claim import Claim, NotProvedError
from mase_hw.prove.claims.wiring import prove_wiring
from mase_hw.prove.netlist.netlist import Netlist, component_of, elaborate, netlist_of
from mase_hw.prove.prove import prove_design
from mase_hw.simulate.job import PATTERNS
from mase_hw.simulate.native import simulate_native
from mase_hw.simulate.native_build import build_library
from mase_hw.simulate.native_stimulus import blocks

VECTORS = 256  # random ones, beside corners, one-hot vectors and accumulator extremes: as `mase-hw sim`
MANY = 16_384  # for what nobody has seen, and nothing has shown to be equal yet


@dataclass(frozen=True)
class JudgingTask:
    """A mutant on a subject. `files` are in `folder`; `number` is which of those that it is compiled with."""

    build: Path
    component: str
    folder: Path
    files: tuple[str, ...]
    number: int = 0
    command: str = ""
    sound: Path | None = None  # the folder of the unmutated files, to compare with

    @property
    def netlist(self) -> bool:
        return bool(self.command)

    @property
    def subject(self) -> Subject:
        return subjects(self.build)[self.component]


@dataclass(frozen=True)
class Answer:
    """What a step found. `no` is what it found wrong; empty: nothing."""

    no: str = ""
    why: str = ""  # how it was shown
    invalid: bool = False  # it is no design at all
    same: bool = False  # the netlist is the unmutated one
    unproved: tuple[Claim, ...] = ()


_read: tuple[JudgingTask, dict[str, Netlist]] | None = None  # the last task that was elaborated


def read(task: JudgingTask) -> Answer:
    """Whether Yosys can read it, and whether it reads anything else than the unmutated files."""
    try:
        mine = elaborated(task)
    except ProblemsError as error:
        return Answer(_first(error), invalid=True)
    return Answer(same=shape(mine) == shape(unmutated(task)))


def compile_native(task: JudgingTask) -> Answer:
    """Verilator and the C++ compiler; what they make is in the cache then. How long that takes says nothing."""
    try:
        build_library(_simulated(task), task.subject.design.name)
    except ProblemsError as error:
        return Answer(_first(error), invalid=True)
    return Answer()


def together(task: JudgingTask, mutants: Mapping[int, Mutant]) -> tuple[int, ...] | None:
    """Compiles mutants of one file as one design; which of them are in it. None: not told which of them is refused."""
    subject, left = task.subject, dict(mutants)
    while left:
        made = combine(subject.texts, left, task.folder / "selected.hex")
        if not made.numbers:
            break
        file = left[made.numbers[0]].file
        files = subject.write(task.folder, {file: made.text})
        lines = refused({**subject.texts, file: made.text}, file)
        if not lines:
            try:
                build_library(files, subject.design.name)
            except ProblemsError as error:
                lines = {p.where.line for p in error.problems if p.where is not None and p.where.path.name == file}
            else:
                return made.numbers
        bad = {made.owners[line] for line in lines if line in made.owners}
        if not bad:
            return None
        left = {number: left[number] for number in made.numbers if number not in bad}
    return ()


def simulate(task: JudgingTask, vectors: int = VECTORS) -> Answer:
    """All vectors under all patterns of stalls, cycles compared too."""
    design = task.subject.design
    if task.number:
        (task.folder / "selected.hex").write_text(f"{task.number:x}\n", encoding="utf-8")
    seed = int(vectors != VECTORS)  # registers start otherwise too
    stimulus = blocks(design, vectors, seed)
    outcome = simulate_native(design, _simulated(task), stimulus, PATTERNS, seed, task.folder / "native")
    return Answer("" if outcome.passed else next(iter(outcome.failures), "a run that did not pass"))


def _simulated(task: JudgingTask) -> tuple[Path, ...]:
    if task.netlist:
        return task.folder / "all.v", task.folder / "outer" / f"{task.subject.design.name}.sv"
    return tuple(task.folder / name for name in task.files)


def prove(task: JudgingTask) -> Answer:
    """The claims of the component that are not proved; of the whole design, the wiring."""
    subject = task.subject
    netlists = elaborated(task)
    if subject.component:
        claims = prove_design(subject.design, netlists, any_input=False).claims
    else:
        try:
            claims = (Claim(subject.design.name, "wiring", "proved", prove_wiring(subject.design, netlists[""])),)
        except NotProvedError as error:
            claims = (Claim(subject.design.name, "wiring", "refuted" if error.refuted else "open", "", str(error)),)
    return Answer(unproved=tuple(claim for claim in claims if claim.status != "proved"))


def yosys(job: dict[str, object], folder: Path) -> str:
    """Lets another process do a job of yosys.py in `folder`; what it printed."""
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    command = python_command(yosys_script.__file__, "job.json")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=tool_environment())
    return done.stdout + done.stderr


def elaborated(task: JudgingTask) -> dict[str, Netlist]:
    """The netlists of the mutant; those of the last one are kept."""
    global _read
    if _read is None or _read[0] != task:
        subject = task.subject
        if task.netlist:
            modules = json.loads((task.folder / f"{task.number}.json").read_text("utf-8"))["modules"]
            top = subject.design.name
            netlists = {component_of(name, top): netlist_of(name, module) for name, module in modules.items()}
        else:
            paths = [task.folder / name for name in task.files]
            netlists = elaborate(paths, subject.design.name, _names(subject))
        _read = task, netlists
    return _read[1]


def unmutated(task: JudgingTask) -> dict[str, Netlist]:
    """The netlists of the subject as it is."""
    assert task.sound is not None
    return _read_once(task.build, task.component, task.sound)


@lru_cache(maxsize=16)
def _read_once(build: Path, component: str, folder: Path) -> dict[str, Netlist]:
    subject = subjects(build)[component]
    return elaborate([folder / name for name in subject.texts], subject.design.name, _names(subject))


def _names(subject: Subject) -> list[str]:
    return [component.name for component in subject.design.components]


def shape(netlists: dict[str, Netlist]) -> object:
    """A netlist without its comments: where each cell comes from, and the names of wires."""
    return {
        name: (netlist.ports, [(c.name, c.type, sorted(c.parameters.items()), c.ports) for c in netlist.cells])
        for name, netlist in netlists.items()
    }


def _first(error: ProblemsError) -> str:
    return str(error).splitlines()[0]
