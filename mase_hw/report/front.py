"""The Pareto front that `mase-hw explore` wrote, with the build's own design beside it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.report.measured import figures
from mase_hw.report.reading import DAMAGED, read_table

NAME = "front.json"


def front(build: Build, asked: Path | None = None) -> dict[str, Any]:
    """The file `asked` for, or the one where `explore` writes it for the build's project, seen from this folder."""
    config: Mapping[str, Any] = build.manifest["config"]
    project = str(config.get("project", ""))
    toml = build.manifest.get("sources", {}).get("config", {}).get("name", "model.toml")
    entry: dict[str, Any] = {"status": "none", "why": "", "file": None, "points": [], "own": _own(build)}
    entry["command"] = shlex.join(["mase-hw", "explore", str(toml)])
    usual = _usual(str(config.get("project_dir") or "mase_output"), project)
    path = asked or usual
    path = path / NAME if path.is_dir() else path
    content = read_table(path.resolve().parent, path.name)
    if content is None and asked is not None:
        raise ProblemsError(Problem(f"{asked} is not there", hint=f"{entry['command']} writes a {NAME}"))
    if content is None:
        return {**entry, "why": f"{usual} is not there"}
    entry["file"] = str(path)
    try:
        if isinstance(content, str):
            return {**entry, "status": "unknown", "why": content}
        if asked is None and content["project"] != project:
            return {**entry, "status": "unknown", "why": f"{path} is of the project {content['project']}"}
        return {**entry, "status": "explored", "points": [_point(point) for point in content["points"]]}
    except DAMAGED as error:
        return {**entry, "status": "unknown", "why": f"{path} is damaged: {type(error).__name__}: {error}"}


def _usual(folder: str, project: str) -> Path:
    """A build from elsewhere names no file that lies elsewhere."""
    place = Path(folder) / project
    inside = not place.is_absolute() and ".." not in place.parts
    return (place if inside else Path("mase_output")) / "hardware" / NAME


def _point(point: Mapping[str, Any]) -> dict[str, Any]:
    chosen = {str(name): _told(choice) for name, choice in point["nodes"].items()}
    cycles = {"interval": float(point["interval"]), "latency": int(point["latency"])}
    if not 0 < cycles["interval"] < math.inf:
        raise ValueError(f"an interval of {cycles['interval']}")
    return {**cycles, **figures([point["cost"]]), "chosen": chosen}


def _told(choice: Mapping[str, Any]) -> str:
    """`folded 8x8 DSP`, `serial 2`, `unrolled`."""
    text = str(choice["implementation"])
    if choice.get("array_in"):
        text += f" {choice['array_in']}x{choice['array_out']}"
    elif choice.get("digit_bits"):
        text += f" {choice['digit_bits']}"
    return text + (" DSP" if choice.get("use_dsp") else "")


def _own(build: Build) -> dict[str, Any]:
    cycles = {"interval": float(build.manifest["interval"]), "latency": int(build.manifest["latency"])}
    return {**cycles, **figures([build.manifest["cost"]])}
