"""Host models of designs with branches and several ports: the design's integers, in Python and in C++."""

from __future__ import annotations

import importlib.util
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import branching
import numpy as np
import pytest

from mase_hw.emit import Build, write_build
from mase_hw.emit.build import Reals
from mase_hw.export import ExportRequest, export
from mase_hw.export.host_program import program
from mase_hw.export.host_steps import LookUp, Sum
from mase_hw.ir import Component, Design
from mase_hw.ir.meaning import Affine, Meaning, Table
from mase_hw.ir.stream import full_range
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops import Cast
from mase_hw.simulate import find
from mase_hw.simulate.stimulus import stimulus


def load(build: Build) -> Any:
    path = export(build, ExportRequest("python")) / f"{build.design.name}_reference.py"
    made = importlib.util.spec_from_file_location(path.stem, path)
    assert made is not None
    assert made.loader is not None
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    return module


def rows(samples: int, parts: tuple[Integers, ...]) -> list[Integers]:
    """A row for each sample."""
    return [part.reshape(samples, -1) for part in parts]


@pytest.mark.parametrize("make", branching.ALL)
def test_python_gives_the_same_integers(tmp_path: Path, make: Callable[[], Design]) -> None:
    design = make()
    module, vectors = load(write_build(tmp_path / "b", design, {}, None)), stimulus(design, 50, 0)
    found = module.run(*rows(vectors.samples, vectors.inputs))
    wanted = rows(vectors.samples, design.results(*vectors.inputs))
    assert isinstance(found, tuple) == (len(design.outputs) > 1)
    for one, other in zip(found if isinstance(found, tuple) else (found,), wanted, strict=True):
        assert np.array_equal(one, other)


def test_plumbing_vanishes_and_branches_are_names() -> None:
    made = program(branching.queued())
    assert [step.form for step in made.steps] == ["sum", "sum", "pick"]
    assert made.values["copies_out_0"] == made.values["copies_out_1"] == "x"
    assert program(branching.copied()).steps == ()


def test_every_port_has_its_reals(tmp_path: Path) -> None:
    order = tuple(range(23, -1, -1))
    reals = Reals((Rounding.FLOOR, Rounding.HALF_EVEN), (order, None), (None, tuple(range(35, -1, -1))))
    module = load(write_build(tmp_path / "b", branching.crossed(), {}, None, reals=reals))
    x = module.quantize(np.arange(24)[None] * 1.5 / 16)
    assert x.tolist() == [[int(np.floor(1.5 * k)) for k in order]]
    assert module.quantize(np.full((1, 12), 1.5 / 8), port=1).tolist() == [[2] * 12]
    first, second = module.run(x, np.zeros((1, 12), np.int64))
    assert np.array_equal(module.to_real(first), first / 4)
    assert np.array_equal(module.to_real(second, port=1), second[:, ::-1] / 8)


@dataclass(frozen=True, eq=False)
class Looked(Cast):
    """Computes by tables: so that a host model by meaning is seen without an operator of its own."""

    kind = "looked"

    def meaning(self) -> Meaning:
        lo, hi = self.input.fixed.lo, self.input.fixed.hi
        every = self.finish.execute(np.arange(lo, hi + 1))
        features = self.input.features
        return Table(tuple(range(features)), (lo,) * features, (every,) * features)


@dataclass(frozen=True, eq=False)
class Summed(Cast):
    """A sum of two inputs, one of them scaled."""

    kind = "summed"

    def meaning(self) -> Meaning:
        return Affine((np.eye(3, dtype=np.int64), np.diag([4, -8, 12])), np.array([0, 5, 0]), self.finish)

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return self.meaning().evaluate(*x)


def by_meaning() -> Design:
    """Both of them behind each other."""
    a, b = (full_range(f"data_in_{k}", 3, 3, Fixed(5, 2)) for k in range(2))
    like = branching.split().component("floored")
    assert like.finish is not None
    finish = replace(like.finish, frac=4, lo=-300, hi=300)
    y = full_range("y", 3, 3, finish.fixed)
    total = Summed("total", (a, b), (y,), finish=finish)
    again = replace(finish, frac=2, lo=0, hi=31, fixed=Fixed(4, 1))
    return Design(
        "means", (total, Looked("looked", (y,), (full_range("data_out_0", 3, 3, Fixed(4, 1)),), finish=again))
    )


