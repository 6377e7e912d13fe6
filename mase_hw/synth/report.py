"""What a synthesis leaves in a build: report/synth-<target>.json, which says of which RTL it speaks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from mase_hw import __version__
from mase_hw.cost.cost import Cost
from mase_hw.emit import Build
from mase_hw.files import write_whole
from mase_hw.synth.pnr import Routed
from mase_hw.synth.results import Synthesis, Usage
from mase_hw.untrusted import Folder, RefusedError, parse_json

SCHEMA = 2  # since 2 there are `sites`


def report_path(build: Build, target: str) -> Path:
    return build.path / "report" / f"synth-{target}.json"


def document(build: Build, synthesis: Synthesis, routed: Routed | None = None) -> dict[str, Any]:
    """Everything that was measured, by what, from what."""
    kinds = {entry["name"]: entry["kind"] for entry in build.manifest["components"]}
    predicted = predictions(build.manifest)
    components = []
    for name, usage in synthesis.components.items():
        entry = {"name": name, "kind": kinds[name], **_usage(usage)}
        components.append({**entry, **({"predicted": asdict(predicted[name])} if name in predicted else {})})
    result: dict[str, Any] = {
        "schema": SCHEMA,
        "top": synthesis.top,
        "target": synthesis.target,
        "dsp": synthesis.dsp,
        "total": _usage(synthesis.whole),
        "components": components,
        "outside": _usage(synthesis.outside) if synthesis.outside else None,
        "pnr": routed.document() if routed else None,
        "seconds": round(synthesis.seconds, 3),
        "scripts": dict(synthesis.scripts),
        "rtl": dict(synthesis.sources),
        "tools": {"mase-hw": __version__, "pyosys": version("pyosys"), "yosys": synthesis.tool},
    }
    return result


def write_report(build: Build, content: Mapping[str, Any]) -> Path:
    """Writes the report as a whole or not at all; an older one is replaced."""
    build.results_folder("report")
    path = report_path(build, content["target"])
    write_whole(path, json.dumps(content, indent=2) + "\n")
    return path


def read_report(build: Build, target: str) -> dict[str, Any] | None:
    """The build's report for a target; None where there is none, or where the RTL has changed since."""
    now = {name: build.sha256(name) for name in build.rtl_names}
    try:
        content = parse_json(Folder(build.path).read(f"report/{report_path(build, target).name}"))
    except (OSError, RefusedError):
        return None
    current = isinstance(content, dict) and content.get("schema") == SCHEMA and content.get("rtl") == now
    return content if current else None


def predictions(manifest: Mapping[str, Any]) -> dict[str, Cost]:
    """The predicted cost of each component that the manifest gives one for."""
    return {entry["name"]: Cost(**entry["cost"]) for entry in manifest["components"] if entry.get("cost")}


def uses_dsp(manifest: Mapping[str, Any]) -> bool:
    """Whether a component was built to use DSP blocks."""
    asked = any(entry["values"].get("use_dsp") for entry in manifest["components"])
    return asked or any(cost.dsp for cost in predictions(manifest).values())


def _usage(usage: Usage) -> dict[str, Any]:
    return {**asdict(usage.cost), "other": usage.other, "cells": dict(usage.cells), "path": asdict(usage.path)}
