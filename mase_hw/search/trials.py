"""The trials of a study: any number of workers take them from one storage until there are as many as wanted."""

from __future__ import annotations

import math
import os
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import optuna
from optuna import Study, Trial, TrialPruned
from optuna.exceptions import ExperimentalWarning, UpdateFinishedTrialError
from optuna.storages import BaseStorage, fail_stale_trials
from optuna.trial import FrozenTrial, TrialState
from safetensors.torch import save_file
from torch import Tensor

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.search.metrics import Measured, directions, judge
from mase_hw.search.prepare import Prepared
from mase_hw.search.sampler import HISTORY, SURPLUS, Ranks, make_sampler
from mase_hw.search.space import Sample
from mase_hw.search.storage import at_once, retry_callback

CONFIG_KEY = "mase_hw:config"
RESULT = "mase_hw:result"  # one attribute holds all that is known of a trial: one write
_IN_VAIN = 100  # surplus trials in a row, none finished meanwhile: workers that race for the last one make a few
_WAIT = 0.2  # seconds between two looks at what other workers do


@dataclass(frozen=True)
class Count:
    """Trials of a study: `done` are measured, found impossible, or lost with their workers for good."""

    done: int
    running: int
    waiting: int


def open_study(prepared: Prepared, storage: BaseStorage, name: str, named: str) -> Study:
    """The study `name`, made or joined. One that was made for another search is a Problem."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = make_sampler(prepared.search.sampler, prepared.space, prepared.config.seed)
    study = optuna.create_study(
        storage=storage,
        sampler=sampler,
        study_name=name,
        directions=directions(prepared.search),
        load_if_exists=True,
    )
    own = prepared.fingerprint()
    other = study.user_attrs.get(CONFIG_KEY)
    if other is None and not study.get_trials(deepcopy=False):
        study.set_user_attr(CONFIG_KEY, own)
    elif other != own:
        text = f"the study {name} in {named} was made for another model, seed or search"
        hint = "give this search a name of its own: --study-name NAME, or another --storage"
        raise ProblemsError(Problem(text, prepared.config.where("search"), hint))
    return study


class Worker:
    """Runs trials of a study in this process."""

    def __init__(self, prepared: Prepared, study: Study, out: Path) -> None:
        self.prepared, self.study, self.out = prepared, study, out
        self._stop = threading.Event()
        self._mine: set[int] = set()
        self._report: Callable[[Count], None] = lambda count: None

    def run(self, report: Callable[[Count], None] | None = None) -> bool:
        """Until the study has its trials or the time is up; False when it was interrupted. Nothing finished is lost."""
        self._report = report or self._report
        jobs, timeout = self.prepared.search.n_jobs, self.prepared.search.timeout
        jobs = (os.cpu_count() or 1) if jobs == -1 else jobs
        deadline = math.inf if timeout is None else time.monotonic() + timeout
        try:
            if jobs == 1:
                self._work(deadline)
            else:
                with ThreadPoolExecutor(jobs) as pool:
                    self._gather(pool, jobs, deadline)
        except KeyboardInterrupt:
            self._stop.set()
            self._give_back()
            return False
        return True

    def _gather(self, pool: ThreadPoolExecutor, jobs: int, deadline: float) -> None:
        workers = [pool.submit(self._work, deadline) for _ in range(jobs)]
        try:
            pending = set(workers)
            while pending:
                finished, pending = wait(pending, timeout=_WAIT)
                for future in finished:
                    future.result()
        finally:  # an error in one thread, or Ctrl-C, ends the others after the trials that they are at
            self._stop.set()

    @property
    def _sampler(self) -> Ranks:
        assert isinstance(self.study.sampler, Ranks)
        return self.study.sampler

    def count(self) -> Count:
        trials = self.study.get_trials(deepcopy=False)
        self._sampler.saw(trials)
        retried = {number for trial in trials for number in trial.system_attrs.get(HISTORY, [])}
        kept = [trial for trial in trials if SURPLUS not in trial.user_attrs]
        states = [trial.state for trial in kept]
        lost = sum(trial.state == TrialState.FAIL and trial.number not in retried for trial in kept)
        done = states.count(TrialState.COMPLETE) + states.count(TrialState.PRUNED) + lost
        return Count(done, states.count(TrialState.RUNNING), states.count(TrialState.WAITING))

    def _work(self, deadline: float) -> None:
        total = self.prepared.total
        done = begun = 0
        while not self._stop.is_set() and time.monotonic() < deadline:
            count = self.count()
            self._report(count)
            if count.done >= total:
                return
            done, begun = count.done, 0 if count.done > done else begun + 1
            if count.waiting or count.done + count.running < total:
                assert begun <= _IN_VAIN, f"{begun} trials were begun, and none of the {total} is finished by them"
                self._try()
            else:  # others are at the last trials: should one of them die, its trial is ours
                begun = 0
                time.sleep(_WAIT)
                self._collect_dead()

    def _try(self) -> None:
        """One trial. Another worker may have finished it meanwhile: SQLite can give a waiting trial to two at once, and
        who is given no time for long is taken for dead.
        """
        try:
            self.study.optimize(self._objective, n_trials=1)
        except ValueError as error:  # Optuna has no type of its own for this
            if not str(error).startswith("Cannot tell a "):
                raise

    def _objective(self, trial: Trial) -> float | tuple[float, ...]:
        self._mine.add(trial.number)
        if self._sampler.rank(trial.number) >= self.prepared.total:
            trial.set_user_attr(SURPLUS, True)
            raise TrialPruned("another worker began the last trial")
        with at_once(trial.storage):
            sample = self.prepared.space.sample(lambda name, choices: trial.suggest_categorical(name, choices))
        named: dict[str, Any] = {node: {"config": config} for node, config in sample.items()}
        result: dict[str, Any] = {"sampled_config": {**named, "by": "name", "accelerator": self.prepared.accelerator}}
        try:
            measured = self._measure(trial, sample, result)
        except ProblemsError as error:  # types too wide to compute with, lanes that do not divide, a diverged loss
            result["problem"] = str(error)
            trial.set_user_attr(RESULT, result)
            raise TrialPruned(str(error)) from None
        verdict = judge(measured.all, self.prepared.search)
        result["software_metrics"] = dict(measured.software)
        result["hardware_metrics"] = dict(measured.hardware)
        result["scaled_metrics"] = verdict.scaled
        trial.set_user_attr(RESULT, result)
        for name, value in verdict.bounds.items():
            trial.set_constraint(name, value)
        return verdict.values

    def _measure(self, trial: Trial, sample: Sample, result: dict[str, Any]) -> Measured:
        known = self._known(trial)
        if known is not None:
            result["same_as"] = known.user_attrs[RESULT].get("same_as", known.number)
            before = known.user_attrs[RESULT]
            return Measured(before["software_metrics"], before["hardware_metrics"], {})
        measured, model = self.prepared.measure(sample)
        for name, value in measured.all.items():
            if math.isnan(value):
                raise ProblemsError(Problem(f"{name} is not a number"))
        if model is not None:
            save_weights(model.state_dict(), weights_path(self.out, trial.number))
        result["seconds"] = dict(measured.seconds)
        return measured

    def _known(self, trial: Trial) -> FrozenTrial | None:
        """An earlier trial of the same point: measuring is deterministic."""
        params, trials = trial.params, self._sampler.seen()
        same = (other for other in trials if other.state == TrialState.COMPLETE and other.params == params)
        return next(same, None)

    def _collect_dead(self) -> None:
        """Puts trials of dead workers back into the queue."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            fail_stale_trials(self.study)

    def _give_back(self) -> None:
        """After Ctrl-C: the trials that were being measured here are queued again."""
        retried = {n for trial in self.study.get_trials(deepcopy=False) for n in trial.system_attrs.get(HISTORY, [])}
        for trial in self.study.get_trials(deepcopy=False):
            if trial.number in self._mine and trial.number not in retried:
                if trial.state == TrialState.RUNNING:
                    self._retry(trial)
                elif trial.state == TrialState.FAIL:
                    self._queue(trial)

    def _retry(self, trial: FrozenTrial) -> None:
        try:
            self.study.tell(trial.number, state=TrialState.FAIL)
        except (UpdateFinishedTrialError, ValueError):  # another worker was faster
            return
        self._queue(trial)

    def _queue(self, trial: FrozenTrial) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ExperimentalWarning)
            retry_callback()(self.study, self.study.get_trials(deepcopy=True)[trial.number])


def weights_path(out: Path, number: int) -> Path:
    return out / "trials" / f"{number}.safetensors"


def save_weights(state: Mapping[str, Tensor], path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    plain = {name: value.detach().cpu().clone().contiguous() for name, value in state.items()}
    aside = path.with_suffix(".part")
    save_file(plain, str(aside))
    aside.replace(path)
