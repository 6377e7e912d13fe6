"""A Softmax at the end of a file: left out, because the class with the largest score is the same."""

from __future__ import annotations

from dataclasses import replace

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, OnnxGraph

_OPS = ("Softmax", "LogSoftmax")


def without_softmax(graph: OnnxGraph) -> tuple[OnnxGraph, tuple[str, ...]]:
    """The graph that returns what its last Softmax reads, and a note for each that was left out."""
    makers = {node.outputs[0]: node for node in graph.nodes}
    outputs, notes, gone = [], [], set()
    for name in graph.outputs:
        node = makers.get(name)
        read = {each for other in graph.nodes for each in other.inputs}
        plain = node is not None and node.domain in STANDARD_DOMAINS and node.op in _OPS
        if node is None or not plain or name in read or len(node.inputs) != 1 or node.inputs[0] in graph.inputs:
            outputs.append(name)
            continue
        outputs.append(node.inputs[0])
        gone.add(name)
        notes.append(f"{node.label} at the end is left out: the class with the largest score is the same")
    kept = tuple(node for node in graph.nodes if node.outputs[0] not in gone)
    return (replace(graph, outputs=tuple(outputs), nodes=kept), tuple(notes)) if notes else (graph, ())
