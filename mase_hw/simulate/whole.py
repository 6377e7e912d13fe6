"""Before a build is simulated: whether all that `emit` wrote is still there and can be read."""

from __future__ import annotations

import hashlib
from pathlib import Path
from zipfile import BadZipFile

from mase_hw.diagnostics import Collector
from mase_hw.emit import Build

_NEEDED = ("top", "files", "parameters", "inputs", "outputs", "nodes", "streams", "components")
# ValueError is also what a design's verifier raises; AssertionError what a component says of its own parameters.
_DAMAGED = (LookupError, TypeError, ValueError, AttributeError, AssertionError, OSError, OverflowError, BadZipFile)


def check_whole(build: Build) -> None:
    """Every missing or damaged file of the build as a Problem. RTL may have been edited: that is what is simulated."""
    hint = f"emit the build again: mase-hw emit model.toml --out {build.path}"
    with Collector() as problems:
        for key in _NEEDED:
            if key not in build.manifest:
                problems.add(f"{build.path / 'manifest.json'} has no {key}", hint=hint)
        problems.raise_if_any()
        try:
            parameters = build.path / build.manifest["parameters"]["path"]
            wanted = build.manifest["parameters"]["sha256"]
            for path in (*build.rtl, parameters):
                if not path.is_file():
                    problems.add(f"{path} is missing", hint=hint)
            if parameters.is_file() and _sha256(parameters) != wanted:
                problems.add(f"{parameters} is damaged: it is not the file that emit wrote", hint=hint)
            problems.raise_if_any()
            if not isinstance(build.design.name, str):
                raise TypeError("top is no name")
        except _DAMAGED as error:
            text = f"{build.path / 'manifest.json'} is damaged: {type(error).__name__}: {error}"
            problems.add(text, hint=hint)
            problems.raise_if_any()
        try:
            if build.samples is not None and not len(build.samples.x):
                raise ValueError("no samples")
        except _DAMAGED:
            problems.add(f"{build.path / 'sim' / 'samples.npz'} is damaged", hint=hint)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
