"""Jets from arrays: npz and HDF5 (h5py, when it is installed). Nothing pickled in them is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from mase_hw.datasets.files import FileReader
from mase_hw.datasets.jsc.columns import CLASSES, FEATURES, LABELS, LARGEST, Faults, label_of, plain, resolve
from mase_hw.datasets.jsc.text import Table
from mase_hw.untrusted import RefusedError, parse_npz, read_regular

# Keys by preference; capitals make no difference. Values in physical units come before standardised ones.
SAMPLES = ("x", "x_physical", "features", "data", "inputs", "x_std")
NAMES = ("feature_names", "names", "columns", "jetfeaturenames")
CLASS_NAMES = ("class_names",)
_BYTES = 512 << 20  # of a file, and of what is unpacked from it


def read_npz(path: Path) -> Table:
    """From X and y, or from one structured array."""
    reader = FileReader(path)
    try:
        data = read_regular(path, _BYTES)
        if data.startswith(b"\x93NUMPY"):
            raise reader.refuse(f"{path.name} holds a single array, not named ones", "np.savez(path, X=..., y=...)")
        return _table(reader, parse_npz(data, _BYTES, kinds="biufSUV", packed=True))
    except (RefusedError, OSError) as error:
        hint = "np.savez(path, X=numbers, y=integers or letters) writes one that is read"
        raise reader.refuse(f"{path.name} {error}", hint) from None


def read_h5(path: Path) -> Table:
    """From X and y, from one compound table (the physicists' files), or from a matrix and the names of its columns."""
    reader = FileReader(path)
    try:
        h5py = import_module("h5py")
    except ImportError:
        hint = "pip install 'mase-hw[data]', or save the table as npz or csv"
        raise reader.refuse(f"{path.name} is HDF5, and h5py is not installed", hint) from None
    try:
        with h5py.File(path, "r") as file:
            # Hard links only: the others may lead to other files.
            own = [key for key in file if isinstance(file.get(key, getlink=True), h5py.HardLink)]
            return _table(reader, {key: file[key] for key in own if isinstance(file[key], h5py.Dataset)})
    except OSError as error:
        raise reader.refuse(f"{path.name} is no HDF5 file, or it is damaged: {error}") from None


def _table(reader: FileReader, arrays: Mapping[str, Any]) -> Table:
    for key, value in arrays.items():
        if value.size * value.dtype.itemsize > _BYTES:  # of HDF5, whose arrays are read only when asked for
            raise reader.refuse(f"{reader.path.name}: {key[:60]} has more than {_BYTES:,} bytes")
    by_name = {key.lower(): value for key, value in arrays.items()}
    listed = _first(by_name, NAMES)
    names = None if listed is None else _strings(np.asarray(listed[()]))
    samples, labels = _first(by_name, SAMPLES), _first(by_name, LABELS)
    if samples is None or samples.dtype.names is not None:
        compound = [value for value in arrays.values() if value.dtype.names is not None]
        wide = [value for value in arrays.values() if names and value.shape[1:] == (len(names),)]
        if not compound and not wide:
            held = ", ".join(f"{key} {value.dtype}{list(value.shape)}" for key, value in arrays.items()) or "nothing"
            hint = "X of shape (rows, 16) and y, or a table with named columns"
            raise reader.refuse(f"{reader.path.name} has no samples; it holds {held}", hint)
        samples = (compound or wide)[0]
    whole = np.asarray(samples[()])
    if whole.dtype.names is not None:
        names = list(whole.dtype.names)
        columns = [whole[name] for name in names]
    elif whole.ndim == 2:
        columns = list(whole.T)
    else:
        raise reader.refuse(f"{reader.path.name}: the samples have shape {whole.shape}, not (rows, {len(FEATURES)})")
    if names is not None and len(names) != len(columns):
        raise reader.refuse(f"{reader.path.name} names {len(names)} columns and has {len(columns)}")
    stated = _first(by_name, CLASS_NAMES)
    order = CLASSES if stated is None else _order(reader, _strings(np.asarray(stated[()])))
    return _rows(reader, columns, names, None if labels is None else np.asarray(labels[()]), order)


def _first(arrays: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((arrays[key] for key in keys if key in arrays), None)


def _strings(values: np.ndarray) -> list[str]:
    return [value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value) for value in values.tolist()]


def _order(reader: FileReader, names: Sequence[str]) -> tuple[str, ...]:
    order = tuple(plain(name) for name in names)
    if sorted(order) != sorted(CLASSES):
        raise reader.refuse(
            f"{reader.path.name}: class_names = {', '.join(order)}", f"{', '.join(CLASSES)}, in any order"
        )
    return order


def _rows(
    reader: FileReader,
    columns: list[np.ndarray],
    names: list[str] | None,
    labels: np.ndarray | None,
    order: tuple[str, ...],
) -> Table:
    found = resolve(reader, names, len(columns), labels is not None)
    faults = Faults(reader)
    features = [columns[index] for index in found.features]
    for index, column in zip(found.features, features, strict=True):
        if column.dtype.kind not in "fiub" or column.ndim != 1:
            raise reader.refuse(f"{reader.path.name}: column {found.names[index]} holds {column.dtype}, not numbers")
    x = np.stack(features, axis=1).astype(np.float64)
    wrong = np.argwhere(~(np.abs(x) <= LARGEST))  # not: > LARGEST, which is false for nan
    for row, column in wrong[:10].tolist():
        faults.number(f"row {row} (from 0)", found.names[found.features[column]], x[row, column])
    faults.others += max(0, len(wrong) - 10)
    if labels is None and found.label is not None:
        labels = columns[found.label]
    elif labels is None:
        labels, order = np.stack([columns[index] for index in found.one_hot], axis=1), CLASSES
    if len(labels) != len(x):
        raise reader.refuse(f"{reader.path.name} has {len(x)} rows of features and {len(labels)} labels")
    y = _labels(reader, labels, order, faults)
    faults.raise_if_any()
    return x, y


def _labels(reader: FileReader, labels: np.ndarray, order: tuple[str, ...], faults: Faults) -> np.ndarray:
    """0 to 4 in the order of CLASSES. `order` is the file's own: what its numbers and its five columns mean."""
    mine = np.array([CLASSES.index(name) for name in order])
    if labels.ndim == 2 and labels.shape[1] == len(CLASSES) and labels.dtype.kind in "fiub":
        wrong = np.flatnonzero(((labels != 0) & (labels != 1)).any(axis=1) | (labels.sum(axis=1) != 1))
        for row in wrong[:10].tolist():
            faults.label(f"row {row} (from 0)", ", ".join(order), labels[row].tolist())
        faults.others += max(0, len(wrong) - 10)
        return np.asarray(mine[labels.argmax(axis=1)], dtype=np.int64)
    if labels.ndim != 1:
        text = f"{reader.path.name}: the labels have shape {labels.shape}"
        raise reader.refuse(text, f"one per row, or {len(CLASSES)} columns with one 1")
    if labels.dtype.kind not in "fiub":
        texts = _strings(labels)
        made = {text: label_of(text) for text in set(texts)}
        numbers = np.array([-1 if made[text] is None else made[text] for text in texts], dtype=np.int64)
        letters = np.array([plain(text) in CLASSES for text in texts], dtype=bool)
    else:
        inside = np.isin(labels, np.arange(len(CLASSES)))
        numbers = np.where(inside, labels, -1).astype(np.int64)
        letters = np.zeros(len(labels), dtype=bool)
    wrong = np.flatnonzero(numbers < 0)
    for row in wrong[:10].tolist():
        faults.label(f"row {row} (from 0)", "of the class", repr(_strings(labels[row : row + 1])[0]))
    faults.others += max(0, len(wrong) - 10)
    return np.asarray(np.where(letters | (numbers < 0), numbers, mine[numbers]), dtype=np.int64)
