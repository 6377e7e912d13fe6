"""From a sample to a model: redefined, trained where that is asked, quantized. Float parameters are shared, not copied.

The user's model is traced once. A candidate gets a graph of its own over the very modules of that trace; only what its
sample changes is made anew, and only a candidate that is trained gets a copy of the parameters.
"""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from torch import fx, nn

from mase_hw.config import Config, TrainingConfig
from mase_hw.config.search import SearchConfig, ShortTraining
from mase_hw.datasets import Dataset
from mase_hw.graph import MaseGraph, MaseMetadata, get_mase_op
from mase_hw.models import Shape, Shapes
from mase_hw.passes import (
    fuse_batch_norm_transform_pass,
    quantize_transform_pass,
    redefine_linear_transform_pass,
    redefine_vgg_transform_pass,
    remove_identity_transform_pass,
)
from mase_hw.pipeline.graphs import with_metadata
from mase_hw.search.space import Sample, quantize_args, quantizes, redefine_args
from mase_hw.training.quantized import quantized_network
from mase_hw.training.train import train

Pass = Callable[[MaseGraph, Mapping[str, Any] | None], tuple[MaseGraph, dict[str, Any]]]


@dataclass(frozen=True)
class Candidate:
    """A sample as a model. `model` is in floats, with the weights that a checkpoint would hold."""

    model: nn.Module
    graph: MaseGraph  # redefined, quantized, with metadata
    trained: bool


@dataclass
class Clock:
    """Seconds by what they were spent on."""

    spent: dict[str, float] = field(default_factory=dict)
    now: ClassVar[Callable[[], float]] = time.perf_counter  # a bench on a busy machine counts the CPU's seconds instead

    @contextmanager
    def taking(self, name: str) -> Iterator[None]:
        started = Clock.now()
        try:
            yield
        finally:
            self.spent[name] = self.spent.get(name, 0.0) + Clock.now() - started


class Workshop:
    """Makes candidates from one traced model."""

    def __init__(
        self, config: Config, search: SearchConfig, model: nn.Module, shape: Shape | Shapes, dataset: Dataset | None
    ) -> None:
        self.config, self.search, self.shape = config, search, shape
        self._dataset = dataset
        graph = MaseGraph(model.eval())
        graph, _ = remove_identity_transform_pass(graph)
        self._traced = with_metadata(graph, shape).model
        self._lock = threading.Lock()  # torch has one random generator and one tracer for all threads

    @property
    def dataset(self) -> Dataset:
        assert self._dataset is not None, "a search without a sw_runner looks at no data"
        return self._dataset

    def nodes(self) -> MaseGraph:
        """A graph that shows the nodes as a sample names them: a batch norm that will be folded is not among them."""
        return self._fused(_like(self._traced))

    def build(self, sample: Sample, clock: Clock | None = None, *, training: bool = True) -> Candidate:
        """The candidate of a sample; `training` False leaves it as it starts."""
        clock = clock or Clock()
        settings = self.search.training if training else None
        with self._lock:
            with clock.taking("build"):
                floats = self._redefined(sample)
            if settings is not None:
                with clock.taking("build"):
                    floats = copy.deepcopy(floats)
                with clock.taking("train"):
                    self._train(floats, sample, settings)
            with clock.taking("build"):
                graph, _ = quantize_transform_pass(self._fused(_like(floats)), quantize_args(sample))
        return Candidate(floats, graph, settings is not None)

    def _redefined(self, sample: Sample) -> fx.GraphModule:
        args = redefine_args(sample)
        if args is None:
            return self._traced
        graph = _like(self._traced)
        graph, _ = redefine_pass(graph, args)(graph, {"config": args, "seed": self.config.seed})
        return graph.model

    def _fused(self, graph: MaseGraph) -> MaseGraph:
        if not self.config.fuse_batch_norm:
            return graph
        graph, _ = fuse_batch_norm_transform_pass(graph)
        return with_metadata(graph, self.shape)

    def _train(self, model: nn.Module, sample: Sample, settings: ShortTraining) -> None:
        """Through the sample's quantizers, on the model's own parameters."""
        config = replace(self.config, raw={"passes": {"quantize": quantize_args(sample)}})
        through = quantized_network(config, self.shape) if quantizes(sample) else None
        dataset, count = self.dataset, settings.num_samples
        if count is not None:
            dataset = replace(dataset, x_train=dataset.x_train[:count], y_train=dataset.y_train[:count])
        chosen = training_settings(self.config.training, settings)
        train(model, dataset, chosen, seed=self.config.seed, out=None, progress=False, through=through)


def _like(model: fx.GraphModule) -> MaseGraph:
    """A graph of its own over the modules of `model`, whose metadata it takes: nothing is run to learn the shapes."""
    graph = MaseGraph(model)
    for known, node in zip(model.graph.nodes, graph.fx_graph.nodes, strict=True):
        metadata = MaseMetadata(node, graph.model)
        metadata.parameters = copy.deepcopy(known.meta["mase"].parameters)
        node.meta["mase"] = metadata
    return graph


def redefine_pass(graph: MaseGraph, args: dict[str, Any]) -> Pass:
    """The pass that takes these layers."""
    ops = {get_mase_op(node) for node in graph.fx_graph.nodes if node.name in args}
    if "conv2d" in ops:
        return redefine_vgg_transform_pass
    return redefine_linear_transform_pass


def training_settings(top: TrainingConfig, short: ShortTraining) -> TrainingConfig:
    """What the TOML says at its top, changed by what [search.strategy.sw_runner.basic_train] says."""
    changes: dict[str, Any] = {
        "batch_size": short.batch_size,
        "learning_rate": short.learning_rate,
        "weight_decay": short.weight_decay,
        "training_optimizer": short.optimizer,
    }
    given = {key: value for key, value in changes.items() if value is not None}
    return replace(top, max_epochs=short.max_epochs, max_steps=-1, **given)
