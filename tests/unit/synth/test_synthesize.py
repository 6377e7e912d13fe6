"""Yosys itself on small RTL: counts that are known, and every way in which it can fail."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from small_rtl import ADDER, BROKEN, LOOP, MEMORIES, MULTIPLIER, PAIR, write

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import ProblemsError
from mase_hw.synth import synthesis, synthesize
from mase_hw.synth.targets import TARGETS, script


def problem(error: pytest.ExceptionInfo[ProblemsError]) -> str:
    return str(error.value)


@pytest.mark.parametrize("target", ["ecp5", "ice40", "generic"])
def test_flat(target: str, tmp_path: Path) -> None:
    found = synthesize(write(tmp_path, PAIR), "dut", target)
    assert found.total == Cost(lut=9, ff=16, depth=1)
    assert (found.components, found.outside, found.depth) == ({}, None, 1)
    assert sum(found.cells.values()) == 25
    assert found.tool.startswith("Yosys 0.")
    assert found.seconds > 0


def test_per_component(tmp_path: Path) -> None:
    found = synthesize(write(tmp_path, PAIR), "dut", "generic", keep_components=["one", "two"])
    assert found.per_component == {"one": Cost(ff=8), "two": Cost(lut=8, ff=8, depth=1)}
    assert found.outside is not None
    assert found.outside.cost == Cost(lut=1, depth=1)
    assert found.total == Cost(lut=9, ff=16, depth=1)


def test_a_folder_with_a_space(tmp_path: Path) -> None:
    assert synthesize(write(tmp_path / "a b", PAIR, "my dut.sv"), "dut", "generic").total.ff == 16


def test_the_longest_path_has_names(tmp_path: Path) -> None:
    found = synthesize(write(tmp_path, ADDER), "dut", "ice40")
    path = found.whole.path
    assert path.levels == 2  # the carry chain and the LUT of its last bit
    assert path.cells > 10
    assert path.start.startswith(("a_q[", "b_q["))
    assert path.end.startswith("q[")


OTHER_COUNT = """
import sys
from pyosys import libyosys as ys
design = ys.Design()
for command in sys.argv[1:]:
    ys.run_pass(command, design)
