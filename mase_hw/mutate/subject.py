"""Subjects: what a mutant is tried on. Each component alone under a top of its own; for its top, the whole design."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from mase_hw.emit import Build, read_build
from mase_hw.emit.render import module_name, render_alone
from mase_hw.ir import Component, Design
from mase_hw.simulate.check import alone

_COMMENT = re.compile(r"//.*")
_WORD = re.compile(r"[A-Za-z_]\w*")


@dataclass(frozen=True)
class Subject:
    """A top and the files that it needs, in compile order, the top's last. `component` is "" for the whole design."""

    component: str
    design: Design
    module: str  # what the component is an instance of
    texts: Mapping[str, str]

    @property
    def name(self) -> str:
        return self.component or "design"

    @property
    def part(self) -> Component:
        return self.design.components[0]

    @property
    def size(self) -> int:
        return sum(map(len, self.texts.values()))

    def write(self, folder: Path, changed: Mapping[str, str] | None = None) -> list[Path]:
        """Its files in a folder, those in `changed` with another text."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in {**self.texts, **(changed or {})}.items():
            (folder / name).write_bytes(text.encode())
        return [folder / name for name in self.texts]


@lru_cache(maxsize=4)
def subjects(path: Path) -> dict[str, Subject]:
    """The subjects of the build at `path`, by component; "" is the whole design."""
    build = read_build(path)
    emitted = read_texts(build)
    design = build.design
    found = {"": Subject("", design, design.name, emitted)}
    for component in design.components:
        single = alone(design, component)
        top = render_alone(design, single)
        parts = {name: text for name, text in emitted.items() if name != f"{design.name}.sv"}
        needed = _needed(top, parts)
        texts = {name: text for name, text in parts.items() if name in needed}
        module = module_name(design, component)
        found[component.name] = Subject(component.name, single, module, {**texts, f"{single.name}.sv": top})
    return found


def read_texts(build: Build) -> dict[str, str]:
    """File name to text, in compile order; what is mutated of a build."""
    return {name: text for name, text in build.texts().items() if name not in untouched(build)}


def untouched(build: Build) -> list[str]:
    """Files that are not mutated: neither the native bench nor the prover knows the AXI4-Stream top."""
    return [build.axis.file] if build.axis is not None else []


def _needed(top: str, emitted: Mapping[str, str]) -> set[str]:
    """The files whose modules a text names, and those that these name."""
    found: set[str] = set()
    todo = [top]
    while todo:
        code = _COMMENT.sub("", todo.pop())
        named = {f"{word}.sv" for word in _WORD.findall(code)} & emitted.keys()
        todo += [emitted[name] for name in named - found]
        found |= named
    return found
