"""calibrate_transform_pass: chooses fractional widths from the values that tensors really have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import fx

from mase_hw.config.quantize import ARGUMENTS, QuantizeConfig, QuantSpec, parse_quantize
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph, get_mase_op, get_node_place
from mase_hw.graph.opcodes import known
from mase_hw.modules import quantized_modules
from mase_hw.modules.exact import largest
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, MAX_FRAC, Fixed, Rounding
from mase_hw.passes.analysis.operations import MATRIX
from mase_hw.passes.analysis.sampling import check_source
from mase_hw.passes.analysis.tables import text_table
from mase_hw.passes.analysis.tensors import parameters_of
from mase_hw.passes.transform.best_frac import Fit, best_fit, measure
from mase_hw.passes.transform.quantize import quantize_transform_pass
from mase_hw.passes.transform.quantized_form import has_bias, why_no_form
from mase_hw.passes.transform.real_values import Seen, constants, from_samples, from_statistics

PASS = "calibrate_transform_pass"
COLUMNS = ("node", "tensor", "width", "frac", "mse", "saturated", "total", "from")
_OPTIONS = ("input_generator", "num_samples", "apply", "places")


@dataclass(frozen=True)
class _Job:
    """A node to calibrate: its types, and the arguments whose frac is to be found."""

    node: fx.Node
    op: str
    spec: QuantSpec
    free: frozenset[str]

    @property
    def used(self) -> list[str]:
        """The arguments that the op has and the config types."""
        kind = quantized_modules()[self.op]
        needs = [name for name in kind.needs if name != "bias" or has_bias(self.node, self.op)]
        return [name for name in (*needs, *kind.optional, "data_out") if getattr(self.spec, name) is not None]


def calibrate_transform_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """`pass_args` has the shape of [passes.quantize]; where `A_frac_width` is "auto" or missing, the one with the
    smallest mean squared error over the tensor's real values is taken (of all, by `best_fit`).

    Weights and biases are read from the model. Activations come from `num_samples` samples of `input_generator`, run
    through the graph as it is; without a generator, from the statistics on the nodes: `save`, or a range, for which
    the largest frac that holds it is taken. A bias gets no more fractional bits than the exact sum has room for.

    `info`: `quantize`, a complete [passes.quantize] by node name; `toml`, the same as text; `fits`, rows of `COLUMNS`;
    `table`, those as text; `notes`. The graph is quantized with it unless `apply` is False.
    """
    args = dict(pass_args or {})
    options = {key: args.pop(key) for key in _OPTIONS if key in args}
    with Collector() as problems:
        config, free = _config(args, problems, options.get("places"))
        if not isinstance(options.get("apply", True), bool):
            problems.add(f"{PASS}: apply is neither True nor False")
        problems.raise_if_any()
        names = [node.name for node in graph.fx_graph.nodes if node.op.startswith("call_")]
        ops = {get_mase_op(node) for node in graph.fx_graph.nodes}
        config.check_keys(names, ops | set(known().types), problems, offered=quantized_modules())
        jobs = _jobs(graph, config, free, problems)
        if "input_generator" in options or "num_samples" in options:
            check_source(options, PASS, problems)
        problems.raise_if_any()
        seen, notes = _activations(graph, options, jobs, problems)
    rows: list[tuple[Any, ...]] = []
    quantize: dict[str, Any] = {"by": "name", "default": {"config": {"name": "NA"}}}
    with Collector() as problems:
        for job in jobs:
            done = problems.attempt(lambda job=job: _calibrate(job, seen))  # type: ignore[misc]
            if done is not None:
                quantize[job.node.name] = {"config": done[0]}
                rows += done[1]
    if options.get("apply", True):
        graph, _ = quantize_transform_pass(graph, quantize)
    info = {
        "quantize": quantize,
        "toml": _toml(quantize),
        "fits": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        "table": text_table("Calibration", COLUMNS, rows),
        "notes": notes,
    }
    return graph, info


def _config(args: dict[str, Any], problems: Collector, places: Any) -> tuple[QuantizeConfig, set[tuple[str, str]]]:
    """The config with 0 for each frac to be found, and which those are: (entry, argument)."""
    free: set[tuple[str, str]] = set()
    filled: dict[str, Any] = {}
    for key, entry in args.items():
        filled[key] = entry
        if not isinstance(entry, Mapping) or not isinstance(entry.get("config"), Mapping):
            continue  # left for parse_quantize to complain about
        config = dict(entry["config"])
        for argument in ARGUMENTS:
            width, frac = f"{argument}_width", f"{argument}_frac_width"
            if config.get(frac) == "auto" or (width in config and frac not in config):
                config[frac] = 0
                free.add((key, argument))
        filled[key] = {**entry, "config": config}
    return parse_quantize(filled, problems, places), free


def _jobs(graph: MaseGraph, config: QuantizeConfig, free: set[tuple[str, str]], problems: Collector) -> list[_Job]:
    jobs: list[_Job] = []
    for node in graph.fx_graph.nodes:
        op = get_mase_op(node)
        key, spec = config.key_for(node.name, op), config.for_node(node.name, op)
        if not spec.quantized:
            continue
        reason = why_no_form(node, op)
        if reason is not None:
            if key != "default" and config.by != "regex_name":
                hint = f"quantized forms exist for {', '.join(sorted(quantized_modules()))}: take this entry out"
                problems.add(f"{config.subject}.{key}: {op} {reason}", config.place_of(key), hint)
            continue
        job = _Job(node, op, spec, frozenset(argument for entry, argument in free if entry == key))
        for name in quantized_modules()[op].needs:
            if getattr(spec, name) is None and (name != "bias" or has_bias(node, op)):
                text = f"{config.subject_for(node.name, op)}: {name}_width is missing, and {node.name} ({op}) needs it"
                problems.add(text, config.where(node.name, op), f"add {name}_width; its frac width is found")
        jobs.append(job)
    return jobs


def _activations(
    graph: MaseGraph, options: Mapping[str, Any], jobs: list[_Job], problems: Collector
) -> tuple[dict[tuple[fx.Node, str], Seen], tuple[str, ...]]:
    keys = [(job.node, name) for job in jobs for name in job.used if name in ("data_in", "data_out")]
    if "input_generator" in options:
        return from_samples(graph, options, set(keys), PASS)
    seen: dict[tuple[fx.Node, str], Seen] = {}
    free = {(job.node, name) for job in jobs for name in job.free}
    for node, name in keys:
        values = from_statistics(graph, node, name)
        if values is not None:
            seen[node, name] = values
        elif (node, name) in free:
            text = f"{PASS}: nothing is known of the values of {name} of {node.name}"
            hint = "give input_generator and num_samples, or run profile_statistics_analysis_pass (save) first"
            problems.add(text, get_node_place(node), hint)
    return seen, ()


def _calibrate(job: _Job, seen: dict[tuple[fx.Node, str], Seen]) -> tuple[dict[str, Any], list[tuple[Any, ...]]]:
    """The config of one node, and its rows of the table."""
    rounding = job.spec.rounding
    assert rounding is not None
    known = {name: Seen(values, "parameters") for name, values in constants(job.node, job.op).items()}
    known |= {name: seen[job.node, name] for name in ("data_in", "data_out") if (job.node, name) in seen}
    types: dict[str, Fixed] = {}
    config: dict[str, Any] = {"name": rounding.value}
    rows: list[tuple[Any, ...]] = []
    for name in job.used:  # data_in and weight come before bias, whose room depends on them
        fixed, values = getattr(job.spec, name), known.get(name)
        fit: Fit | None = None
        if values is not None and name in job.free:
            fit = _fit(values, fixed, rounding, _room(job, types) if name == "bias" else MAX_FRAC)
        elif values is not None and values.whole:
            fit = measure(values.values, fixed, rounding)
        types[name] = fixed if fit is None else fit.fixed
        config |= {f"{name}_width": types[name].width, f"{name}_frac_width": types[name].frac}
        if not types[name].signed:
            config[f"{name}_signed"] = False
        told = (fit.mse, fit.saturated, fit.total) if fit and values and values.whole else (None, None, None)
        source = values.source if values else "given"
        rows.append((job.node.name, name, types[name].width, types[name].frac, *told, source))
    return config, rows


def _fit(values: Seen, fixed: Fixed, rounding: Rounding, highest: int) -> Fit:
    if values.whole or not values.values.any():
        return best_fit(values.values, fixed, rounding, highest)
    for frac in range(highest, -MAX_FRAC, -1):
        fit = measure(values.values, replace(fixed, frac=frac), rounding)
        if fit.saturated == 0:
            return fit
    return measure(values.values, replace(fixed, frac=-MAX_FRAC), rounding)


def _room(job: _Job, types: Mapping[str, Fixed]) -> int:
    """The largest frac of a bias with which the exact sum surely fits; one bit is left for the bias itself."""
    weight = parameters_of(job.node).get("weight")
    count = weight[0].numel() if job.op in MATRIX and weight is not None else 1
    x, w = types["data_in"], types["weight"]
    products = (count * largest(x) * largest(w)).bit_length()
    return x.frac + w.frac + MAX_ACCUMULATOR_BITS - 1 - products


def _toml(quantize: Mapping[str, Any]) -> str:
    lines = ["[passes.quantize]", f'by = "{quantize["by"]}"']
    for key, entry in quantize.items():
        if key == "by":
            continue
        lines += ["", f"[passes.quantize.{key}.config]"]
        for name, value in entry["config"].items():
            shown = f'"{value}"' if isinstance(value, str) else "false" if value is False else str(value)
            lines.append(f"{name} = {shown}")
    return "\n".join(lines) + "\n"
