"""Studies in one process: what each sampler visits, going on after an interruption, workers that die."""

from __future__ import annotations

import json
import time
import warnings
from pathlib import Path

import optuna
import pytest
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState
from searches import BITS, CHANNELS, SEVERAL, WIDTHS, complete, run, start, write

from mase_hw.diagnostics import ProblemsError
from mase_hw.search.metrics import Measured
from mase_hw.search.sampler import RETRIED
from mase_hw.search.space import Sample
from mase_hw.search.trials import RESULT, Worker

SINGLE = 'sum_scaled_metrics = true\ndirection = "maximize"\n'


def fake(worker: Worker, monkeypatch: pytest.MonkeyPatch, interrupt_at: int | None = None) -> list[Sample]:
    """Metrics by arithmetic, so that only the study is under test; the samples that were measured."""
    seen: list[Sample] = []

    def measure(sample: Sample) -> tuple[Measured, None]:
        if len(seen) == interrupt_at:
            raise KeyboardInterrupt
        seen.append(sample)
        bits = sum(config.get("weight_width", 0) for config in sample.values())
        right = sum(config.get("weight_width", 0) * config.get("weight_frac_width", 0) for config in sample.values())
        return Measured(
            {"loss": 1.0, "accuracy": right / 100}, {"average_bitwidth": bits, "memory_density": 1.0}, {}
        ), None

    monkeypatch.setattr(type(worker.prepared), "measure", lambda self, sample: measure(sample))
    return seen


