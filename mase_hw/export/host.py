"""Models for a host program, in C++ and in Python: the design's integers, and how they are packed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from mase_hw import resources
from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.emit import Build
from mase_hw.export.host_program import program
from mase_hw.ir import Stream
from mase_hw.numerics import MAX_ACCUMULATOR_BITS, Rounding
from mase_hw.numerics.rounding import Integers

COLUMNS = 110
MAX_SHIFT = MAX_ACCUMULATOR_BITS + 2  # as in numerics: a shift beyond changes nothing more


@dataclass(frozen=True)
class HostPort:
    """A port as the templates write it. The first of a side has plain names, the others are numbered."""

    number: str  # "" or "1", "2", ...
    stream: Stream
    value: str  # what the program calls its values
    order: tuple[int, ...] | None
    half_even: bool = True  # how real numbers are rounded to it

    @property
    def suffix(self) -> str:
        return f"_{self.number}" if self.number else ""

    @property
    def elements(self) -> int:
        """Of a sample."""
        return self.stream.positions * self.stream.features


def host_name(build: Build) -> str:
    """Of the file, and of the namespace in it."""
    return f"{build.design.name}_reference"


def cpp_reference(build: Build) -> dict[str, bytes]:
    return {f"{host_name(build)}.hpp": _render(build, "reference.hpp.j2")}


def python_reference(build: Build) -> dict[str, bytes]:
    return {f"{host_name(build)}.py": _render(build, "reference.py.j2")}


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
    reals = build.reals
    if reals.scaled:
        text = f"{build.path.name}: its ports have scales that are no powers of two, and host programs have none"
        raise ProblemsError(Problem(text, hint="the other exports, and `mase-hw sim`, work with it"))
    design, made = build.design, program(build.design)
    inputs = [
        HostPort(str(k or ""), x, made.values[x.name], order, rounding is Rounding.HALF_EVEN)
        for k, (x, order, rounding) in enumerate(zip(design.inputs, reals.input_orders, reals.roundings, strict=True))
    ]
    outputs = [
        HostPort(str(k or ""), y, made.values[y.name], order)
        for k, (y, order) in enumerate(zip(design.outputs, reals.output_orders, strict=True))
    ]
    text = environment.get_template(template).render(
        name=host_name(build),
        design=design,
        inputs=inputs,
        outputs=outputs,
        steps=made.steps,
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
