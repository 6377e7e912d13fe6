"""Nodes of a syntax tree: as they are written, and what is below them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from mase_hw.language import allowed

_COMMENT = re.compile(allowed.COMMENT)


def plain(node: Any) -> str:
    """A node or a token as it is written, without comments and what stands around it."""
    return "" if node is None else _COMMENT.sub("", str(node)).strip()


def nodes(node: Any) -> list[Any]:
    """The nodes right below one; tokens have none."""
    return [child for child in node if hasattr(child, "sourceRange")]


def of_kind(items: Any, kind: str) -> list[Any]:
    return [item for item in items if item.kind.name == kind]


def below(node: Any, *kinds: str) -> Iterator[Any]:
    todo = [node]
    while todo:
        one = todo.pop()
        if one.kind.name in kinds:
            yield one
        todo += nodes(one)


def attributes_of(declaration: Any) -> set[str]:
    return {spec.name.valueText for each in declaration.attributes for spec in of_kind(each.specs, "AttributeSpec")}


def is_check(member: Any) -> bool:
    return bool(member.kind.name == "HierarchyInstantiation" and member.type.valueText == allowed.CHECKER)


def system(name: str, kind: str, checks: bool) -> str | None:
    """$error and $stable are of assertions; the functions are of everything else."""
    known = allowed.SYSTEM.get(name) == kind and checks == (name in ("$error", "$stable", "$fatal"))
    return None if known else f"{name} is not in the language here"
