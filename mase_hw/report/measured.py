"""What Yosys counted of a build: report/synth-<target>.json, if it speaks of the RTL that is there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from mase_hw.emit import Build
from mase_hw.report.reading import DAMAGED, changed, read_table, said
from mase_hw.synth.report import SCHEMA

_NAME = re.compile(r"synth-[a-z0-9]+\.json")
FIGURES = ("sites", "lut", "ff", "dsp", "bram")


def measured(build: Build) -> list[dict[str, Any]]:
    """Every target's report, by target."""
    now = {name: build.sha256(name) for name in build.rtl_names}
    found = [path.name for path in sorted((build.path / "report").glob("synth-*.json"))]
    return [_target(build, name, now) for name in found if _NAME.fullmatch(name)]


def _target(build: Build, name: str, now: dict[str, str]) -> dict[str, Any]:
    target = name.removeprefix("synth-").removesuffix(".json")
    content = read_table(build.path, f"report/{name}", SCHEMA)
    again = said("synth", build.path, "--target", target)
    entry: dict[str, Any] = {"target": target, "status": "unknown", "why": "", "command": again}
    if not isinstance(content, dict):
        return {**entry, "why": content or f"{name} is gone"}
    try:
        if differ := changed(content["rtl"], now):
            return {**entry, "status": "stale", "why": f"changed since it was synthesized: {', '.join(differ)}"}
        routed = content["pnr"]
        return {
            **entry,
            "status": "measured",
            "dsp_blocks": bool(content["dsp"]),
            "total": figures([content["total"]]),
            "depth": int(content["total"]["depth"]),
            "components": {str(row["name"]): figures([row]) for row in content["components"]},
            "outside": figures([content["outside"]]) if content["outside"] else None,
            "fmax_mhz": float(routed["fmax_mhz"]) if routed else None,
            "tools": {name: str(text) for name, text in content["tools"].items()},
        }
    except DAMAGED as error:
        return {**entry, "why": f"{name} is damaged: {type(error).__name__}: {error}"}


def figures(costs: Iterable[dict[str, Any]]) -> dict[str, int]:
    """The figures of a table, summed; LUTs used as memory are LUTs."""
    rows = list(costs)
    sums = {key: sum(int(row[key]) for row in rows) for key in FIGURES}
    memory = sum(int(row["lutram"]) for row in rows)
    return {**sums, **{key: sums[key] + memory for key in ("sites", "lut")}}
