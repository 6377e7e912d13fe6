"""Every state of a component's control is gone through, and mutants of the control are found in some of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support import write_rtl
from test_prove_pipes import DESIGNS as PIPES
from test_prove_pipes import DOWN, U6, claim, design_of, prove
from test_prove_streams import DESIGNS, digits, folded

from mase_hw.ir import Component, Design, Stream
from mase_hw.ir.plumbing import Fifo
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.control.automaton import Automaton
from mase_hw.prove.control.explore import ControlNode, Graph, check_progress, explore
from mase_hw.prove.netlist.netlist import elaborate


def fifo(depth: int) -> Callable[[Stream], Component]:
    return lambda x: Fifo("fifo", (x,), (x.renamed("fifo_out"),), depth)


@pytest.mark.parametrize("depth", [1, 2, 1000])
def test_a_fifo_of_any_depth_is_proved(depth: int, tmp_path: Path) -> None:
    proof = prove(design_of(fifo(depth), lanes=2), tmp_path)
    assert [c for c in proof.claims if c.status != "proved"] == []


FIFO = {
    "it wraps too late": ("(write_q == Last)", "(write_q == Last + index_t'(1))", "handshake"),
    "it wraps to another place": ("(read_q == Last) ? '0", "(read_q == Last) ? index_t'(1)", "handshake"),
    "the count forgets": ("- count_t'(out_fire)", "- (in_fire ? '0 : count_t'(out_fire))", "handshake"),
    "it does not start empty": ("count_q <= '0;", "count_q <= count_t'(1);", "handshake"),
    "it reads elsewhere": ("memory[read_q]", "memory[write_q]", "values"),
    "it writes always": ("if (in_fire) memory", "memory", "values"),
    "it writes something else": ("<= data_in_0;", "<= ~data_in_0;", "values"),
}


@pytest.mark.parametrize("name", FIFO)
def test_a_wrong_fifo_is_refuted(name: str, tmp_path: Path) -> None:
    old, new, about = FIFO[name]
    proof = prove(design_of(fifo(70), lanes=2), tmp_path, ("mase_fifo.sv", old, new))
    assert claim(proof, "fifo", about).status != "proved"


SKID, GATHER, SERIAL = "mase_skid_buffer.sv", "mase_gather.sv", "net_fc.sv"
SERIAL_DESIGN = "serial, 2 bits"
# The design, what is changed, and what is said of it.
CONTROL: dict[str, tuple[str, tuple[str, str, str], str]] = {
    "valid falls": (
        "gather", (GATHER, "else if (data_out_0_ready) valid_q", "else if (1'b1) valid_q"), "predicted",
    ),
    "a cycle later": ("gather", (GATHER, "data_out_0_ready || !valid_q", "!valid_q"), "predicted"),
    "not reset": ("gather", (GATHER, "count_q <= '0;\n      valid_q", "valid_q"), "not reset"),
    "ready waits for valid": ("gather", (GATHER, "|| !valid_q;", "|| (!valid_q && data_in_0_valid);"), "predicted"),
    "a result is given twice": (
        SERIAL_DESIGN, (SERIAL, "else if (data_out_0_ready) valid_q <= 1'b0;", ""), "predicted",
    ),
    "it never starts again": (
        SERIAL_DESIGN, (SERIAL, "data_in_0_ready = !busy_q ||", "data_in_0_ready = !busy_q &&"), "predicted",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CONTROL)
def test_a_wrong_control_is_refuted(name: str, tmp_path: Path) -> None:
    design, change, says = CONTROL[name]
    made = DESIGNS[design]()
    name = made.components[0].name
    assert claim(prove(made, tmp_path / "sound"), name, "handshake").status == "proved"  # which is remembered
    found = claim(prove(made, tmp_path / "wrong", change), name, "handshake")
    assert found.status == "refuted"
    assert says in found.detail


def test_data_that_are_right_only_without_stalls_are_refuted(tmp_path: Path) -> None:
    """The sums move on while the output waits: with a ready output, that is never seen."""
    change = (SERIAL, "    if (move && done) y_q <= y;", "    if (done) y_q <= y;")
    found = claim(prove(DESIGNS[SERIAL_DESIGN](), tmp_path, change), "fc", "values")
    assert found.status != "proved"
    assert claim(prove(DESIGNS[SERIAL_DESIGN](), tmp_path), "fc", "values").status == "proved"


def test_a_pipe_that_is_right_only_for_a_vector_by_itself_is_refuted(tmp_path: Path) -> None:
    change = ("mase_cast.sv", "if (enable) y_q <= y;", "if (enable && !valid_q) y_q <= y;")
    assert "depends on data_in_0_valid" in claim(prove(PIPES["cast"](), tmp_path, change), "cast", "values").detail


def test_data_that_reset_changes_are_refuted(tmp_path: Path) -> None:
    """A vector may leave in the cycle in which a reset begins."""
    change = ("mase_cast.sv", "if (enable) y_q <= y;", "if (rst) y_q <= '0; else if (enable) y_q <= y;")
    assert "depends on rst" in claim(prove(PIPES["cast"](), tmp_path, change), "cast", "values").detail


PIPE = {
    "another register": ("else if (enable) valid_q <= data_in_0_valid;", "else if (enable) valid_q <= 1'b1;"),
    "no reset": ("if (rst) valid_q <= 1'b0;\n    else if (enable)", "if (enable)"),
    "it does not hold": ("else if (enable) valid_q", "else valid_q"),
}


@pytest.mark.parametrize("name", PIPE)
def test_a_wrong_valid_of_a_pipe_is_refuted(name: str, tmp_path: Path) -> None:
    found = claim(prove(PIPES["cast"](), tmp_path, ("mase_cast.sv", *PIPE[name])), "cast", "handshake")
    assert found.status == "refuted"


MORE: dict[str, Callable[[], Design]] = {
    "folded, unsigned input": lambda: design_of(folded((2, 3), 3, DOWN), lanes=2, fixed=U6),
    "serial, behind a layer": lambda: design_of(digits(3, DOWN), again(digits(2))),
    "serial, 1 bit, behind a layer": lambda: design_of(digits(3, DOWN), again(digits(1, DOWN))),
}


def again(make: Callable[[Stream], Component]) -> Callable[[Stream], Component]:
    """The layer under another name."""

    def renamed(x: Stream) -> Component:
        layer = make(x)
        return replace(layer, name="two", outputs=(layer.output.renamed("two_out"),))

    return renamed


@pytest.mark.slow
@pytest.mark.parametrize("name", MORE)
def test_more_is_proved_whole(name: str, tmp_path: Path) -> None:
    proof = prove(MORE[name](), tmp_path)
    assert [c for c in proof.claims if c.status != "proved"] == []


def test_the_states_of_a_gather_are_those_one_counts_by_hand(tmp_path: Path) -> None:
    design = DESIGNS["gather"]()
    netlist = elaborate(write_rtl(design, tmp_path), "net", ["gather"])["gather"]
    graph = explore(design.components[0], Automaton(netlist))
    # Nothing, one beat, a whole beat that waits; another narrow beat comes only as the wide one leaves.
    assert len(graph.nodes) == 3
    assert check_progress(graph, pipe=False) == (0, 0)


def circle(*, takes: int, ahead: int) -> Graph:
    """Two nodes that follow each other for ever, in which no output is offered."""
    graph = Graph(nodes=[ControlNode(0, 0, ahead, 0), ControlNode(1, 0, ahead, 0)])
    graph.next.extend([1] * 4 + [0] * 4)
    graph.takes.extend([0, takes, 0, takes] * 2)
    graph.valid.extend([0, 0])
    return graph


def test_a_deadlock_is_found() -> None:
    assert check_progress(circle(takes=1, ahead=0), pipe=False) == (0, 0)
    with pytest.raises(NotProvedError, match="never taken"):
        check_progress(circle(takes=0, ahead=0), pipe=False)
    with pytest.raises(NotProvedError, match="never comes out"):
        check_progress(circle(takes=1, ahead=1), pipe=False)
