"""A folder that somebody else filled: regular files below it, by names checked part by part; no link is followed."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path

from mase_hw.untrusted.regular import RefusedError, kind_of, read_descriptor

LARGEST = 256 << 20  # bytes of a file, where nothing else is said
FILES = 10_000
_DEPTH = 8
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Folder:
    """Each file is read once: who asks again is given the same bytes, whatever the file holds by then.

    The folder itself is what the user named, and may be a link.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._read: dict[str, bytes] = {}

    def read(self, name: str, limit: int = LARGEST) -> bytes:
        """The file `name`, parts joined by slashes. FileNotFoundError if it is not there; RefusedError otherwise."""
        if name not in self._read:
            self._read[name] = self._fetch(name, limit)
        return self._read[name]

    def sha256(self, name: str, limit: int = LARGEST) -> str:
        return hashlib.sha256(self.read(name, limit)).hexdigest()

    def has(self, name: str) -> bool:
        """Whether there is anything of that name, be it a link; asked again after it was read, as it was then."""
        return name in self._read or os.path.lexists(self.path / name)

    def names(self, below: str) -> list[str]:
        """Every file below a folder, sorted. A link or a device among them is refused, and so are too many."""
        found: list[str] = []
        self._list(below, found, _DEPTH)
        return sorted(found)

    def _fetch(self, name: str, limit: int) -> bytes:
        *folders, last = checked_parts(name)
        handle = os.open(self.path, _FOLDER)
        try:
            for part in folders:
                _expect(part, handle, stat.S_IFDIR)
                inner = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=handle)
                os.close(handle)
                handle = inner
            _expect(last, handle, stat.S_IFREG)
            return read_descriptor(os.open(last, _FILE, dir_fd=handle), limit)
        finally:
            os.close(handle)

    def _list(self, below: str, found: list[str], depth: int) -> None:
        own_folder(self.path, below)
        with os.scandir(self.path / below) as entries:
            for entry in entries:
                name = f"{below}/{entry.name}"
                if entry.is_dir(follow_symlinks=False) and depth:
                    self._list(name, found, depth - 1)
                elif not entry.is_file(follow_symlinks=False):
                    raise RefusedError(f"is refused: {name} is {kind_of(entry.stat(follow_symlinks=False).st_mode)}")
                else:
                    found.append(name)
                if len(found) > FILES:
                    raise RefusedError(f"is refused: there are more than {FILES:,} files below {below}")


def checked_parts(name: str) -> list[str]:
    """The parts of a relative name that stays below its folder."""
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part or "\\" in part or len(part) > 255 for part in parts):
        raise RefusedError(f"is refused: {name[:100]!r} is no name of a file in it")
    if len(parts) > _DEPTH:
        raise RefusedError(f"is refused: {name[:100]!r} has more than {_DEPTH} parts")
    return parts


def own_folder(path: Path, name: str, *, make: bool = False) -> Path:
    """The folder `name` below `path`, each part of which is a folder and no link; with `make`, made where it is not."""
    place = path
    for part in checked_parts(name):
        place = place / part
        try:
            mode = place.lstat().st_mode
        except FileNotFoundError:
            if not make:
                raise
            place.mkdir(exist_ok=True)
            mode = place.lstat().st_mode
        if not stat.S_ISDIR(mode):
            raise RefusedError(f"is refused: {name} in it is {_said(mode)}, not a folder")
    return place


def _expect(part: str, folder: int, kind: int) -> None:
    """Before anything is opened: to open a device may do things."""
    mode = os.stat(part, dir_fd=folder, follow_symlinks=False).st_mode
    if stat.S_IFMT(mode) != kind:
        raise RefusedError(f"is {_said(mode)}, not a {'folder' if kind == stat.S_IFDIR else 'file'}")


def _said(mode: int) -> str:
    return "a file" if stat.S_ISREG(mode) else kind_of(mode)
