"""One driver for every bit, and a top that holds what the design says: whatever else is put there is found.

The RTL goes to Yosys here without being asked for its language, which refuses most of this before.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from branching import NARROW, WIDE, dense, ended, residual
from support import write_rtl

from mase_hw import resources
from mase_hw.diagnostics import ProblemsError
from mase_hw.ir import Component, Design, full_range
from mase_hw.ops.linear.unrolled import LinearUnrolled
from mase_hw.prove.claims.claim import Claim, NotProvedError
from mase_hw.prove.claims.wiring import prove_wiring
from mase_hw.prove.netlist.drivers import check_driven
from mase_hw.prove.netlist.netlist import Cell, Net, Netlist, elaborate
from mase_hw.prove.netlist.ports import check_ports, component_ports
from mase_hw.prove.prove import prove_design

END = "\nendmodule"


def design() -> Design:
    """Two unrolled layers, one behind the other: one run with one enable."""
    x = full_range("data_in_0", 2, 2, WIDE)
    first = dense("fc1", x, np.array([[1, -2], [3, 1]]), NARROW)
    second = dense("fc2", first.output, np.array([[1, 1]]), NARROW)
    assert isinstance(first, LinearUnrolled)
    made = Design("net", (first, ended(second, "data_out_0")))
    made.verify()
    return made


def claims(folder: Path, file: str, old: str, new: str, of: Design | None = None) -> dict[str, Claim]:
    """Of every kind the first that is not proved."""
    made = of or design()
    files = write_rtl(made, folder)
    (changed,) = [path for path in files if path.name == file]
    text = changed.read_text("utf-8")
    assert old in text
    changed.write_text(text.replace(old, new, 1), encoding="utf-8")
    netlists = elaborate(files, made.name, [component.name for component in made.components])
    wrong = [claim for claim in prove_design(made, netlists).claims if claim.status != "proved"]
    return {claim.about: claim for claim in reversed(wrong)}


COUNTER = """
  logic [3:0] count_q;
  always_ff @(posedge clk) if (rst) count_q <= '0; else count_q <= count_q + 4'd1;
"""
ENABLE = "assign fc1_enable = data_out_0_ready || !data_out_0_valid;"
TOPS = {
    "a counter drives the output now and then": (
        "output logic [5:0] data_out_0,",
        "output wire [5:0] data_out_0,",
        COUNTER + "  assign data_out_0 = count_q == 4'd9 ? 6'h3f : 6'bz;",
        "has a second driver",
    ),
    "a stream is assigned again": (
        "logic [11:0] fc1_out;",
        "wire [11:0] fc1_out;",
        "  assign fc1_out = data_in_0[11:0];",
        "data_out_0 of net_fc1$net.u_fc1 has a second driver",
    ),
    "a stream is assigned a constant": (
        "logic [11:0] fc1_out;",
        "wire [11:0] fc1_out;",
        "  assign fc1_out = 12'd0;",
        "is driven to 0 as well",
    ),
    "a valid has two drivers": (
        "logic fc1_out_valid, ",
        "wire fc1_out_valid; logic ",
        "  assign fc1_out_valid = data_in_0_valid || data_out_0_ready;",
        "has a second driver",
    ),
    "an input is driven": (
        "input  logic data_in_0_valid",
        "input  wire data_in_0_valid",
        "  assign data_in_0_valid = data_out_0_ready;",
        "has a second driver",
    ),
    "an input is driven to a constant": (
        "input  logic data_out_0_ready",
        "input  wire data_out_0_ready",
        "  assign data_out_0_ready = 1'b1;",
        "driven to 1",
    ),
    "a wide gate as the enable": (
        ENABLE,
        "logic [1:0] both;\n  assign both = {data_out_0_ready, fc1_out_valid} | {1'b1, !data_out_0_valid};\n"
        "  assign fc1_enable = both[0];",
        "",
        "cell $or of 2x2x2 bits",
    ),
    "a register in the top": (
        ENABLE,
        "logic e_q;\n  always_ff @(posedge clk) e_q <= data_out_0_ready;\n  assign fc1_enable = e_q;",
        "",
        "cell $dff",
    ),
    "a multiplexer in the top": (
        ENABLE,
        "assign fc1_enable = data_out_0_valid ? data_out_0_ready : 1'b1;",
        "",
        "cell $mux",
    ),
    "the enable waits": (ENABLE, "assign fc1_enable = data_out_0_ready;", "", "is not `ready || !valid`"),
    "a comparison in the top": (ENABLE, "assign fc1_enable = data_out_0_ready >= data_out_0_valid;", "", "cell $ge"),
    "a module of its own": (
        ENABLE,
        "mase_skid_buffer #(.Width(1)) u_more (.clk, .rst, .data_in_0(data_out_0_ready), .data_in_0_valid(1'b1),\n"
        "    .data_out_0(fc1_enable), .data_out_0_ready(1'b1));",
        "",
        "no gate on single bits",
    ),
    "a port too much": (
        "input  logic rst,",
        "input  logic rst,\n  input  logic more,",
        "",
        "it has a port more, which nothing asks for",
    ),
    "a port turned round": (
        "output logic data_in_0_ready",
        "inout wire data_in_0_ready",
        "",
        "data_in_0_ready is an inout, not an output",
    ),
    "another clock": ("u_fc2 (\n    .clk,", "u_fc2 (\n    .clk(rst),", "", "clk of fc2"),
}


def refused_as(says: str, said: str) -> bool:
    """Of two drivers Yosys' own check speaks first."""
    return says in said or ("problems in 'check -assert'" in said and ("driven" in says or "driver" in says))


