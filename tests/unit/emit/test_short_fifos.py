"""A FIFO in front of a join that the user makes shorter than computed: `emit` says what the interval becomes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mase_hw.cli import main

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    input_shape = (8,)

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 8)
        self.fc2 = nn.Linear(8, 8)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x))) + x
"""
WIDTHS = "data_in_width = 6\ndata_in_frac_width = 3\n"
LINEAR = f"{WIDTHS}weight_width = 6\nweight_frac_width = 4\nbias_width = 6\nbias_frac_width = 4\n"
TOML = f"""\
model = "net.py:Net"
project = "net"
[passes.quantize]
by = "type"
[passes.quantize.linear.config]
name = "integer"
{LINEAR}[passes.quantize.add.config]
name = "integer"
{WIDTHS}[hardware]
target_interval = 16
[passes.hardware]
by = "name"
"""


def emitted(folder: Path, capsys: pytest.CaptureFixture[str], depth: int, text: str = TOML) -> tuple[float, list[str]]:
    """The interval and the notes of a build with this `data_in_fifo_depth` in front of the sum; 0 leaves it open."""
    asked = f"[passes.hardware.add.config]\ndata_in_fifo_depth = {depth}\n"
    (folder / "net.py").write_text(NET)
    (folder / "net.toml").write_text(text + asked * bool(depth))
    main(["emit", str(folder / "net.toml"), "--out", str(folder / "build"), "--json"])
    found = json.loads(capsys.readouterr().out)
    return found["interval"], [note for note in found["notes"] if "fifo" in note]


def test_the_note_has_both_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert emitted(tmp_path, capsys, 0) == (16, [])
    assert emitted(tmp_path, capsys, 19) == (16, [])  # the computed depth
    for depth, interval in ((18, 17), (12, 30)):
        text = (
            f"hardware.add: data_in_fifo_depth = {depth} is below 19, which loses no cycle: an interval of {interval} "
            "in the place of 16; target_interval = 16 is missed"
        )
        assert emitted(tmp_path, capsys, depth) == (interval, [text])


def test_a_slower_target_may_be_reached_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Built for 16 cycles by its arrays, and asked for 40: the FIFO costs cycles, and the target is kept."""
    arrays = "".join(
        f'[passes.hardware.{name}.config]\nimplementation = "folded"\narray_in = 2\narray_out = 2\n'
        for name in ("fc1", "fc2")
    )
    text = TOML.replace("= 16\n", "= 40\n") + arrays
    interval, notes = emitted(tmp_path, capsys, 12, text)
    (note,) = notes
    assert interval < 40
    assert note.endswith(f"an interval of {interval} in the place of 16")
