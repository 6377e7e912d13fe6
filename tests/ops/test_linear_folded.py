"""The folded linear layer: arrays that divide the layer and arrays that do not, LUTs and DSPs: integers = RTL."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import write_rtl
from together import assert_all_equal, first_name, in_groups

from mase_hw.emit import render
from mase_hw.emit.store import load_design, save_design
from mase_hw.ir import Design, full_range
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.affine import align
from mase_hw.ops.linear.fold import stream_lanes
from mase_hw.ops.linear.folded import LinearFolded, folded_linear
from mase_hw.synth import synthesize

F8 = Fixed(8, 4)
EVEN, DOWN = Rounding.HALF_EVEN, Rounding.FLOOR


def folded(
    features: tuple[int, int],
    array: tuple[int, int],
    *,
    x: Fixed = F8,
    weight: Fixed = F8,
    bias: Fixed | None = F8,
    result: Result | None = Result(F8, EVEN),  # noqa: B008  (frozen)
    lanes: tuple[int, int] | None = None,
    normal: bool = False,
    seed: int = 0,
    **arguments: Any,
) -> LinearFolded:
    """A layer with random weights over their whole type, or normal ones."""
    rng = np.random.default_rng(seed)
    n_in, n_out = features
    alignment = align(x, weight, bias)

    def draw(fixed: Fixed, *shape: int) -> np.ndarray:
        if normal:
            return np.clip(np.round(rng.normal(0, 0.5, shape) * 2**fixed.frac), fixed.lo, fixed.hi).astype(np.int64)
        return rng.integers(fixed.lo, fixed.hi + 1, shape)

    matrix = draw(weight, n_in, n_out).T
    constant = np.zeros(n_out, np.int64) if bias is None else draw(bias, n_out) << alignment.constant_shift
    lanes = lanes or stream_lanes(n_in, n_out, array)
    stream = full_range("data_in_0", n_in, lanes[0], x)
    layer = folded_linear(
        "fc", stream, matrix, constant, alignment, result, out_lanes=lanes[1], array=array, **arguments
    )
    return replace(layer, outputs=(layer.output.renamed("data_out_0"),))


def alone(layer: LinearFolded) -> Design:
    design = Design("dut", (layer,))
    design.verify()
    return design


F2, U6 = Fixed(2, 0), Fixed(6, 3, signed=False)
CASES: dict[str, LinearFolded] = {
    "one multiplier": folded((16, 8), (1, 1)),
    "several stages": folded((8, 6), (4, 3)),
    "weights in block RAM": folded((16, 24), (2, 2)),
    "steps that are no power of two in block RAM": folded((15, 30), (3, 1)),
    "few weights and inputs in block RAM all the same": folded((24, 2), (1, 2), block_ram=True),
    "many weights and inputs in LUT RAM all the same": folded((72, 2), (1, 1), block_ram=False),
    "16 inputs on 3, 5 outputs on 4": folded((16, 5), (3, 4)),
    "16 inputs on 3, all outputs": folded((16, 5), (3, 5)),
    "7 inputs on 4, 7 outputs on 2": folded((7, 7), (4, 2)),
    "10 inputs on 7, 10 outputs on 7": folded((10, 10), (7, 7)),
    "blocks join in a beat": folded((4, 7), (4, 3)),
    "the last block is shorter": folded((9, 6), (3, 4), lanes=(3, 2)),
    "beats narrower than the array": folded((16, 8), (8, 2), lanes=(2, 1)),
    "beats wider than the array": folded((16, 8), (2, 2), lanes=(8, 8)),
    "one weight": folded((1, 1), (1, 1)),
    "one input": folded((1, 9), (1, 4)),
    "one output": folded((9, 1), (2, 1)),
    "all at once": folded((6, 5), (6, 5)),
    "an adder in each stage": folded((6, 4), (3, 2), adders_per_stage=1),
    "no register in between": folded((4, 4), (4, 4), adders_per_stage=99),
    "no bias, exact": folded((12, 10), (3, 2), bias=None, result=None),
    "unsigned both ends, floor": folded((6, 6), (4, 3), x=U6, result=Result(U6, DOWN)),
    "two bits": folded((5, 5), (2, 2), x=F2, weight=F2, bias=F2, result=Result(F2, EVEN)),
    "one bit": folded((8, 3), (4, 3), x=Fixed(1, 0, signed=False), weight=Fixed(4, 0)),
    "odd widths": folded((7, 6), (3, 2), x=Fixed(7, 2), weight=Fixed(5, 3), bias=Fixed(9, 4)),
    "unsigned weights": folded((7, 6), (3, 2), weight=Fixed(5, 3, signed=False)),
    "no weight is anything but zero": folded((8, 4), (2, 2), weight=Fixed(8, -8), normal=True),
    "fine bias shifts the products": folded((8, 4), (2, 2), x=Fixed(6, 1), weight=Fixed(6, 1), bias=Fixed(12, 9)),
    "everything rounds away": folded((4, 4), (2, 2), x=Fixed(3, 12), weight=Fixed(3, 14), result=Result(F2, EVEN)),
    "everything saturates": folded((4, 4), (2, 2), x=Fixed(8, -8), weight=Fixed(8, 0), result=Result(F8, DOWN)),
    "sixteen bits": folded((4, 4), (2, 2), x=Fixed(16, 8), weight=Fixed(16, 12)),
    "DSPs in pairs": folded((12, 10), (4, 4), use_dsp=True),
    "DSPs in pairs, an odd one": folded((12, 10), (3, 5), x=Fixed(8, 4, signed=False), use_dsp=True),
    "DSPs, too wide for pairs": folded((6, 4), (3, 2), x=Fixed(12, 4), weight=Fixed(11, 3), use_dsp=True),
    "DSPs, no weight is anything but zero": folded((8, 4), (2, 2), weight=Fixed(8, -8), normal=True, use_dsp=True),
    "DSPs, one input": folded((1, 6), (1, 3), use_dsp=True),
}


@pytest.mark.parametrize("name", CASES)
def test_cycles_are_as_stated(name: str) -> None:
    layer = CASES[name]
    timing = alone(layer).schedule
    assert timing.interval == layer.interval == layer.fold.steps
    assert timing.latency == layer.latency


@pytest.mark.slow
@pytest.mark.parametrize("group", in_groups(CASES), ids=first_name)
def test_rtl_equals_integers(group: dict[str, LinearFolded], tmp_path: Path) -> None:
    assert_all_equal({name: alone(layer) for name, layer in group.items()}, tmp_path, count=24, yosys=True)


def test_a_stream_too_narrow_rules_the_interval() -> None:
    """One lane out for eight sums every two cycles: eight cycles a block."""
    layer = folded((4, 16), (2, 8), lanes=(2, 1))
    assert (layer.fold.steps, layer.interval, alone(layer).schedule.interval) == (4, 16, 16)
    layer = folded((16, 4), (8, 4), lanes=(1, 4))
    assert (layer.fold.steps, layer.interval, alone(layer).schedule.interval) == (2, 16, 16)


def test_stored_and_loaded_it_is_the_same() -> None:
    design = alone(CASES["DSPs in pairs"])
    manifest, arrays = save_design(design)
    assert {name: array.dtype.name for name, array in arrays.items() if "matrix" in name} == {
        "component.fc.matrix": "int8"
    }
    loaded = load_design({**manifest, "top": "dut", "nodes": []}, arrays)
    assert render(loaded) == render(design)
    (component,) = loaded.components
    assert isinstance(component, LinearFolded)
    assert component.matrix.dtype == np.int64


@pytest.mark.parametrize("most", [-128, 127, -129, 128, 1 << 15, 1 << 31])
def test_stored_numbers_have_the_narrowest_type_that_holds_them(most: int) -> None:
    layer = folded((4, 4), (2, 2), bias=Fixed(40, 4))
    design = alone(replace(layer, bias=np.array([most, 0, 1, 2])))
    manifest, arrays = save_design(design)
    bits = max(8, 1 << (most.bit_length() if most > 0 else (~most).bit_length()).bit_length())
    assert arrays["component.fc.bias"].dtype == np.dtype(f"int{bits}")
    loaded = load_design({**manifest, "top": "dut", "nodes": []}, arrays)
    assert loaded.components[0].bias.tolist() == [most, 0, 1, 2]  # type: ignore[attr-defined]


def test_a_million_weights_are_written_quickly(tmp_path: Path) -> None:
    texts = render(alone(folded((1024, 1024), (32, 32))))
    rows = re.findall(
        r"^    // (y\d+ \+= .+)\n(?:    // .+\n)*    \{(\d+'h[0-9a-f]+,?\s+)+", texts["dut_fc.sv"], re.MULTILINE
    )
    assert len(rows) == 1024


def test_a_long_table_has_its_constants_and_no_comments(monkeypatch: pytest.MonkeyPatch) -> None:
    layer = folded((8, 8), (2, 2))
    noted = render(alone(layer))["dut_fc.sv"]
    monkeypatch.setattr("mase_hw.ops.linear.folded.NOTED_STEPS", layer.fold.steps - 1)
    bare = render(alone(layer))["dut_fc.sv"]
    assert " += " in noted
    assert "y0 +=" not in bare
    constants = re.compile(r"\d+'h[0-9a-f]+")
    assert constants.findall(bare) == constants.findall(noted)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("array", "lut", "bram", "dsp"),
    [
        ((1, 1), 130, 1, 0),
        pytest.param((4, 8), 1450, 0, 0, marks=pytest.mark.nightly),
        pytest.param((4, 8), 900, 0, 16, marks=pytest.mark.nightly),
    ],
)
def test_size(array: tuple[int, int], lut: int, bram: int, dsp: int, tmp_path: Path) -> None:
    """A layer of 16 to 64: its LUTs are counted, its weights are in RAM, two products share a DSP."""
    layer = folded((16, 64), array, normal=True, use_dsp=dsp > 0)
    cost = synthesize(write_rtl(alone(layer), tmp_path), "dut", dsp=dsp > 0).total
    assert cost.lut <= lut
    assert (cost.bram, cost.dsp) == (bram, dsp)
    assert cost.lut == pytest.approx(layer.cost().lut, rel=0.2)
