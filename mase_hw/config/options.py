"""Keys of a TOML given on the command line instead: they override the file's, and are checked like them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mase_hw.config.places import Places
from mase_hw.config.user_code import is_onnx, is_user_code
from mase_hw.diagnostics import Place

COMMAND_LINE = Path("command line")  # stands for the TOML where there is none
IN_MEMORY = Path("config")  # the same, of values that Python code gives
_SAME = {"cpu": "num_workers", "num_workers": "cpu"}


@dataclass(frozen=True)
class Option:
    """A value and what the user typed for it, such as `--batch-size`."""

    flag: str
    value: Any


def override(
    values: Mapping[str, Any], places: Places, options: Mapping[str, Option], *, absolute: bool
) -> tuple[dict[str, Any], Places]:
    """The values with the options in their place; a problem with an option then names its flag instead of a line.

    `absolute`: paths in options are made so, because the file's own are relative to the file's folder.
    """
    merged = dict(values)
    if "load_name" in options:
        merged.pop("load_type", None)  # it spoke of the file's own checkpoint
    for key, option in options.items():
        merged.pop(_SAME.get(key, ""), None)
        merged[key] = _path(key, option.value) if absolute else option.value
        places.elsewhere[key] = Place(Path(option.flag))
    return merged, places


def command_line_project(options: Mapping[str, Option]) -> str:
    """The project's name where neither a TOML nor an option gives one: model_classification_dataset."""
    parts = [str(options[key].value).rpartition(":")[2] for key in ("model", "dataset") if key in options]
    return "_classification_".join(parts)


def _path(key: str, value: Any) -> Any:
    here = Path.cwd()
    if key in ("load_name", "project_dir") or (key == "model" and is_onnx(value)):
        return str(here / value)
    if key in ("model", "dataset") and is_user_code(value):
        file, colon, name = value.rpartition(":")
        return f"{here / file}:{name}" if colon else str(here / value)
    return value