@pytest.mark.parametrize("name", TOPS)
def test_a_top_with_something_else_is_not_proved(name: str, tmp_path: Path) -> None:
    old, new, more, says = TOPS[name]
    made = design()
    files = write_rtl(made, tmp_path)
    top = tmp_path / "net.sv"
    text = top.read_text("utf-8")
    assert old in text
    top.write_text(text.replace(old, new, 1).replace(END, f"\n{more}{END}"), encoding="utf-8")
    if "skid" in new:
        files.append(tmp_path / "mase_skid_buffer.sv")
        files[-1].write_bytes((resources.rtl_templates() / "lib" / files[-1].name).read_bytes())
    with pytest.raises((NotProvedError, ProblemsError)) as error:
        prove_wiring(made, elaborate(files, "net", ["fc1", "fc2"])[""])
    assert refused_as(says, str(error.value))


def test_the_honest_top_is_proved(tmp_path: Path) -> None:
    made = design()
    netlists = elaborate(write_rtl(made, tmp_path), "net", ["fc1", "fc2"])
    assert prove_wiring(made, netlists[""]) == "2 components and 2 gates, every stream joined bit by bit"


COMPONENTS = {
    "a kept sum is assigned again": (
        "logic [8:0] n0_sum;",
        "wire [8:0] n0_sum;",
        "  assign n0_sum = {9{rst}};",
        "has a second driver",
    ),
    "an input is driven": (
        "input  logic data_in_0_valid",
        "input  wire data_in_0_valid",
        "  assign data_in_0_valid = enable;",
        "has a second driver",
    ),
    "two inputs are joined": (
        "input  logic enable",
        "input  wire enable",
        "  assign enable = rst;",
        "has a second driver",
    ),
    "high impedance": (
        "assign n0_sum = ",
        "logic [8:0] s;\n  assign n0_sum = enable ? s : 9'bz;\n  assign s = ",
        "",
        "tribuf",
    ),
    "a port too much": ("input  logic rst", "input  logic more,\n  input  logic rst", "", "has a port more"),
}


def taken_for_granted(component: Component, netlist: Netlist) -> None:
    check_ports(component_ports(component), netlist)
    check_driven(netlist)


@pytest.mark.parametrize("name", COMPONENTS)
def test_a_component_with_other_drivers_is_not_proved(name: str, tmp_path: Path) -> None:
    old, new, more, says = COMPONENTS[name]
    made = design()
    files = write_rtl(made, tmp_path)
    layer = tmp_path / "net_fc1.sv"
    text = layer.read_text("utf-8")
    assert old in text, text
    layer.write_text(text.replace(old, new, 1).replace(END, f"\n{more}{END}"), encoding="utf-8")
    with pytest.raises((NotProvedError, ProblemsError)) as error:
        taken_for_granted(made.components[0], elaborate(files, "net", ["fc1", "fc2"])["fc1"])
    assert refused_as(says, str(error.value))


def test_what_nothing_drives_has_no_value(tmp_path: Path) -> None:
    """Yosys writes an x for it, and nothing is known of an x."""
    found = claims(tmp_path, "net_fc1.sv", "  assign n0_sum = ", "  logic [8:0] none;\n  assign none = ")
    assert found["values"].component == "fc1"


def test_nothing_is_proved_of_a_component_with_another_port(tmp_path: Path) -> None:
    found = claims(tmp_path, "net_fc1.sv", "input  logic rst,", "input  logic rst,\n  input  logic more,")
    details = {claim.detail for claim in found.values() if claim.component == "fc1"}
    assert details == {"it has a port more, which nothing asks for"}
    assert {about for about, claim in found.items() if claim.component == "fc1"} == {"timing", "handshake", "values"}


def test_a_renamed_instance_is_a_problem(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="the top net has no u_fc1: its instances are not those of the design"):
        claims(tmp_path, "net.sv", "u_fc1 (", "u_other (")


def test_every_component_of_a_larger_design_has_its_ports(tmp_path: Path) -> None:
    made = residual()
    netlists = elaborate(write_rtl(made, tmp_path), made.name, [component.name for component in made.components])
    for component in made.components:
        taken_for_granted(component, netlists[component.name])


def small(*cells: Cell) -> Netlist:
    ports: dict[str, tuple[Net, ...]] = {"a": (2,), "b": (3,), "y": (4,)}
    return Netlist("m", ports, cells, directions={"a": "input", "b": "input", "y": "output"})


AND = Cell("g", "$and", {}, {"A": (2,), "B": (3,), "Y": (4,)}, "m.sv:1")


def test_maps_of_drivers_are_true() -> None:
    check_driven(small(AND))
    wrong = {
        "a bit of Y of $or has a second driver (m.sv:1)": (AND, replace(AND, name="h", type="$or")),
        "a bit of Y of $and is driven to 0 as well (m.sv:1)": (replace(AND, ports={**AND.ports, "Y": ("0",)}),),
        "A of $and reads 1 bit that nothing drives (m.sv:1)": (replace(AND, ports={**AND.ports, "A": (9,)}),),
        "y has 1 bit that nothing drives": (),
        "a cell of kind $tribuf is not understood (m.sv:1)": (replace(AND, type="$tribuf"),),
        "a cell of kind $dlatch is not understood (m.sv:1)": (replace(AND, type="$dlatch"),),
        "a cell of kind other is not understood (m.sv:1)": (replace(AND, type="other"),),
    }
    for says, cells in wrong.items():
        with pytest.raises(NotProvedError) as error:
            check_driven(small(*cells))
        assert str(error.value) == says
