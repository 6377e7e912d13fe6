"""A model with other channels, made again from its name: what the model.py beside a search's best.toml calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import fx

from mase_hw.graph import MaseGraph
from mase_hw.models import load_model
from mase_hw.search.candidate import redefine_pass


def redefined(model: str, base: Path, config: Mapping[str, Any]) -> fx.GraphModule:
    """The model `model` (a TOML's name for it, relative to `base`) after the redefine pass with `config`.

    Its new layers are untrained: a checkpoint is meant to fill them.
    """
    original = load_model(model, base)
    graph = MaseGraph(original.eval())
    graph, _ = redefine_pass(graph, dict(config))(graph, {"config": config})
    stated = getattr(original, "input_shape", None)
    if stated is not None:
        graph.model.input_shape = stated
    return graph.model
