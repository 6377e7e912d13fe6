"""The depth of a pipeline does not multiply the states of its control, and no broken one is taken for a sound one."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from support import write_rtl
from test_prove_pipes import F6, HALF, claim, design_of, prove

from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.staged import StagedControl
from mase_hw.numerics import Fixed
from mase_hw.ops.affine import align
from mase_hw.ops.linear.fold import stream_lanes
from mase_hw.ops.linear.folded import folded_linear
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.handshake import Whole
from mase_hw.prove.control.automaton import Automaton
from mase_hw.prove.control.explore import check_progress, explore
from mase_hw.prove.control.line import find_line
from mase_hw.prove.control.staged import explore_staged
from mase_hw.prove.netlist.netlist import Netlist, elaborate
from mase_hw.prove.words.reference import Reference


def layer(inputs: int, outputs: int, array: tuple[int, int], adders: int, *, use_dsp: bool = False) -> Design:
    """A folded layer of numbers of two bits, with so many additions in a stage."""
    lanes, out_lanes = stream_lanes(inputs, outputs, array)

    def make(x: Stream) -> Component:
        rng = np.random.default_rng(0)
        weight, bias = rng.integers(-3, 3, (outputs, inputs)), rng.integers(-20, 20, outputs)
        alignment = align(x.fixed, F6, F6)
        more = {"out_lanes": out_lanes, "array": array, "adders_per_stage": adders, "use_dsp": use_dsp}
        return folded_linear("fc", x, weight, bias << alignment.constant_shift, alignment, HALF, **more)  # type: ignore[arg-type]

    return design_of(make, features=inputs, fixed=Fixed(2, 1), lanes=lanes)


def small() -> Design:
    """Two words, two blocks, six stages."""
    return layer(4, 4, (2, 2), 1)


def netlist_of(design: Design, folder: Path) -> Netlist:
    return elaborate(write_rtl(design, folder), "net", ["fc"])["fc"]


def model_of(design: Design) -> StagedControl:
    model = design.components[0].control()
    assert isinstance(model, StagedControl)
    return model


def states(text: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"([\d,]+)(?= states| of its tail)", text)]


def test_a_deep_pipeline_has_the_states_of_a_short_one(tmp_path: Path) -> None:
    """Four blocks of one word each, 36 stages: together, head, line and tail have more states than are gone through."""
    found = {}
    for adders in (1, 100):
        design = layer(17, 12, (17, 3), adders)
        proof = prove(design, tmp_path / str(adders))
        assert [c for c in proof.claims if c.status != "proved"] == []
        assert f"with {model_of(design).depth} levels" in claim(proof, "fc", "handshake").method
        found[adders] = states(claim(proof, "fc", "handshake").method)
    assert model_of(layer(17, 12, (17, 3), 1)).depth > 30
    assert found[1] == found[100] == [18, 16]


SOUND = {
    "two words, two blocks": small,
    "one step": lambda: layer(4, 3, (4, 3), 1),
    "blocks that leave in parts": lambda: layer(4, 4, (2, 3), 2),
    "products in DSPs": lambda: layer(4, 4, (4, 2), 2, use_dsp=True),
}


@pytest.mark.parametrize("name", SOUND)
def test_head_and_tail_say_what_all_states_together_say(name: str, tmp_path: Path) -> None:
    design = SOUND[name]()
    component, netlist = design.components[0], netlist_of(design, tmp_path)
    staged = explore_staged(component, netlist, model_of(design))
    automaton = Automaton(netlist)
    whole = Whole(automaton, explore(component, automaton))
    bounds = staged.progress(), check_progress(whole.graph, pipe=False)
    assert bounds[0][0] >= bounds[1][0]
    assert bounds[0][1] >= bounds[1][1]
    for explored in (staged, whole):
        reference = Reference(component)
        explored.run(reference)
        assert reference.failed == {}


# What is changed in `small`, and which claim is then not proved.
STEPS, ENDS = "{active_q[Stages-2:0], issue}", "{last_q[Stages-1:0], issue && pass_last}"
ENABLE = "assign enable = !last_q[Stages] || free;"
BROKEN = {
    "a stage does not hold": ("if (enable) sum2_q <= sum2;", "sum2_q <= sum2;", "values"),
    "a stage holds too long": ("if (enable) sum2_q <= sum2;", "if (enable && there) sum2_q <= sum2;", "values"),
    "a stage holds without a step": (
        "if (enable) sum2_q <= sum2;", "if (enable && active_q[0]) sum2_q <= sum2;", "values",
    ),
    "inputs skip a stage": ("x2_q <= x1_q[ArrayIn-1:1];", "x2_q <= x0_q[ArrayIn-1:1];", "values"),
    "sums skip a stage": ("assign t3 = sum3_q[o];", "assign t3 = sum3[o];", "values"),
    "an address skips a stage": ("address2_q <= address1_q;", "address2_q <= address;", "values"),
    "a step is dropped on its way": (STEPS, "{active_q[3:2], 1'b0, active_q[0], issue}", "values"),
    "a step's flag skips a stage": (
        STEPS, "{active_q[3:2], active_q[0], active_q[0], issue}", "values",
    ),
    "a step is made up": (STEPS, "{active_q[3:0], 1'b1}", "values"),
    "an end is dropped": (
        ENDS, "{last_q[4:3], 1'b0, last_q[1:0], issue && pass_last}", "handshake",
    ),
    "an end skips a stage": (
        ENDS, "{last_q[4:2], last_q[0], last_q[0], issue && pass_last}", "handshake",
    ),
    "an end is made up": (ENDS, "{last_q[4:0], pass_last}", "handshake"),
    "flags are not reset": ("      last_q   <= '0;\n", "", "handshake"),
    "flags are reset to ones": ("      last_q   <= '0;\n", "      last_q   <= '1;\n", "handshake"),
    "flags do not hold": ("end else if (enable) begin", "end else begin", "handshake"),
    "it never stops": (ENABLE, "assign enable = 1'b1;", "handshake"),
    "it stops for ever": (ENABLE, "assign enable = !last_q[5];", "handshake"),
    "it stops for the input": (
        ENABLE, "assign enable = (!last_q[5] || free) && data_in_0_valid;", "handshake",
    ),
    "a stop looks into the line": (
        ENABLE, "assign enable = !last_q[5] || free || last_q[2];", "handshake",
    ),
    "steps are issued while it stops": ("assign issue = enable && there;", "assign issue = there;", "handshake"),
    "the head looks into the line": (STEPS, "{active_q[3:0], issue && !active_q[1]}", "values"),
    "valid waits for ready": (
        "data_out_0_valid = valid_q;", "data_out_0_valid = valid_q && data_out_0_ready;", "handshake",
    ),
    "valid looks into the line": (
        "data_out_0_valid = valid_q;", "data_out_0_valid = valid_q || last_q[3];", "handshake",
    ),
    "ready waits for the line": (
        "data_in_0_ready = !full_q[write_half_q];", "data_in_0_ready = !full_q[write_half_q] && enable;", "handshake",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_pipeline_is_not_proved(name: str, tmp_path: Path) -> None:
    old, new, about = BROKEN[name]
    proof = prove(small(), tmp_path, ("net_fc.sv", old, new))
    assert claim(proof, "fc", "timing").status == "proved"
    assert claim(proof, "fc", about).status == "refuted"


def test_a_line_has_the_levels_that_it_is_asked_for(tmp_path: Path) -> None:
    design = small()
    netlist = netlist_of(design, tmp_path)
    assert find_line(netlist, 5).empty == {0}  # no level has a step after reset
    with pytest.raises(NotProvedError, match="read by more"):
        find_line(netlist, 6)  # the flag of a finished sum is read by what stops the line
    with pytest.raises(NotProvedError, match=r"not predicted|more than"):
        explore_staged(design.components[0], netlist, model_of(design).with_depth(4))  # results a cycle earlier
