"""Weights and biases that saturate in their types: counted exactly, noted, and shouted about when they are many."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from mase_hw.cli import main
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.saturation import Saturation, saturation

NET = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(8, 16)
        self.bn = nn.BatchNorm1d(16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc2(self.bn(self.fc1(x)))
"""
WIDTHS = """
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 6
bias_width = 8
bias_frac_width = 6
"""
TOML = (
    'model = "net.py:Net"\nload_name = "net.pt"\nproject = "net"\ndataset = "random"\n[passes.quantize]\nby = "type"\n'
    + (f"[passes.quantize.linear.config]{WIDTHS}[passes.quantize.batch_norm1d.config]{WIDTHS}")
)
Change = Callable[[dict[str, torch.Tensor]], None]


def few(state: dict[str, torch.Tensor]) -> None:
    """Six of 128 weights beyond the range, two more on its very edges; one shift of a norm."""
    flat = state["fc1.weight"].view(-1)
    flat[:6] = torch.tensor([2.0, -2.1, 100.0, -2.02, 1.993, 3.0])
    flat[6:8] = torch.tensor([-2.0, 127 / 64])  # held
    state["fc1.weight"][15, 7] = 1.9921  # rounds to the largest integer: held
    state["bn.bias"][3] = -7.5


def many(state: dict[str, torch.Tensor]) -> None:
    """A checkpoint of int8: real values are hundreds of times larger than the type's."""
    state["fc1.weight"][:15] = 100.0
    state["fc1.weight"][15] = 1.0


def project(folder: Path, change: Change) -> Path:
    torch.manual_seed(0)
    state = {key: torch.zeros_like(value) for key, value in _module(folder).state_dict().items()}
    state["bn.running_var"] = torch.ones(16)
    change(state)
    torch.save(state, folder / "net.pt")
    (folder / "net.toml").write_text(TOML)
    return folder


def _module(folder: Path) -> nn.Module:
    from mase_hw.models import load_model

    (folder / "net.py").write_text(NET)
    return load_model("net.py:Net", folder)


FEW = [
    "fc1: 6 of 128 weights saturate in fixed(8, 6)",
    "WARNING: bn: 6 % of the shifts SATURATE in fixed(8, 6); bias_frac_width = 4 would hold them",
]
MANY = ["WARNING: fc1: 94 % of the weights SATURATE in fixed(8, 6); weight_frac_width = 0 would hold them"]


@pytest.mark.parametrize(("change", "said"), [(few, FEW), (many, MANY), (lambda state: None, [])])
def test_emit_report_and_transform_say_it(
    change: Change, said: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project(tmp_path, change))
    shown = [line if line.startswith("WARNING: ") else f"note: {line}" for line in said]
    main(["emit", "net.toml"])
    assert _about(capsys.readouterr().out) == shown
    main(["report", "net.toml"])
    assert _about(capsys.readouterr().out) == said
    page = (tmp_path / "build/net/report/index.html").read_text()
    assert all(line in page for line in said)
    assert page.count('<p class="saturated">') == len(said)
    main(["report", "net.toml", "--json"])
    assert json.loads(capsys.readouterr().out)["saturated"] == said
    main(["transform", "--config", "net.toml"])
    assert _about(capsys.readouterr().out) == shown
    main(["emit", "net.toml", "--json"])
    assert _about(capsys.readouterr().err) == shown


def _about(text: str) -> list[str]:
    return [line for line in text.splitlines() if "saturate" in line.lower() and "behind" not in line]


def test_the_manifest_has_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project(tmp_path, few))
    main(["emit", "net.toml", "--quiet"])
    manifest = json.loads((tmp_path / "build/net/manifest.json").read_text())
    nodes = {node["name"]: node["saturated"] for node in manifest["nodes"]}
    assert nodes["fc1"] == {"weight": 6, "bias": 0, "of": {"weight": 128, "bias": 16}, "frac_width": {"weight": 0}}
    assert nodes["bn"] == {"weight": 0, "bias": 1, "of": {"weight": 16, "bias": 16}, "frac_width": {"bias": 4}}
    assert nodes["fc2"] == {"weight": 0, "bias": 0, "of": {"weight": 32, "bias": 2}, "frac_width": {}}
    assert manifest["saturated"] == {"weight": 6, "bias": 1, "of": {"weight": 176, "bias": 34}}


@pytest.mark.parametrize("rounding", list(Rounding))
@pytest.mark.parametrize("fixed", [Fixed(4, 2), Fixed(3, 1, signed=False), Fixed(5, -2)])
def test_counted_as_clamping_changes_them(rounding: Rounding, fixed: Fixed) -> None:
    """Against integers of a type that is wide enough for every value."""
    from mase_hw.numerics import to_integers

    values = np.linspace(3 * fixed.lo - 5, 3 * fixed.hi + 5, 1001) * 2.0**-fixed.frac
    wide = to_integers(values, Fixed(20, fixed.frac), rounding)
    changed = to_integers(values, fixed, rounding) != wide
    found = saturation(values, fixed, rounding)
    assert (found.count, found.total) == (np.count_nonzero(changed), 1001)
    assert 0 < found.count < 1001
    if not fixed.signed:
        assert found.holds is None  # no fractional width holds a negative number
        found = saturation(np.abs(values), fixed, rounding)
        values = np.abs(values)
    assert found.holds is not None
    assert saturation(values, Fixed(fixed.width, found.holds, fixed.signed), rounding).count == 0
    assert saturation(values, Fixed(fixed.width, found.holds + 1, fixed.signed), rounding).count > 0


def test_nothing_saturates_in_its_own_type() -> None:
    fixed = Fixed(4, 2)
    values = np.arange(fixed.lo, fixed.hi + 1) / 4
    assert saturation(values, fixed, Rounding.HALF_EVEN) == Saturation(0, 16, None)
