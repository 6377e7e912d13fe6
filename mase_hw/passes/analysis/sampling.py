"""Sample inputs from a user's generator, run through a graph while somebody watches the activations."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, fx

from mase_hw.config.table import nearest, shown
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_place
from mase_hw.graph.places import USER_ERRORS, place_of_forward
from mase_hw.passes.analysis.add_common_metadata import evaluating
from mase_hw.passes.analysis.tensors import activations_of

Watch = Callable[[fx.Node, str, str, Tensor], None]  # node, side ("args" or "results"), name, value
_EXAMPLE = 'one of: {"x": tensor}, tensor, (tensor, labels); the first dimension is the batch'


def check_source(args: Mapping[str, Any], asker: str, problems: Collector) -> None:
    """`input_generator` and `num_samples` as they must be before anything runs."""
    generator, count = args.get("input_generator"), args.get("num_samples")
    if generator is None:
        problems.add(f"{asker}: input_generator is missing", hint=f"an iterator that gives {_EXAMPLE}")
    elif not hasattr(generator, "__iter__"):
        text = f"{asker}: input_generator = {type(generator).__name__} cannot be iterated over"
        problems.add(text, hint=f"an iterator that gives {_EXAMPLE}")
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        text = f"= {shown(count)} is no positive integer" if "num_samples" in args else "is missing"
        problems.add(f"{asker}: num_samples {text}", hint="how many samples (not batches) to take from input_generator")


def run_samples(
    graph: MaseGraph, args: Mapping[str, Any], targets: set[fx.Node], watch: Watch, asker: str
) -> tuple[int, tuple[str, ...]]:
    """Runs exactly `num_samples` samples in eval mode, without gradients; the last batch is cut to fit.

    `watch` sees every tensor that a node of `targets` reads, before the node runs (it may overwrite it), and then the
    node's result. Returns how many samples ran, and a note when the generator ran dry before.
    """
    runner = _Watcher(graph, targets, watch)
    wanted, taken = int(args["num_samples"]), 0
    with evaluating(graph.model), torch.no_grad():
        source = iter(args["input_generator"])
        # Asked for no more batches than needed: the generator may be the user's, and go on after us.
        while taken < wanted and (batch := next(source, None)) is not None:
            values = _values(graph, batch, asker)
            count = _batch_size(values, asker)
            runner.run(*_cut(values, count, wanted - taken))
            taken += min(count, wanted - taken)
    if taken == 0:
        text = f"{asker}: input_generator gave no sample"
        raise ProblemsError(Problem(text, hint="an iterator can be used only once: make a new one"))
    if taken < wanted:
        return taken, (f"input_generator ran dry after {taken} of {wanted} samples",)
    return taken, ()


def _values(graph: MaseGraph, batch: Any, asker: str) -> list[Any]:
    """The arguments of forward, in its order."""
    slots = [node for node in graph.fx_graph.nodes if node.op == "placeholder"]
    names = [str(node.target) for node in slots]
    if not isinstance(batch, Mapping):
        batch = {names[0]: batch[0] if isinstance(batch, tuple | list) and batch else batch} if names else {}
    with Collector() as problems:
        for name in batch:
            if name not in names:
                hint = nearest(str(name), names, "its arguments")
                problems.add(f"{asker}: forward has no argument {name}, which input_generator gives", hint=hint)
        for node, name in zip(slots, names, strict=True):
            given = batch.get(name, node.args[0] if node.args else None)
            if not isinstance(given, Tensor) and not node.args:
                text = f"{asker}: input_generator gives {name} as {type(given).__name__}, not as a tensor"
                problems.add(text, get_node_place(node), _EXAMPLE)
    return [batch.get(name, node.args[0] if node.args else None) for node, name in zip(slots, names, strict=True)]


def _batch_size(values: list[Any], asker: str) -> int:
    sizes = [len(value) for value in values if isinstance(value, Tensor) and value.dim()]
    if not sizes or sizes[0] == 0:
        raise ProblemsError(Problem(f"{asker}: input_generator gave a batch without samples", hint=_EXAMPLE))
    return sizes[0]


def _cut(values: list[Any], count: int, left: int) -> Iterator[Any]:
    """Copies: an in-place first layer must not overwrite the user's data."""
    for value in values:
        batched = isinstance(value, Tensor) and value.dim() > 0 and len(value) == count
        yield value[:left].clone() if batched else value


class _Watcher(fx.Interpreter):
    def __init__(self, graph: MaseGraph, targets: set[fx.Node], watch: Watch) -> None:
        super().__init__(graph.model)
        self.extra_traceback = False  # problems already say where they are
        self._targets, self._watch = targets, watch
        self._sources = {node: activations_of(node) for node in targets}

    def run_node(self, n: fx.Node) -> Any:
        for name, source in self._sources.get(n, {}).items():
            self._show(n, "args", name, self.env[source])
        try:
            result = super().run_node(n)
        except USER_ERRORS as error:
            said = (str(error).strip().splitlines() or [type(error).__name__])[0]
            text = f"{n.name} ({get_mase_op(n)}): fails on a sample of input_generator: {said}"
            where = get_node_place(n) or place_of_forward(self.module)
            raise ProblemsError(Problem(text, where, "give samples of the shape that the model takes")) from error
        if n in self._targets:
            self._show(n, "results", "data_out_0", result)
        return result

    def _show(self, node: fx.Node, side: str, name: str, value: Any) -> None:
        if not isinstance(value, Tensor) or not value.is_floating_point():
            return
        finite = torch.isfinite(value)
        if not bool(finite.all()):
            count = int((~finite).sum())
            text = f"{node.name}: {name} holds {count} values of {value.numel()} that are NaN or infinite"
            hint = "check the samples, and the parameters of the layers before it"
            raise ProblemsError(Problem(text, get_node_place(node), hint))
        self._watch(node, side, name, value)
