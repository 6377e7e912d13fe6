"""A failing case as a folder of its own: the files, what went wrong, and one line that shows it again."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

from fuzzing.cases import Case
from fuzzing.files import write_case
from fuzzing.run import Result

REPRODUCE = "reproduce.sh"


def save_case(case: Case, result: Result, folder: Path) -> Path:
    """Writes the folder anew and returns it."""
    shutil.rmtree(folder, ignore_errors=True)
    write_case(case, folder)
    text = f"#!/bin/sh\n# {result.kind}: {' '.join(result.detail.split())}\n{reproduce(case, result)}\n"
    (folder / REPRODUCE).write_text(text, encoding="utf-8")
    (folder / REPRODUCE).chmod(0o755)
    return folder


def reproduce(case: Case, result: Result) -> str:
    """One line for the folder that the case is saved in."""
    emit = "mase-hw emit model.toml --out build"
    sim = f"mase-hw sim build --only design --vectors {case.vectors} --seed {case.sim_seed}"
    if result.kind in ("sim", "traceback in sim", "batch"):
        return f"{emit} && {sim}"
    if result.kind in ("axis sim", "traceback in axis sim"):
        return f"{emit} && {sim.replace('--only design', '--only axis')}"
    if result.kind in ("refusal", "traceback in emit"):
        return emit
    return f"{emit} && mase-hw prove build && mase-hw verify build"


def command_in(folder: Path) -> str:
    """The line with the way to the folder."""
    line = (folder / REPRODUCE).read_text("utf-8").splitlines()[-1]
    return f"cd {shlex.quote(str(folder))} && {line}"
