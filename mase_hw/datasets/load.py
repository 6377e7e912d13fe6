"""`load_dataset`: the data set that a TOML names, or what is wrong with it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mase_hw.config.table import nearest
from mase_hw.config.user_code import is_user_code, load_object, user_code
from mase_hw.datasets.registry import DataRequest, Dataset, Statistics, dataset_names, registered
from mase_hw.diagnostics import Collector, Place, Problem, ProblemsError

PARTS = ("x_train", "y_train", "x_val", "y_val", "x_test", "y_test")
_HINTS = {
    "x": "return finite numbers of shape (samples, features): clean or drop such samples before",
    "y": "return one integer for each sample, 0 for the first class",
}
_TUPLES = {2: PARTS[4:], 4: (*PARTS[:2], *PARTS[4:]), 6: PARTS}


def load_dataset(
    name: str,
    base: Path,
    seed: int = 0,
    where: Place | None = None,
    *,
    shape: tuple[int, ...] | None = None,
    classes: int | None = None,
) -> Dataset:
    """A registered name, or "file.py:fn" relative to `base`; `where` is the TOML's line.

    `shape` of one sample and number of `classes` are what the model takes: `random` is made to fit, and images are
    flattened for a model that takes vectors. Other data sets are what they are.
    """
    if is_user_code(name):
        return _user_dataset(name, base, seed, where)
    maker = registered(name)
    if maker is None:
        names = dataset_names()
        close = nearest(name, names, "data sets here")
        hint = f'{close}\nyour own: dataset = "file.py:function"\na build needs no data set: delete the line'
        raise ProblemsError(Problem(f'dataset = "{name}" is not available', where, hint))
    return maker(DataRequest(name, base, seed, where, shape, classes))


def _user_dataset(name: str, base: Path, seed: int, where: Place | None) -> Dataset:
    function, path = load_object("dataset", name, base, where)
    subject = f'dataset = "{name}"'
    if not callable(function):
        raise ProblemsError(Problem(f"{subject} is of type {type(function).__name__}, not a function", Place(path)))
    code = getattr(function, "__code__", None)
    place = Place(path, code.co_firstlineno if code is not None else 0)
    with user_code(path, subject):
        seeded = "seed" in inspect.signature(function).parameters
        made = function(seed=seed) if seeded else function()
        statistics: Statistics | None = None
        if isinstance(made, Dataset):
            statistics = made.statistics
            made = {part: getattr(made, part) for part in PARTS}
    with Collector() as problems:
        arrays = _arrays(_parts(made, subject, place), subject, place, problems)
    for split in ("train", "val"):
        arrays.setdefault(f"x_{split}", np.zeros((0, *arrays["x_test"].shape[1:]), np.float32))
        arrays.setdefault(f"y_{split}", np.zeros(0, np.int64))
    return Dataset(name, **arrays, statistics=statistics)


def _parts(made: Any, subject: str, place: Place) -> Mapping[str, Any]:
    hint = f"return a dict with {', '.join(PARTS)}, or a tuple in that order;\nx_test and y_test are needed"
    if isinstance(made, Mapping):
        extra = sorted(str(key) for key in made if key not in PARTS)
        missing = [part for part in PARTS[4:] if part not in made]
        if extra or missing:
            text = f"has no {' and no '.join(missing)}" if missing else f"has the unknown key {extra[0]}"
            raise ProblemsError(Problem(f"{subject}: the dict {text}", place, hint))
        return made
    if isinstance(made, tuple) and len(made) in _TUPLES:
        return dict(zip(_TUPLES[len(made)], made, strict=True))
    what = f"a tuple of {len(made)}" if isinstance(made, tuple) else f"a {type(made).__name__}"
    raise ProblemsError(Problem(f"{subject}: returned {what}", place, hint))


def _arrays(parts: Mapping[str, Any], subject: str, place: Place, problems: Collector) -> dict[str, np.ndarray]:
    """The arrays in their types; everything that is wrong with them is added to `found`."""
    arrays: dict[str, np.ndarray] = {}
    for part in PARTS:
        if part in parts:
            array = _samples(parts[part]) if part.startswith("x") else _labels(parts[part])
            if isinstance(array, str):
                problems.add(f"{subject}: {part} {array}", place, _HINTS[part[0]])
            else:
                arrays[part] = array
    shape = arrays["x_test"].shape[1:] if "x_test" in arrays else None
    for split in ("train", "val", "test"):
        x, y = arrays.get(f"x_{split}"), arrays.get(f"y_{split}")
        if (f"x_{split}" in parts) != (f"y_{split}" in parts):
            problems.add(f"{subject}: x_{split} and y_{split} come together", place, "return both or neither")
        if x is not None and y is not None and len(x) != len(y):
            text = f"{subject}: x_{split} has {len(x)} samples, y_{split} has {len(y)}"
            problems.add(text, place, "return one label for each sample")
        if x is not None and shape is not None and x.shape[1:] != shape:
            text = f"{subject}: samples of x_{split} have shape {x.shape[1:]}, of x_test {shape}"
            problems.add(text, place, "all splits hold samples of one shape")
    if shape is not None and not len(arrays["x_test"]):
        problems.add(f"{subject}: x_test has no samples", place, "the test split is what the hardware is run on")
    return arrays


def _samples(value: Any) -> np.ndarray | str:
    """float32 samples, or what is wrong with them."""
    array = np.asarray(value)
    if array.ndim < 2:
        return f"has shape {array.shape}, not (samples, features)"
    if array.dtype.kind not in "fiub":
        return f"holds {array.dtype}, not numbers"
    with np.errstate(over="ignore"):
        array = array.astype(np.float32)
    wrong = np.argwhere(~np.isfinite(array))
    if len(wrong):
        sample, *index = wrong[0].tolist()
        more = f" ({len(wrong)} such values)" if len(wrong) > 1 else ""
        return f"is {array[tuple(wrong[0])]} in sample {sample} at {index}{more}"
    return array


def _labels(value: Any) -> np.ndarray | str:
    """int64 labels, or what is wrong with them."""
    array = np.asarray(value)
    if array.ndim != 1 or array.dtype.kind not in "iub":
        return f"is {array.dtype} of shape {array.shape}, not one integer label per sample"
    if array.size and int(array.min()) < 0:
        return f"has the label {int(array.min())} in sample {int(array.argmin())}; labels count from 0"
    return array.astype(np.int64)
