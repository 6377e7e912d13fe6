"""The type of every result: what its readers want, its own `data_out`, or the exact accumulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mase_hw.diagnostics import Collector
from mase_hw.ir.finish import Result
from mase_hw.layers import Layer, LayerGraph
from mase_hw.ops.cat import hull
from mase_hw.ops.operator import operator_of


@dataclass(frozen=True)
class Types:
    """By name: the type of each layer's result, None where it stays exact; and that of each input of the model."""

    results: dict[str, Result | None]
    inputs: dict[str, Result]


def types_of(graph: LayerGraph, problems: Collector | None = None) -> Types:
    """Readers come before what they read. An input whose type nothing says is a problem."""
    results: dict[str, Result | None] = {}
    for layer in reversed(graph.layers):
        spec = layer.spec
        if spec.rounding is not None and spec.data_out is not None:
            results[layer.name] = Result(spec.data_out, spec.rounding)
        else:
            results[layer.name] = _agreed(_wants(graph, layer.name, results))
    problems = problems or Collector()
    inputs: dict[str, Result] = {}
    for x in graph.inputs:
        wants = _wants(graph, x.name, results)
        agreed = _agreed(wants)
        if agreed is not None:
            inputs[x.name] = agreed
        else:
            _report(x.name, graph, wants, problems)
    problems.raise_if_any()
    return Types(results, inputs)


def _wants(graph: LayerGraph, name: str, results: dict[str, Result | None]) -> list[Result | None]:
    """What each reader of a result wants it to be; the output wants nothing but all of it."""
    wants = [_want(layer, results) for layer, _ in graph.readers[name]]
    return wants + [None] * graph.outputs.count(name)


def _want(reader: Layer, results: dict[str, Result | None]) -> Result | None:
    spec = reader.spec
    if spec.rounding is not None:
        assert spec.data_in is not None
        return Result(spec.data_in, spec.rounding)
    return results[reader.name] if operator_of(reader.op).hands_on else None


def _agreed(wants: Sequence[Result | None]) -> Result | None:
    """What all readers want; or a type that holds what each wants, if to quantize twice gives the same integers.

    It does where the types have the same binary point and the same rounding: then the second time only clamps.
    """
    known = [want for want in wants if want is not None]
    if not known or len(known) < len(wants):
        return None
    if len(set(known)) == 1:
        return known[0]
    if len({(want.fixed.frac, want.rounding) for want in known}) > 1:
        return None
    return Result(hull([want.fixed for want in known]), known[0].rounding)


def _report(name: str, graph: LayerGraph, wants: Sequence[Result | None], problems: Collector) -> None:
    readers = [layer for layer, _ in graph.readers[name]]
    untyped = [layer for layer, want in zip(readers, wants, strict=False) if want is None]
    if untyped:
        first = untyped[0]
        text = f"the input {name} has no type: {first.name} ({first.called or first.op}) reads it and is not quantized"
        problems.add(text, first.place, f"quantize {first.name}: its data_in is the type of the input", first.note)
        return
    said = ", ".join(f"{layer.name} {want.fixed}" for layer, want in zip(readers, wants, strict=False) if want)
    text = f"the input {name} is read in several types: {said}"
    hint = "give its readers the same data_in, or at least the same data_in_frac_width and the same quantizer"
    problems.add(text, readers[0].place, hint)
