"""What the emitted RTL checks by itself: the rules of streams in simulation, parameters while it is elaborated."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from support import run_rtl, write_rtl

from mase_hw import resources
from mase_hw.diagnostics import ProblemsError
from mase_hw.ir import Design, full_range
from mase_hw.ir.plumbing import SkidBuffer
from mase_hw.numerics import Fixed
from mase_hw.simulate import lint, simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.stimulus import stimulus

LIBRARY = resources.rtl_templates() / "lib"


def skid() -> Design:
    x = full_range("data_in_0", 4, 2, Fixed(4, 2))
    design = Design("net", (SkidBuffer("skid", (x,), (x.renamed("data_out_0"),)),))
    design.verify()
    return design


BROKEN = {
    "valid falls": (
        "assign data_out_0_valid = out_valid_q;",
        "out_valid_q && !(skid_valid_q && data_in_0_valid)",
        "valid fell",
    ),
    "data changes": ("assign data_out_0 = out_q;", "out_q ^ Width'(skid_valid_q)", "data changed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_component_that_breaks_the_rule(name: str, tmp_path: Path) -> None:
    design = skid()
    files = write_rtl(design, tmp_path)
    old, new, message = BROKEN[name]
    file = tmp_path / "mase_skid_buffer.sv"
    text = file.read_text("utf-8")
    assert text.count(old) == 1
    file.write_text(text.replace(old, f"{old.partition(' = ')[0]} = {new};"), encoding="utf-8")
    outcome = run_rtl(design, files, tmp_path / "sim", count=16)
    assert not outcome.passed
    said = [line for line in outcome.failures if "%Error" in line]
    assert said
    assert all("mase_stream_check.sv" in line and "u_check_data_out_0" in line for line in said)
    assert any(message in line for line in said)


IMPATIENT = """
module impatient (
  input logic clk,
  input logic rst,
  input logic [7:0] data_in_0,
  input logic data_in_0_valid,
  output logic data_in_0_ready,
  output logic [7:0] data_out_0,
  output logic data_out_0_valid,
  input logic data_out_0_ready
);
  logic open_q, ready;
  always_ff @(posedge clk) open_q <= rst || !open_q;
  assign data_in_0_ready = ready && open_q;
  net #(.CheckStreams(1'b1)) u_net (
    .clk, .rst, .data_in_0, .data_in_0_valid(data_in_0_valid && open_q), .data_in_0_ready(ready),
    .data_out_0, .data_out_0_valid, .data_out_0_ready
  );
endmodule
"""


def test_an_environment_that_breaks_the_rule(tmp_path: Path) -> None:
    """Around the design everything is right; inside, what is offered to it is taken back."""
    design = skid()
    outside = tmp_path / "impatient.sv"
    outside.write_text(IMPATIENT, encoding="utf-8")
    files = (*write_rtl(design, tmp_path), outside)
    job = make_job(design, files, stimulus(design, 16, 0), SimRequest(patterns=("both",)), None)
    outcome = simulate(replace(job, top="impatient", predicted=None, checks=False), tmp_path / "sim")
    assert not outcome.passed
    assert all("%Error" in line and "u_check_data_in_0" in line for line in outcome.failures)
    assert "valid fell before the beat was taken" in outcome.failures[0]


BAD = {
    "mase_cast": ("Lanes=0", "InWidth=0"),
    "mase_divide": ("InWidth=0", "SumWidth=0", "OutWidth=1", "ProductWidth=9"),
    "mase_fifo": ("Depth=0", "Width=0"),
    "mase_gather": ("Ratio=1", "Width=0"),
    "mase_requantize": ("InWidth=0", "SumWidth=0", "OutWidth=0", "Shift=64", "Shift=-64"),
    "mase_scatter": ("Ratio=1", "Width=0"),
    "mase_skid_buffer": ("Width=0",),
    "mase_stream_check": ("Width=0",),
}
YOSYS = """
import sys
from pyosys import libyosys as ys
ys.run_pass(sys.argv[1], ys.Design())
"""


def test_every_module_of_the_library_is_tried() -> None:
    assert {path.stem for path in LIBRARY.glob("*.sv")} == set(BAD)


@pytest.mark.parametrize(("module", "bad"), [(module, bad) for module, every in BAD.items() for bad in every])
def test_a_bad_parameter_ends_elaboration(module: str, bad: str, tmp_path: Path) -> None:
    name, _, value = bad.partition("=")
    source = tmp_path / "dut.sv"
    source.write_text(f"module dut;\n  {module} #(.{name}({value})) u_bad ();\nendmodule\n", encoding="utf-8")
    files = [LIBRARY / f"{module}.sv", *([LIBRARY / "mase_requantize.sv"] if module == "mase_cast" else []), source]
    message = f"{module}: {name} = {value} is "
    assert any("USERFATAL" in str(problem) and message in str(problem) for problem in lint(files, "dut"))
    command = [sys.executable, "-c", YOSYS, f"read_slang --top dut {' '.join(map(str, files))}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert f"$fatal encountered: {message}" in done.stdout + done.stderr


def test_a_bad_parameter_is_not_simulated(tmp_path: Path) -> None:
    design = skid()
    files = write_rtl(design, tmp_path)
    top = tmp_path / "net.sv"
    top.write_text(top.read_text("utf-8").replace(".Width(8)\n  ) u_skid", ".Width(0)\n  ) u_skid"), encoding="utf-8")
    with pytest.raises(ProblemsError, match="mase_skid_buffer: Width = 0 is below 1"):
        run_rtl(design, files, tmp_path / "sim", count=16)
