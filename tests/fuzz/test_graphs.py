"""Random networks through every step, and what happens when one of them fails: the smallest is saved and shows it."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzzing.batch import Ran, run_batch
from fuzzing.cases import Case
from fuzzing.coverage import entry, facts, read_log, summary
from fuzzing.draw import draw_case, shrink
from fuzzing.nets import Layer, Net
from fuzzing.run import Result, emit_case, run_case
from fuzzing.save import REPRODUCE, command_in, save_case

from mase_hw.cli import main
from mase_hw.ir.finish import Finish
from mase_hw.numerics import requantize
from mase_hw.numerics.rounding import Integers, Rounding

SIZE = 4  # cases of a batch
BATCHES = [0, 1, *(pytest.param(batch, marks=pytest.mark.nightly) for batch in range(2, 10))]


@pytest.mark.slow
@pytest.mark.parametrize("batch", BATCHES)
def test_random_graphs(batch: int, tmp_path: Path) -> None:
    """From TOML to certificate; what fails is shrunk and saved."""
    numbers = range(batch * SIZE, (batch + 1) * SIZE)
    ran = run_batch([draw_case(number) for number in numbers], tmp_path / "work")
    failed = [(number, one.result) for number, one in zip(numbers, ran, strict=True) if one.result.status == "failed"]
    told = []
    for number, result in failed:
        case, smallest = shrink(number, result, lambda case: run_again(case, tmp_path / "again"), seconds=120)
        folder = save_case(case, smallest, tmp_path / f"case{number}")
        told.append(f"case {number}: {smallest.kind}: {smallest.detail}\n  {command_in(folder)}")
    assert not told, "\n".join(told)
    assert sum(one.build is not None for one in ran) >= SIZE // 2


def run_again(case: Case, folder: Path) -> Result:
    shutil.rmtree(folder, ignore_errors=True)
    return run_case(case, folder)


def test_a_number_is_a_case() -> None:
    assert draw_case(7) == draw_case(7)
    assert len({repr(draw_case(number)) for number in range(20)}) == 20


@pytest.mark.nightly
def test_cases_cover_what_there_is(tmp_path: Path) -> None:
    """Without simulation: of 60 cases most are built, in every way that there is."""
    built, refused, shared, words, graphs = 0, 0, 0, set[str](), set[str]()
    for number in range(60):
        case = draw_case(number)
        made = emit_case(case, tmp_path / str(number))
        if isinstance(made, Result):
            refused += made.status == "refused"
        else:
            built += 1
            graphs |= {fact for fact in facts(case, made) if fact.startswith(("graph:", "hardware:", "op:"))}
            words |= {node.implementation for node in made.design.nodes}
            words |= {component.kind for component in made.design.components}
            shared += any(getattr(component, "groups", 1) > 1 for component in made.design.components)
    assert built + refused == 60
    assert built >= 40
    assert refused >= 2
    assert shared >= 2
    assert words >= {"unrolled", "serial", "folded", "merged", "none", "stream"}
    assert words >= {"fifo", "skid_buffer", "gather", "scatter", "cast", "relu", "batch_norm1d"}
    assert words >= {"fork", "add", "concat", "concat_wide"}
    assert graphs >= {"graph: chain", "graph: 2 inputs", "graph: 2 outputs", "graph: a result read several times"}
    assert graphs >= {"graph: 1 joins", "graph: 2 joins", "graph: 3+ joins", "op: sub", "op: mul", "op: cat"}
    assert graphs >= {f"hardware: {key}" for key in ("adders_per_stage", "array_in", "use_dsp", "interface")}


def floor_everything(self: Finish, exact: Integers) -> Integers:
    """A reference that forgot to round half to even."""
    result = requantize(exact, self.frac, self.fixed, Rounding.FLOOR) if self.changes else exact
    return np.maximum(result, 0) if self.rectify else result


@pytest.mark.nightly
def test_a_planted_bug_is_shrunk_to_a_toml(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The torch model and the broken reference differ: a smaller network shows it too, and so does its folder."""
    with monkeypatch.context() as planted:
        planted.setattr(Finish, "execute", floor_everything)
        runs = lambda case: emitted(case, tmp_path / "work")  # noqa: E731
        several = (n for n in range(200) if draw_case(n).samples and len(draw_case(n).layers) > 1)
        number, result = next((n, r) for n in several if (r := runs(draw_case(n))).kind == "traceback in emit")
        case, smallest = shrink(number, result, runs, seconds=3600, most=150)
        assert smallest.kind == result.kind
        assert size(case) < size(draw_case(number))
        folder = save_case(case, smallest, tmp_path / "saved")
        with pytest.raises(AssertionError, match="integer reference differ"):
            again(folder, monkeypatch)
    assert again(folder, monkeypatch) == 0


