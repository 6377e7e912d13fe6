"""A user's own Python, named in a TOML as "file.py:name": found, run, and its failures told with their lines."""

from __future__ import annotations

import hashlib
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Place, Problem, ProblemsError


def is_user_code(name: str) -> bool:
    """Whether a TOML's value means a file and not a registered name."""
    return ":" in name or name.endswith(".py")


def is_onnx(name: object) -> bool:
    """Whether a TOML's `model` (or a path) is an ONNX file."""
    return str(name).endswith(".onnx")


def load_object(key: str, name: str, base: Path, where: Place | None = None) -> tuple[Any, Path]:
    """What `key = "file.py:name"` names, and its file. The file is run afresh, under a name nobody else uses."""
    subject = f'{key} = "{name}"'
    file, _, attribute = name.rpartition(":")
    if not file or not attribute.isidentifier():
        hint = f'write "file.py:{"Class" if key == "model" else "function"}"'
        raise ProblemsError(Problem(f"{subject} does not name what to take from the file", where, hint))
    path = base / file
    if not path.is_file():
        known = [item.name for item in path.parent.glob("*.py")] if path.parent.is_dir() else []
        hint = nearest(path.name, known, "Python files there") if known else _nothing_there(path)
        raise ProblemsError(Problem(f"{subject}: no such file {file}", where, hint))
    module = _run(path, subject)
    found = getattr(module, attribute, None)
    if found is None:
        own = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        hint = nearest(attribute, own, "it defines") if own else "it defines nothing"
        raise ProblemsError(Problem(f"{subject}: {file} has no {attribute}", where or Place(path), hint))
    return found, path


@contextmanager
def user_code(path: Path, subject: str) -> Iterator[None]:
    """Runs the user's code in its block; what it raises becomes a Problem at the last line of `path` involved."""
    try:
        yield
    except ProblemsError:
        raise
    except (Exception, SystemExit) as error:  # a stranger's code may raise anything: this is the one border
        said = error.msg if isinstance(error, SyntaxError) else error  # its text would repeat file and line
        text = f"{subject}: {type(error).__name__}: {said}".rstrip(": ")
        raise ProblemsError(Problem(text, _line_of(error, path), _hint(error, path))) from error


def _hint(error: BaseException, path: Path) -> str:
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"pip install {error.name.partition('.')[0]} for {sys.executable}, or put it beside {path.name}"
    if isinstance(error, FileNotFoundError):
        return f"paths in {path.name} are relative to the current folder; Path(__file__).parent is that of {path.name}"
    return f"this line of {path.name} is where your own code stopped: correct it there"


def _nothing_there(path: Path) -> str:
    missing = f"Python file in {path.parent}" if path.parent.is_dir() else f"folder {path.parent}"
    return f"there is no {missing}; paths are relative to the TOML"


def _run(path: Path, subject: str) -> ModuleType:
    module = ModuleType(f"_mase_hw_user_{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}")
    module.__file__ = str(path)
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)  # its neighbours can be imported, as when Python runs the file itself
    sys.modules[module.__name__] = module
    try:
        with user_code(path, subject):
            # Compiled here and not by importlib: no __pycache__ beside the user's file, and never a stale one.
            exec(compile(path.read_bytes(), str(path), "exec"), module.__dict__)
    except ProblemsError:
        del sys.modules[module.__name__]
        raise
    finally:
        sys.path.remove(folder)
    return module


def _line_of(error: BaseException, path: Path) -> Place:
    if isinstance(error, SyntaxError) and error.filename and error.lineno:
        return Place(Path(error.filename), error.lineno)
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path) and frame.lineno]
    return Place(path, lines[-1] if lines else 0)
