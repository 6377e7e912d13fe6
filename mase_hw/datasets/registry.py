"""Data sets by name: a function of a `DataRequest` registers itself with `@register("name")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mase_hw.diagnostics import Place, Problem, ProblemsError

Samples = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Statistics:
    """Mean and standard deviation of the training split; they broadcast over a batch of samples."""

    mean: Samples
    std: Samples

    def apply(self, x: npt.NDArray[np.floating]) -> Samples:
        """The samples standardised, the way those of the data set were."""
        return np.asarray((x.astype(np.float64) - self.mean) / self.std, dtype=np.float32)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Three splits of labelled samples; the first axis counts the samples. A split may be empty, not the last."""

    name: str
    x_train: Samples
    y_train: Labels
    x_val: Samples
    y_val: Labels
    x_test: Samples
    y_test: Labels
    statistics: Statistics | None = None  # already applied to x_*; None where nothing was standardised

    @property
    def sample_shape(self) -> tuple[int, ...]:
        return tuple(self.x_test.shape[1:])

    @property
    def classes(self) -> int:
        """One more than the largest label of any split."""
        return 1 + max(int(y.max()) for y in (self.y_train, self.y_val, self.y_test) if y.size)


@dataclass(frozen=True)
class DataRequest:
    """What is asked for: `base` is the TOML's folder, `where` its line; the model takes `shape` and `classes`."""

    name: str
    base: Path = field(default_factory=Path)
    seed: int = 0
    where: Place | None = None
    shape: tuple[int, ...] | None = None
    classes: int | None = None

    def refuse(self, text: str, hint: str | None = None, notes: tuple[str, ...] = ()) -> ProblemsError:
        return ProblemsError(Problem(f'dataset = "{self.name}": {text}', self.where, hint, notes))


Maker = Callable[[DataRequest], Dataset]

_DATASETS: dict[str, Maker] = {}


def register(name: str) -> Callable[[Maker], Maker]:
    """Puts the function under `name`; it takes the request and gives the data set."""

    def keep(maker: Maker) -> Maker:
        assert name not in _DATASETS, f"two data sets are named {name}"
        _DATASETS[name] = maker
        return maker

    return keep


def dataset_names() -> tuple[str, ...]:
    return tuple(sorted(_DATASETS))


def registered(name: str) -> Maker | None:
    return _DATASETS.get(name)