def _ask(study: optuna.Study) -> optuna.Trial:
    """A trial that nobody will finish."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return study.ask()


def params(worker: Worker) -> list[dict[str, object]]:
    return [trial.params for trial in complete(worker.study)]


def test_brute_force_visits_every_point_once_and_stops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = start(write(tmp_path, model="jsc-d"), InMemoryStorage())
    seen = fake(worker, monkeypatch)
    assert worker.run()
    assert len(seen) == worker.prepared.space.size == 6**3
    assert len({json.dumps(sample, sort_keys=True) for sample in seen}) == 6**3
    assert worker.run()
    assert len(seen) == 6**3  # nothing is left to do


def test_brute_force_cut_short_by_n_trials_goes_on_without_repeating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, memory = write(tmp_path), InMemoryStorage()
    for n_trials in (2, 4, 6):
        worker = start(path, memory, n_trials=n_trials)
        fake(worker, monkeypatch)
        assert worker.run()
        assert len(complete(worker.study)) == n_trials
    points = {json.dumps(trial.params, sort_keys=True) for trial in complete(worker.study)}
    assert len(points) == 6


@pytest.mark.parametrize("sampler", ["tpe", "random", "nsgaii", "brute"])
@pytest.mark.parametrize("setup", [SINGLE, SEVERAL])
def test_same_seed_same_trials(sampler: str, setup: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for at, seed in enumerate((7, 7, 8)):
        folder = tmp_path / str(at)
        folder.mkdir()
        worker = start(
            write(folder, model="jsc-toy", sampler=sampler, setup=setup + "n_trials = 16\n", seed=seed),
            InMemoryStorage(),
        )
        fake(worker, monkeypatch)
        assert worker.run()
        found.append(params(worker))
    assert found[0] == found[1]
    assert found[0] != found[2]
    assert len(found[0]) == 16


@pytest.mark.parametrize("sampler", ["tpe", "random", "nsgaii", "brute"])
def test_an_interrupted_search_goes_on_as_if_it_had_not_been(
    sampler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for name, interrupt_at in (("whole", None), ("cut", 13)):
        folder = tmp_path / name
        folder.mkdir()
        path = write(folder, model="jsc-toy", sampler=sampler, setup=SEVERAL + "n_trials = 20\n")
        memory = InMemoryStorage()
        worker = start(path, memory)
        fake(worker, monkeypatch, interrupt_at)
        assert worker.run() is (interrupt_at is None)
        if interrupt_at is not None:
            assert worker.count().waiting == 1  # what was being measured is in the queue
            worker = start(path, memory)
            fake(worker, monkeypatch)
            assert worker.run()
        found.append(params(worker))
    assert len(found[0]) == 20
    assert found[0] == found[1]


def test_a_point_that_comes_again_is_not_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = start(write(tmp_path, sampler="random", setup=SEVERAL + "n_trials = 30\n"), InMemoryStorage())
    seen = fake(worker, monkeypatch)
    assert worker.run()
    assert len(complete(worker.study)) == 30
    assert len(seen) <= 6
    copies = [trial for trial in complete(worker.study) if "same_as" in trial.user_attrs[RESULT]]
    assert len(copies) == 30 - len(seen)
    first = worker.study.trials[copies[0].user_attrs[RESULT]["same_as"]]
    assert first.params == copies[0].params
    assert first.values == copies[0].values


def test_threads_share_the_study(tmp_path: Path) -> None:
    path = write(tmp_path, model="jsc-d", setup=SEVERAL + "n_jobs = 3\n")
    worker = run(path, InMemoryStorage(), n_trials=12)
    assert len({json.dumps(trial.params) for trial in complete(worker.study)}) == 12


def test_a_sample_that_cannot_be_measured_does_not_end_the_search(tmp_path: Path) -> None:
    wide = WIDTHS.replace("data_in_width = [8]", "data_in_width = [8, 32]").replace("[4, 6, 8]", "[4, 32]")
    worker = run(write(tmp_path, seeds=wide), InMemoryStorage())
    pruned = worker.study.get_trials(states=(TrialState.PRUNED,))
    assert len(pruned) + len(complete(worker.study)) == 8
    assert 0 < len(pruned) < 8
    assert all("error:" in trial.user_attrs[RESULT]["problem"] for trial in pruned)


def test_another_search_under_the_same_name_is_refused(tmp_path: Path) -> None:
    run(write(tmp_path), n_trials=1)
    other = write(tmp_path, seeds=WIDTHS.replace("[4, 6, 8]", "[4, 6]"))
    with pytest.raises(ProblemsError, match="made for another model, seed or search"):
        start(other)
    start(other, name="other")


def test_more_trials_are_no_other_search(tmp_path: Path) -> None:
    run(write(tmp_path, sampler="random", setup=SEVERAL + "n_trials = 2\n"))
    more = run(write(tmp_path, sampler="random", setup=SEVERAL + "n_trials = 4\nn_jobs = 1\ntimeout = 100\n"))
    assert len(complete(more.study)) == 4


def test_a_database_has_what_memory_has(tmp_path: Path) -> None:
    """What is chosen is written at once, for another process to read."""
    path = write(tmp_path, sampler="tpe", setup=SEVERAL + "n_trials = 12\n")
    expected = params(run(path, InMemoryStorage()))
    run(path, str(tmp_path / "study.db"))
    stored = optuna.load_study(study_name="found", storage=f"sqlite:///{tmp_path / 'study.db'}")
    assert [trial.params for trial in stored.trials] == expected
    assert all(len(trial.distributions) == len(trial.params) == 2 for trial in stored.trials)


def test_time_is_up(tmp_path: Path) -> None:
    worker = start(write(tmp_path, setup=SEVERAL + "timeout = 1e-9\n"))
    assert worker.run()
    assert worker.study.trials == []


def test_a_trial_that_another_worker_has_finished_meanwhile_is_left_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = start(write(tmp_path), InMemoryStorage())
    fake(worker, monkeypatch)
    measure, elsewhere = type(worker.prepared).measure, list[int]()

    def slow(self: object, sample: Sample) -> object:
        if not elsewhere:
            (trial,) = [trial for trial in worker.study.trials if trial.state == TrialState.RUNNING]
            elsewhere.append(trial.number)
            known = {"software_metrics": {}, "hardware_metrics": {}}
            worker.study._storage.set_trial_user_attr(trial._trial_id, RESULT, known)
            worker.study.tell(trial.number, [0.5] * len(worker.study.directions))
        return measure(self, sample)  # type: ignore[arg-type]

    monkeypatch.setattr(type(worker.prepared), "measure", slow)
    assert worker.run()
    assert worker.study.trials[elsewhere[0]].values[0] == 0.5
    assert len({json.dumps(trial.params, sort_keys=True) for trial in complete(worker.study)}) == 6


def test_a_mistake_within_a_trial_is_not_taken_for_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(self: object, sample: Sample) -> object:
        raise ValueError("no such number")

    worker = start(write(tmp_path), InMemoryStorage())
    monkeypatch.setattr(type(worker.prepared), "measure", wrong)
    with pytest.raises(ValueError, match="no such number"):
        worker.run()


@pytest.mark.slow
@pytest.mark.parametrize("file", ["study.db", "study.journal"])
def test_the_trial_of_a_dead_worker_is_retried(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path)
    dead = start(path, str(tmp_path / file))
    lost = _ask(dead.study)
    dead.prepared.space.sample(lambda name, choices: lost.suggest_categorical(name, choices))
    dead.study._storage.record_heartbeat(lost._trial_id)  # type: ignore[attr-defined]
    time.sleep(3.1)  # two heartbeats of a second, and SQLite counts whole seconds
    worker = start(path, str(tmp_path / file))
    fake(worker, monkeypatch)
    assert worker.run()
    trials = worker.study.trials
    assert trials[lost.number].state == TrialState.FAIL
    retry = next(trial for trial in trials if trial.system_attrs.get(RETRIED) == lost.number)
    assert retry.state == TrialState.COMPLETE
    assert retry.params == trials[lost.number].params
    assert len({json.dumps(trial.params, sort_keys=True) for trial in complete(worker.study)}) == 6
    assert len(complete(worker.study)) == 6


@pytest.mark.slow
@pytest.mark.parametrize("file", ["study.db", "study.journal"])
@pytest.mark.parametrize("chosen", [False, True], ids=["before it chose", "after it chose"])
def test_a_worker_that_died_before_its_first_heartbeat_is_noticed(
    chosen: bool, file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, storage = write(tmp_path), str(tmp_path / file)
    dead = start(path, storage)
    lost = _ask(dead.study)
    if chosen:
        dead.prepared.space.sample(lambda name, choices: lost.suggest_categorical(name, choices))
    worker = start(path, storage)
    fake(worker, monkeypatch)
    assert worker.run()
    assert worker.study.trials[lost.number].state == TrialState.FAIL
    assert len({json.dumps(trial.params, sort_keys=True) for trial in complete(worker.study)}) == 6


def test_a_bound_rules_what_is_best(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mase_hw.search.results import best_trials

    metrics = "accuracy.at_least = 0.2\naverage_bitwidth.scale = 1.0\n"
    worker = start(write(tmp_path, metrics=metrics), InMemoryStorage())
    fake(worker, monkeypatch)
    worker.run()
    best = best_trials(worker.study)
    assert len(best) == 1
    assert best[0].params == {"seq_blocks_2.weight_width": 6, "seq_blocks_2.weight_frac_width": 4}  # 24 / 100
    assert optuna.study.StudyDirection.MINIMIZE in worker.study.directions


def test_channels_by_the_labs_names(tmp_path: Path) -> None:
    worker = run(write(tmp_path, model="jsc-d", by="name", seeds=CHANNELS, runners=BITS), InMemoryStorage())
    assert len(complete(worker.study)) == 6
