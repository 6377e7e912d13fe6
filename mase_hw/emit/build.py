"""The build folder: written beside its place and renamed into it when it is whole; read back without torch."""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from mase_hw import __version__
from mase_hw.config.hardware import Interface
from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit.axis import AxisTop, axis_top, render_axis
from mase_hw.emit.render import render
from mase_hw.emit.sources import refuse_other_toml, sha256_of, toml_path
from mase_hw.emit.store import load_design, save_design
from mase_hw.ir import Design, Stream
from mase_hw.numerics import Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.numerics.saturation import totals

SCHEMA = 2


@dataclass(frozen=True)
class Samples:
    """The data set's test split as the design sees it, and what the software made of it."""

    inputs: tuple[Integers, ...]  # [samples * positions, features] of each input's type
    outputs: tuple[Integers, ...]  # the same of each output, from the quantized torch model
    labels: Integers
    float_labels: Integers  # what the float model says

    @property
    def x(self) -> Integers:
        """The first input's vectors."""
        return self.inputs[0]

    @property
    def y(self) -> Integers:
        """The first output's vectors, of which the largest element is the class."""
        return self.outputs[0]

    def arrays(self) -> dict[str, Integers]:
        """By the names that they have in the build folder: x, x_1, ..., y, y_1, ..."""
        sides = {"x": self.inputs, "y": self.outputs}
        ports = {f"{key}_{k}" if k else key: rows for key, side in sides.items() for k, rows in enumerate(side)}
        return {**ports, "labels": self.labels, "float_labels": self.float_labels}

    @staticmethod
    def of(arrays: Mapping[str, Integers], inputs: int, outputs: int) -> Samples:
        sides = [
            tuple(arrays[f"{key}_{k}" if k else key] for k in range(count))
            for key, count in (("x", inputs), ("y", outputs))
        ]
        return Samples(sides[0], sides[1], arrays["labels"], arrays["float_labels"])


@dataclass(frozen=True)
class Reals:
    """How a sample in real numbers becomes the vectors of an input, and how an output's are read, port by port.

    Element `k` of a stream is element `order[k]` of the model's flattened tensor; None: the same order.
    """

    roundings: tuple[Rounding, ...] = (Rounding.HALF_EVEN,)  # one for each input
    input_orders: tuple[tuple[int, ...] | None, ...] = (None,)
    output_orders: tuple[tuple[int, ...] | None, ...] = (None,)

    @property
    def rounding(self) -> Rounding:
        """Of the first input."""
        return self.roundings[0]

    @property
    def input_order(self) -> tuple[int, ...] | None:
        """Of the first input."""
        return self.input_orders[0]

    @property
    def output_order(self) -> tuple[int, ...] | None:
        """Of the first output."""
        return self.output_orders[0]

    def manifest(self) -> dict[str, Any]:
        """The first port's by themselves, as ever, and all of them."""
        first = {"rounding": self.rounding, "input_order": self.input_order, "output_order": self.output_order}
        return {**first, **asdict(self)}


@dataclass(frozen=True)
class Build:
    """A build folder on disk."""

    path: Path
    manifest: Mapping[str, Any] = field(repr=False)  # thousands of lines in a notebook

    @cached_property
    def design(self) -> Design:
        with np.load(self.path / "parameters.npz", allow_pickle=False) as arrays:
            return load_design(self.manifest, dict(arrays))

    @cached_property
    def samples(self) -> Samples | None:
        path = self.path / "sim" / "samples.npz"
        if not path.exists():
            return None
        with np.load(path, allow_pickle=False) as arrays:
            return Samples.of(arrays, len(self.manifest["inputs"]), len(self.manifest["outputs"]))

    @cached_property
    def floats(self) -> dict[str, np.ndarray]:
        """What the float model has for the first samples: at the `input`, and behind each `node.<name>`."""
        path = self.path / "sim" / "floats.npz"
        if not path.exists():
            return {}
        with np.load(path, allow_pickle=False) as arrays:
            return dict(arrays)

    @cached_property
    def axis(self) -> AxisTop | None:
        """The AXI4-Stream top, where the build has one."""
        return axis_top(self.design) if "axis" in self.manifest else None

    @property
    def reals(self) -> Reals:
        """What `emit` noted of it; a build made without says the usual."""
        noted = self.manifest.get("reals")
        if noted is None:
            inputs, outputs = len(self.manifest["inputs"]), len(self.manifest["outputs"])
            return Reals((Rounding.HALF_EVEN,) * inputs, (None,) * inputs, (None,) * outputs)
        orders = [
            tuple(None if order is None else tuple(order) for order in noted[key])
            for key in ("input_orders", "output_orders")
        ]
        return Reals(tuple(Rounding(name) for name in noted["roundings"]), *orders)

    @property
    def rtl(self) -> list[Path]:
        """The SystemVerilog files in compile order."""
        return [self.path / entry["path"] for entry in self.manifest["files"]]


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
        "inputs": [_port(stream) for stream in design.inputs],
        "outputs": [_port(stream) for stream in design.outputs],
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
        manifest = json.loads((path / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError):
        return  # damaged: a new build is what it needs
    if isinstance(manifest, dict):
        refuse_other_toml(manifest, path, toml)


def read_build(path: Path) -> Build:
    """The build at `path`; a folder that is none, or one of another version, is a Problem."""
    file = path / "manifest.json"
    try:
        manifest = json.loads(file.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        text = f"{path} is not a build: it has no manifest.json"
        raise ProblemsError(Problem(text, hint=_builds_near(path))) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        hint = f"emit the build again: mase-hw emit model.toml --out {path}"
        raise ProblemsError(Problem(f"{file} cannot be read: {error}", hint=hint)) from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        text = f"{file} is of another version of mase-hw: this one reads schema {SCHEMA}"
        raise ProblemsError(Problem(text, hint=f"emit the build again: mase-hw emit model.toml --out {path}"))
    return Build(path, manifest)


def _builds_near(path: Path) -> str:
    """A hint: how to make a build, and which there are in the folder, beside it, and in build/."""
    found = {file.parent for folder in (path, path.parent, Path("build")) for file in folder.glob("*/manifest.json")}
    names = sorted(map(str, found))
    there = f"; there are {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}" if names else ""
    return f"`mase-hw emit model.toml` writes one to build/<project>{there}"


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


def _port(stream: Stream) -> dict[str, Any]:
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
