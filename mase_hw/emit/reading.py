"""A build folder read back, without torch and without trust: every file once, from inside the folder, with limits.

The folder may come from anybody. All commands take what they need from a `Build`, never from the folder itself: its
`content` is bytes that were read once, `rtl` are private copies of such bytes, which is what tools are given.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit.axis import AxisTop, axis_top
from mase_hw.emit.manifest import SCHEMA, check_manifest
from mase_hw.emit.private import private_copies
from mase_hw.emit.store import load_design
from mase_hw.ir import Design
from mase_hw.numerics import Rounding
from mase_hw.numerics.codes import Affine, Codes
from mase_hw.numerics.rounding import Integers
from mase_hw.untrusted import Folder, RefusedError, own_folder, parse_json, parse_npz

MANIFEST, PARAMETERS, FILE_LIST = "manifest.json", "parameters.npz", "rtl/files.f"
SAMPLES, FLOATS = "sim/samples.npz", "sim/floats.npz"
# The largest file of each kind, in bytes.
_LIMITS = {MANIFEST: 32 << 20, PARAMETERS: 256 << 20, SAMPLES: 512 << 20, FLOATS: 512 << 20}
_RTL = 64 << 20
_KINDS = (np.uint8, np.int8, np.uint16, np.int16, np.uint32, np.int32, np.int64)  # the narrowest first


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

    def arrays(self) -> dict[str, np.ndarray]:
        """By the names that they have in the build folder: x, x_1, ..., y, y_1, ...; in the narrowest integer type."""
        sides = {"x": self.inputs, "y": self.outputs}
        ports = {f"{key}_{k}" if k else key: rows for key, side in sides.items() for k, rows in enumerate(side)}
        every = {**ports, "labels": self.labels, "float_labels": self.float_labels}
        return {name: _narrowed(rows) for name, rows in every.items()}

    @staticmethod
    def of(arrays: Mapping[str, np.ndarray], inputs: int, outputs: int) -> Samples:
        sides = [
            tuple(_widened(arrays[f"{key}_{k}" if k else key]) for k in range(count))
            for key, count in (("x", inputs), ("y", outputs))
        ]
        return Samples(sides[0], sides[1], _widened(arrays["labels"]), _widened(arrays["float_labels"]))


def _narrowed(rows: Integers) -> np.ndarray:
    """The same numbers in the fewest bytes."""
    if not rows.size:
        return rows
    lo, hi = int(rows.min()), int(rows.max())
    kind = next(kind for kind in _KINDS if np.iinfo(kind).min <= lo and hi <= np.iinfo(kind).max)
    return rows.astype(kind)


def _widened(rows: np.ndarray) -> Integers:
    """Integers of any type as int64; anything else stays what it is, and is refused where builds are checked."""
    return rows.astype(np.int64) if rows.dtype.kind in "iu" and rows.dtype != np.uint64 else rows


@dataclass(frozen=True)
class Reals:
    """How a sample in real numbers becomes the vectors of an input, and how an output's are read, port by port.

    Element `k` of a stream is element `order[k]` of the model's flattened tensor; None: the same order.
    """

    roundings: tuple[Rounding, ...] = (Rounding.HALF_EVEN,)  # one for each input
    input_orders: tuple[tuple[int, ...] | None, ...] = (None,)
    output_orders: tuple[tuple[int, ...] | None, ...] = (None,)
    codes: tuple[Codes | None, ...] = (None,)  # of each input: how it becomes integers, where that takes a scale
    values: tuple[Affine | None, ...] = (None,)  # of each output: what its integers stand for, where that does

    @property
    def scaled(self) -> bool:
        """Whether a port has a scale."""
        return any(each is not None for each in (*self.codes, *self.values))

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
        every = {key: value for key, value in asdict(self).items() if key not in ("codes", "values")}
        if not self.scaled:
            return {**first, **every}
        codes = [None if each is None else each.manifest() for each in self.codes]
        values = [None if each is None else each.manifest() for each in self.values]
        return {**first, **every, "codes": codes, "values": values}


@dataclass(frozen=True)
class Build:
    """A build folder on disk, of which every file is read once."""

    path: Path
    manifest: Mapping[str, Any] = field(repr=False)  # thousands of lines in a notebook
    folder: Folder = field(repr=False)

    def content(self, name: str) -> bytes:
        """The bytes of a file of the build. One that is missing, no regular file or too large is a Problem."""
        try:
            return self.folder.read(name, _LIMITS.get(name, _RTL))
        except FileNotFoundError:
            raise self.refuse(f"{self.path / name} is missing") from None
        except OSError as error:
            raise self.refuse(f"{self.path / name} cannot be read: {error.strerror}") from None
        except RefusedError as error:
            raise self.refuse(f"{self.path / name} {error}") from None

    def refuse(self, text: str) -> ProblemsError:
        hint = f"emit the build again: mase-hw emit model.toml --out {self.path}"
        return ProblemsError(Problem(text, hint=hint))

    def sha256(self, name: str) -> str:
        self.content(name)
        return self.folder.sha256(name)

    @property
    def rtl_names(self) -> list[str]:
        """The SystemVerilog files in compile order, as the manifest names them: `rtl/net.sv`."""
        return [entry["path"] for entry in self.manifest["files"]]

    @property
    def covered(self) -> list[str]:
        """Every file that a command reads to do its work; a certificate holds their hashes. Results are not in it."""
        optional = [name for name in (SAMPLES, FLOATS) if self.folder.has(name)]
        return [MANIFEST, PARAMETERS, FILE_LIST, *self.rtl_names, *optional]

    @property
    def places(self) -> list[Path]:
        """The SystemVerilog files in the build folder: to be named and edited. No command reads them by these paths."""
        return [self.path / name for name in self.rtl_names]

    @cached_property
    def rtl(self) -> list[Path]:
        """The SystemVerilog files in compile order, as private copies."""
        self.check_list()
        return private_copies({self.path / name: self.content(name) for name in self.rtl_names})

    def check_list(self) -> None:
        """A Problem if `files.f`, which other tools read, does not name the very files of the manifest."""
        listed = "".join(f"{name.removeprefix('rtl/')}\n" for name in self.rtl_names)
        if self.content(FILE_LIST) != listed.encode():
            raise self.refuse(f"{self.path / FILE_LIST} does not list the files of the manifest in their order")

    def texts(self) -> dict[str, str]:
        """The SystemVerilog files' texts by the last part of their names, in compile order."""
        found = {}
        for name in self.rtl_names:
            try:
                found[name.removeprefix("rtl/")] = self.content(name).decode("utf-8")
            except UnicodeDecodeError as error:
                text = f"{self.path / name} is no text in UTF-8: byte {error.start}"
                raise ProblemsError(Problem(text, hint="emit the build again")) from None
        return found

    def copy_to(self, folder: Path) -> Path:
        """Writes a build with these very bytes into a folder of ours, for processes that read it by themselves."""
        for name in self.covered:
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(self.content(name))
        return folder

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        """The arrays of an npz file of the build."""
        content = self.content(name)
        try:
            return parse_npz(content, _LIMITS[name])
        except RefusedError as error:
            raise self.refuse(f"{self.path / name} {error}") from None

    def results_folder(self, name: str) -> Path:
        """A folder of the build that results are written to; made if it is not there. A link is a Problem."""
        try:
            return own_folder(self.path, name, make=True)
        except RefusedError as error:
            hint = "delete it: results are written inside the build alone"
            raise ProblemsError(Problem(f"{self.path} {error}", hint=hint)) from None

    @cached_property
    def design(self) -> Design:
        return load_design(self.manifest, self.arrays(PARAMETERS))

    @cached_property
    def samples(self) -> Samples | None:
        if not self.folder.has(SAMPLES):
            return None
        return Samples.of(self.arrays(SAMPLES), len(self.manifest["inputs"]), len(self.manifest["outputs"]))

    @cached_property
    def floats(self) -> dict[str, np.ndarray]:
        """What the float model has for the first samples: at the `input`, and behind each `node.<name>`."""
        return self.arrays(FLOATS) if self.folder.has(FLOATS) else {}

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
            nothing = (None,) * inputs, (None,) * outputs
            return Reals((Rounding.HALF_EVEN,) * inputs, *nothing, *nothing)
        orders = [
            tuple(None if order is None else tuple(order) for order in noted[key])
            for key in ("input_orders", "output_orders")
        ]
        roundings = tuple(Rounding(name) for name in noted["roundings"])
        codes = tuple(None if each is None else Codes.of(each) for each in noted.get("codes", [None] * len(orders[0])))
        values = tuple(
            None if each is None else Affine.of(each) for each in noted.get("values", [None] * len(orders[1]))
        )
        return Reals(roundings, orders[0], orders[1], codes, values)


