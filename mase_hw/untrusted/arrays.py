"""Arrays from elsewhere: an npz whose sizes are added up, and whose headers are checked, before memory is taken."""

from __future__ import annotations

import io
import math
import tokenize
import zipfile
import zlib
from typing import Any

import numpy as np

from mase_hw.untrusted.regular import RefusedError

MEMBERS = 100_000
_HEADER = 10_000  # bytes
_PLAIN = "biuf"  # kinds: booleans, integers and floats of fixed size
# numpy reads a header as an expression of Python, by its own parser and tokenizer.
_BAD_HEADER = (
    *(ValueError, LookupError, TypeError, SyntaxError, AttributeError, tokenize.TokenError),
    *(RecursionError, MemoryError),
)
_BROKEN = (ValueError, LookupError, OSError, EOFError, zlib.error, zipfile.BadZipFile, RuntimeError, MemoryError)


def parse_npz(data: bytes, limit: int, *, kinds: str = _PLAIN, packed: bool = False) -> dict[str, np.ndarray]:
    """The arrays of an npz by name, at most `limit` bytes of them; members are compressed only if they may be `packed`.

    `kinds` are numpy's letters for the types that may occur; an array of Python objects never may.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            expect_unpacked(members, limit, packed=packed)
            return {_name(member): _array(_content(archive, member), member.filename, kinds) for member in members}
    except RefusedError:
        raise
    except _BROKEN as error:  # RuntimeError: an encrypted member; NotImplementedError is one
        raise RefusedError(f"is no npz, or it is damaged: {str(error) or type(error).__name__}") from None


def expect_unpacked(members: list[zipfile.ZipInfo], limit: int, *, packed: bool = True) -> None:
    """Refuses an archive that would unpack to more than `limit` bytes. What it says of sizes is kept to by zipfile."""
    names = [member.filename for member in members]
    if len(names) > MEMBERS:
        raise RefusedError(f"has {len(names):,} members; {MEMBERS:,} are the most")
    if len(set(names)) < len(names):
        raise RefusedError("has two members of one name")
    if not packed and any(member.compress_type != zipfile.ZIP_STORED for member in members):
        raise RefusedError("is compressed, which no file of a build is")
    total = sum(member.file_size for member in members)
    if total > limit:
        raise RefusedError(f"unpacks to {total:,} bytes; {limit:,} are the most")


def _content(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as file:
        content = file.read(member.file_size + 1)
    if len(content) != member.file_size:
        raise RefusedError(f"is damaged: {member.filename} has another size than it says")
    return content


def _name(member: zipfile.ZipInfo) -> str:
    if not member.filename.endswith(".npy"):
        raise RefusedError(f"has the member {member.filename[:60]!r}, which is no array")
    return member.filename.removesuffix(".npy")


def _array(content: bytes, name: str, kinds: str) -> np.ndarray:
    """numpy would take memory for the shape in the header before it looks whether the bytes are there."""
    file = io.BytesIO(content)
    form: Any = np.lib.format
    try:
        version = form.read_magic(file)
        read = {(1, 0): form.read_array_header_1_0, (2, 0): form.read_array_header_2_0}[version]
        shape, fortran, dtype = read(file, max_header_size=_HEADER)
    except _BAD_HEADER as error:
        raise RefusedError(f"is damaged: the header of {name[:60]!r}: {str(error)[:200]}") from None
    if not _plain(dtype, kinds):
        raise RefusedError(f"has the array {name[:60]!r} of {str(dtype)[:60]}, which is not read")
    if any(size < 0 for size in shape) or math.prod(shape) * dtype.itemsize != len(content) - file.tell():
        raise RefusedError(f"is damaged: {name[:60]!r} does not have the bytes of its shape {str(shape)[:60]}")
    flat = np.frombuffer(content, dtype, offset=file.tell()) if math.prod(shape) else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if fortran else "C")


def _plain(dtype: np.dtype[Any], kinds: str) -> bool:
    if dtype.names is not None:  # a table: of plain columns
        columns = [dtype[name] for name in dtype.names]
        return "V" in kinds and all(column.names is None and column.kind in kinds for column in columns)
    return dtype.kind in kinds and not dtype.hasobject and dtype.subdtype is None
