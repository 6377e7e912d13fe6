"""report_node_meta_param_analysis_pass: the metadata of every node as tables, one for each part."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from torch import Tensor

from mase_hw.config.table import nearest, shown
from mase_hw.diagnostics import Collector
from mase_hw.graph import MaseGraph, get_mase_op, get_mase_type
from mase_hw.passes.analysis.init_metadata import metadata_of
from mase_hw.passes.analysis.tables import text_table

PARTS = ("common", "software", "hardware")
_COLUMNS = ("Node name", "Fx Node op", "Mase type", "Mase op")
_FEW = 8  # values of a tensor that are shown one by one


def report_node_meta_param_analysis_pass(
    graph: MaseGraph, pass_args: Mapping[str, Any] | None = None
) -> tuple[MaseGraph, dict[str, Any]]:
    """Prints the tables. `which` is "all" (the default) or some of `PARTS`; `save_path` also writes them to a file.

    `info["text"]` is what was printed.
    """
    args = dict(pass_args or {})
    with Collector() as problems:
        parts = _parts(args.get("which", "all"), problems)
        for key in args:
            if key not in ("which", "save_path"):
                hint = nearest(key, ("which", "save_path"), "known")
                problems.add(f"report_node_meta_param_analysis_pass: unknown key {key}", hint=hint)
    tables = []
    for part in parts:
        rows = [
            (node.name, node.op, get_mase_type(node), get_mase_op(node), "\n".join(_lines(metadata[part])))
            for node in graph.fx_graph.nodes
            for metadata in [metadata_of(node, graph)]
        ]
        tables.append(text_table(f"{part} parameters", (*_COLUMNS, f"{part.capitalize()} Param"), rows))
    text = "\n".join(tables)
    print(text)
    if args.get("save_path") is not None:
        path = Path(args["save_path"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return graph, {"text": text}


def _parts(which: Any, problems: Collector) -> tuple[str, ...]:
    words = [which] if isinstance(which, str) else which
    if not isinstance(words, list | tuple | set | frozenset):
        problems.add(f"which = {shown(which)} is not a tuple", hint='"all", or some of ' + ", ".join(PARTS))
        return ()
    for word in words:
        if word not in (*PARTS, "all"):
            problems.add(f"which: {shown(word)} is unknown", hint=nearest(str(word), (*PARTS, "all"), "allowed"))
    return PARTS if "all" in words else tuple(part for part in PARTS if part in words)


def _lines(values: Mapping[str, Any], indent: str = "") -> list[str]:
    """A nested dict, one value a line."""
    lines: list[str] = []
    for key, value in values.items():
        if isinstance(value, Mapping) and value:
            lines += [f"{indent}{key}:", *_lines(value, indent + "  ")]
        else:
            lines.append(f"{indent}{key}: {_short(value)}")
    return lines


def _short(value: Any) -> str:
    if isinstance(value, Tensor):
        if value.numel() <= _FEW:
            return str([round(number, 6) for number in value.detach().flatten().tolist()])
        return f"tensor of shape {list(value.shape)}"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
