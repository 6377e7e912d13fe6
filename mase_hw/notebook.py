"""HTML for notebooks: tables, and a chain of blocks as inline SVG. Everything that is shown is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from mase_hw.ir import Component, Design, Stream
from mase_hw.numerics import Fixed

if TYPE_CHECKING:
    from mase_hw.graph import MaseGraph
    from mase_hw.prove.prove import Proof

WIDE, HIGH, GAP, LINE = 132, 46, 96, 92  # of a block; between blocks; from row to row
ROW = 4  # blocks in a row
_SENTENCE = 40  # letters from which a text is one
_SHORT = 18  # letters that fit into a block


def design_html(design: Design) -> str:
    """A diagram of the components and the streams between them, a table of the nodes, the figures in all."""
    blocks = [(component.name, _kind(component)) for component in design.components]
    labels = [stream_label(stream) for stream in design.streams]
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
            chain_svg(blocks, labels),
            table(columns, (_node(design, k) for k in range(len(design.nodes)))),
        ]
    )


def graph_html(graph: MaseGraph) -> str:
    """A table of the nodes; types and shapes where passes have written them into the metadata."""
    from mase_hw.graph import MaseMetadata, get_mase_op, get_node_place

    rows = []
    for node in graph.nodes:
        metadata = node.meta.get("mase")
        common = metadata.common if isinstance(metadata, MaseMetadata) else {}
        results, arguments = common.get("results", {}), common.get("args", {})
        shapes = [entry["shape"] for entry in results.values() if entry.get("shape") is not None]
        types = [
            f"{name} {_precision(entry)}" for name, entry in arguments.items() if entry.get("type", "float") != "float"
        ]
        place = get_node_place(node)
        reads = ", ".join(source.name for source in node.all_input_nodes)
        at = f"{place.path.name}:{place.line}" if place else ""
        shape = " ".join(str(tuple(shape[1:])) for shape in shapes)  # of a sample
        rows.append((node.name, get_mase_op(node), reads, shape, ", ".join(types), at))
    return table(("node", "op", "reads", "shape", "types", "line"), rows)


def proof_html(proof: Proof) -> str:
    """How many claims are proved, and a table of all."""
    proved = sum(claim.status == "proved" for claim in proof.claims)
    words = {"proved": "proved", "refuted": "FALSE", "open": "not proved"}
    rows = [(c.component, c.about, words[c.status], c.method or c.detail) for c in proof.claims]
    head = f"<div><b>{proved} of {len(proof.claims)}</b> claims proved, for every input</div>"
    return head + table(("component", "about", "", "how"), rows)


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A plain table; the notebook's own style applies."""
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    lines = ("".join(_cell(str(cell)) for cell in row) for row in rows)
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(text: str) -> str:
    """Notebooks set cells right, which is for numbers and names; sentences are set left."""
    side = ' style="text-align:left"' if len(text) > _SENTENCE else ""
    return f"<td{side}>{escape(text)}</td>"


def chain_svg(blocks: Sequence[tuple[str, str]], labels: Sequence[str]) -> str:
    """Blocks (name, what it is) from left to right, in rows; `labels` stand on the arrows, one more than blocks."""
    assert len(labels) == len(blocks) + 1
    rows = -(-len(blocks) // ROW)
    width = GAP + min(len(blocks), ROW) * (WIDE + GAP)
    parts = []
    for k, (name, kind) in enumerate(blocks):
        x, y = GAP + k % ROW * (WIDE + GAP), 24 + k // ROW * LINE
        parts += [_arrow(x - GAP, y, labels[k]), _block(x, y, name, kind)]
        if k == len(blocks) - 1 or k % ROW == ROW - 1:  # the last of a row: its arrow leaves it, and comes in below
            parts.append(_arrow(x + WIDE, y, labels[k + 1]))
    height = 24 + rows * LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
        f'fill="none" stroke="currentColor" font-family="sans-serif" font-size="11" text-anchor="middle">'
        f"{''.join(parts)}</svg>"
    )


def _block(x: int, y: int, name: str, kind: str) -> str:
    rows = ((name, 20), (kind, 35))
    texts = "".join(_text(x + WIDE // 2, y + down, _short(text)) for text, down in rows)
    title = f"<title>{escape(name)}: {escape(kind)}</title>"
    return f'<g>{title}<rect x="{x}" y="{y}" width="{WIDE}" height="{HIGH}" rx="5"/>{texts}</g>'


def _arrow(x: int, y: int, label: str) -> str:
    middle, tip = y + HIGH // 2, x + GAP - 2
    line = f'<path d="M{x + 2} {middle}H{tip}m-6 -4l6 4l-6 4"/>'
    return line + "".join(_text(x + GAP // 2, middle - 5 + 16 * k, part) for k, part in enumerate(label.split("\n")))


def _text(x: int, y: int, text: str) -> str:
    return f'<text x="{x}" y="{y}" stroke="none" fill="currentColor">{escape(text)}</text>'


def _short(text: str) -> str:
    return text if len(text) <= _SHORT else text[: _SHORT - 1] + "…"


def stream_label(stream: Stream) -> str:
    """Its type, and below its lanes of how many elements."""
    return f"{fixed_label(stream.fixed)}\n{stream.lanes} of {stream.features}"


def fixed_label(fixed: Fixed | None) -> str:
    """`8.5`: 8 bits of which 5 are fractional."""
    return "" if fixed is None else f"{'' if fixed.signed else 'u'}{fixed.width}.{fixed.frac}"


def _kind(component: Component) -> str:
    return component.kind.replace("_", " ")


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


def _precision(entry: dict[str, object]) -> str:
    precision = entry.get("precision")
    return ".".join(map(str, precision)) if isinstance(precision, list | tuple) else str(entry.get("type"))
