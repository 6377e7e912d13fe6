"""Runs tools side by side with a time limit, and shows what they are doing from what they print."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mase_hw.interrupts import uninterrupted
from mase_hw.isolated import tool_environment
from mase_hw.limits import Limits

_log = logging.getLogger(__name__)

Progress = Callable[[str], None]
# Synthesis takes long, and who started it sees what it does: its time is for `--timeout` to say.
LIMITS = Limits(seconds=7 * 24 * 3600, memory=16 << 30)

_STEP = re.compile(r"^[\d.]+ Executing .* pass \((.+)\)\.$|^Info: ([A-Z][a-z]+ing [^.\n]+)", re.MULTILINE)


class TimedOutError(Exception):
    """The time limit passed; every process has been ended."""


@dataclass(frozen=True)
class SynthTask:
    """A command to run in its own folder; both its outputs go to `log` there."""

    name: str
    command: tuple[str, ...]
    folder: Path

    @property
    def log(self) -> Path:
        return self.folder / "log.txt"

    def text(self) -> str:
        return self.log.read_text("utf-8", errors="replace")


def run_tasks(tasks: Sequence[SynthTask], timeout: float | None, progress: Progress) -> list[int]:
    """Runs all tasks at once to their end and gives their exit codes (negative: the signal that ended one).

    Whatever goes wrong here, Ctrl-C too, ends the children with all that they started before it is passed on.
    """
    end = None if timeout is None else time.monotonic() + timeout
    children: list[subprocess.Popen[bytes]] = []
    try:
        for task in tasks:
            _log.debug("%s: %s  (in %s)", task.name, shlex.join(task.command), task.folder)
            with task.log.open("wb") as log, uninterrupted():  # or a child that has just started would be lost
                # A session of its own: Ctrl-C comes to us alone, and Yosys and the abc it starts are one group.
                children.append(
                    subprocess.Popen(
                        task.command,
                        cwd=task.folder,
                        env=tool_environment(),
                        stdin=subprocess.DEVNULL,
                        stdout=log,
                        stderr=subprocess.STDOUT,
                        start_new_session=True,
                    )
                )
                LIMITS.of_child(children[-1].pid)
        while any(child.poll() is None for child in children):
            if end is not None and time.monotonic() > end:
                raise TimedOutError
            running = zip(tasks, children, strict=True)
            progress("; ".join(f"{task.name}: {_step(task)}" for task, child in running if child.poll() is None))
            time.sleep(0.05)
        return [child.returncode for child in children]
    finally:
        for child in children:
            _end(child)


def _step(task: SynthTask) -> str:
    """The last step that the log names."""
    with task.log.open("rb") as log:
        log.seek(max(0, task.log.stat().st_size - 20_000))
        tail = log.read().decode("utf-8", errors="replace")
    found = _STEP.findall(tail)
    return next(filter(None, found[-1])) if found else "starting"


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        with contextlib.suppress(ProcessLookupError):  # it may end by itself just now
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()
