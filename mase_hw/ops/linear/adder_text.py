"""The stages of a pipelined adder graph as the template writes them: sums, requantized outputs, registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mase_hw.adders import Add, Encoding, Pipeline
from mase_hw.ir.stream import Stream
from mase_hw.ops.linear.equation import terms


@dataclass(frozen=True)
class Sum:
    """A node: `width` bits, of which the upper `adder` bits are a sum and the rest is wired through."""

    name: str
    width: int
    adder: int  # 0: no bits overlap, nothing is added
    text: str  # the adder's right side
    whole: str  # the node from the adder's result and what is wired through
    unused: tuple[str, ...] = ()  # upper bits of its operands that nothing is left of in the sum
    meaning: str = ""  # its equation, but for constants
    bare: int = 0  # bits of the adder that one operand drives alone: a LUT site each, and no LUT cell


@dataclass(frozen=True)
class Lane:
    """A finished output: the unsigned number that goes into its requantize, and the parameters."""

    name: str
    source: str
    parameters: Mapping[str, Any]
    meaning: str


@dataclass(frozen=True)
class Register:
    name: str
    width: int
    source: str


@dataclass
class Stage:
    sums: list[Sum] = field(default_factory=list)
    lanes: list[Lane] = field(default_factory=list)
    registers: list[Register] = field(default_factory=list)  # at its end


def stages_text(
    pipeline: Pipeline,
    shift: int,
    parameters: Callable[[int], Mapping[str, Any]],
    meaning: Callable[[int], str],
) -> list[Stage]:
    """Stage by stage; `shift` is that of every output against the bias, `meaning` an output's equation."""
    graph, wires = pipeline.encoding.graph, pipeline.encoding.wires
    stages = nodes_text(pipeline)
    for j, out in enumerate(graph.outputs):
        stage = pipeline.out_stage(j)
        source, width = "1'b0", 1
        if out.node is not None:
            zeros = out.shift + shift
            inverted = "~" if out.minus else ""
            tail = f", {zeros}'b0" if zeros else ""
            source, width = (
                f"1'b0, {inverted}{node_name(pipeline, out.node, stage)}{tail}",
                wires[out.node].width + zeros + 1,
            )
        stages[stage].lanes.append(Lane(f"y{j}", source, {"InWidth": width, **parameters(j)}, meaning(j)))
        for later in range(stage, pipeline.stages):
            before = f"y{j}" if later == stage else f"y{j}_q{later}"
            stages[later].registers.append(Register(f"y{j}_q{later + 1}", pipeline.out_width, before))
    return stages


def nodes_text(pipeline: Pipeline) -> list[Stage]:
    """The sums of the nodes, and the registers that carry them to where they are read."""
    encoding = pipeline.encoding
    graph, wires = encoding.graph, encoding.wires
    stages = [Stage() for _ in range(pipeline.stages)]
    for node, last in enumerate(pipeline.last_read):
        for stage in range(pipeline.node_stage(node), last):
            names = [node_name(pipeline, node, k) for k in (stage + 1, stage)]
            stages[stage].registers.append(Register(names[0], wires[node].width, names[1]))
    for k, add in enumerate(graph.adds):
        stage = pipeline.node_stage(graph.inputs + k)
        operands = (node_name(pipeline, add.a, stage), node_name(pipeline, add.b, stage))
        text = _sum(f"n{k}", add, operands, encoding, wires[graph.inputs + k].width)
        stages[stage].sums.append(replace(text, meaning=_meaning(add, graph.inputs)))
    return stages


def _meaning(add: Add, inputs: int) -> str:
    """The equation of a node."""
    factors = ((-1 if add.minus_a else 1) << add.shift_a, (-1 if add.minus_b else 1) << add.shift_b)
    return terms(zip(factors, (_label(add.a, inputs), _label(add.b, inputs)), strict=True))


def _label(node: int, inputs: int) -> str:
    return f"x{node}" if node < inputs else f"n{node - inputs}"


def node_name(pipeline: Pipeline, node: int, stage: int) -> str:
    """The node as it is seen in a stage: itself where it is made, later its register."""
    label = _label(node, pipeline.encoding.graph.inputs)
    return label if stage == pipeline.node_stage(node) else f"{label}_q{stage}"


