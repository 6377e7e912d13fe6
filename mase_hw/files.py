"""Writing files whole: no one ever reads half of one."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes the text beside its place, and renames it into it. What cannot be written leaves nothing behind."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        aside.write_text(text, encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # not the name of the file aside
    finally:
        aside.unlink(missing_ok=True)
