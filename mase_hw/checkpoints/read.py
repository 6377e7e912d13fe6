"""A checkpoint file to named tensors. No code in a file is ever run: torch reads with `weights_only`."""

from __future__ import annotations

import difflib
import io
import json
import pickle
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load as load_safetensors
from torch import Tensor

from mase_hw.diagnostics import Place, Problem, ProblemsError

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
)


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
    return _torch(reader, data, load_type)


def _bytes(reader: _Reader) -> bytes:
    path = reader.path
    if path.is_dir():
        raise reader.refuse("is a folder, not a file")
    try:
        return path.read_bytes()
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
        return length <= len(data) - 8 and isinstance(json.loads(data[8 : 8 + length]), dict)
    except ValueError:
        return False


def _safetensors(reader: _Reader, data: bytes) -> dict[str, Tensor]:
    try:
        state: dict[str, Tensor] = load_safetensors(data)
    except SafetensorError as error:
        raise reader.refuse(f"is not a safetensors file: {error}", 'set load_type = "auto"') from None
    return state


def _torch(reader: _Reader, data: bytes, load_type: str) -> tuple[dict[str, Tensor], tuple[str, ...]]:
    try:
        with warnings.catch_warnings():  # torch wonders aloud about a pickle that is not its own; we refuse it anyway
            warnings.simplefilter("ignore")
            content: Any = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise _not_weights(reader, str(error)) from None
    except _DAMAGED:
        raise reader.refuse("is not a checkpoint, or it is damaged", _KINDS) from None
    if not isinstance(content, Mapping):
        raise reader.refuse(f"holds a {type(content).__name__}, not a state dict", _KINDS)
    lightning = isinstance(content.get("state_dict"), Mapping)
    if load_type == "pl" and not lightning:
        raise reader.refuse("has no state_dict, so it is not Lightning's", 'set load_type = "pt"')
    if load_type == "pt" and lightning:
        raise reader.refuse("is Lightning's, not a plain state dict", 'set load_type = "pl"')
    return _lightning(reader, content["state_dict"]) if lightning else (_tensors(reader, content), ())


_KINDS = "a torch state dict (.pt, .pth), a Lightning .ckpt or a .safetensors file is expected"


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
    for key, value in content.items():
        if not isinstance(key, str) or not isinstance(value, Tensor):
            raise reader.refuse(f"is not a state dict: {key!r} holds a {type(value).__name__}", _KINDS)
    return dict(content)
