"""Components with a handshake of their own are proved too, and their mutants are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from test_prove_pipes import DOWN, F6, HALF, U6, claim, design_of, prove

from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.ops import Result, serial
from mase_hw.ops.affine import align
from mase_hw.ops.linear.make import linear


def skid(x: Stream) -> Component:
    return SkidBuffer("skid", (x,), (x.renamed("skid_out"),))


def fifo(x: Stream) -> Component:
    return Fifo("fifo", (x,), (x.renamed("fifo_out"),), 3)


def gather(x: Stream) -> Component:
    return Gather("gather", (x,), (x.with_lanes("gather_out", 4),))


def scatter(x: Stream) -> Component:
    return Scatter("scatter", (x,), (x.with_lanes("scatter_out", 2),))


def folded(
    array: tuple[int, int], out_lanes: int, result: Result | None = HALF, *, use_dsp: bool = False
) -> Callable[[Stream], Component]:
    def make(x: Stream) -> Component:
        rng = np.random.default_rng(0)
        weight, bias = rng.integers(-20, 20, (3, x.features)), rng.integers(-20, 20, 3)
        lanes = {"out_lanes": out_lanes, "folded": True}
        return linear("fc", x, weight, bias, F6, F6, result, **lanes, array=array, use_dsp=use_dsp)  # type: ignore[arg-type]

    return make


def digits(bits: int, result: Result | None = HALF, groups: int = 1) -> Callable[[Stream], Component]:
    def make(x: Stream) -> Component:
        rng = np.random.default_rng(0)
        weight, bias = rng.integers(-20, 20, (3 * groups, x.features)), rng.integers(-20, 20, 3 * groups)
        alignment, more = align(x.fixed, F6, F6), {"digit_bits": bits, "groups": groups}
        return serial("fc", x, weight, bias << alignment.constant_shift, alignment, result, **more)

    return make


def in_parts(x: Stream) -> Component:
    """A block of 3 outputs leaves in 3 beats, the last in 1: a register that is not reset tells which it is."""
    rng = np.random.default_rng(0)
    more = {"out_lanes": 1, "folded": True, "array": (2, 3)}
    return linear("fc", x, rng.integers(-20, 20, (4, 4)), np.zeros(4, np.int64), F6, F6, HALF, **more)  # type: ignore[arg-type]


DESIGNS: dict[str, Callable[[], Design]] = {
    "skid buffer": lambda: design_of(skid, lanes=2),
    "FIFO": lambda: design_of(fifo, lanes=2),
    "gather": lambda: design_of(gather, lanes=2),
    "scatter": lambda: design_of(scatter),
    "folded 1 x 1": lambda: design_of(folded((1, 1), 1), lanes=1),
    "folded 2 x 3": lambda: design_of(folded((2, 3), 3, DOWN), lanes=2),
    "folded, does not divide": lambda: design_of(folded((3, 2), 3)),
    "folded, exact": lambda: design_of(folded((2, 1), 1, None), lanes=2),
    "folded, a block in parts": lambda: design_of(in_parts, lanes=2),
    "folded, DSP": lambda: design_of(folded((2, 1), 1, use_dsp=True), lanes=2),
    "serial, 1 bit": lambda: design_of(digits(1)),
    "serial, 2 bits": lambda: design_of(digits(2, DOWN)),
    "serial, 3 bits, unsigned": lambda: design_of(digits(3, None), fixed=U6),
    "serial, 2 groups": lambda: design_of(digits(2, HALF, 2)),
    "serial, 3 groups, 1 bit": lambda: design_of(digits(1, DOWN, 3)),
    "folded, two products in a DSP": lambda: design_of(folded((1, 3), 3, use_dsp=True), lanes=1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESIGNS)
def test_it_is_proved_whole(name: str, tmp_path: Path) -> None:
    proof = prove(DESIGNS[name](), tmp_path)
    assert [c for c in proof.claims if c.status != "proved"] == []
    assert {c.about for c in proof.claims} == {*("wiring", "progress", "timing", "handshake", "values", "widths")}


def skid_of(old: str, new: str) -> tuple[str, str, str]:
    return "mase_skid_buffer.sv", old, new


MUTANTS = {
    "the beat that waits is lost": (
        "skid buffer", skid_of("out_q <= skid_valid_q ? skid_q : data_in_0", "out_q <= data_in_0"), "values",
    ),
    "data change while they wait": ("skid buffer", skid_of("if (out_free) out_q", "out_q"), "values"),
    "valid waits for ready": (
        "skid buffer", skid_of("data_out_0_valid = out_valid_q", "data_out_0_valid = out_valid_q && data_out_0_ready"),
        "handshake",
    ),
    "a FIFO overflows": (
        "FIFO", ("mase_fifo.sv", "count_q != count_t'(Depth);", "count_q != count_t'(Depth + 1);"), "handshake",
    ),
    "a FIFO underflows": ("FIFO", ("mase_fifo.sv", "count_q != '0;", "1'b1;"), "handshake"),
    "data past the register": (
        "skid buffer", skid_of("data_out_0 = out_q", "data_out_0 = out_q ^ {Width{data_in_0[0]}}"), "values",
    ),
    "beats in another order": ("scatter", ("mase_scatter.sv", "beats_q >> Width", "beats_q << Width"), "values"),
    "a group's results come twice": (
        "serial, 2 groups", ("net_fc.sv", "group_q <= over ? '0 : group_q + group_t'(1)", "group_q <= '0"), "handshake",
    ),
    "the digits of a vector do not come again": (
        "serial, 2 groups", ("net_fc.sv", "end else if (move && busy_q) begin", "end else if (1'b0) begin"), "values",
    ),
    "data in a ready": (
        "gather", ("mase_gather.sv", "data_out_0_ready || !valid_q", "data_out_0_ready || !valid_q || beats_q[0][0]"),
        "timing",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_refuted(name: str, tmp_path: Path) -> None:
    design, change, about = MUTANTS[name]
    made = DESIGNS[design]()
    proof = prove(made, tmp_path, change)
    assert claim(proof, made.components[0].name, about).status != "proved"


@pytest.mark.slow
def test_a_wrong_weight_of_a_folded_layer_is_refuted(tmp_path: Path) -> None:
    design = DESIGNS["folded 1 x 1"]()
    layer = design.components[0]
    layer.matrix[1, 2] += 1  # type: ignore[attr-defined]
    files_design = DESIGNS["folded 1 x 1"]()
    proof_of_other = prove(files_design, tmp_path)
    assert claim(proof_of_other, "fc", "values").status == "proved"
    from mase_hw.prove.netlist.netlist import elaborate
    from mase_hw.prove.prove import prove_design

    netlists = elaborate(sorted(tmp_path.glob("*.sv")), "net", ["fc"])
    assert claim(prove_design(design, netlists), "fc", "values").status == "refuted"
