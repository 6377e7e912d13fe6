"""From an ONNX graph to its steps, in order; every node that is not supported is a problem with its name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Protocol

import numpy as np

from mase_hw.diagnostics import Collector
from mase_hw.frontends.onnx_constants import Constants
from mase_hw.frontends.onnx_graph import Finder, OnnxGraph, OnnxNode
from mase_hw.frontends.onnx_names import Names
from mase_hw.frontends.onnx_nodes import handler
from mase_hw.frontends.onnx_quant import parse_quant
from mase_hw.frontends.onnx_refusals import refusal
from mase_hw.frontends.onnx_state import Known, Walk
from mase_hw.frontends.onnx_steps import Link


class HasNames(Protocol):
    """Constants, as far as an order of nodes needs them."""

    def __contains__(self, name: str, /) -> bool: ...


@dataclass(frozen=True)
class Walked:
    """The steps from the inputs to the outputs; `outputs` are the tensors that steps or inputs make."""

    links: tuple[Link, ...]
    outputs: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]  # of one sample of each tensor


def walk(graph: OnnxGraph, problems: Collector, names: Names) -> Walked:
    """The steps in an order in which they can be computed, layers named by `names`; raises where there is none."""
    finder = Finder(problems, graph.place)
    constants = Constants(graph, finder)
    nodes = needed(graph, constants, finder, lambda node: refusal(node) if handler(node) is None else None)
    order = ordered(graph, nodes, constants, finder)
    for node in graph.nodes:
        if node.is_quant:  # all at once: a model's scales are often wrong together
            parse_quant(node, constants.array, finder)
    problems.raise_if_any()
    known = {name: Known(name, shape, np.arange(int(np.prod(shape)))) for name, shape in graph.inputs.items()}
    state = Walk(constants, finder, names, known)
    readers = Counter(name for node in nodes for name in streams_of(node, constants)) + Counter(graph.outputs)
    for node in order:
        take = handler(node)
        assert take is not None, "refused before"
        read = streams_of(node, constants)[0]
        state.enter(node, read, shared=readers[read] > 1)
        take(state, node)
        state.leave()
        if not node.is_quant:  # what comes after a wrong layer would be told wrongly
            problems.raise_if_any()
    results = [state.tensors[name] for name in graph.outputs]
    for name, result in zip(graph.outputs, results, strict=True):
        if (result.order != np.arange(len(result.order))).any():
            subject = "the output's elements" if len(results) == 1 else f"the elements of the output {name!r}"
            text = f"{subject} are in another order than its layer gives them"
            problems.add(text, graph.place, "leave out the Transpose before the output")
    problems.raise_if_any()
    shapes = {name: known.shape for name, known in state.tensors.items()}
    return Walked(tuple(state.links), tuple(result.source for result in results), shapes)


def streams_of(node: OnnxNode, constants: HasNames) -> list[str]:
    """The inputs of a node that are no constants."""
    return [name for name in node.inputs if name and name not in constants]


def needed(
    graph: OnnxGraph, constants: HasNames, finder: Finder, refused: Callable[[OnnxNode], tuple[str, str] | None]
) -> list[OnnxNode]:
    """The nodes that lead to the outputs, as the file has them. Those that are not supported are problems."""
    makers = {output: node for node in graph.nodes for output in node.outputs if output}
    found: list[OnnxNode] = []
    seen: set[int] = set()
    todo = list(graph.outputs)
    while todo:
        name = todo.pop()
        node = makers.get(name)
        if name in constants or name in graph.inputs or node is None or id(node) in seen:
            continue
        seen.add(id(node))
        found.append(node)
        todo += node.inputs
    for node in reversed(found):
        if (why := refused(node)) is not None:
            finder.node(node, *why)
    finder.found.raise_if_any()
    return [node for node in graph.nodes if id(node) in seen]


def ordered(graph: OnnxGraph, nodes: list[OnnxNode], constants: HasNames, finder: Finder) -> list[OnnxNode]:
    """The nodes, each behind those that it reads. Outputs that nothing leads to and inputs without use are problems."""
    waiting: dict[str, list[int]] = {}
    missing: list[int] = []
    for k, node in enumerate(nodes):
        reads = set(streams_of(node, constants))
        missing.append(len(reads))
        for name in reads:
            waiting.setdefault(name, []).append(k)
    unread = [name for name in graph.inputs if name not in waiting and name not in graph.outputs]
    made = set(graph.inputs)
    ready: list[int] = []
    order: list[OnnxNode] = []
    fresh = list(graph.inputs)
    while fresh or ready:
        for name in fresh:
            for k in waiting.pop(name, []):
                missing[k] -= 1
                if missing[k] == 0:
                    heappush(ready, k)
        fresh = []
        if ready:
            node = nodes[heappop(ready)]
            order.append(node)
            if node.outputs[0] not in made:
                made.add(node.outputs[0])
                fresh = [node.outputs[0]]
    inputs = ", ".join(map(repr, graph.inputs))
    several = len(graph.inputs) > 1
    for name in graph.outputs:
        if name not in made:
            text = f"the input{'s' if several else ''} {inputs} {'do' if several else 'does'} not lead to the output"
            hint = "the graph is broken, or the output is a constant: export it again"
            finder.found.add(f"{text} {name!r}", finder.place, hint)
    finder.found.raise_if_any()
    for name in unread:
        text = f"the input {name!r} leads to no output"
        finder.found.add(text, finder.place, "export the model without this input")
    finder.found.raise_if_any()
    return order
