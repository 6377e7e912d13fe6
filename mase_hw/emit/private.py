"""A private folder of this process for what tools read: copies of a build's files, so that nobody changes them."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

_folders: dict[int, Path] = {}  # by process: a child that was forked has its own
_origins: dict[Path, Path] = {}


def private_copies(contents: Mapping[Path, bytes]) -> list[Path]:
    """The contents as files in a folder of their own, in order, under the last parts of their places' names.

    The folder is its owner's alone and goes away with the process.
    """
    folder = Path(tempfile.mkdtemp(prefix="rtl-", dir=_root()))
    copies = []
    for place, content in contents.items():
        copy = folder / place.name
        with copy.open("xb") as file:
            file.write(content)
        copy.chmod(0o444)
        _origins[copy] = place
        copies.append(copy)
    return copies


def origin(path: Path) -> Path:
    """The file that a copy was made of, for messages; any other path is its own."""
    return _origins.get(path, path)


def _root() -> Path:
    process = os.getpid()
    if process not in _folders:
        _folders[process] = Path(tempfile.mkdtemp(prefix="mase-hw-"))
        atexit.register(_remove, process)
    return _folders[process]


def _remove(process: int) -> None:
    if os.getpid() == process:  # not by a child that was forked and knows of the folder
        shutil.rmtree(_folders.pop(process), ignore_errors=True)
