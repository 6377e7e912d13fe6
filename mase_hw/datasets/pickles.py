"""A pickle of arrays and plain values, read without running anything it names.

Numpy's arrays are pickled as calls of a few of its functions. Here these names stand for objects of this file that only
note what they are called with; any other name is refused before it is looked up. So no function of numpy's sees
the file's values either: an array is made at the end, from bytes whose number has been checked.
"""

from __future__ import annotations

import io
import math
import pickle
import struct
from pathlib import Path
from typing import Any

import numpy as np

from mase_hw.datasets.files import FileReader
from mase_hw.untrusted import RefusedError, read_regular

LARGEST = 512 << 20  # bytes of a file

_TYPES = ("u1", "i1", "i4", "i8", "f4", "f8")
_RAISED = (  # what the reader was seen to raise on damaged files
    *(pickle.PickleError, struct.error, EOFError, ValueError, LookupError, TypeError, AttributeError),
    *(MemoryError, OverflowError, RecursionError),
)


class _RefusedError(Exception):
    """The pickle names something that is not data."""


class _Stub:
    """What a name of numpy's stands for. Nothing in the pickle can change it."""

    __slots__ = ("name",)
    name: str

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "name", name)

    def __setattr__(self, key: str, value: object) -> None:
        raise _RefusedError(f"sets {key} of {self.name}")

    def __setstate__(self, state: object) -> None:
        raise _RefusedError(f"sets the state of {self.name}")

    def __call__(self, *args: Any) -> Any:
        match self.name, args:
            case "_reconstruct", (_Stub(name="ndarray"), tuple(), _):
                return _Array()
            case "dtype", (str() | bytes() as text, *_):
                return _Type(_text(text))
            case "_frombuffer", (bytes() | bytearray() as data, _Type() as kind, tuple() as shape, "C" | "F" as order):
                return _Array((1, shape, kind, order == "F", bytes(data)))
            case "encode", (str() as text, "latin1" | b"latin1"):
                return text.encode("latin1")
        raise _RefusedError(f"calls {self.name} with unusual values")


class _Type:
    """A numpy type by its name; its pickled state (byte order and flags) must be a plain number's."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        if name not in _TYPES:
            raise _RefusedError(f"holds an array of {name!r}")
        self.name = name

    def __setstate__(self, state: Any) -> None:
        order = _text(state[1])
        if order not in ("|", "<") or any(item is not None for item in state[2:5]):
            raise _RefusedError(f"holds an array of {order}{self.name}")


class _Array:
    """An array in the making."""

    __slots__ = ("state",)

    def __init__(self, state: Any = None) -> None:
        self.state = state

    def __setstate__(self, state: Any) -> None:
        self.state = state

    def made(self) -> np.ndarray:
        match self.state:
            case (int(), tuple() as shape, _Type() as kind, bool() | int() as fortran, bytes() as data):
                little = np.dtype(f"<{kind.name}")
                sizes_fit = all(isinstance(size, int) and size >= 0 for size in shape)
                if sizes_fit and math.prod(shape) * little.itemsize == len(data):
                    return np.frombuffer(data, dtype=little).reshape(shape, order="F" if fortran else "C")
        raise _RefusedError("holds an array whose shape and bytes do not fit")


_STUBS = {
    **{(f"numpy.{core}.multiarray", "_reconstruct"): "_reconstruct" for core in ("core", "_core")},
    **{(f"numpy.{core}.numeric", "_frombuffer"): "_frombuffer" for core in ("core", "_core")},
    ("numpy", "ndarray"): "ndarray",
    ("numpy", "dtype"): "dtype",
    ("_codecs", "encode"): "encode",
}


# The one written in Python: the faster one fills memory by order of the file (its memo grows to any index it is given).
class _Unpickler(pickle._Unpickler):
    def find_class(self, module: str, name: str, /) -> Any:
        stub = _STUBS.get((module, name))
        if stub is None:
            raise _RefusedError(f"names {module}.{name}")
        return _Stub(stub)

    def get_extension(self, code: int) -> None:
        raise _RefusedError(f"names the extension {code}")

    def persistent_load(self, pid: Any) -> Any:
        raise _RefusedError("names an object outside of it")


def read_pickle(path: Path) -> Any:
    """The dict, list, string, number or array in the file. Strings of Python 2 come as bytes."""
    reader = FileReader(path)
    try:
        return _finished(_Unpickler(io.BytesIO(read_regular(path, LARGEST)), encoding="bytes").load(), {})
    except RefusedError as error:
        raise reader.refuse(f"{path.name} {error}", "fetch the file from its publisher") from None
    except _RefusedError as error:
        text = f"{path.name} is refused: it {error}, and only arrays and plain values are loaded"
        raise reader.refuse(text, "fetch the file from its publisher") from None
    except _RAISED as error:
        text = f"{path.name} is no pickle, or it is damaged: {type(error).__name__}"
        raise reader.refuse(text, "fetch the file again") from None
    except OSError as error:
        raise reader.refuse(f"{path.name} cannot be read: {error.strerror}") from None


def _finished(value: Any, done: dict[int, Any]) -> Any:
    """The value with its arrays made; what is not data by then is refused. `done`: what is shared is made once."""
    if value is None or isinstance(value, bytes | str | int | float):
        return value
    if id(value) not in done:
        done[id(value)] = _made(value, done)
    return done[id(value)]


def _made(value: Any, done: dict[int, Any]) -> Any:
    if isinstance(value, _Array):
        return value.made()
    if isinstance(value, dict):
        return {_text(k) if isinstance(k, bytes) else k: _finished(v, done) for k, v in value.items()}
    if isinstance(value, list):
        return [_finished(item, done) for item in value]
    raise _RefusedError(f"holds a {type(value).__name__.lstrip('_')}")


def _text(value: Any) -> str:
    if not isinstance(value, bytes | str):
        raise _RefusedError(f"has a {type(value).__name__} for a name")
    return value if isinstance(value, str) else value.decode("latin1")
