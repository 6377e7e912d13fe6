"""The labs' networks with random batch-norm statistics, unrolled and folded: torch = integer reference = RTL."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import assert_rtl_equal, assert_software_equal, assert_yosys_elaborates, eight_bit, randomized, write_rtl

from mase_hw.flow import compile_model
from mase_hw.models import get_model
from mase_hw.numerics import Rounding

EVEN, FLOOR = Rounding.HALF_EVEN, Rounding.FLOOR
MODELS = ("jsc-tiny", "jsc-toy", "jsc-s", "test-hhy")


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize(("kind", "interval"), [("unrolled", 1), ("serial", 8), ("folded", 16)])
@pytest.mark.parametrize("name", MODELS)
def test_model_in_rtl(name: str, kind: str, interval: int, tmp_path: Path) -> None:
    hardware = {"by": "type", "linear": {"config": {"implementation": kind}}}
    compiled = compile_model(
        randomized(get_model(name)), (16,), eight_bit(), hardware, target_interval=interval, top="dut"
    )
    assert {node.implementation for node in compiled.design.nodes if node.op == "linear"} == {kind}
    assert compiled.design.schedule.interval <= interval
    assert_software_equal(compiled, 256)
    assert_yosys_elaborates(write_rtl(compiled.design, tmp_path / "yosys"), "dut")
    assert_rtl_equal(compiled.design, tmp_path)


# Each rounding, each ReLU and each form of the batch norm once with each other one.
FORMS = ((EVEN, False, False), (EVEN, True, True), (FLOOR, False, True), (FLOOR, True, False))


@pytest.mark.parametrize("name", ["jsc-tiny", "digits-mlp"])
@pytest.mark.parametrize(("rounding", "relu", "fuse"), FORMS)
def test_model_in_software(name: str, rounding: Rounding, relu: bool, fuse: bool) -> None:
    assert_model_in_software(name, rounding, relu, fuse)


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*MODELS, "jsc-d", "jsc-txl", "jsc-trt", "digits-mlp"])
@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize("relu", [False, True])
@pytest.mark.parametrize("fuse", [False, True])
def test_every_model_in_software(name: str, rounding: Rounding, relu: bool, fuse: bool) -> None:
    assert_model_in_software(name, rounding, relu, fuse)


def assert_model_in_software(name: str, rounding: Rounding, relu: bool, fuse: bool) -> None:
    """Batch norms fused or not, ReLUs quantized or not: the quantized model and the reference stay equal."""
    model = randomized(get_model(name), seed=7)
    features = 64 if name == "digits-mlp" else 16
    table = eight_bit(relu=relu, rounding=rounding)
    compiled = compile_model(model, (features,), table, target_interval=8, fuse_batch_norm=fuse)
    assert_software_equal(compiled, 128)
    assert compiled.design.schedule.interval <= 8
