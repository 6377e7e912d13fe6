"""A TOML file to values and places; what keeps a file from being read at all is told here."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any

from mase_hw.config.places import Places
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.untrusted import RefusedError, parse_toml, read_regular
from mase_hw.untrusted.toml_text import LARGEST

_AT = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)$")


def read_toml(path: Path) -> tuple[dict[str, Any], Places]:
    """The values of the TOML at `path`, with the lines of their keys."""
    text = _text(path)
    try:
        return parse_toml(text), Places(path, text)
    except RefusedError as error:
        raise ProblemsError(Problem(str(error), Place(path))) from None
    except ValueError as error:  # TOMLDecodeError is one; so is an integer too long for Python
        raise ProblemsError(_broken(path, text, str(error))) from None


def _text(path: Path) -> str:
    if path.is_dir():
        raise ProblemsError(Problem("is a folder, not a TOML file", Place(path), _tomls(path)))
    try:
        data = read_regular(path, LARGEST)
    except FileNotFoundError:
        raise ProblemsError(Problem("no such file", Place(path), _tomls(path.parent, path.name))) from None
    except OSError as error:
        raise ProblemsError(Problem(f"cannot be read: {error.strerror}", Place(path))) from None
    except RefusedError as error:
        raise ProblemsError(Problem(str(error), Place(path), "a TOML of mase-hw has some kilobytes")) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        text = f"not UTF-8: byte 0x{data[error.start]:02x} in line {line}"
        raise ProblemsError(Problem(text, Place(path, line), "save the file as UTF-8")) from None


def _broken(path: Path, text: str, said: str) -> Problem:
    at = _AT.search(said)
    reason = _AT.sub("", said)
    if at is None:
        return Problem(f"not valid TOML: {reason}", Place(path))
    if at[1] is None:
        return Problem(f"not valid TOML: {reason} at the end", Place(path, len(text.splitlines())))
    return Problem(f"not valid TOML: {reason} at column {at[2]}", Place(path, int(at[1])))


def _tomls(folder: Path, like: str = "") -> str | None:
    """A hint: the TOML in `folder` most like the name asked for, or all of them."""
    if not folder.is_dir():
        return f"there is no folder {folder}"
    names = sorted(item.name for item in folder.glob("*.toml"))
    close = difflib.get_close_matches(like, names, n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"in this folder: {', '.join(names)}" if names else None
