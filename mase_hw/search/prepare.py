"""Everything before the first trial: what a TOML asks for is read, loaded, and tried out once."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from mase_hw.config import Config
from mase_hw.config.quantize import QuantizeConfig, QuantSpec
from mase_hw.config.search import Evaluation, SearchConfig, parse_search
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.lowering.choose import choose
from mase_hw.passes.layers import layer_graph_of
from mase_hw.search.candidate import Clock, Workshop
from mase_hw.search.metrics import Measured, hardware_metrics
from mase_hw.search.space import Sample, Space, make_space
from mase_hw.training.device import choose_device
from mase_hw.training.evaluate import evaluate
from mase_hw.training.task import load_task

_BUILT = ("latency", "interval", "lut")  # runners that need the design
# Keys that may differ between the workers of a study, and between its interruption and its continuation.
_FREE = ("accelerator", "num_workers", "log_level", "log_every_n_steps", "project_dir", "project", "load_type")
_FREE_SETUP = ("n_trials", "n_jobs", "timeout")


@dataclass(frozen=True)
class Prepared:
    """A search that is ready to run."""

    config: Config
    search: SearchConfig
    model: nn.Module  # as the user wrote it, with its weights
    workshop: Workshop
    space: Space
    accelerator: str
    notes: tuple[str, ...]

    @property
    def total(self) -> int:
        """How many trials the study is to have."""
        wanted = self.search.n_trials
        if self.search.sampler != "brute":
            assert wanted is not None
            return wanted
        return self.space.size if wanted is None else min(wanted, self.space.size)

    def measure(self, sample: Sample) -> tuple[Measured, nn.Module | None]:
        """Every metric of a sample; and its trained model, when it was trained."""
        clock = Clock()
        candidate = self.workshop.build(sample, clock)
        software: dict[str, float] = {}
        if (wanted := self.search.evaluation) is not None:
            with clock.taking("evaluate"):
                score = evaluate(candidate.graph.model, *self.split(wanted), num_samples=wanted.num_samples)
            software = {"loss": score.loss, "accuracy": score.accuracy}
        with clock.taking("hardware"):
            hardware = hardware_metrics(candidate.graph, self.config, self.search)
        return Measured(software, hardware, clock.spent), candidate.model if candidate.trained else None

    def split(self, wanted: Evaluation) -> tuple[Any, Any]:
        """The samples and labels that the metrics are of."""
        data = self.workshop.dataset
        return getattr(data, f"x_{wanted.split}"), getattr(data, f"y_{wanted.split}")

    def fingerprint(self) -> str:
        """What must be the same for two workers to share a study."""
        raw: dict[str, Any] = {key: value for key, value in self.config.raw.items() if key not in _FREE}
        strategy = dict(raw["search"].get("strategy", {}))
        setup: Mapping[str, Any] = strategy.get("setup", {})
        strategy["setup"] = {key: value for key, value in setup.items() if key not in _FREE_SETUP}
        raw["search"] = {**raw["search"], "strategy": strategy}
        return hashlib.sha256(json.dumps(raw, sort_keys=True, default=str).encode()).hexdigest()[:16]


def prepare(config: Config, n_trials: int | None = None) -> Prepared:
    """Raises every problem of a phase together: the TOML's, then those of model and data, then the space's.

    `n_trials` takes the place of the TOML's.
    """
    with Collector() as problems:
        search = parse_search(config.search, problems, config.places)
    search = replace(search, n_trials=n_trials or search.n_trials)
    device, note = choose_device(config.training.accelerator)
    task = load_task(config, fresh=search.training is not None, needs_data=search.evaluation is not None)
    task.model.to(device)
    workshop = Workshop(config, search, task.model, task.shape, task.dataset)
    with Collector() as problems:
        space = make_space(search.space, workshop.nodes(), problems)
    notes = (*task.notes, *((note,) if note else ()), *_notes(search, space))
    prepared = Prepared(config, search, task.model, workshop, space, device.type, notes)
    with Collector() as problems:
        problems.attempt(lambda: _check_split(prepared))
        problems.attempt(lambda: _try_out(prepared))
    return prepared


def _notes(search: SearchConfig, space: Space) -> list[str]:
    notes = []
    if search.sampler == "brute" and search.n_trials is not None and search.n_trials < space.size:
        notes.append(f"n_trials = {search.n_trials} of the {space.size} points of the search space")
    if search.training is not None and search.n_jobs != 1:
        notes.append("basic_train trains one candidate at a time: n_jobs helps less than a second worker process")
    return notes


def _check_split(prepared: Prepared) -> None:
    wanted = prepared.search.evaluation
    if wanted is not None and len(prepared.split(wanted)[0]) == 0:
        data = prepared.workshop.dataset.name
        keys = ("search", "strategy", "sw_runner", "basic_evaluation", "data_loader")
        text = f"search.strategy.sw_runner: the {wanted.split} split of {data} is empty"
        hint = 'choose data_loader = "train_dataloader", "val_dataloader" or "test_dataloader"'
        raise ProblemsError(Problem(text, prepared.config.where(*keys), hint))


def _try_out(prepared: Prepared) -> None:
    """Builds one candidate, the one with the fewest quantized nodes, and its hardware where that is measured."""
    config, search = prepared.config, prepared.search
    candidate = prepared.workshop.build(prepared.space.least_quantized(), training=False)
    wanted = [name for name in _BUILT if name in search.hw_runners]
    if not wanted:
        return
    by = search.space.seed.by
    ruled = QuantizeConfig(by, QuantSpec(), subject="search.search_space.seed")
    where = config.where("search", "strategy", "hw_runner", wanted[0])
    try:
        with Collector() as problems:
            chain = layer_graph_of(candidate.graph, problems, ruled)
            choose(chain, config.hardware, config.target, problems)
    except ProblemsError as error:
        subject = f"search.strategy.hw_runner.{wanted[0]}: some samples cannot become hardware: "
        raise ProblemsError(*(_told(problem, subject, where) for problem in error.problems)) from None


def _told(problem: Problem, subject: str, where: Any) -> Problem:
    hint = problem.hint and problem.hint.replace("[passes.quantize.", "[search.search_space.seed.")
    return replace(problem, message=subject + problem.message, where=where, hint=hint)
