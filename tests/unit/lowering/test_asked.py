"""What a user asks of the hardware is what is built, whatever the layers are called and whatever they compute."""

from __future__ import annotations

import pytest
import torch
from support import by_type, eight_bit, named, randomized, spec
from torch import Tensor, nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.flow import compile_model
from mase_hw.numerics import Fixed


class Named(nn.Module):
    """Two layers, the second called as a component that lowering may make for the first."""

    def __init__(self, second: str) -> None:
        super().__init__()
        self.fc = nn.Linear(8, 4)
        self.second = second
        self.add_module(second, nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = getattr(self, self.second)(self.fc(x))
        return y


@pytest.mark.parametrize("second", ["fc_fifo", "fc_all_gather", "fc_out", "fc_skid"])
def test_any_two_names_make_a_design(second: str) -> None:
    hardware = named(fc={"data_in_fifo_depth": 2, "data_in_parallelism": 2, "implementation": "unrolled"})
    design = compile_model(randomized(Named(second)), (8,), eight_bit(), hardware).design
    names = [component.name for component in design.components]
    assert len(set(names)) == len(names)


def test_a_relu_of_what_is_never_negative_keeps_the_parallelism_asked_for() -> None:
    unsigned = Fixed(8, 4, signed=False)
    quantize = by_type(linear=spec(data_in=unsigned, weight=Fixed(8, 4), bias=Fixed(8, 4), data_out=unsigned))
    model = randomized(nn.Sequential(nn.Linear(8, 4), nn.ReLU()))
    design = compile_model(model, (8,), quantize, named(_1={"data_out_parallelism": 2})).design
    assert design.output.lanes == 2


def test_the_target_interval_is_reached_or_refused_behind_a_fifo_of_one() -> None:
    """A FIFO of one beat takes a beat in every second cycle."""
    model = randomized(nn.Sequential(nn.Linear(8, 4)))
    hardware = named(_0={"data_in_fifo_depth": 1})
    try:
        design = compile_model(model, (8,), eight_bit(), hardware, target_interval=1).design
    except ProblemsError as error:
        assert "target_interval is 1" in str(error)  # noqa: PT017
    else:
        assert design.schedule.interval <= 1


class Joined(nn.Module):
    """A concatenation of 3 and 6 features, and a difference of 6 with 6."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 6)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = self.a(x), self.b(x)
        return torch.cat([a, b], 1), b - torch.relu(b)


def test_a_concatenation_that_is_too_slow_says_which_lanes_would_do() -> None:
    """Its parts come in turn, so the cycles are those of all features; lanes divide every part, or are all features."""
    for target, lanes in ((8, 3), (2, 9)):
        hardware = named(cat={"data_in_parallelism": 1})
        with pytest.raises(ProblemsError) as caught:
            compile_model(randomized(Joined()), (4,), eight_bit(), hardware, target_interval=target)
        (problem,) = caught.value.problems
        slow = f"data_in_parallelism = 1 takes 9 cycles for 9 features, target_interval is {target}"
        assert problem.message == f"hardware.cat: {slow}"
        assert problem.hint == f"raise it to {lanes} or more, or delete it"
        hardware = named(cat={"data_in_parallelism": lanes})
        design = compile_model(randomized(Joined()), (4,), eight_bit(), hardware, target_interval=target).design
        assert design.schedule.interval <= target


def test_the_depth_in_front_of_a_join_is_not_what_is_too_slow() -> None:
    hardware = named(sub={"data_in_parallelism": 1, "data_in_fifo_depth": 1})
    with pytest.raises(ProblemsError) as caught:
        compile_model(randomized(Joined()), (4,), eight_bit(), hardware, target_interval=4)
    (problem,) = caught.value.problems
    assert problem.message.startswith("hardware.sub: data_in_parallelism = 1 takes 6 cycles for 6 features")
