"""A file from the network into the cache: whole and checked, or not at all."""

from __future__ import annotations

import hashlib
import http.client
import io
import os
import shutil
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

from mase_hw.datasets.files import OFFLINE

_CHUNK = 1 << 18
_TIMEOUT = 30.0
_SCHEMES = ("https://", "http://")


class DownloadError(Exception):
    """Why a file could not be fetched, in words for the user."""


def write_whole(place: Path, write: Callable[[IO[bytes]], None]) -> Path:
    """`place`, written aside and renamed when `write` is done; whatever stops it, nothing is left half-written."""
    place.parent.mkdir(parents=True, exist_ok=True)
    handle, aside = tempfile.mkstemp(prefix=f".{place.name}.", suffix=".part", dir=place.parent)
    try:
        with os.fdopen(handle, "wb") as out:
            write(out)
        os.chmod(aside, 0o644)  # mkstemp's file is the owner's alone; a shared cache is for all
        os.replace(aside, place)
    except BaseException:  # a KeyboardInterrupt too: raised again, after the half file is gone
        with suppress(FileNotFoundError):
            os.unlink(aside)
        raise
    return place


@contextmanager
def temporary_folder(folder: Path) -> Iterator[Path]:
    """A folder in `folder` for what is kept only until it has been read."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=".", suffix=".part", dir=folder))
    except OSError as error:
        raise DownloadError(f"{folder} cannot be written: {error.strerror}") from None
    try:
        yield aside
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def download(url: str, place: Path, md5: str | None = None, limit: int = 4 << 30) -> Path:
    """`url` as the file `place`, with a progress bar on a terminal. `md5` is the one its publisher states."""
    with _explained(url):
        return write_whole(place, lambda out: _fetch(url, out, md5, limit))


def fetch_bytes(url: str, limit: int = 1 << 20) -> bytes:
    """What is behind `url`, when it is small."""
    out = io.BytesIO()
    with _explained(url):
        _fetch(url, out, None, limit)
    return out.getvalue()


@contextmanager
def _explained(url: str) -> Iterator[None]:
    if not url.startswith(_SCHEMES):
        raise DownloadError(f"{url} is neither http nor https")
    if os.environ.get(OFFLINE):
        raise DownloadError(f"{OFFLINE} forbids to download it")
    try:
        yield
    except urllib.error.HTTPError as error:
        raise DownloadError(f"{url} answers {error.code} {error.reason}") from None
    except urllib.error.URLError as error:
        raise DownloadError(f"{url} cannot be reached: {error.reason}") from None
    except (TimeoutError, ConnectionError, http.client.HTTPException) as error:
        raise DownloadError(f"the download of {url} broke off: {type(error).__name__}: {error}") from None
    except OSError as error:  # of the cache folder: those of the network are caught above
        raise DownloadError(f"{url} cannot be kept: {error}") from None


def _fetch(url: str, out: IO[bytes], md5: str | None, limit: int) -> None:
    request = urllib.request.Request(url, headers={"User-Agent": "mase-hw"})
    digest = hashlib.md5(usedforsecurity=False)
    with urllib.request.urlopen(request, timeout=_TIMEOUT) as answer, _bar() as bar:
        length = answer.headers.get("Content-Length", "")
        total = int(length) if length.isdigit() else None
        task = bar.add_task(url.rpartition("/")[2], total=total)
        done = 0
        while chunk := answer.read(_CHUNK):
            done += len(chunk)
            if done > limit:
                raise DownloadError(f"{url} is larger than {limit} bytes")
            out.write(chunk)
            digest.update(chunk)
            bar.update(task, completed=done)
    if total is not None and done != total:
        raise DownloadError(f"the download of {url} broke off after {done} of {total} bytes")
    if md5 is not None and digest.hexdigest() != md5.lower():
        raise DownloadError(f"the download of {url} is damaged: its MD5 is {digest.hexdigest()}, not {md5}")


def _bar() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn())
    # On standard error: what a command prints is not mixed with it, and it goes when the download is done.
    return Progress(*columns, TimeRemainingColumn(), console=Console(stderr=True), transient=True)
