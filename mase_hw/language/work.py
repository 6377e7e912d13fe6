"""The expressions of an elaborated design: how much they compute, and whether all readers compute the same.

A short text can ask for any amount of work. And in some places Verilator computes something else than slang and Yosys,
all found by giving them random expressions: it adds the amounts of two shifts within their bits, and cuts off what it
shifts out of a vector of vectors too early. What is shifted by a constant, or is one, and has one
dimension is alike for all.
"""

from __future__ import annotations

from typing import Any

from mase_hw.language import allowed


def wrong_work(top: Any) -> tuple[Any, str] | None:
    """The first expression that is not allowed, or up to which there is more to compute, and what is said of it."""
    from pyslang.ast import Expression, VisitAction

    total = 0
    found: list[tuple[Any, str]] = []

    def look(node: Any) -> Any:
        nonlocal total
        if isinstance(node, Expression):
            total += _work(node)
            if (name := _shifted_by(node)) is not None:
                found.append((node, f"it is shifted by {name}, which is no constant"))
                return VisitAction.Interrupt
            if _computes_with_rows(node):
                found.append((node, "an operand has two dimensions, of which only parts are computed with"))
                return VisitAction.Interrupt
            if total > allowed.MAX_WORK:
                text = f"up to here, the design computes more than {allowed.MAX_WORK:,} bits in a cycle"
                found.append((node, text))
                return VisitAction.Interrupt
        return VisitAction.Advance

    top.visit(look)
    return found[0] if found else None


def _shifted_by(node: Any) -> str | None:
    """The signal by which an expression shifts another; None where that or what it shifts is a constant."""
    if node.kind.name != "BinaryOp" or "Shift" not in node.op.name or _inside(node.left).kind.name == "IntegerLiteral":
        return None
    names: list[str] = []

    def look(part: Any) -> None:
        if part.kind.name == "NamedValue" and part.symbol.kind.name != "Parameter":
            names.append(part.symbol.name)

    node.right.visit(look)
    return names[0] if names else None


def _computes_with_rows(node: Any) -> bool:
    """Whether a vector of vectors is an operand as a whole: Verilator gets some of its shifts wrong."""
    kind = node.kind.name
    if kind == "BinaryOp":
        return _of_rows(node.left) or _of_rows(node.right)
    explicit = kind == "Conversion" and not node.isImplicit
    return (kind == "UnaryOp" or explicit) and _of_rows(node.operand)


def _inside(node: Any) -> Any:
    """An operand as it is written, before it is extended."""
    while node.kind.name == "Conversion" and node.isImplicit:
        node = node.operand
    return node


def _of_rows(node: Any) -> bool:
    node = _inside(node)
    if node.kind.name == "ConditionalOp":  # it has a type of one dimension, and not for every reader
        return _of_rows(node.left) or _of_rows(node.right)
    held = node.type.canonicalType
    return bool(held.kind.name == "PackedArrayType" and held.elementType.canonicalType.kind.name != "ScalarType")


def _work(node: Any) -> int:
    """The bits of an expression; of a product, one for each pair; of a shift or a choice, all that it chooses among."""
    kind, width = node.kind.name, int(node.type.bitstreamWidth)
    if kind == "BinaryOp":
        width = max(width, int(node.left.type.bitstreamWidth))
        operator = node.op.name
        return width * (width if operator == "Multiply" else 20 if "Shift" in operator else 1)
    chosen = kind == "ElementSelect" and node.selector.constant is None
    if chosen or (kind == "RangeSelect" and node.selectionKind.name != "Simple"):
        return int(node.value.type.bitstreamWidth)
    return width
