"""The torch modules equal integer arithmetic, to the bit, over types, roundings, shapes and extreme values."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import ProblemsError
from mase_hw.modules import BatchNorm1dInteger, LinearInteger, ReLUInteger
from mase_hw.numerics import Fixed, Rounding, requantize, to_integers

FIXED = st.builds(Fixed, st.integers(2, 16), st.integers(-4, 20), st.booleans())
SPECS = st.builds(QuantSpec, st.sampled_from(Rounding), FIXED, FIXED, FIXED, st.none() | FIXED)


def values(seed: int, *shape: int, around: Fixed) -> torch.Tensor:
    """Floats over the type's range and beyond it, with ties and the ends of the range among them."""
    generator = torch.Generator().manual_seed(seed)
    lsb = 2.0**-around.frac
    spread = torch.randn(shape, generator=generator) * (around.hi - around.lo) / 2
    halves = torch.randint(around.lo - 2, around.hi + 3, shape, generator=generator) + 0.5
    ends = torch.where(torch.rand(shape, generator=generator) < 0.5, float(around.lo), float(around.hi))
    kind = torch.randint(0, 3, shape, generator=generator)
    return (torch.where(kind == 0, spread, torch.where(kind == 1, halves, ends)) * lsb).float()


def assert_same(y: torch.Tensor, expected: np.ndarray, frac: int) -> None:
    scaled = y.detach().double().numpy() * 2.0**frac
    assert np.array_equal(scaled, expected), (scaled, expected)


def finish(acc: np.ndarray, frac: int, spec: QuantSpec) -> tuple[np.ndarray, int]:
    if spec.data_out is None:
        return acc, frac
    return requantize(acc, frac, spec.data_out, spec.rounding), spec.data_out.frac


def too_wide(count: int, spec: QuantSpec, bias: bool) -> bool:
    frac = max(spec.data_in.frac + spec.weight.frac, spec.bias.frac if bias else -999)
    most = [max(-fixed.lo, fixed.hi) for fixed in (spec.data_in, spec.weight, spec.bias)]
    bound = count * most[0] * most[1] * 2 ** (frac - spec.data_in.frac - spec.weight.frac)
    return bound + (most[2] * 2 ** (frac - spec.bias.frac) if bias else 0) > 2**53


@settings(max_examples=300, deadline=None)
@given(SPECS, st.integers(1, 40), st.integers(1, 5), st.booleans(), st.integers(0, 2**31), st.booleans())
def test_linear(spec: QuantSpec, ins: int, outs: int, bias: bool, seed: int, wide_input: bool) -> None:
    layer = nn.Linear(ins, outs, bias)
    with torch.no_grad():
        layer.weight.copy_(values(seed, outs, ins, around=spec.weight))
        if bias:
            layer.bias.copy_(values(seed + 1, outs, around=spec.bias))
    if too_wide(ins, spec, bias):
        with pytest.raises(ProblemsError, match="the exact sum of"):
            LinearInteger.from_float(layer, spec)
        return
    module = LinearInteger.from_float(layer, spec)
    x = values(seed + 2, 6, ins, around=spec.data_in)
    y = module(x.double() if wide_input else x)

    parts = module.integers()
    frac_xw = spec.data_in.frac + spec.weight.frac
    frac = max(frac_xw, spec.bias.frac) if bias else frac_xw
    acc = to_integers(x.numpy(), spec.data_in, spec.rounding) @ parts["weight"].T << (frac - frac_xw)
    if bias:
        acc = acc + (parts["bias"] << (frac - spec.bias.frac))
    assert set(parts) == ({"weight", "bias"} if bias else {"weight"})
    assert y.dtype == module.result_dtype
    assert_same(y, *finish(acc, frac, spec))


@settings(max_examples=200, deadline=None)
@given(SPECS, st.integers(1, 6), st.booleans(), st.integers(0, 2**31))
def test_batch_norm1d(spec: QuantSpec, features: int, affine: bool, seed: int) -> None:
    norm = nn.BatchNorm1d(features, affine=affine).eval()
    generator = torch.Generator().manual_seed(seed)
    norm.running_mean.copy_(torch.randn(features, generator=generator))
    norm.running_var.copy_(torch.rand(features, generator=generator) + 0.01)
    if affine:
        with torch.no_grad():
            norm.weight.copy_(torch.randn(features, generator=generator))
            norm.bias.copy_(torch.randn(features, generator=generator))
    if too_wide(1, spec, True):
        with pytest.raises(ProblemsError, match="the exact sum of"):
            BatchNorm1dInteger.from_float(norm, spec)
        return
    module = BatchNorm1dInteger.from_float(norm, spec)
    x = values(seed, 6, features, around=spec.data_in)
    y = module(x)

    gamma = norm.weight.detach().numpy().astype(np.float64) if affine else np.ones(features)
    beta = norm.bias.detach().numpy().astype(np.float64) if affine else np.zeros(features)
    scale = gamma / np.sqrt(norm.running_var.numpy().astype(np.float64) + norm.eps)
    shift = beta - norm.running_mean.numpy().astype(np.float64) * scale
    parts = module.integers()
    assert np.array_equal(parts["scale"], to_integers(scale, spec.weight, spec.rounding))
    assert np.array_equal(parts["shift"], to_integers(shift, spec.bias, spec.rounding))

    frac_xw = spec.data_in.frac + spec.weight.frac
    frac = max(frac_xw, spec.bias.frac)
    acc = to_integers(x.numpy(), spec.data_in, spec.rounding) * parts["scale"] << (frac - frac_xw)
    assert_same(y, *finish(acc + (parts["shift"] << (frac - spec.bias.frac)), frac, spec))


