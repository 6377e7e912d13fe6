"""A folder of things that took long to build: written aside, renamed into place when whole, kept by content."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from mase_hw.files import cache_root

KEEP = 300
DAY = 86_400


def root(cache: Path | None = None) -> Path:
    """`cache`, or $MASE_HW_CACHE, or mase-hw in the user's cache folder."""
    if cache is not None:
        return cache.resolve()
    return cache_root()


def key(parts: Iterable[str | bytes]) -> str:
    """A name for content: the hash of its parts, each with its length, so that no two lists give one text."""
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode() if isinstance(part, str) else part
        digest.update(b"%d:" % len(raw) + raw)
    return digest.hexdigest()  # whole: who finds two texts with one key has another one's design run


def entry(folder: Path, name: str, make: Callable[[Path], None], lock: bool = False) -> Path:
    """`folder / name`, made by `make(temporary folder)` if it is not there yet. Safe beside other processes.

    With `lock` the others wait for the one that builds; without, the first to finish wins.
    """
    place = folder / name
    if place.is_dir():
        os.utime(place)  # what is used stays
        return place
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / f"{name}.lock") if lock else contextlib.nullcontext():
        if place.is_dir():
            return place
        aside = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=folder))
        try:
            make(aside)
            # A process killed while it waits cannot leave half an entry: the rename is all or nothing.
            with contextlib.suppress(FileExistsError):
                _rename(aside, place)
        finally:
            shutil.rmtree(aside, ignore_errors=True)
    return place


def prune(folder: Path, keep: int = KEEP) -> None:
    """Removes all but the most recently used entries, and what a killed process left half-made a day ago."""
    paths = [path for path in folder.iterdir() if path.is_dir()]
    entries = [path for path in paths if not path.name.startswith(".")]
    halves = [path for path in paths if path.name.startswith(".") and _age(path) < time.time() - DAY]
    for path in [*halves, *sorted(entries, key=_age, reverse=True)[keep:]]:
        shutil.rmtree(path, ignore_errors=True)


def _age(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process pruned it
        return 0.0


def _rename(source: Path, place: Path) -> None:
    try:
        source.rename(place)
    except OSError:
        # A folder that is there already shows as ENOTEMPTY on Linux, as EEXIST elsewhere.
        if place.is_dir():
            raise FileExistsError(place) from None
        raise


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    import fcntl  # not on Windows, where the simulator does not run either

    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
