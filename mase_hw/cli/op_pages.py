"""What `mase-hw show` knows: the operators' own pages, and those of what stands between them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from mase_hw.emit import render
from mase_hw.emit.render import module_name
from mase_hw.ir import Component, Design
from mase_hw.ir.branches import fork
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.ops.cast import cast
from mase_hw.ops.examples import BEATS, RESULT, example_stream
from mase_hw.ops.operator import built_operators
from mase_hw.ops.pages import Built, Page

_PORT = re.compile(r"^  (input|output) +logic +(?:signed +)?(\[[^\]]+\] +)?(\w+)", re.MULTILINE)


def rtl_of(page: Page, built: Built) -> str:
    """The example's module, as `mase-hw emit` writes it."""
    design = design_of(built.example())
    name = page.module or module_name(design, design.components[0])
    return render(design)[f"{name}.sv"]


@dataclass(frozen=True)
class Port:
    direction: str
    bits: str
    name: str


def ports(rtl: str) -> list[Port]:
    """The ports of a module, read from its text."""
    return [Port(match[1], (match[2] or "").strip(), match[3]) for match in _PORT.finditer(rtl)]


def design_of(component: Component) -> Design:
    """A component as a design of its own."""
    outputs = tuple(y.renamed(f"data_out_{k}") for k, y in enumerate(component.outputs))
    return Design("example", (replace(component, outputs=outputs),))


def _plumbing(name: str) -> Component:
    x = example_stream(2)
    if name == "gather":
        return Gather(name, (x,), (x.with_lanes("data_out_0", 4),))
    if name == "scatter":
        return Scatter(name, (x,), (x.with_lanes("data_out_0", 1),))
    if name == "fifo":
        return Fifo(name, (x,), (x.renamed("data_out_0"),), 4)
    return SkidBuffer(name, (x,), (x.renamed("data_out_0"),))


_CAST = Page(
    "cast",
    "between two layers whose types differ, where the first cannot give the second's type",
    ("y = requantize(x)",),
    ("data_in: any; data_out: the reader's data_in",),
    (Built("stream", "one register stage", BEATS, "1", lambda: cast("cast", example_stream(2), RESULT)),),
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
            lambda: cast("cast", example_stream(2), RESULT),
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
            f"{BEATS}; twice that at a depth of 1",
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
    (Built("stream", "two registers; cuts the path of ready", BEATS, "1", lambda: _plumbing("skid_buffer")),),
)

_FORK = Page(
    "fork",
    "a result that is read several times",
    ("y_k = x, for every branch k",),
    ("any",),
    (
        Built(
            "stream",
            "one register; each branch takes a beat in its own cycle",
            BEATS,
            "1",
            lambda: fork("fork", example_stream(2), 2, buffered=False),
        ),
        Built(
            "buffered",
            "two registers; cuts the path of ready",
            BEATS,
            "1",
            lambda: fork("fork", example_stream(2), 2, buffered=True),
        ),
    ),
)

_BETWEEN = (_CAST, _REQUANTIZE, _FIFO, _GATHER, _SCATTER, _SKID, _FORK)
NOTHING = "flatten, identity and dropout (in eval mode) need no hardware"


def pages() -> dict[str, Page]:
    """Every page by name: operators, then what stands between them."""
    return {page.name: page for page in (*(each.page() for each in built_operators().values()), *_BETWEEN)}
