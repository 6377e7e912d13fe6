"""TOMLs of small searches, and what runs them in this process."""

from __future__ import annotations

from pathlib import Path

from optuna import Study
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from mase_hw.config import Config
from mase_hw.config.search import SearchConfig, parse_search
from mase_hw.config_file import load_config
from mase_hw.diagnostics import Collector
from mase_hw.search.prepare import Prepared, prepare
from mase_hw.search.storage import open_storage
from mase_hw.search.trials import Worker, open_study

TOP = """model = "{model}"
dataset = "random"
project = "found"
seed = {seed}
{top}
[search.search_space]
name = "{space}"
[search.search_space.setup]
by = "{by}"
{seeds}
[search.strategy]
name = "optuna"
eval_mode = true
[search.strategy.sw_runner.basic_evaluation]
data_loader = "val_dataloader"
num_samples = 64
{runners}
[search.strategy.setup]
sampler = "{sampler}"
{setup}
[search.strategy.metrics]
{metrics}
"""
WIDTHS = """[search.search_space.seed.default.config]
name = ["NA"]
[search.search_space.seed.linear.config]
name = ["integer"]
data_in_width = [8]
data_in_frac_width = [4]
weight_width = [4, 6, 8]
weight_frac_width = [2, 4]
bias_width = 8
bias_frac_width = 4
"""
NORM = """[search.search_space.seed.batch_norm1d.config]
name = ["integer"]
data_in_width = [8]
data_in_frac_width = [4]
weight_width = [8]
weight_frac_width = [4]
bias_width = [8]
bias_frac_width = [4]
"""
CHANNELS = """[search.search_space.seed.default.config]
name = ["NA"]
[search.search_space.seed.seq_blocks_2.config]
name = ["output_only"]
channel_multiplier = [1, 2, 4]
[search.search_space.seed.seq_blocks_4.config]
name = ["both"]
channel_multiplier = [1, 3]
[search.search_space.seed.seq_blocks_6.config]
name = ["input_only"]
"""
BITS = "[search.strategy.hw_runner.average_bitwidth]\ncompare_to = 32\n"
TRAIN = "[search.strategy.sw_runner.basic_train]\nmax_epochs = 1\nnum_samples = 256\nlearning_rate = 0.01\n"
TWO = "accuracy.scale = 1.0\naverage_bitwidth.scale = 0.2\n"
SEVERAL = "sum_scaled_metrics = false\n"


def write(
    folder: Path,
    *,
    model: str = "jsc-tiny",
    seed: int = 0,
    top: str = "",
    space: str = "graph/quantize/mixed_precision_ptq",
    by: str = "type",
    seeds: str = WIDTHS,
    runners: str = BITS,
    sampler: str = "brute",
    setup: str = SEVERAL,
    metrics: str = TWO,
) -> Path:
    path = folder / "search.toml"
    text = TOP.format(
        model=model,
        seed=seed,
        top=top,
        space=space,
        by=by,
        seeds=seeds,
        runners=runners,
        sampler=sampler,
        setup=setup if "timeout" in setup else f"{setup}timeout = 60\n",  # a search that never ends fails
        metrics=metrics,
    )
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path) -> SearchConfig:
    config = load_config(path)
    with Collector() as problems:
        return parse_search(config.search, problems, config.places)


Storage = str | BaseStorage | None


def start(path: Path, storage: Storage = None, *, n_trials: int | None = None, name: str = "found") -> Worker:
    prepared: Prepared = prepare(load_config(path), n_trials)
    if isinstance(storage, BaseStorage):
        return Worker(prepared, open_study(prepared, storage, name, "memory"), path.parent)
    opened, named = open_storage(storage, path.parent, 1)
    return Worker(prepared, open_study(prepared, opened, name, named), path.parent)


def run(path: Path, storage: Storage = None, *, n_trials: int | None = None) -> Worker:
    worker = start(path, storage, n_trials=n_trials)
    assert worker.run()
    return worker


def complete(study: Study) -> list[FrozenTrial]:
    return study.get_trials(states=(TrialState.COMPLETE,))


def config_of(path: Path) -> Config:
    return load_config(path)
