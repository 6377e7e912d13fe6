"""Where the files of a data set are looked for, and what is said when they are nowhere.

The folders, first match wins: $MASE_HW_DATA; `data` beside the TOML; `datasets` in the cache folder ($MASE_HW_CACHE, or
mase-hw in the user's cache folder). In each the file may lie directly or in a folder named like the data set.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from mase_hw.config.opened import DATA
from mase_hw.datasets.registry import DataRequest
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.files import cache_root
from mase_hw.untrusted import RefusedError, expect_regular

CACHE = "MASE_HW_CACHE"
OFFLINE = "MASE_HW_OFFLINE"
LARGEST = 4 << 30  # bytes of a file


def cache_folder() -> Path:
    """Where downloads are kept. It need not exist."""
    return cache_root() / "datasets"


def search_folders(request: DataRequest) -> list[Path]:
    """The folders in the order they are searched."""
    folders = [request.base / "data", cache_folder()]
    if given := os.environ.get(DATA):
        folder = Path(given).expanduser()
        if not folder.is_dir():
            what = "is a file" if folder.exists() else "does not exist"
            raise request.refuse(f"{DATA} = {given} {what}", f"set {DATA} to the folder with the data, or unset it")
        folders.insert(0, folder)
    return folders


def find(request: DataRequest, names: Iterable[str], inside: Iterable[str] = ()) -> Path | None:
    """The first of `names` (in order of preference) in the first folder that has one; `inside` names sub-folders."""
    wanted = list(names)
    for folder in search_folders(request):
        for place in (folder, folder / request.name, *(folder / name for name in inside)):
            for name in wanted:
                if (place / name).exists():
                    return _regular(request, place / name)
    return None


def _regular(request: DataRequest, path: Path) -> Path:
    """A FIFO or a device would be read without end."""
    try:
        if expect_regular(path).st_size > LARGEST:
            raise RefusedError(f"has more than {LARGEST:,} bytes")
    except RefusedError as error:
        raise request.refuse(f"{path} {error}", "put the file itself there") from None
    return path


def missing(request: DataRequest, files: str, tried: str) -> ProblemsError:
    """Nothing was found and `tried` says why it could not be fetched either."""
    places = "\n".join(f"  {folder}" for folder in search_folders(request))
    hint = f"put {files}\nin one of\n{places}\nor in a folder {request.name} there; {DATA} names another folder"
    return request.refuse(f"no file of it is on this machine, and {tried}", hint)


class FileReader:
    """One file of a data set: every refusal names it."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def refuse(self, text: str, hint: str | None = None, line: int = 0) -> ProblemsError:
        return ProblemsError(Problem(text, Place(self.path, line), hint))
