"""A folded layer of one step: its weights and what its sums start from are constants that pass through registers."""

from __future__ import annotations

from pathlib import Path

import pytest
from support import write_rtl
from test_staged import layer

from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_design


def claims(folder: Path, old: str = "", new: str = "") -> list[Claim]:
    """Those that are not proved, of a layer of one DSP block with one place of its file changed."""
    design = layer(1, 1, (1, 1), 4, use_dsp=True)
    files = write_rtl(design, folder)
    (file,) = [path for path in files if path.name == "net_fc.sv"]
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    netlists = elaborate(files, design.name, ["fc"])
    return [claim for claim in prove_design(design, netlists).claims if claim.status != "proved"]


def test_constants_behind_constants_are_known(tmp_path: Path) -> None:
    assert claims(tmp_path) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("start1_q <= start_q", "start1_q <= ~start_q"),
        ("if (enable) start1_q <= start_q", "if (in_fire) start1_q <= start_q"),
        ("start1_q <= start_q", "start1_q <= start_q ^ x0_q[0]"),
    ],
)
def test_other_constants_are_not_proved(old: str, new: str, tmp_path: Path) -> None:
    assert any(claim.about == "values" for claim in claims(tmp_path, old, new))
