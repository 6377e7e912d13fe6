"""Source mutants: one change to the text of an emitted file, at a place of its syntax tree."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mase_hw.mutate.literals import changed_literal
from mase_hw.mutate.mutant import Mutant

# What stands in the place of an operator, and how the change is called.
_BINARY = {
    "==": ("!=", "comparison"),
    "!=": ("==", "comparison"),
    "<": ("<=", "boundary"),
    "<=": ("<", "boundary"),
    ">": (">=", "boundary"),
    ">=": (">", "boundary"),
    "&&": ("||", "logic"),
    "||": ("&&", "logic"),
    "&": ("|", "logic"),
    "|": ("&", "logic"),
    "^": ("|", "logic"),
    "+": ("-", "arithmetic"),
    "-": ("+", "arithmetic"),
    "*": ("+", "arithmetic"),
    "<<": (">>", "arithmetic"),
    ">>": ("<<", "arithmetic"),
    "<<<": (">>", "arithmetic"),
    ">>>": ("<<", "arithmetic"),
}
_REDUCTIONS = {"|": "&", "&": "|", "^": "&"}
_LITERALS = ("IntegerLiteralExpression", "IntegerVectorExpression", "UnbasedUnsizedLiteralExpression")
# A parameter's default is overridden by every instance, and assertions are no hardware.
_SKIPPED = ("ParameterPortList", "ConcurrentAssertionMember", "ImmediateAssertionMember", "AttributeInstance")


@dataclass(frozen=True)
class Edit:
    """`new` in the place of the bytes from `start` to `end`."""

    operator: str
    start: int
    end: int
    new: str


def source_mutants(files: Mapping[str, str], count: int | None, seed: int) -> list[Mutant]:
    """`count` mutants (None: all there are), spread evenly over the files and the kinds of change; drawn by `seed`."""
    groups: dict[tuple[str, str], list[Edit]] = defaultdict(list)
    for file in sorted(files):
        for edit in edits(files[file], seed):
            groups[edit.operator, file].append(edit)
    rng = random.Random(seed)
    drawn = []
    for key in sorted(groups):
        rng.shuffle(groups[key])
        # One of every group before the second of any; within a round, in an order that seeds choose.
        drawn += [(number, rng.random(), key[1], edit) for number, edit in enumerate(groups[key])]
    drawn.sort(key=lambda each: each[:2])
    return [_mutant(file, files[file], edit) for _, _, file, edit in drawn[:count]]


def edits(text: str, seed: int = 0) -> list[Edit]:
    """Every change that this file knows how to make to a SystemVerilog text; `seed` chooses the bits of tables."""
    from pyslang.syntax import SyntaxTree

    raw = text.encode()
    found = list(_walk(SyntaxTree.fromText(text).root, raw, random.Random(seed)))
    return [edit for edit in found if raw[edit.start : edit.end].decode() != edit.new]


def _mutant(file: str, text: str, edit: Edit) -> Mutant:
    raw = text.encode()
    old = raw[edit.start : edit.end].decode()
    line = raw[: edit.start].count(b"\n") + 1
    what = f"`{_short(old)}` becomes `{_short(edit.new)}`" if edit.new.strip("; ") else f"`{_short(old)}` is left out"
    begin, end = raw.rfind(b"\n", 0, edit.start) + 1, raw.find(b"\n", edit.start)
    context = _short(raw[begin : end if end >= 0 else len(raw)].decode(), 70)
    where = text, edit.start, edit.end, edit.new
    return Mutant("source", edit.operator, file, line, f"{what} in: {context}", *where)


def _short(text: str, limit: int = 50) -> str:
    text = " ".join(text.split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _walk(node: Any, raw: bytes, rng: random.Random) -> Iterator[Edit]:
    kind = node.kind.name
    if kind in _SKIPPED or _only_checks(node, kind):
        return
    yield from _here(node, kind, raw, rng)
    for child in node:
        if hasattr(child, "sourceRange"):  # a token is none
            yield from _walk(child, raw, rng)


def _only_checks(node: Any, kind: str) -> bool:
    """Whether this is no hardware: a check of parameters, the streams' checks in the top, or their module."""
    if kind == "ModuleDeclaration":
        return bool(node.header.name.rawText == "mase_stream_check")
    if kind != "IfGenerate":
        return False
    members = [member.kind.name for member in getattr(node.block, "members", ())]
    return str(node.condition).strip() == "CheckStreams" or set(members) == {"ElabSystemTask"}


def _here(node: Any, kind: str, raw: bytes, rng: random.Random) -> Iterator[Edit]:
    """The changes at one node of the tree."""
    if kind in _LITERALS:
        start, end = _ends(node)
        new = changed_literal(raw[start:end].decode(), rng)
        if new is not None:
            yield Edit("constant", start, end, new)
    elif kind == "ConditionalStatement":
        start, end = _ends(node.predicate)
        condition = raw[start:end].decode()
        yield Edit("condition negated", start, end, f"!({condition})")
        if node.elseClause is None:
            yield Edit("enable dropped", start, end, "1'b1")
        yield Edit("reset dropped" if condition == "rst" else "branch never taken", start, end, "1'b0")
    elif kind == "ConditionalExpression":
        yield from _swapped("arms swapped", node.left, node.right, raw)
    elif kind == "ExpressionStatement" and node.expr.kind.name == "NonblockingAssignmentExpression":
        yield Edit("statement dropped", *_ends(node), ";")
    elif kind == "ConcatenationExpression":
        parts = [part for part in node.expressions if hasattr(part, "sourceRange")]
        if len(parts) > 1:
            yield from _swapped("operands swapped", parts[0], parts[-1], raw)
    elif type(node).__name__ == "PrefixUnaryExpressionSyntax":
        sign, (start, end) = node.operatorToken.rawText, _ends(node.operatorToken)
        if sign in ("!", "~", "-"):
            yield Edit("inversion dropped", start, end, " ")
        elif sign in _REDUCTIONS:
            yield Edit("reduction", start, end, _REDUCTIONS[sign])
    elif type(node).__name__ == "BinaryExpressionSyntax" and not kind.endswith("AssignmentExpression"):
        sign, (start, end) = node.operatorToken.rawText, _ends(node.operatorToken)
        if sign in _BINARY:
            new, operator = _BINARY[sign]
            yield Edit(operator, start, end, new)
        if sign in ("-", "<<", ">>"):
            yield from _swapped("operands swapped", node.left, node.right, raw)


def _swapped(operator: str, left: Any, right: Any, raw: bytes) -> Iterator[Edit]:
    (a, b), (c, d) = _ends(left), _ends(right)
    first, between, second = raw[a:b].decode(), raw[b:c].decode(), raw[c:d].decode()
    yield Edit(operator, a, d, f"{second}{between}{first}")


def _ends(node: Any) -> tuple[int, int]:
    place = node.sourceRange if hasattr(node, "sourceRange") else node.range
    return place.start.offset, place.end.offset
