"""Networks with branches from torch, through every command: residual, two heads, a second input, a concatenation."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from support import by_type, randomized, real_inputs, spec
from torch import Tensor, nn

import mase_hw
from mase_hw.cli import main
from mase_hw.emit import read_build
from mase_hw.flow import Compiled, compile_model
from mase_hw.numerics import Fixed
from mase_hw.samples import quantize_inputs, run_quantized

F8, F6 = Fixed(8, 4), Fixed(6, 3)
MODELS = """
import torch
from torch import nn


class Residual(nn.Module):
    input_shape = (8,)

    def __init__(self):
        super().__init__()
        self.fc0, self.fc1, self.fc2 = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.a, self.b = nn.Linear(8, 3), nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.fc0(x))
        y = torch.relu(self.fc2(torch.relu(self.fc1(h))) + h)
        return self.a(y), self.b(y)


class Two(nn.Module):
    input_shape = ((8,), (4,))

    def __init__(self):
        super().__init__()
        self.fc, self.fz, self.out = nn.Linear(8, 8), nn.Linear(4, 8), nn.Linear(12, 3)

    def forward(self, x, z):
        h = self.fc(x) - self.fz(z)
        return self.out(torch.relu(torch.cat([h, z], dim=1))) * 2
"""
TOML = """
model = "net.py:{name}"
project = "net"
[passes.quantize]
by = "type"
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 6
weight_frac_width = 4
bias_width = 6
bias_frac_width = 4
[passes.quantize.add.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
[hardware]
target_interval = {interval}
interface = "axis"
"""
LINEAR = spec(data_in=F8, weight=F6, bias=F6)


class Forms(nn.Module):
    """One network for a function of two results."""

    def __init__(self, join: Callable[[Tensor, Tensor], Tensor], out: int = 6) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Linear(5, 6), nn.Linear(5, 6), nn.Linear(out, 3)
        self.join = join

    def forward(self, x: Tensor) -> Tensor:
        return self.c(self.join(self.a(x), torch.relu(self.b(x))))  # type: ignore[no-any-return]


FORMS: dict[str, tuple[Callable[[Tensor, Tensor], Tensor], int]] = {
    "+": (lambda a, b: a + b, 6),
    "-": (lambda a, b: a - b, 6),
    "torch.add": (torch.add, 6),
    "method sub": (lambda a, b: a.sub(b), 6),
    "concatenation": (lambda a, b: torch.cat((a, b, a), 1), 18),
    "a result three times": (lambda a, b: a + b + a, 6),
    "a constant": (lambda a, b: 3 * a - b * 0.5, 6),
    "the same twice": (lambda a, b: (a + a) - b, 6),
}


def compiled_form(name: str, quantized: bool, interval: int) -> Compiled:
    join, out = FORMS[name]
    entries = {op: spec(data_in=F8) for op in ("add", "sub", "cat")} if quantized else {}
    table = by_type(linear=LINEAR, **entries)
    return compile_model(randomized(Forms(join, out)), (5,), table, target_interval=interval, top="dut")


@pytest.mark.parametrize("quantized", [False, True])
@pytest.mark.parametrize("name", FORMS)
def test_software_and_integers_agree(name: str, quantized: bool) -> None:
    for interval in (1, 30):
        compiled = compiled_form(name, quantized, interval)
        samples = real_inputs(F8, (5,), 200)
        x = quantize_inputs(compiled.layers, samples)
        y = run_quantized(compiled.graph, compiled.layers, compiled.design, samples)
        assert np.array_equal(y[0], compiled.design.results(*x)[0])
        assert compiled.design.schedule.interval <= interval
        assert compiled.design.progress.goes_on


def succeeds(*arguments: str) -> None:
    code: object = 0
    try:
        main(list(arguments))
    except SystemExit as ended:
        code = ended.code
    assert code in (0, None), arguments


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("name", ["Residual", "Two"])
def test_every_command(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("net.py").write_text(MODELS)
    Path("net.toml").write_text(TOML.format(name=name, interval=16))
    succeeds("emit", "net.toml")
    build = read_build(Path("build/net"))
    ports = (1, 2) if name == "Residual" else (2, 1)
    assert (len(build.manifest["inputs"]), len(build.manifest["outputs"])) == ports
    capsys.readouterr()
    succeeds("sim", "net.toml", "--json")
    done = json.loads(capsys.readouterr().out)
    assert done["passed"]
    succeeds("sim", "net.toml", "--engine", "native", "--vectors", "2000")
    succeeds("prove", "net.toml")
    assert "claims proved" in capsys.readouterr().out
    succeeds("verify", "build/net")
    succeeds("report", "build/net")
    page = (build.path / "report" / "index.html").read_text()
    assert all(node.name in page for node in build.design.nodes)
    for target in ("python", "cpp", "ipxact", "fusesoc"):
        succeeds("export", "build/net", "--to", target)
    succeeds("explore", "net.toml", "--out", "front")


def test_samples_from_python() -> None:
    class Net(nn.Module):
        input_shape = ((4,), (2,))

        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 2), nn.Linear(2, 2)

        def forward(self, x: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
            y = self.a(x)
            return y + self.b(z), y

    table = {"passes": {"quantize": by_type(linear=LINEAR)}}
    design = mase_hw.compile(randomized(Net()), table)
    x, z = real_inputs(F8, (4,), 10), real_inputs(F8, (2,), 10)
    both = design.run((x, z))
    assert [part.shape for part in both] == [(10, 2), (10, 2)]
    named = design.run({"x": x, "z": z})
    assert all(map(np.array_equal, both, named))
