"""add_common_metadata_analysis_pass: MASE type and op, and the shape and number type of every argument and result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, fx, nn

from mase_hw.config.table import nearest
from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_type_and_op, get_node_module, get_node_place
from mase_hw.graph.joins import operands, sources
from mase_hw.graph.opcodes import arguments, known, op_for_rank
from mase_hw.graph.places import USER_ERRORS, place_of_forward
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.analysis.windows import why_unfit

Description = dict[str, Any]


def add_common_metadata_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Runs `dummy_in` ({argument of forward: tensor}) through the model, in eval mode, and writes `common`.

    `add_value` False leaves the values themselves out.
    """
    given = dict(pass_args or {})
    inputs = _inputs(graph, given.get("dummy_in"))
    run = _Recorder(graph, bool(given.get("add_value", True)))
    with evaluating(graph.model), torch.no_grad():
        run.run(*inputs)
    return graph, {}


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Eval mode for a while; every module gets its own training flag back."""
    before = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training


def _inputs(graph: MaseGraph, dummy_in: Any) -> list[Any]:
    """The values of forward's arguments, in its order."""
    slots = [node for node in graph.fx_graph.nodes if node.op == "placeholder"]
    names = [str(node.target) for node in slots]
    example = ", ".join(f'"{name}": tensor' for name in names)
    if not isinstance(dummy_in, Mapping):
        hint = f'pass {{"dummy_in": {{{example}}}}}'
        raise ProblemsError(Problem("add_common_metadata_analysis_pass: dummy_in is missing", hint=hint))
    with Collector() as problems:
        for name in dummy_in:
            if name not in names:
                problems.add(f"dummy_in: forward has no argument {name}", hint=nearest(name, names, "its arguments"))
        values = []
        for node, name in zip(slots, names, strict=True):
            if name not in dummy_in and not node.args:
                problems.add(
                    f"dummy_in: {name} is missing", get_node_place(node), f'pass {{"dummy_in": {{{example}}}}}'
                )
            values.append(dummy_in.get(name, node.args[0] if node.args else None))
    return values


class _Recorder(fx.Interpreter):
    """Runs the graph node by node and writes down what went in and what came out."""

    def __init__(self, graph: MaseGraph, add_value: bool) -> None:
        super().__init__(graph.model)
        self.extra_traceback = False  # problems already say where they are
        self._graph = graph
        self._add_value = add_value
        self._results: dict[fx.Node, list[Description]] = {}

    def run_node(self, n: fx.Node) -> Any:
        try:
            result = super().run_node(n)
        except USER_ERRORS as error:
            raise ProblemsError(self._problem(n, error)) from error
        # Described at once, value copied: a later in-place layer may overwrite the tensor.
        outs = result if isinstance(result, (tuple, list)) else (result,)
        self._results[n] = [describe(out, self._add_value) for out in outs]
        self._write(n)
        return result

    def _problem(self, node: fx.Node, error: Exception) -> Problem:
        module = get_node_module(node)
        what = type(module).__name__ if module is not None else get_mase_type_and_op(node)[1]
        shapes = [str(self._results[i][0]["shape"]) for i in node.all_input_nodes if self._results[i]]
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        where = get_node_place(node) or place_of_forward(self._graph.model)
        layer = f"{node.name} is {module}" if module is not None else ""
        read: list[int] = next((self._results[i][0]["shape"] for i in node.all_input_nodes if self._results[i]), [])
        unfit = why_unfit(node, get_mase_type_and_op(node)[1], read)
        if unfit is not None:
            return Problem(f"{node.name} ({what}): {unfit[0]}", where, unfit[1], (layer,) if layer else ())
        return Problem(
            f"{node.name} ({what}): fails on an input of shape {', '.join(shapes) or 'none'}: {said}",
            where,
            "check the layer's sizes against the layer before it and the data set; "
            "the first number of a shape is the batch",
            (layer,) if layer else (),
        )

    def _write(self, node: fx.Node) -> None:
        mase_type, op = get_mase_type_and_op(node)
        args = self._arguments(node, op)
        rank = len(args["data_in_0"]["shape"]) if "data_in_0" in args else 0
        metadata_of(node, self._graph).parameters["common"] = {
            "mase_type": mase_type,
            "mase_op": op_for_rank(op, rank),
            "args": args,
            "results": {f"data_out_{k}": dict(out) for k, out in enumerate(self._results[node])},
        }

    def _arguments(self, node: fx.Node, op: str) -> dict[str, Description]:
        module = get_node_module(node)
        args: dict[str, Description] = {}
        if module is None and op in known().signatures:
            for name, value in arguments(node, op).items():
                if isinstance(value, fx.Node):
                    args["data_in_0" if name == "input" else name] = dict(self._results[value][0])
            return args
        for k, source in enumerate(sources(node, op)):
            args[f"data_in_{k}"] = dict(self._results[source][0])
        if module is None and op == "mul" and isinstance(constant := operands(node, op).constant, fx.Node):
            args["weight"] = dict(self._results[constant][0])
        if module is not None:
            for name, tensor in (*module.named_parameters(), *module.named_buffers()):
                if tensor.is_floating_point():
                    args[name] = describe(tensor, self._add_value)
        return args


def describe(value: Any, add_value: bool) -> Description:
    """A tensor in MASE's terms: shape, torch's dtype, type and precision."""
    if not isinstance(value, Tensor):
        return {"shape": [], "type": type(value).__name__, "precision": [], "value": value}
    bits = value.element_size() * 8
    floating = value.is_floating_point()
    entry: Description = {
        "shape": list(value.shape),
        "torch_dtype": value.dtype,
        "type": "float" if floating else "bool" if value.dtype is torch.bool else "integer",
        "precision": [bits] if floating else [1, 0] if value.dtype is torch.bool else [bits, 0],
    }
    if add_value:
        entry["value"] = value.detach().clone()
    return entry