@settings(max_examples=100, deadline=None)
@given(SPECS, st.integers(0, 2**31))
def test_relu(spec: QuantSpec, seed: int) -> None:
    x = values(seed, 4, 9, around=spec.data_in)
    y = ReLUInteger.from_float(nn.ReLU(inplace=True), spec)(x.clone())
    n = np.maximum(to_integers(x.numpy(), spec.data_in, spec.rounding), 0)
    assert_same(y, *finish(n, spec.data_in.frac, spec))


def spec_of(
    data_in: Fixed, weight: Fixed, bias: Fixed | None = None, rounding: Rounding = Rounding.HALF_EVEN
) -> QuantSpec:
    return QuantSpec(Rounding.HALF_EVEN, data_in, weight, bias)


@pytest.mark.parametrize(("ins", "dtype"), [(1, torch.float32), (2, torch.float64)])
def test_float32_exactly_as_long_as_the_worst_case_fits(ins: int, dtype: torch.dtype) -> None:
    # Signed 13 bits times signed 13 bits: 2**12 * 2**12 = 2**24 a product.
    spec = spec_of(Fixed(13, 0), Fixed(13, 0))
    module = LinearInteger.from_float(nn.Linear(ins, 1, bias=False), spec)
    assert module.accumulator.bound == ins << 24
    assert module(torch.zeros(1, ins)).dtype == module.result_dtype == dtype


def test_a_sum_that_float32_would_round() -> None:
    layer = nn.Linear(2, 1, bias=False)
    layer.weight = nn.Parameter(torch.tensor([[4095.0, 1.0]]))
    module = LinearInteger.from_float(layer, spec_of(Fixed(16, 0), Fixed(13, 0)))
    x = torch.tensor([[32767.0, 2.0]])
    assert module(x).item() == 4095 * 32767 + 2
    assert (x @ layer.weight.T).item() != 4095 * 32767 + 2


@pytest.mark.parametrize("frac", [-64, 64])
def test_exponents_beyond_float32(frac: int) -> None:
    """The accumulator's last bit is 2**128 or 2**-128: float32 has no such normal number."""
    layer = nn.Linear(1, 1, bias=False)
    layer.weight = nn.Parameter(torch.tensor([[3 * 2.0**-frac]]))
    module = LinearInteger.from_float(layer, spec_of(Fixed(4, frac), Fixed(4, frac)))
    y = module(torch.tensor([[5 * 2.0**-frac]]))
    assert y.dtype == torch.float64
    assert y.item() == 15 * 2.0 ** (-2 * frac)


def test_floor_sees_the_sign_of_a_number_that_scaling_would_lose() -> None:
    spec = QuantSpec(Rounding.FLOOR, Fixed(4, -64))
    module = ReLUInteger(spec=spec)
    assert module.x_quantizer(torch.tensor([-1e-30])).item() == -(2.0**64)


def test_types_wider_than_float32() -> None:
    spec = spec_of(Fixed(30, 10), Fixed(4, 0))
    layer = nn.Linear(1, 1, bias=False)
    layer.weight = nn.Parameter(torch.tensor([[3.0]]))
    x = torch.tensor([[(2**29 - 1) * 2.0**-10]], dtype=torch.float64)
    assert LinearInteger.from_float(layer, spec)(x).item() == 3 * (2**29 - 1) * 2.0**-10


def test_autocast_changes_nothing() -> None:
    torch.manual_seed(0)
    module = LinearInteger.from_float(nn.Linear(16, 4), spec_of(Fixed(12, 4), Fixed(8, 4), Fixed(8, 4)))
    x = torch.randn(8, 16) * 50
    expected = module(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(module(x), expected)


def test_lower_matmul_precision_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch may then multiply float32 in fewer bits, where the machine can: so float64 is what it gets."""
    module = LinearInteger.from_float(nn.Linear(16, 4), spec_of(Fixed(12, 4), Fixed(8, 4), Fixed(8, 4)))
    x = torch.randn(8, 16) * 50
    expected = module(x)
    used: list[torch.dtype] = []
    linear = torch.nn.functional.linear
    monkeypatch.setattr(torch.nn.functional, "linear", lambda x, *rest: (used.append(x.dtype), linear(x, *rest))[1])
    before = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        assert torch.equal(module(x), expected)
    finally:
        torch.set_float32_matmul_precision(before)
    assert used == [torch.float64]
    assert expected.dtype == torch.float32


def test_batch_norm_constants_are_computed_in_float64() -> None:
    """Types fine enough to show float32's rounding, which 16 bits would hide."""
    torch.manual_seed(0)
    norm = nn.BatchNorm1d(64).eval()
    norm.running_mean.copy_(torch.randn(64))
    norm.running_var.copy_(torch.rand(64) + 0.1)
    fine = Fixed(32, 28)
    parts = BatchNorm1dInteger.from_float(norm, spec_of(Fixed(4, 2), fine, fine)).integers()
    scale = 1.0 / np.sqrt(norm.running_var.numpy().astype(np.float64) + norm.eps)
    assert np.array_equal(parts["scale"], to_integers(scale, fine, Rounding.HALF_EVEN))
    shift = -norm.running_mean.numpy().astype(np.float64) * scale
    assert np.array_equal(parts["shift"], to_integers(shift, fine, Rounding.HALF_EVEN))


def test_masks_prune_forward_and_integers_alike() -> None:
    module = LinearInteger.from_float(nn.Linear(4, 3), spec_of(Fixed(8, 4), Fixed(8, 4), Fixed(8, 4)))
    module.pruning_masks = torch.tensor([1.0, 0.0, 1.0, 0.0]).expand(3, 4)
    assert not module.integers()["weight"][:, [1, 3]].any()
    assert torch.equal(module(torch.tensor([[0.0, 1.0, 0.0, 1.0]])), module(torch.zeros(1, 4)))
