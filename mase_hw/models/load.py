"""`load_model`: the model that a TOML names; `input_shapes`: what one sample of it looks like."""

from __future__ import annotations

import inspect
from pathlib import Path

import torch
from torch import nn

from mase_hw.config.user_code import is_onnx, is_user_code, load_object, user_code
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import Place, Problem, ProblemsError
from mase_hw.models.onnx_net import load_onnx
from mase_hw.models.registry import get_model

Shape = tuple[int, ...]  # of one sample, without the batch
Shapes = tuple[Shape, ...]  # one for each argument of forward


def load_model(model: str, base: Path, where: Place | None = None, *, seed: int = 0) -> nn.Module:
    """A registered name, or "file.py:Class" or "file.onnx" relative to `base`; `where` is the TOML's line.

    Whatever a class draws while it is made is drawn from `seed`, and the global generator is left as it was.
    """
    if is_onnx(model):
        return load_onnx(base / model, where)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _user_model(model, base, where) if is_user_code(model) else get_model(model, where=where)


def _user_model(model: str, base: Path, where: Place | None) -> nn.Module:
    kind, path = load_object("model", model, base, where)
    return make_model(kind, path, f'model = "{model}"', model.rpartition(":")[2])


def make_model(kind: object, path: Path, subject: str, name: str) -> nn.Module:
    """A user's class from the file `path`, called without arguments; what hinders that is a Problem."""
    if not (isinstance(kind, type) and issubclass(kind, nn.Module)):
        what = "is no subclass of torch.nn.Module" if isinstance(kind, type) else "is not a class"
        line = _line(kind, path)
        raise ProblemsError(Problem(f"{subject}: {name} {what}", line, f"write class {name}(nn.Module): ..."))
    needed = [
        parameter.name
        for parameter in inspect.signature(kind).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    ]
    if needed:
        text = f"{subject}: {name}() needs {', '.join(needed)}"
        raise ProblemsError(Problem(text, _line(kind, path), "give its parameters default values"))
    with user_code(path, subject):
        made = kind()
    assert isinstance(made, nn.Module)
    return made


def _line(thing: object, path: Path) -> Place:
    """Where the user wrote `thing`; only the file when that cannot be told."""
    code = getattr(getattr(thing, "__init__", None) if isinstance(thing, type) else thing, "__code__", None)
    if code is not None and code.co_filename == str(path):
        return Place(path, code.co_firstlineno)
    try:
        return Place(path, inspect.getsourcelines(thing)[1])  # type: ignore[arg-type]
    except (TypeError, OSError):
        return Place(path)


def input_shape(model: nn.Module | str, dataset: Dataset | None = None, where: Place | None = None) -> tuple[int, ...]:
    """The shape of one sample of a model with one input; several inputs are a Problem."""
    shapes = input_shapes(model, dataset, where)
    if len(shapes) > 1:
        name = model if isinstance(model, str) else type(model).__name__
        text = f"{name} takes {len(shapes)} inputs, and this works for models with one input alone"
        raise ProblemsError(Problem(text, where, "emit, sim, prove and synth take models with several inputs"))
    return shapes[0]


def input_shapes(model: nn.Module | str, dataset: Dataset | None = None, where: Place | None = None) -> Shapes:
    """The shapes of one sample, one for each input of the model.

    They are the model's `input_shape` (a shape, or a tuple of shapes), else those of its `example_inputs` (a batch of
    samples, or a tuple of batches), else the data set's, else the width of the model's first layer.
    """
    module = get_model(model) if isinstance(model, str) else model
    name = type(module).__name__
    stated, examples = getattr(module, "input_shape", None), getattr(module, "example_inputs", None)
    if stated is None and examples is not None:
        stated = _shapes_of(name, examples, where)
    if stated is not None:
        several = isinstance(stated, list | tuple) and all(isinstance(shape, list | tuple) for shape in stated)
        shapes = tuple(_stated(name, shape, where) for shape in (stated if several and stated else (stated,)))
        _check_data(name, shapes, dataset, where)
        return shapes
    return (_found(module, dataset, where),)


def as_shapes(shape: Shape | Shapes) -> Shapes:
    """The shape of one input, or the shapes of several, as a tuple of shapes."""
    several = tuple(tuple(one) for one in shape if isinstance(one, tuple | list))
    return several or (tuple(size for size in shape if isinstance(size, int)),)


def _shapes_of(name: str, examples: object, where: Place | None) -> Shapes:
    batches = tuple(examples) if isinstance(examples, tuple | list) else (examples,)
    shapes = [getattr(batch, "shape", ()) for batch in batches]
    if not shapes or any(len(shape) < 2 for shape in shapes):
        text = f"{name}: example_inputs is no batch of samples, and no tuple of them"
        raise ProblemsError(Problem(text, where, "tensors whose first dimension is the batch: (torch.zeros(1, 16),)"))
    return tuple(tuple(int(size) for size in shape[1:]) for shape in shapes)


def _found(module: nn.Module, dataset: Dataset | None, where: Place | None) -> Shape:
    if dataset is not None:
        return dataset.sample_shape
    shape = "(features,)"
    for layer in module.modules():
        if isinstance(layer, nn.Conv1d | nn.Conv2d):
            places = "positions" if isinstance(layer, nn.Conv1d) else "rows, columns"
            shape = f"({layer.in_channels}, {places})"
        if isinstance(layer, nn.Linear):
            return (layer.in_features,)
        if isinstance(layer, nn.BatchNorm1d):
            return (layer.num_features,)
        if not any(layer.children()) and any(True for _ in layer.parameters()):
            break  # what comes after it says nothing of the input
    text = f"{type(module).__name__}: the shape of its input is unknown"
    raise ProblemsError(Problem(text, where, f"give the class input_shape = {shape}, or the TOML a dataset"))


def _stated(name: str, stated: object, where: Place | None) -> Shape:
    sizes = tuple(stated) if isinstance(stated, list | tuple | torch.Size) else (stated,)
    if not sizes or any(isinstance(size, bool) or not isinstance(size, int) or size < 1 for size in sizes):
        text = f"{name}: input_shape = {stated!r} is no shape"
        raise ProblemsError(Problem(text, where, "a tuple of positive integers, without the batch: (16,)"))
    return tuple(size for size in sizes if isinstance(size, int))


def _check_data(name: str, shapes: Shapes, dataset: Dataset | None, where: Place | None) -> None:
    if dataset is not None and len(shapes) > 1:
        text = f"{name} takes {len(shapes)} inputs, and {dataset.name} has one array of samples"
        raise ProblemsError(Problem(text, where, "take the data set out of the TOML, or give the model one input"))
    if dataset is not None and dataset.sample_shape != shapes[0]:
        text = f"{name} takes samples of shape {shapes[0]}, those of {dataset.name} are {dataset.sample_shape}"
        raise ProblemsError(Problem(text, where, "choose a data set that fits the model, or change input_shape"))
