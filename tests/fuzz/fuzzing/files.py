"""A case as the files that a user would have: model.toml, model.py, and its checkpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from fuzzing.cases import Case
from fuzzing.nets import Layer
from fuzzing.types import keys_of, quantizers
from mase_hw.config.write import toml_text

MODEL, CODE = "model.toml", "model.py"
SUFFIX = {"pt": ".pt", "pl": ".ckpt", "safetensors": ".safetensors"}
_CALLS = {"relu": "nn.ReLU()", "identity": "nn.Identity()", "dropout": "nn.Dropout(0.5)"}
_SYMBOLS = {"add": "+", "sub": "-", "mul": "*"}


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
    shapes = case.shapes[0] if len(case.shapes) == 1 else case.shapes
    lines = ["import numpy as np", "import torch", "from torch import nn", "", "", "class Net(nn.Module):"]
    lines += [f"    input_shape = {shapes}", "", "    def __init__(self):", "        super().__init__()"]
    if case.sequential:
        made = ", ".join(_construct(layer) for layer in case.layers)
        lines += [f"        self.net = nn.Sequential({made})"]
    else:
        for k, layer in enumerate(case.layers):
            if layer.form == "module" and layer.op != "cat":
                lines += [f"        self.l{k} = {_construct(layer)}"]
            if len(layer.constant) > 1:
                lines += [f'        self.register_buffer("c{k}", torch.tensor({list(layer.constant)}))']
    lines += ["", *_forward(case)]
    if case.samples:
        low, high, step = input_range(case)
        lines += ["", "", "def samples():", f"    rng = np.random.default_rng({case.seed})"]
        lines += [f"    x = rng.uniform({low}, {high}, {(case.samples, *case.shapes[0])})"]
        lines += ["    x[::3] = np.floor(x[::3]) + 0.5", "    x[1::3] = np.floor(x[1::3])"]
        lines += [f"    return (x * {step}).astype(np.float32), np.zeros({case.samples}, np.int64)"]
    return "\n".join(lines) + "\n"


def _forward(case: Case) -> list[str]:
    """Inputs are x0, x1 and so on, results y0, y1 and so on."""
    inputs = [f"x{k}" for k in range(len(case.shapes))]
    lines = [f"    def forward(self, {', '.join(inputs)}):"]
    lines += [
        f"        {x} = {x}.flatten(1)"
        for x, shape in zip(inputs, case.shapes, strict=True)
        if len(shape) > 1 and not case.net.framed
    ]
    if case.sequential:
        return [*lines, "        return self.net(x0)"]
    results = list(inputs)
    for k, layer in enumerate(case.layers):
        call = _call(k, layer, [results[x] for x in layer.reads])
        results.append(f"y{k}")
        if layer.form == "inplace":
            first, other = call
            lines += [f"        y{k} = {first}", f"        y{k} {_SYMBOLS[layer.op]}= {other}"]
        else:
            lines += [f"        y{k} = {call[0]}"]
    return [*lines, f"        return {', '.join(results[x] for x in case.net.outputs)}"]


def _call(k: int, layer: Layer, reads: list[str]) -> tuple[str, ...]:
    """The expression of a layer; of one that works in place, both sides."""
    if layer.op == "cat":
        return (f"torch.cat([{', '.join(reads)}], 1)",)
    if layer.op == "mul":
        reads = [*reads, f"self.c{k}" if len(layer.constant) > 1 else repr(layer.constant[0])]
    if layer.form == "inplace":
        return tuple(reads)
    if layer.form == "function":
        return (f"torch.{layer.op}({', '.join(reads)})",)
    if layer.form == "method":
        return (f"{reads[0]}.{layer.op}({reads[1]})",)
    if layer.form in ("operator", "reflected"):
        first, other = reads if layer.form == "operator" else reads[::-1]
        return (f"{first} {_SYMBOLS[layer.op]} {other}",)
    return (f"self.l{k}({reads[0]})",)


def input_range(case: Case, x: int = 0) -> tuple[int, int, float]:
    """A range somewhat larger than an input's type, in its steps, and the size of a step."""
    keys = keys_of(case.net, case.names, case.quantize["by"])
    found = sorted(quantizers(case.net, keys, case.quantize, x)) or [key for key in case.quantize if key != "by"]
    config = case.quantize[found[0]]["config"] if found else {"data_in_width": 8, "data_in_frac_width": 4}
    width, frac = config["data_in_width"], config["data_in_frac_width"]
    return -(3 << width), 3 << width, 2.0 ** -max(-40, min(40, frac))


def real_inputs(case: Case, count: int) -> list[np.ndarray]:
    """Samples for every input, as the data set of a model with one has them."""
    rng, found = np.random.default_rng(case.seed), []
    for k, shape in enumerate(case.shapes):
        low, high, step = input_range(case, k)
        x = rng.uniform(low, high, (count, *shape))
        x[::3] = np.floor(x[::3]) + 0.5
        x[1::3] = np.floor(x[1::3])
        found.append((x * step).astype(np.float32))
    return found


def _construct(layer: Layer) -> str:
    if layer.text:
        return layer.text
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
        shapes = dict(layer.tensors)
        if layer.op == "linear" and not shapes:
            shapes = {"weight": (layer.outputs, layer.inputs)} | ({"bias": (layer.outputs,)} if layer.bias else {})
        elif layer.op == "batch_norm1d":
            shapes = dict.fromkeys(["weight", "bias"] if layer.bias else [], (layer.inputs,))
            shapes |= {"running_mean": (layer.inputs,), "running_var": (layer.inputs,)}
        for name, shape in shapes.items():
            values = _values(case.weights, shape, rng)
            state[f"{prefix}.{name}"] = torch.from_numpy(np.abs(values) if name == "running_var" else values)
        if len(layer.constant) > 1:
            state[f"c{k}"] = torch.tensor(layer.constant)
        if layer.op in ("batch_norm1d", "batch_norm2d"):
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
