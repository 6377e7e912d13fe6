"""A process that does one step after another, and is ended when a step takes too long."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TypeVar

T = TypeVar("T")


class TimedOutError(Exception):
    """The step took longer than it may."""


class CrashedError(Exception):
    """The step raised what it should not, or ended its process; the text says what."""


class StoppedError(Exception):
    """Somebody asked the worker to end."""


class Worker:
    """Steps run in a process with a session of its own: Ctrl-C does not reach it, and it ends as a whole."""

    def __init__(self) -> None:
        self._process: multiprocessing.process.BaseProcess | None = None
        self._connection: Connection | None = None
        self._stopped = False

    def call(self, function: Callable[..., T], *arguments: object, seconds: float) -> T:
        """What the function gives, or one of the errors above."""
        if self._stopped:
            raise StoppedError
        if self._process is None:
            self._start()
        assert self._connection is not None
        try:
            self._connection.send((function, arguments))
            if not self._connection.poll(seconds):
                self.close()
                raise TimedOutError
            good, value = self._connection.recv()
        except (EOFError, OSError):
            self.close()
            if self._stopped:
                raise StoppedError from None
            raise CrashedError("its process ended") from None
        if not good:
            raise CrashedError(value)
        return value  # type: ignore[no-any-return]

    def _start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, theirs = context.Pipe()
        # Not a daemon: the steps start processes themselves.
        self._process = context.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()

    def stop(self) -> None:
        """From another thread: ends what is running."""
        self._stopped = True
        self._kill()

    def close(self) -> None:
        self._kill()
        if self._process is not None:
            self._process.join()
        self._process = None
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _kill(self) -> None:
        process = self._process
        if process is None or process.pid is None:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):  # it may not have its session yet
            os.kill(process.pid, signal.SIGKILL)


def _serve(connection: Connection) -> None:
    os.setsid()
    os.dup2(2, 1)  # what a simulation prints is no part of the report
    with contextlib.suppress(EOFError, BrokenPipeError):  # the other end has gone
        while True:
            function, arguments = connection.recv()
            try:
                answer = True, function(*arguments)
            except BaseException as error:
                # Whatever a mutated design does to the tools is an answer too: it is told, by name, to who asked.
                last = traceback.extract_tb(error.__traceback__)[-1]
                place = f"{os.path.basename(last.filename)}:{last.lineno}"
                answer = False, f"{type(error).__name__}: {error} ({place})"
            connection.send(answer)
