"""profile_statistics_analysis_pass: statistics of parameters and activations, written into `parameters["software"]`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, fx

from mase_hw.config.entries import BY
from mase_hw.config.table import Table, nearest, shown
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph
from mase_hw.passes.analysis.sampling import check_source, run_samples
from mase_hw.passes.analysis.statistics import STATISTICS, Statistic
from mase_hw.passes.analysis.targets import find_targets
from mase_hw.passes.analysis.tensors import parameters_of, stat_of

PASS = "profile_statistics_analysis_pass"
_KEYS = ("by", "target_weight_nodes", "target_activation_nodes", "weight_statistics", "activation_statistics")
_SOURCE = ("input_generator", "num_samples")
Wanted = dict[str, dict[str, Any]]  # statistic: its checked options


def profile_statistics_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """MASE's arguments: `by` says what the two lists of targets hold; the two dicts of statistics map a name of
    `STATISTICS` to {"device": "cpu", "dims": "all" or "channel", and its own options}.

    Parameters are the weight and the bias of each weight target; activations are what each activation target reads,
    over the first `num_samples` samples of `input_generator`. Each result is
    `parameters["software"]["args"][argument]["stat"][statistic]`. `info`: `samples` run, `notes` for the user.
    """
    args = dict(pass_args or {})
    with Collector() as problems:
        table = Table(args, (PASS,), problems, None)
        table.only((*_KEYS, *_SOURCE))
        by = table.choice("by", "type", BY)
        weights = find_targets(graph, table, "target_weight_nodes", by)
        activations = find_targets(graph, table, "target_activation_nodes", by)
        for_weights = _statistics(table, "weight_statistics")
        for_activations = _statistics(table, "activation_statistics")
        samples = bool(activations and for_activations)
        if samples:
            check_source(args, PASS, problems)
    for node in weights:
        tensors = parameters_of(node)
        for name in ("weight", "bias"):
            if name in tensors:
                _write(graph, node, name, _all(for_weights, tensors[name]))
    if not samples:
        return graph, {"samples": 0, "notes": ()}
    return _activations(graph, args, activations, for_activations)


def _activations(
    graph: MaseGraph, args: Mapping[str, Any], targets: list[fx.Node], wanted: Wanted
) -> tuple[MaseGraph, dict[str, Any]]:
    running: dict[tuple[fx.Node, str], list[Statistic]] = {}

    def watch(node: fx.Node, side: str, name: str, value: Tensor) -> None:
        if side == "args":
            if (node, name) not in running:
                running[node, name] = _make(wanted, axis=1)
            for statistic in running[node, name]:
                statistic.see(value)

    taken, notes = run_samples(graph, args, set(targets), watch, PASS)
    for (node, name), statistics in running.items():
        _write(graph, node, name, statistics)
    return graph, {"samples": taken, "notes": notes}


def _make(wanted: Wanted, axis: int) -> list[Statistic]:
    return [STATISTICS[name](axis=axis, **options) for name, options in wanted.items()]


def _all(wanted: Wanted, tensor: Tensor) -> list[Statistic]:
    made = _make(wanted, axis=0)
    for statistic in made:
        statistic.see(tensor)
    return made


def _write(graph: MaseGraph, node: fx.Node, name: str, statistics: list[Statistic]) -> None:
    stat = stat_of(node, graph, "args", name)
    for statistic in statistics:
        stat[statistic.name] = statistic.finish()


def _statistics(table: Table, key: str) -> Wanted:
    inner = table.table(key)
    wanted: Wanted = {}
    for name in inner.values if inner is not None else ():
        assert inner is not None
        if name not in STATISTICS:
            inner.problem(f"{name} is no statistic", name, hint=nearest(name, STATISTICS, "statistics"))
            continue
        options = inner.table(name)
        if options is not None:
            wanted[name] = _options(options, STATISTICS[name])
    return wanted


def _options(table: Table, kind: type[Statistic]) -> dict[str, Any]:
    table.only(("device", "dims", *kind.options))
    checked: dict[str, Any] = {"device": _device(table), "dims": table.choice("dims", "all", ("all", "channel"))}
    for name, (default, least, most) in kind.options.items():
        value = table.number(name, default)
        assert value is not None
        if not least <= value <= most:
            table.problem(f"{name} = {shown(value)} is out of range", name, hint=f"allowed: {least:g} to {most:g}")
        checked[name] = value
    return checked


def _device(table: Table) -> str | None:
    """None keeps a tensor where it is."""
    name = None if table.values.get("device") is None else table.string("device", None)
    if name is None:
        return None
    try:
        kind = torch.device(name).type
    except RuntimeError:
        table.problem(f"device = {shown(name)} is no device", "device", hint='such as "cpu" or "cuda:0"')
        return None
    if kind == "cuda" and not torch.cuda.is_available():
        table.problem(f"device = {shown(name)}: torch finds no CUDA device here", "device", hint='use "cpu"')
        return None
    return name
