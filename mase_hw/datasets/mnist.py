"""`mnist`: 28 x 28 handwritten digits from its four IDX files, gzipped or not; downloaded where they are missing.

Any other set in the same files (Fashion-MNIST, for one) is read the same way.
"""

from __future__ import annotations

import gzip
import zlib
from pathlib import Path
from typing import IO

import numpy as np

from mase_hw.datasets.download import DownloadError, download
from mase_hw.datasets.files import FileReader, cache_folder, find, missing
from mase_hw.datasets.images import Bytes, check_labels, image_dataset
from mase_hw.datasets.registry import DataRequest, Dataset, register

URL = "https://ossci-datasets.s3.amazonaws.com/mnist/"
FILES = {  # and the MD5 of the publisher's gzipped file
    "train-images-idx3-ubyte": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte": "ec29112dd5afa0611ce80d1b7f02629c",
}
SIDE = 28
_MOST = 1_000_000  # images of a file: what its header says is believed up to here
_AGAIN = "fetch the file again"


@register("mnist")
def mnist(request: DataRequest) -> Dataset:
    """Samples of shape (1, 28, 28); of the training images of each digit a tenth validates."""
    paths = _files(request)
    train, test = (_split(paths[images], paths[labels]) for images, labels in zip(*[iter(FILES)] * 2, strict=True))
    return image_dataset(request, train, test)


def _files(request: DataRequest) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for name in FILES:
        dotted = name.replace("-idx", ".idx")  # as some unpackers write it
        path = find(request, [name, f"{name}.gz", dotted, f"{dotted}.gz"], inside=("MNIST/raw",))
        if path is not None:
            found[name] = path
    lacking = [name for name in FILES if name not in found]
    cache = cache_folder()
    own = [path for path in found.values() if not path.is_relative_to(cache)]
    if lacking and own:  # half a set of the user's is not completed with half of another
        raise request.refuse(f"{own[0].parent} has {own[0].name} but no {' and no '.join(lacking)}", "add it there")
    try:
        for name in lacking:
            found[name] = download(f"{URL}{name}.gz", cache / "mnist" / f"{name}.gz", FILES[name])
    except DownloadError as error:
        raise missing(request, f"{', '.join(FILES)} (each may end in .gz)", str(error)) from None
    return found


def _split(images: Path, labels: Path) -> tuple[Bytes, Bytes]:
    x, y = read_idx(images, 3), read_idx(labels, 1)
    if x.shape[1:] != (SIDE, SIDE):
        text = f"{images.name}: its images have {x.shape[1]} x {x.shape[2]} pixels, not {SIDE} x {SIDE}"
        raise FileReader(images).refuse(text)
    if len(x) != len(y) or not len(x):
        text = f"{images.name} has {len(x)} images, {labels.name} has {len(y)} labels"
        raise FileReader(labels).refuse(text, "both files of a split come from one source")
    check_labels(FileReader(labels), y)
    return x[:, None], y


def read_idx(path: Path, axes: int) -> Bytes:
    """The bytes of an IDX file with that many axes: two zeros, 8 for bytes, the axes, their sizes, the values."""
    reader = FileReader(path)
    try:
        opened = gzip.open if path.suffix == ".gz" else open
        with opened(path, "rb") as source:
            return _idx(reader, source, axes)
    except (OSError, EOFError, zlib.error) as error:
        raise reader.refuse(f"{path.name} cannot be read: {error}", _AGAIN) from None


def _idx(reader: FileReader, source: IO[bytes] | gzip.GzipFile, axes: int) -> Bytes:
    name = reader.path.name
    head = source.read(4 + 4 * axes)
    if head[:4] != bytes((0, 0, 8, axes)):
        text = f"{name} starts with {head[:4].hex() or 'nothing'}, an IDX file like this with 000008{axes:02x}"
        raise reader.refuse(text, _AGAIN)
    sizes = tuple(int.from_bytes(head[i : i + 4], "big") for i in range(4, 4 + 4 * axes, 4))
    count, room = 1, _MOST * SIDE * SIDE
    for size in sizes:
        count *= size
    if count > room or len(head) < 4 + 4 * axes:
        raise reader.refuse(f"{name} states the sizes {sizes}, which cannot be", _AGAIN)
    data = source.read(count + 1)  # one more shows a file that is too long without reading all of it
    if len(data) != count:
        less = f"only {len(data)}" if len(data) < count else "more"
        raise reader.refuse(f"{name} states {count} values of the sizes {sizes} and has {less}", _AGAIN)
    return np.frombuffer(data, dtype=np.uint8).reshape(sizes)
