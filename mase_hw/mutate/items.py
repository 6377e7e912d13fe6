"""The items of a module: what declares a name, what drives one, and where each is mentioned."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

ItemKind = Literal["assign", "always", "named", "instance", "other"]
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"(?<![\w.$'])[A-Za-z_]\w*")
_OUTPUT = re.compile(r"\boutput\b[^,;)]*?(\w+)\s*(?=,|\)|$)", re.MULTILINE)
_CONNECTION = re.compile(r"\.(\w+)\s*\(\s*([A-Za-z_]\w*)")


@dataclass(frozen=True)
class Item:
    """A member of a module or of a loop's block, at the bytes from `start` to `end`; it is visible in `scope`."""

    kind: ItemKind
    start: int
    end: int
    scope: tuple[int, int]
    text: str
    names: tuple[str, ...] = ()  # what it declares
    body: int = 0  # always: where its statement starts, from its own start
    module: str = ""  # instance: of what

    @cached_property
    def words(self) -> frozenset[str]:
        """The names that it mentions. A port's name in a connection is none."""
        return frozenset(_WORD.findall(plain(self.text)))

    def within(self, scope: tuple[int, int]) -> bool:
        return scope[0] <= self.start and self.end <= scope[1]


def plain(text: str) -> str:
    """A text without its comments, on one line."""
    return " ".join(_COMMENT.sub(" ", text).split())


def items(text: str) -> list[Item]:
    """All items of a text with one module, those of loops' blocks too; an `if` of a module is one item."""
    from pyslang.syntax import SyntaxTree

    root = SyntaxTree.fromText(text).root
    modules = [node for node in getattr(root, "members", [root]) if node.kind.name == "ModuleDeclaration"]
    module = root if root.kind.name == "ModuleDeclaration" else modules[0]
    return list(_members(module, text.encode()))


def outputs(texts: Iterable[str], instance: Item) -> tuple[str, ...] | None:
    """The nets that an instance drives; None if that cannot be told from the texts."""
    head = next((t for t in map(plain, texts) if re.search(rf"\bmodule {instance.module}\b", t)), "")
    header = head[: head.find(";")]
    ports = set(_OUTPUT.findall(header))
    connected = dict(_CONNECTION.findall(plain(instance.text)))
    if not ports or not ports <= connected.keys():
        return None
    return tuple(connected[port] for port in sorted(ports))


def refused(texts: Mapping[str, str], file: str) -> set[int]:
    """The lines of a file that slang, which is what Yosys reads with, takes for wrong."""
    from pyslang import SourceManager
    from pyslang.ast import Compilation
    from pyslang.syntax import SyntaxTree

    compilation, sources = Compilation(), SourceManager()
    for name, text in texts.items():
        compilation.addSyntaxTree(SyntaxTree.fromText(text, sources, name, name))
    found = [each.location for each in compilation.getAllDiagnostics() if each.isError()]
    return {sources.getLineNumber(place) for place in found if sources.getFileName(place) == file}


def _members(node: Any, raw: bytes) -> Iterator[Item]:
    scope = _ends(node)
    for member in node.members:
        kind = member.kind.name
        start, end = _ends(member)
        text = raw[start:end].decode()
        if kind == "LoopGenerate" and member.block.kind.name == "GenerateBlock":
            yield Item("other", start, _ends(member.block)[0], scope, raw[start : _ends(member.block)[0]].decode())
            yield from _members(member.block, raw)
        elif kind == "ContinuousAssign" and len(member.assignments) == 1:
            yield Item("assign", start, end, scope, text)
        elif kind == "AlwaysFFBlock" and member.statement.kind.name == "TimingControlStatement":
            yield Item("always", start, end, scope, text, body=_ends(member.statement.statement)[0] - start)
        elif kind == "AlwaysCombBlock":
            yield Item("always", start, end, scope, text, body=_ends(member.statement)[0] - start)
        elif kind == "HierarchyInstantiation" and len(member.instances) == 1 and member.instances[0].decl is not None:
            instance = str(member.instances[0].decl.name.valueText)
            yield Item("instance", start, end, scope, text, (instance,), module=member.type.valueText)
        else:
            names = tuple(_declared(member, kind))
            yield Item("named" if names else "other", start, end, scope, text, names)


def _declared(member: Any, kind: str) -> Iterator[str]:
    if kind in ("DataDeclaration", "ParameterDeclarationStatement"):
        holder = member if kind == "DataDeclaration" else member.parameter
        for each in getattr(holder, "declarators", ()):
            if hasattr(each, "name"):
                yield each.name.valueText
    elif kind == "TypedefDeclaration":
        yield member.name.valueText
    elif kind == "FunctionDeclaration":
        yield str(member.prototype.name).strip()


def _ends(node: Any) -> tuple[int, int]:
    return node.sourceRange.start.offset, node.sourceRange.end.offset
