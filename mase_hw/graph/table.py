"""The nodes of a graph as a table, for notebooks."""

from __future__ import annotations

from collections.abc import Iterable

from torch import fx

from mase_hw.graph.metadata import MaseMetadata, get_mase_op, get_node_place
from mase_hw.html import table


def graph_html(nodes: Iterable[fx.Node]) -> str:
    """A table of the nodes; types and shapes where passes have written them into the metadata."""
    rows = []
    for node in nodes:
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


def _precision(entry: dict[str, object]) -> str:
    precision = entry.get("precision")
    return ".".join(map(str, precision)) if isinstance(precision, list | tuple) else str(entry.get("type"))
