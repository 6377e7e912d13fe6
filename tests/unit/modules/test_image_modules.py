"""Quantized convolutions and pools: exact sums, one rounding, gradients, and a small network that learns."""

from __future__ import annotations

from fractions import Fraction
from math import floor
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import ProblemsError
from mase_hw.modules import (
    AdaptiveAvgPool2dInteger,
    AvgPool2dInteger,
    BatchNorm2dInteger,
    Conv1dInteger,
    Conv2dInteger,
    MaxPool2dInteger,
    MeanInteger,
    UpsampleInteger,
    ZeroPadInteger,
)
from mase_hw.modules.average import average
from mase_hw.modules.pool import Mean
from mase_hw.modules.windows import avg_pool_options
from mase_hw.numerics import Fixed, Rounding

EIGHT = Fixed(8, 4)
SPEC = QuantSpec(Rounding.HALF_EVEN, EIGHT, EIGHT, EIGHT)


def spec_of(data_in: Fixed, weight: Fixed | None = None, data_out: Fixed | None = None) -> QuantSpec:
    return QuantSpec(Rounding.HALF_EVEN, data_in, weight, None, data_out)


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_averages_are_torchs(data: st.DataObject) -> None:
    """One sum and one division of float64 each: the very same number, with every option that torch has."""
    draw = data.draw
    kernel = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    sizes = [k + draw(st.integers(0, 5)) for k in kernel]
    stride = draw(st.integers(1, 5)), draw(st.integers(1, 5))
    padding = draw(st.integers(0, kernel[0] // 2)), draw(st.integers(0, kernel[1] // 2))
    options: Any = (kernel, stride, padding, draw(st.booleans()), draw(st.booleans()))
    pool = nn.AvgPool2d(*options, draw(st.none() | st.integers(1, 9)))
    x = torch.randint(-99, 99, (2, 3, *sizes), generator=torch.Generator().manual_seed(draw(st.integers(0, 99))))
    assert torch.equal(average(x.float(), avg_pool_options(pool, 2)), pool(x.double()))


@settings(max_examples=80, deadline=None)
@given(
    st.integers(1, 60),
    st.integers(-20, 20),
    st.integers(2, 32),
    st.sampled_from(Rounding),
    st.integers(-(2**40), 2**40),
)
def test_a_quotient_rounds_as_the_fraction_does(count: int, frac: int, width: int, rule: Rounding, total: int) -> None:
    """Sums near ties, of as many values as there may be; the module's own result, and what a reader makes of it."""
    to = Fixed(width, frac)
    tie = (2 * total + 1) * count  # half of it, in units of 2**-(frac + 1), is a tie
    for n in (tie - 1, tie, tie + 1):
        x = torch.tensor(n * 2.0 ** -(frac + 1), dtype=torch.float64)
        exact = Fraction(n, 2 * count)
        whole = floor(exact) if rule is Rounding.FLOOR else round(exact)
        expected = min(max(whole, to.lo), to.hi)
        module = ReaderOf(QuantSpec(rule, to))
        assert module(x / count).item() * 2.0**frac == expected


class ReaderOf(nn.Module):
    def __init__(self, spec: QuantSpec) -> None:
        super().__init__()
        self.inner = MaxPool2dInteger(1, spec=spec)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.inner.x_quantizer(x)
        return y


@pytest.mark.parametrize(("channels", "dtype"), [(1, torch.float32), (2, torch.float64)])
def test_float32_exactly_as_long_as_the_worst_case_fits(channels: int, dtype: torch.dtype) -> None:
    # 4 taps of signed 12 by signed 12 bits: 4 * 2**11 * 2**11 = 2**24 for each channel of a group.
    spec = spec_of(Fixed(12, 0), Fixed(12, 0))
    conv = nn.Conv2d(3 * channels, 3, 2, groups=3, bias=False)
    module = Conv2dInteger.from_float(conv, spec)
    assert module.accumulator.bound == channels << 24
    assert module(torch.zeros(1, 3 * channels, 3, 3)).dtype == module.result_dtype == dtype


@pytest.mark.parametrize("batch", [1, 40])
@pytest.mark.parametrize("groups", [1, 8])
def test_float32_convolutions_are_exact(batch: int, groups: int) -> None:
    """Integers near 2**24: a method that adds anything but products, as Winograd's does, would show."""
    torch.manual_seed(0)
    conv = nn.Conv2d(8, 8, 3, padding=1, groups=groups, bias=False)
    bits = 9 if groups == 1 else 10
    with torch.no_grad():
        conv.weight.copy_(torch.randint(-(2 ** (bits - 1)), 2 ** (bits - 1), conv.weight.shape))
    module = Conv2dInteger.from_float(conv, spec_of(Fixed(10, 0), Fixed(bits, 0))).eval()
    x = torch.randint(-512, 512, (batch, 8, 16, 16))
    with torch.no_grad():
        y = module(x.float())
    assert y.dtype == torch.float32
    assert torch.equal(y.double(), F.conv2d(x.double(), conv.weight.double(), padding=1, groups=groups))


def test_shared_parameters_and_masks() -> None:
    conv = nn.Conv1d(4, 6, 3, groups=2)
    module = Conv1dInteger.from_float(conv, SPEC)
    assert module.weight is conv.weight
    assert module.bias is conv.bias
    module.pruning_masks = torch.zeros_like(conv.weight)
    assert not module.integers()["weight"].any()
    assert torch.equal(module(torch.randn(2, 4, 5)), module(torch.zeros(2, 4, 5)))
    again = Conv1dInteger.from_float(module, SPEC)
    assert again.weight is conv.weight
    assert (again.groups, again.pruning_masks is module.pruning_masks) == (2, True)
    assert list(module.state_dict()) == list(conv.state_dict())


def test_bypass_computes_as_the_float_module() -> None:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 6, 6)
    pairs: list[tuple[nn.Module, Any]] = [
        (nn.Conv2d(4, 3, 3, padding="same"), Conv2dInteger),
        (nn.MaxPool2d(2), MaxPool2dInteger),
        (nn.AvgPool2d(3, 1, 1), AvgPool2dInteger),
        (nn.AdaptiveAvgPool2d(2), AdaptiveAvgPool2dInteger),
        (Mean((2, 3)), MeanInteger),
        (nn.BatchNorm2d(4).eval(), BatchNorm2dInteger),
        (nn.Upsample(scale_factor=2), UpsampleInteger),
        (nn.ZeroPad2d((1, 2, 0, 1)), ZeroPadInteger),
    ]
    for module, form in pairs:
        quantized = form.from_float(module, SPEC, "layer")
        near = quantized(x)
        quantized.bypass = True
        assert torch.equal(quantized(x), module(x)), form
        assert not torch.equal(near.float(), module(x)), form
        assert near.dtype == quantized.result_dtype, form


def test_refused() -> None:
    said = []
    for make in (
        lambda: Conv2dInteger.from_float(nn.Conv2d(1, 1, 3, padding_mode="reflect"), SPEC, "conv"),
        lambda: AdaptiveAvgPool2dInteger.from_float(nn.AdaptiveAvgPool2d(2), SPEC, "pool")(torch.zeros(1, 1, 5, 4)),
        lambda: MeanInteger.from_float(Mean(1), SPEC, "mean")(torch.zeros(1, 2, 5, 4)),
        lambda: UpsampleInteger.from_float(nn.Upsample(scale_factor=1.5), SPEC, "up")(torch.zeros(1, 1, 4, 4)),
        lambda: UpsampleInteger.from_float(nn.Upsample(scale_factor=2, mode="bilinear"), SPEC, "up")(
            torch.zeros(1, 1, 4, 4)
        ),
        lambda: ZeroPadInteger.from_float(nn.ConstantPad2d(1, 0.5), SPEC, "pad")(torch.zeros(1, 1, 4, 4)),
        lambda: AvgPool2dInteger.from_float(nn.AvgPool2d(2048), spec_of(Fixed(32, 0)), "avg")(
            torch.zeros(1, 1, 2048, 2048)
        ),
    ):
        with pytest.raises(ProblemsError) as error:
            make()
        said.append(error.value.problems[0].message)
    assert said == [
        "conv: padding_mode = 'reflect' has no quantized form",
        "pool: pools a frame of 5 x 4 to 2 x 2, with windows of different sizes",
        "mean: reduces dim 1 of a tensor with 4 dimensions",
        "up: upsamples by 1.5 x 1.5",
        "up: upsamples with mode 'bilinear'",
        "pad: pads with the value 0.5",
        "avg: the exact sum of 4194304 values can reach 54 bits; 52 is the most that rounds exactly",
    ]


def test_gradients_pass_through() -> None:
    """Where nothing saturates, they are those of the float layers at the quantized values."""
    torch.manual_seed(0)
    wide = Fixed(16, 8)
    conv, norm = nn.Conv2d(2, 3, 3, padding=1, dilation=2), nn.BatchNorm2d(3).eval()
    spec = QuantSpec(Rounding.HALF_EVEN, wide, wide, wide)
    forms: list[Any] = [(conv, Conv2dInteger), (norm, BatchNorm2dInteger), (nn.AvgPool2d(3, 2, 1), AvgPool2dInteger)]
    x = torch.randn(2, 2, 8, 8, requires_grad=True)
    y: Tensor = x
    for layer, form in forms:
        y = form.from_float(layer, spec)(y)
    y.square().sum().backward()
    grads = [each.grad for each in (x, conv.weight, conv.bias, norm.weight, norm.bias)]
    for grad in grads:
        assert grad is not None
        assert bool(grad.abs().max() > 0)
    got = [grad.clone() for grad in grads if grad is not None]
    for each in (x, *conv.parameters(), *norm.parameters()):
        each.grad = None
    z: Tensor = x
    for layer, _ in forms:
        z = layer(z)
    z.square().sum().backward()
    floats = [each.grad for each in (x, conv.weight, conv.bias, norm.weight, norm.bias)]
    for mine, other in zip(got, floats, strict=True):
        assert other is not None
        # Two different functions, near each other: this compares reals, not bits.
        assert torch.allclose(mine, other, rtol=0.02, atol=0.05 * float(other.abs().max()))


def test_saturated_inputs_get_no_gradient() -> None:
    module = MaxPool2dInteger.from_float(nn.MaxPool2d(2), spec_of(EIGHT))
    x = torch.tensor([[[[1.0, 2.0], [0.5, 100.0]]]], requires_grad=True)
    module(x).sum().backward()
    assert x.grad is not None
    assert not x.grad.any()
