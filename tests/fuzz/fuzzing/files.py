"""A case as the files that a user would have: model.toml, model.py, and its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from fuzzing.cases import Case, Layer
from mase_hw.config.write import toml_text

MODEL, CODE = "model.toml", "model.py"
SUFFIX = {"pt": ".pt", "pl": ".ckpt", "safetensors": ".safetensors"}
_CALLS = {"relu": "nn.ReLU()", "identity": "nn.Identity()", "dropout": "nn.Dropout(0.5)"}


def write_case(case: Case, folder: Path, top: str = "net") -> Path:
    """Writes the files into the folder, and returns the TOML."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CODE).write_text(model_text(case), encoding="utf-8")
    if case.checkpoint is not None:
        _save(case, folder / f"weights{SUFFIX[case.checkpoint]}")
    toml = folder / MODEL
    toml.write_text(toml_text(_toml(case, top)), encoding="utf-8")
    return toml


def _toml(case: Case, top: str) -> dict[str, Any]:
    passes: dict[str, Any] = {"quantize": case.quantize, "hardware": case.hardware}
    passes |= {"fuse_batch_norm": {}} if case.fuse else {}
    named = {"load_name": f"weights{SUFFIX[case.checkpoint]}"} if case.checkpoint else {}
    data = {"dataset": f"{CODE}:samples"} if case.samples else {}
    seed = {"model": f"{CODE}:Net", "seed": case.seed, "project": top}
    return {**seed, **named, **data, "passes": passes, "hardware": case.target}


def model_text(case: Case) -> str:
    """The model, and its samples where it has some: around and beyond the input's range, many of them ties."""
    made = [_construct(layer) for layer in case.layers]
    lines = ["import numpy as np", "import torch", "from torch import nn", "", "", "class Net(nn.Module):"]
    lines += [f"    input_shape = {case.shape}", "", "    def __init__(self):", "        super().__init__()"]
    flatten = len(case.shape) > 1
    if case.sequential:
        lines += [f"        self.net = nn.Sequential({', '.join(made)})"]
    else:
        lines += [
            f"        self.{name} = {call}" for name, call in zip(case.names, made, strict=True) if name[0] == "l"
        ]
    lines += ["", "    def forward(self, x):"]
    lines += ["        x = x.flatten(1)"] if flatten else []
    if case.sequential:
        lines += ["        return self.net(x)"]
    else:
        calls = [f"self.{name}(x)" if name.startswith("l") else "torch.relu(x)" for name in case.names]
        lines += [*(f"        x = {call}" for call in calls), "        return x"]
    if case.samples:
        low, high, step = input_range(case)
        lines += ["", "", "def samples():", f"    rng = np.random.default_rng({case.seed})"]
        lines += [f"    x = rng.uniform({low}, {high}, {(case.samples, *case.shape)})"]
        lines += ["    x[::3] = np.floor(x[::3]) + 0.5", "    x[1::3] = np.floor(x[1::3])"]
        lines += [f"    return (x * {step}).astype(np.float32), np.zeros({case.samples}, np.int64)"]
    return "\n".join(lines) + "\n"


def input_range(case: Case) -> tuple[int, int, float]:
    """A range somewhat larger than the input's type, in its steps, and the size of a step."""
    specs = [entry["config"] for key, entry in case.quantize.items() if key != "by"]
    width, frac = specs[0]["data_in_width"], specs[0]["data_in_frac_width"]
    return -(3 << width), 3 << width, 2.0 ** -max(-40, min(40, frac))


def _construct(layer: Layer) -> str:
    if layer.op == "linear":
        return f"nn.Linear({layer.inputs}, {layer.outputs}{'' if layer.bias else ', bias=False'})"
    if layer.op == "batch_norm1d":
        return f"nn.BatchNorm1d({layer.inputs}{'' if layer.bias else ', affine=False'})"
    return _CALLS[layer.op]


def _save(case: Case, path: Path) -> None:
    state = _state(case)
    if case.checkpoint == "safetensors":
        save_file(state, str(path))
    elif case.checkpoint == "pl":
        torch.save({"state_dict": {f"model.{key}": value for key, value in state.items()}, "epoch": 1}, path)
    else:
        torch.save(state, path)


def _state(case: Case) -> dict[str, torch.Tensor]:
    """A tensor for every parameter and buffer that the model has."""
    rng = np.random.default_rng(case.seed)
    state: dict[str, torch.Tensor] = {}
    for k, layer in enumerate(case.layers):
        prefix = f"net.{k}" if case.sequential else f"l{k}"
        shapes: dict[str, tuple[int, ...]] = {}
        if layer.op == "linear":
            shapes = {"weight": (layer.outputs, layer.inputs)} | ({"bias": (layer.outputs,)} if layer.bias else {})
        elif layer.op == "batch_norm1d":
            shapes = dict.fromkeys(["weight", "bias"] if layer.bias else [], (layer.inputs,))
            shapes |= {"running_mean": (layer.inputs,), "running_var": (layer.inputs,)}
        for name, shape in shapes.items():
            values = _values(case.weights, shape, rng)
            state[f"{prefix}.{name}"] = torch.from_numpy(np.abs(values) if name == "running_var" else values)
        if layer.op == "batch_norm1d":
            state[f"{prefix}.num_batches_tracked"] = torch.tensor(1)
    return state


def _values(kind: str, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Weights of a kind: those that round to even, that are one adder or none, that saturate."""
    drawn = rng.normal(size=shape)
    signs = np.where(drawn < 0, -1.0, 1.0)
    made = {
        "ones": np.ones(shape),
        "normal": drawn,
        "ties": np.floor(drawn * 8) / 8 + 1 / 16,
        "powers": signs * 2.0 ** rng.integers(-4, 4, shape),
        "sparse": drawn * (rng.random(shape) < 0.3),
        "extremes": signs * 1e6,
        "zeros": np.zeros(shape),
    }
    return made[kind].astype(np.float32)
