"""Every target that is offered maps every implementation: tiny designs side by side in one module, one run a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mase_hw.emit import render
from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result, batch_norm1d, serial
from mase_hw.ops.affine import align
from mase_hw.ops.linear.fold import stream_lanes
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.unrolled import unrolled
from mase_hw.synth import synthesize
from mase_hw.synth.targets import TARGETS

OFTEN = ("xcup", "ice40")  # all memories there are, and the fabric with the fewest
F4 = Fixed(4, 2)
RESULT = Result(F4, Rounding.HALF_EVEN)
ALIGNED = align(F4, F4, F4)


def _integers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).integers(F4.lo, F4.hi + 1, shape)


def _linear(
    make: Callable[..., Component], n_in: int, n_out: int, lanes: int | None = None, **more: object
) -> Component:
    x = full_range("data_in_0", n_in, lanes or n_in, F4)
    return make("part", x, _integers(n_out, n_in), _integers(n_out), ALIGNED, RESULT, **more)


def _folded(n_in: int, n_out: int, array: tuple[int, int], use_dsp: bool = False) -> Component:
    lanes = stream_lanes(n_in, n_out, array)
    return _linear(folded_linear, n_in, n_out, lanes[0], out_lanes=lanes[1], array=array, use_dsp=use_dsp)


def _norm() -> Component:
    x = full_range("data_in_0", 4, 2, F4)
    return batch_norm1d("part", x, _integers(4), _integers(4), F4, F4, RESULT)


X: Stream = full_range("data_in_0", 4, 2, F4)
PARTS: dict[str, Component] = {
    "unrolled": _linear(unrolled, 3, 2),
    "serial": _linear(serial, 3, 2, digit_bits=2),
    "serial_groups": _linear(serial, 3, 4, digit_bits=2, groups=2),
    "folded": _folded(4, 4, (2, 2)),
    "folded_at_once": _folded(3, 2, (3, 2)),
    "folded_block_rom": _folded(10, 10, (1, 1)),  # over 64 steps
    "folded_block_buffer": _folded(65, 1, (1, 1)),  # a buffer of over 128 beats
    "folded_dsp": _folded(4, 4, (2, 2), use_dsp=True),
    "norm": _norm(),
    "gather": Gather("part", (X,), (X.with_lanes("out", 4),)),
    "scatter": Scatter("part", (X,), (X.with_lanes("out", 1),)),
    "skid": SkidBuffer("part", (X,), (X.renamed("out"),)),
    **{f"fifo{depth}": Fifo("part", (X,), (X.renamed("out"),), depth) for depth in (1, 2, 16, 100)},
}


def _all_side_by_side(folder: Path) -> list[Path]:
    """The RTL of all parts, and a module `every` that brings their ports out."""
    texts: dict[str, str] = {}
    ports, instances = ["input logic clk", "input logic rst"], []
    for name, component in PARTS.items():
        design = Design(name, (replace(component, outputs=(component.output.renamed("data_out_0"),)),))
        design.verify()
        texts |= render(design)
        wires = [f".data_in_0({name}_x)", f".data_out_0({name}_y)", ".clk", ".rst"]
        for side, way in (("in", "input"), ("out", "output")):
            back = "output" if way == "input" else "input"
            stream, letter = (design.input, "x") if side == "in" else (design.output, "y")
            ports += [f"{way} logic [{stream.width - 1}:0] {name}_{letter}", f"{way} logic {name}_{letter}v"]
            ports.append(f"{back} logic {name}_{letter}r")
            wires += [f".data_{side}_0_valid({name}_{letter}v)", f".data_{side}_0_ready({name}_{letter}r)"]
        instances.append(f"  {name} u_{name} ({', '.join(wires)});")
    texts["every.sv"] = "\n".join(["module every (", ",\n".join(ports), ");", *instances, "endmodule", ""])
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in texts]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return _all_side_by_side(tmp_path_factory.mktemp("every"))


@pytest.mark.parametrize(
    "target", [each if each in OFTEN else pytest.param(each, marks=pytest.mark.nightly) for each in TARGETS]
)
def test_every_implementation(target: str, files: list[Path]) -> None:
    dsp = TARGETS[target].with_dsp is not None
    found = synthesize(files, "every", target, dsp=dsp)
    assert found.total.lut > 100
    assert found.total.ff > 100
    assert (found.total.dsp > 0) == dsp
    strange = [cell for cell in found.cells if cell.startswith("$") and not cell.startswith(("$lut", "$_"))]
    assert strange == []
