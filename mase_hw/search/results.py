"""What a study has found: the best trials, best.json, the winner."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from optuna import Study
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from mase_hw.config.search import SearchConfig
from mase_hw.files import write_whole
from mase_hw.search.trials import RESULT, weights_path


def completed(study: Study) -> list[FrozenTrial]:
    return study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))


def result_of(trial: FrozenTrial) -> dict[str, Any]:
    """What the worker wrote of it."""
    result: dict[str, Any] = trial.user_attrs.get(RESULT, {})
    return result


def metrics_of(trial: FrozenTrial) -> dict[str, float]:
    return {**result_of(trial)["software_metrics"], **result_of(trial)["hardware_metrics"]}


def feasible(trial: FrozenTrial) -> bool:
    return all(value <= 0 for value in trial.constraints.values())


def best_trials(study: Study) -> list[FrozenTrial]:
    """The best trial, or the Pareto front: trials that keep the bounds and that none of these beats in everything.

    A point that was measured twice is there once.
    """
    signs = [1 if direction == StudyDirection.MINIMIZE else -1 for direction in study.directions]
    trials = [trial for trial in completed(study) if feasible(trial) and "same_as" not in result_of(trial)]
    costs = {trial.number: tuple(s * v for s, v in zip(signs, trial.values, strict=True)) for trial in trials}
    if len(signs) == 1:
        return sorted(trials, key=lambda trial: (costs[trial.number], trial.number))[:1]
    front: list[FrozenTrial] = []
    for trial in sorted(trials, key=lambda trial: (costs[trial.number], trial.number)):
        # In this order only an earlier trial can beat a later one.
        if not any(_beats(costs[other.number], costs[trial.number]) for other in front):
            front.append(trial)
    return sorted(front, key=lambda trial: trial.number)


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and tuple(one) != tuple(other)


def winner(trials: Sequence[FrozenTrial], search: SearchConfig) -> FrozenTrial | None:
    """The one trial to build: on a front, the best sum of scaled metrics, minimized ones counted negatively."""
    signs = {metric.name: 1 if metric.direction == "maximize" else -1 for metric in search.objectives}

    def total(trial: FrozenTrial) -> float:
        scaled: dict[str, float] = result_of(trial)["scaled_metrics"]
        return sum(signs[name] * value for name, value in scaled.items())

    return max(trials, key=lambda trial: (total(trial), -trial.number), default=None)


def describe(trial: FrozenTrial) -> dict[str, Any]:
    """A trial as best.json has it."""
    return {
        "number": trial.number,
        "value": trial.values[0] if len(trial.values) == 1 else list(trial.values),
        "software_metrics": result_of(trial)["software_metrics"],
        "hardware_metrics": result_of(trial)["hardware_metrics"],
        "scaled_metrics": result_of(trial)["scaled_metrics"],
        "sampled_config": result_of(trial)["sampled_config"],
    }


def write_best(trials: Sequence[FrozenTrial], out: Path) -> Path:
    """best.json: the best trials, counted from "0"."""
    path = out / "best.json"
    document = {str(at): describe(trial) for at, trial in enumerate(trials)}
    write_whole(path, json.dumps(document, indent=4) + "\n")
    return path


def drop_beaten_weights(study: Study, best: Sequence[FrozenTrial], out: Path) -> None:
    """Deletes the weights of finished trials that are not among the best: they never will be."""
    kept = {trial.number for trial in best}
    for trial in completed(study):
        if trial.number not in kept:
            weights_path(out, trial.number).unlink(missing_ok=True)


def short(trial: FrozenTrial) -> str:
    """What was chosen, node by node."""
    nodes: dict[str, list[str]] = {}
    for name, value in trial.params.items():
        node, _, key = name.rpartition(".")
        nodes.setdefault(node, []).append(f"{key} {value}")
    return "; ".join(f"{node}: {', '.join(chosen)}" for node, chosen in nodes.items())
