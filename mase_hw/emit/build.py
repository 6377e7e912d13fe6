"""The build folder: written beside its place and renamed into it when it is whole."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mase_hw import __version__
from mase_hw.config.hardware import Interface
from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit.axis import axis_top, render_axis
from mase_hw.emit.manifest import SCHEMA
from mase_hw.emit.reading import MANIFEST, Build, Reals, Samples, read_build
from mase_hw.emit.render import render
from mase_hw.emit.sources import refuse_other_toml, sha256_of, toml_path
from mase_hw.emit.store import save_design
from mase_hw.ir import Design, Stream
from mase_hw.numerics.saturation import totals
from mase_hw.untrusted import Folder, RefusedError, parse_json


def write_build(
    path: Path,
    design: Design,
    config: Mapping[str, Any],
    samples: Samples | None,
    sources: Mapping[str, Path] | None = None,
    interface: Interface = "stream",
    reals: Reals | None = None,
    floats: Mapping[str, np.ndarray] | None = None,
    saturated: Mapping[str, Mapping[str, Any]] | None = None,
    *,
    replace: bool = False,
) -> Build:
    """Writes the whole build, or nothing. An older build at `path` is replaced; anything else there is left alone, and
    so is the build of another TOML, unless `replace` allows it.

    `sources` are the files that it was made from, by what they are; the manifest holds their names and SHA-256.
    With the interface `axis` the build has one more module, around the design's top. `floats` are the float model's
    values at the input and behind each node for the first samples, in the streams' order; reports compare with them.
    `saturated` has, by node, the counts of parameters that saturate in their types.
    """
    toml = (sources or {}).get("config")
    check_place(path, None if replace else toml)
    design_values, arrays = save_design(design)
    axis = axis_top(design) if interface == "axis" else None
    rtl = render(design) | (render_axis(design) if axis else {})
    texts = {f"rtl/{name}": text for name, text in rtl.items()}
    contents: dict[str, bytes] = {name: text.encode() for name, text in texts.items()}
    contents["rtl/files.f"] = "".join(f"{name.removeprefix('rtl/')}\n" for name in texts).encode()
    contents["parameters.npz"] = _npz(arrays)
    if samples is not None:
        contents["sim/samples.npz"] = _npz(samples.arrays())
    if floats:
        contents["sim/floats.npz"] = _npz(floats)
    manifest = {
        "schema": SCHEMA,
        "top": design.name,
        "clock": "clk",
        "reset": "rst",
        "files": [{"path": name, "sha256": _sha256(contents[name])} for name in texts],
        **({"toml": told} if (told := toml_path(toml, path)) else {}),
        "sources": {what: {"name": file.name, "sha256": sha256_of(file)} for what, file in (sources or {}).items()},
        "parameters": {"path": "parameters.npz", "sha256": _sha256(contents["parameters.npz"])},
        **port_entries(design, reals),
        **({"axis": axis.manifest()} if axis else {}),
        **({"reals": reals.manifest()} if reals else {}),
        "interval": _exact(design.schedule.interval),
        "latency": design.schedule.latency,
        "cost": asdict(design.cost()),
        **({"saturated": totals(saturated)} if saturated else {}),
        "nodes": [_node(design, k, saturated or {}) for k in range(len(design.nodes))],
        **design_values,
        "config": config,
        "tools": {"mase-hw": __version__, **{name: version(name) for name in ("jinja2", "numpy", "torch")}},
    }
    contents["manifest.json"] = (json.dumps(manifest, indent=2) + "\n").encode()
    replace_folder(path, contents)
    return read_build(path)


def check_place(path: Path, toml: Path | None = None) -> None:
    """A Problem if `path` is something else than a build; with `toml`, also if it is the build of another TOML."""
    ours = all((path / name).is_file() for name in ("manifest.json", "rtl/files.f"))  # others have a manifest.json too
    if path.exists() and not ours and (not path.is_dir() or any(path.iterdir())):
        hint = "choose another folder with --out, or delete it"
        raise ProblemsError(Problem(f"{path} exists and is not a build of mase-hw", hint=hint))
    if not ours or toml is None:
        return
    try:
        manifest = parse_json(Folder(path).read(MANIFEST))
    except (OSError, RefusedError):
        return  # damaged: a new build is what it needs
    if isinstance(manifest, dict):
        refuse_other_toml(manifest, path, toml)


def replace_folder(path: Path, contents: Mapping[str, bytes]) -> None:
    """Puts a folder with these files in the place of `path`, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    except OSError as error:
        hint = f"choose another place: --out FOLDER, where {path.parent} can be made and written"
        raise ProblemsError(Problem(f"{path} cannot be written: {error.strerror}", hint=hint)) from None
    try:
        new = aside / "new"
        for name, content in contents.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(content)
        if path.exists():
            os.rename(path, aside / "old")
        os.rename(new, path)
    finally:
        if (aside / "old").exists() and not path.exists():
            os.rename(aside / "old", path)  # interrupted between the two: the old build stays
        shutil.rmtree(aside, ignore_errors=True)


def _npz(arrays: Mapping[str, Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, allow_pickle=False, **arrays)
    return file.getvalue()


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _exact(interval: Any) -> int | float:
    return int(interval) if interval.denominator == 1 else float(interval)


def port_entries(design: Design, reals: Reals | None) -> dict[str, Any]:
    """What the manifest says of all ports."""
    said = {"inputs": [port_entry(stream) for stream in design.inputs]}
    said["outputs"] = [port_entry(stream) for stream in design.outputs]
    if reals is None or not reals.scaled:
        return said
    values = {"inputs": [None if each is None else each.values for each in reals.codes], "outputs": reals.values}
    return {
        side: [
            entry if each is None else {**entry, **each.port()}
            for entry, each in zip(said[side], values[side], strict=True)
        ]
        for side in said
    }


def port_entry(stream: Stream) -> dict[str, Any]:
    """What the manifest says of a port, but for its scale."""
    shape = {
        "frame": list(stream.frame),
        "features": stream.features,
        "lanes": stream.lanes,
        "beats": stream.sample_beats,
    }
    return {"name": stream.name, **shape, **asdict(stream.fixed)}


def _node(design: Design, k: int, saturated: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    node = design.nodes[k]
    made = [design.component(name) for name in node.components]
    main = [component for component in made if component.name == node.name]
    return {
        **asdict(node),
        "interval": max((component.interval for component in made), default=0),
        "latency": main[0].latency if main else 0,
        "cost": asdict(sum((component.cost() for component in made), Cost())),
        **({"saturated": saturated[node.name]} if node.name in saturated else {}),
    }
