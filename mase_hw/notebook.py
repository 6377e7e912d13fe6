"""HTML for notebooks: tables, and the block diagram as inline SVG. Everything that is shown is escaped."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import TYPE_CHECKING

from mase_hw.emit.store import save_design
from mase_hw.html import table
from mase_hw.ir import Design
from mase_hw.numerics import Fixed
from mase_hw.report.diagram import Box, Diagram, Wire, diagram
from mase_hw.report.layers import flow

if TYPE_CHECKING:
    from mase_hw.prove.prove import Proof


def design_html(design: Design) -> str:
    """A diagram of the components and the streams between them, a table of the nodes, the figures in all."""
    parts = {**save_design(design)[0], "nodes": [asdict(node) for node in design.nodes]}
    cost, schedule = design.cost(), design.schedule
    figures = f"interval {schedule.interval}, latency {schedule.latency} cycles, exact; predicted: "
    figures += f"{cost.logic} sites, {cost.cells} LUT, {cost.ff} FF, {cost.dsp} DSP, {cost.bram} BRAM"
    columns = (
        "node",
        "op",
        "built",
        "data_in",
        "weight",
        "bias",
        "data_out",
        "interval",
        "latency",
        "sites",
        "LUT",
        "FF",
    )
    return "".join(
        [
            f"<div><b>{escape(design.name)}</b>: {escape(figures)}</div>",
            diagram_svg(diagram(flow(parts))),
            table(columns, (_node(design, k) for k in range(len(design.nodes)))),
        ]
    )


def proof_html(proof: Proof) -> str:
    """How many claims are proved, and a table of all."""
    proved = sum(claim.status == "proved" for claim in proof.claims)
    words = {"proved": "proved", "refuted": "FALSE", "open": "not proved"}
    rows = [(c.component, c.about, words[c.status], c.method or c.detail) for c in proof.claims]
    head = f"<div><b>{proved} of {len(proof.claims)}</b> claims proved, for every input</div>"
    return head + table(("component", "about", "", "how"), rows)


def diagram_svg(drawn: Diagram) -> str:
    """The report's block diagram in the notebook's colours."""
    parts = [*map(_wire, drawn.wires), *map(_box, drawn.boxes)]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawn.width:g} {drawn.height:g}" '
        f'style="max-width:{drawn.width:g}px" fill="none" stroke="currentColor" font-family="sans-serif" '
        f'font-size="12" text-anchor="middle">{"".join(parts)}</svg>'
    )


def _box(box: Box) -> str:
    lines = [line for line in box.lines if line]
    first = box.y + box.height / 2 + 4.5 - 16.5 * (len(lines) - 1) / 2
    texts = "".join(_text(box.x + box.width / 2, first + 16.5 * k, line) for k, line in enumerate(lines))
    dashes = ' stroke-dasharray="4 3"' if box.style == "end" else ""
    size = f'x="{box.x:g}" y="{box.y:g}" width="{box.width:g}" height="{box.height:g}"'
    return f'<g><title>{escape(box.title)}</title><rect {size} rx="7"{dashes}/>{texts}</g>'


def _wire(wire: Wire) -> str:
    path = f'<path d="{wire.path}m0 -4l7 4l-7 4"/>'
    texts = _text(wire.label_x, wire.label_y - 6, wire.above) + _text(wire.label_x, wire.label_y + 15, wire.below)
    return f"<g><title>{escape(wire.title)}</title>{path}{texts}</g>"


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" stroke="none" fill="currentColor">{escape(text)}</text>'


def fixed_label(fixed: Fixed | None) -> str:
    """`8.5`: 8 bits of which 5 are fractional."""
    return "" if fixed is None else f"{'' if fixed.signed else 'u'}{fixed.width}.{fixed.frac}"


def _node(design: Design, k: int) -> tuple[object, ...]:
    node = design.nodes[k]
    made = [design.component(name) for name in node.components]
    main = [component for component in made if component.name == node.name]
    costs = [component.cost() for component in made]
    types = [fixed_label(fixed) for fixed in (node.data_in, node.weight, node.bias, node.data_out)]
    interval = max((component.interval for component in made), default=0)
    latency = main[0].latency if main else 0
    figures = (sum(cost.logic for cost in costs), sum(cost.cells for cost in costs), sum(cost.ff for cost in costs))
    return (node.name, node.op, node.implementation, *types, interval, latency, *figures)
