"""Reading what other commands left in a build: a file that is missing or damaged is said to be so, never guessed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from mase_hw.untrusted import Folder, RefusedError, parse_json

DAMAGED = (LookupError, TypeError, ValueError, AttributeError)  # what reading a file of another shape ends with


def read_table(build: Path, name: str, schema: int | None = None) -> dict[str, Any] | str | None:
    """The JSON object in a file of a build; None where there is none; a text that says why it cannot be read."""
    last = name.rpartition("/")[2]
    try:
        content = parse_json(Folder(build).read(name))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        return f"{last} cannot be read: {error.strerror}"
    except RefusedError as error:
        return f"{last} {error}"
    if not isinstance(content, dict):
        return f"{last} is not a table"
    if schema is not None and content.get("schema") != schema:
        return f"{last} is of another version of mase-hw: this one reads schema {schema}"
    return content


def changed(then: object, now: dict[str, str]) -> list[str]:
    """Names of files that are not as they were; all of them where it was not noted what they were."""
    if not isinstance(then, dict):
        return sorted(now)
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def said(command: str, build: Path, *options: str) -> str:
    """A command line on this build."""
    return shlex.join(["mase-hw", command, str(build), *options])
