"""Where a search spends its time: measuring candidates, making them, keeping the study; beside it, a deep copy."""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from pathlib import Path

import click
from measure import Group

TRIALS = 24
CONFIG = """model = "{model}"
dataset = "{dataset}"
project = "search"

[search.search_space.setup]
by = "type"
[search.search_space.seed.default.config]
name = ["integer", "integer_floor"]
data_in_width = [6, 8]
data_in_frac_width = [3, 4]
weight_width = [4, 6, 8]
weight_frac_width = [3, 4]
bias_width = [8]
bias_frac_width = [4]

[search.strategy.sw_runner.basic_evaluation]
data_loader = "{split}_dataloader"
[search.strategy.hw_runner.average_bitwidth]
{runners}
[search.strategy.setup]
n_trials = {trials}
sampler = "random"
sum_scaled_metrics = false
[search.strategy.metrics]
accuracy.scale = 1.0
average_bitwidth.scale = 0.2
"""
CYCLES = "[search.strategy.hw_runner.interval]\n"
TRAIN = "[search.strategy.sw_runner.basic_train]\nmax_epochs = 1\n"
CASES = (
    ("digits-mlp", "digits", "train", CYCLES),
    ("digits-mlp", "digits", "train", TRAIN),
    ("jsc-s", "random", "train", ""),
)


def search(model: str, dataset: str, split: str, runners: str, folder: Path) -> Group:
    """The CPU seconds of a search with a study in SQLite, one thread."""
    import torch

    from mase_hw.config_file import load_config
    from mase_hw.graph import MaseGraph, deepcopy_mase_graph
    from mase_hw.search.candidate import Clock
    from mase_hw.search.prepare import prepare
    from mase_hw.search.storage import open_storage
    from mase_hw.search.trials import RESULT, Worker, open_study

    torch.set_num_threads(1)
    Clock.now = time.process_time
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "search.toml"
    text = CONFIG.format(model=model, dataset=dataset, split=split, runners=runners, trials=TRIALS)
    path.write_text(text, encoding="utf-8")
    prepared = prepare(load_config(path))
    prepared.measure(prepared.space.point(0))  # the first one warms torch up
    storage, named = open_storage(None, folder)
    worker = Worker(prepared, open_study(prepared, storage, "search", named), folder)
    started = time.process_time()
    worker.run()
    whole = time.process_time() - started
    spent: Counter[str] = Counter()
    for trial in worker.study.get_trials(deepcopy=False):
        spent.update(trial.user_attrs.get(RESULT, {}).get("seconds", {}))
    samples = len(prepared.split()[0])
    more = {CYCLES: ", cycles", TRAIN: ", an epoch of training"}.get(runners, "")
    group = Group(f"search: {model}, {samples} samples{more}; {TRIALS} trials", "all trials", whole)
    group.add("evaluating candidates", spent["evaluate"])
    if spent["train"]:
        group.add("training candidates", spent["train"])
    group.add("hardware of candidates", spent["hardware"])
    group.add("making candidates (graphs copied, quantized)", spent["build"])
    group.add("study (Optuna, SQLite)", whole - sum(spent.values()))
    graph = MaseGraph(prepared.model)
    started = time.process_time()
    for _ in range(TRIALS):
        deepcopy_mase_graph(graph)
    group.add("for comparison: a deep copy for each trial", time.process_time() - started)
    return group


def groups(folder: Path) -> list[Group]:
    """Every measurement of this file."""
    return [search(*case, folder / str(at)) for at, case in enumerate(CASES)]


@click.command()
def command() -> None:
    """Measure and print, without the other benches."""
    with tempfile.TemporaryDirectory(prefix="mase-hw-bench-") as folder:
        for group in groups(Path(folder)):
            click.echo(group.name)
            for row in group.rows:
                click.echo(f"  {row.name:<44}{row.value:>9.3f} {row.unit}{row.ratio:>8.1%}")


if __name__ == "__main__":
    command()
