"""Samplers. What a trial draws depends on the seed, its rank and the trials before it, not on who asks or when."""

from __future__ import annotations

import math
import threading
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from optuna import Study
from optuna.distributions import BaseDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.trial import FrozenTrial, TrialState

from mase_hw.search.space import Space

SURPLUS = "mase_hw:surplus"  # a trial that two workers began at once, past the last one wanted
RETRIED = "failed_trial"  # Optuna's mark on the retry of a trial whose worker died
HISTORY = "retry_history"


def rank_of(trials: Sequence[FrozenTrial], trial: FrozenTrial) -> int:
    """The trial's place among those that are neither retries nor surplus; a retry has that of its first attempt."""
    number = trial.system_attrs.get(RETRIED, trial.number)
    earlier = (other for other in trials if other.number < number)
    return sum(RETRIED not in other.system_attrs and SURPLUS not in other.user_attrs for other in earlier)


class Ranks(BaseSampler):
    """Knows the rank of every trial that was begun here, and the trials that there were then."""

    def __init__(self) -> None:
        self._ranks: dict[int, int] = {}
        self._seen = threading.local()

    def rank(self, number: int) -> int:
        return self._ranks[number]

    def saw(self, trials: Sequence[FrozenTrial]) -> None:
        """This thread has just read the study: its next trial need not do so again."""
        self._seen.trials = trials

    def seen(self) -> Sequence[FrozenTrial]:
        """The trials at the time when this thread began its last one."""
        trials: Sequence[FrozenTrial] = self._seen.trials
        return trials

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        known = getattr(self._seen, "trials", None)
        if known is None or len(known) < trial.number:  # another worker began one in between
            self.saw(study.get_trials(deepcopy=False))
        self._ranks[trial.number] = rank_of(self.seen(), trial)


class RankedSampler(Ranks):
    """Gives every trial a sampler of its own, seeded by the trial's rank: an interrupted search goes on as it would
    have gone, and workers that share a study do not draw alike."""

    def __init__(self, kind: str, seed: int) -> None:
        super().__init__()
        self._kind, self._seed = kind, seed
        self._samplers: dict[int, BaseSampler] = {}
        self._lock = threading.Lock()

    def _own(self, study: Study, trial: FrozenTrial) -> BaseSampler:
        with self._lock:
            if trial.number not in self._samplers:
                draw = np.random.SeedSequence([self._seed, self.rank(trial.number)]).generate_state(1)[0]
                self._samplers[trial.number] = _make(self._kind, int(draw))
            return self._samplers[trial.number]

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return self._own(study, trial).infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return self._own(study, trial).sample_relative(study, trial, search_space)

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        return self._own(study, trial).sample_independent(study, trial, param_name, param_distribution)

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        self._own(study, trial).after_trial(study, trial, state, values)
        with self._lock:
            self._samplers.pop(trial.number, None)


def _make(kind: str, seed: int) -> BaseSampler:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        if kind == "tpe":
            return TPESampler(seed=seed)
        if kind == "nsgaii":
            return NSGAIISampler(seed=seed)
        assert kind == "random", kind
        return RandomSampler(seed=seed)


class BruteSampler(Ranks):
    """Every point of the space once, whoever asks: the trial's rank says which. The order is mixed, so that a search
    cut short has seen points from everywhere."""

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__()
        self._space, self._size = space, space.size
        self._start = seed % self._size
        self._step = max(1, int(self._size * 0.6180339887))
        while math.gcd(self._step, self._size) != 1:  # coprime: the steps visit everything before they come back
            self._step += 1
        self._points: dict[int, dict[str, Any]] = {}
        self._lock = threading.Lock()

    def infer_relative_search_space(self, study: Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        return {}

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        return {}

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: BaseDistribution
    ) -> Any:
        with self._lock:
            if trial.number not in self._points:
                index = (self._start + self.rank(trial.number) * self._step) % self._size
                point = self._space.point(index)
                self._points[trial.number] = {f"{n}.{k}": v for n, c in point.items() for k, v in c.items()}
            return self._points[trial.number][param_name]

    def after_trial(self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None) -> None:
        with self._lock:
            self._points.pop(trial.number, None)


def make_sampler(kind: str, space: Space, seed: int) -> Ranks:
    return BruteSampler(space, seed) if kind == "brute" else RankedSampler(kind, seed)
