"""The report as one document of plain values: the page, the picture and the terminal all show this and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mase_hw import __version__
from mase_hw.emit import Build
from mase_hw.report.front import front
from mase_hw.report.interface import axis_interface
from mase_hw.report.layers import flow, layers, saturated, type_text
from mase_hw.report.measured import measured
from mase_hw.report.proved import proved
from mase_hw.report.reading import said
from mase_hw.report.simulated import data_set_passed, simulated
from mase_hw.report.values import values
from mase_hw.simulate.check import accuracy
from mase_hw.simulate.whole import check_whole

SCHEMA = 1
PREDICTED = "Yosys' cells of a Xilinx UltraScale+, not a vendor's figure"


def document(build: Build, front_file: Path | None = None) -> dict[str, Any]:
    """All that is known of a build. What was not done says with which command it is."""
    check_whole(build)
    manifest = build.manifest
    synthesis, simulation, proof = measured(build), simulated(build), proved(build)
    return {
        "schema": SCHEMA,
        "build": str(build.path),
        "top": manifest["top"],
        "axis": axis_interface(build),
        "model": _model(build),
        "flow": flow(manifest),
        "layers": layers(manifest, synthesis),
        "saturated": saturated(manifest),
        "predicted": PREDICTED,
        "synthesis": {"targets": synthesis, "command": said("synth", build.path)},
        "accuracy": _accuracy(build, simulation),
        "values": values(build),
        "front": front(build, front_file),
        "simulation": simulation,
        "proof": proof,
        "tools": _tools(build, synthesis, simulation, proof),
    }


def _model(build: Build) -> dict[str, Any]:
    manifest = build.manifest
    config = manifest["config"]
    return {
        "project": config.get("project", manifest["top"]),
        "model": config.get("model"),
        "dataset": config.get("dataset"),
        "sources": {what: dict(source) for what, source in manifest.get("sources", {}).items()},
        "parameters_sha256": manifest["parameters"]["sha256"],
        "rtl_files": len(manifest["files"]),
        "interface": "axis" if "axis" in manifest else "stream",
        **{side: [{**port, "type": type_text(port)} for port in manifest[side]] for side in ("inputs", "outputs")},
    }


def _accuracy(build: Build, simulation: dict[str, Any]) -> dict[str, Any] | None:
    """The hardware's is that of the quantized model if, and only if, every output on the test split was equal."""
    software, samples = accuracy(build), build.samples
    if software is None or samples is None:
        return None
    same = data_set_passed(simulation, len(samples.labels))
    why = {
        "passed": "the simulation did not have the whole test split",
        "failed": "the simulation failed",
        "stopped": "the simulation was stopped",
        "stale": "the simulation is of other files",
        "unknown": "the simulation has no verdict",
        "none": "not simulated",
    }[simulation["design"]]
    hardware = software["quantized"] if same else None
    return {"samples": len(samples.labels), **software, "hardware": hardware, "why": "" if same else why}


def _tools(
    build: Build, synthesis: list[dict[str, Any]], simulation: dict[str, Any], proof: dict[str, Any]
) -> dict[str, dict[str, str]]:
    """Versions by what was done with them, as the files say."""
    found = {"emit": dict(build.manifest["tools"])}
    for bench in simulation["benches"]:
        if bench["bench"] == "design" and bench["tools"]:
            found["sim"] = bench["tools"]
    for entry in synthesis:
        if "tools" in entry:
            found["synth"] = entry["tools"]
    if proof["tools"]:
        found["prove"] = proof["tools"]
    return {**found, "report": {"mase-hw": __version__}}
