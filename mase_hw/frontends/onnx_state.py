"""Where the walk through an ONNX graph is: what is known of each tensor, and the steps so far."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from mase_hw.frontends.onnx_constants import Constants
from mase_hw.frontends.onnx_graph import Finder, OnnxNode
from mase_hw.frontends.onnx_names import Names
from mase_hw.frontends.onnx_quant import Constant
from mase_hw.frontends.onnx_steps import Link, Step
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True)
class Known:
    """A tensor `[batch, *shape]`. `source` is the tensor of the last step before it: a Transpose is no step.

    `order`: element k of the tensor, flattened, is element `order[k]` of what our layers hand on. Transposes do no
    more than change it; the next matrix takes it in.
    """

    source: str
    shape: tuple[int, ...]
    order: Integers
    biasless: bool = False  # the last step is a MatMul that may still get its bias


@dataclass
class Walk:
    """The walk at one node: `source`, `shape`, `order` and `biasless` are those of the tensor that the node reads.

    What the node does to them becomes what is known of its result.
    """

    constants: Constants
    finder: Finder
    names: Names
    tensors: dict[str, Known]
    links: list[Link] = field(default_factory=list)
    source: str = ""
    shape: tuple[int, ...] = ()
    order: Integers = field(default_factory=lambda: np.arange(0))
    biasless: bool = False
    makes: str = ""
    _makers: dict[str, int] = field(default_factory=dict)

    def enter(self, node: OnnxNode, read: str, *, shared: bool) -> None:
        """Begins a node that reads the tensor `read`; `shared`: others read it too."""
        known = self.tensors[read]
        self.source, self.shape, self.order = known.source, known.shape, known.order
        self.biasless = known.biasless and not shared
        self.makes = node.outputs[0]

    def leave(self) -> None:
        self.tensors[self.makes] = Known(self.source, self.shape, self.order, self.biasless)

    def add(self, step: Step, reads: tuple[str, ...] | None = None) -> None:
        """A step that reads the present tensor, or those with the names `reads`."""
        self._makers[self.makes] = len(self.links)
        self.links.append(Link(step, reads or (self.source,), self.makes))
        self.source = self.makes

    def rename(self, makes: str) -> None:
        """Gives the tensor that the present node has made so far another name: a step of the same node follows."""
        index = self._makers.pop(self.makes)
        self._makers[makes] = index
        self.links[index] = replace(self.links[index], makes=makes)
        self.source = makes
        self.tensors[makes] = Known(makes, self.shape, self.order)

    @property
    def maker(self) -> Step:
        """The step that made the present tensor."""
        return self.links[self._makers[self.source]].step

    @maker.setter
    def maker(self, step: Step) -> None:
        index = self._makers[self.source]
        self.links[index] = replace(self.links[index], step=step)


def constant_of(state: Walk, node: OnnxNode, index: int, what: str) -> Constant | None:
    """An input of the node that must be a constant of finite numbers."""
    name = node.inputs[index] if index < len(node.inputs) else ""
    if name not in state.constants:
        state.finder.node(node, f"its {what} is not a constant", "hardware multiplies by constants alone")
        return None
    told = len(state.finder.found.problems)
    found = state.constants.get(name)
    if found is None and len(state.finder.found.problems) == told:
        state.finder.node(node, f"its {what} holds no numbers")
    if found is not None and not np.isfinite(found.values).all():
        bad = int((~np.isfinite(found.values)).sum())
        text = f"its {what} has {bad} values that are NaN or infinite"
        state.finder.node(node, text, "check the training")
        return None
    return found
