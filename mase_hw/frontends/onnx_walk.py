"""From an ONNX graph to the steps of a chain, in order; every node that is not supported is a problem with its name."""

from __future__ import annotations

import numpy as np

from mase_hw.diagnostics import Collector
from mase_hw.frontends.onnx_constants import Constants
from mase_hw.frontends.onnx_graph import Finder, OnnxGraph, OnnxNode
from mase_hw.frontends.onnx_names import Names
from mase_hw.frontends.onnx_nodes import Walk, handler
from mase_hw.frontends.onnx_quant import parse_quant
from mase_hw.frontends.onnx_refusals import refusal
from mase_hw.frontends.onnx_steps import Step


def walk(graph: OnnxGraph, problems: Collector, names: Names) -> tuple[Step, ...]:
    """The steps from input to output, layers named by `names`; raises where the chain cannot be followed."""
    finder = Finder(problems, graph.place)
    constants = Constants(graph, finder)
    chain = _chain(graph, constants, finder)
    for node in graph.nodes:
        if node.is_quant:  # all at once: a model's scales are often wrong together
            parse_quant(node, constants.array, finder)
    problems.raise_if_any()
    order = np.arange(int(np.prod(graph.shape)))
    state = Walk(constants, finder, names, graph.shape, order)
    for node in chain:
        take = handler(node)
        assert take is not None, "refused before"
        take(state, node)
        if not node.is_quant:  # what comes after a wrong layer would be told wrongly
            problems.raise_if_any()
    if (state.order != np.arange(len(state.order))).any():
        text = "the output's elements are in another order than its layer gives them"
        problems.add(text, graph.place, "leave out the Transpose before the output")
    problems.raise_if_any()
    return tuple(state.steps)


def _chain(graph: OnnxGraph, constants: Constants, finder: Finder) -> list[OnnxNode]:
    """The nodes between input and output, in order: one after the other, no branches."""
    makers = {output: node for node in graph.nodes for output in node.outputs if output}
    readers: dict[str, list[OnnxNode]] = {}
    needed: list[OnnxNode] = []
    seen: set[int] = set()
    todo = [graph.output]
    while todo:
        name = todo.pop()
        node = makers.get(name)
        if name in constants or name == graph.input or node is None or id(node) in seen:
            continue
        seen.add(id(node))
        needed.append(node)
        todo += node.inputs
        for given in {given for given in node.inputs if given and given not in constants}:
            readers.setdefault(given, []).append(node)
    for node in reversed(needed):
        if handler(node) is None:
            finder.node(node, *refusal(node))
    finder.found.raise_if_any()
    for name, several in readers.items():
        if len(several) > 1:
            first = ", ".join(sorted(node.label for node in several))
            text = f"the tensor {name!r} is read by {len(several)} nodes ({first}), and hardware has no forks yet"
            finder.found.add(text, finder.place, "export a model without branches and skip connections")
    finder.found.raise_if_any()
    chain, name = [], graph.input
    while name != graph.output:
        if name not in readers:
            text = f"the input {graph.input!r} does not lead to the output {graph.output!r}"
            finder.found.add(text, finder.place, "the graph is broken, or the output is a constant: export it again")
            finder.found.raise_if_any()
        node = readers.pop(name)[0]
        chain.append(node)
        name = node.outputs[0]
    return chain
