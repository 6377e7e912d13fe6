"""Models for a host program, in C++ and in Python: the design's integers, and how they are packed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mase_hw import resources
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.ir import Component
from mase_hw.ir.finish import Finish
from mase_hw.ir.plumbing import Plumbing
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, Rounding
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.batch_norm1d import BatchNorm1d
from mase_hw.ops.cast import Elementwise
from mase_hw.ops.linear.matrix import Matrix

COLUMNS = 110
MAX_SHIFT = MAX_ACCUMULATOR_BITS + 2  # as in numerics: a shift beyond changes nothing more


@dataclass(frozen=True)
class Step:
    """A computing component as the templates write it; its weights are flat, row by row."""

    name: str
    op: str
    form: Literal["linear", "scale_shift", "elementwise"]
    features_in: int
    features_out: int
    weights: Integers | None
    constants: Integers | None
    product_shift: int
    finish: Finish

    @property
    def shift(self) -> int:
        return self.finish.frac - self.finish.fixed.frac

    @property
    def lo(self) -> int:
        return self.finish.fixed.lo

    @property
    def hi(self) -> int:
        return self.finish.fixed.hi

    @property
    def width(self) -> int:
        return self.finish.fixed.width

    @property
    def half_even(self) -> bool:
        return self.finish.rounding is Rounding.HALF_EVEN

    @property
    def rectify(self) -> bool:
        return self.finish.rectify

    @property
    def changes(self) -> bool:
        return self.finish.changes


def host_name(build: Build) -> str:
    """Of the file, and of the namespace in it."""
    return f"{build.design.name}_reference"


def cpp_reference(build: Build) -> dict[str, bytes]:
    return {f"{host_name(build)}.hpp": _render(build, "reference.hpp.j2")}


def python_reference(build: Build) -> dict[str, bytes]:
    return {f"{host_name(build)}.py": _render(build, "reference.py.j2")}


def steps(components: Iterable[Component]) -> list[Step]:
    """The components that compute; one of a kind that has no host model is a Problem."""
    return [_step(component) for component in components if not isinstance(component, Plumbing)]


def _step(component: Component) -> Step:
    ends = (component.input.features, component.output.features)
    if isinstance(component, Matrix):
        flat, shift = component.matrix.ravel(), component.product_shift
        return Step(component.name, component.kind, "linear", *ends, flat, component.bias, shift, component.finish)
    if isinstance(component, BatchNorm1d):
        arrays, shift = (component.scale, component.shift), component.product_shift
        return Step(component.name, component.kind, "scale_shift", *ends, *arrays, shift, component.finish)
    if isinstance(component, Elementwise):
        return Step(component.name, component.kind, "elementwise", *ends, None, None, 0, component.finish)
    text = f"{component.name}: a component of kind {component.kind} has no host model"
    raise ProblemsError(Problem(text, hint="the other exports, and `mase-hw sim`, work with it"))


def _render(build: Build, template: str) -> bytes:
    environment = Environment(
        loader=FileSystemLoader(resources.rtl_templates() / "host"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update({"rows": _rows, "cpp_type": _cpp_type})
    design = build.design
    text = environment.get_template(template).render(
        name=host_name(build),
        design=design,
        x=design.input,
        y=design.output,
        steps=steps(design.components),
        reals=build.reals,
        max_shift=MAX_SHIFT,
    )
    return text.encode()


def _rows(values: Iterable[int]) -> str:
    """Numbers and commas in lines of a readable length."""
    lines, line = [], "   "
    for value in values:
        word = f" {int(value)},"
        if len(line) + len(word) > COLUMNS:
            lines.append(line)
            line = "   "
        line += word
    return "".join(f"{one}\n" for one in (*lines, line))


def _cpp_type(values: Integers) -> str:
    """The narrowest type that holds them all."""
    kinds = (np.int8, np.int16, np.int32)
    lo, hi = int(values.min()), int(values.max())
    fits = [kind.__name__ for kind in kinds if np.iinfo(kind).min <= lo and hi <= np.iinfo(kind).max]
    return f"std::{(fits or ['int64'])[0]}_t"
