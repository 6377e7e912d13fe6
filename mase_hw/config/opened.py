"""Which files were opened for reading while a block ran: data that a user's function reads has no key in a TOML."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mase_hw.config.sources import relative

DATA = "MASE_HW_DATA"
_CODE = (".py", ".pyc", ".pyi", ".pth", ".so", ".pyd", ".dll")  # `named_files` has the user's own
_WRITES = os.O_WRONLY | os.O_RDWR
_logs: list[list[str]] = []  # those that are being written; the hook cannot be removed
_installed: list[bool] = []


@contextmanager
def opened_files() -> Iterator[list[str]]:
    """The paths that Python opens for reading in the block, in order, as its code names them."""
    if not _installed:
        sys.addaudithook(_hook)
        _installed.append(True)
    log: list[str] = []
    _logs.append(log)
    try:
        yield log
    finally:
        _logs.remove(log)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _logs or event != "open":
        return
    path, mode, flags = arguments
    writes = any(letter in mode for letter in "wax+") if isinstance(mode, str) else bool((flags or 0) & _WRITES)
    if isinstance(path, str | bytes | os.PathLike) and not writes:
        for log in _logs:
            log.append(os.path.abspath(os.fsdecode(path)))


def data_files(log: list[str], base: Path, known: list[Path]) -> dict[str, Path]:
    """The user's files among those opened, by their keys: below the TOML's folder `base`, the current one, or the one
    that MASE_HW_DATA names. Those of Python's installation, hidden ones, code, and those `known` already are left out.
    """
    own = {path.resolve() for path in known}
    python = [Path(sys.prefix).resolve(), Path(sys.base_prefix).resolve(), Path(__file__).resolve().parents[1]]
    found: dict[str, Path] = {}
    for name in log:
        file = Path(name).resolve()
        if file in own or file.suffix in _CODE or any(map(file.is_relative_to, python)) or not file.is_file():
            continue
        key = _key(file, base)
        if key is not None:
            found[key] = file
    return dict(sorted(found.items()))


def _key(file: Path, base: Path) -> str | None:
    for root in (base, Path.cwd()):
        if _inside(file, root):
            return relative(file, base)
    given = os.environ.get(DATA)
    if given and _inside(file, Path(given).expanduser()):
        return f"${DATA}/{file.relative_to(Path(given).expanduser().resolve()).as_posix()}"
    return None


def _inside(file: Path, root: Path) -> bool:
    root = root.resolve()
    if root == root.parent or not file.is_relative_to(root):
        return False
    return not any(part.startswith(".") for part in file.relative_to(root).parts)


def place_of(key: str, base: Path) -> Path | None:
    """The file of a key that `data_files` made; None for other keys."""
    if key.startswith(f"${DATA}/"):
        return Path(os.environ.get(DATA) or f"${DATA}").expanduser() / key.removeprefix(f"${DATA}/")
    return base / key if key.startswith(".") else None
