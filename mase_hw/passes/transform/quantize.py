"""quantize_transform_pass: replaces layers by their quantized forms, which share the layers' parameters.

First everything is checked and built, then the graph is changed: a problem leaves it as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import fx, nn

from mase_hw.config.quantize import QuantizeConfig, QuantSpec, parse_quantize
from mase_hw.diagnostics import Collector, ProblemsError
from mase_hw.graph import MaseGraph, get_mase_op, get_node_module, get_node_place, get_parent_name
from mase_hw.graph.joins import BRANCH_OPS, operands
from mase_hw.graph.opcodes import arguments, known
from mase_hw.modules import QuantizedMixin, quantized_modules
from mase_hw.numerics import Fixed
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.transform.casts import insert_casts
from mase_hw.passes.transform.exact_joins import find_exact, make_exact
from mase_hw.passes.transform.quantized_form import has_bias, quantized_form, why_no_form

_NO_LAYER = ("placeholder", "get_attr", "output")
_Key = tuple[str, QuantSpec]  # a layer and how it is quantized


@dataclass(frozen=True)
class _Job:
    """A node to quantize."""

    node: fx.Node
    op: str
    spec: QuantSpec


def quantize_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """`pass_args` is MASE's dict ([passes.quantize] of a TOML); `places` in it gives problems their lines.

    `info["quantized"]` names the nodes, `info["casts"]` the casts put before float layers that read float64 results.
    """
    mapping = dict(pass_args or {})
    places = mapping.pop("places", None)
    ops = {get_mase_op(node) for node in graph.fx_graph.nodes}
    with Collector() as problems:
        config = parse_quantize(mapping, problems, places)
        problems.raise_if_any()
        layers = [node.name for node in graph.fx_graph.nodes if node.op not in _NO_LAYER]
        config.check_keys(layers, ops | set(known().types), problems, offered=quantized_modules())
        jobs = _jobs(graph, config, problems)
    with Collector() as problems:
        modules = _build(jobs, config, problems)
        problems.raise_if_any()
        called = {job.node: modules[_layer(job.node), job.spec] for job in jobs}
        exact = find_exact(graph.fx_graph, lambda node: called.get(node) or get_node_module(node), problems)
    _place(graph, jobs, modules)
    make_exact(exact)
    casts = insert_casts(graph)
    graph.fx_graph.lint()
    graph.model.recompile()
    return graph, {"quantized": [job.node.name for job in jobs], "casts": casts}


def _jobs(graph: MaseGraph, config: QuantizeConfig, problems: Collector) -> list[_Job]:
    """The nodes that the config quantizes; what it asks for in vain is a problem."""
    jobs: list[_Job] = []
    worked: set[str] = set()  # entries that rule a node with a quantized form
    refused: dict[str, fx.Node] = {}  # the first node of an entry that has no quantized form
    missing: set[tuple[str, str]] = set()
    for node in graph.fx_graph.nodes:
        op = get_mase_op(node)
        key, spec = config.key_for(node.name, op), config.for_node(node.name, op)
        if not spec.quantized:
            continue
        if why_no_form(node, op) is not None:
            refused.setdefault(key, node)
            continue
        worked.add(key)
        jobs.append(_Job(node, op, spec))
        for argument in _missing(node, op, spec):
            if (key, argument) not in missing:
                missing.add((key, argument))
                _report_missing(node, op, argument, config, problems)
    for key, node in refused.items():
        # A default, or a pattern that is meant for many nodes, applies where it can.
        if key == "default" or (config.by == "regex_name" and key in worked):
            continue
        what = get_mase_op(node)
        hint = f"quantized forms exist for {', '.join(sorted(quantized_modules()))}: take this entry out"
        text = f"{config.subject}.{key}: {what} {why_no_form(node, what)}"
        problems.add(text, config.place_of(key), hint, _called(node, what))
    return jobs


def _missing(node: fx.Node, op: str, spec: QuantSpec) -> list[str]:
    """The arguments whose type the op needs and the spec lacks; a layer without a bias needs none for it."""
    needs = [name for name in quantized_modules()[op].needs if getattr(spec, name) is None]
    return [name for name in needs if name != "bias" or has_bias(node, op)]


def _report_missing(node: fx.Node, op: str, argument: str, config: QuantizeConfig, problems: Collector) -> None:
    keys = f"{argument}_width and {argument}_frac_width"
    problems.add(
        f"{config.subject_for(node.name, op)}: {keys} are missing, and {node.name} ({op}) needs them",
        config.where(node.name, op),
        f"add {keys}",
        _called(node, op),
    )


def _called(node: fx.Node, op: str) -> tuple[str, ...]:
    place, module = get_node_place(node), get_node_module(node)
    if place is None or node.op in _NO_LAYER:
        return ()
    return (f"{node.name} is the {op if module is None else type(module).__name__} called at {place}",)


def _build(jobs: list[_Job], config: QuantizeConfig, problems: Collector) -> dict[_Key, QuantizedMixin]:
    """One quantized module for each layer and spec: a module called twice alike stays one module."""
    modules: dict[_Key, QuantizedMixin] = {}
    failed: set[_Key] = set()
    for job in jobs:
        key = _layer(job.node), job.spec
        if key in modules or key in failed:
            continue
        try:
            modules[key] = quantized_form(job.node, job.op, job.spec)
        except ProblemsError as error:  # gathered: the phase raises them together
            failed.add(key)
            where = get_node_place(job.node)
            table = config.where(job.node.name, job.op)
            ruled = f"its types are those of {config.subject_for(job.node.name, job.op)}"
            notes = (f"{ruled}, {table}" if table else ruled,)
            problems.problems += [
                replace(problem, where=problem.where or where, notes=problem.notes + notes)
                for problem in error.problems
            ]
    return modules


def _layer(node: fx.Node) -> str:
    """What makes two nodes calls of one layer."""
    return f"module {node.target}" if node.op == "call_module" else f"node {node.name}"


def _place(graph: MaseGraph, jobs: list[_Job], modules: dict[_Key, QuantizedMixin]) -> None:
    """Puts the modules into the model: a layer's first call keeps its name, one with another spec gets its node's."""
    quantized = {job.node: job for job in jobs}
    names: dict[_Key, str] = {}
    seen: set[str] = set()
    for node in list(graph.fx_graph.nodes):
        job, layer = quantized.get(node), _layer(node)
        if job is not None:
            key = layer, job.spec
            if key not in names:
                keeps = node.op == "call_module" and layer not in seen
                names[key] = str(node.target) if keeps else _free_name(graph.model, node.name)
                parent, name = get_parent_name(names[key])
                setattr(graph.model.get_submodule(parent), name, modules[key])
            _call(graph, job, names[key])
        seen.add(layer)


def _free_name(model: nn.Module, wanted: str) -> str:
    while hasattr(model, wanted):
        wanted += "_integer"
    return wanted


def _call(graph: MaseGraph, job: _Job, target: str) -> None:
    """Makes the node a call of the module at `target`; its name and its readers stay."""
    node = job.node
    if node.op != "call_module":
        given = arguments(node, job.op)
        streams = operands(node, job.op).streams if job.op in BRANCH_OPS else (given["input"],)
        constants = list(node.all_input_nodes)
        node.args, node.kwargs = streams, {}
        node.op = "call_module"
        for other in constants:
            if other.op == "get_attr" and not other.users:
                graph.fx_graph.erase_node(other)
    node.target = target
    common = metadata_of(node, graph).common
    types = {"weight": job.spec.weight, "bias": job.spec.bias}
    for name, entry in common.get("args", {}).items():
        _describe(entry, job.spec.data_in if name.startswith("data_in_") else types.get(name))
    _describe(common.get("results", {}).get("data_out_0"), job.spec.data_out)


def _describe(entry: dict[str, Any] | None, fixed: Fixed | None) -> None:
    if entry is not None and fixed is not None:
        entry.update(type="integer", precision=[fixed.width, fixed.frac], signed=fixed.signed)
