"""The types of layers that an ONNX file gives by its Quant nodes, with those that a TOML gives in their place.

Everything here is exact. Where nothing is said of a layer's input it is the exact result of the layer before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from mase_hw.config.quantize import QuantizeConfig, QuantSpec
from mase_hw.frontends.onnx_flow import FLOAT32_BITS, Flow, Types, long_sums, overridden, toml_lines
from mase_hw.frontends.onnx_graph import Finder, Reals
from mase_hw.frontends.onnx_join_types import type_average, type_join
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_quant import grid_type
from mase_hw.frontends.onnx_steps import Conv, Flatten, Join, Linear, Mul, Norm, Pad, Pool, Relu, Staircase
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, MAX_WIDTH, Fixed, Rounding, signed_width, to_integers
from mase_hw.numerics.rounding import Integers

_Computing = Linear | Conv | Norm | Mul


def type_layers(layers: Sequence[Placed], written: QuantizeConfig, finder: Finder) -> Types:
    """The spec of every layer; `written` is [passes.quantize] of the TOML. What is said nowhere is a problem."""
    types = Types()
    flows: dict[str, Flow | None] = {}
    for placed in layers:
        step = placed.step
        read = [flows.get(name) for name in placed.inputs]  # nothing is known of the model's inputs
        flow = read[0]
        if isinstance(step, Pool) and step.averages:
            flow = type_average(placed, step, written.for_node(step.name, step.op), flow, types, finder)
        elif isinstance(step, Relu | Pool | Pad):
            spec = written.for_node(step.name, getattr(step, "op", "relu"))
            if spec.quantized:
                types.specs[step.name] = spec
                flow = Flow.of(spec.data_in) if spec.data_in else flow
            if isinstance(step, Relu):
                flow = None if flow is None else flow.rectified()
            elif isinstance(step, Pad) and flow is not None:
                flow = replace(flow, lo=min(flow.lo, 0), hi=max(flow.hi, 0))
        elif isinstance(step, Staircase):
            flow = Flow.of(step.fixed)
            if step.stated and step.reads.width <= MAX_WIDTH:
                types.specs[step.name] = QuantSpec(Rounding.HALF_EVEN, step.reads, data_out=step.fixed)
        elif isinstance(step, Join):
            flow = type_join(placed, step, written.for_node(step.name, step.op), read, types, finder)
        elif not isinstance(step, Flatten):
            flow = _layer(placed, step, written.for_node(step.name, step.op), flow, types, finder)
        flows[step.name] = flow
    return types


def _layer(
    placed: Placed, step: _Computing, asked: QuantSpec, flow: Flow | None, types: Types, finder: Finder
) -> Flow | None:
    rounding = asked.rounding or placed.rounding or Rounding.HALF_EVEN
    x = _input(placed, step, asked, flow, finder)
    told = placed.quant_out.fixed if placed.quant_out else None
    names = ("weight", "bias")
    values = dict(zip(names, _numbers(step), strict=True))
    said = {name: _stated(step, name) for name in names}
    found: dict[str, Fixed | None] = {}
    for name in names:
        numbers = values[name]
        found[name] = None if numbers is None else getattr(asked, name) or said[name] or _grid(step, numbers)
    if open_ := [name for name in names if values[name] is not None and found[name] is None]:
        _no_type(step, open_, f"floats that no type of {MAX_WIDTH} bits or fewer has exactly", finder)
    data_in = None if x is None else x.type
    spec = QuantSpec(rounding, data_in, found["weight"], found["bias"], asked.data_out or told)
    types.specs[step.name] = spec
    types.notes += overridden(placed, asked, said)
    out = None if spec.data_out is None else Flow.of(spec.data_out)
    weight, bias = found["weight"], found["bias"]
    if x is None or weight is None or (bias is None and values["bias"] is not None):
        return out
    exact = _sum(step, x, values, weight, bias, rounding)
    if exact is None:
        return out
    result, reach = exact
    if reach.bit_length() > FLOAT32_BITS and reach != 1 << FLOAT32_BITS:
        bits = reach.bit_length()
        floats = [name for name in names if values[name] is not None and not (getattr(asked, name) or said[name])]
        if floats and not placed.ours:
            _no_type(step, floats, f"floats, with which sums take {bits} bits; float32 is exact up to 24", finder)
        if not floats:
            types.notes.append(long_sums(step.name, bits))
    return out or result


def _input(placed: Placed, step: _Computing, asked: QuantSpec, flow: Flow | None, finder: Finder) -> Flow | None:
    """What the layer computes with: its input after quantization."""
    given = asked.data_in or (placed.quant_in.fixed if placed.quant_in else None) or placed.fixed_in
    if given is not None:
        return Flow.of(given) if flow is None else flow.within(given)
    if flow is None:
        text = "its input has no type: no Quant stands before it"
        hint = "put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        finder.node(step.node, text, hint + toml_lines(step.name, ("data_in",)))
        return None
    if flow.type is None:
        width = signed_width(flow.lo, flow.hi)
        text = f"no Quant stands before it, and its exact input takes {width} bits; {MAX_WIDTH} are the most"
        finder.node(
            step.node,
            text,
            "put a Quant before it, or name the type in the TOML:\n" + toml_lines(step.name, ("data_in",)),
        )
        return None
    return flow


def _numbers(step: _Computing) -> tuple[Reals, Reals | None]:
    """What multiplies and what is added."""
    if isinstance(step, Mul):
        return step.weight.values, None
    if isinstance(step, Linear | Conv):
        return step.weight.values, None if step.bias is None else step.bias.values
    scale = step.gamma / np.sqrt(step.var + step.eps)
    return scale, step.beta - step.mean * scale


def _stated(step: _Computing, name: str) -> Fixed | None:
    """The type that a Quant gave to a constant."""
    constant = getattr(step, name, None) if isinstance(step, Linear | Conv | Mul) else None
    return None if constant is None else constant.fixed


def _sum(
    step: _Computing, x: Flow, values: dict[str, Reals | None], weight: Fixed, bias: Fixed | None, rule: Rounding
) -> tuple[Flow, int] | None:
    """The exact result, and how far a partial sum can get; None where that is more than can be built."""
    product = x.frac + weight.frac
    frac = product if bias is None else max(product, bias.frac)
    assert values["weight"] is not None
    w = to_integers(values["weight"], weight, rule)
    w = w.reshape(len(w), -1)
    b = np.zeros(len(w), np.int64)
    if bias is not None:
        b = to_integers(values["bias"], bias, rule) if values["bias"] is not None else b
    up, up_bias = frac - product, 0 if bias is None else frac - bias.frac
    widest = max(abs(x.lo), abs(x.hi))
    rough = float(np.abs(w.astype(np.float64)).sum(1).max(initial=0)) * widest * 2.0**up
    rough += float(np.abs(b.astype(np.float64)).max(initial=0)) * 2.0**up_bias
    if rough >= 2.0**MAX_ACCUMULATOR_BITS:
        return None
    positive, negative = _halves(w)
    ends = [(x.lo * positive + x.hi * negative << up) + (b << up_bias)]
    ends.append((x.hi * positive + x.lo * negative << up) + (b << up_bias))
    reach = int((((positive - negative) * widest << up) + (np.abs(b) << up_bias)).max(initial=0))
    return Flow(frac, int(ends[0].min(initial=0)), int(ends[1].max(initial=0))), reach


def _halves(w: Integers) -> tuple[Integers, Integers]:
    """The sums of each row's positive and negative numbers."""
    return np.where(w > 0, w, 0).sum(1), np.where(w < 0, w, 0).sum(1)


