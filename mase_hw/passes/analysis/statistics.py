"""The statistics that profile_statistics_analysis_pass can take. Each sees tensors one by one and then sums them up.

`dims` "all" makes one number of everything, "channel" one for each channel: the first dimension of a parameter (the
output features), the second of an activation (behind the batch). Numbers are computed in float64:

- variance_precise: mean and sum((x - mean)^2) / count, from all values at once.
- variance_online: the same by Welford's method, batch by batch; nothing is kept.
- range_min_max: the smallest and the largest value, and max - min.
- range_quantile: min and max are the quantiles 1 - q and q (`quantile`), position q * (count - 1) in the sorted values,
  interpolated linearly.
- range_n_sigma: min and max are mean -+ `num_sigmas` * sqrt(variance), the variance as above.
- save: the tensors themselves, joined along the batch.
"""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor

Found = dict[str, Any]


class Statistic:
    """One statistic of one tensor. `update` takes values as [channels or 1, values], in float64."""

    name: ClassVar[str]
    options: ClassVar[dict[str, tuple[float, float, float]]] = {}  # name: default, least, most

    def __init__(self, device: str | None, dims: str, axis: int, **options: float) -> None:
        self.device, self.dims, self.axis = device, dims, axis
        self.given = options
        self.count = 0  # values in each channel

    def see(self, value: Tensor) -> None:
        value = value.detach().to(self.device) if self.device is not None else value.detach()
        rows = value.reshape(1, -1)
        if self.dims == "channel":
            axis = min(self.axis, value.dim() - 1)
            rows = value.movedim(axis, 0).reshape(value.shape[axis], -1)
        self.update(rows.double())
        self.count += rows.shape[1]

    def update(self, rows: Tensor) -> None:
        raise NotImplementedError

    def result(self) -> Found:
        raise NotImplementedError

    def finish(self) -> Found:
        """What goes into the metadata; a number for `dims` "all", a tensor for "channel"."""
        shown = {key: self._shape(found) for key, found in self.result().items()}
        return {"device": self.device, "dims": self.dims, **self.given, "count": self.count, **shown}

    def _shape(self, found: Tensor) -> Any:
        return found.item() if self.dims == "all" else found


class VarianceOnline(Statistic):
    name = "variance_online"
    mean: Tensor
    squares: Tensor  # sum of (x - mean)^2

    def update(self, rows: Tensor) -> None:
        count, mean = rows.shape[1], rows.mean(1)
        squares = ((rows - mean[:, None]) ** 2).sum(1)
        if self.count == 0:
            self.mean, self.squares = mean, squares
            return
        total, delta = self.count + count, mean - self.mean
        self.mean = self.mean + delta * (count / total)
        self.squares = self.squares + squares + delta**2 * (self.count * count / total)

    def result(self) -> Found:
        return {"mean": self.mean, "variance": self.squares / self.count}


class RangeNSigma(VarianceOnline):
    name = "range_n_sigma"
    options: ClassVar = {"num_sigmas": (3.0, 0.0, 1e9)}

    def result(self) -> Found:
        reach = self.given["num_sigmas"] * torch.sqrt(self.squares / self.count)
        return {"min": self.mean - reach, "max": self.mean + reach, "range": 2 * reach}


class RangeMinMax(Statistic):
    name = "range_min_max"
    low: Tensor
    high: Tensor

    def update(self, rows: Tensor) -> None:
        low, high = rows.amin(1), rows.amax(1)
        self.low = low if self.count == 0 else torch.minimum(self.low, low)
        self.high = high if self.count == 0 else torch.maximum(self.high, high)

    def result(self) -> Found:
        return {"min": self.low, "max": self.high, "range": self.high - self.low}


class _Kept(Statistic):
    """Needs all values at once."""

    def __init__(self, device: str | None, dims: str, axis: int, **options: float) -> None:
        super().__init__(device, dims, axis, **options)
        self.parts: list[Tensor] = []

    def update(self, rows: Tensor) -> None:
        self.parts.append(rows.clone())  # a later in-place layer may overwrite the values

    @property
    def values(self) -> Tensor:
        return torch.cat(self.parts, 1)


class VariancePrecise(_Kept):
    name = "variance_precise"

    def result(self) -> Found:
        values = self.values
        mean = values.mean(1)
        return {"mean": mean, "variance": ((values - mean[:, None]) ** 2).mean(1)}


class RangeQuantile(_Kept):
    name = "range_quantile"
    options: ClassVar = {"quantile": (0.99, 0.5, 1.0)}

    def result(self) -> Found:
        # torch.quantile refuses more than 2^24 values; sorting has no such limit.
        ordered = self.values.sort(1).values
        last, q = ordered.shape[1] - 1, self.given["quantile"]
        low, high = _between(ordered, (1 - q) * last), _between(ordered, q * last)
        return {"min": low, "max": high, "range": high - low}


def _between(ordered: Tensor, position: float) -> Tensor:
    below = int(position)
    above = min(below + 1, ordered.shape[1] - 1)
    return ordered[:, below] + (ordered[:, above] - ordered[:, below]) * (position - below)


class Save(Statistic):
    name = "save"

    def __init__(self, device: str | None, dims: str, axis: int, **options: float) -> None:
        super().__init__(device, dims, axis, **options)
        self.parts: list[Tensor] = []

    def see(self, value: Tensor) -> None:
        kept = value.detach().clone()
        self.parts.append(kept if self.device is None else kept.to(self.device))
        self.count += value.numel()

    def finish(self) -> Found:
        data = self.parts[0] if len(self.parts) == 1 else torch.cat(self.parts)
        return {"device": self.device, "dims": self.dims, "count": self.count, "data": data}


STATISTICS: dict[str, type[Statistic]] = {
    kind.name: kind for kind in (VariancePrecise, VarianceOnline, RangeMinMax, RangeQuantile, RangeNSigma, Save)
}