def _sum(name: str, add: Add, operands: tuple[str, str], encoding: Encoding, width: int) -> Sum:
    """One addition. The operand without shift comes first here; below the other's shift its bits pass unchanged."""
    nodes = [(add.a, add.shift_a, add.minus_a, operands[0]), (add.b, add.shift_b, add.minus_b, operands[1])]
    (node, _, minus, text), (upper_node, shift, upper_minus, upper_text) = sorted(nodes, key=lambda item: item[1])
    low, high = encoding.wires[node].width, encoding.wires[upper_node].width
    # An inverted operand stands in braces: so it is inverted in its own width, and then extended with zeros.
    inverted, upper = "~" if minus else "", f"{{~{upper_text}}}" if upper_minus else upper_text
    if width <= shift:  # what is proven of the sum leaves nothing of the upper operand
        unused = (*_above(text, low, width), *_above(upper_text, high, 0))
        return Sum(name, width, 0, "", f"{inverted}{_slice(text, low, 0, width)}", unused)
    if low <= shift:
        zeros = f"{shift - low}'b0, " if low < shift else ""
        kept = ("~" if upper_minus else "") + _slice(upper_text, high, 0, width - shift)
        top = f"{width - shift - high}'b0, " if width - shift > high else ""
        unused = _above(upper_text, high, width - shift)
        return Sum(name, width, 0, "", f"{{{top}{kept}, {zeros}{inverted}{text}}}", unused)
    size = width - shift
    first = _slice(text, low, shift, low)
    first = f"{size}'({{~{first}}})" if minus else f"{size}'({first})"
    whole = f"{{{name}_sum, {inverted}{_slice(text, low, 0, shift)}}}" if shift else f"{name}_sum"
    unused = () if minus else _above(text, low, width)  # what is inverted counts as read
    unused += () if upper_minus else _above(upper_text, high, size)
    ends = sorted((low - shift, high))
    bare = max(0, min(size, ends[1]) - min(size, ends[0]))
    return Sum(name, width, size, f"{first} + {size}'({upper})", whole, unused, bare=bare)


def _above(text: str, width: int, start: int) -> tuple[str, ...]:
    """The bits of a signal from `start` on, if it has any there."""
    return (_slice(text, width, start, width),) if start < width else ()


def _slice(text: str, width: int, start: int, end: int) -> str:
    """Bits `start .. end-1` of a signal of so many bits."""
    end = min(end, width)
    if (start, end) == (0, width):
        return text
    return f"{text}[{start}]" if end - start == 1 else f"{text}[{end - 1}:{start}]"


@dataclass(frozen=True)
class Input:
    """An input that the graph reads, as an unsigned number."""

    name: str
    width: int
    text: str


def inputs_text(encoding: Encoding, x: Stream) -> list[Input]:
    """The inputs as unsigned numbers: where the sign matters, its bit is inverted."""
    found = []
    for i in sorted(_read(encoding)):
        start, width = i * x.fixed.width, encoding.wires[i].width
        text = f"data_in_0[{start}+:{width}]"
        if encoding.flip[i]:
            rest = f", data_in_0[{start}+:{width - 1}]" if width > 1 else ""
            text = f"{{~data_in_0[{start + width - 1}]{rest}}}"
        found.append(Input(f"x{i}", width, text))
    return found


def _read(encoding: Encoding) -> set[int]:
    """The inputs that a sum or an output reads."""
    graph = encoding.graph
    read = {node for add in graph.adds for node in (add.a, add.b)}
    read |= {out.node for out in graph.outputs if out.node is not None}
    return {node for node in read if node < graph.inputs}


def unused_bits(encoding: Encoding, x: Stream) -> list[str]:
    """Bits of the input that nothing reads: inputs without weight, and bits above the proven range."""
    read = _read(encoding)
    found = []
    for i in range(encoding.graph.inputs):
        used = encoding.wires[i].width if i in read else 0
        if used < x.fixed.width:
            found.append(f"data_in_0[{(i + 1) * x.fixed.width - 1}:{i * x.fixed.width + used}]")
    return found
