"""What the tests share: quantize tables, random models, and the three-level comparison torch = integers = RTL."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from pyslang.ast import Compilation
from pyslang.syntax import SyntaxTree
from torch import nn

from mase_hw import samples as samples_module
from mase_hw.emit import render
from mase_hw.emit.layout import COLUMNS
from mase_hw.flow import Compiled
from mase_hw.ir import Design
from mase_hw.numerics import Fixed, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.samples import quantize_inputs
from mase_hw.simulate import PATTERNS, Outcome, lint, simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.stimulus import Stimulus, stimulus


def spec(rounding: Rounding = Rounding.HALF_EVEN, **types: Fixed | None) -> dict[str, Any]:
    """A `config` table of [passes.quantize] from types by argument."""
    config: dict[str, Any] = {"name": rounding.value}
    for argument, fixed in types.items():
        if fixed is not None:
            config |= {f"{argument}_width": fixed.width, f"{argument}_frac_width": fixed.frac}
            config[f"{argument}_signed"] = fixed.signed
    return {"config": config}


def with_offset(text: str, more: int) -> str:
    """RTL whose first `Offset` is so much more: a wrong integer, and no other difference."""

    def moved(found: re.Match[str]) -> str:
        value = int(found[1] + found[2]) + more
        return f".Offset({'-' * (value < 0)}64'sd{abs(value)})"

    changed, count = re.subn(r"\.Offset\((-?)64'sd(\d+)\)", moved, text, count=1)
    assert count == 1, "no Offset is there"
    return changed


def by_type(**entries: dict[str, Any]) -> dict[str, Any]:
    return {"by": "type", "default": {"config": {"name": None}}, **entries}


def eight_bit(*, relu: bool = False, rounding: Rounding = Rounding.HALF_EVEN) -> dict[str, Any]:
    """The labs' widths, 8 bits with 4 fractional, for linear and batch norm."""
    fixed = Fixed(8, 4)
    entry = spec(rounding, data_in=fixed, weight=fixed, bias=fixed)
    more = {"relu": spec(rounding, data_in=fixed)} if relu else {}
    return by_type(linear=entry, batch_norm1d=entry, **more)


def real_inputs(fixed: Fixed, shape: tuple[int, ...], count: int, seed: int = 0) -> np.ndarray:
    """Real samples around and beyond the range of a type, float32: on the grid, on ties, between, saturating."""
    rng = np.random.default_rng(seed)
    steps = rng.uniform(1.5 * fixed.lo - 2, 1.5 * fixed.hi + 2, (count, *shape))
    steps[::3] = np.floor(steps[::3]) + 0.5
    steps[1::3] = np.floor(steps[1::3])
    return (steps * 2.0**-fixed.frac).astype(np.float32)


def quantize_input(compiled: Compiled, samples: np.ndarray) -> Integers:
    """Samples as the vectors of the one input."""
    (x,) = quantize_inputs(compiled.layers, samples)
    return x


def run_quantized(compiled: Compiled, samples: np.ndarray) -> Integers:
    """What the quantized torch model computes, as integers of the one output's type."""
    (y,) = samples_module.run_quantized(compiled.graph, compiled.layers, compiled.design, samples)
    return y


def assert_software_equal(compiled: Compiled, count: int = 64, seed: int = 0) -> None:
    """The quantized torch model and the integer reference, on real samples."""
    samples = real_inputs(compiled.design.input.fixed, compiled.layers.input.shape, count, seed)
    x = quantize_input(compiled, samples)
    expected = compiled.design.run(x)[compiled.design.output.name]
    got = run_quantized(compiled, samples)
    assert np.array_equal(got, expected), f"{np.argwhere(got != expected)[:3].tolist()}"


def write_rtl(design: Design, folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    files = []
    for name, text in render(design).items():
        files.append(folder / name)
        files[-1].write_text(text, encoding="utf-8")
    return files


def run_rtl(
    design: Design, files: list[Path], work: Path, vectors: Stimulus | None = None, count: int = 48, seed: int = 0
) -> Outcome:
    """The design's bench in all stall patterns."""
    vectors = vectors or stimulus(design, count, seed)
    job = make_job(design, tuple(files), vectors, SimRequest(seed=seed, patterns=PATTERNS), None)
    return simulate(job, work)


def assert_rtl_equal(design: Design, tmp: Path, **arguments: Any) -> None:
    """Emitted, lint clean, elaborated, and equal to the reference in values and cycles."""
    files = write_rtl(design, tmp / "rtl")
    assert lint(files, design.name) == []
    assert_layout(files)
    assert_pyslang_elaborates(files, design.name)
    outcome = run_rtl(design, files, tmp / "sim", **arguments)
    assert outcome.passed, "\n".join(outcome.failures)
    assert {pattern.pattern for pattern in outcome.patterns} == set(PATTERNS)
    unstalled = outcome.pattern("none")
    assert unstalled.latency == design.schedule.latency
    assert all(stream.cycles_checked for stream in unstalled.streams if stream.role != "probe")


def assert_layout(files: list[Path]) -> None:
    """A licence line first, and no line over 100 columns."""
    for file in files:
        lines = file.read_text("utf-8").splitlines()
        assert lines[0] == "// SPDX-License-Identifier: Apache-2.0", file
        assert [line for line in lines if len(line) > COLUMNS] == [], file


def assert_pyslang_elaborates(files: list[Path], top: str) -> None:
    compilation = Compilation()
    for file in files:
        compilation.addSyntaxTree(SyntaxTree.fromFile(str(file)))
    problems = [d for d in compilation.getAllDiagnostics() if d.isError()]
    assert not problems, [str(d.code) for d in problems]
    assert top in [instance.name for instance in compilation.getRoot().topInstances]


YOSYS = """
import sys
from pyosys import libyosys as ys
design = ys.Design()
ys.run_pass("read_slang --top " + sys.argv[1] + " " + " ".join(sys.argv[2:]), design)
ys.run_pass("hierarchy -check -top " + sys.argv[1] + "; proc; check -assert", design)
print("elaborated")
"""


def assert_yosys_elaborates(files: list[Path], top: str) -> None:
    command = [sys.executable, "-c", YOSYS, top, *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert "elaborated" in done.stdout, done.stdout[-2000:]


def randomized(model: nn.Module, seed: int = 0) -> nn.Module:
    """The model with random weights and random batch-norm statistics."""
    from mase_hw.checkpoints import random_parameters

    random_parameters(model, seed)
    return model.eval()


def named(**configs: Mapping[str, Any]) -> dict[str, Any]:
    """A [passes.hardware] table by node name."""
    return {"by": "name", **{name: {"config": dict(config)} for name, config in configs.items()}}
