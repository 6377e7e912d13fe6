"""Runs tools as child processes that never outlive us, and gives back what they printed."""

from __future__ import annotations

import contextlib
import logging
import os
import shlex
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Finished:
    """Exit code (negative: the signal that ended it) and the text of both outputs, in order."""

    code: int
    text: str

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.text.rstrip().splitlines()[-lines:])


def run(command: Sequence[str], cwd: Path | None = None, env: Mapping[str, str] | None = None) -> Finished:
    return run_all([command], 1, cwd, env)[0]


def run_all(
    commands: Sequence[Sequence[str]],
    at_once: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> list[Finished]:
    """Runs every command to its end, `at_once` of them side by side.

    Interrupted (Ctrl-C, or any error here), it kills the children with all they started, waits for them, and passes
    the interrupt on.
    """
    children: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands]
        stack.callback(_end_all, children)
        for command, output in zip(commands, outputs, strict=True):
            while sum(child.poll() is None for child in children) >= at_once:
                time.sleep(0.002)
            _log.debug("%s", shlex.join(command))
            with uninterrupted():  # or a child that has just started would be ours without our knowing it
                children.append(_start(command, output, cwd, env))
        for child in children:
            child.wait()
        return [_finished(child, output) for child, output in zip(children, outputs, strict=True)]


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until the block has ended. (Masking the signal would not do: another thread may receive it.)"""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python interrupts the main thread only
        return
    came: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            raise KeyboardInterrupt


def _start(
    command: Sequence[str], output: IO[bytes], cwd: Path | None, env: Mapping[str, str] | None
) -> subprocess.Popen[bytes]:
    # A session of its own makes a compiler driver and its passes one group that can be ended as a whole.
    return subprocess.Popen(
        command,
        cwd=cwd,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def _finished(child: subprocess.Popen[bytes], output: IO[bytes]) -> Finished:
    output.seek(0)
    return Finished(child.returncode, output.read().decode("utf-8", errors="replace"))


def _end_all(children: Sequence[subprocess.Popen[bytes]]) -> None:
    running = [child for child in children if child.poll() is None]
    for child in running:
        with contextlib.suppress(ProcessLookupError):  # it may end by itself just now
            os.killpg(child.pid, signal.SIGKILL)
    for child in running:
        child.wait()
