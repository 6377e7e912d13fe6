"""`export`: what can be asked for, checked, and written to a folder of its own, whole or not at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from mase_hw.diagnostics import Collector, Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.emit.build import replace_folder
from mase_hw.emit.written import check_written
from mase_hw.export.block import block_of
from mase_hw.export.fusesoc import fusesoc_core
from mase_hw.export.host import cpp_reference, python_reference
from mase_hw.export.ipxact import ipxact_component
from mase_hw.export.projects import FAMILIES, family_of, quartus_project, vivado_project
from mase_hw.simulate.whole import check_whole

Target = Literal["vivado", "quartus", "fusesoc", "ipxact", "cpp", "python"]
TARGETS: tuple[Target, ...] = get_args(Target)
MARKER = "export.json"  # in every folder that we wrote, and by which we know it again
HOST = ("cpp", "python")
CLOCK = 200.0  # MHz
MAX_CLOCK = 100_000.0
PARTS = {"vivado": "xczu3eg-sbva484-1-e", "fusesoc": "xczu3eg-sbva484-1-e", "quartus": "5CSXFC6D6F31C6"}
_PART = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_FAMILY = re.compile(r"[A-Za-z0-9][A-Za-z0-9 -]*")


@dataclass(frozen=True)
class ExportRequest:
    """What the user asks for; None leaves it to the target's default."""

    to: Target
    part: str | None = None
    family: str | None = None  # Quartus alone
    clock: float | None = None  # MHz


def export(build: Build, request: ExportRequest, out: Path | None = None) -> Path:
    """Writes the build for another tool to `out`, or to BUILD/export/TARGET, and says where."""
    check_whole(build)
    check_written(build)
    family = _check(request)
    path = out or build.results_folder("export") / request.to
    ours = (path / MARKER).is_file()
    if path.exists() and not ours and (not path.is_dir() or any(path.iterdir())):
        hint = "choose another folder with --out, or delete it"
        raise ProblemsError(Problem(f"{path} exists and is not an export of mase-hw", hint=hint))
    contents = _contents(build, request, family)
    marker = {"schema": 1, "to": request.to, "top": block_of(build).top, "files": sorted(contents)}
    replace_folder(path, {**contents, MARKER: (json.dumps(marker, indent=2) + "\n").encode()})
    return path


def _contents(build: Build, request: ExportRequest, family: str) -> Mapping[str, bytes]:
    if request.to == "cpp":
        return cpp_reference(build)
    if request.to == "python":
        return python_reference(build)
    block, part, clock = block_of(build), request.part or PARTS.get(request.to, ""), request.clock or CLOCK
    if request.to == "vivado":
        return vivado_project(block, part, clock)
    if request.to == "quartus":
        return quartus_project(block, part, family, clock)
    if request.to == "fusesoc":
        return fusesoc_core(block, part, clock)
    return ipxact_component(block, clock)


def _check(request: ExportRequest) -> str:
    """Everything that is wrong with the request; the Quartus family where nothing is."""
    part = request.part
    family = request.family or family_of(part or PARTS["quartus"]) or ""
    with Collector() as problems:
        if request.clock is not None and request.to in HOST:
            problems.add(f"--clock has no meaning for {request.to}", hint="leave it out; a host model has no cycles")
        elif request.clock is not None and not 0 < request.clock < MAX_CLOCK:
            problems.add(f"--clock {request.clock:g} is no frequency in MHz", hint="for example --clock 200")
        if part is not None and request.to not in PARTS:
            problems.add(f"--part has no meaning for {request.to}", hint=f"leave it out; it is for {', '.join(PARTS)}")
        elif part is not None and not _PART.fullmatch(part):
            problems.add(f"--part {part} is not the name of a device", hint=f"for example {PARTS[request.to]}")
        if request.family is not None and request.to != "quartus":
            problems.add(f"--family has no meaning for {request.to}", hint="leave it out; it is for quartus")
        elif request.family is not None and not _FAMILY.fullmatch(request.family):
            problems.add(f"--family {request.family} is not the name of a family", hint='for example "Cyclone V"')
        if request.to == "quartus" and not family:
            known = ", ".join(sorted(set(FAMILIES.values())))
            hint = f"name it: --family NAME; devices are known of {known}"
            problems.add(f"--part {part}: the family of this device is not known", hint=hint)
    return family
