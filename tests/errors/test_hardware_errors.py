"""What is said of hardware that cannot be built as asked: for a node, and for the whole design."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from desk import BY_NAME, Desk, toml_and

FC1 = "[passes.hardware.fc1.config]\n"  # line 22
FC1_CALLED = "  note: fc1 is the Linear called at mlp.py:13\n"

# name: (lines behind the TOML, the text)
CASES = {
    "parallelism of a folded layer": (
        FC1 + 'implementation = "folded"\ndata_in_parallelism = 1\ndata_out_parallelism = 2\n'
        "[hardware]\ntarget_interval = 8\n",
        """\
model.toml:24: error: hardware.fc1: a parallelism of 1 x 2 takes 12 cycles, target_interval is 8
   24 | data_in_parallelism = 1
  hint: raise the parallelism, or delete it and let the tool choose
"""
        + FC1_CALLED,
    ),
    "lanes in": (
        FC1 + "data_in_parallelism = 1\n[hardware]\ntarget_interval = 4\n",
        """\
model.toml:23: error: hardware.fc1: data_in_parallelism = 1 takes 6 cycles for 6 features, target_interval is 4
   23 | data_in_parallelism = 1
  hint: raise it to 2 or more, or delete it
"""
        + FC1_CALLED,
    ),
    "lanes out": (
        "[passes.hardware.fc2.config]\ndata_out_parallelism = 1\n[hardware]\ntarget_interval = 1\n",
        """\
model.toml:23: error: hardware.fc2: data_out_parallelism = 1 takes 2 cycles for 2 features, target_interval is 1
   23 | data_out_parallelism = 1
  hint: raise it to 2 or more, or delete it
  note: fc2 is the Linear called at mlp.py:15
""",
    ),
    "array": (
        FC1 + "array_in = 4\narray_out = 3\n[hardware]\ntarget_interval = 3\n",
        """\
model.toml:23: error: hardware.fc1: an array of 4 x 3 takes 4 cycles, target_interval is 3
   23 | array_in = 4
  hint: enlarge the array, or delete it and let the tool choose
"""
        + FC1_CALLED,
    ),
    "digits": (
        FC1 + "digit_bits = 2\n[hardware]\ntarget_interval = 3\n",
        """\
model.toml:23: error: hardware.fc1: digits of 2 bits take 4 cycles for inputs of 8, target_interval is 3
   23 | digit_bits = 2
  hint: set digit_bits = 3 or more, or delete it and let the tool choose
"""
        + FC1_CALLED,
    ),
    "groups": (
        FC1 + "digit_bits = 2\noutput_groups = 4\n[hardware]\ntarget_interval = 8\n",
        """\
model.toml:23: error: hardware.fc1: 4 groups by 4 digits of 2 bits take 16 cycles, target_interval is 8
   23 | digit_bits = 2
  hint: set digit_bits = 4 or more, or delete it and let the tool choose
"""
        + FC1_CALLED,
    ),
    "more groups than cycles": (
        FC1 + "output_groups = 4\n[hardware]\ntarget_interval = 3\n",
        """\
model.toml:23: error: hardware.fc1: 4 groups by 1 digits of 8 bits take 4 cycles, target_interval is 3
   23 | output_groups = 4
  hint: set output_groups = 3 or fewer, or delete it and let the tool choose
"""
        + FC1_CALLED,
    ),
    "groups that do not divide": (
        FC1 + "output_groups = 3\n",
        """\
model.toml:23: error: hardware.fc1: output_groups = 3 does not divide out_features = 4
   23 | output_groups = 3
  hint: allowed: 1, 2, 4
"""
        + FC1_CALLED,
    ),
    "fifo": (
        FC1 + "data_in_fifo_depth = 1\n[hardware]\ntarget_interval = 1\n",
        """\
model.toml:23: error: hardware.fc1: a FIFO of one beat takes every second cycle, target_interval is 1
   23 | data_in_fifo_depth = 1
  hint: set data_in_fifo_depth = 2, which takes every cycle
"""
        + FC1_CALLED,
    ),
    "what does not suit a layer": (
        FC1 + "digit_bits = 9\n[passes.hardware.fc2.config]\narray_in = 5\narray_out = 3\n"
        "[passes.hardware.relu.config]\nuse_dsp = true\n",
        """\
model.toml:23: error: hardware.fc1: digit_bits = 9 is more than its inputs have: 8
   23 | digit_bits = 9
  hint: allowed: 1 to 8; with 8 all is done in one cycle
  note: fc1 is the Linear called at mlp.py:13
model.toml:28: error: hardware.relu: a relu has no use_dsp
   28 | use_dsp = true
  hint: delete the line: use_dsp is for linear layers
  note: relu is the relu called at mlp.py:14
model.toml:25: error: hardware.fc2: array_in = 5 is more than in_features = 4
   25 | array_in = 5
  hint: allowed: 1 to 4
  note: fc2 is the Linear called at mlp.py:15
