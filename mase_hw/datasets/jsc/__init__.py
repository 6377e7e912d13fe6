"""`jsc`: jets of particles, 16 features, the classes g, q, t, w, z (OpenML 42468, hls4ml_lhc_jets_hlf).

A local file is taken first (`mase_hw.datasets.files` has the folders): jsc.npz, jsc.h5, jsc.arff or jsc.csv. Otherwise
it is downloaded once and kept in the cache as jsc.npz.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from mase_hw.datasets.download import DownloadError, download, fetch_bytes, temporary_folder, write_whole
from mase_hw.datasets.files import FileReader, cache_folder, find, missing
from mase_hw.datasets.jsc.arrays import read_h5, read_npz
from mase_hw.datasets.jsc.columns import CLASSES, FEATURES
from mase_hw.datasets.jsc.text import Table, read_arff, read_csv
from mase_hw.datasets.registry import DataRequest, Dataset, Labels, register
from mase_hw.datasets.split import statistics_of, stratified

DESCRIPTION = "https://www.openml.org/api/v1/json/data/42468"
LEAST = 10  # rows of each class, so that every split gets one

_READERS: dict[str, Callable[[Path], Table]] = {
    ".npz": read_npz,
    ".h5": read_h5,
    ".hdf5": read_h5,
    ".z": read_h5,
    ".arff": read_arff,
    ".arff.gz": read_arff,
    ".csv": read_csv,
    ".csv.gz": read_csv,
}
_STEMS = (
    "jsc",
    "hls4ml_lhc_jets_hlf",
    "processed-pythia82-lhc13-all-pt1-50k-r1_h022_e0175_t220_nonu_truth",  # as MASE's users know it: HDF5 called .z
)


@register("jsc")
def jsc(request: DataRequest) -> Dataset:
    """Of each class 70 % to train, 10 % to validate, 20 % to test; standardised with the statistics of the first."""
    path = find(request, [f"{stem}{suffix}" for stem in _STEMS for suffix in _READERS])
    x, y = _downloaded(request) if path is None else read_jsc(path)
    train, val, test = stratified(y)
    statistics = statistics_of(x[train])
    x = statistics.apply(x)
    return Dataset("jsc", x[train], y[train], x[val], y[val], x[test], y[test], statistics)


def read_jsc(path: Path) -> Table:
    """The 16 features in double precision and the classes 0 to 4 of every row of a file."""
    suffix = next(suffix for suffix in sorted(_READERS, key=len, reverse=True) if path.name.lower().endswith(suffix))
    x, y = _READERS[suffix](path)
    _enough(FileReader(path), y)
    return x, y


def _enough(reader: FileReader, y: Labels) -> None:
    counts = np.bincount(y, minlength=len(CLASSES)).tolist()
    if min(counts) < LEAST:
        held = ", ".join(f"{name} {count}" for name, count in zip(CLASSES, counts, strict=True))
        hint = f"each class needs {LEAST} or more, so that every split gets one"
        raise reader.refuse(f"{reader.path.name} has too few rows of a class: {held}", hint)


def _downloaded(request: DataRequest) -> Table:
    folder = cache_folder()
    try:
        url, md5 = _address()
        with temporary_folder(folder) as aside:
            x, y = read_jsc(download(url, aside / "jsc.arff", md5))
    except DownloadError as error:
        files = "jsc.npz, jsc.h5, jsc.arff or jsc.csv (16 features and the class; OpenML's data set 42468)"
        raise missing(request, files, str(error)) from None
    # The arrays are kept, not the text: they are read a hundred times faster.
    names = np.array(FEATURES), np.array(CLASSES)
    write_whole(folder / "jsc.npz", lambda out: np.savez(out, X=x, y=y, feature_names=names[0], class_names=names[1]))
    return x, y


def _address() -> tuple[str, str | None]:
    """Where OpenML keeps the file, and its MD5."""
    answer = fetch_bytes(DESCRIPTION)
    try:
        description = json.loads(answer)["data_set_description"]
        md5 = description.get("md5_checksum")
        return str(description["url"]), str(md5) if md5 else None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise DownloadError(f"{DESCRIPTION} answers something else than a description") from None
