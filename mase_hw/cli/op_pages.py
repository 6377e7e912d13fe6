"""What `mase-hw show` knows of an operator: words and formulas here, the example from the real components."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from mase_hw.emit import render
from mase_hw.emit.render import module_name
from mase_hw.ir import Component, Design
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.ir.stream import Stream, full_range
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result, batch_norm1d, cast, relu, serial
from mase_hw.ops.affine import align
from mase_hw.ops.linear.make import linear

IN, WEIGHT, OUT = Fixed(8, 4), Fixed(4, 2), Fixed(6, 2)
RESULT = Result(OUT, Rounding.HALF_EVEN)
MATRIX = np.array([[3, -2, 0, 1], [-4, 1, 5, 2]])
BIAS = np.array([1, -2])
_PORT = re.compile(r"^  (input|output) +logic +(?:signed +)?(\[[^\]]+\] +)?(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Built:
    """One way to build an operator, with its formulas, and a small example of it."""

    name: str
    about: str
    interval: str
    latency: str
    example: Callable[[], Component]


@dataclass(frozen=True)
class Page:
    """An operator. `module` names the file of its RTL where that is not the example's own."""

    name: str
    title: str
    equation: tuple[str, ...]
    types: tuple[str, ...]
    built: tuple[Built, ...]
    module: str = ""

    def rtl(self, built: Built) -> str:
        """The example's module, as `mase-hw emit` writes it."""
        design = design_of(built.example())
        name = self.module or module_name(design, design.components[0])
        return render(design)[f"{name}.sv"]


@dataclass(frozen=True)
class Port:
    direction: str
    bits: str
    name: str


def ports(rtl: str) -> list[Port]:
    """The ports of a module, read from its text."""
    return [Port(found[1], (found[2] or "").strip(), found[3]) for found in _PORT.finditer(rtl)]


def design_of(component: Component) -> Design:
    """A component as a design of its own."""
    output = component.output.renamed("data_out_0")
    return Design("example", (replace(component, outputs=(output,)),))


def _stream(lanes: int = 4) -> Stream:
    return full_range("data_in_0", 4, lanes, IN)


def _linear(*, folded: bool) -> Component:
    x = _stream(2 if folded else 4)
    array = (2, 1) if folded else None
    lanes = 1 if folded else 2
    return linear("linear", x, MATRIX, BIAS, WEIGHT, WEIGHT, RESULT, out_lanes=lanes, folded=folded, array=array)


def _serial() -> Component:
    alignment = align(IN, WEIGHT, WEIGHT)
    constant = BIAS << alignment.constant_shift
    return serial("linear", _stream(), MATRIX, constant, alignment, RESULT, digit_bits=2, groups=1)


def _batch_norm(lanes: int) -> Component:
    scale, shift = np.array([3, -2, 5, 1]), np.array([1, 0, -2, 3])
    return batch_norm1d("batch_norm1d", _stream(lanes), scale, shift, WEIGHT, WEIGHT, RESULT)


def _plumbing(name: str) -> Component:
    x = _stream(2)
    if name == "gather":
        return Gather(name, (x,), (x.with_lanes("data_out_0", 4),))
    if name == "scatter":
        return Scatter(name, (x,), (x.with_lanes("data_out_0", 1),))
    if name == "fifo":
        return Fifo(name, (x,), (x.renamed("data_out_0"),), 4)
    return SkidBuffer(name, (x,), (x.renamed("data_out_0"),))


