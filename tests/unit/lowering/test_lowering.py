"""Lowering: result types, adapters, skid buffers, accumulator widths."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from support import by_type, eight_bit, named, randomized, spec
from torch import nn

from mase_hw.diagnostics import ProblemsError
from mase_hw.flow import compile_model
from mase_hw.ir import Design
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import LinearFolded, LinearUnrolled

F8, F6 = Fixed(8, 4), Fixed(6, 2)


def lowered(model: nn.Module, table: dict, hardware: dict | None = None, **more: object) -> Design:
    return compile_model(randomized(model), (16,), table, hardware, **more).design  # type: ignore[arg-type]


def types(design: Design) -> dict[str, str]:
    return {node.name: f"{node.data_in} -> {node.data_out}" for node in design.nodes}


def test_a_result_takes_its_readers_type_through_a_relu() -> None:
    table = {
        "by": "name",
        "_0": spec(data_in=F8, weight=F8, bias=F8),
        "_2": spec(Rounding.FLOOR, data_in=F6, weight=F8, bias=F8),
    }
    design = lowered(nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 3)), table)
    first = design.component("_0")
    assert isinstance(first, LinearUnrolled)
    assert first.finish.rounding is Rounding.FLOOR  # the reader's rule
    assert types(design)["_0"] == "fixed(8, 4) -> fixed(6, 2)"
    assert types(design)["_1"] == "fixed(6, 2) -> fixed(6, 2)"


def test_an_explicit_data_out_wins_and_the_reader_casts() -> None:
    out = Fixed(10, 5)
    table = {
        "by": "name",
        "_0": spec(data_in=F8, weight=F8, bias=F8, data_out=out),
        "_1": spec(data_in=F6, weight=F8, bias=F8),
    }
    design = lowered(nn.Sequential(nn.Linear(16, 4), nn.Linear(4, 3)), table)
    assert design.component("_0").output.fixed == out
    assert design.component("_1_cast").output.fixed == F6


def test_the_output_is_the_exact_accumulator() -> None:
    design = lowered(nn.Sequential(nn.Linear(16, 4)), eight_bit())
    last = design.components[-1]
    assert isinstance(last, LinearUnrolled)
    assert not last.finish.changes
    assert design.output.fixed == Fixed(last.finish.width, 8)


@pytest.mark.parametrize("folded", [False, True])
def test_accumulators_are_reached_and_not_a_bit_too_wide(folded: bool) -> None:
    hardware = named(_0={"implementation": "folded" if folded else "unrolled"})
    design = lowered(nn.Sequential(nn.Linear(16, 4)), eight_bit(), hardware)
    layer = design.component("_0")
    assert isinstance(layer, LinearFolded | LinearUnrolled)
    reached = layer.extremes()[0] @ layer.matrix.T + layer.bias
    assert (reached.min(), reached.max()) == (layer.finish.lo, layer.finish.hi)
    narrower = Fixed(layer.finish.width - 1, 0)
    assert not narrower.holds(layer.finish.lo, layer.finish.hi)


def test_bounds_shrink_the_accumulator_behind_a_relu() -> None:
    """The same layer reads half the range when a ReLU stands before it."""
    both = [lowered(nn.Sequential(*front, nn.Linear(16, 4)), eight_bit()) for front in ((), (nn.ReLU(),))]
    ranges = [d.components[-1].finish.hi - d.components[-1].finish.lo for d in both]  # type: ignore[attr-defined]
    assert ranges[1] < ranges[0]


def test_a_relu_of_unsigned_values_needs_no_hardware() -> None:
    unsigned = Fixed(8, 4, signed=False)
    table = by_type(linear=spec(data_in=unsigned, weight=F8, bias=F8))
    design = lowered(nn.Sequential(nn.Linear(16, 4), nn.ReLU(), nn.Linear(4, 2)), table)
    assert [node.implementation for node in design.nodes] == ["unrolled", "none", "unrolled"]
    assert not any(component.kind == "relu" for component in design.components)


def test_no_ready_runs_through_two_components() -> None:
    design = lowered(nn.Sequential(nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4), nn.ReLU()), eight_bit(relu=True))
    assert len(design.components) == 2  # both ReLUs are merged
    assert len(design.groups) == 1  # the two move together
    apart = lowered(
        nn.Sequential(nn.Linear(16, 4), nn.Linear(4, 2)),
        eight_bit(),
        named(_1={"implementation": "folded", "data_in_parallelism": 2}),
    )
    groups = apart.groups
    assert len(groups) > 2
    for before, after in pairwise(groups):
        assert not before.components[-1].ready_paths or not after.components[0].ready_paths


def test_channels_stream_fastest() -> None:
    """An image's first linear layer takes the stream's order in, so that the model sees its own."""
    model = randomized(nn.Sequential(nn.Flatten(), nn.Linear(3 * 2 * 2, 2)))
    table = by_type(linear=spec(data_in=F8, weight=F8, bias=F8))
    compiled = compile_model(model, (3, 2, 2), table)
    assert compiled.chain.input.order == (0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11)
    from support import assert_software_equal

    assert_software_equal(compiled)


def test_a_module_called_twice_is_built_twice() -> None:
    class Twice(nn.Module):
        input_shape = (8,)

        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(8, 8)

        def forward(self, x):  # type: ignore[no-untyped-def]
            return self.fc(self.fc(x).relu())

    compiled = compile_model(randomized(Twice()), (8,), by_type(linear=spec(data_in=F8, weight=F8, bias=F8)))
    names = [component.name for component in compiled.design.components if component.kind == "linear_unrolled"]
    assert names == ["fc", "fc_1"]
    first, second = (compiled.design.component(name) for name in names)
    assert np.array_equal(first.matrix, second.matrix)  # type: ignore[attr-defined]


class Odd(nn.Module):
    """Layers with the names of ports and of other layers' streams."""

    def __init__(self) -> None:
        super().__init__()
        self.data_out_0 = nn.Linear(16, 4)
        self.data_in_0 = nn.Linear(4, 4)
        self.fc = nn.Linear(4, 4)
        self.fc_out = nn.Linear(4, 4)
        self.clk = nn.ReLU()

    def forward(self, x):  # type: ignore[no-untyped-def]
        return self.clk(self.fc_out(self.fc(self.data_in_0(self.data_out_0(x)))))


def test_layers_may_be_named_like_ports() -> None:
    design = lowered(Odd(), eight_bit())
    assert [node.name for node in design.nodes] == ["data_out_0", "data_in_0", "fc", "fc_out", "clk"]


@pytest.mark.parametrize("top", ["small", "mase_fifo", "mase", "2d", "a-b"])
def test_a_top_that_is_no_free_identifier(top: str) -> None:
    with pytest.raises(ProblemsError, match=f'top = "{top}" is'):
        lowered(nn.Sequential(nn.Linear(16, 4)), eight_bit(), top=top)
