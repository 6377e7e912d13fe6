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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Generic, TypeVar

from mase_hw.interrupts import uninterrupted
from mase_hw.limits import Limits

_log = logging.getLogger(__name__)
_Result = TypeVar("_Result")
# By thread: what a background thread has started, which whoever waits for it may have to end.
_started: dict[int, list[subprocess.Popen[bytes]]] = {}
_ended: set[int] = set()  # threads that may start nothing more


@dataclass(frozen=True)
class Finished:
    """Exit code (negative: the signal that ended it) and the text of both outputs, in order."""

    code: int
    text: str

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.text.rstrip().splitlines()[-lines:])


def run(
    command: Sequence[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> Finished:
    return run_all([command], 1, cwd, env, limits)[0]


def run_all(
    commands: Sequence[Sequence[str]],
    at_once: int,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    limits: Limits | None = None,
) -> list[Finished]:
    """Runs every command to its end, `at_once` of them side by side, each within the limits.

    Interrupted (Ctrl-C, or any error here), it kills the children with all they started, waits for them, and passes
    the interrupt on.
    """
    children: list[subprocess.Popen[bytes]] = []
    with contextlib.ExitStack() as stack:
        # A compiler that is killed leaves its temporary files behind: they go with this folder.
        aside = stack.enter_context(tempfile.TemporaryDirectory(prefix="mase-hw-run-"))
        inherited = os.environ if env is None else env
        env = {**inherited, "TMPDIR": aside}
        outputs = [stack.enter_context(tempfile.TemporaryFile()) for _ in commands]
        stack.callback(_end_all, children)
        stack.callback(_started.pop, threading.get_ident(), None)
        _started[threading.get_ident()] = children
        for command, output in zip(commands, outputs, strict=True):
            while sum(child.poll() is None for child in children) >= at_once:
                time.sleep(0.002)
            _log.debug("%s", shlex.join(command))
            if threading.get_ident() in _ended:
                raise KeyboardInterrupt
            with uninterrupted():  # or a child that has just started would be ours without our knowing it
                children.append(_start(command, output, cwd, env))
                if limits is not None:
                    limits.of_child(children[-1].pid)
        for child in children:
            child.wait()
        return [_finished(child, output) for child, output in zip(children, outputs, strict=True)]


class Background(Generic[_Result]):
    """A function in a thread of its own. Left by an error or Ctrl-C, it is ended with the tools that it has started."""

    def __init__(self, function: Callable[[], _Result]) -> None:
        self._function, self._found, self._error = function, list[_Result](), list[BaseException]()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        try:
            self._found.append(self._function())
        except BaseException as error:  # raised again where the result is asked for
            self._error.append(error)

    def result(self) -> _Result:
        """What the function gave; raises what it raised."""
        self._thread.join()
        if self._error:
            raise self._error[0]
        return self._found[0]

    def __enter__(self) -> Background[_Result]:
        with uninterrupted():
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        number = self._thread.ident or 0
        _ended.add(number)
        while self._thread.is_alive():
            _end_all(_started.get(number, ()))
            self._thread.join(0.01)
        _ended.discard(number)


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
    running = [child for child in list(children) if child.poll() is None]
    for child in running:
        with contextlib.suppress(ProcessLookupError):  # it may end by itself just now
            os.killpg(child.pid, signal.SIGKILL)
    for child in running:
        child.wait()