def read_build(path: Path) -> Build:
    """The build at `path`; a folder that is none, or one of another version, is a Problem."""
    file, folder = path / MANIFEST, Folder(path)
    hint = f"emit the build again: mase-hw emit model.toml --out {path}"
    try:
        manifest = parse_json(folder.read(MANIFEST, _LIMITS[MANIFEST]))
    except (FileNotFoundError, NotADirectoryError):
        text = f"{path} is not a build: it has no {MANIFEST}"
        raise ProblemsError(Problem(text, hint=_builds_near(path))) from None
    except OSError as error:
        raise ProblemsError(Problem(f"{file} cannot be read: {error.strerror}", hint=hint)) from None
    except RefusedError as error:
        raise ProblemsError(Problem(f"{file} {error}", hint=hint)) from None
    if not isinstance(manifest, dict) or manifest.get("schema") != SCHEMA:
        text = f"{file} is of another version of mase-hw: this one reads schema {SCHEMA}"
        raise ProblemsError(Problem(text, hint=hint))
    check_manifest(manifest, file, hint)
    return Build(path, manifest, folder)


def _builds_near(path: Path) -> str:
    """A hint: how to make a build, and which there are in the folder, beside it, and in build/."""
    found = {file.parent for folder in (path, path.parent, Path("build")) for file in folder.glob("*/manifest.json")}
    names = sorted(map(str, found))
    there = f"; there are {', '.join(names[:5])}{' and more' if len(names) > 5 else ''}" if names else ""
    return f"`mase-hw emit model.toml` writes one to build/<project>{there}"