def size(case: Case) -> int:
    """Weights, layers and samples of a case."""
    return sum(1 + layer.inputs * layer.outputs for layer in case.layers) + case.samples


def emitted(case: Case, folder: Path) -> Result:
    shutil.rmtree(folder, ignore_errors=True)
    try:
        made = emit_case(case, folder)
    except Exception as error:  # whatever a case brings up is its result
        return Result("failed", getattr(error, "kind", "?"), str(error))
    return made if isinstance(made, Result) else Result("passed")


def again(folder: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """The commands of the folder's one line, in this process, which has the bug; the first exit code that is not 0."""
    monkeypatch.chdir(folder)
    line = (folder / REPRODUCE).read_text("utf-8").splitlines()[-1]
    for command in line.split(" && "):
        program, *arguments = command.split()
        assert program == "mase-hw"
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                main(arguments)
            except SystemExit as error:
                if error.code:
                    return int(error.code)
    return 0


def rounding_case() -> Case:
    """A small case that rounds: a linear layer on random weights, whose exact sums lose three bits."""
    layer = Layer("linear", (0,), (3,), 2)
    types = {f"{key}_width": 6 for key in ("data_in", "weight", "bias", "data_out")}
    types |= {"data_in_frac_width": 3, "weight_frac_width": 3, "bias_frac_width": 3, "data_out_frac_width": 3}
    quantize = {"by": "type", "linear": {"config": {"name": "integer", **types}}}
    drawn = replace(draw_case(0), net=Net(((3,),), (layer,), (1,)), sequential=False, fuse=False, vectors=32)
    return replace(drawn, quantize=quantize, hardware={"by": "name"}, target={}, weights="normal", checkpoint="pt")


@pytest.mark.nightly
def test_a_planted_bug_in_the_rtl_is_saved(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Emitted hardware that drops bits where it should round: the simulation sees it, and so does the saved folder."""
    right = Finish.parameters

    def wrong(self: Finish, *arguments: Any, **named: Any) -> dict[str, Any]:
        return {**right(self, *arguments, **named), "HalfEven": False}

    case = rounding_case()
    with monkeypatch.context() as planted:
        planted.setattr(Finish, "parameters", wrong)
        result = run_case(case, tmp_path / "work")
        assert result.status == "failed"
        assert result.kind == "sim"
        folder = save_case(case, result, tmp_path / "saved")
        assert again(folder, monkeypatch) == 1
    assert again(folder, monkeypatch) == 0


def test_the_saved_line_runs_in_a_shell(tmp_path: Path) -> None:
    folder = save_case(draw_case(0), Result("failed", "refusal", "two\nlines"), tmp_path / "a case")
    done = subprocess.run(["sh", "-n", str(folder / REPRODUCE)], capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (folder / REPRODUCE).read_text("utf-8").splitlines()[1] == "# refusal: two lines"
    assert command_in(folder) == f"cd '{folder}' && mase-hw emit model.toml --out build"


def test_the_log_is_read_back(tmp_path: Path) -> None:
    """A line that a crash cut off does not count; the summary is of the rest."""
    case = draw_case(0)
    lines = [json.dumps(entry(k, Ran(case, Result("passed"), None))) for k in (4, 5)]
    (tmp_path / "log.jsonl").write_text("\n".join([*lines, lines[0][:20]]), encoding="utf-8")
    log = read_log(tmp_path)
    assert sorted(log) == [4, 5]
    assert summary(log.values())[0] == "cases: 2, passed 2"
