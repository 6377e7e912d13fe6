"""What other commands would have left in a build: the same files, written by their own code, without their work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mase_hw.emit import Build
from mase_hw.prove.certificate import CLAIMS, OF_THE_WHOLE, write_certificate
from mase_hw.prove.claims.claim import Claim, Status
from mase_hw.prove.prove import Proof
from mase_hw.simulate.outcome import Mismatch, Outcome, PatternResult, StreamResult
from mase_hw.simulate.verdict import begin
from mase_hw.synth.report import SCHEMA, write_report


def leave_simulation(
    build: Build, *, failures: tuple[str, ...] = (), stopped: bool = False, data: bool = True, wrong: int = 0
) -> Path:
    """The design's bench in two patterns; `wrong` outputs differ."""
    folder = build.path / "sim" / "design"
    folder.mkdir(parents=True, exist_ok=True)
    samples = len(build.samples.x) if build.samples else 0
    groups = [("data set", samples), ("random", 8)] if data else [("random", 8)]
    vectors = sum(count for _, count in groups)
    patterns = tuple(_pattern(name, vectors, wrong, bool(failures)) for name in ("none", "both"))
    pending = begin(build, folder, "design", "cocotb", 0)
    results = {"schema": 1, "torch_imported": False, "patterns": [asdict(pattern) for pattern in patterns]}
    (folder / "results.json").write_text(json.dumps(results))
    passed = not failures and not stopped
    outcome = Outcome(passed, failures, patterns, False, folder / "sim.log", None, 1.0, 1.0, stopped)
    pending.write(groups, outcome)
    return folder


def _pattern(name: str, vectors: int, wrong: int, failed: bool) -> PatternResult:
    mismatch = Mismatch(0, 0, 0, 1, 2, 9) if wrong else None
    compared = 3 * vectors
    stream = StreamResult(
        "data_out_0", "fc2", "output", vectors, vectors, compared, compared - wrong, mismatch, None, True, None, None
    )
    return PatternResult(name, not failed, None, vectors, None, 400, 390, 12, 6, 0.1, (stream,))


def leave_certificate(build: Build, changed: Mapping[tuple[str, str], Status] | None = None) -> Path:
    """Every claim proved, but for those that are `changed`."""
    wanted = [(entry["name"], about) for entry in build.manifest["components"] for about in CLAIMS]
    wanted += [(build.manifest["top"], about) for about in OF_THE_WHOLE]
    wanted += [(build.manifest["axis"]["top"], "axis")] if "axis" in build.manifest else []
    claims = []
    for component, about in wanted:
        status = (changed or {}).get((component, about), "proved")
        claims.append(Claim(component, about, status, "exhaustion" if status == "proved" else "", f"{status} here"))
    return write_certificate(build, Proof(tuple(claims)))


def leave_synthesis(build: Build, target: str = "xcup") -> Path:
    """A hundred LUTs on 150 sites, and one more as memory, for each component."""
    usage: dict[str, Any] = {
        "sites": 150,
        "lut": 100,
        "lutram": 1,
        "ff": 20,
        "carry": 3,
        "dsp": 0,
        "bram": 0,
        "depth": 4,
    }
    names = [entry["name"] for entry in build.manifest["components"]]
    content = {
        "schema": SCHEMA,
        "target": target,
        "dsp": False,
        "total": {**usage, "sites": 998, "lut": 777},
        "components": [{"name": name, **usage} for name in names],
        "outside": None,
        "pnr": None,
        "rtl": {name: build.sha256(name) for name in build.rtl_names},
        "tools": {"yosys": "Yosys 0.99"},
    }
    return write_report(build, content)


def edit_rtl(build: Build) -> str:
    """One byte more in a file of the RTL; its name."""
    file = build.places[-1]
    file.write_text(file.read_text() + "\n")
    return file.relative_to(build.path).as_posix()
