"""The work on one mutant, step by step, as it is done in a worker process: elaborate, simulate, prove, compare."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mase_hw.diagnostics import ProblemsError
from mase_hw.mutate.miter import miter_text
from mase_hw.mutate.subject import Subject, subjects
from mase_hw.mutate.yosys import SELECT
from mase_hw.prove.claims import Claim, NotProvedError
from mase_hw.prove.netlist import Netlist, component_of, elaborate, netlist_of
from mase_hw.prove.run import prove_design
from mase_hw.prove.wiring import prove_wiring
from mase_hw.simulate.bench import PATTERNS
from mase_hw.simulate.native import simulate_native
from mase_hw.simulate.native_build import build_library
from mase_hw.simulate.native_stimulus import blocks

VECTORS = 256  # random ones, beside corners, one-hot vectors and accumulator extremes: as `mase-hw sim`
SOLVER = 60  # seconds that the solver may think about whether two netlists are equal


@dataclass(frozen=True)
class Task:
    """A mutant on a subject. `files` are in `folder`; a netlist mutant is number `number` of the component's list."""

    build: Path
    component: str
    folder: Path
    files: tuple[str, ...]
    number: int = 0
    command: str = ""
    sound: Path | None = None  # the folder of the unmutated files, to compare with

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


_read: tuple[Task, dict[str, Netlist]] | None = None  # the last task that was elaborated


def read(task: Task) -> Answer:
    """Whether Yosys can read it, and whether it reads anything else than the unmutated files."""
    try:
        mine = _elaborate(task)
    except ProblemsError as error:
        return Answer(_first(error), invalid=True)
    assert task.sound is not None
    return Answer(same=_shape(mine) == _shape(_sound(task.build, task.component, task.sound)))


def compile_native(task: Task) -> Answer:
    """Verilator and the C++ compiler; what they make is in the cache then. How long that takes says nothing."""
    try:
        build_library(_simulated(task), task.subject.design.name)
    except ProblemsError as error:
        return Answer(_first(error), invalid=True)
    return Answer()


def simulate(task: Task) -> Answer:
    """All vectors under all patterns of stalls, cycles compared too."""
    design = task.subject.design
    if task.number:
        (task.folder / "selected.hex").write_text(f"{task.number:x}\n", encoding="utf-8")
    vectors = blocks(design, VECTORS, 0)
    outcome = simulate_native(design, _simulated(task), vectors, PATTERNS, 0, task.folder / "native")
    return Answer("" if outcome.passed else next(iter(outcome.failures), "a run that did not pass"))


def _simulated(task: Task) -> tuple[Path, ...]:
    if task.number:
        return task.folder / "all.v", task.folder / "outer" / f"{task.subject.design.name}.sv"
    return tuple(task.folder / name for name in task.files)


def prove(task: Task) -> Answer:
    """The claims of the component that are not proved; of the whole design, the wiring."""
    subject = task.subject
    netlists = _elaborate(task)
    if subject.component:
        claims = prove_design(subject.design, netlists).claims
    else:
        try:
            claims = (Claim(subject.design.name, "wiring", "proved", prove_wiring(subject.design, netlists[""])),)
        except NotProvedError as error:
            claims = (Claim(subject.design.name, "wiring", "refuted" if error.refuted else "open", "", str(error)),)
    return Answer(unproved=tuple(claim for claim in claims if claim.status != "proved"))


