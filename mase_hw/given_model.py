"""What `mase_hw.compile` is given: a model in one of its forms, and a configuration as a mapping."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from mase_hw.config import Config, Option
from mase_hw.config.hardware import identifier_from
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.models.load import make_model

Model = nn.Module | type[nn.Module] | str | Path


def model_option(model: Model | None) -> dict[str, Option]:
    """The model in place of the configuration's."""
    if model is None:
        return {}
    if isinstance(model, nn.Module):
        return {"model": Option("model", type(model).__name__)}
    if isinstance(model, type):
        return {"model": Option("model", model.__name__)}
    if isinstance(model, str | Path):
        return {"model": Option("model", str(model))}
    hint = 'a module, a class of one, a registered name, "file.py:Class" or "file.onnx"'
    raise ProblemsError(Problem(f"model: a {type(model).__name__} is no model", hint=hint))


def project_of(given: Mapping[str, Option]) -> str:
    """The project's name where the configuration has none: the model's."""
    name = str(given["model"].value).rpartition(":")[2] if given else ""
    return identifier_from(Path(name).name.removesuffix(".onnx")) if name else ""


def checked_keys(values: Mapping[str, Any], path: str = "") -> dict[str, Any]:
    """A mapping all of whose keys are strings, as a TOML's are."""
    for key, value in values.items():
        if not isinstance(key, str):
            raise ProblemsError(Problem(f"config: the key {key!r}{f' of {path}' if path else ''} is no string"))
        if isinstance(value, Mapping):
            checked_keys(value, f"{path}.{key}" if path else key)
    return dict(values)


def unused_notes(config: Config) -> tuple[str, ...]:
    if config.load_name is None:
        return ()
    return (f"load_name = {config.load_name.name} is not read: the module's own weights are used",)


def made(kind: type[nn.Module]) -> nn.Module:
    """An instance, made as that of a class that a TOML names."""
    try:
        path = Path(inspect.getfile(kind))
    except (TypeError, OSError):  # a class of an interactive session has no file
        path = Path(kind.__module__)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return make_model(kind, path, f"model = {kind.__name__}", kind.__name__)
