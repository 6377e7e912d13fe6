"""Files with scales that are no powers of two: the design's integers are those of exact arithmetic on the file.

The oracle is an interpreter with fractions (scaled_nets.py). What qonnx computes in float32 is compared as well; it may
differ where its own rounding crosses a tie.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from qonnx_nets import execute
from scaled_nets import ScaledNet, exact_run, random_scaled

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.flow import Prepared, prepare
from mase_hw.samples import quantize_inputs, run_quantized
from mase_hw.vectors import Vectors

BATCH = 12


def prepared(net: ScaledNet, folder: Path) -> Prepared:
    return prepare(load_config(net.save(folder / "net.onnx")))


def values_of(made: Prepared, x: np.ndarray) -> np.ndarray:
    """What the design's integers stand for; the torch model has the same integers."""
    compiled = made.compiled
    codes = quantize_inputs(compiled.layers, x)
    y = compiled.design.results(*codes)
    (torch_y,) = run_quantized(compiled.graph, compiled.layers, compiled.design, x)
    assert np.array_equal(torch_y, y[0])
    vectors = Vectors.of(compiled.layers, compiled.design)
    found = vectors.results(y, vectors.read(x, integers=False), integers=False)
    return np.asarray(found)


def assert_exact(found: np.ndarray, wanted: np.ndarray) -> None:
    """Equal up to the float64 that the values are shown in: no step of an output is that small."""
    close = [abs(Fraction(a.item()) - b) <= abs(b) * Fraction(1, 10**12) + Fraction(1, 10**12)
             for a, b in zip(found.ravel(), wanted.ravel(), strict=True)]  # fmt: skip
    assert all(close), np.argwhere(~np.array(close))[:3].tolist()


@given(st.integers(0, 1 << 30))
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
def test_random_files(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    _is_exact(seed, tmp_path_factory.mktemp("net"))


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(60))
def test_many_random_files(seed: int, tmp_path: Path) -> None:
    _is_exact(seed, tmp_path)


def _is_exact(seed: int, folder: Path) -> None:
    """One network; only what is refused by name may be refused."""
    net, x = random_scaled(seed, BATCH)
    try:
        made = prepared(net, folder)
    except ProblemsError as error:
        assert "numbers fall where" in str(error), error  # noqa: PT017
        return
    found = values_of(made, x)
    assert_exact(found, exact_run(folder / "net.onnx", x))
    float32 = execute(folder / "net.onnx", x)
    different = ~np.isclose(found, float32, rtol=1e-4, atol=1e-4)
    if different.any():  # the float run has noise at a tie, often at the 0 of a sign
        print(f"seed {seed}: {different.sum()} of {found.size} outputs differ from float32's")
    assert different.sum() <= found.size // 2
