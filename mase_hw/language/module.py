"""What a module declares, drives and holds; and whether it drives its own inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mase_hw.language.text import Found


@dataclass(frozen=True)
class Inside:
    """An instance, and the signal at each port of which one is a name or a part of one."""

    line: int
    of: str
    nets: Mapping[str, str]


@dataclass
class Module:
    """Filled while a tree is read."""

    name: str
    inputs: set[str] = field(default_factory=set)
    outputs: set[str] = field(default_factory=set)
    tables: set[str] = field(default_factory=set)
    driven: dict[str, int] = field(default_factory=dict)  # by an assignment; the line of the last
    inside: list[Inside] = field(default_factory=list)

    def declare(self, name: str, declaration: Any) -> None:
        """A port; what has no direction is none."""
        if declaration.kind.name == "ImplicitAnsiPort":
            direction = declaration.header.direction.valueText
            (self.inputs if direction == "input" else self.outputs).add(name)

    def drive(self, line: int, name: str) -> None:
        self.driven[name] = line

    def instance(self, line: int, of: str, node: Any) -> None:
        nets = {}
        for each in node.connections:
            if each.kind.name == "NamedPortConnection":
                port = each.name.valueText
                nets[port] = _base(each.expr) if each.expr is not None else port
        self.inside.append(Inside(line, of, nets))


def wrong_inside(module: Module, modules: Mapping[str, Module]) -> Iterator[Found]:
    """An instance of nothing; and what is for reading alone and is driven: an input of the module, a table."""
    for name in sorted(module.inputs & module.driven.keys()):
        yield Found(module.driven[name], f"{name} is an input of {module.name}, and is driven inside")
    for each in module.inside:
        known = modules.get(each.of)
        if known is None:
            yield Found(each.line, f"there is no module {each.of}")
            continue
        for port in sorted(known.outputs & each.nets.keys()):
            net = each.nets[port]
            if net in module.inputs or net in module.tables or not net:
                what = f"{net} is read only" if net else "it is no signal"
                yield Found(each.line, f"{port} of an instance of {each.of} drives what it may not: {what}")


def in_circles(modules: Mapping[str, Module]) -> set[str]:
    """Modules that hold themselves, at whatever depth."""
    left = {name: {each.of for each in module.inside} & modules.keys() for name, module in modules.items()}
    while ends := [name for name, needs in left.items() if not needs & left.keys()]:
        for name in ends:
            del left[name]
    return set(left)


def _base(node: Any) -> str:
    """The signal at a port: a name, a part of one, or "" for anything else."""
    while node.kind.name in ("SimplePropertyExpr", "SimpleSequenceExpr"):
        node = node.expr
    known = node.kind.name in ("IdentifierName", "IdentifierSelectName")
    return str(node.identifier.valueText) if known else ""
