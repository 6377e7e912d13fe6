"""What reduces, repeats and widens frames is proved, whatever its size, and nothing that is broken in one is."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from support import write_rtl

from mase_hw.geometry import Geometry
from mase_hw.ir import Component, full_range
from mase_hw.ir.finish import Result
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops.window import global_most, global_sum, reduce_most, reduce_sum, upsample, window_wide
from mase_hw.prove.claims.claim import Claim, NotProvedError
from mase_hw.prove.claims.model import compare
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove_component

sys.path.insert(0, str(Path(__file__).parents[2] / "ops"))

from frames import alone
from test_reductions import CASES as REDUCTIONS
from test_reductions import UPSAMPLED, grouped, whole
from test_windows import WIDE

F8 = Fixed(8, 4)
EVEN = Result(F8, Rounding.HALF_EVEN)
PADDED = Geometry.of((7, 5), (3, 3), (2, 1), ((1, 1), (1, 1)))
EXAMPLES: dict[str, Component] = {
    "wide": window_wide("dut", full_range("data_in_0", 2, 2, Fixed(5, 2), (7, 5)), PADDED, fill=3),
    "block RAM": window_wide("dut", full_range("data_in_0", 2, 2, Fixed(5, 2), (7, 5)), PADDED, block_ram=True),
    "largest": reduce_most("dut", grouped(4, 2, 3)),
    "average": reduce_sum("dut", grouped(6, 2, 1), Result(Fixed(4, 0), Rounding.HALF_EVEN), 6),
    "upsample": upsample("dut", whole(4, 2, (3, 5)), (2, 3)),
    "global largest": global_most("dut", whole(6, 2, (3, 3))),
    "global average": global_sum("dut", whole(4, 2, (3, 3)), Result(Fixed(4, 2), Rounding.HALF_EVEN)),
}


def claims(component: Component, folder: Path, file: str = "", old: str = "", new: str = "") -> list[Claim]:
    """All claims of a component, with one place of a file changed."""
    design = alone(component)
    files = write_rtl(design, folder)
    if old:
        (path,) = [path for path in files if path.name == file]
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{text.count(old)} times {old}"
        path.write_text(text.replace(old, new), encoding="utf-8")
    netlists = elaborate(files, "dut", [component.name])
    return prove_component(design.components[0], netlists[component.name])


def open_claims(found: list[Claim]) -> list[tuple[str, str]]:
    return [(claim.about, claim.detail) for claim in found if claim.status != "proved"]


@pytest.mark.parametrize("name", WIDE)
def test_every_claim_of_a_wide_window_is_proved(name: str, tmp_path: Path) -> None:
    assert open_claims(claims(WIDE[name].window(), tmp_path)) == []


@pytest.mark.parametrize("name", [name for name in REDUCTIONS if name != "depthwise, one tap"])
def test_every_claim_of_a_reduction_is_proved(name: str, tmp_path: Path) -> None:
    assert open_claims(claims(REDUCTIONS[name], tmp_path)) == []


@pytest.mark.parametrize("name", UPSAMPLED)
def test_every_claim_of_an_upsampling_is_proved(name: str, tmp_path: Path) -> None:
    assert open_claims(claims(upsample("dut", *UPSAMPLED[name]), tmp_path)) == []


def test_a_depthwise_convolution_of_one_tap_is_open(tmp_path: Path) -> None:
    """No argument covers it: it is not called FALSE, and costs nothing."""
    found = dict(open_claims(claims(REDUCTIONS["depthwise, one tap"], tmp_path)))
    assert found["handshake"] == "a depthwise convolution of one tap has no accumulators"
    assert set(found) == {"handshake", "values", "widths"}


DEPTHWISE_BROKEN = {
    "ready while it waits": ("enable = !last_q[Stages] || free", "enable = !last_q[Stages] || !free"),
    "every beat is the last": (", in_fire && word_last}", ", in_fire}"),
    "what does not come is counted": ("in_fire = data_in_0_valid && data_in_0_ready", "in_fire = data_in_0_ready"),
    "sums are not started anew": ("first_q <= last_q[Stages-1]", "first_q <= 1'b0"),
    "the output moves while it waits": ("if (free) y_q <= y;", "y_q <= y;"),
    "another lane": ("x0_q[o])", "x0_q[0])"),
    "a start for every tap": ("if (word_q != '0) start_q <= '0;", "if (word_q == '0) start_q <= '0;"),
    "other weights": ("if (in_fire && word_last) block_q", "if (in_fire) block_q"),
}  # fmt: skip


@pytest.mark.parametrize("name", DEPTHWISE_BROKEN)
def test_a_broken_depthwise_convolution_is_not_proved(name: str, tmp_path: Path) -> None:
    old, new = DEPTHWISE_BROKEN[name]
    design = alone(REDUCTIONS["depthwise"])
    files = write_rtl(design, tmp_path)
    (path,) = [path for path in files if old in path.read_text("utf-8")]
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")
    component = design.components[0]
    found = prove_component(component, elaborate(files, "dut", [component.name])[component.name])
    assert {about for about, _ in open_claims(found)} & {"handshake", "values"}


LARGE: dict[str, Component] = {
    "wide": window_wide(
        "dut",
        full_range("data_in_0", 1, 1, Fixed(5, 2), (224, 224)),
        Geometry.of((224, 224), (3, 3), None, ((1, 1), (1, 1))),
    ),
    "upsample": upsample("dut", whole(4, 2, (224, 224), F8), (2, 2)),
    "global largest": global_most("dut", whole(4, 2, (224, 224), F8)),
    "global average": global_sum("dut", whole(4, 2, (224, 224), F8), EVEN),
    "global average of 10 bits": global_sum("dut", whole(1, 1, (224, 224), Fixed(10, 8)), EVEN),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_a_frame_of_224_x_224(name: str, tmp_path: Path) -> None:
    assert open_claims(claims(LARGE[name], tmp_path)) == []


REDUCE, DIVIDE, CAST = "dut_dut.sv", "mase_divide.sv", "mase_requantize.sv"
BROKEN = {
    "a step beyond the frame takes": ("wide", "takes = row_q < row_t'(7) &&", "takes = row_q < row_t'(6) &&"),
    "a step waits beyond the frame": ("wide", "(data_in_0_valid || !takes)", "data_in_0_valid"),
    "a row has one more step": ("wide", "row_end = column_q == column_t'(5)", "row_end = column_q == column_t'(6)"),
    "a frame has one step less": ("wide", "(row_q == row_t'(7)) ? '0 : row_q", "(row_q == row_t'(6)) ? '0 : row_q"),
    "windows end in other rows": ("wide", "&& row_phase_q == row_phase_t'(1)", "&& row_phase_q == row_phase_t'(0)"),
    "a phase is not reset": ("wide", "if (rst) row_phase_q <= '0;\n    else if", "if"),
    "padding below is not set": ("wide", "row_q >= row_t'(7)", "row_q >= row_t'(8)"),
    "padding is something else": ("wide", "Fill = {2{5'h3}}", "Fill = {2{5'h2}}"),
    "a word is written beyond the frame": ("wide", "(step && column_q < column_t'(5)) rows", "(step) rows"),
    "rows are swapped": ("wide", "rows[address] <= column[2:1]", "rows[address] <= {column[1], column[2]}"),
    "a tap is another": ("wide", "taps0_q[2] <= column[0]", "taps0_q[2] <= column[1]"),
    "taps do not hold": ("wide", "enable = !valid_q || data_out_0_ready", "enable = 1'b1"),
    "taps of the output are swapped": ("wide", "taps2_q[1], taps2_q[0]", "taps2_q[0], taps2_q[1]"),
    "the column after the next is read": ("block RAM", "address + 3'd1", "address + 3'd2"),
    "a read is not held": ("block RAM", "if (step) above_q", "above_q"),
    "a tap too many": ("largest", "tap_q == tap_t'(3)", "tap_q == tap_t'(2)"),
    "the smallest": ("largest", "acc_t'(x[i]) > acc_q[i]", "acc_t'(x[i]) < acc_q[i]"),
    "not as signed numbers": ("largest", "acc_t'(x[i]) > acc_q[i]", "unsigned'(acc_t'(x[i])) > unsigned'(acc_q[i])"),
    "the last window is kept": ("largest", "larger = first ||", "larger ="),
    "taken while nothing comes": ("largest", "if (in_fire && larger)", "if (larger)"),
    "a finished one is lost": ("largest", "data_in_0_ready = !(done_q && valid_q)", "data_in_0_ready = 1'b1"),
    "the output does not hold": ("largest", "if (move) y_q", "y_q"),
    "lanes are swapped": ("largest", "assign y[i] = acc_q[i]", "assign y[i] = acc_q[1-i]"),
    "a tap is left out": (
        "average",
        "(first ? '0 : acc_q[i]) + acc_t'(x[i])",
        "(first ? '0 : acc_q[i] + acc_t'(x[i]))",
    ),
    "a tap is subtracted": ("average", "acc_q[i]) + acc_t", "acc_q[i]) - acc_t"),
    "a product is too large": ("average", DIVIDE, "~(3 * Factor))", "~(3 * Factor) & ~64'sd2)"),
    "another half": ("average", DIVIDE, "+ WideWidth'(Offset)", "+ WideWidth'(Offset - 1)"),
    "a tie is not seen": ("average", DIVIDE, "& ~QuotientWidth'(tie)", "& ~QuotientWidth'(1'b0)"),
    "every odd one is a tie": ("average", DIVIDE, "tie = product[Shift-1:Tie] == '0", "tie = 1'b1"),
    "a bit more of a tie": ("average", DIVIDE, "product[Shift-1:Tie] == '0", "product[Shift-1:Tie+1] == '0"),
    "nothing is taken back": ("average", DIVIDE, "(QuotientWidth + 1)'(Back)", "(QuotientWidth + 1)'(Back + 1)"),
    "a clamp is missing": ("global average", CAST, "negative && (NonNegative", "1'b0 && (NonNegative"),
    "a row too often": ("upsample", "row_q == row_t'(1)", "row_q == row_t'(0)"),
    "a repetition too few": ("upsample", "repeat_q == repeat_t'(2)", "repeat_q == repeat_t'(1)"),
    "a place too few": ("upsample", "(write_q == address_t'(9))", "(write_q == address_t'(8))"),
    "given up too early": ("upsample", "issue && repeat_last && row_last", "issue && row_last"),
    "read before it is there": ("upsample", "there = held_q > ahead", "there = held_q >= ahead"),
    "taken while it is full": ("upsample", "data_in_0_ready = held_q != count_t'(10)", "data_in_0_ready = 1'b1"),
    "a beat of the next position": ("upsample", "read_q - address_t'(1)", "read_q"),
    "always written": ("upsample", "if (in_fire) row[write_q]", "row[write_q]"),
    "a beat is not held": ("upsample", "if (issue) data_q", "data_q"),
    "bits are swapped": ("upsample", "row[write_q] <= data_in_0", "row[write_q] <= {data_in_0[0], data_in_0[9:1]}"),
    "a position too many": ("global average", "position_q == position_t'(8)", "position_q == position_t'(7)"),
    "another word": ("global average", "if (in_fire) known[block_q]", "if (in_fire) known[~block_q]"),
    "the sum of the last frame": ("global average", "(first ? '0 : acc[i])", "(1'b0 ? '0 : acc[i])"),
    "the element is not added": ("global average", "acc[i]) + acc_t'(x[i])", "acc[i])"),
    "ready while it waits": ("global average", "data_in_0_ready = !last || done_free", "data_in_0_ready = 1'b1"),
    "a result is overwritten": ("global average", "if (done_free) result_q", "result_q"),
    "the first wins": ("global largest", "acc_t'(x[i]) > acc[i]", "acc_t'(x[i]) > acc[1-i]"),
    "blocks are not counted": ("global largest", "block_q == block_t'(2)", "block_q == block_t'(1)"),
    "a register is not reset": ("global largest", "      done_q  <= 1'b0;\n", ""),
}


@pytest.mark.parametrize("name", BROKEN)
def test_nothing_broken_is_proved(name: str, tmp_path: Path) -> None:
    example, *file, old, new = BROKEN[name]
    found = claims(EXAMPLES[example], tmp_path, file[0] if file else REDUCE, old, new)
    assert {about for about, _ in open_claims(found)} & {"handshake", "values"}, name


def test_model_tells_what_is_divided_by() -> None:
    """The same sums by another number of them, and the largest of others, are another model."""
    result = Result(F8, Rounding.HALF_EVEN)
    nine, seven = (alone(reduce_sum("dut", grouped(9, 1, 2), result, by)) for by in (9, 7))
    assert compare(nine, nine) == 2 * 9 + 2
    with pytest.raises(NotProvedError, match=r"divided by 9, and not .* divided by 7"):
        compare(nine, seven)
    four, two = (alone(reduce_most("dut", grouped(taps, 1, 2))) for taps in (4, 2))
    assert compare(four, four) == 0
    with pytest.raises(NotProvedError, match=r"data_in is 2 x 3 x 2 x 4 x .*, and not 2 x 3 x 2 x 2 x"):
        compare(four, two)