"""


@pytest.mark.slow
@pytest.mark.parametrize("target", [name for name in TARGETS if name != "xc7"])  # the same flow as xcup
def test_the_total_is_what_yosys_says(target: str, tmp_path: Path) -> None:
    files = write(tmp_path, ADDER)
    found = synthesize(files, "dut", target)
    commands = script(["dut.sv"], "dut", target, dsp=False).splitlines()[:-2]  # all but what writes the netlist
    words = [sys.executable, "-c", OTHER_COUNT, *commands, "tee -q -o stat.json stat -json"]
    subprocess.run(words, cwd=tmp_path, check=True, capture_output=True)
    stat = json.loads((tmp_path / "stat.json").read_text("utf-8"))
    assert found.cells == stat["design"]["num_cells_by_type"]
    assert found.total.ff == 48
    assert not any("IBUF" in cell or "OBUF" in cell for cell in found.cells)


@pytest.mark.slow
def test_memories(tmp_path: Path) -> None:
    found = synthesize(write(tmp_path, MEMORIES), "dut", "xcup")
    assert found.total.bram == 1
    assert found.total.lutram >= 4  # four shift registers, and the small table
    assert {cell[:3] for cell in found.cells if cell.startswith(("RAM32", "SRL"))} == {"RAM", "SRL"}


@pytest.mark.slow
@pytest.mark.parametrize("target", ["xcup", "ecp5", "ice40"])
def test_dsp(target: str, tmp_path: Path) -> None:
    files = write(tmp_path, MULTIPLIER)
    assert synthesize(files, "dut", target, dsp=True).total.dsp > 0
    without = synthesize(files, "dut", target).total
    assert without.dsp == 0
    assert without.lut > 50


def test_broken_rtl(tmp_path: Path) -> None:
    (file,) = write(tmp_path, BROKEN)
    with pytest.raises(ProblemsError) as error:
        synthesize([file], "dut", "generic")
    assert problem(error) == (
        f"{file}:2: error: Yosys: use of undeclared identifier 'missing'\n"
        "    2 |   assign b = a & missing;\n"
        "  hint: emit the build again, or mend the line if you wrote it"
    )


def test_unknown_top(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="Yosys: 'top' is not a valid top-level module"):
        synthesize(write(tmp_path, PAIR), "top", "generic")


def test_unknown_component(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="dut has no instance u_three of component three"):
        synthesize(write(tmp_path, PAIR), "dut", "generic", keep_components=["three"])


def test_loop(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="dut: logic feeds itself through"):
        synthesize(write(tmp_path, LOOP), "dut", "generic")


def test_everything_known_before_is_said_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ProblemsError) as error:
        synthesize([tmp_path / "gone.sv"], "dut", "xc8")
    assert problem(error) == (
        "error: target 'xc8' is unknown\n"
        "  hint: one of xcup, xc7, ecp5, ice40, generic\n"
        f"error: {tmp_path / 'gone.sv'} is missing\n"
        "  hint: emit the build again\n"
        f"error: pyosys: not installed for {sys.executable}\n"
        "  hint: pip install 'mase-hw[synth]'"
    )


def test_no_dsp_blocks(tmp_path: Path) -> None:
    with pytest.raises(ProblemsError, match="target generic has no DSP blocks"):
        synthesize(write(tmp_path, PAIR), "dut", "generic", dsp=True)


CHILDREN = {
    "killed": ("import os; os.kill(os.getpid(), 9)", "Yosys was ended by SIGKILL before it was done"),
    "crashed": ("print('boom'); raise SystemExit(3)", "Yosys ended with 3 before it was done"),
    "silent": ("", "Yosys ended without an error and without a netlist"),
    "partial": ("open('netlist.json', 'w').write('{\"modules\": {\"dut\"')", "a netlist that is cut off"),
}


@pytest.mark.parametrize(("code", "text"), CHILDREN.values(), ids=list(CHILDREN))
def test_crash(code: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthesis, "CHILD", code)
    with pytest.raises(ProblemsError, match=text):
        synthesize(write(tmp_path, PAIR), "dut", "generic")


def test_an_old_netlist_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write(tmp_path, PAIR)
    synthesize(files, "dut", "generic", work=tmp_path / "work")
    assert (tmp_path / "work" / "flat" / "netlist.json").is_file()
    monkeypatch.setattr(synthesis, "CHILD", "")
    with pytest.raises(ProblemsError, match="without a netlist"):
        synthesize(files, "dut", "generic", work=tmp_path / "work")


def test_timeout_ends_the_child_and_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = tmp_path / "alive"
    child = f"import time\nfor _ in range(600): open({str(alive)!r}, 'a').write('.'); time.sleep(0.05)"
    monkeypatch.setattr(
        synthesis, "CHILD", f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    )
    with pytest.raises(ProblemsError, match="dut for generic was not done after 2 seconds"):
        synthesize(write(tmp_path, PAIR), "dut", "generic", timeout=2)
    size = alive.stat().st_size
    assert size > 0
    time.sleep(0.3)
    assert alive.stat().st_size == size


def test_an_interrupt_ends_the_child(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    alive = tmp_path / "alive"
    code = f"import time\nfor _ in range(600): open({str(alive)!r}, 'a').write('.'); time.sleep(0.05)"
    monkeypatch.setattr(synthesis, "CHILD", code)

    def interrupt(text: str) -> None:
        if alive.exists():
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        synthesize(write(tmp_path, PAIR), "dut", "generic", progress=interrupt)
    size = alive.stat().st_size
    time.sleep(0.3)
    assert alive.stat().st_size == size
