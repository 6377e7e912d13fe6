"""Folded layers by an invariant: every shape of array, any number of steps; no broken one is taken for a sound one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support import write_rtl

from mase_hw.ir import Design, full_range
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.affine import align
from mase_hw.ops.linear.fold import stream_lanes
from mase_hw.ops.linear.folded import LinearFolded, folded_linear
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_component

F6 = Fixed(6, 3)


def layer(
    features: tuple[int, int],
    array: tuple[int, int],
    lanes: tuple[int, int] | None = None,
    x: Fixed = F6,
    *,
    use_dsp: bool = False,
    block_ram: bool | None = None,
) -> LinearFolded:
    rng = np.random.default_rng(1)
    weight, bias = rng.integers(-32, 32, features[::-1]), rng.integers(-32, 32, features[1])
    alignment = align(x, F6, F6)
    enters, leaves = lanes or stream_lanes(*features, array)
    return folded_linear(
        "fc",
        full_range("data_in_0", features[0], enters, x),
        weight,
        bias << alignment.constant_shift,
        alignment,
        Result(F6, Rounding.HALF_EVEN),
        out_lanes=leaves,
        array=array,
        use_dsp=use_dsp,
        block_ram=block_ram,
    )


LAYERS = {
    "words and blocks": layer((8, 6), (4, 3)),
    "banks and parts": layer((16, 8), (8, 2), (2, 1)),
    "a last bank and a last part": layer((7, 7), (4, 2)),
    "slices and joined blocks": layer((16, 8), (2, 2), (8, 8)),
    "slices that are no power of two, joined blocks that are not whole": layer((10, 10), (4, 4), (10, 10)),
    "a counter for the address": layer((15, 30), (3, 1)),
    "weights read for each stage": layer((72, 2), (1, 1), block_ram=False),
    "inputs without a sign": layer((6, 6), (4, 3), x=Fixed(5, 3, signed=False)),
    "products in DSPs": layer((8, 4), (2, 1), use_dsp=True),
}


def claims(component: LinearFolded, folder: Path, old: str = "", new: str = "") -> dict[str, Claim]:
    """The claims of a layer; `old` stands once in its text, and is replaced."""
    design = Design("dut", (component,))
    files = write_rtl(design, folder)
    if old:
        (file,) = [file for file in files if file.name == "dut_fc.sv"]
        text = file.read_text()
        assert text.count(old) == 1, old
        file.write_text(text.replace(old, new))
    netlist = elaborate(files, "dut", ["fc"])["fc"]
    return {claim.about: claim for claim in prove_component(component, netlist)}


@pytest.mark.parametrize("name", LAYERS)
def test_every_shape_is_proved_by_the_invariant(name: str, tmp_path: Path) -> None:
    found = claims(LAYERS[name], tmp_path)
    assert [claim for claim in found.values() if claim.status != "proved"] == []
    assert "an invariant of its counters" in found["handshake"].method
    assert "every row of the array" in found["values"].method
    assert "run step by step" in found["widths"].method


def test_the_steps_do_not_count(tmp_path: Path) -> None:
    """2,560 steps: head and tail together have more states than are gone through."""
    found = claims(layer((256, 10), (1, 1)), tmp_path)
    assert {claim.status for claim in found.values()} == {"proved"}
    assert "2,560 steps" in found["values"].method


BROKEN = {
    "a step is issued too early": ("word_q != write_word_q", "word_q == write_word_q"),
    "a half is never full": ("full_d[write_half_q] = 1'b1", "full_d[write_half_q] = 1'b0"),
    "a half stays full": ("full_d[read_half_q] = 1'b0", "full_d[read_half_q] = 1'b1"),
    "the other half is read": ("buffer[{read_half_q, word_q}]", "buffer[{write_half_q, word_q}]"),
    "the other half is written": ("buffer[{write_half_q, write_word_q}]", "buffer[{read_half_q, write_word_q}]"),
    "every beat is ready": ("data_in_0_ready = !full_q[write_half_q]", "data_in_0_ready = !full_q[0]"),
    "sums are not started anew": ("first_q <= last_q[Stages-1]", "first_q <= 1'b0"),
    "sums move while they wait": ("if (enable && active_q[Stages-1]) acc_q", "if (active_q[Stages-1]) acc_q"),
    "the output does not wait": ("free = !valid_q || data_out_0_ready", "free = 1'b1"),
    "the output moves while it waits": ("if (done) y_q <= y;", "if (last_q[Stages]) y_q <= y;"),
    "every step ends a block": ("issue && pass_last}", "issue}"),
    "a start for every step": ("!= '0) start_q <= '0;", "!= '0) start_q <= Starts[0];"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_layer_is_not_proved(name: str, tmp_path: Path) -> None:
    found = claims(LAYERS["words and blocks"], tmp_path, *BROKEN[name])
    assert "refuted" in {claim.status for claim in found.values()}


@pytest.mark.parametrize("place", [(0, 0), (4, 100), (9, 255)])
def test_one_weight_that_is_another_is_refuted_with_an_input(place: tuple[int, int], tmp_path: Path) -> None:
    component = layer((256, 10), (1, 1))
    matrix = component.matrix.copy()
    matrix[place] ^= 1
    other = replace(component, matrix=matrix)
    netlist = elaborate(write_rtl(Design("dut", (other,)), tmp_path), "dut", ["fc"])["fc"]
    found = {claim.about: claim for claim in prove_component(component, netlist)}
    assert found["values"].status == "refuted"
    assert f"output {place[0]}, input {place[1]}: a weight of {matrix[place]}" in found["values"].detail
    assert "a run on numbers gives" in found["values"].detail
