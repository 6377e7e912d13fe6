"""Host models of networks on frames: windows, pools, depthwise convolutions, upsampling, in Python and in C++."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest
from support import by_type, named, randomized, real_inputs, run_quantized, spec
from test_host_graphs import load
from torch import nn

from mase_hw.emit import Build, write_build
from mase_hw.export import ExportRequest, export
from mase_hw.export.host_program import program
from mase_hw.export.host_steps import Sum
from mase_hw.flow import Compiled, compile_model
from mase_hw.numerics import Fixed, Rounding
from mase_hw.samples import reals
from mase_hw.simulate import find

BYTE, SMALL = Fixed(8, 4), Fixed(6, 3)
COUNT = 12


def compiled(name: str, shape: tuple[int, ...], *layers: nn.Module, **hardware: object) -> Compiled:
    """Weights are typed, and so is what the pools read; half of the operators floor."""
    matrix = spec(data_in=BYTE, weight=SMALL, bias=SMALL)
    floored = spec(Rounding.FLOOR, data_in=BYTE, weight=SMALL, bias=SMALL)
    pool = spec(data_in=SMALL, data_out=BYTE)
    table = by_type(
        conv1d=floored, conv2d=matrix, linear=floored, avg_pool2d=pool, adaptive_avg_pool2d=pool, avg_pool1d=pool
    )
    return compile_model(randomized(nn.Sequential(*layers), 3), shape, table, named(**hardware), top=name)


@pytest.fixture(scope="module")
def nets(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Compiled, Build]]:
    up = nn.Upsample(scale_factor=(2, 3))
    image = [nn.Conv2d(2, 4, 3, stride=2, padding=1), nn.ReLU(), nn.Conv2d(4, 4, 3, padding=1, dilation=2, groups=4)]
    image += [nn.AvgPool2d(3, 1, 1), up, nn.MaxPool2d(2, 2, padding=1), nn.Conv2d(4, 3, (1, 2))]
    sequence = [nn.Conv1d(3, 4, 3, padding=2, dilation=2), nn.MaxPool1d(3, 2), nn.Upsample(scale_factor=2)]
    made = [
        compiled("image", (2, 7, 5), *image),
        compiled("deep", (4, 5, 4), nn.Conv2d(4, 4, 3, groups=4), _0={"implementation": "folded"}),
        compiled("whole", (3, 6, 5), nn.Conv2d(3, 5, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(5, 3)),
        compiled("flat", (2, 6, 6), nn.Conv2d(2, 2, 3), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8, 3)),
        compiled("series", (3, 9), *sequence, nn.AvgPool1d(3, 2)),
    ]
    folder = tmp_path_factory.mktemp("frames")
    return [(one, write_build(folder / one.design.name, one.design, {}, None, reals=reals(one.layers))) for one in made]


def test_the_networks_have_every_step(nets: list[tuple[Compiled, Build]]) -> None:
    steps = [step for one, _ in nets for step in program(one.design).steps]
    assert {step.form for step in steps} == {"sum", "windows", "largest", "repeat"}
    sums = [step for step in steps if isinstance(step, Sum)]
    assert {term.form for step in sums for term in step.terms} >= {"linear", "taps"}
    taps = [term for step in sums for term in step.terms if term.form == "taps"]
    assert {term.weights is None for term in taps} == {True, False}
    assert {step.finish.divisor for step in sums if step.finish is not None} >= {1, 3, 9}


def samples_of(one: Compiled) -> np.ndarray:
    return real_inputs(one.design.input.fixed, one.layers.input.shape, COUNT)


def test_python_gives_what_the_model_gives(nets: list[tuple[Compiled, Build]]) -> None:
    for one, build in nets:
        module, samples = load(build), samples_of(one)
        x = module.quantize(samples)
        y = module.run(x)
        (wanted,) = one.design.results(x.reshape(-1, one.design.input.features))
        assert np.array_equal(y, wanted.reshape(COUNT, -1)), one.design.name
        assert np.array_equal(y, run_quantized(one, samples).reshape(COUNT, -1)), one.design.name


PROGRAM = """
template <typename T> bool get(std::ifstream& from, T& values) {
  return bool(from.read(reinterpret_cast<char*>(values.data()), sizeof values));
}
#define MODEL(NAME)                                                                               \\
  {                                                                                               \\
    using namespace NAME##_reference;                                                             \\
    std::ifstream in(#NAME ".x", std::ios::binary);                                               \\
    std::ofstream out(#NAME ".y", std::ios::binary);                                              \\
    InputStream::Reals x;                                                                         \\
    while (get(in, x)) {                                                                          \\
      const Output y = run(quantize(x));                                                          \\
      out.write(reinterpret_cast<const char*>(y.data()), sizeof y);                               \\
    }                                                                                             \\
  }
"""


@pytest.mark.slow
def test_cpp_gives_the_same_integers(nets: list[tuple[Compiled, Build]], tmp_path: Path) -> None:
    folders = [export(build, ExportRequest("cpp")) for _, build in nets]
    names = [one.design.name for one, _ in nets]
    text = "#include <fstream>\n" + "".join(f'#include "{name}_reference.hpp"\n' for name in names) + PROGRAM
    text += "int main() {\n" + "".join(f"  MODEL({name})\n" for name in names) + "}\n"
    (tmp_path / "main.cpp").write_text(text)
    for (one, _), name in zip(nets, names, strict=True):
        (tmp_path / f"{name}.x").write_bytes(samples_of(one).astype("<f8").tobytes())
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    command = [*find().cxx.command, *flags, *(f"-I{folder}" for folder in folders), "main.cpp", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    for (one, build), name in zip(nets, names, strict=True):
        module = load(build)
        wanted = module.run(module.quantize(samples_of(one)))
        assert (tmp_path / f"{name}.y").read_bytes() == wanted.astype("<i8").tobytes(), name
