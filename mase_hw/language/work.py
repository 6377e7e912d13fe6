"""How much the expressions of an elaborated design are to compute: a short text can ask for any amount."""

from __future__ import annotations

from typing import Any

from mase_hw.language import allowed


def too_much(top: Any) -> tuple[Any, str] | None:
    """The expression up to which there is more to compute than is allowed, and what is said of it."""
    from pyslang.ast import Expression, VisitAction

    total = 0
    found: list[Any] = []

    def look(node: Any) -> Any:
        nonlocal total
        if isinstance(node, Expression):
            total += _work(node)
            if total > allowed.MAX_WORK:
                found.append(node)
                return VisitAction.Interrupt
        return VisitAction.Advance

    top.visit(look)
    if not found:
        return None
    return found[0], f"up to here, the design computes more than {allowed.MAX_WORK:,} bits in a cycle"


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