_EXACT = "the sum is exact, in the fewest bits that hold it for these very weights; then one requantize"
_READER = "data_out: data_in of the reader, or data_out of the layer's own; without either the exact sum"
_BEATS = "features / lanes"
_LINEAR = Page(
    "linear",
    "nn.Linear, F.linear",
    ("y_j = requantize(sum_i x_i * w_ji + b_j)", _EXACT),
    ("data_in, weight, bias: 2 to 32 bits (unsigned 1 to 32), fractional bits -64 to 64", _READER),
    (
        Built(
            "unrolled",
            "the weights are wires in a shared shift-and-add graph",
            "1",
            "stages: the additions in a row, adders_per_stage of them in a stage",
            lambda: _linear(folded=False),
        ),
        Built(
            "serial",
            "the same on digits of every input",
            "ceil(bits / digit_bits) * output_groups",
            "ceil(bits / digit_bits) + stages, and 1 where the sum has a register of its own",
            _serial,
        ),
        Built(
            "folded",
            "array_in x array_out multipliers, the weights in a ROM",
            "ceil(in / array_in) * ceil(out / array_out)",
            "ceil(in / array_in) + stages + 1",
            lambda: _linear(folded=True),
        ),
    ),
)
_RELU = Page(
    "relu",
    "nn.ReLU, F.relu, torch.relu, x.relu()",
    ("y = max(requantize(x), 0)",),
    ("data_in: what the layer before it gives; data_out: what its reader wants, else that of data_in",),
    (
        Built(
            "stream",
            "one register stage; merged into the component before it where that rounds or clamps anyway (interval and "
            "latency 0)",
            _BEATS,
            "1",
            lambda: relu("relu", _stream(2), RESULT),
        ),
    ),
)
_BATCH_NORM = Page(
    "batch_norm1d",
    "nn.BatchNorm1d in eval mode",
    (
        "y = requantize(x * scale + shift), for each feature",
        "scale = weight / sqrt(var + eps), shift = bias - mean * scale, both quantized",
        "exact until the one requantize; fuse_batch_norm folds it into the linear layer before it instead",
    ),
    ("data_in; weight, the type of scale; bias, the type of shift", _READER),
    (
        Built(
            "stream",
            "one multiplier a lane, the constants of each beat in tables",
            _BEATS,
            "2 + stages of additions",
            lambda: _batch_norm(2),
        ),
        Built(
            "stream_one_beat",
            "where all features come in one beat: the constants are wires",
            "1",
            "stages, as of an unrolled linear",
            lambda: _batch_norm(4),
        ),
    ),
)
_CAST = Page(
    "cast",
    "between two layers whose types differ, where the first cannot give the second's type",
    ("y = requantize(x)",),
    ("data_in: any; data_out: the reader's data_in",),
    (Built("stream", "one register stage", _BEATS, "1", lambda: cast("cast", _stream(2), RESULT)),),
)
_REQUANTIZE = Page(
    "requantize",
    "at the end of every operator: the only place where bits are lost",
    (
        "q = clamp(round(n * 2**(frac_out - frac_in)))",
        'round: half to even (name = "integer") or floor ("integer_floor"); clamp: to the smallest and largest of the '
        "type",
        "with Rectify negative results become 0: a ReLU that was merged",
    ),
    ("n: an exact integer with frac_in fractional bits; q: a type of 2 to 32 bits, or the exact one",),
    (
        Built(
            "combinational",
            "an adder for the half, a shift, two comparisons",
            "-",
            "0",
            lambda: cast("cast", _stream(2), RESULT),
        ),
    ),
    module="mase_requantize",
)
_FIFO = Page(
    "fifo",
    "data_in_fifo_depth in front of a layer",
    ("y = x, up to depth beats later",),
    ("any",),
    (
        Built(
            "stream",
            "a RAM and two counters; ready comes from registers",
            f"{_BEATS}; twice that at a depth of 1",
            "1",
            lambda: _plumbing("fifo"),
        ),
    ),
)
_GATHER = Page(
    "gather",
    "a width adapter: narrow beats to a wide one",
    ("y = x, in beats of more lanes",),
    ("any",),
    (
        Built(
            "stream",
            "registers of the wide beat",
            "features / lanes_in",
            "lanes_out / lanes_in",
            lambda: _plumbing("gather"),
        ),
    ),
)
_SCATTER = Page(
    "scatter",
    "a width adapter: a wide beat to narrow ones",
    ("y = x, in beats of fewer lanes",),
    ("any",),
    (Built("stream", "a shift register", "features / lanes_out", "1", lambda: _plumbing("scatter")),),
)
_SKID = Page(
    "skid_buffer",
    "where a ready would run through two components",
    ("y = x",),
    ("any",),
    (Built("stream", "two registers; cuts the path of ready", _BEATS, "1", lambda: _plumbing("skid_buffer")),),
)

PAGES = {page.name: page for page in (_LINEAR, _RELU, _BATCH_NORM, _CAST, _REQUANTIZE, _FIFO, _GATHER, _SCATTER, _SKID)}
NOTHING = "flatten, identity and dropout (in eval mode) need no hardware"
