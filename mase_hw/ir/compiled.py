"""The engine compiled by numba, kept on disk, for all kinds of control that the package has.

numba does not know which other functions' text a compiled one was made of. So the folder that it keeps them in is named
after the text of every file that took part.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import CellType, FunctionType
from typing import Any

from mase_hw.files import cache_root
from mase_hw.ir import engine
from mase_hw.ir.control import KINDS, Kind

CHOICES = {  # functions of the engine, and those of a kind that they stand for
    engine.valids_of: "valids",
    engine.readies_of: "readies",
    engine.clock_of: "clock",
    engine.resting_of: "resting",
    engine.rest_of: "rest",
}


def kinds_with(used: Iterable[Kind]) -> tuple[Kind, ...]:
    """The package's own kinds and those in use, in an order that does not depend on what was imported first."""
    own = {kind.name: kind for kind in KINDS.values() if kind.clock.__module__.startswith("mase_hw.")}
    chosen = own | {kind.name: kind for kind in used}
    return tuple(chosen[name] for name in sorted(chosen))


@lru_cache(maxsize=16)
def compiled(function: Callable[..., int], kinds: Sequence[Kind]) -> Callable[..., int]:
    """A function of the engine, made to run on arrays; a kind's number is its place among `kinds`."""
    assert isinstance(function, FunctionType)
    made = dict(_choices(kinds))
    for called in _functions(function):
        _jitted(called, made)
    with _kept(_folder([function, *made], kinds)) as keep:
        found: Callable[..., int] = _jit(_linked(function, made), cache=keep)
    return found


@lru_cache(maxsize=16)
def _choices(kinds: Sequence[Kind]) -> Mapping[FunctionType, Any]:
    """The functions of all kinds, and those that choose among them."""
    made: dict[FunctionType, Any] = {}
    for choice, name in CHOICES.items():
        functions = [_jitted(getattr(kind, name), made) for kind in kinds]
        assert isinstance(choice, FunctionType)
        made[choice] = _choice(functions, choice.__code__.co_varnames[1 : choice.__code__.co_argcount])
    return made


def _jit(function: Callable[..., Any], *, cache: bool = False) -> Any:
    """Nothing in it allocates, so no references are counted (`_nrt`). All but the top becomes a part of its callers."""
    import numba

    options: dict[str, Any] = {"error_model": "numpy", "forceinline": not cache, "_nrt": False}
    return numba.njit(function, cache=cache, **options)


def _functions(function: FunctionType) -> Iterator[FunctionType]:
    """The plain functions that one calls, by name or as a closure."""
    values = [function.__globals__.get(name) for name in function.__code__.co_names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    yield from (value for value in values if isinstance(value, FunctionType))


def _jitted(function: Any, made: dict[FunctionType, Any]) -> Any:
    """A function and all that it calls, each compiled once; `made` has those that there are."""
    if function not in made:
        for called in _functions(function):
            _jitted(called, made)
        made[function] = _jit(_linked(function, made))
    return made[function]


def _linked(function: FunctionType, made: Mapping[FunctionType, Any]) -> FunctionType:
    """A copy that calls what was compiled in the place of what was not."""

    def swap(value: object) -> object:
        return made[value] if isinstance(value, FunctionType) else value

    used = {name: swap(function.__globals__[name]) for name in function.__code__.co_names
            if name in function.__globals__}  # fmt: skip
    cells = tuple(CellType(swap(cell.cell_contents)) for cell in function.__closure__ or ())
    names = {**function.__globals__, **used}
    copy = FunctionType(function.__code__, names, function.__name__, function.__defaults__, cells)
    copy.__qualname__, copy.__module__ = function.__qualname__, function.__module__
    return copy


def _choice(functions: Sequence[Any], arguments: Sequence[str]) -> Any:
    """One function for all kinds: its first argument is the kind's number. Kinds may share a function."""
    names = {f"function{k}": each for k, each in enumerate(dict.fromkeys(functions))}
    call = ", ".join(arguments)
    lines = [f"def choice(kind, {call}):"]
    for name, each in list(names.items())[:-1]:
        test = " or ".join(f"kind == {k}" for k, one in enumerate(functions) if one is each)
        lines += [f"    if {test}:", f"        return {name}({call})"]
    lines.append(f"    return {list(names)[-1]}({call})")
    exec("\n".join(lines), names)
    return _jit(names["choice"])


def _folder(functions: Iterable[Any], kinds: Sequence[Kind]) -> Path:
    """Where what is compiled from these is kept."""
    names = {function.__code__.co_filename for function in functions} | {__file__}
    digest = hashlib.sha256("\n".join([version("numba"), *(kind.name for kind in kinds)]).encode())
    for text in sorted(Path(name).read_bytes() for name in names):
        digest.update(b"%d:" % len(text) + text)
    return cache_root() / "engine" / digest.hexdigest()[:24]


@contextmanager
def _kept(folder: Path) -> Iterator[bool]:
    """While numba is to keep what it compiles there; no, where nothing can be written."""
    from numba.core import config as settings

    config: Any = settings
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        yield False
        return
    if not os.access(folder, os.W_OK):
        yield False
        return
    before = config.CACHE_DIR
    config.CACHE_DIR = str(folder)
    try:
        yield True
    finally:
        config.CACHE_DIR = before
