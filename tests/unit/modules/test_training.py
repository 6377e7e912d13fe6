"""Gradients, training mode, shared parameters and refused parameters of the quantized modules."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import ProblemsError
from mase_hw.modules import BatchNorm1dInteger, LinearInteger, Quantizer, ReLUInteger
from mase_hw.numerics import Fixed, Rounding

EIGHT = Fixed(8, 4)
SPEC = QuantSpec(Rounding.HALF_EVEN, EIGHT, EIGHT, EIGHT)


@pytest.mark.parametrize("rounding", Rounding)
def test_gradient_is_one_within_the_range_and_zero_beyond(rounding: Rounding) -> None:
    # fixed(4, 1) holds -4 .. 3.5
    x = torch.tensor([-4.01, -4.0, -0.3, 0.0, 1.26, 3.5, 3.6, 100.0], requires_grad=True)
    Quantizer(Fixed(4, 1), rounding)(x).sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == [0, 1, 1, 1, 1, 1, 0, 0]


def test_the_forward_value_is_on_the_grid_to_the_bit() -> None:
    """x + (q - x) would not be: the rounding of the float sum would show."""
    x = torch.rand(1000, generator=torch.Generator().manual_seed(0)) * 1e-3 + 7
    assert torch.equal(Quantizer(Fixed(8, 4), Rounding.FLOOR)(x), torch.full((1000,), 7.0))


@pytest.mark.parametrize("wide", [False, True])
def test_gradients_reach_every_parameter(wide: bool) -> None:
    torch.manual_seed(0)
    fixed = Fixed(16, 10) if wide else EIGHT
    spec = QuantSpec(Rounding.HALF_EVEN, fixed, fixed, fixed)
    net = nn.Sequential(
        LinearInteger.from_float(nn.Linear(8, 6), spec),
        BatchNorm1dInteger.from_float(nn.BatchNorm1d(6), spec),
        ReLUInteger.from_float(nn.ReLU(), spec),
        LinearInteger.from_float(nn.Linear(6, 3), spec),
    )
    x = torch.randn(16, 8, requires_grad=True)
    net(x).square().sum().backward()
    for name, parameter in (*net.named_parameters(), ("x", x)):
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
        assert parameter.grad.dtype == torch.float32, name


def test_linear_gradients_are_those_of_the_quantized_values() -> None:
    torch.manual_seed(0)
    layer = nn.Linear(4, 2)
    module = LinearInteger.from_float(layer, SPEC)
    x = torch.randn(5, 4)
    module(x).sum().backward()
    x_q = module.x_quantizer(x)
    assert torch.equal(layer.weight.grad, x_q.sum(0).expand(2, 4))


def test_parameters_and_statistics_are_the_very_same() -> None:
    layer, norm = nn.Linear(4, 2, bias=False), nn.BatchNorm1d(2)
    linear_q, norm_q = LinearInteger.from_float(layer, SPEC), BatchNorm1dInteger.from_float(norm, SPEC)
    assert linear_q.weight is layer.weight
    assert linear_q.bias is None
    for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked"):
        assert getattr(norm_q, name) is getattr(norm, name)
    assert list(linear_q.state_dict()) == list(layer.state_dict())
    assert list(norm_q.state_dict()) == list(norm.state_dict())


def test_building_one_draws_no_random_numbers() -> None:
    layer = nn.Linear(4, 2)
    before = torch.get_rng_state()
    LinearInteger.from_float(layer, SPEC)
    assert torch.equal(before, torch.get_rng_state())


@pytest.mark.parametrize("momentum", [0.1, None])
def test_training_moves_the_running_statistics_as_torch_does(momentum: float | None) -> None:
    norm = nn.BatchNorm1d(3, momentum=momentum)
    reference = copy.deepcopy(norm)
    module = BatchNorm1dInteger.from_float(norm, SPEC)
    for seed in range(3):
        # On the grid, so that quantizing the input changes nothing.
        x = torch.randint(-40, 40, (32, 3), generator=torch.Generator().manual_seed(seed)) / 16
        y, expected = module(x), reference(x)
        assert (y - expected).abs().max() < 0.25  # scale and shift have 4 fractional bits: a sanity check only
    for name in ("running_mean", "running_var", "num_batches_tracked"):
        assert torch.equal(getattr(norm, name), getattr(reference, name)), name


def test_batch_norm_of_sequences() -> None:
    norm = nn.BatchNorm1d(3).eval()
    norm.running_mean.copy_(torch.tensor([1.0, 2.0, 3.0]))
    module = BatchNorm1dInteger.from_float(norm, SPEC)
    x = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
    assert torch.equal(module(x)[:, :, 1], module(x[:, :, 1]))


def test_bypass_is_the_float_module() -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 3)
    for layer, kind in ((nn.Linear(3, 3), LinearInteger), (nn.BatchNorm1d(3).eval(), BatchNorm1dInteger)):
        module = kind.from_float(layer, SPEC)
        assert not torch.equal(module(x), layer(x))
        module.bypass = True
        assert torch.equal(module(x.double()), layer(x))


@pytest.mark.parametrize(("name", "index", "value"), [("weight", (1, 2), "nan"), ("bias", (0,), "inf")])
def test_not_finite(name: str, index: tuple[int, ...], value: str) -> None:
    layer = nn.Linear(4, 2)
    module = LinearInteger.from_float(layer, SPEC, "fc1")
    with torch.no_grad():
        getattr(layer, name)[index] = float(value)
    shown = ", ".join(map(str, index))
    for attempt in (module.integers, lambda: LinearInteger.from_float(layer, SPEC, "fc1")):
        with pytest.raises(ProblemsError) as caught:
            attempt()
        assert [problem.message for problem in caught.value.problems] == [f"fc1: {name}[{shown}] is {value}"]


def test_a_negative_variance() -> None:
    norm = nn.BatchNorm1d(3)
    norm.running_var[1] = -0.5
    with pytest.raises(ProblemsError, match=r"bn: running_var\[1\] is -0.5: a variance is not negative"):
        BatchNorm1dInteger.from_float(norm, SPEC, "bn")


def test_no_running_statistics() -> None:
    with pytest.raises(ProblemsError, match="without running statistics"):
        BatchNorm1dInteger.from_float(nn.BatchNorm1d(3, track_running_stats=False), SPEC)


def test_a_missing_type() -> None:
    with pytest.raises(ProblemsError, match="fc1: the type of weight is missing"):
        LinearInteger.from_float(nn.Linear(2, 2), QuantSpec(Rounding.FLOOR, EIGHT), "fc1")
