"""Assignments one after the other, as in `always_comb` and in functions: every value is settled before it is read.

Then there is no latch, no value of an earlier time, and no difference between readers that look at a block once and
those that look again whenever something changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any


class _UnsettledError(Exception):
    """Why a block is refused."""


def unsettled(statements: Sequence[Any], local: Iterable[str] | None = None, given: Iterable[str] = ()) -> str | None:
    """Why a block is refused; None where it is fine.

    `local`: all that may be assigned, and None for whatever is; `given`: what has a value before.
    """
    targets = set(_targets(statements))
    if local is not None and (others := targets - set(local)):
        return f"a function assigns {', '.join(sorted(others))}, which is not its own"
    try:
        settled = _sequence(statements, set(), targets | set(local or ()))
    except _UnsettledError as error:
        return str(error)
    missing = targets - settled - set(given)
    return f"{', '.join(sorted(missing))} is not assigned in every case, which is a latch" if missing else None


def _sequence(statements: Sequence[Any], settled: set[str], targets: set[str]) -> set[str]:
    """What has a value behind the statements, given what has one before."""
    for statement in statements:
        settled = _statement(statement, settled, targets)
    return settled


def _statement(node: Any, settled: set[str], targets: set[str]) -> set[str]:
    kind = node.kind.name
    if kind == "SequentialBlockStatement":
        return _sequence(list(node.items), settled, targets)
    if kind == "ExpressionStatement" and node.expr.kind.name == "AssignmentExpression":
        left = node.expr.left
        _read(node.expr.right, settled, targets)
        if left.kind.name == "IdentifierName":
            return settled | {left.identifier.valueText}
        _read(left, settled, targets)  # the other bits keep what they have
        return settled
    if kind == "ConditionalStatement":
        _read(node.predicate, settled, targets)
        taken = _statement(node.statement, settled, targets)
        other = settled if node.elseClause is None else _statement(node.elseClause.clause, settled, targets)
        return taken & other
    if kind == "CaseStatement":
        _read(node.expr, settled, targets)
        ends = [_statement(item.clause, settled, targets) for item in node.items]
        return set.intersection(*ends)  # the last one is the default: a rule of its own
    if kind == "ReturnStatement":
        _read(node.returnValue, settled, targets)
        return settled
    kind = node.expr.kind.name if kind == "ExpressionStatement" else kind
    raise _UnsettledError(f"{kind} is not in the language here")


def _read(node: Any, settled: set[str], targets: set[str]) -> None:
    for name in _names(node):
        if name in targets and name not in settled:
            raise _UnsettledError(f"{name} is read before it is assigned")


def _targets(statements: Iterable[Any]) -> Iterator[str]:
    for statement in statements:
        for node in _all(statement):
            if node.kind.name == "AssignmentExpression" and hasattr(node.left, "identifier"):
                yield node.left.identifier.valueText


def _names(node: Any) -> Iterator[str]:
    return (each.identifier.valueText for each in _all(node) if hasattr(each, "identifier"))


def _all(node: Any) -> Iterator[Any]:
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        todo += [child for child in one if hasattr(child, "sourceRange")]
