"""What a design's verifier refuses: each thing that lowering ensures, and that a build folder might say otherwise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import eight_bit, randomized

from mase_hw.emit import write_build
from mase_hw.flow import compile_model
from mase_hw.ir import Design, DesignError
from mase_hw.models import get_model
from mase_hw.numerics import Fixed


@pytest.fixture(scope="module")
def design() -> Design:
    """Unrolled layers that share an enable."""
    return compile_model(randomized(get_model("jsc-toy")), (16,), eight_bit(), target_interval=1).design


def changed(design: Design, index: int, **values: Any) -> Design:
    components = list(design.components)
    components[index] = replace(components[index], **values)
    return replace(design, components=tuple(components))


def other_output(design: Design, **values: Any) -> Design:
    return changed(design, -1, outputs=(replace(design.output, **values),))


def rounds_otherwise(design: Design) -> Design:
    step = design.components[0].finish
    assert step is not None
    return changed(design, 0, finish=replace(step, fixed=replace(step.fixed, frac=step.fixed.frac + 1)))


def other_input(design: Design, **values: Any) -> Design:
    """The second component reads something else than the first writes."""
    return changed(design, 1, inputs=(replace(design.components[1].input, **values),))


BROKEN: dict[str, tuple[Callable[[Design], Design], str]] = {
    "two components of one name": (lambda d: changed(d, 1, name=d.components[0].name), "a name is used twice"),
    "a stream that is called clk": (lambda d: other_output(d, name="clk"), "a name is used twice"),
    "a stream that is another's valid": (
        lambda d: other_output(d, name=f"{d.input.name}_valid"),
        "a name is used twice",
    ),
    "streams that do not meet": (lambda d: other_input(d, name="elsewhere"), "the ports are not data_in_0"),
    "another type at the reader": (lambda d: other_input(d, fixed=Fixed(20, 3)), "is not written so"),
    "a step that rounds to another type": (rounds_otherwise, "rounds to another type"),
    "lanes that do not divide": (lambda d: other_output(d, lanes=d.output.features - 1), "lanes of"),
    "too few bounds": (lambda d: other_output(d, lo=d.output.lo[1:]), "bounds of other features"),
    "bounds the wrong way": (lambda d: other_output(d, lo=d.output.hi, hi=d.output.lo), "data_out_0"),
    "bounds beyond the type": (
        lambda d: other_output(d, hi=(d.output.fixed.hi + 1,) * d.output.features),
        "does not fit",
    ),
}


def test_the_design_itself_is_sound(design: Design) -> None:
    assert len(design.components) > 1
    design.verify()


@pytest.mark.parametrize("name", BROKEN)
def test_it_is_refused(name: str, design: Design) -> None:
    breaks, text = BROKEN[name]
    with pytest.raises(DesignError, match=text):
        breaks(design).verify()


def test_a_ready_that_runs_through_two_components_is_refused() -> None:
    """What a skid buffer between them is for."""
    buffered = compile_model(randomized(get_model("jsc-toy")), (16,), eight_bit(), target_interval=4).design
    index = next(k for k, each in enumerate(buffered.components) if each.kind == "skid_buffer")
    before, _, after, *rest = buffered.components[index - 1 :]
    joined = (*buffered.components[:index], replace(after, inputs=before.outputs), *rest)
    with pytest.raises(DesignError, match=f"a ready runs through both {before.name} and {after.name}"):
        replace(buffered, components=joined).verify()


def test_the_verifier_works_without_assertions(design: Design, tmp_path: Path) -> None:
    """`python -O` removes assertions; what guards a build folder must stay."""
    build = tmp_path / "build"
    write_build(build, design, {}, None)
    manifest = build / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"lanes": 16', '"lanes": 15'))
    code = f"from mase_hw.cli import main; main(['sim', {str(build)!r}])"
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "manifest.json is damaged: DesignError: data_in_0: 15 lanes of 16" in done.stderr
