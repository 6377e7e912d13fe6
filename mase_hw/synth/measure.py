"""A build's synthesis from beginning to end: cells, place and route where asked for, the report in the build."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase_hw.emit import Build
from mase_hw.emit.written import check_written
from mase_hw.simulate.whole import check_whole
from mase_hw.synth.pnr import Routed, find_nextpnr, route
from mase_hw.synth.process import Progress
from mase_hw.synth.report import document, uses_dsp, write_report
from mase_hw.synth.synthesis import synthesize
from mase_hw.synth.targets import NETLIST, TARGETS

ROUTING = "placing and routing: minutes, for a large design many of them"


@dataclass(frozen=True)
class Measured:
    """The report, as in its file, and what place and route found."""

    content: dict[str, Any]
    path: Path
    routed: Routed | None


def measure(
    build: Build,
    target: str = "xcup",
    *,
    dsp: bool | None = None,
    flat: bool = False,
    pnr: bool = False,
    timeout: float | None = None,
    progress: Progress = lambda text: None,
    note: Progress = lambda text: None,
) -> Measured:
    """Maps a build to `target` and counts its cells. `dsp` None: DSP blocks if a component was built for them.

    `note` is told what stays on the screen, `progress` what happens just now.
    """
    check_whole(build)
    check_written(build)
    if pnr:
        find_nextpnr()  # a missing tool is said before minutes have passed
    if dsp is None:
        dsp = uses_dsp(build.manifest) and target in TARGETS and TARGETS[target].with_dsp is not None
    names = [] if flat else [entry["name"] for entry in build.manifest["components"]]
    with tempfile.TemporaryDirectory(prefix="mase-hw-synth-") as folder:
        synthesis = synthesize(
            build.rtl,
            build.manifest["top"],
            target,
            dsp=dsp,
            keep_components=names,
            timeout=timeout,
            progress=lambda text: progress(f"synthesizing for {target}: {text}"),
            work=Path(folder),
        )
        routed = None
        if pnr:
            note(ROUTING)
            netlist, clock = Path(folder) / "flat" / NETLIST, build.manifest["clock"]
            routed = route(netlist, synthesis.total, clock=clock, timeout=timeout, progress=progress)
        content = document(build, synthesis, routed)
        return Measured(content, write_report(build, content), routed)
