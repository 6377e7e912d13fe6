"""The types of layers that an ONNX file gives by its Quant nodes, with those that a TOML gives in their place.

Everything here is exact. Where nothing is said of a layer's input it is the exact result of the layer before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from mase_hw.config.quantize import QuantizeConfig, QuantSpec
from mase_hw.frontends.onnx_arrange import Placed
from mase_hw.frontends.onnx_graph import Finder, Reals
from mase_hw.frontends.onnx_quant import grid_type
from mase_hw.frontends.onnx_steps import Flatten, Linear, Norm, Relu
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, MAX_FRAC, MAX_WIDTH, Fixed, Rounding, signed_width, to_integers
from mase_hw.numerics.rounding import Integers

FLOAT32_BITS = 24  # whole numbers up to 2**24 are exact in float32, in whatever order they are added


@dataclass(frozen=True)
class _Flow:
    """What flows between two layers: integers of `lo..hi` in units of 2**-frac. `fixed`: the type that was given."""

    frac: int
    lo: int
    hi: int
    fixed: Fixed | None = None

    @staticmethod
    def of(fixed: Fixed) -> _Flow:
        return _Flow(fixed.frac, fixed.lo, fixed.hi, fixed)

    def rectified(self) -> _Flow:
        return _Flow(self.frac, max(self.lo, 0), max(self.hi, 0), self.fixed)

    def within(self, fixed: Fixed) -> _Flow:
        """After a quantizer; a ReLU before it leaves nothing negative."""
        return _Flow(fixed.frac, max(fixed.lo, 0) if self.lo >= 0 else fixed.lo, fixed.hi, fixed)

    @property
    def type(self) -> Fixed | None:
        """The type of all of it, if one of ours is wide enough."""
        if self.fixed is not None:
            return self.fixed
        width = signed_width(self.lo, self.hi)
        return Fixed(width, self.frac) if width <= MAX_WIDTH and abs(self.frac) <= MAX_FRAC else None


@dataclass
class Types:
    """What was found: a spec for each layer, and notes for the user."""

    specs: dict[str, QuantSpec] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def type_layers(layers: Sequence[Placed], written: QuantizeConfig, finder: Finder) -> Types:
    """The spec of every layer; `written` is [passes.quantize] of the TOML. What is said nowhere is a problem."""
    types = Types()
    flow: _Flow | None = None
    for placed in layers:
        step = placed.step
        if isinstance(step, Flatten):
            continue
        if isinstance(step, Relu):
            spec = written.for_node(step.name, "relu")
            if spec.quantized:
                types.specs[step.name] = spec
                flow = _Flow.of(spec.data_in) if spec.data_in else flow
            flow = None if flow is None else flow.rectified()
        else:
            flow = _layer(placed, step, written.for_node(step.name, step.op), flow, types, finder)
    return types


def _layer(
    placed: Placed, step: Linear | Norm, asked: QuantSpec, flow: _Flow | None, types: Types, finder: Finder
) -> _Flow | None:
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
    types.notes += _overridden(placed, step, asked, said)
    out = None if spec.data_out is None else _Flow.of(spec.data_out)
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
            text = f"{step.name}: its sums can take {bits} bits: hardware is exact, and what adds them in float32"
            types.notes.append(f"{text} (24 bits), as ONNX runtimes do, may round")
    return out or result


def _input(placed: Placed, step: Linear | Norm, asked: QuantSpec, flow: _Flow | None, finder: Finder) -> _Flow | None:
    """What the layer computes with: its input after quantization."""
    given = asked.data_in or (placed.quant_in.fixed if placed.quant_in else None) or placed.fixed_in
    if given is not None:
        return _Flow.of(given) if flow is None else flow.within(given)
    if flow is None:
        text = "its input has no type: no Quant stands before it"
        hint = "put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        finder.node(step.node, text, hint + _lines(step.name, ("data_in",)))
        return None
    if flow.type is None:
        width = signed_width(flow.lo, flow.hi)
        text = f"no Quant stands before it, and its exact input takes {width} bits; {MAX_WIDTH} are the most"
        finder.node(
            step.node, text, "put a Quant before it, or name the type in the TOML:\n" + _lines(step.name, ("data_in",))
        )
        return None
    return flow


def _numbers(step: Linear | Norm) -> tuple[Reals, Reals | None]:
    """What multiplies and what is added."""
    if isinstance(step, Linear):
        return step.weight.values, None if step.bias is None else step.bias.values
    scale = step.gamma / np.sqrt(step.var + step.eps)
    return scale, step.beta - step.mean * scale


def _stated(step: Linear | Norm, name: str) -> Fixed | None:
    """The type that a Quant gave to a constant."""
    constant = getattr(step, name) if isinstance(step, Linear) else None
    return None if constant is None else constant.fixed


def _sum(
    step: Linear | Norm, x: _Flow, values: dict[str, Reals | None], weight: Fixed, bias: Fixed | None, rule: Rounding
) -> tuple[_Flow, int] | None:
    """The exact result, and how far a partial sum can get; None where that is more than can be built."""
    product = x.frac + weight.frac
    frac = product if bias is None else max(product, bias.frac)
    assert values["weight"] is not None
    w = to_integers(values["weight"], weight, rule)
    w = w if w.ndim == 2 else w[:, None]
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
    return _Flow(frac, int(ends[0].min(initial=0)), int(ends[1].max(initial=0))), reach


def _halves(w: Integers) -> tuple[Integers, Integers]:
    """The sums of each row's positive and negative numbers."""
    return np.where(w > 0, w, 0).sum(1), np.where(w < 0, w, 0).sum(1)


