"""The search space of one graph: which node has which choices, and the points that they make."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from torch import fx

from mase_hw.config.choices import ROLES, Choices, Suggest
from mase_hw.config.search import SpaceConfig
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph, get_mase_op, get_node_place
from mase_hw.graph.opcodes import known
from mase_hw.modules import quantized_modules
from mase_hw.passes.transform.quantized_form import has_bias

NO_LAYER = ("placeholder", "get_attr", "output")
CHANNEL_OPS = ("linear", "conv1d", "conv2d")
# MASE's quantizable operators: they are listed among the sampled nodes even when nothing is chosen for them.
LISTED = ("linear", "relu", "conv1d", "conv2d", "add", "sub", "mul", "matmul", "bmm")

Sample = Mapping[str, dict[str, Any]]  # node to its `config`


@dataclass(frozen=True)
class Space:
    """Every node that is listed, with its choices, in the order of the graph."""

    nodes: Mapping[str, Choices]

    @property
    def size(self) -> int:
        """The number of points: of different samples."""
        return math.prod(choices.count() for choices in self.nodes.values())

    def sample(self, suggest: Suggest) -> Sample:
        """One point. `suggest` is asked for `node.key` where there is more than one choice."""

        def of(node: str) -> Suggest:
            return lambda key, values: suggest(f"{node}.{key}", values)

        return {node: choices.pick(of(node)) for node, choices in self.nodes.items()}

    def point(self, index: int) -> Sample:
        """Point number `index` of `size`: each exists once."""
        configs = []
        for choices in reversed(list(self.nodes.values())):
            index, at = divmod(index, choices.count())
            configs.append(choices.at(at))
        return dict(zip(self.nodes, reversed(configs), strict=True))

    def least_quantized(self) -> Sample:
        """A point with as few quantized nodes as there can be: where hardware is possible here, it is everywhere."""
        return {node: replace(choices, quantizers=_floats_first(choices)).at(0) for node, choices in self.nodes.items()}


def _floats_first(choices: Choices) -> tuple[str | None, ...]:
    return tuple(sorted(choices.quantizers, key=lambda name: name is not None))


def make_space(config: SpaceConfig, graph: MaseGraph, problems: Collector) -> Space:
    """The choices of the graph's nodes. Entries that name nothing, or ask for what cannot be, are problems."""
    seed = config.seed
    layers = [node for node in graph.fx_graph.nodes if node.op not in NO_LAYER]
    seed.check_keys(
        [node.name for node in layers], known().types, problems, offered={get_mase_op(node) for node in layers}
    )
    nodes: dict[str, Choices] = {}
    told: set[tuple[str, str]] = set()
    for node in layers:
        op = get_mase_op(node)
        key, choices = seed.key_for(node.name, op), seed.for_node(node.name, op)
        for subject, text, hint in _wrong(node, op, choices, key == "default"):
            if (key, subject) not in told:
                told.add((key, subject))
                place = get_node_place(node)
                notes = (f"{node.name} is called at {place}",) if place else ()
                problems.add(f"{seed.subject}.{key}: {text}", seed.place_of(key), hint, notes)
        choices = _applicable(node, op, choices)
        if op in LISTED or choices.quantizes or choices.widens:
            nodes[node.name] = choices
    space = Space(MappingProxyType(nodes))
    if space.size == 1 and not problems.problems:
        where = seed.places.of("search", "search_space", "seed") if seed.places else None
        hint = "give some key a list of two choices or more"
        problems.add("search.search_space.seed: every node has one choice, so there is nothing to search", where, hint)
    return space


def _wrong(node: fx.Node, op: str, choices: Choices, default: bool) -> Iterator[tuple[str, str, str]]:
    """(subject, text, hint) of each thing that this node's choices ask for in vain; a default applies where it can."""
    if choices.quantizes and op not in quantized_modules() and not default:
        forms = ", ".join(sorted(quantized_modules()))
        yield op, f"{op} ({node.name}) cannot be quantized", f"quantized forms exist for {forms}"
    if choices.widens and op not in CHANNEL_OPS and not default:
        yield op, f"{op} ({node.name}) has no channels to multiply", f"only {', '.join(CHANNEL_OPS)} have"
    if choices.quantizes and op in quantized_modules():
        for argument in _arguments(node, op):
            keys = f"{argument}_width", f"{argument}_frac_width"
            if not all(key in choices.widths for key in keys):
                text = f"{' and '.join(keys)} are missing, and {node.name} ({op}) needs them"
                yield argument, text, f"add {' and '.join(keys)}"


def _arguments(node: fx.Node, op: str) -> tuple[str, ...]:
    """What of a node must have a type."""
    needs = quantized_modules()[op].needs
    return tuple(name for name in needs if name != "bias" or has_bias(node, op))


def _applicable(node: fx.Node, op: str, choices: Choices) -> Choices:
    """Without what this node has no use for: a choice that changes nothing would only make equal points."""
    if op not in CHANNEL_OPS:
        choices = replace(choices, roles=(None,), multipliers=(1,), role_key="redefine")
    if op not in quantized_modules():
        return replace(choices, quantizers=(None,), widths=MappingProxyType({}))
    used = tuple(f"{argument}_" for argument in (*_arguments(node, op), "data_out"))
    kept = {key: values for key, values in choices.widths.items() if key.startswith(used)}
    return replace(choices, widths=MappingProxyType(kept))


def quantize_args(sample: Sample) -> dict[str, Any]:
    """[passes.quantize] of a sample: complete, by name."""
    entries: dict[str, Any] = {"by": "name", "default": {"config": {"name": "NA"}}}
    for node, config in sample.items():
        if config["name"] is not None and config["name"] not in ROLES:
            kept = {key: value for key, value in config.items() if key not in ("redefine", "channel_multiplier")}
            entries[node] = {"config": kept}
    return entries


def quantizes(sample: Sample) -> bool:
    return len(quantize_args(sample)) > 2  # beside `by` and `default`


def redefine_args(sample: Sample) -> dict[str, Any] | None:
    """[passes.redefine_*] of a sample; None where no channel changes."""
    entries: dict[str, Any] = {"by": "name", "default": {"config": {"name": "NA"}}}
    for node, config in sample.items():
        role = config.get("redefine") or config["name"]
        if role in ROLES:
            more = {key: config[key] for key in ("channel_multiplier",) if key in config}
            entries[node] = {"config": {"name": role, **more}}
    return entries if len(entries) > 2 else None
