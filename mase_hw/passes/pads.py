"""Zero paddings that become part of the convolutions behind them."""

from __future__ import annotations

from dataclasses import replace

from mase_hw.geometry import Geometry
from mase_hw.layers import Layer, LayerGraph
from mase_hw.passes.analysis.windows import CONVS


def pads_merged(graph: LayerGraph) -> LayerGraph:
    """The graph without the unquantized zero paddings that one convolution alone reads.

    A convolution pads with zeros too, and zero is zero in every type. A pool is not like that: what it pads with never
    is a maximum, and may not count in an average.
    """
    merged: dict[str, Layer] = {}
    for layer in graph.layers:
        readers = [reader for reader, _ in graph.readers[layer.name]]
        alone = len(readers) == 1 and readers[0].op in CONVS and layer.name not in graph.outputs
        if layer.op == "zero_pad" and layer.spec.rounding is None and alone:
            merged[layer.name] = layer
    layers = []
    for layer in graph.layers:
        if layer.name in merged:
            continue
        while layer.inputs[0] in merged:
            layer = _padded(layer, merged[layer.inputs[0]])
        layers.append(layer)
    return replace(graph, layers=tuple(layers))


def _padded(layer: Layer, pad: Layer) -> Layer:
    own, more = layer.geometry, pad.geometry
    assert own is not None
    assert more is not None
    sides = zip(own.padding, more.padding, strict=True)
    padding = [(a + c, b + d) for (a, b), (c, d) in sides]
    geometry = Geometry.of(pad.frame, own.kernel, own.stride, padding, own.dilation)
    return replace(layer, inputs=pad.inputs, frame=pad.frame, geometry=geometry)
