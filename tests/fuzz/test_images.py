"""Random networks on images: files, emit, lint, and the simulation of every stream in every stall pattern."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from fuzzing.batch import run_batch
from fuzzing.cases import Case
from fuzzing.draw import IMAGES, draw_case
from fuzzing.files import model_text
from fuzzing.nets import Layer, Net
from fuzzing.run import Result, emit_case

SIZE = 4
BATCHES = [0, *(pytest.param(batch, marks=pytest.mark.nightly) for batch in range(1, 6))]


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_random_images(batch: int, tmp_path: Path) -> None:
    """Proofs have tests of their own; `make fuzz` has both."""
    numbers = range(IMAGES + batch * SIZE, IMAGES + (batch + 1) * SIZE)
    ran = run_batch([draw_case(number) for number in numbers], tmp_path / "work", proved=False)
    told = {n: f"{one.result.kind}: {one.result.detail}" for n, one in zip(numbers, ran, strict=True)
            if one.result.status == "failed"}  # fmt: skip
    assert told == {}


def test_the_sizes_are_those_of_torch() -> None:
    """Every drawn model runs, and what is drawn has every kind of layer."""
    seen: set[str] = set()
    for number in range(IMAGES, IMAGES + 80):
        case = draw_case(number)
        seen |= {layer.op for layer in case.layers}
        names: dict[str, type[torch.nn.Module]] = {}
        exec(model_text(case), names)
        result = names["Net"]().eval()(torch.zeros(2, *case.shapes[0]))
        assert result.shape[:2] == (2, case.layers[-1].outputs)
    assert seen >= {"conv1d", "conv2d", "batch_norm2d", "relu", "add", "cat", "upsample", "zero_pad", "linear"}
    pools = {op[:-2] for op in seen if "pool" in op}
    assert pools == {"max_pool", "avg_pool", "adaptive_avg_pool", "adaptive_max_pool"}


def frame_out(padding: int) -> Case:
    """A convolution, every tap at once, whose result is a frame; with samples."""
    text = f"nn.Conv2d(1, 2, (2, 2), (1, 1), ({padding}, 1))"
    tensors = (("weight", (2, 1, 2, 2)), ("bias", (2,)))
    layer = Layer("conv2d", (0,), (1,), 2, text=text, tensors=tensors)
    types = {f"{key}_width": 5 for key in ("data_in", "weight", "bias")}
    types |= {f"{key}_frac_width": 2 for key in ("data_in", "weight", "bias")}
    drawn = replace(draw_case(0), net=Net(((1, 3, 3),), (layer,), (1,), framed=True), sequential=False, fuse=False)
    quantize = {"by": "type", "conv2d": {"config": {"name": "integer", **types}}}
    hardware = {"by": "name", "l0": {"config": {"implementation": "unrolled"}}}
    return replace(drawn, quantize=quantize, hardware=hardware, target={}, weights="normal", checkpoint="pt", samples=3)


@pytest.mark.parametrize("padding", [1, 2])
def test_windows_of_padding_alone_and_labels_of_a_frame(padding: int, tmp_path: Path) -> None:
    """The first windows have no position of the frame where the padding is as large as the kernel."""
    build = emit_case(frame_out(padding), tmp_path)
    assert not isinstance(build, Result), build.detail
    assert build.samples is not None
    assert build.samples.float_labels.shape == (3,)
    kinds = {component.kind for component in build.design.components}
    assert ("window_wide" in kinds) == (padding < 2)
