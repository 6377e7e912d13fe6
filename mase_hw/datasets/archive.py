"""A .tar.gz unpacked into the cache. What an archive says of paths, links and devices is not believed but checked."""

from __future__ import annotations

import hashlib
import lzma
import shutil
import tarfile
import tempfile
import zlib
from contextlib import suppress
from pathlib import Path, PurePosixPath, PureWindowsPath

from mase_hw.datasets.files import CACHE, FileReader, cache_folder

_LIMIT = 512 << 20  # bytes that come out; of the archives that are read here the largest holds 0.2 GB
_MEMBERS = 10_000
_HEADER = 64 << 10  # bytes
_DAMAGED = (tarfile.TarError, EOFError, OSError, zlib.error, lzma.LZMAError)


class _Member(tarfile.TarInfo):
    """A member whose further headers, which are read into memory as a whole, are short."""

    def _proc_member(self, tar: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type not in (*tarfile.REGULAR_TYPES, tarfile.DIRTYPE) and self.size > _HEADER:
            raise tarfile.ReadError(f"a header of {self.size} bytes")
        found: tarfile.TarInfo = super()._proc_member(tar)  # type: ignore[misc]
        return found


def unpacked(archive: Path, limit: int = _LIMIT) -> Path:
    """The folder in the cache with what is in `archive`; unpacked once, kept under the archive's content."""
    with archive.open("rb") as source:
        name = hashlib.file_digest(source, "sha256").hexdigest()[:24]
    place = cache_folder() / f"unpacked-{name}"
    if place.is_dir():
        return place
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    except OSError as error:
        text = f"{archive.name} cannot be unpacked into {place.parent}: {error.strerror}"
        raise FileReader(archive).refuse(text, f"{CACHE} names another folder for the cache") from None
    try:
        unpack(archive, aside, limit)
        with suppress(OSError):  # another process was faster; if it was not, the assertion says so
            aside.rename(place)
        assert place.is_dir()
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return place


def unpack(archive: Path, into: Path, limit: int = _LIMIT) -> None:
    """Regular files only, all of them below `into`. The whole archive is judged before anything is written."""
    reader = FileReader(archive)
    try:
        with tarfile.open(archive, "r:*", tarinfo=_Member) as tar:
            members = _judged(reader, tar, limit)
            for path, member in members:
                _write(tar, member, into, into.joinpath(*path.parts))
    except _DAMAGED as error:
        raise reader.refuse(f"{archive.name} is no archive, or it is damaged: {error}", "fetch it again") from None


def _judged(reader: FileReader, tar: tarfile.TarFile, limit: int) -> list[tuple[PurePosixPath, tarfile.TarInfo]]:
    files: dict[PurePosixPath, tarfile.TarInfo] = {}
    size = 0
    for count, member in enumerate(tar, start=1):
        if what := _wrong(member):
            hint = "nothing was unpacked; fetch the archive from its publisher"
            raise reader.refuse(f"{reader.path.name} is refused: its member {member.name!r} {what}", hint)
        size += member.size
        if size > limit or count > _MEMBERS:
            text = f"{reader.path.name} is refused: it holds more than {limit} bytes or {_MEMBERS} members"
            raise reader.refuse(text)
        if member.isreg():
            files[PurePosixPath(member.name)] = member
    return list(files.items())


def _wrong(member: tarfile.TarInfo) -> str | None:
    """Why this member is not unpacked."""
    name = member.name
    if not name or "\0" in name:
        return "has no proper name"
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).drive or name.startswith("\\"):
        return "has an absolute path"
    if ".." in PurePosixPath(name).parts or ".." in PureWindowsPath(name).parts:
        return "leads out of the folder"
    if member.issym() or member.islnk():
        return f"is a link to {member.linkname!r}"
    if not (member.isreg() or member.isdir()):
        return "is neither a file nor a folder"
    return None


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, into: Path, place: Path) -> None:
    """The bytes alone are taken: no mode, no owner, no time."""
    if hasattr(tarfile, "data_filter"):  # not in the first releases of 3.11
        tarfile.data_filter(member, str(into))
    assert place.resolve().is_relative_to(into.resolve()), f"{place} is outside of {into}"
    source = tar.extractfile(member)
    assert source is not None, "only regular files come here"
    place.parent.mkdir(parents=True, exist_ok=True)
    with source, place.open("wb") as out:
        shutil.copyfileobj(source, out)
