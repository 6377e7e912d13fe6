"""`load_config`: a TOML file and options that override its keys to one `Config`. An ONNX file may say types itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mase_hw.config import Config, Option, Places
from mase_hw.config.load import make_config
from mase_hw.config.options import COMMAND_LINE, IN_MEMORY, command_line_project, override
from mase_hw.config.read import read_toml
from mase_hw.config.user_code import is_onnx
from mase_hw.diagnostics import Collector, Place


def load_config(path: Path | None, options: Mapping[str, Option] | None = None) -> Config:
    """Reads and checks the TOML at `path`, its keys overridden by `options`; raises ProblemsError with all that is
    wrong. Without a TOML the options are everything, and paths are relative to the current folder. An ONNX file in
    place of the TOML is one that names this file as its model, and no more.
    """
    given = dict(options or {})
    if path is None or is_onnx(path):
        values, places = {} if path is None else {"model": path.name}, Places(path or COMMAND_LINE, "")
    else:
        values, places = read_toml(path)
    stem = command_line_project(given) if path is None else path.stem
    values, places = override(values, places, given, absolute=path is not None)
    with Collector() as problems:
        return _config(path or COMMAND_LINE, stem, values, places, problems)


def config_of(values: Mapping[str, Any], options: Mapping[str, Option] | None = None, project: str = "") -> Config:
    """The same from values in memory, in the shape of a TOML; paths are relative to the current folder."""
    given, places = override(values, Places(IN_MEMORY, ""), options or {}, absolute=False)
    with Collector() as problems:
        return _config(IN_MEMORY, project, given, places, problems)


def _config(path: Path, stem: str, values: Mapping[str, Any], places: Places, problems: Collector) -> Config:
    values, notes = _with_file_types(values, path.parent, places, problems)
    return make_config(path, stem, values, places, problems, notes)


def _with_file_types(
    values: Mapping[str, Any], base: Path, places: Places, problems: Collector
) -> tuple[Mapping[str, Any], tuple[str, ...]]:
    """An ONNX file may say the types of its layers itself: they come into [passes.quantize], with notes."""
    if not is_onnx(values.get("model")):
        return values, ()
    from mase_hw.frontends.onnx_file import with_file_types  # numpy is needed for ONNX files alone

    told = len(problems.problems)
    values, notes = with_file_types(values, base, places, problems)
    if is_onnx(places.path) and "passes" not in values and len(problems.problems) == told:
        text = "has no Quant nodes, so nothing says the types of its layers"
        hint = f'write a TOML with model = "{places.path.name}" and [passes.quantize], and give that'
        problems.add(text, Place(places.path), hint)
    return values, notes
