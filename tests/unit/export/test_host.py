"""The host models: compiled or imported, they give the design's integers and the bench's beats and bytes, with `==`."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import branching
import numpy as np
import pytest
from support import by_type, named, quantize_input, randomized, real_inputs, run_quantized, spec
from torch import nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, write_build
from mase_hw.export import ExportRequest, export
from mase_hw.export.host_program import program
from mase_hw.export.host_steps import Sum
from mase_hw.flow import Compiled, compile_model
from mase_hw.ir import Component, Design
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops import Cast
from mase_hw.samples import reals
from mase_hw.simulate import find
from mase_hw.simulate.stimulus import stimulus
from sim.axis_bytes import from_bytes, scribbled, to_bytes
from sim.beats import pack, unpack

FLOOR = Rounding.FLOOR


def everything(top: str) -> Compiled:
    """Folded, batch norm in beats, ReLU merged and alone, a cast between two types, serial, unrolled."""
    narrow, wide = Fixed(6, 3), Fixed(9, 5)
    entry = spec(data_in=narrow, weight=narrow, bias=Fixed(7, 5))
    model = nn.Sequential(
        nn.Linear(8, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Linear(6, 6), nn.ReLU(), nn.Linear(6, 5), nn.Linear(5, 4)
    )
    tables = {"by": "name", "default": {"config": {"name": None}}, "_0": entry, "_1": entry}
    tables |= {"_3": spec(data_in=narrow, weight=narrow, bias=narrow, data_out=wide), "_4": spec(data_in=wide)}
    tables |= {"_5": spec(FLOOR, data_in=Fixed(5, 2), weight=wide, bias=narrow, data_out=wide), "_6": entry}
    lanes = {"data_in_parallelism": 4, "data_out_parallelism": 3}
    hardware = named(
        _0={"implementation": "folded", **lanes},
        _1={"data_in_parallelism": 2, "data_out_parallelism": 2},
        _5={"implementation": "serial", "digit_bits": 2},
        _6={"implementation": "unrolled"},
    )
    return compile_model(randomized(model, 3), (8,), tables, hardware, top=top)


def one(top: str, layer: nn.Module, shape: tuple[int, ...], rounding: Rounding, **types: Fixed | None) -> Compiled:
    ops = {nn.Linear: "linear", nn.ReLU: "relu", nn.BatchNorm1d: "batch_norm1d"}
    tables = by_type(**{ops[type(layer)]: spec(rounding, **types)})
    flat = [nn.Flatten()] if len(shape) > 1 else []
    return compile_model(randomized(nn.Sequential(*flat, layer), 5), shape, tables, top=top)


def drawn(k: int) -> Compiled:
    """A layer with types drawn at random: signs, negative and large fractions, ties, saturation."""
    rng = np.random.default_rng(k)

    def fixed() -> Fixed:
        return Fixed(int(rng.integers(2, 15)), int(rng.integers(-4, 18)), bool(rng.random() < 0.6))

    n, m = (int(i) for i in rng.integers(1, 9, 2))
    layer = [nn.Linear(n, m), nn.BatchNorm1d(n), nn.ReLU()][k % 3]
    types = {"data_in": fixed(), "data_out": fixed() if rng.random() < 0.7 else None}
    types |= {} if k % 3 == 2 else {"weight": fixed(), "bias": fixed()}
    return one(f"drawn{k}", layer, (n,), list(Rounding)[int(rng.integers(2))], **types)


@dataclass(frozen=True)
class Made:
    """A design with its vectors, in integers and in real numbers."""

    compiled: Compiled
    build: Build
    x: Integers
    samples: np.ndarray


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> list[Made]:
    byte, big = Fixed(8, 4), Fixed(16, 6)
    designs = [
        everything("all_ops"),
        one("image", nn.Linear(12, 3), (3, 2, 2), Rounding.HALF_EVEN, data_in=byte, weight=byte, bias=byte),
        one("image_relu", nn.ReLU(), (3, 2, 2), FLOOR, data_in=byte, data_out=Fixed(5, 2, False)),
        one("exact", nn.Linear(9, 7), (9,), FLOOR, data_in=big, weight=Fixed(16, 14), bias=Fixed(24, 22)),
        *(drawn(k) for k in range(12)),
    ]
    folder = tmp_path_factory.mktemp("host")
    found = []
    for compiled in designs:
        design = compiled.design
        build = write_build(folder / design.name, design, {}, None, reals=reals(compiled.layers))
        samples = real_inputs(design.input.fixed, compiled.layers.input.shape, 60)
        found.append(Made(compiled, build, stimulus(design, 80, 1).x, samples))
    return found


def test_the_designs_have_every_kind(made: list[Made]) -> None:
    kinds = {component.kind for one in made for component in one.build.design.components}
    computing = {"linear_folded", "linear_serial", "linear_unrolled", "batch_norm1d", "relu", "cast"}
    assert computing <= kinds
    named = {one.build.design.name: one.build for one in made}
    assert named["image"].reals.input_orders[0] is not None
    assert named["image_relu"].reals.output_orders[0] is not None
    assert named["image_relu"].reals.roundings == (FLOOR,)
    sums = [step for one in made for step in program(one.build.design).steps if isinstance(step, Sum)]
    assert {term.form for step in sums for term in step.terms} == {"linear", "scaled", "plain"}
    assert any(term.shift for step in sums for term in step.terms)
    shifts = [step.shift for step in sums if step.changes]
    assert min(shifts) < 0 < max(shifts)


def load(build: Build) -> ModuleType:
    folder = export(build, ExportRequest("python"))
    path = folder / f"{build.design.name}_reference.py"
    made = importlib.util.spec_from_file_location(path.stem, path)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def test_python_gives_the_same_integers(made: list[Made]) -> None:
    for one in made:
        design, module = one.build.design, load(one.build)
        y = design.run(one.x)[design.output.name]
        assert np.array_equal(module.run(one.x), y), design.name
        assert np.array_equal(module.run(one.x.astype(np.int32)), y), design.name
        assert np.array_equal(module.quantize(one.samples), quantize_input(one.compiled, one.samples)), design.name
        # As the model sees it: real numbers in, real numbers out.
        order = one.compiled.layers.output_orders[0]
        wanted = run_quantized(one.compiled, one.samples)
        back = np.empty_like(wanted)
        back[:, list(order) if order else slice(None)] = wanted
        real = module.to_real(module.run(module.quantize(one.samples)))
        assert np.array_equal(real, back * 2.0**-design.output.fixed.frac), design.name


def test_python_packs_what_the_benches_drive(made: list[Made]) -> None:
    rng = np.random.default_rng(0)
    for one in made:
        design, module = one.build.design, load(one.build)
        y = design.run(one.x)[design.output.name]
        for stream, side, values in ((design.input, module.INPUT, one.x), (design.output, module.OUTPUT, y)):
            width, signed = stream.fixed.width, stream.fixed.signed
            words = pack(values.reshape(-1, stream.lanes), width)
            beats = [sum(int(word) << (64 * k) for k, word in enumerate(row)) for row in words]
            packed = side.pack_beats(values)
            assert [beat for vector in packed for beat in vector] == beats
            assert np.array_equal(side.unpack_beats(packed), values)
            raw = side.pack_bytes(values)
            assert raw == to_bytes(values, width).tobytes()
            assert np.array_equal(side.unpack_bytes(raw), values)
            assert np.array_equal(side.unpack_bytes(scribbled(values, width, rng).tobytes()), values)
            assert np.array_equal(from_bytes(to_bytes(values, width), width, signed), values)
            assert np.array_equal(unpack(words, stream.lanes, width, signed).reshape(values.shape), values)


def test_python_refuses_what_is_no_vector(made: list[Made]) -> None:
    module = load(made[0].build)  # 8 x fixed(6, 3) in
    for wrong, says in (
        (np.full((2, 8), 32), "element 0 of vector 0 is 32, not within -32..31"),
        (np.zeros((2, 7), np.int64), "the shape is (2, 7), not [vectors, 8]"),
        (np.zeros((2, 8)), "float64 is no type of integers"),
    ):
        with pytest.raises(ValueError, match=re.escape(says)):
            module.run(wrong)
    with pytest.raises(ValueError, match="not a number"):
        module.quantize(np.full((1, 8), np.nan))
    with pytest.raises(ValueError, match="5 bytes are not whole vectors"):
        module.INPUT.unpack_bytes(bytes(5))
    assert module.quantize(np.full((1, 8), np.inf)).tolist() == [[31] * 8]


# Reads vectors and samples, writes every result into a file; exits with 2 where the way back is not the way there.
PROGRAM = """
#include <cstdio>
#include <fstream>
#include <iostream>
#include <limits>
#include <string>

