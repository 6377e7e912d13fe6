"""Whether the RTL of a build is written in the language that we emit, before any tool is given it."""

from __future__ import annotations

from mase_hw.emit.reading import Build
from mase_hw.language import check_apart


def check_written(build: Build) -> str:
    """One line about what was read; a Problem for each place of the RTL that is outside of the language."""
    top = build.axis.module if build.axis is not None else build.design.name
    files = {name.removeprefix("rtl/"): build.content(name) for name in build.rtl_names}
    return check_apart(files, top, build.path / "rtl")
