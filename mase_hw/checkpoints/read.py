"""A checkpoint file to named tensors. No code in a file is ever run: torch reads with `weights_only`."""

from __future__ import annotations

import difflib
import io
import pickle
import re
import struct
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from torch import Tensor

from mase_hw.checkpoints.wrapped import holder_of
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.untrusted import RefusedError, parse_json, read_regular
from mase_hw.untrusted.arrays import expect_unpacked, parse_npz

LIGHTNING_PREFIX = "model."  # Lightning's module holds the model under this name

_CODE = re.compile(r"(?:GLOBAL|class|global:?)\s+`?([A-Za-z_]\w*\.[\w.]*\w)")
# What torch's reader was seen to raise on files that are no checkpoints, or damaged ones.
_DAMAGED = (
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    AssertionError,
    MemoryError,
    RecursionError,
    ArithmeticError,
)
_NO_ARCHIVE = (zipfile.BadZipFile, ValueError, OSError, NotImplementedError, struct.error)


LARGEST = 1 << 30  # bytes of a file
_HEADER = 16 << 20  # bytes that say what the tensors of a safetensors file are
_PICKLE = 4 << 20  # bytes that say the same in torch's archive
_READS = 1 << 20  # that torch may make in a file of before its archives
_TENSORS = 10_000
_ARRAYS = 1 << 28  # bytes that an npz, which may be compressed, unpacks to
_NO_CHECKPOINTS = (".py", ".toml")  # what lies beside a checkpoint and is named like it


class _Reader:
    """One file and where the TOML names it: every refusal says both."""

    def __init__(self, path: Path, where: Place | None) -> None:
        self.path = path
        self.where = where
        self.subject = f"checkpoint {Place(path)}"

    def refuse(self, text: str, hint: str | None = None) -> ProblemsError:
        return ProblemsError(Problem(f"{self.subject} {text}", self.where, hint))


def read_state(path: Path, load_type: str, where: Place | None = None) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    """The tensors of the checkpoint by their names in the model, and notes on what was left out."""
    reader = _Reader(path, where)
    if load_type == "mz":
        raise reader.refuse(
            'cannot be loaded as load_type = "mz": that is a pickled graph, and loading it would run its code',
            'save the state dict with torch.save(model.state_dict(), "model.pt") and set load_type = "pt"',
        )
    data = _bytes(reader)
    if load_type == "safetensors" or (load_type == "auto" and _is_safetensors(data)):
        return _safetensors(reader, data), ()
    if load_type == "npz" or (load_type == "auto" and _is_npz(data)):
        return _arrays(reader, data), ()
    return _torch(reader, data, load_type)


def _bytes(reader: _Reader) -> bytes:
    path = reader.path
    if path.is_dir():
        raise reader.refuse("is a folder, not a file")
    try:
        return read_regular(path, LARGEST)
    except RefusedError as error:
        raise reader.refuse(str(error)) from None
    except FileNotFoundError:
        files = path.parent.iterdir() if path.parent.is_dir() else []
        near = sorted(item.name for item in files if item.suffix not in _NO_CHECKPOINTS)
        close = difflib.get_close_matches(path.name, near, n=1)
        typed = reader.where is not None and not reader.where.line  # on the command line, not in a file
        base = "on the command line paths are relative to the current folder"
        hint = f"did you mean {close[0]}?" if close else base if typed else "paths are relative to the TOML"
        raise reader.refuse("does not exist", hint) from None
    except OSError as error:
        raise reader.refuse(f"cannot be read: {error.strerror}") from None


def _is_safetensors(data: bytes) -> bool:
    """Eight bytes of length, then that much JSON."""
    if len(data) < 10 or data[8:9] != b"{":
        return False
    length = int.from_bytes(data[:8], "little")
    try:
        return length <= min(_HEADER, len(data) - 8) and isinstance(parse_json(data[8 : 8 + length]), dict)
    except RefusedError:
        return False


def _safetensors(reader: _Reader, data: bytes) -> dict[str, Tensor]:
    length = int.from_bytes(data[:8], "little")
    try:
        if length > _HEADER:
            raise RefusedError(f"its header has {length:,} bytes; {_HEADER:,} are the most")
        parse_json(data[8 : 8 + length])
        state: dict[str, Tensor] = load_safetensors(data)
    except (SafetensorError, RefusedError) as error:
        raise reader.refuse(f"is not a safetensors file: {error}", 'set load_type = "auto"') from None
    except _DAMAGED as error:  # a type that torch has not
        text = f"is not read: {type(error).__name__}: {error}"
        raise reader.refuse(text, "save it with types that torch has: F32, BF16, I64, ...") from None
    return _tensors(reader, state)


def _is_npz(data: bytes) -> bool:
    """An archive with arrays of numpy's; torch's archives have none."""
    if not data.startswith(b"PK"):
        return False
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return any(name.endswith(".npy") for name in archive.namelist())
    except _NO_ARCHIVE:
        return False


