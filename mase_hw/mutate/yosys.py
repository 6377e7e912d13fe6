"""What Yosys does for a mutation run, in a process of its own: an error of Yosys ends the process it is in.

Called as `python -I yosys.py JOB`, where JOB is a JSON file: it needs pyosys and nothing of this package. It works in
the folder that it is called in: Yosys splits a command at spaces, which a path may have.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

SELECT = "mutate_select"  # the input that says which mutant of a netlist is awake; 0: none


class Session:
    """A design in Yosys' hands, and the commands that go to it."""

    def __init__(self) -> None:
        from pyosys import libyosys

        self.ys = libyosys
        self.design = libyosys.Design()

    def run(self, *commands: str) -> None:
        for command in commands:
            self.ys.run_pass(command, self.design)

    def read(self, files: list[str], top: str, component: str) -> None:
        """The files as the prover reads them: the component apart from its top."""
        self.run(f"read_slang --keep-hierarchy --top {top} {' '.join(files)}")
        if component:
            self.run(f"setattr -mod -set keep_hierarchy 1 *${top}.u_{component}")
        self.run("proc", "flatten", "memory_collect", "opt_clean")


def list_mutants(job: dict[str, Any]) -> None:
    """Draws mutants of a component's netlist; one netlist of each, and one Verilog text that holds them all."""
    session, top = Session(), job["top"]
    session.read(job["files"], top, job["component"])
    module, instance = job["module"], f"u_{job['component']}"
    options = f"-module {module}${top}.{instance} -o list.txt"
    session.run(f"mutate -list {job['count']} -seed {job['seed']} {options}")
    lines = Path("list.txt").read_text("utf-8").splitlines()
    session.run("design -save sound")
    for number, line in enumerate(lines, 1):
        session.run("design -load sound", line, f"write_json {number}.json")
    session.run("design -load sound")
    width = len(lines).bit_length()
    for number, line in enumerate(lines, 1):
        session.run(f"{line} -ctrl {SELECT} {width} {number}")
    session.run(f"cd {top}", f"add -input {SELECT} {width}", f"connect -port {instance} {SELECT} {SELECT}", "cd")
    session.run("bwmuxmap", "bmuxmap", "demuxmap")  # which Verilog has no words for
    session.run(f"rename {top} {top}_inner", "write_verilog -noattr -noparallelcase all.v")


def compare(job: dict[str, Any]) -> None:
    """Whether two texts, or a text and a mutant of its netlist, have the same next state and outputs in every state.

    Registers are cut: what they hold is an input of both, what they will hold an output. Logic that is the same in both
    is merged, so that the solver sees the difference alone. Equal then means: from the same state, whatever it is, the
    same inputs give the same outputs for ever. What the texts assume of their inputs is taken for granted.

    `split`: every bit of a register by itself, so that bits which lead nowhere are no state; takes longer.
    """
    session, top = Session(), job["top"]
    session.read(job["files"], top, job["component"])
    session.run("design -save sound")
    _cut(session, top, "gold", split=job["split"])
    if job["command"]:  # the names of cells are those of this reading
        session.run("design -load sound", job["command"])
    else:
        session.read(job["mutated"], top, job["component"])
    _cut(session, top, "gate", split=job["split"])
    session.run("design -copy-from gold -as gold gold", "design -copy-from gate -as gate gate")
    session.run("miter -equiv -flatten -make_assert gold gate miter", "hierarchy -top miter", "opt_expr", "opt_merge")
    session.run("opt_clean", f"sat -verify -prove-asserts -set-assumes -timeout {job['seconds']} miter")
    Path("equal").write_text("", encoding="utf-8")


def _cut(session: Session, top: str, name: str, *, split: bool) -> None:
    session.run("setattr -mod -unset keep_hierarchy *", "flatten", "memory_map", "opt_clean")
    session.run("chformal -assert -remove", "chformal -lower", "opt_clean")
    if split:
        session.run("splitcells", "splitnets", "opt_clean")
    session.run("wreduce -keepdc", "opt_clean")  # an adder with a bit too much becomes the one that it was
    session.run("expose -dff -evert-dff")  # a wire that no register drives may be another one
    # What is undefined may be anything in each of the two; the solver would take it for 0 in both.
    session.run("opt_clean", "setundef -undriven -anyseq", f"rename {top} {name}", f"design -stash {name}")


def sequential(job: dict[str, Any]) -> None:
    """Writes the miter of two designs, which starts anywhere, as an AIGER file for ABC."""
    session, top = Session(), job["top"]
    session.read(job["files"], top, job["component"])
    session.run("design -save sound")
    _flat(session, top, "gold")
    if job["command"]:
        session.run("design -load sound", job["command"])
    else:
        session.read(job["mutated"], top, job["component"])
    _flat(session, top, "gate")
    session.run("design -copy-from gold -as gold gold", "design -copy-from gate -as gate gate")
    session.run("read_verilog miter.v", "hierarchy -top miter", "proc", "flatten", "opt_expr", "opt_merge", "opt_clean")
    session.run("techmap", "opt_expr", "opt_merge", "opt_clean", "dffunmap", "aigmap", "opt_clean")
    session.run("setundef -undriven -anyseq")  # what nothing drives may be anything, in each of the two
    session.run("write_aiger -zinit miter.aig")


def _flat(session: Session, top: str, name: str) -> None:
    session.run("setattr -mod -unset keep_hierarchy *", "flatten", "memory_map", "opt_clean")
    session.run(f"rename {top} {name}", f"design -stash {name}")


if __name__ == "__main__":
    given = json.loads(Path(sys.argv[1]).read_text("utf-8"))
    {"list": list_mutants, "compare": compare, "sequential": sequential}[given["job"]](given)
