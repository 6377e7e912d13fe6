"""Synthesis: RTL files in, counted cells out. Yosys runs in child processes, because an error ends its process."""

from __future__ import annotations

import hashlib
import importlib.util
import re
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.emit.manifest import expect_name
from mase_hw.emit.private import origin
from mase_hw.isolated import python_command
from mase_hw.synth.netlist import read_netlist
from mase_hw.synth.process import Progress, SynthTask, TimedOutError, run_tasks
from mase_hw.synth.results import Synthesis
from mase_hw.synth.targets import NETLIST, TARGETS, script

SCRIPT = "script.ys"
CHILD = f"from pyosys import libyosys; libyosys.run_pass('script {SCRIPT}', libyosys.Design())"

_ERROR = re.compile(r"^(?:(?P<file>[^:\n]+):(?P<line>\d+): )?ERROR: (?P<text>.+)$", re.MULTILINE)
_FOLLOWS = "Design elaboration failed"  # says only that there are others


def synthesize(
    files: Sequence[Path],
    top: str,
    target: str = "xcup",
    *,
    dsp: bool = False,
    keep_components: Sequence[str] = (),
    timeout: float | None = None,
    progress: Progress = lambda text: None,
    work: Path | None = None,
) -> Synthesis:
    """Maps the RTL `files` (in compile order) with module `top` to `target` and counts the cells.

    The total is that of the flat design. With `keep_components` a second run, beside the first, keeps the top's
    instances `u_<component>` apart. `timeout` is in seconds. Netlists and logs stay in `work` where it is given: the
    flat netlist is work/flat/netlist.json. A failed, missing or partial result is a ProblemsError.
    """
    _check(files, target, dsp)
    for name in (top, *keep_components):
        expect_name(name)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="mase-hw-synth-") as scratch:
        folder = work or Path(scratch)
        names = _names(files)
        scripts = {"flat": script(names, top, target, dsp)}
        if keep_components:
            scripts["components"] = script(names, top, target, dsp, keep_components)
        tasks = [_task(folder / name, name, text, files) for name, text in scripts.items()]
        try:
            codes = run_tasks(tasks, timeout, progress)
        except TimedOutError:
            hint = "give it more time, or none: --timeout; --flat leaves the components out"
            text = f"synthesis: {top} for {target} was not done after {timeout:g} seconds"
            raise ProblemsError(Problem(text, hint=hint)) from None
        netlists = {}
        for task, code in zip(tasks, codes, strict=True):
            if code:
                raise _failed(task, code, files)
            progress(f"{task.name}: counting cells")
            netlists[task.name] = read_netlist(task.folder / NETLIST, top)
        flat, apart = netlists["flat"], netlists.get("components")
        return Synthesis(
            target=target,
            top=top,
            dsp=dsp,
            whole=flat.whole(),
            components={name: apart.component(name) for name in keep_components} if apart else {},
            outside=apart.outside() if apart else None,
            scripts=scripts,
            sources=digests(folder / "flat", names),
            tool=flat.tool,
            seconds=time.monotonic() - started,
        )


def _check(files: Sequence[Path], target: str, dsp: bool) -> None:
    """What can be known to fail before Yosys starts."""
    problems = []
    if target not in TARGETS:
        problems.append(Problem(f"target {target!r} is unknown", hint=f"one of {', '.join(TARGETS)}"))
    elif dsp and TARGETS[target].with_dsp is None:
        problems.append(Problem(f"target {target} has no DSP blocks", hint="leave out --dsp, or say --no-dsp"))
    missing = [file for file in files if not file.is_file()]
    problems += [Problem(f"{file} is missing", hint="emit the build again") for file in missing]
    if importlib.util.find_spec("pyosys") is None:
        text = f"pyosys: not installed for {sys.executable}"
        problems.append(Problem(text, hint="pip install 'mase-hw[synth]'"))
    if problems:
        raise ProblemsError(*problems)


def digests(folder: Path, names: Sequence[str]) -> dict[str, str]:
    """SHA-256 of each file."""
    return {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in names}


def _names(files: Sequence[Path]) -> list[str]:
    """The files as the script calls them. Yosys' commands know no quotes, so that spaces must go."""
    names = [re.sub(r"[^\w.-]", "_", file.name) for file in files]
    assert len(set(names)) == len(names), f"two files of one name: {names}"
    return [f"rtl/{name}" for name in names]


def _task(folder: Path, name: str, text: str, files: Sequence[Path]) -> SynthTask:
    (folder / "rtl").mkdir(parents=True, exist_ok=True)
    (folder / NETLIST).unlink(missing_ok=True)  # one of an earlier run must not be taken for this one's
    for file, short in zip(files, _names(files), strict=True):
        shutil.copyfile(file, folder / short)
    (folder / SCRIPT).write_text(text, encoding="utf-8")
    return SynthTask(name, tuple(python_command("-c", CHILD)), folder)


def _failed(task: SynthTask, code: int, files: Sequence[Path]) -> ProblemsError:
    """Yosys' own errors, at their lines of the RTL; or how it ended, where it printed none."""
    text = task.text()
    original = {name: origin(file) for name, file in zip(_names(files), files, strict=True)}
    problems = []
    for match in _ERROR.finditer(text):
        if match["text"].startswith(_FOLLOWS):
            continue
        where = Place(original.get(match["file"], Path(match["file"])), int(match["line"])) if match["file"] else None
        hint = "emit the build again, or mend the line if you wrote it" if where else None
        problems.append(Problem(f"Yosys: {match['text']}", where, hint))
    if not problems:
        ended = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with {code}"
        hint = "if memory ran out, give it more, or synthesize a smaller design; else reinstall pyosys"
        tail = tuple(text.rstrip().splitlines()[-5:])
        problems.append(Problem(f"synthesis: Yosys {ended} before it was done", hint=hint, notes=tail))
    return ProblemsError(*problems)
