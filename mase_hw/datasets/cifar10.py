"""`cifar10`: 32 x 32 colour images, from its archive (the Python or the binary one), packed or unpacked."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from mase_hw.datasets.archive import unpacked
from mase_hw.datasets.download import DownloadError, download
from mase_hw.datasets.files import FileReader, cache_folder, find, missing
from mase_hw.datasets.images import Bytes, check_labels, image_dataset
from mase_hw.datasets.pickles import LARGEST, read_pickle
from mase_hw.datasets.registry import DataRequest, Dataset, Labels, register
from mase_hw.diagnostics import Collector
from mase_hw.untrusted import RefusedError, read_regular

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
MD5 = "c32a1d4ab5d03f1284b67883e8d87530"
SHAPE = (3, 32, 32)
PIXELS = 3 * 32 * 32
BATCHES = (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch")

_ARCHIVES = ("cifar-10-binary.tar.gz", "cifar-10-python.tar.gz")
_FOLDERS = ("cifar-10-batches-bin", "cifar-10-batches-py")
_FIRST = (f"{BATCHES[0]}.bin", BATCHES[0])  # this file shows where the others are


@register("cifar10")
def cifar10(request: DataRequest) -> Dataset:
    """Samples of shape (3, 32, 32); of the training images of each class a tenth validates."""
    nested = (f"{request.name}/{folder}" for folder in _FOLDERS)
    path = find(request, (*_FIRST, *_ARCHIVES), inside=(*_FOLDERS, *nested)) or _downloaded(request)
    if path.name in _ARCHIVES:
        path = _first_batch(path)
    with Collector() as problems:
        batches = [problems.attempt(partial(_batch, path.with_name(name))) for name in _names(path)]
    whole = [batch for batch in batches if batch is not None]
    x, y = (np.concatenate(part) for part in zip(*whole[:-1], strict=True))
    return image_dataset(request, (x, y), whole[-1])


def _downloaded(request: DataRequest) -> Path:
    try:
        return download(URL, cache_folder() / _ARCHIVES[0], MD5)
    except DownloadError as error:
        files = f"{' or '.join(_ARCHIVES)}, or the folder {' or '.join(_FOLDERS)} out of it,"
        raise missing(request, files, str(error)) from None


def _first_batch(archive: Path) -> Path:
    folder = unpacked(archive)
    for name in _FIRST:
        for path in sorted(folder.rglob(name)):
            return path
    raise FileReader(archive).refuse(f"{archive.name} has no {' and no '.join(_FIRST)}", "fetch the archive again")


def _names(first: Path) -> list[str]:
    return [name + first.suffix for name in BATCHES]


def _batch(path: Path) -> tuple[Bytes, Labels]:
    reader = FileReader(path)
    if not path.is_file():
        raise reader.refuse(f"{path.name} is missing", f"{', '.join(BATCHES)} belong together")
    x, y = _binary(reader) if path.suffix == ".bin" else _pickled(reader)
    check_labels(reader, y)
    return x.reshape(-1, *SHAPE), y


def _binary(reader: FileReader) -> tuple[Bytes, Labels]:
    """A byte for the label, then the red, the green and the blue pixels; row after row."""
    try:
        data = np.frombuffer(read_regular(reader.path, LARGEST), dtype=np.uint8)
    except RefusedError as error:
        raise reader.refuse(f"{reader.path.name} {error}", "fetch the archive again") from None
    if not data.size or data.size % (1 + PIXELS):
        text = f"{reader.path.name} has {data.size} bytes, which is no multiple of {1 + PIXELS}"
        raise reader.refuse(text, "fetch the archive again")
    rows = data.reshape(-1, 1 + PIXELS)
    return rows[:, 1:], rows[:, 0].astype(np.int64)


def _pickled(reader: FileReader) -> tuple[Bytes, Labels]:
    content = read_pickle(reader.path)
    data = content.get("data") if isinstance(content, dict) else None
    labels = content.get("labels") if isinstance(content, dict) else None
    name = reader.path.name
    if not isinstance(data, np.ndarray) or data.dtype != np.uint8 or data.ndim != 2 or data.shape[1] != PIXELS:
        held = f"{data.dtype}{list(data.shape)}" if isinstance(data, np.ndarray) else f"a {type(data).__name__}"
        raise reader.refuse(f"{name}: its data is {held}, not uint8[images, {PIXELS}]", "fetch the archive again")
    if not isinstance(labels, list) or not all(type(label) is int for label in labels) or len(labels) != len(data):
        count = f"{len(labels)} labels" if isinstance(labels, list) else "no list of labels"
        raise reader.refuse(f"{name}: {len(data)} images and {count}", "one whole number for each image")
    if not labels:
        raise reader.refuse(f"{name} has no images")
    return data, np.array([min(max(label, -1), 255) for label in labels], dtype=np.int64)
