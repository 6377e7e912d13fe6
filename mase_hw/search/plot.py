"""A search as a picture: two metrics against each other; with one metric, or a sum, its value trial by trial."""

from __future__ import annotations

from collections.abc import Sequence

from optuna.trial import FrozenTrial

from mase_hw.config.search import SearchConfig
from mase_hw.plot import Picture, Point, write_html, write_png
from mase_hw.search.results import feasible, metrics_of, short

__all__ = ["picture", "write_html", "write_png"]


def picture(search: SearchConfig, trials: Sequence[FrozenTrial], best: Sequence[FrozenTrial], title: str) -> Picture:
    names = [metric.name for metric in search.objectives]
    numbers = {trial.number for trial in best}
    flat = len(names) == 1 and search.direction is None
    points = []
    for trial in sorted(trials, key=lambda trial: (trial.number not in numbers, trial.number)):
        measured = metrics_of(trial)
        x, y = (trial.number, trial.values[0]) if len(names) == 1 else (measured[names[1]], measured[names[0]])
        cells = tuple(f"{value:.6g}" for value in measured.values())
        marked = trial.number in numbers
        points.append(Point(float(x), float(y), str(trial.number), cells, short(trial), marked, feasible(trial)))
    y_label = names[0] if len(names) > 1 or flat else f"{names[0]}, scaled"
    x_label = names[1] if len(names) > 1 else "trial"
    heads = ("trial", *(metrics_of(trials[0]) if trials else ()), "chosen")
    return Picture(title, x_label, y_label, heads, tuple(points), len(names) > 1 and search.direction is None)
