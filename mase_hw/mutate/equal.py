"""Whether a mutant is proved to be the design that it was made from: two more steps of the work on it."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from mase_hw.isolated import tool_environment
from mase_hw.mutate.miter import bounded, miter_text
from mase_hw.mutate.work import Answer, JudgingTask, elaborated, prove, shape, unmutated, yosys
from mase_hw.prove.netlist.netlist import Netlist

SOLVER = 60  # seconds that a solver may think
DIFFERS = "ABC has a stream on which it differs"
_PORTS = "its ports are not those of the design"


def compare(task: JudgingTask) -> Answer:
    """Whether it is proved to be the unmutated design; `no` if it is not."""
    states = equal_states(task)
    return equal_streams(task) if states.no else states


def equal_states(task: JudgingTask) -> Answer:
    """The same outputs and the same next state, from every state; of a top, the same components joined as they were."""
    mine, sound = elaborated(task), unmutated(task)
    if _widths(mine[""]) != _widths(sound[""]):
        return Answer(_PORTS)
    if not task.component and shape(_parts(mine)) == shape(_parts(sound)) and not prove(task).unproved:
        return Answer("", why="the components are the same, and joined as the design says (wiring)")
    (task.folder / "equal").unlink(missing_ok=True)
    for split in (False, True):
        said = yosys({**_job(task, "compare"), "split": split}, task.folder)
        if (task.folder / "equal").exists():
            why = "from every state the same outputs and the same next state, for inputs in their bounds (Yosys, SAT)"
            return Answer("", why=why)
        if "No matching port" not in said:  # the registers are the same; if they are not, bits of them may be
            break
    return Answer("not shown to be equal")


def equal_streams(task: JudgingTask) -> Answer:
    """From reset the same on every stream: what the states that are never reached would do does not count."""
    if _widths(elaborated(task)[""]) != _widths(unmutated(task)[""]):
        return Answer(_PORTS)
    (task.folder / "miter.v").write_text(miter_text(task.subject.design), encoding="utf-8")
    (task.folder / "miter.aig").unlink(missing_ok=True)
    yosys(_job(task, "sequential"), task.folder)
    said = abc(task.folder) if (task.folder / "miter.aig").exists() else ""
    if "Property proved" in said or "UNSATISFIABLE" in said:  # the latter where no register is left
        return Answer(
            "", why="from reset the same valid, ready and data on every stream that keeps its rules (ABC, PDR)"
        )
    differs = re.search(r"asserted in frame (\d+)", said)
    return Answer(f"{DIFFERS} in cycle {differs[1]}" if differs else "not shown to be equal")


def _job(task: JudgingTask, job: str) -> dict[str, object]:
    """Writes both designs into folders of their own, and says what Yosys is to do with them."""
    assert task.sound is not None
    design = task.subject.design
    for place, origin in (("sound", task.sound), ("mutant", task.folder)):
        (task.folder / place).mkdir(exist_ok=True)
        for name in task.files:
            text = (origin / name).read_text("utf-8")
            # The command of a netlist mutant names cells by numbers, which another text would change.
            assumed = job == "compare" and name == f"{design.name}.sv" and not task.netlist
            (task.folder / place / name).write_text(bounded(text, design) if assumed else text, encoding="utf-8")
    return {
        "job": job,
        "files": [f"sound/{name}" for name in task.files],
        "mutated": [f"mutant/{name}" for name in task.files],
        "command": task.command,
        "top": design.name,
        "component": task.component,
        "seconds": SOLVER,
    }


def abc(folder: Path) -> str:
    """What ABC says of the miter: registers that are always equal are merged, then it looks for an invariant."""
    import pyosys

    tool = Path(pyosys.__file__).parent / "yosys-abc"
    script = f"read_aiger miter.aig; strash; scorr; dc2; scorr; pdr -T {SOLVER}; sat"
    try:
        done = subprocess.run(
            [str(tool), "-c", script],
            cwd=folder,
            env=tool_environment(),
            capture_output=True,
            text=True,
            timeout=2 * SOLVER,
        )
    except subprocess.TimeoutExpired:
        return "no answer"
    return done.stdout


def _widths(top: Netlist) -> dict[str, int]:
    return {port: len(nets) for port, nets in top.ports.items()}


def _parts(netlists: dict[str, Netlist]) -> dict[str, Netlist]:
    return {name: netlist for name, netlist in netlists.items() if name}
