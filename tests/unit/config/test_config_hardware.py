"""[hardware] and [passes.hardware]: every key is read, and what makes no sense together is a problem."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mase_hw.config.hardware import HardwareSpec, HardwareTarget
from mase_hw.config.write import toml_text
from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError

TOML = """\
model = "m"
[passes.hardware]
by = "name"
[passes.hardware.fc1.config]
implementation = "serial"
digit_bits = 2
[passes.hardware.fc2.config]
array_in = 3
array_out = 5
use_dsp = true
[passes.hardware.fc3.config]
implementation = "unrolled"
use_dsp = false
[hardware]
target_interval = 8
lut_budget = 0
dsp_budget = 12
bram_budget = 7
adders_per_stage = 3
solver_seconds = 0.5
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "net.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_every_key_is_read(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, TOML))
    assert config.target == HardwareTarget("net", "stream", 8, 0, 12, 7, 3, 0.5)
    specs = [config.hardware.for_node(name, "linear") for name in ("fc1", "fc2", "fc3", "fc4")]
    assert specs == [
        HardwareSpec("serial", digit_bits=2),
        HardwareSpec(array_in=3, array_out=5, use_dsp=True),
        HardwareSpec("unrolled", use_dsp=False),
        HardwareSpec(),
    ]
    assert config.target.where("dsp_budget") == config.where("hardware", "dsp_budget")
    assert str(config.target.where("dsp_budget")).endswith("net.toml:17")


def test_what_the_manifest_records_reads_back_as_the_same(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, TOML))
    recorded = json.loads(json.dumps(dict(config.raw), allow_nan=False))
    again = load_config(write(tmp_path, toml_text({key: recorded[key] for key in ("model", "passes", "hardware")})))
    assert (again.target, again.hardware.entries) == (config.target, config.hardware.entries)


WRONG = {
    "digits of a folded layer": (
        'implementation = "folded"\ndigit_bits = 2',
        'digit_bits is for serial layers, and implementation = "folded"',
        'delete digit_bits, or set implementation = "serial"',
        4,
    ),
    "an array of a serial layer": (
        'implementation = "serial"\narray_out = 2',
        'array_out is for folded layers, and implementation = "serial"',
        'delete array_out, or set implementation = "folded"',
        4,
    ),
    "DSP blocks of an unrolled layer": (
        'implementation = "unrolled"\nuse_dsp = true',
        'use_dsp is for folded layers, and implementation = "unrolled"',
        'delete use_dsp, or set implementation = "folded"',
        4,
    ),
    "digits and an array": (
        "digit_bits = 2\narray_in = 4",
        "digit_bits is for serial layers, and array_in for folded ones",
        "delete one of the two",
        3,
    ),
    "groups and an array": (
        "array_in = 4\noutput_groups = 2",
        "output_groups is for serial layers, and array_in for folded ones",
        "delete one of the two",
        4,
    ),
    "too many groups": ("output_groups = 9", "output_groups = 9 is out of range", "allowed: 1 to 8", 3),
    "no digits": ("digit_bits = 0", "digit_bits = 0 is out of range", "allowed: 1 to 32", 3),
    "no array": ("array_in = 0", "array_in = 0 is out of range", "allowed: 1 or more", 3),
    "DSP blocks by number": ("use_dsp = 1", "use_dsp = 1 is not true or false", None, 3),
    "an implementation that is none": (
        'implementation = "serail"',
        'implementation = "serail" is unknown',
        "did you mean serial?",
        3,
    ),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("entry", ["fc1", "default"])
def test_a_node_asks_for_what_cannot_be(name: str, entry: str, tmp_path: Path) -> None:
    lines, text, hint, line = WRONG[name]
    with pytest.raises(ProblemsError) as caught:
        load_config(write(tmp_path, f'model = "m"\n[passes.hardware.{entry}.config]\n{lines}\n'))
    (problem,) = caught.value.problems
    assert (problem.message, problem.hint) == (f"passes.hardware.{entry}: {text}", hint)
    assert problem.where is not None
    assert problem.where.line == line


WISHES = {
    "lut_budget = -1": ("lut_budget = -1 is out of range", "allowed: 0 or more"),
    "dsp_budget = 1.5": ("dsp_budget = 1.5 is not an integer", None),
    "adders_per_stage = 65": ("adders_per_stage = 65 is out of range", "allowed: 1 to 64"),
    "solver_seconds = 0": ("solver_seconds = 0 is out of range", "more than 0"),
    "solver_seconds = nan": ("solver_seconds = nan is out of range", "more than 0"),
    "solver_seconds = inf": ("solver_seconds = inf is out of range", "more than 0"),
    'solver_seconds = "long"': ('solver_seconds = "long" is not a number', None),
    "lut_budgte = 1": ("unknown key lut_budgte", "did you mean lut_budget?"),
    'places = "here"': ("unknown key places", "known keys: adders_per_stage, bram_budget, dsp_budget, interface,"),
}


@pytest.mark.parametrize("line", WISHES)
def test_the_whole_is_asked_for_what_cannot_be(line: str, tmp_path: Path) -> None:
    text, hint = WISHES[line]
    with pytest.raises(ProblemsError) as caught:
        load_config(write(tmp_path, f'model = "m"\n[hardware]\n{line}\n'))
    (problem,) = caught.value.problems
    assert problem.message == f"hardware: {text}"
    assert (problem.hint or "").startswith(hint or "")
    assert bool(problem.hint) == bool(hint)
    assert problem.where is not None
    assert problem.where.line == 3