@pytest.fixture(scope="module")
def means() -> Any:
    yield by_meaning()
    for kind in ("looked", "summed"):
        del Component.kinds[kind]


class FakeBuild:
    """A build of a design that has no RTL."""

    def __init__(self, design: Design) -> None:
        self.design = design
        self.reals = Reals((Rounding.HALF_EVEN,) * len(design.inputs), (None,) * len(design.inputs), (None,))


def test_a_meaning_is_a_host_model(means: Design) -> None:
    from mase_hw.export.host import python_reference

    total, looked = program(means).steps
    assert isinstance(total, Sum)
    assert [(term.form, term.shift) for term in total.terms] == [("plain", 0), ("scaled", 2)]
    assert isinstance(looked, LookUp)
    assert len(looked.table) == 32  # the three features' tables are one
    text = python_reference(FakeBuild(means))["means_reference.py"]  # type: ignore[arg-type]
    names: dict[str, Any] = {}
    exec(text, names)
    x = stimulus(means, 60, 0).inputs
    assert np.array_equal(names["run"](*x), means.results(*x)[0])


PROGRAM = """
#include <cstdlib>
#include <fstream>
#include "crossed_reference.hpp"
#include "residual_reference.hpp"
#include "means_reference.hpp"

template <typename T> bool get(std::ifstream& from, T& values) {
  return bool(from.read(reinterpret_cast<char*>(values.data()), sizeof values));
}
template <typename T> void put(std::ofstream& to, const T& values) {
  to.write(reinterpret_cast<const char*>(values.data()), sizeof values);
}

int main() {
  {
    using namespace crossed_reference;
    std::ifstream in("crossed.x0", std::ios::binary), in1("crossed.x1", std::ios::binary);
    std::ofstream out("crossed.y0", std::ios::binary), out1("crossed.y1", std::ios::binary);
    Input x;
    Input1 x1;
    while (get(in, x) && get(in1, x1)) {
      const auto [y, y1] = run(x, x1);
      put(out, y);
      put(out1, y1);
      if (OutputStream1::unpack_beats(OutputStream1::pack_beats(y1)) != y1) return 2;
      if (InputStream1::unpack_bytes(InputStream1::pack_bytes(x1)) != x1) return 3;
    }
    if (quantize1(InputStream1::Reals{0.1875})[0] != 2 || to_real1(Output1{4})[0] != 0.5) return 4;
  }
  {
    using namespace residual_reference;
    std::ifstream in("residual.x0", std::ios::binary);
    std::ofstream out("residual.y0", std::ios::binary);
    Input x;
    while (get(in, x)) put(out, run(x));
  }
  {
    using namespace means_reference;
    std::ifstream in("means.x0", std::ios::binary), in1("means.x1", std::ios::binary);
    std::ofstream out("means.y0", std::ios::binary);
    Input x;
    Input1 x1;
    while (get(in, x) && get(in1, x1)) put(out, run(x, x1));
  }
}
"""


@pytest.mark.slow
def test_cpp_gives_the_same_integers(tmp_path: Path, means: Design) -> None:
    from mase_hw.export.host import cpp_reference

    designs = [branching.crossed(), branching.residual(), means]
    for design in designs:
        build: Any = FakeBuild(design) if design is means else write_build(tmp_path / design.name, design, {}, None)
        (tmp_path / f"{design.name}_reference.hpp").write_bytes(cpp_reference(build)[f"{design.name}_reference.hpp"])
        for k, part in enumerate(stimulus(design, 50, 0).inputs):
            (tmp_path / f"{design.name}.x{k}").write_bytes(part.astype("<i8").tobytes())
    (tmp_path / "main.cpp").write_text(PROGRAM)
    flags = ["-std=c++17", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-pedantic"]
    flags += ["-fsanitize=undefined", "-fno-sanitize-recover=all"]
    done = subprocess.run(
        [*find().cxx.command, *flags, "main.cpp", "-o", "main"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[:3000]
    done = subprocess.run(["./main"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
    for design in designs:
        for k, wanted in enumerate(design.results(*stimulus(design, 50, 0).inputs)):
            assert (tmp_path / f"{design.name}.y{k}").read_bytes() == wanted.astype("<i8").tobytes(), design.name
