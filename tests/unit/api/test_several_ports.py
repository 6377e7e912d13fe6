"""Several inputs and outputs: samples by position or by name, results as a tuple, the RTL compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import branching
import numpy as np
import pytest

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Samples, read_build, write_build
from mase_hw.ir import Design
from mase_hw.numerics import Rounding
from mase_hw.simulate.given import SimulationError, simulate_given
from mase_hw.simulate.stimulus import stimulus
from mase_hw.vectors import InputSide, OutputSide, Vectors

ORDER = tuple(int(k) for k in np.random.default_rng(0).permutation(24))


def sides(design: Design) -> Vectors:
    a, b = design.inputs
    inputs = InputSide(a, "image", (4, 2, 3), Rounding.HALF_EVEN, ORDER), InputSide(b, "mask", (2, 6), Rounding.FLOOR)
    return Vectors(inputs, (OutputSide(design.outputs[0], ORDER), OutputSide(design.outputs[1])))


@pytest.fixture
def vectors() -> Vectors:
    return sides(branching.crossed())


def test_samples_become_vectors_and_results_samples(vectors: Vectors) -> None:
    design = branching.crossed()
    rng = np.random.default_rng(1)
    image, mask = rng.integers(-128, 128, (5, 4, 2, 3)), rng.integers(-32, 32, (5, 2, 6))
    read = vectors.read((image, mask), integers=True)
    assert [rows.shape for rows in read.inputs] == [(30, 4), (30, 2)]
    assert np.array_equal(read.inputs[0].reshape(5, 24), image.reshape(5, 24)[:, list(ORDER)])
    first, second = vectors.results(design.results(*read.inputs), read, True)
    # The first output is a ReLU of the first input in unsigned 5 bits, two fractional bits fewer, in the model's order.
    assert np.array_equal(first, np.clip(np.round(image.reshape(5, 24) / 4), 0, 31))
    assert second.shape == (5, 6 * 6)
    reals = vectors.results(design.results(*read.inputs), read, False)
    assert np.array_equal(reals[0], first * 2.0**-2)
    one = vectors.read((image[0], mask[0]), integers=True)
    assert one.single
    assert np.array_equal(vectors.results(design.results(*one.inputs), one, True)[0], first[0])


def test_real_numbers_round_as_each_input_does(vectors: Vectors) -> None:
    read = vectors.read((np.full(24, 1.5 / 16), np.full(12, 1.5 / 8)), integers=False)
    assert set(read.inputs[0].flat) == {2}
    assert set(read.inputs[1].flat) == {1}


def test_inputs_by_name(vectors: Vectors) -> None:
    image, mask = np.arange(24), np.arange(12)
    wanted = vectors.read([image, mask], integers=True)
    for given in ({"mask": mask, "image": image}, {"data_in_1": mask, "image": image}):
        found = vectors.read(given, integers=True)
        assert all(map(np.array_equal, found.inputs, wanted.inputs))


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (np.zeros((2, 24)), "x is a ndarray, and there are 2 inputs: image, mask"),
        ((np.zeros(24),), "x is 1 of them, and there are 2 inputs"),
        ({"image": np.zeros(24)}, "x: nothing is given for the input mask"),
        ({"image": np.zeros(24), "msk": np.zeros(12)}, "x: there is no input msk"),
        ({"image": np.zeros(24), "data_in_0": np.zeros(24)}, "x: the input image is given twice"),
        ((np.zeros(24), np.zeros(13)), "mask has the shape (13,), one sample has (2, 6)"),
        ((np.zeros((3, 24)), np.zeros((2, 12))), "the inputs have different numbers of samples: image 3, mask 2"),
        ((np.zeros((1, 24)), np.zeros(12)), "the inputs have different numbers of samples"),
        ((np.full(24, 128), np.zeros(12)), "image: 128..128 are not all integers of fixed(8, 4)"),
    ],
)
def test_what_is_no_sample_of_every_input(vectors: Vectors, given: Any, says: str) -> None:
    with pytest.raises(ProblemsError) as found:
        vectors.read(given, integers=True)
    assert str(found.value).startswith(f"error: {says}")


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["native", "cocotb"])
def test_given_vectors_through_the_rtl(tmp_path: Path, engine: Any) -> None:
    design = branching.crossed()
    build = write_build(tmp_path / "build", design, {}, None)
    x = stimulus(design, 20, 0).inputs
    found = simulate_given(build, x, engine)
    assert all(map(np.array_equal, found, design.results(*x)))
    path = tmp_path / "build" / "rtl" / "crossed_copies.sv"
    path.write_text(path.read_text().replace("assign data_out_0 = out_q;", "assign data_out_0 = ~out_q;"))
    with pytest.raises(SimulationError, match="_out_0"):
        simulate_given(read_build(build.path), x, engine, "none")


def test_samples_of_every_port_are_kept(tmp_path: Path) -> None:
    design = branching.crossed()
    x = stimulus(design, 3, 0).inputs
    labels = np.arange(len(x[0]) // 6)
    write_build(tmp_path / "build", design, {}, Samples(x, design.results(*x), labels, labels))
    build = read_build(tmp_path / "build")
    assert build.samples is not None
    assert all(map(np.array_equal, build.samples.inputs, x))
    assert all(map(np.array_equal, build.samples.outputs, design.results(*x)))
    assert [port["name"] for port in build.manifest["inputs"]] == ["data_in_0", "data_in_1"]
    assert [port["beats"] for port in build.manifest["outputs"]] == [12, 18]
    assert build.reals.roundings == (Rounding.HALF_EVEN,) * 2
