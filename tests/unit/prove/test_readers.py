"""The netlist that is proved is run beside Verilator's reading of the same files, and differences are found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import branching
import numpy as np
import pytest
from support import write_rtl
from test_plain import KINDS, drawn
from test_prove_pipes import DESIGNS as PIPES
from test_prove_streams import DESIGNS as STREAMS

from mase_hw.emit.axis import axis_top, render_axis
from mase_hw.ir import Design
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.claims.readers import Readers
from mase_hw.prove.netlist.cells import function, operands
from mase_hw.prove.netlist.environment import Environment, SinkPort, SourcePort
from mase_hw.prove.netlist.netlist import Cell, Netlist, elaborate, elaborate_around
from mase_hw.prove.netlist.program import program_of
from mase_hw.prove.netlist.runner import record

BRANCHED: dict[str, Callable[[], Design]] = {make.__name__: make for make in branching.ALL}
SOME = {"folded 2 x 3": STREAMS["folded 2 x 3"], "residual": BRANCHED["residual"]}
REST = {name: make for name, make in {**PIPES, **STREAMS, **BRANCHED}.items() if name not in SOME}


def compared(design: Design, folder: Path, change: tuple[str, str, str] | None = None, *, axis: bool = False) -> str:
    files = write_rtl(design, folder)
    top = axis_top(design) if axis else None
    if top is not None:
        files.append(folder / top.file)
        files[-1].write_text(render_axis(design)[top.file], encoding="utf-8")
    if change is not None:
        file, old, new = change
        text = (folder / file).read_text("utf-8")
        assert text.count(old) == 1, f"{text.count(old)} of {old}"
        (folder / file).write_text(text.replace(old, new), encoding="utf-8")
    with Readers(design, files, top) as readers:
        netlists = elaborate(files, design.name, [c.name for c in design.components])
        return readers.compare(netlists, elaborate_around(files, top.module, design.name) if top else None)


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_both_read_the_same(name: str, tmp_path: Path) -> None:
    assert "alike in every cycle" in compared(SOME[name](), tmp_path, axis=name == "residual")


@pytest.mark.nightly
@pytest.mark.parametrize("name", REST)
def test_both_read_every_design_alike(name: str, tmp_path: Path) -> None:
    assert "alike in every cycle" in compared(REST[name](), tmp_path, axis=len(name) % 2 == 0)


SKID = "mase_skid_buffer.sv"
# Texts that Yosys and Verilator read otherwise, and the port at which that shows.
OTHERWISE = {
    "a tool's own macro": (
        (SKID, "assign data_out_0 = out_q;", "`ifdef VERILATOR\n  assign data_out_0 = out_q ^ 1;\n`else\n"
         "  assign data_out_0 = out_q;\n`endif"),
        "data_out_0",
    ),
    "a macro of synthesis": (
        (SKID, "assign data_out_0_valid = out_valid_q;", "`ifdef SYNTHESIS\n  assign data_out_0_valid = out_valid_q;\n"
         "`else\n  assign data_out_0_valid = out_valid_q && !(&out_q[3:0]);\n`endif"),
        "data_out_0_valid",
    ),
    "a list without a signal": (
        (SKID, "assign out_free = ", "always @(out_valid_q) out_free = "),
        "",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", OTHERWISE)
def test_what_is_read_otherwise_is_found(name: str, tmp_path: Path) -> None:
    change, port = OTHERWISE[name]
    with pytest.raises(NotProvedError, match=r"run \d+, cycle \d+: [\w.]+ is \d+'h\w+ in the netlist") as caught:
        compared(STREAMS["skid buffer"](), tmp_path, change)
    assert caught.value.refuted
    assert f"{port} is" in str(caught.value)


def test_without_a_compiler_nothing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", str(tmp_path / "none"))
    with pytest.raises(NotProvedError, match="Verilator's reading cannot be run") as caught:
        compared(STREAMS["skid buffer"](), tmp_path)
    assert not caught.value.refuted
    assert "CXX" in str(caught.value)


@pytest.mark.slow
def test_a_design_that_gives_nothing_is_not_alike(tmp_path: Path) -> None:
    change = (SKID, "assign data_out_0_valid = out_valid_q;", "assign data_out_0_valid = 1'b0;")
    with pytest.raises(NotProvedError, match="no output came"):
        compared(STREAMS["skid buffer"](), tmp_path, change)


def test_two_drivers_are_refused(tmp_path: Path) -> None:
    """Also those that are in different modules: a port that is driven from outside and from inside."""
    design = STREAMS["skid buffer"]()
    files = write_rtl(design, tmp_path)
    netlists = elaborate(files, design.name, ["skid"])
    skid, top = netlists["skid"], netlists[""]
    (inside,) = [cell for cell in top.cells if not cell.type.startswith("$")]
    copied = Cell("again", inside.type, {}, inside.ports, "")
    with pytest.raises(NotProvedError, match="two drivers"), Readers(design, files) as readers:
        readers.compare({"": Netlist(top.name, top.ports, (*top.cells, copied)), "skid": skid})


def test_cells_are_run_as_what_they_are() -> None:
    """Every kind, on random operands, beside its definition on single numbers."""
    rng = np.random.default_rng(5)
    cells: list[Cell] = []
    nets = iter(range(10, 100_000))
    for _ in range(6):
        for kind in KINDS:
            cell = drawn(kind, rng)
            ports = {port: tuple(next(nets) for _ in own) for port, own in cell.ports.items()}
            cells.append(Cell(f"c{len(cells)}", kind, cell.parameters, ports, "here"))
    data = tuple(net for cell in cells for port in operands(cell) for net in cell.ports[port])
    given = [net for cell in cells for net in cell.ports["Y"]]
    bit = {net: k for k, net in enumerate(given)}
    around = Environment(2, 1, (SourcePort(3, 4, data, 1, 1),), (SinkPort(5, 6),))
    program = program_of(Netlist("cells", {}, tuple(cells)), [*around.inputs, 4, 5])
    found = record(program, around, [(net, "1") for net in given], 40, 20)
    place = {net: k for k, net in enumerate(around.inputs)}
    for run in range(64):
        for cycle in range(40):
            inputs, outputs = (int.from_bytes(w[run, cycle].tobytes(), "little") for w in (found.given, found.seen))
            for cell in cells:
                read = [
                    sum(((inputs >> place[net]) & 1) << k for k, net in enumerate(cell.ports[port]))
                    for port in operands(cell)
                ]
                if cell.type == "$pmux" and read[2] & (read[2] - 1):
                    continue  # two branches at once
                got = sum(((outputs >> bit[net]) & 1) << k for k, net in enumerate(cell.ports["Y"]))
                assert got == function(cell)(*read), cell
