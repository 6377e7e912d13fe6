"""Windows are proved, whatever their geometry, and nothing that is broken in one is."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support import write_rtl

from mase_hw.geometry import Geometry
from mase_hw.ir import Design, full_range
from mase_hw.numerics import Fixed
from mase_hw.ops.window import Window, window
from mase_hw.prove.claims.claim import Claim
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_design
from mase_hw.prove.windows.prove import WindowProof

sys.path.insert(0, str(Path(__file__).parents[2] / "ops"))

from test_windows import CASES

PADDED = Geometry.of((6, 5), (3, 3), None, ((1, 1), (1, 1)))


def made(geometry: Geometry = PADDED, features: int = 4, lanes: int = 2) -> Window:
    x = full_range("data_in_0", features, lanes, Fixed(5, 2), geometry.frame)
    return window("window", x, geometry)


def open_claims(found: Window, folder: Path, old: str = "", new: str = "") -> list[Claim]:
    """The claims that are not proved, with one place of the emitted window changed."""
    design = Design("dut", (replace(found, outputs=(found.output.renamed("data_out_0"),)),))
    files = write_rtl(design, folder)
    (path,) = [path for path in files if path.name == "dut_window.sv"]
    text = path.read_text("utf-8")
    assert not old or text.count(old) == 1, f"{text.count(old)} times {old}"
    path.write_text(text.replace(old, new) if old else text, encoding="utf-8")
    netlists = elaborate(files, "dut", ["window"])
    return [claim for claim in prove_design(design, netlists).claims if claim.status != "proved"]


@pytest.mark.parametrize("name", CASES)
def test_every_claim_is_proved(name: str, tmp_path: Path) -> None:
    assert open_claims(CASES[name].window(), tmp_path) == []


def test_a_large_frame(tmp_path: Path) -> None:
    """The component alone: the slowest run of a whole design is another matter."""
    geometry = Geometry.of((224, 224), (3, 3), None, ((1, 1), (1, 1)))
    found = made(geometry, 4, 1)
    design = Design("dut", (replace(found, outputs=(found.output.renamed("data_out_0"),)),))
    (component,) = design.components
    assert isinstance(component, Window)
    proof = WindowProof(component, elaborate(write_rtl(design, tmp_path), "dut", ["window"])["window"])
    assert "50,176 windows of 36 beats" in proof.handshake()
    assert "read where it was written" in proof.values()


BROKEN = {
    "a counter ends too early": ("run_q == run_t'(5)", "run_q == run_t'(4)"),
    "a column's last is another": ("column_q == column_t'(11)", "column_q == column_t'(10)"),
    "a row's last is another": ("line_q == line_t'(5)", "line_q == line_t'(4)"),
    "a step of the slot": ("? slot_sum_t'(1) : slot_sum_t'(2)", "? slot_sum_t'(1) : slot_sum_t'(1)"),
    "a step of the column": ("column_t'(-13)", "column_t'(-12)"),
    "room for one more": ("Room = free_t'(4)", "Room = free_t'(5)"),
    "always written": ("if (in_fire) rows[write]", "if (1'b1) rows[write]"),
    "padding of the wrong row": ("tap_row_q == tap_row_t'(2) && line_q", "tap_row_q == tap_row_t'(1) && line_q"),
    "padding of the wrong column": ("padded = column_q >= column_t'(10)", "padded = column_q >= column_t'(11)"),
    "a counter is not reset": ("if (rst) run_q <= '0;\n    else if", "if"),
    "another start": ("if (rst) free_q <= free_t'(18)", "if (rst) free_q <= free_t'(17)"),
    "a place is skipped": ("write_q == address_t'(29)", "write_q == address_t'(28)"),
    "address bits are swapped": ("rows[write] <=", "rows[{write[4:2], write[0], write[1]}] <="),
    "data bits are swapped": ("rows[write] <= data_in_0", "rows[write] <= {data_in_0[0], data_in_0[9:1]}"),
    "the level does not change": ("? row_change", "? '0"),
    "the right edge is not clipped": ("(column_q == column_t'(9)) ? '0", "(column_q == column_t'(9)) ? free_t'(2)"),
    "the tail begins too early": ("line_q > line_t'(4)", "line_q > line_t'(3)"),
    "ready at the last place": ("data_in_0_ready = free_q != '0", "data_in_0_ready = 1'b1"),
    "the output does not hold": ("enable = !valid_q || data_out_0_ready", "enable = 1'b1"),
    "padding is something else": ("if (padded) data_q <= '0", "if (padded) data_q <= 10'd1"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_broken_is_proved(name: str, tmp_path: Path) -> None:
    found = open_claims(made(), tmp_path, *BROKEN[name])
    assert {claim.about for claim in found} & {"handshake", "values"}, name