def _arrays(reader: _Reader, data: bytes) -> dict[str, Tensor]:
    try:
        found = parse_npz(data, _ARRAYS, kinds="biuf", packed=True)
        return _tensors(reader, {name: torch.from_numpy(array.copy()) for name, array in found.items()})
    except (RefusedError, TypeError) as error:  # TypeError: a type that torch has not
        raise reader.refuse(str(error), "save arrays of plain numbers by name: numpy.savez(...)") from None


def load_torch(path: Path) -> Any:
    """Whatever plain values and tensors a file of torch holds."""
    reader = _Reader(path, None)
    return _loaded(reader, _bytes(reader))


def _loaded(reader: _Reader, data: bytes) -> Any:
    try:
        with warnings.catch_warnings():  # torch wonders aloud about a pickle that is not its own; we refuse it anyway
            warnings.simplefilter("ignore")
            _expect_unpacked(data)
            return torch.load(_Counted(data), map_location="cpu", weights_only=True)
    except RefusedError as error:
        raise reader.refuse(str(error), _KINDS) from None
    except pickle.UnpicklingError as error:
        raise _not_weights(reader, str(error)) from None
    except _DAMAGED:
        raise reader.refuse("is not a checkpoint, or it is damaged", _KINDS) from None


def _torch(reader: _Reader, data: bytes, load_type: str) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    content = _loaded(reader, data)
    if not isinstance(content, Mapping):
        raise reader.refuse(f"holds a {type(content).__name__}, not a state dict", _KINDS)
    lightning = isinstance(content.get("state_dict"), Mapping)
    if load_type == "pl" and not lightning:
        raise reader.refuse("has no state_dict, so it is not Lightning's", 'set load_type = "pt"')
    if load_type == "pt" and lightning:
        raise reader.refuse("is Lightning's, not a plain state dict", 'set load_type = "pl"')
    if lightning:
        return _lightning(reader, content["state_dict"])
    holder = holder_of(content)
    if holder is None:
        return _tensors(reader, content), ()
    beside = ", ".join(sorted(key[:60] for key in content if isinstance(key, str) and key != holder))
    note = f"{reader.subject}: its tensors are under {holder}" + (f"; left out {beside}" if beside else "")
    return _tensors(reader, content[holder]), (note,)


def _expect_unpacked(data: bytes) -> None:
    """torch writes an archive without compression. One that holds more than it has bytes is not torch's."""
    if not data.startswith(b"PK"):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
    except _NO_ARCHIVE:
        return  # which torch will say too
    expect_unpacked(members, len(data))
    if any(member.file_size > _PICKLE for member in members if member.filename.endswith(".pkl")):
        raise RefusedError(f"says what it holds in more than {_PICKLE:,} bytes")


class _Counted(io.BytesIO):
    """A file of which so many parts are read and no more: each is a step of a pickle, and some are a byte long."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._left = _READS

    def read(self, size: int | None = -1, /) -> bytes:
        self._count()
        return super().read(size)

    def readline(self, size: int | None = -1, /) -> bytes:
        self._count()
        return super().readline(size)

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise RefusedError(f"takes more than {_READS:,} steps to read")


_KINDS = "a torch state dict (.pt, .pth), a Lightning .ckpt, a .safetensors or a .npz file is expected"


def _not_weights(reader: _Reader, said: str) -> ProblemsError:
    code = _CODE.search(said)
    if code is None:
        return reader.refuse("is not a checkpoint, or it is damaged", _KINDS)
    return reader.refuse(
        f"is refused: it holds more than weights ({code[1]}), and loading that could run code",
        'save the state dict alone: torch.save(model.state_dict(), "model.pt")',
    )


def _lightning(reader: _Reader, content: Mapping[Any, Any]) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    state = _tensors(reader, content)
    inside = {key.removeprefix(LIGHTNING_PREFIX): v for key, v in state.items() if key.startswith(LIGHTNING_PREFIX)}
    if not inside:
        return state, ()
    outside = sorted(key for key in state if not key.startswith(LIGHTNING_PREFIX))
    return inside, (f"{reader.subject}: left out {', '.join(outside)}",) if outside else ()


def _tensors(reader: _Reader, content: Mapping[Any, Any]) -> dict[str, Tensor]:
    if len(content) > _TENSORS:
        raise reader.refuse(f"holds {len(content):,} tensors; {_TENSORS:,} are the most")
    for key, value in content.items():
        if not isinstance(key, str) or not isinstance(value, Tensor):
            name = repr(key[:100]) if isinstance(key, str) else repr(key)[:100] if _short(key) else type(key).__name__
            raise reader.refuse(f"is not a state dict: {name} holds a {type(value).__name__}", _KINDS)
    return dict(content)


def _short(key: object) -> bool:
    """Whether its text is short: a tuple may hold itself many times over."""
    return isinstance(key, int | float | bytes | type(None)) and (not isinstance(key, int) or key.bit_length() < 300)
