"""What the other ONNX files work on: an ONNX graph as plain nodes and numpy arrays, no protobuf left."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from mase_hw.diagnostics import Collector, Place

Array = npt.NDArray[Any]
Reals = npt.NDArray[np.float64]

QUANT_OPS = ("Quant", "IntQuant")  # two names of one operator
STANDARD_DOMAINS = ("", "ai.onnx")


@dataclass(frozen=True)
class OnnxNode:
    """One operator. `scope` is the module of the PyTorch model that it came from, where the exporter tells."""

    op: str
    domain: str
    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]
    scope: str = ""

    @property
    def label(self) -> str:
        """How a message names the node."""
        return f"node {self.name or self.outputs[0]} ({self.op})"

    @property
    def is_quant(self) -> bool:
        return self.op in QUANT_OPS and self.domain not in STANDARD_DOMAINS


@dataclass(frozen=True)
class OnnxGraph:
    """A whole file. `inputs` have the shapes of one sample: the tensors' without their first axis, the batch."""

    path: Path
    nodes: tuple[OnnxNode, ...]
    constants: Mapping[str, Array]
    inputs: Mapping[str, tuple[int, ...]]
    outputs: tuple[str, ...]

    @property
    def place(self) -> Place:
        return Place(self.path)


@dataclass(frozen=True)
class Finder:
    """Adds problems that name the file and the node."""

    found: Collector
    place: Place

    def node(self, node: OnnxNode, text: str, hint: str | None = None) -> None:
        self.found.add(f"{node.label}: {text}", self.place, hint)

    def number(self, node: OnnxNode, key: str, default: float) -> float:
        """An attribute that is a number; one that is none is a problem."""
        value = node.attributes.get(key, default)
        if isinstance(value, int | float):
            return value
        self.node(node, f"its attribute {key} is not a number", "the file is damaged: export it again")
        return default
