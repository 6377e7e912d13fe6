"""AddInteger, SubInteger, CatInteger, MulInteger: equal to integer arithmetic, to the bit; gradients; limits."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from test_exact_modules import FIXED, assert_same, finish, values
from torch import nn

from mase_hw.config.quantize import QuantSpec
from mase_hw.diagnostics import ProblemsError
from mase_hw.modules import AddInteger, CatInteger, MulInteger, SubInteger
from mase_hw.modules.exact import exact_constant
from mase_hw.numerics import Fixed, Rounding, to_integers

WIDE = st.builds(Fixed, st.integers(2, 32), st.integers(-4, 20), st.booleans())
JOINS = st.builds(QuantSpec, st.sampled_from(Rounding), WIDE, st.none(), st.none(), st.none() | FIXED)


@settings(max_examples=150, deadline=None)
@given(JOINS, st.sampled_from([AddInteger, SubInteger, CatInteger]), st.integers(0, 2**31), st.booleans())
def test_joins(spec: QuantSpec, kind: type[AddInteger | SubInteger | CatInteger], seed: int, wide_input: bool) -> None:
    assert spec.data_in is not None
    assert spec.rounding is not None
    module = kind(spec=spec)
    x, z = (values(seed + k, 6, 5, around=spec.data_in) for k in (0, 1))
    y = module(x.double() if wide_input else x, z)
    m, n = (to_integers(part.numpy(), spec.data_in, spec.rounding) for part in (x, z))
    exact = {AddInteger: m + n, SubInteger: m - n, CatInteger: np.concatenate([m, n], 1)}[kind]
    assert y.dtype == module.result_dtype
    assert module.integers() == {}
    assert_same(y, *finish(exact, spec.data_in.frac, spec))


@settings(max_examples=150, deadline=None)
@given(
    st.builds(QuantSpec, st.sampled_from(Rounding), FIXED, st.none() | FIXED, st.none(), st.none() | FIXED),
    st.sampled_from(["number", "scalar", "features"]),
    st.integers(0, 2**31),
)
def test_mul(spec: QuantSpec, kind: str, seed: int) -> None:
    assert spec.data_in is not None
    assert spec.rounding is not None
    constant = values(seed, 5, around=spec.weight or Fixed(8, 4))
    given = {"number": float(constant[0]), "scalar": constant[0], "features": constant}[kind]
    module = MulInteger(given, spec=spec, features=5)
    scale, fixed = module.integers()["scale"], module.constant_type
    assert scale.shape == (5,)
    if spec.weight is None:  # taken as it is
        wanted = constant if kind == "features" else constant[:1].expand(5)
        assert np.array_equal(scale * 2.0**-fixed.frac, wanted.double().numpy())
    else:
        assert fixed == spec.weight
    x = values(seed + 1, 6, 5, around=spec.data_in)
    y = module(x)
    n = to_integers(x.numpy(), spec.data_in, spec.rounding)
    assert y.dtype == module.result_dtype
    assert_same(y, *finish(n * scale, spec.data_in.frac + fixed.frac, spec))


@given(st.lists(st.floats(-1024, 1024, width=16), min_size=1, max_size=4))
def test_the_narrowest_type_of_a_constant(numbers: list[float]) -> None:
    fixed = exact_constant("mul", torch.tensor(numbers, dtype=torch.float64))
    scaled = [number * 2.0**fixed.frac for number in numbers]
    assert all(value == round(value) and fixed.lo <= value <= fixed.hi for value in scaled)
    assert fixed.width == 2 or not all(fixed.lo / 2 <= value <= fixed.hi // 2 for value in scaled)
    assert not any(scaled) or any(round(value) % 2 for value in scaled)


def test_gradients_pass_straight_through() -> None:
    spec = QuantSpec(Rounding.HALF_EVEN, Fixed(8, 4), weight=Fixed(8, 4))
    x, z = (torch.tensor([[0.3, -1.1, 100.0]], requires_grad=True) for _ in range(2))
    for module, signs in ((AddInteger(spec=spec), (1, 1)), (SubInteger(spec=spec), (1, -1))):
        grads = torch.autograd.grad(module(x, z).sum(), (x, z))
        assert [grad.tolist() for grad in grads] == [[[sign, sign, 0.0]] for sign in signs]  # 100 is saturated
    grads = torch.autograd.grad(CatInteger(spec=spec)(x, z).sum(), (x, z))
    assert [grad.tolist() for grad in grads] == [[[1.0, 1.0, 0.0]]] * 2
    factor = nn.Parameter(torch.tensor([0.5, 2.0, 3.0]))
    module = MulInteger(factor, spec=spec)
    assert module.weight is factor
    to_x, to_factor = torch.autograd.grad(module(x).sum(), (x, factor))
    assert to_x.tolist() == [[0.5, 2.0, 0.0]]
    assert to_factor.tolist() == [0.3125, -1.125, 7.9375]


def test_bypass_computes_in_floats() -> None:
    spec = QuantSpec(Rounding.HALF_EVEN, Fixed(4, 0), weight=Fixed(4, 0))
    x, z = torch.tensor([[0.3, -1.1]]), torch.tensor([[0.4, 0.1]])
    expected = {AddInteger: x + z, SubInteger: x - z, CatInteger: torch.cat([x, z], 1)}
    for kind, wanted in expected.items():
        module = kind(spec=spec)
        module.bypass = True
        assert torch.equal(module(x, z), wanted)
    scaled = MulInteger(0.3, spec=spec)
    scaled.bypass = True
    assert torch.equal(scaled(x), x * 0.3)


def test_what_cannot_be_exact_is_refused() -> None:
    spec = QuantSpec(Rounding.HALF_EVEN, Fixed(32, 4))
    with pytest.raises(ProblemsError, match="can reach 56 bits; 53 is the most"):
        MulInteger(0.1, spec=spec)
    with pytest.raises(ProblemsError, match="need 84 bits in one fixed-point type to be exact"):
        MulInteger(torch.tensor([1e-9, 1e9]), spec=spec)
    with pytest.raises(ProblemsError, match=r"weight\[1\] is nan"):
        MulInteger(torch.tensor([1.0, float("nan")]), spec=spec)
    with pytest.raises(ProblemsError, match="the type of data_in is missing"):
        AddInteger(spec=QuantSpec(Rounding.HALF_EVEN))
