"""[search]: the choices of every node, how candidates are measured, and how the search goes through them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from mase_hw.config.choices import Choices, parse_choices
from mase_hw.config.entries import PerNode, parse_entries
from mase_hw.config.places import Places
from mase_hw.config.table import Table, nearest
from mase_hw.config.training import OPTIMIZERS
from mase_hw.diagnostics import Collector, Problem, ProblemsError

Direction = Literal["minimize", "maximize"]
Sampler = Literal["tpe", "random", "nsgaii", "brute"]

SPACES = ("graph/quantize/mixed_precision_ptq", "graph/channel_size")
SAMPLERS: tuple[Sampler, ...] = ("tpe", "random", "nsgaii", "brute")
DIRECTIONS: tuple[Direction, ...] = ("minimize", "maximize")
SPLITS = {"train_dataloader": "train", "val_dataloader": "val", "test_dataloader": "test"}
SW_RUNNERS = ("basic_evaluation", "basic_train")
SW_METRICS = ("loss", "accuracy")  # what either of them measures
# What each hardware runner measures. It is the list that a wrong name is answered with.
HW_RUNNERS = {
    "average_bitwidth": ("average_bitwidth", "memory_density"),
    "latency": ("latency",),
    "interval": ("interval",),
    "lut": ("lut",),
}
METRICS: dict[str, Direction] = {
    "loss": "minimize",
    "accuracy": "maximize",
    "average_bitwidth": "minimize",
    "memory_density": "maximize",
    "latency": "minimize",
    "interval": "minimize",
    "lut": "minimize",
}


@dataclass(frozen=True)
class SpaceConfig:
    """[search.search_space]: what may be chosen for which node."""

    name: str
    seed: PerNode[Choices]


@dataclass(frozen=True)
class Evaluation:
    """[search.strategy.sw_runner.basic_evaluation]: which samples the metrics are of; None takes all of the split."""

    split: str = "val"
    num_samples: int | None = None


@dataclass(frozen=True)
class ShortTraining:
    """[search.strategy.sw_runner.basic_train]; None: as the top of the TOML says."""

    max_epochs: int = 1
    num_samples: int | None = None
    batch_size: int | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    optimizer: str | None = None


@dataclass(frozen=True)
class Metric:
    """A metric that is optimized (`objective`), bounded (`at_least`, `at_most`), or both."""

    name: str
    scale: float
    direction: Direction
    objective: bool
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class SearchConfig:
    """The whole of [search]. `direction` None: one objective for each metric, otherwise their sum."""

    space: SpaceConfig
    evaluation: Evaluation | None  # None: no sw_runner, nothing is measured in software
    training: ShortTraining | None
    compare_to: int
    hw_runners: tuple[str, ...]
    metrics: tuple[Metric, ...]
    sampler: Sampler
    n_trials: int | None  # None: brute force, all points
    n_jobs: int
    timeout: float | None
    direction: Direction | None

    @property
    def objectives(self) -> tuple[Metric, ...]:
        return tuple(metric for metric in self.metrics if metric.objective)


MISSING = "[search] is missing: it says what to choose from and how to measure it"


def parse_search(mapping: Mapping[str, Any], problems: Collector, places: Places | None = None) -> SearchConfig:
    """Reads [search]; what is wrong is added to `problems`, and the values returned then are of no use."""
    top = Table(mapping, ("search",), problems, places)
    if not mapping:
        hint = "give a TOML that has [search.search_space] and [search.strategy]: mase-hw search --config FILE"
        raise ProblemsError(Problem(MISSING, places.of("search") if places else None, hint))
    top.only(["search_space", "strategy"])
    strategy = _inner(top, "strategy")
    strategy.only(["name", "eval_mode", "sw_runner", "hw_runner", "setup", "metrics"])
    strategy.choice("name", "optuna", ["optuna"])
    evaluation, training = _sw_runner(strategy)
    compare_to, hw_runners = _hw_runner(strategy)
    setup = _inner(strategy, "setup")
    setup.only(["n_trials", "n_jobs", "timeout", "sampler", "sum_scaled_metrics", "direction"])
    sampler = cast(Sampler, setup.choice("sampler", "tpe", SAMPLERS))
    if sampler != "brute" and "n_trials" not in setup.values:
        setup.problem("n_trials is missing", hint='add n_trials = 100; only sampler = "brute" ends by itself')
    direction = _direction(setup)
    return SearchConfig(
        space=_space(top),
        evaluation=evaluation,
        training=training,
        compare_to=compare_to,
        hw_runners=hw_runners,
        metrics=_metrics(_inner(strategy, "metrics"), direction, evaluation is not None, hw_runners),
        sampler=sampler,
        n_trials=setup.integer("n_trials", None, 1),
        n_jobs=_jobs(setup),
        timeout=_positive(setup, "timeout"),
        direction=direction,
    )


def _inner(table: Table, key: str) -> Table:
    return table.table(key) or Table({}, (*table.path, key), table.problems, table.places)


def _space(top: Table) -> SpaceConfig:
    table = _inner(top, "search_space")
    table.only(["name", "setup", "seed"])
    name = table.choice("name", SPACES[0], SPACES)
    setup = _inner(table, "setup")
    setup.only(["by"])
    by = setup.choice("by", "name", ["name", "type"])
    seed = _inner(table, "seed")
    if not seed.values:
        table.problem("seed is missing: nothing is searched", hint="add [search.search_space.seed.default.config]")
    subject = ".".join(seed.path)
    entries = {**{key: value for key, value in seed.values.items() if key != "by"}, "by": by}
    if "by" in seed.values:
        seed.problem("unknown key by", "by", hint="it belongs to [search.search_space.setup]")
    channels_only = name == "graph/channel_size"
    _, default, read = parse_entries(
        entries, table.problems, table.places, subject, lambda config: parse_choices(config, channels_only)
    )
    return SpaceConfig(name, PerNode(by, default or Choices(), read, subject, table.places))  # type: ignore[arg-type]


def _sw_runner(strategy: Table) -> tuple[Evaluation | None, ShortTraining | None]:
    eval_mode = strategy.boolean("eval_mode", True)
    runners = _inner(strategy, "sw_runner")
    runners.only(SW_RUNNERS)
    if not runners.values:
        return None, None
    table, evaluation = runners.table("basic_evaluation"), Evaluation()
    if table is not None:
        table.only(["data_loader", "num_samples"])
        split = SPLITS[table.choice("data_loader", "val_dataloader", SPLITS)]
        evaluation = Evaluation(split, table.integer("num_samples", None, 1))
        if not eval_mode and "basic_train" not in runners.values:
            text = "eval_mode = false with basic_evaluation would measure batch norms that are still learning"
            strategy.problem(text, "eval_mode", hint="set eval_mode = true")
    table = runners.table("basic_train")
    if table is None:
        return evaluation, None
    known = ("max_epochs", "num_samples", "batch_size", "learning_rate", "weight_decay", "optimizer", "data_loader")
    table.only(known)
    table.choice("data_loader", "train_dataloader", ["train_dataloader"])
    return evaluation, ShortTraining(
        table.integer("max_epochs", 1, 1) or 1,
        table.integer("num_samples", None, 1),
        table.integer("batch_size", None, 1),
        _positive(table, "learning_rate"),
        _positive(table, "weight_decay", or_zero=True),
        table.choice("optimizer", "adam", OPTIMIZERS) if "optimizer" in table.values else None,
    )


def _hw_runner(strategy: Table) -> tuple[int, tuple[str, ...]]:
    runners = _inner(strategy, "hw_runner")
    for key in runners.values:
        if key not in HW_RUNNERS:
            close = nearest(key, HW_RUNNERS, "hardware runners")
            hint = close if close.startswith("did") else f"hardware runners: {', '.join(HW_RUNNERS)}"
            runners.problem(f"there is no runner {key}", key, hint=hint)
    compare_to = 32
    for key in HW_RUNNERS:
        table = runners.table(key)
        if table is not None:
            table.only(["compare_to"] if key == "average_bitwidth" else [])
            compare_to = table.integer("compare_to", compare_to, 1) or compare_to
    return compare_to, tuple(key for key in HW_RUNNERS if key in runners.values)


def _direction(setup: Table) -> Direction | None:
    """The direction of the sum; None where every metric is an objective of its own."""
    if not setup.boolean("sum_scaled_metrics", True):
        if "direction" in setup.values:
            text = "direction goes with sum_scaled_metrics = true"
            setup.problem(text, "direction", hint="take it out: each metric has a direction of its own")
        return None
    if "direction" not in setup.values:
        hint = 'add direction = "maximize" or "minimize", or set sum_scaled_metrics = false'
        setup.problem("the direction of the summed metrics is missing", "sum_scaled_metrics", hint=hint)
    return cast(Direction, setup.choice("direction", "maximize", DIRECTIONS))


def _metrics(table: Table, total: Direction | None, software: bool, hw_runners: tuple[str, ...]) -> tuple[Metric, ...]:
    table.only(METRICS)
    measured = {*(SW_METRICS if software else ()), *(name for runner in hw_runners for name in HW_RUNNERS[runner])}
    metrics = []
    for name, usual in METRICS.items():
        entry = table.table(name)
        if entry is None:
            continue
        entry.only(["scale", "direction", "at_least", "at_most"])
        if name not in measured:
            found = [f"hw_runner.{key}" for key, names in HW_RUNNERS.items() if name in names]
            runner = found[0] if found else f"sw_runner.{SW_RUNNERS[0]}"
            table.problem(f"nothing measures {name}", name, hint=f"add [search.strategy.{runner}]")
        direction = cast(Direction, entry.choice("direction", usual, DIRECTIONS))
        bounds = [entry.number(key, None) for key in ("at_least", "at_most")]
        objective = any(key in entry.values for key in ("scale", "direction")) or not entry.values
        metrics.append(Metric(name, _positive(entry, "scale") or 1.0, direction, objective, *bounds))
    written = list(table.values)
    metrics.sort(key=lambda metric: written.index(metric.name))  # `value` in best.json has the order of the TOML
    if not any(metric.objective for metric in metrics):
        table.problem("no metric is optimized", hint="add one, such as accuracy.scale = 1.0")
    return tuple(metrics)


def _jobs(setup: Table) -> int:
    jobs = setup.integer("n_jobs", 1, -1)
    if jobs == 0:
        setup.problem("n_jobs = 0 is out of range", "n_jobs", hint="allowed: 1 or more, or -1 for one per core")
    return jobs or 1


def _positive(table: Table, key: str, *, or_zero: bool = False) -> float | None:
    value = table.number(key, None)
    if value is not None and (not math.isfinite(value) or value < 0 or (value == 0 and not or_zero)):
        table.problem(f"{key} = {value} is out of range", key, hint=f"allowed: {'0 or more' if or_zero else 'above 0'}")
        return None
    return value
