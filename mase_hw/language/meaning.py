"""The elaborated design: slang has nothing to say against it, and every bit of a net has one driver."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from mase_hw.language import allowed
from mase_hw.language.text import Found
from mase_hw.language.work import wrong_work

Located = tuple[str, Found]  # a file, and what is refused in it
Where = Callable[[Any], tuple[str, int]]  # the file and the line of a location
_NAME = re.compile(r"\((\w+)\)")
_SCOPES = ("GenerateBlock", "GenerateBlockArray")
_SIZED = ("Net", "Parameter", "Variable")


def elaborated(compilation: Any, top: str, where: Where, message: Callable[[Any], str], most: int) -> Iterator[Located]:
    """What is refused of a design whose files have passed all other checks; `message` is that of a diagnostic.

    `most`: so many instances of modules may it have.
    """
    from pyslang.analysis import AnalysisManager

    instances = list(compilation.getRoot().topInstances)
    names = sorted(instance.name for instance in instances)
    if names != [top]:
        yield "", Found(0, f"nothing holds the modules {', '.join(names) or 'none'}; there must be {top} alone")
        return
    nets: list[Any] = []
    if (large := _collect(instances[0], nets, most)) is not None:
        symbol, text = large
        file, line = where(symbol.location)
        yield file, Found(line, text)
        return
    if (wrong := wrong_work(instances[0])) is not None:
        expression, text = wrong
        file, line = where(expression.sourceRange.start)
        yield file, Found(line, text)
        return
    manager = AnalysisManager()
    said = list(compilation.getAllDiagnostics())
    if not any(each.isError() for each in said):
        manager.analyze(compilation)
        said += list(manager.getDiagnostics())
        for net in nets:
            if (twice := _second_driver(manager.getDrivers(net))) is not None:
                file, line = where(twice.sourceRange.start)
                yield file, Found(line, f"bit {twice.bounds[0]} of {net.name} has two drivers")
    for each in said:
        if diagnostic_name(each) not in allowed.DIAGNOSTICS:
            file, line = where(each.location)
            yield file, Found(line, f"{message(each)} (slang: {diagnostic_name(each)})")


def diagnostic_name(diagnostic: Any) -> str:
    match = _NAME.search(repr(diagnostic.code))
    return match[1] if match else repr(diagnostic.code)


def _collect(top: Any, nets: list[Any], most: int) -> tuple[Any, str] | None:
    """All nets of a design; or what is too large in it. Slang elaborates a scope when it is looked at, so this ends."""
    todo, total, instances = [(top, 0)], _Total(), 0
    while todo:
        instance, depth = todo.pop()
        instances += 1
        if instances > most:
            return instance, f"up to {instance.name}, the design has more than {most:,} instances of modules"
        scopes = [instance.body]
        if depth > allowed.MAX_LEVELS:
            return instance, f"more than {allowed.MAX_LEVELS} modules hold one another"
        while scopes:
            for symbol in scopes.pop():
                kind = symbol.kind.name
                if (text := total.add(symbol, kind)) is not None:
                    return symbol, text
                if kind == "Instance":
                    todo.append((symbol, depth + 1))
                elif kind in _SCOPES and not symbol.isUninstantiated:
                    scopes.append(symbol)
                elif kind == "Net":
                    nets.append(symbol)
    return None


@dataclass
class _Total:
    """What a design has of everything."""

    symbols: int = 0
    bits: int = 0
    memory: int = 0

    def add(self, symbol: Any, kind: str) -> str | None:
        """Counts one symbol; says so where there is too much."""
        self.symbols += 1
        if self.symbols > allowed.MAX_SYMBOLS:
            return f"the design has more than {allowed.MAX_SYMBOLS:,} names"
        if kind not in _SIZED:
            return None
        row, total = symbol.type, symbol.type.bitstreamWidth
        while row.isUnpackedArray:
            row = row.elementType
        if row.bitstreamWidth > allowed.MAX_VECTOR:
            return f"{symbol.name} has more than {allowed.MAX_VECTOR:,} bits"
        if symbol.type.isUnpackedArray:
            self.memory += total
        else:
            self.bits += total
        if self.bits > allowed.MAX_BITS:
            return f"up to {symbol.name}, the signals of the design have more than {allowed.MAX_BITS:,} bits"
        if self.memory > allowed.MAX_MEMORY:
            return f"up to {symbol.name}, the memories of the design have more than {allowed.MAX_MEMORY:,} bits"
        return None


def _second_driver(drivers: list[Any]) -> Any | None:
    """Of two drivers of one bit the one that is written later."""
    before = None
    for driver in sorted(drivers, key=lambda each: each.bounds):
        if before is not None and driver.bounds[0] <= before.bounds[1]:
            return max(driver, before, key=lambda each: each.sourceRange.start.offset)
        before = driver
    return None
