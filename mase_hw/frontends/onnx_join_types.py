"""The types of an Add, a Sub or a Concat of an ONNX file: one `data_in` for all inputs, or exact without one."""

from __future__ import annotations

from collections.abc import Sequence

from mase_hw.config.quantize import QuantSpec
from mase_hw.frontends.onnx_flow import FLOAT32_BITS, Flow, Types, long_sums, overridden, toml_lines
from mase_hw.frontends.onnx_graph import Finder
from mase_hw.frontends.onnx_placed import Placed
from mase_hw.frontends.onnx_steps import Join, Pool
from mase_hw.numerics import MAX_WIDTH, Fixed, Rounding, signed_width


def type_join(
    placed: Placed, step: Join, asked: QuantSpec, read: Sequence[Flow | None], types: Types, finder: Finder
) -> Flow | None:
    """What flows out of the join. Without a Quant on its inputs and behind it, it gets no spec: it is exact."""
    given = asked.data_in or (placed.quant_in.fixed if placed.quant_in else None)
    told = asked.data_out or (placed.quant_out.fixed if placed.quant_out else None)
    if given is not None:
        read = [Flow.of(given) if flow is None else flow.within(given) for flow in read]
    known = [flow for flow in read if flow is not None]
    whole = len(known) == len(read)
    if not whole and (step.op != "cat" or told is not None):
        text = "its input has no type: no Quant stands before it"
        hint = "put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        finder.node(step.node, text, hint + toml_lines(step.name, ("data_in",)))
        return None
    if given is None and told is not None:
        given = _common(step, known, finder)
    if given is not None:
        rounding = asked.rounding or placed.rounding or Rounding.HALF_EVEN
        types.specs[step.name] = QuantSpec(rounding, given, data_out=told)
    types.notes += overridden(placed, asked, {})
    result = _joined(step.op, known) if whole else None  # an exact concatenation of inputs has its reader's type
    if result is not None and step.op != "cat":
        reach = max(abs(result.lo), abs(result.hi))
        if reach.bit_length() > FLOAT32_BITS and reach != 1 << FLOAT32_BITS:
            types.notes.append(long_sums(step.name, reach.bit_length()))
    return result if told is None else Flow.of(told)


def type_average(
    placed: Placed, step: Pool, asked: QuantSpec, flow: Flow | None, types: Types, finder: Finder
) -> Flow | None:
    """What flows out of an average. Without a Quant before it and behind it, it gets no spec: it is exact."""
    given = asked.data_in or (placed.quant_in.fixed if placed.quant_in else None)
    told = asked.data_out or (placed.quant_out.fixed if placed.quant_out else None)
    if given is not None:
        flow = Flow.of(given) if flow is None else flow.within(given)
    if flow is None:
        text = "its input has no type: no Quant stands before it"
        hint = "put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        finder.node(step.node, text, hint + toml_lines(step.name, ("data_in",)))
        return None
    if told is not None and given is None:
        given = flow.type
        if given is None:
            width = signed_width(flow.lo, flow.hi)
            text = f"no Quant stands before it, and its exact input takes {width} bits; {MAX_WIDTH} are the most"
            finder.node(step.node, text, "put a Quant before it")
            return None
    if given is not None:
        rounding = asked.rounding or placed.rounding or Rounding.HALF_EVEN
        types.specs[step.name] = QuantSpec(rounding, given, data_out=told)
    types.notes += overridden(placed, asked, {})
    if told is not None:
        return Flow.of(told)
    count = step.windows.taps
    if step.divisors is None or count & (count - 1):
        return None  # a fraction: what reads it has to round it
    bits = count.bit_length() - 1
    return Flow(flow.frac + bits, flow.lo << bits, flow.hi << bits)


def _common(step: Join, flows: Sequence[Flow], finder: Finder) -> Fixed | None:
    """The type that has the exact inputs of a join whose result is quantized."""
    kinds = {flow.type for flow in flows}
    one = _joined("cat", flows).type if len(kinds) > 1 else next(iter(kinds))
    if one is None:
        whole = _joined("cat", flows)
        width = signed_width(whole.lo, whole.hi)
        text = f"no Quant stands before it, and its exact inputs take {width} bits; {MAX_WIDTH} are the most"
        hint = "put Quants before it, or name the type in the TOML:\n"
        finder.node(step.node, text, hint + toml_lines(step.name, ("data_in",)))
    return one


def _joined(op: str, flows: Sequence[Flow]) -> Flow:
    frac = max(flow.frac for flow in flows)
    ends = [(flow.lo << frac - flow.frac, flow.hi << frac - flow.frac) for flow in flows]
    if op == "cat":
        fixed = flows[0].fixed if len({flow.fixed for flow in flows}) == 1 else None
        return Flow(frac, min(lo for lo, _ in ends), max(hi for _, hi in ends), fixed)
    (lo, hi), (least, most) = ends
    return Flow(frac, lo + least, hi + most) if op == "add" else Flow(frac, lo - most, hi - least)
