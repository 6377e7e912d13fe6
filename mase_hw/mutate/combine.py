"""Many source mutants of a file in one text, with a register that says which of them is awake: compiled once for all.

A mutated statement stands beside the unmutated one in a `case`. A mutated declaration has a name of its own, and so has
all that depends on it: a mutant awake reads and drives its own names, from the same statements.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mase_hw.mutate.items import Item, items, outputs, plain
from mase_hw.mutate.mutant import Mutant

SELECTED = "mutate_selected"


@dataclass(frozen=True)
class Combined:
    """One text for the mutants in `numbers`; which of them a line belongs to. The others cannot be put together."""

    text: str
    numbers: tuple[int, ...]
    owners: Mapping[int, int]  # line to number


class _CannotError(Exception):
    """The mutant changes what is no statement, or what a statement cannot stand for."""


def combine(texts: Mapping[str, str], mutants: Mapping[int, Mutant], select: Path) -> Combined:
    """The mutants, all of one file; awake is the one whose number `select` holds when a run starts, 0: none."""
    file = next(iter(mutants.values())).file
    members = items(texts[file])
    others: dict[Item, dict[int, str]] = defaultdict(dict)
    taken = []
    for number, mutant in mutants.items():
        try:
            versions = _versions(members, mutant, number, list(texts.values()))
        except _CannotError:
            continue
        taken.append(number)
        for item, text in versions:
            others[item][number] = text
    return _written(texts[file], others, taken, select)


def _versions(members: Sequence[Item], mutant: Mutant, number: int, texts: Sequence[str]) -> list[tuple[Item, str]]:
    """Every item that is another one while the mutant is awake, and its text then."""
    home = min(
        (item for item in members if item.start <= mutant.start and mutant.end <= item.end),
        key=lambda item: item.end - item.start,
        default=None,
    )
    if home is None or mutant.start < home.start + home.body:
        raise _CannotError
    renamed: dict[str, str] = {}
    touched, todo = {home}, [home]
    while todo:
        item = todo.pop()
        for name in _renewed(item, texts):
            if name not in renamed:
                renamed[name] = f"{name}__{number}"
                fresh = _mentioning(name, item, members) - touched
                touched |= fresh
                todo += fresh
    found = []
    for item in sorted(touched, key=lambda item: item.start):
        raw = item.text.encode()
        if item is home:
            raw = raw[: mutant.start - item.start] + mutant.new.encode() + raw[mutant.end - item.start :]
        text = plain(raw[item.body :].decode())  # the clock of a block stays
        for old, new in renamed.items():
            text = re.sub(rf"(?<![\w.$']){old}(?![\w$])", new, text)
        found.append((item, text))
    return found


def _renewed(item: Item, texts: Sequence[str]) -> Iterable[str]:
    """The names that are others where this item is another one."""
    if item.kind == "other":
        raise _CannotError
    if item.kind == "named":
        return item.names
    if item.kind == "instance":
        driven = outputs(texts, item)
        if driven is None or re.search(r"\.(\*|\w+\s*[,)])", plain(item.text)):
            raise _CannotError
        return *item.names, *driven
    return ()


def _mentioning(name: str, item: Item, members: Sequence[Item]) -> set[Item]:
    """The items that mean what `item` means by a name: its declaration, and all that read or drive it."""
    declaring = [each for each in members if name in each.names]
    visible = [each for each in declaring if item.within(each.scope)]
    if len(visible) != 1:  # a port of the module, or one name for two things
        raise _CannotError
    scope = visible[0].scope
    if sum(each.within(scope) for each in declaring) > 1:  # another thing in an inner block
        raise _CannotError
    return {each for each in members if each.within(scope) and (name in each.words or name in each.names)}


def _written(text: str, others: Mapping[Item, Mapping[int, str]], taken: Sequence[int], select: Path) -> Combined:
    raw, owners, out, place = text.encode(), dict[int, int](), list[str](), 0
    for item in sorted(others, key=lambda item: item.start):
        out += raw[place : item.start].decode().split("\n")
        place = item.end
        for number, line in _lines(item, others[item]):
            out.append(line)
            if number:
                owners[len(out)] = number
    rest = raw[place:].decode()
    before, found, after = rest.rpartition("endmodule")
    assert found, "no module"
    out += before.split("\n")
    out.append(f"  initial $readmemh({json.dumps(str(select))}, {SELECTED});")
    out.append(found + after)
    # Declared before all else, in a line that has its `;` already: the numbers of lines stay.
    end = next(k for k, line in enumerate(out) if line.rstrip().endswith(");"))
    out[end] += f" logic [31:0] {SELECTED}[1];"
    return Combined("\n".join(out), tuple(taken), owners)


def _lines(item: Item, versions: Mapping[int, str]) -> Iterator[tuple[int, str]]:
    if item.kind in ("named", "instance"):
        yield 0, plain(item.text)
        yield from versions.items()
        return
    head, body = "always_comb", plain(item.text)
    if item.kind == "always":
        raw = item.text.encode()
        head, body = plain(raw[: item.body].decode()), plain(raw[item.body :].decode())
    yield 0, f"{head} case ({SELECTED}[0])"
    for number, text in versions.items():
        yield number, f"32'd{number}: {_statement(text)}"
    yield 0, f"default: {_statement(body)}"
    yield 0, "endcase"


def _statement(text: str) -> str:
    return re.sub(r"^assign\b\s*", "", text)