def _grid(step: _Computing, numbers: Reals) -> Fixed | None:
    """The type of floats, if one has them all; the scale and the shift of a batch norm must be the same in float32."""
    if isinstance(step, Norm) and not _same_in_float32(step):
        return None
    return grid_type(numbers)


def _same_in_float32(step: Norm) -> bool:
    gamma, beta, mean, var = (part.astype(np.float32) for part in (step.gamma, step.beta, step.mean, step.var))
    scale = gamma / np.sqrt(var + np.float32(step.eps))
    wide = _numbers(step)
    return np.array_equal(scale, wide[0]) and np.array_equal(beta - mean * scale, wide[1])  # type: ignore[arg-type]


def _no_type(step: _Computing, names: Sequence[str], why: str, finder: Finder) -> None:
    """Constants that are floats, with which nothing exact can be computed."""
    called = {"weight": "scale", "bias": "shift"} if isinstance(step, Norm) else {}
    subject = f"its {' and '.join(called.get(name, name) for name in names)}"
    verb, are = ("has", "is") if len(names) == 1 else ("have", "are")
    if isinstance(step, Norm):
        text = f"{subject} {are} made of {why}"
        hint = "fold it into the layer before it (Brevitas: merge_bn), or let the TOML round it:\n"
        finder.node(step.node, text, hint + toml_lines(step.name, names))
        return
    text = f"{subject} {verb} no Quant and {are} made of {why}"
    if isinstance(step, Mul):
        hint = "put a Quant behind the constant, or let the TOML round it:\n"
        finder.node(step.node, text, hint + toml_lines(step.name, names))
        return
    quantizers = {"weight": "weight_quant=Int8WeightPerTensorFixedPoint", "bias": "bias_quant=Int16Bias"}
    brevitas = ", ".join(quantizers[name] for name in names)
    hint = f"quantize them (Brevitas: {brevitas}), or let the TOML round them:\n"
    finder.node(step.node, text, hint + toml_lines(step.name, names))