model.toml:26: error: hardware.fc2: array_out = 3 is more than out_features = 2
   26 | array_out = 3
  hint: allowed: 1 to 2
  note: fc2 is the Linear called at mlp.py:15
""",
    ),
}


@pytest.mark.parametrize(("lines", "text"), CASES.values(), ids=list(CASES))
def test_text(lines: str, text: str, desk: Desk) -> None:
    desk.write(toml_and(BY_NAME + lines))
    assert desk.refused("emit", "model.toml") == text


def test_a_default_is_for_those_that_it_suits(desk: Desk) -> None:
    """More digit bits than the inputs have, and a ReLU and a batch norm beside it."""
    default = '[passes.hardware.default.config]\nimplementation = "serial"\ndigit_bits = 9\n'
    desk.write(toml_and(BY_NAME + default))
    assert desk.run("emit", "model.toml").code == 0
    manifest = json.loads(Path("build/model/manifest.json").read_text())
    built = {node["name"]: node["implementation"] for node in manifest["nodes"]}
    assert built == {"fc1": "serial", "bn": "stream", "relu": "merged", "fc2": "serial"}


def front(desk: Desk, *arguments: str) -> list[tuple[int, int]]:
    """(interval, LUT sites) of every point, by what `explore` says without the keys that are tested."""
    ran = desk.run("explore", "model.toml", "--json", "--out", "front", *arguments)
    assert ran.code == 0, ran
    return [(point["interval"], point["sites"]) for point in json.loads(ran.out)["points"]]


def test_a_budget_that_nothing_fits(desk: Desk) -> None:
    interval, sites = front(desk)[-1]
    desk.write(toml_and("[hardware]\nlut_budget = 7\n"))
    assert (
        desk.refused("emit", "model.toml")
        == f"""\
model.toml:21: error: hardware: lut_budget = 7: the smallest design takes {sites} LUT sites, at interval {interval}
   21 | lut_budget = 7
  hint: set lut_budget = {sites} or more, or let DSP blocks multiply: dsp_budget
  note: predicted: Yosys' cells of a Xilinx UltraScale+, not a vendor's figure
"""
    )
    desk.write(toml_and(f"[hardware]\nlut_budget = {sites}\n"))  # what the hint says works
    assert desk.run("emit", "model.toml").code == 0


def test_a_budget_that_is_too_small_for_the_interval(desk: Desk) -> None:
    points = front(desk)
    assert len(points) > 2
    budget = points[1][1]  # the second fastest fits, the fastest does not
    desk.write(toml_and(f"[hardware]\nlut_budget = {budget}\ntarget_interval = 1\n"))
    first = (
        f"hardware: lut_budget = {budget}: the smallest design with target_interval = 1 takes {points[0][1]} LUT sites"
    )
    said = desk.refused("emit", "model.toml")
    assert f"model.toml:21: error: {first}, at interval 1\n" in said
    assert f"hint: set lut_budget = {points[0][1]} or more, or target_interval = {points[1][0]}, which fits\n" in said
    desk.write(toml_and("[hardware]\nlut_budget = 1\ntarget_interval = 1\n"))
    said = desk.refused("emit", "model.toml")
    assert f"; no interval fits 1: the smallest design of all takes {points[-1][1]}\n" in said


def test_too_few_dsp_blocks(desk: Desk) -> None:
    lines = '[passes.hardware.fc1.config]\nimplementation = "folded"\nuse_dsp = true\n[hardware]\n'
    desk.write(toml_and(f"{BY_NAME}{lines}target_interval = 4\ndsp_budget = 0\n"))
    said = desk.refused("emit", "model.toml")
    found = re.match(
        r"model.toml:27: error: hardware: dsp_budget = 0: no design takes fewer than (\d+) DSP blocks; that one takes "
        r"\d+ LUT sites, at interval 4\n",
        said,
    )
    assert found is not None, said
    needed = int(found[1])
    assert f"hint: set dsp_budget = {needed} or more" in said
    for budget, code in ((needed - 1, 1), (needed, 0)):
        desk.write(toml_and(f"{BY_NAME}{lines}target_interval = 4\ndsp_budget = {budget}\n"))
        assert desk.run("emit", "model.toml").code == code


def test_a_matrix_that_is_too_large_for_the_solvers_time(desk: Desk) -> None:
    """A cheaper graph, and a note that says so; the manifest has it too."""
    desk.write(toml_and("[hardware]\nsolver_seconds = 1e-9\n"))
    ran = desk.run("emit", "model.toml")
    assert (ran.code, ran.err) == (0, "")
    assert re.search(r"note: fc1 has a plain adder graph, not a shared one: .*solver_seconds = 1e-09", ran.out)
    manifest = json.loads(Path("build/model/manifest.json").read_text())
    solvers = {entry["name"]: entry["values"].get("solver", "") for entry in manifest["components"]}
    assert solvers["fc1"].startswith("plain")


def test_no_matplotlib(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert desk.refused("explore", "model.toml") == (
        "error: explore draws with matplotlib, which is not installed\n  hint: pip install 'mase-hw[search]'\n"
    )
