"""`Config`: the values of a TOML, checked and frozen; `make_config` makes it, or tells every problem at once."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast

from mase_hw.config import training
from mase_hw.config.hardware import HardwareConfig, HardwareTarget, parse_hardware, parse_target
from mase_hw.config.places import Places
from mase_hw.config.quantize import QuantizeConfig, parse_quantize
from mase_hw.config.raw import raw_mapping
from mase_hw.config.sources import named_files
from mase_hw.config.table import Table, shown
from mase_hw.config.training import TrainingConfig, parse_training
from mase_hw.diagnostics import Collector, Place

LoadType = Literal["auto", "pt", "pl", "safetensors", "npz", "mz"]

LOAD_TYPES: tuple[LoadType, ...] = ("auto", "pt", "pl", "safetensors", "npz", "mz")
TASKS = {"cls": "cls", "classification": "cls"}  # both spellings are MASE's
PASSES = ("quantize", "fuse_batch_norm", "hardware")
_OWN_KEYS = ("model", "dataset", "task", "project", "project_dir", "seed", "load_name", "load_type")
_TABLES = ("passes", "hardware", "search")
_PLAIN_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)


@dataclass(frozen=True)
class Config:
    """Everything that a TOML says, after defaults. Paths are relative to the TOML: to `base`."""

    path: Path
    base: Path
    model: str
    dataset: str | None
    task: str
    project: str
    project_dir: Path
    seed: int
    load_name: Path | None
    load_type: LoadType
    training: TrainingConfig
    quantize: QuantizeConfig
    fuse_batch_norm: bool
    hardware: HardwareConfig
    target: HardwareTarget
    search: Mapping[str, Any]
    raw: Mapping[str, Any] = field(compare=False, repr=False)
    places: Places = field(compare=False, repr=False)
    notes: tuple[str, ...] = field(default=(), compare=False)  # for the user, on what was made of the file

    def where(self, *keys: str) -> Place:
        """The line of a key: `where("passes", "quantize", "by")`."""
        return self.places.of(*keys)

    @property
    def sources(self) -> dict[str, Path]:
        """The files that a build is made from, by what they are; imported ones by their paths from `base`."""
        found = {"config": self.path} | ({"checkpoint": self.load_name} if self.load_name else {})
        return found | named_files(self.model, self.dataset, self.base)

    @property
    def output(self) -> Path:
        """Where training, transforming and searching write."""
        return self.project_dir / self.project / "software"


def make_config(
    path: Path, stem: str, values: Mapping[str, Any], places: Places, problems: Collector, notes: tuple[str, ...] = ()
) -> Config:
    """Values in the shape of a TOML, checked; `stem` names the project where nothing else does."""
    top = Table(values, (), problems, places)
    top.only((*_OWN_KEYS, *training.KEYS, *_TABLES))
    passes = top.table("passes") or Table({}, ("passes",), problems, places)
    passes.only(PASSES)
    if "model" not in values:
        problems.add("model is missing", Place(path), 'add model = "a registered name", "file.py:Class" or "file.onnx"')
    load_name = top.string("load_name", None)
    project = _project(top, stem)
    config: dict[str, Any] = {
        "model": _text(top, "model") or "",
        "dataset": _text(top, "dataset"),
        "task": TASKS[top.choice("task", "cls", TASKS)],
        "project": project,
        "seed": top.integer("seed", 0, 0, 2**32 - 1),
        "load_type": cast(LoadType, top.choice("load_type", "auto", LOAD_TYPES)),
        "training": parse_training(top),
        "quantize": parse_quantize(_under(passes, "quantize"), problems, places),
        "fuse_batch_norm": _fuse(passes),
        "hardware": parse_hardware(_under(passes, "hardware"), problems, places),
        "target": parse_target(_under(top, "hardware"), problems, places, project),
    }
    project_dir = top.string("project_dir", None)
    search = _under(top, "search")
    return Config(
        path=path,
        base=path.parent,
        project_dir=path.parent / project_dir if project_dir else Path("mase_output"),
        load_name=path.parent / load_name if load_name else None,
        search=MappingProxyType(dict(search)),
        raw=MappingProxyType(raw_mapping(values, load_name=load_name, search=search, **config)),
        places=places,
        notes=notes,
        **config,
    )


def _under(table: Table, key: str) -> Mapping[str, Any]:
    inner = table.table(key)
    return inner.values if inner else {}


def _text(top: Table, key: str) -> str | None:
    value = top.string(key, None)
    if value == "":
        top.problem(f"{key} is empty", key)
    return value


def _fuse(passes: Table) -> bool:
    """The table's presence asks for the pass; `enabled = false` in it takes that back."""
    table = passes.table("fuse_batch_norm")
    if table is None:
        return False
    table.only(["enabled"])
    return table.boolean("enabled", True)


def _project(top: Table, stem: str) -> str:
    """The build folder's name: a plain name, so that nothing is written outside `build/`."""
    fallback = re.sub(r"[^\w.+-]+", "_", stem, flags=re.ASCII).lstrip(".+-") or "design"
    project = top.string("project", fallback)
    assert project is not None
    if not _PLAIN_NAME.fullmatch(project):
        text = f"project = {shown(project)} is not a plain name"
        top.problem(text, "project", hint="letters, digits, _ - . + and no slash; it names the build folder")
        return fallback
    return project
