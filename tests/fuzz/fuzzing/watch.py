"""Watches what a block of code does to the machine: starts a program, runs a shell, opens a socket, writes a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from mase_hw.diagnostics import ProblemsError

Result = TypeVar("Result")

_ALWAYS = ("os.system", "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "pty.spawn")
_ALWAYS += ("os.remove", "os.rename", "os.mkdir", "os.link", "os.symlink", "os.truncate")
_PREFIXES = ("subprocess.", "shutil.", "socket.", "webbrowser.", "ctypes.dlopen", "urllib.", "ftplib.")
_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_seen: list[str] | None = None  # None: nobody watches


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _seen is None:
        return
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & _WRITE
    if writes or event in _ALWAYS or event.startswith(_PREFIXES):
        _seen.append(f"{event} {arguments[0] if arguments else ''}")


sys.addaudithook(_hook)  # a hook cannot be taken away again, so there is one, which mostly sleeps


@contextmanager
def nothing_done() -> Iterator[None]:
    """Fails if the block did any of that."""
    global _seen
    assert _seen is None, "already watching"
    _seen = found = []
    try:
        yield
    finally:
        _seen = None
    assert not found, found


def load_or_refuse(load: Callable[[], Result]) -> Result | None:
    """What is loaded, or None; every problem says something and can be shown."""
    with nothing_done():
        try:
            return load()
        except ProblemsError as error:
            refusal = error
    texts = [problem.message for problem in refusal.problems]
    assert texts
    assert all(texts)
    assert str(refusal)
    return None
