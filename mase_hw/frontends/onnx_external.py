"""Values of ONNX tensors that lie in a file of their own: it is read from the folder of the model alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from mase_hw.diagnostics import Place, Problem, ProblemsError

_LARGEST = 1 << 30  # bytes of a tensor


def external_bytes(entries: Mapping[str, str], model: Path, tensor: str) -> bytes:
    """The bytes that `entries` (location, offset, length) name, for the model file `model`."""
    path = _inside(entries.get("location", ""), model, tensor)
    offset, length = (_number(entries, key, model, tensor) for key in ("offset", "length"))
    try:
        size = path.stat().st_size
        start = offset or 0
        count = size - start if length is None else length
        if count > _LARGEST:
            text = f"tensor {tensor!r}: {count:,} bytes of {path.name} are asked for; {_LARGEST:,} are the most"
            raise ProblemsError(Problem(text, Place(model)))
        if start + count > size or count < 0:
            text = (
                f"tensor {tensor!r}: {path.name} has {size} bytes, and bytes {start} to {start + count} are asked for"
            )
            raise ProblemsError(Problem(text, Place(model), f"copy {path.name} again: it is not whole"))
        with path.open("rb") as file:
            file.seek(start)
            return file.read(count)
    except OSError as error:
        text = f"tensor {tensor!r}: {path.name} cannot be read: {error.strerror}"
        raise ProblemsError(Problem(text, Place(model))) from None


def _inside(location: str, model: Path, tensor: str) -> Path:
    """The file beside the model. Links are followed before it is asked whether the file lies in the folder."""
    folder = model.parent.resolve()
    try:
        path = (folder / location).resolve()
        exists = path.is_file()
    except (ValueError, OSError, RuntimeError):  # a null byte, a name too long, a loop of links
        path, exists = folder, False
    if not location or not path.is_relative_to(folder):
        text = f"tensor {tensor!r}: its values are said to lie in {location!r}, outside the folder of the model"
        raise ProblemsError(Problem(text, Place(model), "put the values into the .onnx file, or a file beside it"))
    if not exists:
        text = f"tensor {tensor!r}: its values lie in {location!r}, and there is no such file"
        raise ProblemsError(Problem(text, Place(model), f"put {location} beside {model.name}"))
    return path


def _number(entries: Mapping[str, str], key: str, model: Path, tensor: str) -> int | None:
    text = entries.get(key)
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        what = f"tensor {tensor!r}: the {key} {text[:40]!r} of its values is no number of bytes"
        raise ProblemsError(Problem(what, Place(model), "the file is damaged: export it again"))
    return int(text)