def compare(task: Task) -> Answer:
    """Whether Yosys proves that it is the unmutated design; `no` if it does not."""
    assert task.sound is not None
    sound = _sound(task.build, task.component, task.sound)
    if _widths(_elaborate(task)[""]) != _widths(sound[""]):
        return Answer("its ports are not those of the design")
    (task.folder / "sound").mkdir(exist_ok=True)
    for name in task.files:
        (task.folder / "sound" / name).write_bytes((task.sound / name).read_bytes())
    job = {
        "job": "compare",
        "files": [f"sound/{name}" for name in task.files],
        "mutated": task.files,
        "command": task.command,
        "top": task.subject.design.name,
        "component": task.component,
        "seconds": SOLVER,
    }
    (task.folder / "equal").unlink(missing_ok=True)
    yosys(job, task.folder)
    if (task.folder / "equal").exists():
        return Answer("", why="from every state the same outputs and the same next state (Yosys, SAT)")
    (task.folder / "miter.v").write_text(miter_text(task.subject.design), encoding="utf-8")
    (task.folder / "miter.aig").unlink(missing_ok=True)
    yosys({**job, "job": "sequential"}, task.folder)
    said = abc(task.folder) if (task.folder / "miter.aig").exists() else ""
    if "Property proved" in said or "UNSATISFIABLE" in said:  # the latter where no register is left
        return Answer(
            "", why="from reset the same valid, ready and data on every stream that keeps its rules (ABC, PDR)"
        )
    differs = re.search(r"asserted in frame (\d+)", said)
    return Answer(f"ABC has a stream on which it differs in cycle {differs[1]}" if differs else "not shown to be equal")


def yosys(job: dict[str, object], folder: Path) -> str:
    """Lets another process do a job of yosys.py in `folder`; what it printed."""
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    command = [sys.executable, "-m", "mase_hw.mutate.yosys", "job.json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return done.stdout + done.stderr


def abc(folder: Path) -> str:
    """What ABC says of the miter: registers that are always equal are merged, then it looks for an invariant."""
    import pyosys

    tool = Path(pyosys.__file__).parent / "yosys-abc"
    script = f"read_aiger miter.aig; strash; scorr; dc2; scorr; pdr -T {SOLVER}; sat"
    try:
        done = subprocess.run([str(tool), "-c", script], cwd=folder, capture_output=True, text=True, timeout=4 * SOLVER)
    except subprocess.TimeoutExpired:
        return "no answer"
    return done.stdout


def write_outer(subject: Subject, folder: Path, width: int) -> None:
    """A top around a netlist that holds many mutants: which of them is awake is read from a file when a run starts."""
    text = subject.texts[f"{subject.design.name}.sv"]
    header = text[text.index("module ") : text.index(");") + 2]
    place = json.dumps(str(folder / "selected.hex"))
    outer = [
        header,
        "  logic [31:0] selected[1];",
        f"  initial $readmemh({place}, selected);",
        f"  {subject.design.name}_inner u_inner (.*, .{SELECT}(selected[0][{width - 1}:0]));",
        "endmodule",
    ]
    (folder / "outer").mkdir(exist_ok=True)
    (folder / "outer" / f"{subject.design.name}.sv").write_text("\n".join(outer) + "\n", encoding="utf-8")


def _elaborate(task: Task) -> dict[str, Netlist]:
    global _read
    if _read is None or _read[0] != task:
        subject = task.subject
        if task.number:
            modules = json.loads((task.folder / f"{task.number}.json").read_text("utf-8"))["modules"]
            top = subject.design.name
            netlists = {component_of(name, top): netlist_of(name, module) for name, module in modules.items()}
        else:
            paths = [task.folder / name for name in task.files]
            netlists = elaborate(paths, subject.design.name, _names(subject))
        _read = task, netlists
    return _read[1]


@lru_cache(maxsize=16)
def _sound(build: Path, component: str, folder: Path) -> dict[str, Netlist]:
    subject = subjects(build)[component]
    return elaborate([folder / name for name in subject.texts], subject.design.name, _names(subject))


def _widths(top: Netlist) -> dict[str, int]:
    return {port: len(nets) for port, nets in top.ports.items()}


def _names(subject: Subject) -> list[str]:
    return [component.name for component in subject.design.components]


def _shape(netlists: dict[str, Netlist]) -> object:
    """A netlist without its comments: where each cell comes from, and the names of wires."""
    return {
        name: (netlist.ports, [(c.name, c.type, sorted(c.parameters.items()), c.ports) for c in netlist.cells])
        for name, netlist in netlists.items()
    }


def _first(error: ProblemsError) -> str:
    return str(error).splitlines()[0]
