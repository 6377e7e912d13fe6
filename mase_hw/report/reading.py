"""Reading what other commands left in a build: a file that is missing or damaged is said to be so, never guessed."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

DAMAGED = (LookupError, TypeError, ValueError, AttributeError)  # what reading a file of another shape ends with


def read_table(path: Path, schema: int | None = None) -> dict[str, Any] | str | None:
    """The JSON object in a file; None where there is no file; a text that says why it cannot be read."""
    try:
        content = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        return f"{path.name} cannot be read: {error}"
    if not isinstance(content, dict):
        return f"{path.name} is not a table"
    if schema is not None and content.get("schema") != schema:
        return f"{path.name} is of another version of mase-hw: this one reads schema {schema}"
    return content


def changed(then: object, now: dict[str, str]) -> list[str]:
    """Names of files that are not as they were; all of them where it was not noted what they were."""
    if not isinstance(then, dict):
        return sorted(now)
    return sorted(name for name in {*then, *now} if then.get(name) != now.get(name))


def said(command: str, build: Path, *options: str) -> str:
    """A command line on this build."""
    return shlex.join(["mase-hw", command, str(build), *options])
