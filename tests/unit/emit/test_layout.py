"""Emitted text: no line over 100 columns, a licence line first, comments that say what the numbers are."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from mase_hw import resources
from mase_hw.emit import render
from mase_hw.emit.axis import render_axis
from mase_hw.emit.layout import COLUMNS, comment, fit
from mase_hw.ir import Design, full_range
from mase_hw.language.text import is_order
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result, batch_norm1d, serial
from mase_hw.ops.affine import align
from mase_hw.ops.linear.equation import output_equation, terms, tile_equations
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.ops.linear.unrolled import unrolled

SPDX = "SPDX-License-Identifier: Apache-2.0"
LONG = "a_long_name_of_a_node_with_words"


def test_a_comment_is_wrapped_by_paragraph() -> None:
    text = comment("one two\nthree\n\n" + "word " * 30, indent=2)
    lines = text.splitlines()
    assert lines[:2] == ["  // one two three", "  //"]
    assert all(line.startswith("  // word") and len(line) <= COLUMNS for line in lines[2:])
    assert text.count("word") == 30
    assert text.endswith("\n")


@pytest.mark.parametrize("name", ["verilator_net", "Xilinx", "synthesis1"])
def test_a_name_that_starts_as_an_order_is_none(name: str) -> None:
    """Verilator ends at a comment that starts with `verilator_net`."""
    assert is_order(f" {name}: 3 x fixed(4, 2) in.")
    for text in (f"{name}: 3 x fixed(4, 2) in.", "word " * 19 + f"{name} and more", " ".join([name] * 50)):
        lines = comment(text).splitlines()
        assert not any(is_order(line.removeprefix("//")) for line in lines)
        assert all(len(line) <= COLUMNS for line in lines)


def test_short_lines_stay_as_they_are() -> None:
    text = "  assign a = b;  // why\n\n// " + "x" * 97 + "\n"
    assert fit(text) == text


@pytest.mark.parametrize(
    ("line", "first"),
    [
        ("  assign y = {" + ", ".join(f"value_{k}" for k in range(30)) + "};", "  assign y = {value_0, "),
        ("  assign y = " + " && ".join(f"value_{k}" for k in range(30)) + ";", "  assign y = value_0 && "),
        (f"  assign {'y' * 60} = {'z' * 60};", f"  assign {'y' * 60} ="),
    ],
)
def test_a_long_line_is_broken_where_a_space_is(line: str, first: str) -> None:
    lines = fit(line).splitlines()
    assert lines[0].startswith(first)
    assert len(lines) > 1
    assert all(len(part) <= COLUMNS for part in lines)
    assert all(part.startswith("      ") for part in lines[1:])
    assert " ".join(part.strip() for part in lines) == line.strip()


def test_a_comment_behind_a_long_line_goes_above_it() -> None:
    assert fit(f"    8'h12,  // {'y0 += 5 x0; ' * 9}").splitlines() == [
        "    // y0 += 5 x0; y0 += 5 x0; y0 += 5 x0; y0 += 5 x0; y0 += 5 x0; y0 += 5 x0; y0 += 5 x0; y0 += 5",
        "    // x0; y0 += 5 x0;",
        "    8'h12,",
    ]


@pytest.mark.parametrize("width", [256, 257, 400, 512, 1021, 2000])
def test_a_wide_literal_is_the_same_number_in_pieces(width: int) -> None:
    digits = "".join(f"{k % 16:x}" for k in range(-(-width // 4)))
    digits = f"{int(digits, 16) & (1 << width) - 1:0{-(-width // 4)}x}"
    text = fit(f"    {width}'h{digits},  // {'a note ' * 20}")
    assert all(len(line) <= COLUMNS for line in text.splitlines())
    pieces = [(int(bits), part) for bits, part in re.findall(r"(\d+)'h([0-9a-f]+)", text)]
    assert sum(bits for bits, _ in pieces) == width
    value = 0
    for bits, part in pieces:
        assert int(part, 16) < 1 << bits
        value = value << bits | int(part, 16)
    assert value == int(digits, 16)


def test_equations() -> None:
    assert terms([(5, "x0"), (0, "x1"), (-1, "x2"), (1, "x3")]) == "5*x0 - x2 + x3"
    assert terms([(-12, "x0")]) == "-12*x0"
    assert terms([]) == "0"
    assert terms([(k, f"x{k}") for k in range(1, 5)], most=2) == "x1 + 2*x2 + ... (2 more)"
    assert output_equation(np.array([5, 0, -12]), 40, 0) == "requantize(5*x0 - 12*x2 + 40)"
    assert output_equation(np.array([5, 1]), -3, 2) == "requantize(4*(5*x0 + x1) - 3)"
    assert output_equation(np.array([0, 0]), 7, 2) == "requantize(7)"
    tile = np.array([[1, 2], [0, 0], [3, -4]])
    assert tile_equations(tile, [4, 5, -1], [0, 1]) == "y4 += x0 + 2*x1; y5 += 0"
    assert tile_equations(tile, [4, 5, 6], [0, 1], most=2) == "y4 += x0 + 2*x1; ..."
    assert tile_equations(tile, [-1, -1, -1], [0, 1]) == "padding"


F8 = Fixed(8, 4)
RESULT = Result(F8, Rounding.HALF_EVEN)


def designs() -> dict[str, Design]:
    """Wide layers with long names: the longest lines of every template."""
    rng = np.random.default_rng(0)
    matrix, bias = rng.integers(F8.lo, F8.hi + 1, (24, 40)), rng.integers(F8.lo, F8.hi + 1, 24)
    alignment = align(F8, F8, F8)
    bias = bias << alignment.constant_shift
    x = full_range("data_in_0", 40, 40, F8)
    beats = full_range("data_in_0", 40, 20, F8)
    more = {"out_lanes": 24, "array": (40, 24)}
    scale, shift = rng.integers(F8.lo, F8.hi + 1, 40), rng.integers(F8.lo, F8.hi + 1, 40)
    made = {
        "unrolled": unrolled(LONG, x, matrix[:4], bias[:4], alignment, RESULT, solver_seconds=0.1),
        "serial": serial(LONG, x, matrix, bias, alignment, RESULT, digit_bits=2),
        "groups": serial(LONG, x, matrix, bias, alignment, RESULT, digit_bits=2, groups=4),
        "folded": folded_linear(LONG, x, matrix, bias, alignment, RESULT, **more),  # type: ignore[arg-type]
        "dsp": folded_linear(LONG, x, matrix, bias, alignment, RESULT, **more, use_dsp=True),  # type: ignore[arg-type]
        "norm": batch_norm1d(LONG, beats, scale, shift, F8, F8, RESULT),
    }
    renamed = {name: replace(part, outputs=(part.output.renamed("data_out_0"),)) for name, part in made.items()}
    return {name: Design("net", (component,)) for name, component in renamed.items()}


DESIGNS = designs()


@pytest.mark.parametrize("name", DESIGNS)
def test_every_emitted_file(name: str) -> None:
    design = DESIGNS[name]
    for file, text in (render(design) | render_axis(design)).items():
        assert text.startswith(f"// {SPDX}\n//\n// "), file
        assert re.search(r"[Ll]atency", text[: text.index("\nmodule ")]) or file == "mase_stream_check.sv", file
        assert [line for line in text.splitlines() if len(line) > COLUMNS] == [], file
        assert not re.search(r"[ \t]$", text, re.MULTILINE), file


def test_every_row_of_a_rom_says_its_weights() -> None:
    text = render(DESIGNS["norm"])[f"net_{LONG}.sv"]
    scale = DESIGNS["norm"].components[0].scale  # type: ignore[attr-defined]
    rows = re.findall(r"// (\S+\*x0, .*|\S+\*x20, .*)", text)
    assert [row.split(", ")[:2] for row in rows] == [[f"{scale[k]}*x{k}", f"{scale[k + 1]}*x{k + 1}"] for k in (0, 20)]


def test_every_output_has_its_equation() -> None:
    layer = DESIGNS["unrolled"].components[0]
    text = " ".join(render(DESIGNS["unrolled"])[f"net_{LONG}.sv"].replace("\n  //", "").split())
    for j, row in enumerate(layer.matrix):  # type: ignore[attr-defined]
        equation = output_equation(row, int(layer.bias[j]), layer.product_shift)  # type: ignore[attr-defined]
        assert f"y{j} = {equation}" in text


def test_no_file_of_the_library_is_wide() -> None:
    for file in resources.rtl_templates().glob("lib/*.sv"):
        assert all(len(line) <= COLUMNS for line in file.read_text("utf-8").splitlines()), file
