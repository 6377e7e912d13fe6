"""Which layer takes which Quant: quantizers of streams become `data_in` and `data_out` of the layers beside them.

A layer has one rounding rule. What no layer can take becomes a layer of its own: a batch norm by 1. A ReLU commutes
with every quantizer that keeps 0, and all of ours do; so where in a row of Quants it stands does not matter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mase_hw.frontends.onnx_graph import Finder
from mase_hw.frontends.onnx_names import Names
from mase_hw.frontends.onnx_own_layers import by_one, clamp, clamps, needed
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_quant import ActivationQuant
from mase_hw.frontends.onnx_steps import Conv, Join, Linear, Link, Mul, Norm, Pool, Relu
from mase_hw.frontends.onnx_walk import Walked


@dataclass
class _Tensor:
    """What is known of a tensor: the layer or input whose `result` it is, and the Quants that no layer has taken.

    `last` is the layer that may still take one of them, as long as nobody else reads its result.
    """

    result: str
    shape: tuple[int, ...]
    last: Placed | None = None
    waiting: list[ActivationQuant] = field(default_factory=list)  # since the last layer
    relu: bool = False
    offered: ActivationQuant | None = None  # of a result with several readers: the Quant that `last` may take


def arrange(
    walked: Walked, inputs: Mapping[str, tuple[int, ...]], names: Names, finder: Finder
) -> tuple[tuple[Placed, ...], tuple[str, ...]]:
    """The layers with their Quants, and the results that the model returns. `inputs`: the shape of each."""
    return _Arranging(walked, inputs, names, finder).run()


class _Arranging:
    def __init__(self, walked: Walked, inputs: Mapping[str, tuple[int, ...]], names: Names, finder: Finder) -> None:
        self._walked, self._names, self._finder = walked, names, finder
        self._readers = Counter(name for link in walked.links for name in link.reads) + Counter(walked.outputs)
        self._tensors = {name: _Tensor(input_key(name), shape) for name, shape in inputs.items()}
        self._placed: list[Placed] = []

    def run(self) -> tuple[tuple[Placed, ...], tuple[str, ...]]:
        for name in list(self._tensors):
            self._share(name)
        for link in self._walked.links:
            reads = [replace(self._tensors[name]) for name in link.reads]
            for read in reads:
                read.waiting = list(read.waiting)
            self._tensors[link.makes] = self._made(link, reads)
            self._share(link.makes)
        for name in dict.fromkeys(self._walked.outputs):
            self._settle(self._tensors[name], before_layer=False)
        return tuple(self._placed), tuple(self._tensors[name].result for name in self._walked.outputs)

    def _made(self, link: Link, reads: list[_Tensor]) -> _Tensor:
        step, x, shape = link.step, reads[0], self._walked.shapes[link.makes]
        if isinstance(step, ActivationQuant):
            x.waiting.append(step)
            return x
        if isinstance(step, Join):
            return self._join(step, reads, shape)
        if isinstance(step, Linear | Conv | Norm | Mul) or (isinstance(step, Pool) and step.averages):
            self._settle(x, before_layer=True)
            last = self._add(Placed(step, x.waiting[-1] if x.waiting else None, inputs=(x.result,)))
            return _Tensor(step.name, shape, last)
        self._add(Placed(step, inputs=(x.result,)))
        return replace(x, result=step.name, shape=shape, relu=x.relu or isinstance(step, Relu))

    def _join(self, step: Join, reads: list[_Tensor], shape: tuple[int, ...]) -> _Tensor:
        """Inputs that share a Quant have its type. Otherwise the Quants stand before the join."""
        for read in reads:
            self._settle(read, before_layer=True)
        found = {(q.fixed, q.rounding) for read in reads for q in read.waiting}
        quant = None
        if len(found) == 1 and all(read.waiting for read in reads):
            quant = reads[0].waiting[-1]
        else:
            for read in reads:
                self._settle(read, before_layer=False)
        last = self._add(Placed(step, quant, inputs=tuple(read.result for read in reads)))
        return _Tensor(step.name, shape, last)

    def _share(self, name: str) -> None:
        """A tensor with several readers: they take its last Quant, or none where the model returns it too.

        The layer before may still take it, for a reader that has no place for it.
        """
        if self._readers[name] > 1:
            tensor = self._tensors[name]
            self._settle(tensor, before_layer=name not in self._walked.outputs)
            if len(tensor.waiting) == 1 and self._taker(tensor) is not None:
                tensor.offered = tensor.waiting[0]
            else:
                tensor.last = None

    @staticmethod
    def _taker(x: _Tensor) -> Placed | None:
        """The layer before, if it can do what the first Quant does."""
        if not x.waiting or x.last is None or clamps(x.waiting[0], x.relu):
            return None
        if x.offered is not None:  # only that one: what comes later is for one reader of several
            free = x.waiting[0] is x.offered and (x.last.quant_out is x.offered or x.last.takes(x.offered))
            return x.last if free else None
        return x.last if x.last.takes(x.waiting[0]) else None

    def _add(self, placed: Placed) -> Placed:
        self._placed.append(placed)
        return placed

    def _settle(self, x: _Tensor, *, before_layer: bool) -> None:
        """Layers for the Quants that no layer takes. Leaves at most the one that the next layer takes."""
        x.waiting = needed(x.waiting, x.relu)
        for_next = 1 if before_layer else 0
        taker = self._taker(x)
        if len(x.waiting) > for_next and taker is not None:
            taker.take(x.waiting.pop(0))
            x.last = x.offered = None
        while len(x.waiting) > for_next or (x.waiting and clamps(x.waiting[0], x.relu)):
            quant = x.waiting.pop(0)
            own = clamp if clamps(quant, x.relu) else by_one
            for placed in own(quant, x.shape, self._names, x.result):
                x.result = self._add(placed).step.name
            x.last = None


def input_key(name: str) -> str:
    """How the results of layers and the inputs of the model stay apart: no layer's name has a colon."""
    return f"input:{name}"