template <typename T>
void put(std::ofstream& to, const T& values) {
  to.write(reinterpret_cast<const char*>(values.data()), sizeof(typename T::value_type) * values.size());
}

#define MODEL(NAME)                                                                            \\
  void run_##NAME() {                                                                          \\
    using namespace NAME##_reference;                                                          \\
    std::ifstream vectors(#NAME ".x", std::ios::binary), samples(#NAME ".r", std::ios::binary); \\
    std::ofstream y(#NAME ".y", std::ios::binary), beats(#NAME ".beats", std::ios::binary);    \\
    std::ofstream bytes(#NAME ".bytes", std::ios::binary), q(#NAME ".q", std::ios::binary);    \\
    std::ofstream reals(#NAME ".reals", std::ios::binary);                                     \\
    Input x;                                                                                   \\
    while (vectors.read(reinterpret_cast<char*>(x.data()), sizeof x)) {                        \\
      const Output out = run(x);                                                               \\
      put(y, out);                                                                             \\
      for (const auto& beat : InputStream::pack_beats(x)) put(beats, beat);                    \\
      put(bytes, InputStream::pack_bytes(x));                                                  \\
      const bool same = InputStream::unpack_beats(InputStream::pack_beats(x)) == x &&          \\
                        InputStream::unpack_bytes(InputStream::pack_bytes(x)) == x &&          \\
                        OutputStream::unpack_beats(OutputStream::pack_beats(out)) == out &&    \\
                        OutputStream::unpack_bytes(OutputStream::pack_bytes(out)) == out;      \\
      if (!same) std::exit(2);                                                                 \\
    }                                                                                          \\
    InputStream::Reals sample;                                                                 \\
    while (samples.read(reinterpret_cast<char*>(sample.data()), sizeof sample)) {              \\
      put(q, quantize(sample));                                                                \\
      put(reals, to_real(run(quantize(sample))));                                              \\
    }                                                                                          \\
    x.fill(InputStream::hi + 1);                                                               \\
    try {                                                                                      \\
      run(x);                                                                                  \\
      std::exit(3);                                                                            \\
    } catch (const std::out_of_range&) {                                                       \\
    }                                                                                          \\
    sample.fill(std::numeric_limits<double>::quiet_NaN());                                     \\
    try {                                                                                      \\
      quantize(sample);                                                                        \\
      std::exit(4);                                                                            \\
    } catch (const std::domain_error&) {                                                       \\
    }                                                                                          \\
  }
"""


@pytest.mark.slow
def test_cpp_gives_the_same_integers_beats_and_bytes(made: list[Made], tmp_path: Path) -> None:
    names = [one.build.design.name for one in made]
    folders = [export(one.build, ExportRequest("cpp")) for one in made]
    text = "".join(f'#include "{name}_reference.hpp"\n' for name in (*names, *names[:1]))  # twice is once
    text += PROGRAM + "".join(f"MODEL({name})\n" for name in names)
    text += "int main() {\n" + "".join(f"  run_{name}();\n" for name in names) + "}\n"
    (tmp_path / "main.cpp").write_text(text)
    for one, name in zip(made, names, strict=True):
        (tmp_path / f"{name}.x").write_bytes(one.x.astype("<i8").tobytes())
        (tmp_path / f"{name}.r").write_bytes(one.samples.astype("<f8").reshape(len(one.samples), -1).tobytes())
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]  # a shift or a sum that C++ does not define ends it
    command = [*find().cxx.command, *flags, *(f"-I{folder}" for folder in folders), "main.cpp", "-o", "main"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    for one, name in zip(made, names, strict=True):
        design = one.build.design
        y = design.run(one.x)[design.output.name]
        module = load(one.build)
        wanted = {
            "y": y.astype("<i8"),
            "beats": pack(one.x.reshape(-1, design.input.lanes), design.input.fixed.width).astype("<u8"),
            "bytes": to_bytes(one.x, design.input.fixed.width),
            "q": quantize_input(one.compiled, one.samples).astype("<i8"),
            "reals": module.to_real(module.run(module.quantize(one.samples))).astype("<f8"),
        }
        for kind, array in wanted.items():
            assert (tmp_path / f"{name}.{kind}").read_bytes() == array.tobytes(), f"{name}: {kind}"


def test_a_component_without_a_meaning_is_named() -> None:
    @dataclass(frozen=True, eq=False)
    class Odd(Cast):
        kind = "odd_one"

        def meaning(self) -> None:  # type: ignore[override]
            return None

    try:
        cast = branching.split().component("floored")
        odd = Odd(cast.name, cast.inputs, cast.outputs, finish=cast.finish)  # type: ignore[arg-type]
        copies = branching.split().component("copies")
        with pytest.raises(ProblemsError, match="floored: a component of kind odd_one has no host model"):
            program(Design("d", (copies, odd)))
    finally:
        del Component.kinds["odd_one"]


def test_options_that_mean_nothing_are_refused(made: list[Made]) -> None:
    for to in ("cpp", "python"):
        with pytest.raises(ProblemsError) as caught:
            export(made[0].build, ExportRequest(to, part="xc7", clock=100))  # type: ignore[arg-type]
        assert len(caught.value.problems) == 2
