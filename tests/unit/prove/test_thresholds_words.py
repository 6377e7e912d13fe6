"""Comparisons of numbers that are both data: thresholds are proved on words, however wide the sums are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mase_hw.emit.render import render
from mase_hw.ir import Design, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.thresholds import Thresholds, thresholds
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_component

pytestmark = pytest.mark.slow


def component(lanes: int) -> Thresholds:
    rng = np.random.default_rng(1)
    x = full_range("data_in_0", 4, lanes, Fixed(22, 0))
    limits = np.sort(rng.integers(-(1 << 21), 1 << 21, (4, 6)), axis=1)
    made = thresholds("t", x, limits, (np.arange(7), 0), None)
    return Thresholds("t", made.inputs, (made.output.renamed("data_out_0"),), made.thresholds, made.levels)


def values(lanes: int, folder: Path, old: str = "", new: str = "") -> Claim:
    """What is proved of the values, with a text of the RTL changed."""
    made = component(lanes)
    design = Design("dut", (made,))
    files = []
    for name, text in render(design).items():
        if old and name.endswith("_t.sv"):
            assert text.count(old) >= 1
            text = text.replace(old, new, 1)
        (folder / name).write_text(text, encoding="utf-8")
        files.append(folder / name)
    found = prove_component(made, elaborate(files, "dut", ["t"], 600)["t"])
    return next(claim for claim in found if claim.about == "values")


@pytest.mark.parametrize("lanes", [4, 1])
def test_sums_of_22_bits(lanes: int, tmp_path: Path) -> None:
    claim = values(lanes, tmp_path)
    assert claim.status == "proved"
    assert "exhaustion" not in claim.method


@pytest.mark.parametrize(("old", "new"), [(">= limit", "> limit"), (">= limit", "<= limit")])
def test_what_is_wrong_is_refuted(old: str, new: str, tmp_path: Path) -> None:
    assert values(4, tmp_path, old, new).status == "refuted"
