"""The nets that `bench/hardware.py` builds: integers, exact arithmetic, and the files that a user would write."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]

EPSILON = 1e-5  # nn.BatchNorm1d's own

_MODEL = '''"""{name}"""
from torch import nn


class Net(nn.Module):
    input_shape = ({inputs},)

    def __init__(self):
        super().__init__()
        {made}

    def forward(self, x):
        {called}
        return x
'''

_TYPE = """
[passes.quantize.{node}.config]
name = "{rounding}"
data_in_width = {b}
data_in_frac_width = {f}
data_in_signed = {signed}
weight_width = {b}
weight_frac_width = {f}
bias_width = {b}
bias_frac_width = {f}
"""


@dataclass(frozen=True)
class Norm:
    """The parameters of a BatchNorm1d, as torch has them."""

    gamma: NDArray[np.float32]
    beta: NDArray[np.float32]
    mean: NDArray[np.float32]
    variance: NDArray[np.float32]

    def integers(self, b: int, f: int) -> tuple[Integers, Integers]:
        """Scale and shift on a grid of `b` bits, `f` of them fractional."""
        scale = self.gamma.astype(np.float64) / np.sqrt(self.variance.astype(np.float64) + EPSILON)
        shift = self.beta.astype(np.float64) - self.mean.astype(np.float64) * scale
        return on_grid(scale, b, f), on_grid(shift, b, f)


@dataclass(frozen=True)
class Net:
    """Linear layers as integers of `width` bits, `frac` of them fractional, with ReLUs between them.

    The input is signed. A hidden layer's result is rounded down to `frac` fractional bits and saturates to `width` bits
    without a sign. The last result is exact; with `narrow` it is rounded down too and saturates to `width` signed bits.
    """

    name: str
    layers: tuple[tuple[Integers, Integers], ...]  # weight [inputs, outputs], bias [outputs]
    width: int
    frac: int
    norm: Norm | None = None  # in front
    narrow: bool = False

    @property
    def inputs(self) -> int:
        return int(self.layers[0][0].shape[0])

    def vectors(self, count: int) -> Integers:
        """Random inputs over the whole range."""
        half = 1 << (self.width - 1)
        return np.random.default_rng(1).integers(-half, half, (count, self.inputs))

    def reference(self, x: Integers) -> Integers:
        """The net's arithmetic, independent of anything in mase_hw."""
        half = 1 << (self.width - 1)
        if self.norm is not None:
            scale, shift = self.norm.integers(self.width, self.frac)
            x = np.clip((x * scale + (shift << self.frac)) >> self.frac, -half, half - 1)
        for k, (weight, bias) in enumerate(self.layers):
            x = x @ weight + (bias << self.frac)
            if k + 1 < len(self.layers):
                x = np.clip(x >> self.frac, 0, 2 * half - 1)
        return np.clip(x >> self.frac, -half, half - 1) if self.narrow else x

    def write(self, folder: Path, hardware: str = "") -> Path:
        """Model, weights and TOML in `folder`. `hardware` is the text of the tables that say how it is built."""
        from safetensors.numpy import save_file

        folder.mkdir(parents=True, exist_ok=True)
        names = [f"fc{k + 1}" for k in range(len(self.layers))]
        made = [
            f"self.{n} = nn.Linear({w.shape[0]}, {w.shape[1]})" for n, (w, _) in zip(names, self.layers, strict=True)
        ]
        made += [f"self.relu{k + 1} = nn.ReLU()" for k in range(len(self.layers) - 1)]
        called = [f"x = self.{n}(x)" for k in range(len(names)) for n in (names[k], f"relu{k + 1}")][:-1]
        if self.norm is not None:
            made.append(f"self.norm = nn.BatchNorm1d({self.inputs})")
            called.insert(0, "x = self.norm(x)")
        space = "\n        "
        text = _MODEL.format(name=self.name, inputs=self.inputs, made=space.join(made), called=space.join(called))
        (folder / "net.py").write_text(text, encoding="utf-8")
        save_file(self._weights(names), folder / "net.safetensors")
        (folder / "model.toml").write_text(self._config(names, hardware), encoding="utf-8")
        return folder / "model.toml"

    def _weights(self, names: list[str]) -> dict[str, NDArray[np.float32]]:
        state = {}
        for name, (weight, bias) in zip(names, self.layers, strict=True):
            state[f"{name}.weight"] = np.ascontiguousarray(weight.T / 2.0**self.frac, dtype=np.float32)
            state[f"{name}.bias"] = np.asarray(bias / 2.0**self.frac, dtype=np.float32)
        if self.norm is not None:
            norm = self.norm
            state |= {"norm.weight": norm.gamma, "norm.bias": norm.beta}
            state |= {"norm.running_mean": norm.mean, "norm.running_var": norm.variance}
        return state

    def _config(self, names: list[str], hardware: str) -> str:
        types = {"b": self.width, "f": self.frac}
        text = 'model = "net.py:Net"\nproject = "net"\nload_name = "net.safetensors"\nload_type = "safetensors"\n'
        text += '\n[passes.quantize]\nby = "name"\n'
        if self.norm is not None:  # its weights round half to even; its result, like every other, by its reader's rule
            text += _TYPE.format(node="norm", rounding="integer", signed="true", **types)
        for k, name in enumerate(names):
            text += _TYPE.format(node=name, rounding="integer_floor", signed="false" if k else "true", **types)
        if self.narrow:
            text += f"data_out_width = {self.width}\ndata_out_frac_width = {self.frac}\n"
        return f"{text}\n{hardware}"