def _grid(step: Linear | Norm, numbers: Reals) -> Fixed | None:
    """The type of floats, if one has them all; the scale and the shift of a batch norm must be the same in float32."""
    if isinstance(step, Norm) and not _same_in_float32(step):
        return None
    return grid_type(numbers)


def _same_in_float32(step: Norm) -> bool:
    gamma, beta, mean, var = (part.astype(np.float32) for part in (step.gamma, step.beta, step.mean, step.var))
    scale = gamma / np.sqrt(var + np.float32(step.eps))
    wide = _numbers(step)
    return np.array_equal(scale, wide[0]) and np.array_equal(beta - mean * scale, wide[1])  # type: ignore[arg-type]


def _no_type(step: Linear | Norm, names: Sequence[str], why: str, finder: Finder) -> None:
    """Constants that are floats, with which nothing exact can be computed."""
    called = {"weight": "scale", "bias": "shift"} if isinstance(step, Norm) else {}
    subject = f"its {' and '.join(called.get(name, name) for name in names)}"
    verb, are = ("has", "is") if len(names) == 1 else ("have", "are")
    if isinstance(step, Norm):
        text = f"{subject} {are} made of {why}"
        hint = "fold it into the layer before it (Brevitas: merge_bn), or let the TOML round it:\n"
        finder.node(step.node, text, hint + _lines(step.name, names))
        return
    text = f"{subject} {verb} no Quant and {are} made of {why}"
    quantizers = {"weight": "weight_quant=Int8WeightPerTensorFixedPoint", "bias": "bias_quant=Int16Bias"}
    brevitas = ", ".join(quantizers[name] for name in names)
    hint = f"quantize them (Brevitas: {brevitas}), or let the TOML round them:\n"
    finder.node(step.node, text, hint + _lines(step.name, names))


def _lines(name: str, arguments: Sequence[str]) -> str:
    """The TOML that gives a layer's arguments their types."""
    lines = ['[passes.quantize]\nby = "name"', f"[passes.quantize.{name}.config]", 'name = "integer"']
    return "\n".join([*lines, *(f"{item}_width = 8\n{item}_frac_width = 4" for item in arguments)])


def _overridden(placed: Placed, step: Linear | Norm, asked: QuantSpec, said: dict[str, Fixed | None]) -> list[str]:
    """A line for each type of the file that the TOML replaced."""
    own = {
        "data_in": placed.quant_in.fixed if placed.quant_in else None,
        **said,
        "data_out": placed.quant_out.fixed if placed.quant_out else None,
    }
    notes = [
        f"{step.name}: the TOML's {name} {given} stands in place of the file's {own[name]}"
        for name in own
        if (given := getattr(asked, name)) is not None and own[name] not in (None, given)
    ]
    rule = placed.rounding
    if rule is not None and asked.rounding is not None and asked.rounding is not rule:
        notes.append(f'{step.name}: the TOML\'s "{asked.rounding}" stands in place of the file\'s "{rule}"')
    return notes
