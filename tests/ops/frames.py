"""What the tests of components of frames share."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from support import assert_rtl_equal, assert_yosys_elaborates, write_rtl

from mase_hw.ir import Component, Design


def alone(component: Component) -> Design:
    """The component as a design that has passed its verifier."""
    outputs = tuple(y.renamed(f"data_out_{k}") for k, y in enumerate(component.outputs))
    design = Design("dut", (replace(component, outputs=outputs),))
    design.verify()
    return design


def assert_built(design: Design, tmp: Path, count: int = 4) -> None:
    assert_yosys_elaborates(write_rtl(design, tmp / "yosys"), "dut")
    assert_rtl_equal(design, tmp, count=count)