def on_grid(values: NDArray[np.floating], b: int, f: int) -> Integers:
    """Rounded half to even, saturated."""
    half = 1 << (b - 1)
    return np.clip(np.round(values * 2.0**f), -half, half - 1).astype(np.int64)


def random_net(sizes: tuple[int, ...], b: int, f: int, narrow: bool = False) -> Net:
    """Weights and biases of a normal distribution with deviation 0.5, layer by layer, the weights first."""
    rng = np.random.default_rng(0)
    layers = []
    for inputs, outputs in pairwise(sizes):
        weight = on_grid(rng.normal(0, 0.5, (inputs, outputs)), b, f)
        layers.append((weight, on_grid(rng.normal(0, 0.5, outputs), b, f)))
    return Net(f"{'-'.join(map(str, sizes))}, {b} bit, {f} fractional", tuple(layers), b, f, narrow=narrow)


def with_norm(net: Net) -> Net:
    """The net with a batch norm in front, as training might have left it."""
    rng = np.random.default_rng(2)
    draw = {"gamma": rng.uniform(0.5, 1.5, net.inputs), "beta": rng.normal(0, 0.5, net.inputs)}
    draw |= {"mean": rng.normal(0, 0.5, net.inputs), "variance": rng.uniform(0.5, 1.5, net.inputs)}
    norm = Norm(**{name: values.astype(np.float32) for name, values in draw.items()})
    return replace(net, name=f"{net.name}, batch norm in front", norm=norm)


def trained_net(file: Path | None, b: int, f: int) -> Net:
    """The net in an .npz with W0, b0, W1, b1, ... in torch's layout; without one, a small one trained here."""
    if file is None:
        floats, title = _train(), "16-64-32-32-5 trained here"
    else:
        with np.load(file, allow_pickle=False) as arrays:
            count = sum(name.startswith("W") for name in arrays)
            floats, title = [(arrays[f"W{k}"], arrays[f"b{k}"]) for k in range(count)], file.stem
    layers = tuple((on_grid(weight.T, b, f), on_grid(bias, b, f)) for weight, bias in floats)
    return Net(f"{title}, {b} bit, {f} fractional", layers, b, f)


def _train() -> list[tuple[NDArray[np.float32], NDArray[np.float32]]]:
    """Five classes of the handwritten digits, 64 pixels averaged to 16: a stand-in for a net of a user's."""
    import torch
    from sklearn.datasets import load_digits
    from torch import nn

    pixels, labels = load_digits(return_X_y=True)
    x = pixels.reshape(-1, 4, 2, 4, 2).mean((2, 4)).reshape(-1, 16)[labels < 5]
    x = torch.tensor((x - x.mean(0)) / (x.std(0) + 1e-6), dtype=torch.float32)
    y = torch.tensor(labels[labels < 5])
    torch.manual_seed(0)
    sizes = (16, 64, 32, 32, 5)
    parts = [part for n, m in pairwise(sizes) for part in (nn.Linear(n, m), nn.ReLU())][:-1]
    model = nn.Sequential(*parts)
    optimizer = torch.optim.Adam(model.parameters(), 0.003)
    for _ in range(300):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    linear = [part for part in model if isinstance(part, nn.Linear)]
    return [(part.weight.detach().numpy(), part.bias.detach().numpy()) for part in linear]
