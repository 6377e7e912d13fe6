"""A file's syntax tree: every kind of node is known, and stands where it may."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import PurePath
from typing import Any

from mase_hw.language import allowed
from mase_hw.language.module import Module
from mase_hw.language.nodes import attributes_of, below, is_check, nodes, of_kind, plain, system
from mase_hw.language.settled import unsettled
from mase_hw.language.text import Found

_WHOLE = re.compile("(64'sd)?[0-9]+")
Line = Callable[[Any], int]  # of a node
_LEAVES = ("IdentifierName", "IntegerLiteralExpression", "IntegerVectorExpression")  # there is nothing below them
_CONTEXTS = {
    "AlwaysFFBlock": "clocked",
    "AlwaysBlock": "clocked",
    "AlwaysCombBlock": "always_comb",
    "FunctionDeclaration": "function",
    "AssertPropertyStatement": "assertion",
    "ElabSystemTask": "check",
}
_ASSIGNED = {
    "AssignmentExpression": ("always_comb", "function"),
    "NonblockingAssignmentExpression": ("clocked",),
    "InvocationExpression": ("assertion",),  # $error
}


class Tree:
    """One file on its way through the rules; `refused` has what is outside of the language."""

    def __init__(self, name: str, root: Any, line: Line) -> None:
        path = PurePath(name)
        self.suffix, self.stem, self.line = path.suffix, path.stem, line
        self.module = Module(self.stem)
        self.refused: list[Found] = []
        modules = [root] if root.kind.name == "ModuleDeclaration" else list(root.members)
        if [node.kind.name for node in modules] != ["ModuleDeclaration"]:
            others = [node for node in modules if node.kind.name != "ModuleDeclaration"]
            other = (others or modules[1:] or [root])[0]
            self.refused.append(Found(line(other), "a file holds one module and nothing else"))
            return
        self._walk(modules[0])
        if self.stem == allowed.CHECKER and (self.module.outputs or self.module.inside):
            self._refuse(modules[0], f"{self.stem} looks at streams, and drives nothing")
        name_of = modules[0].header.name.valueText
        if name_of in allowed.BENCH:
            self._refuse(modules[0], f"{name_of} is a module of test benches")
        if name_of != self.stem:
            self.refused.append(Found(line(modules[0]), f"module {name_of} is not named as its file {path.name}"))

    def _walk(self, root: Any) -> None:
        """All nodes, each with the kind of its parent and what it belongs to. No recursion: the text may be deep."""
        places = allowed.PLACES[self.suffix]
        todo: list[tuple[Any, Any, str, str]] = [(root, None, "CompilationUnit", "")]
        while todo:
            node, parent, around, context = todo.pop()
            kind = node.kind.name
            if around not in places.get(kind, ()):
                self._refuse(node, f"{kind} in {around} is not in the language")
                continue
            rule = _RULES.get(kind)
            if rule is not None and (why := rule(self, node, parent, context)):
                self._refuse(node, why)
                continue
            context = _CONTEXTS.get(kind, context)
            if kind not in _LEAVES:
                todo += [(child, node, kind, context) for child in reversed(nodes(node))]

    def _refuse(self, node: Any, why: str) -> None:
        self.refused.append(Found(self.line(node), why))

    def always(self, node: Any, parent: Any, context: str) -> str | None:
        """Registers move with the rising edge of the clock."""
        statement = node.statement
        if statement.kind.name != "TimingControlStatement":
            return "registers without a clock are not in the language"
        wanted = allowed.CLOCKS[self.suffix]
        found = plain(statement.timingControl)
        return None if found == wanted else f"registers move with `{wanted}`, not with `{found}`"

    def always_comb(self, node: Any, parent: Any, context: str) -> str | None:
        if node.statement.kind.name != "SequentialBlockStatement":
            return "always_comb has a block"
        return unsettled(list(node.statement.items))

    def function(self, node: Any, parent: Any, context: str) -> str | None:
        """It depends on its arguments alone: nobody need look inside to know when it changes."""
        head = node.prototype
        if plain(head.lifetime) != "automatic":
            return "a function is automatic"
        ports = [port for port in head.portList.ports if hasattr(port, "declarator")]
        if any(plain(port.direction) != "input" for port in ports):
            return "the arguments of a function are inputs"
        arguments = {port.declarator.name.valueText for port in ports}
        own = [item for item in node.items if item.kind.name == "DataDeclaration"]
        local = {each.name.valueText for item in own for each in of_kind(item.declarators, "Declarator")}
        for used in below(node, "IdentifierName", "IdentifierSelectName"):
            name = used.identifier.valueText
            if name not in arguments | local and used.parent.kind.name != "FunctionPrototype":
                return f"a function that uses {name}, which is not its own, is not in the language"
        body = [item for item in node.items if item.kind.name != "DataDeclaration"]
        if any(item.kind.name == "ReturnStatement" for item in body[:-1]) or body[-1].kind.name != "ReturnStatement":
            return "a function returns at its end"
        return unsettled(body, local, arguments)

    def statement(self, node: Any, parent: Any, context: str) -> str | None:
        """Registers are loaded by `<=`; everything else is assigned by `=`."""
        kind = node.expr.kind.name
        if context in _ASSIGNED.get(kind, ()):
            return None
        where = {"clocked": "a clocked block", "": "a module", "check": "a check"}.get(context, context)
        return f"{kind} in {where} is not in the language"

    def timing(self, node: Any, parent: Any, context: str) -> str | None:
        return None if parent is not None and parent.statement is node else "a statement that waits"

    def case(self, node: Any, parent: Any, context: str) -> str | None:
        kinds = [item.kind.name for item in node.items]
        return None if kinds[-1:] == ["DefaultCaseItem"] else "a case ends with its default"

    def invocation(self, node: Any, parent: Any, context: str) -> str | None:
        """Checks and properties have names of their own."""
        name = plain(node.left)
        if not name.startswith("$"):
            return None
        return system(name, "SystemName", context == "assertion")

    def elaboration(self, node: Any, parent: Any, context: str) -> str | None:
        """Only where a condition on parameters holds."""
        branch = parent.parent
        if branch is None or branch.kind.name != "IfGenerate" or len(list(parent.members)) != 1:
            return "a check of parameters stands alone in a generate `if`"
        return system(plain(node.name), "ElabSystemTask", True)

    def text(self, node: Any, parent: Any, context: str) -> str | None:
        around = parent.parent.kind.name
        fine = context in ("assertion", "check") or around == "AttributeSpec"
        return None if fine else "a string is no value"

    def attribute(self, node: Any, parent: Any, context: str) -> str | None:
        name = node.name.valueText
        if name not in allowed.ATTRIBUTES:
            return f"the attribute {name} is not in the language"
        value = "" if node.value is None else plain(node.value.expr)
        return None if value in allowed.ATTRIBUTES[name] else f"{name} = {value or 'nothing'} is not in the language"

    def assertion(self, node: Any, parent: Any, context: str) -> str | None:
        return None if self.stem == allowed.CHECKER else f"assertions are in {allowed.CHECKER} alone"

    def clocked(self, node: Any, parent: Any, context: str) -> str | None:
        """The clock of a property."""
        fine = parent.kind.name == "TimingControlStatement" or plain(node) == allowed.CLOCKS[self.suffix]
        return None if fine else f"a property has the clock `{allowed.CLOCKS[self.suffix]}`"

    def branch(self, node: Any, parent: Any, context: str) -> str | None:
        """The checks of streams are instances of their module, and change nothing."""
        if allowed.CHECKS not in plain(node.condition):
            return None
        if plain(node.condition) != allowed.CHECKS or node.elseClause is not None:
            return f"{allowed.CHECKS} is a condition by itself, without an else"
        members = list(node.block.members) if node.block.kind.name == "GenerateBlock" else [node.block]
        if any(not is_check(member) for member in members):
            return f"with {allowed.CHECKS} there are instances of {allowed.CHECKER}, and nothing else"
        return None

    def instance(self, node: Any, parent: Any, context: str) -> str | None:
        of = node.type.valueText
        around = parent.parent
        checked = around is not None and around.kind.name == "IfGenerate" and plain(around.condition) == allowed.CHECKS
        if of == allowed.CHECKER and not checked:
            return f"{allowed.CHECKER} is only there with {allowed.CHECKS}"
        if len(of_kind(node.instances, "HierarchicalInstance")) != 1 or node.instances[0].decl is None:
            return "an instance has a name and a statement of its own"
        self.module.instance(self.line(node), of, node.instances[0])
        return None

    def connection(self, node: Any, parent: Any, context: str) -> str | None:
        """`.clk` or `.port(net)`; a port that is left open is not in the language."""
        if node.name.valueText == allowed.CHECKS:
            return f"{allowed.CHECKS} is for checks alone"
        if plain(node.openParen) and node.expr is None:
            return f"port {node.name.valueText} is left open"
        return None

    def negative(self, node: Any, parent: Any, context: str) -> str | None:
        """As an argument of a parameter it has the width of the widest one, or none: no reader need extend it."""
        if parent.kind.name != "NamedParamAssignment":
            return None
        fine = _WHOLE.fullmatch(plain(node.operand))
        return None if fine else f"{plain(node)} is no argument of a parameter: it is 64'sd and digits, or digits alone"

    def assigned(self, node: Any, parent: Any, context: str) -> str | None:
        """What is on the left of an assignment is a name, or a part of one."""
        if parent.kind.name == "LoopGenerate":
            return None
        left = node.left
        if left.kind.name not in ("IdentifierName", "IdentifierSelectName"):
            return f"{left.kind.name} is assigned"
        self.module.drive(self.line(node), left.identifier.valueText)
        return None

    def continuous(self, node: Any, parent: Any, context: str) -> str | None:
        assignments = [each for each in node.assignments if each.kind.name != "Comma"]
        return None if len(assignments) == 1 else "an assign drives one signal"

    def declarator(self, node: Any, parent: Any, context: str) -> str | None:
        """An initial value is that of a parameter, or of a table that is never written."""
        name, kind = node.name.valueText, parent.kind.name
        if kind in ("DataDeclaration", "NetDeclaration", "ImplicitAnsiPort"):
            self.module.declare(name, parent)
        if name == allowed.CHECKS and (kind != "ParameterDeclaration" or plain(parent.keyword) != "parameter"):
            return f"{name} is a parameter"
        if node.initializer is None:
            return None if kind != "ParameterDeclaration" else f"parameter {name} has no value"
        if kind == "ParameterDeclaration":
            checks = name != allowed.CHECKS or plain(node.initializer.expr) == "1'b0"
            return None if checks else f"{name} is 0 unless a test bench says otherwise"
        pattern = node.initializer.expr.kind.name == "AssignmentPatternExpression"
        if kind == "DataDeclaration" and pattern and node.dimensions and allowed.ROM in attributes_of(parent):
            self.module.drive(self.line(node), name)
            self.module.tables.add(name)
            return None
        return f"{name} has an initial value"

    def name(self, node: Any, parent: Any, context: str) -> str | None:
        """The switch of the checks is read by nothing else."""
        if node.identifier.valueText != allowed.CHECKS:
            return None
        fine = parent.kind.name == "IfGenerate" or (
            parent.kind.name == "NamedParamAssignment" and parent.name.valueText == allowed.CHECKS
        )
        return None if fine else f"{allowed.CHECKS} is for checks alone"


_Rule = Callable[[Tree, Any, Any, str], str | None]
_RULES: dict[str, _Rule] = {
    "AlwaysFFBlock": Tree.always,
    "AlwaysBlock": Tree.always,
    "AlwaysCombBlock": Tree.always_comb,
    "AssertPropertyStatement": Tree.assertion,
    "AssignmentExpression": Tree.assigned,
    "AttributeSpec": Tree.attribute,
    "CaseStatement": Tree.case,
    "ContinuousAssign": Tree.continuous,
    "Declarator": Tree.declarator,
    "ElabSystemTask": Tree.elaboration,
    "EventControlWithExpression": Tree.clocked,
    "ExpressionStatement": Tree.statement,
    "FunctionDeclaration": Tree.function,
    "HierarchyInstantiation": Tree.instance,
    "IdentifierName": Tree.name,
    "IdentifierSelectName": Tree.name,
    "IfGenerate": Tree.branch,
    "InvocationExpression": Tree.invocation,
    "NamedPortConnection": Tree.connection,
    "NonblockingAssignmentExpression": Tree.assigned,
    "StringLiteralExpression": Tree.text,
    "UnaryMinusExpression": Tree.negative,
}
