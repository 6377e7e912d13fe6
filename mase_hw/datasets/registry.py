"""Data sets by name: a function of the seed registers itself with `@register("name")`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float32]
Labels = npt.NDArray[np.int64]


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

    @property
    def sample_shape(self) -> tuple[int, ...]:
        return tuple(self.x_test.shape[1:])

    @property
    def classes(self) -> int:
        """One more than the largest label of any split."""
        return 1 + max(int(y.max()) for y in (self.y_train, self.y_val, self.y_test) if y.size)


Maker = Callable[[int], Dataset]

_DATASETS: dict[str, Maker] = {}


def register(name: str) -> Callable[[Maker], Maker]:
    """Puts the function under `name`; it takes the seed of the configuration."""

    def keep(maker: Maker) -> Maker:
        assert name not in _DATASETS, f"two data sets are named {name}"
        _DATASETS[name] = maker
        return maker

    return keep


def dataset_names() -> tuple[str, ...]:
    return tuple(sorted(_DATASETS))


def registered(name: str) -> Maker | None:
    return _DATASETS.get(name)
