"""One file, read if it is a regular one and not too large: a FIFO or a device would be waited for without end."""

from __future__ import annotations

import os
import stat
from pathlib import Path

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFLNK: "a link",
}


class RefusedError(ValueError):
    """Why a file is not read; the text goes on from the file's name."""


def read_regular(path: Path, limit: int) -> bytes:
    """The bytes of the file at `path`, which a user named: links are followed. OSError where it cannot be opened."""
    expect_regular(path)
    return read_descriptor(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), limit)


def expect_regular(path: Path) -> os.stat_result:
    """What the file system says of a regular file. It is asked before it is opened: to open a device may do things."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise RefusedError(f"is {kind_of(found.st_mode)}, not a file")
    return found


def read_descriptor(handle: int, limit: int) -> bytes:
    """All bytes of an open file, which is closed: no more than `limit`, whatever its size is said to be."""
    with os.fdopen(handle, "rb") as file:
        mode = os.fstat(handle)
        if not stat.S_ISREG(mode.st_mode):
            raise RefusedError(f"is {kind_of(mode.st_mode)}, not a file")
        if mode.st_size > limit:
            raise RefusedError(f"has {mode.st_size:,} bytes; {limit:,} are the most")
        data = file.read(limit + 1)
    if len(data) > limit:
        raise RefusedError(f"has more than {limit:,} bytes")
    return data


def kind_of(mode: int) -> str:
    return _KINDS.get(stat.S_IFMT(mode), "no regular file")
