"""Mistakes in the tables [passes] and [hardware], but for [passes.quantize], with the exact text that each gets."""

from __future__ import annotations

from pathlib import Path

import pytest

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError

# name: (the TOML, the text of every problem)
CASES = {
    "passes not table": (
        """\
model = "m"
passes = 3
""",
        """\
model.toml:2: error: passes = 3 is not a table
    2 | passes = 3
""",
    ),
    "unknown pass": (
        """\
model = "m"
[passes.quantise]
by = "type"
""",
        """\
model.toml:2: error: passes: unknown key quantise
    2 | [passes.quantise]
  hint: did you mean quantize?
""",
    ),
    "fuse": (
        """\
model = "m"
[passes.fuse_batch_norm]
enable = true
""",
        """\
model.toml:3: error: passes.fuse_batch_norm: unknown key enable
    3 | enable = true
  hint: did you mean enabled?
""",
    ),
    "fuse type": (
        """\
model = "m"
[passes.fuse_batch_norm]
enabled = "yes"
""",
        """\
model.toml:3: error: passes.fuse_batch_norm: enabled = "yes" is not true or false
    3 | enabled = "yes"
""",
    ),
    "implementation": (
        """\
model = "m"
[passes.hardware.default.config]
implementation = "fold"
""",
        """\
model.toml:3: error: passes.hardware.default: implementation = "fold" is unknown
    3 | implementation = "fold"
  hint: did you mean folded?
""",
    ),
    "parallelism 0": (
        """\
model = "m"
[passes.hardware.fc1.config]
data_in_parallelism = 0
""",
        """\
model.toml:3: error: passes.hardware.fc1: data_in_parallelism = 0 is out of range
    3 | data_in_parallelism = 0
  hint: allowed: 1 or more
""",
    ),
    "parallelism key": (
        """\
model = "m"
[passes.hardware.fc1.config]
data_in_paralelism = 4
""",
        """\
model.toml:3: error: passes.hardware.fc1: unknown key data_in_paralelism
    3 | data_in_paralelism = 4
  hint: did you mean data_in_parallelism?
""",
    ),
    "fifo": (
        """\
model = "m"
[passes.hardware.fc1.config]
data_in_fifo_depth = -1
""",
        """\
model.toml:3: error: passes.hardware.fc1: data_in_fifo_depth = -1 is out of range
    3 | data_in_fifo_depth = -1
  hint: allowed: 0 to 1024
""",
    ),
    "top keyword": (
        """\
model = "m"
[hardware]
top = "module"
""",
        """\
model.toml:3: error: hardware: top = "module" is a SystemVerilog keyword
    3 | top = "module"
  hint: for example module_top
""",
    ),
    "top not identifier": (
        """\
model = "m"
[hardware]
top = "my-net"
""",
        """\
model.toml:3: error: hardware: top = "my-net" is not a SystemVerilog identifier
    3 | top = "my-net"
  hint: for example my_net
""",
    ),
    "top digit": (
        """\
model = "m"
[hardware]
top = "3net"
""",
        """\
model.toml:3: error: hardware: top = "3net" is not a SystemVerilog identifier
    3 | top = "3net"
  hint: for example m_3net
""",
    ),
    "interface": (
        """\
model = "m"
[hardware]
interface = "avalon"
""",
        """\
model.toml:3: error: hardware: interface = "avalon" is unknown
    3 | interface = "avalon"
  hint: allowed: axis, stream
""",
    ),
    "target": (
        """\
model = "m"
[hardware]
target_interval = 0
""",
        """\
model.toml:3: error: hardware: target_interval = 0 is out of range
    3 | target_interval = 0
  hint: allowed: 1 or more
""",
    ),
}


@pytest.mark.parametrize(("toml", "text"), CASES.values(), ids=list(CASES))
def test_text(toml: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text(toml, encoding="utf-8")
    with pytest.raises(ProblemsError) as caught:
        load_config(Path("model.toml"))
    assert f"{caught.value}\n" == text
