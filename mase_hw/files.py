"""Writing files whole: no one ever reads half of one. And where the project keeps what took long to make."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_whole(path: Path, text: str) -> None:
    """Writes the text beside its place, and renames it into it: a link there is replaced, not followed.

    What cannot be written leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = None
    try:
        # A new file under a name that nobody foresees: a link that lies there already would lead elsewhere.
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        aside = Path(name)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        aside.chmod(0o666 & ~_umask())  # mkstemp's files are its owner's alone
        aside.replace(path)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None  # not the name of the file aside
    finally:
        if aside is not None:
            aside.unlink(missing_ok=True)


def _umask() -> int:
    """What the user takes from new files; it cannot be asked without being set."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def cache_root() -> Path:
    """$MASE_HW_CACHE, or mase-hw in the user's cache folder. It need not exist."""
    if given := os.environ.get("MASE_HW_CACHE"):
        return Path(given).expanduser().resolve()
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mase-hw"
