"""What [passes.quantize] and [passes.hardware] share: a setting per operator type, node name or pattern."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Generic, Literal, TypeVar, cast

from mase_hw.config.places import Places
from mase_hw.config.table import Table, nearest, shown
from mase_hw.diagnostics import Collector, Place

By = Literal["type", "name", "regex_name"]
Spec = TypeVar("Spec")

BY: tuple[By, ...] = ("type", "name", "regex_name")
_NO_ENTRIES: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True)
class PerNode(Generic[Spec]):
    """Settings for the nodes of a graph. `by` says what the keys of `entries` are."""

    by: By
    default: Spec
    entries: Mapping[str, Spec] = field(default_factory=lambda: _NO_ENTRIES)
    subject: str = ""
    places: Places | None = field(default=None, compare=False, repr=False)

    def key_for(self, name: str, op: str) -> str:
        """The entry that rules the node `name` of operator type `op`: its key, or `default`."""
        if self.by == "regex_name":
            return next((key for key in self.entries if re.fullmatch(key, name)), "default")
        key = op if self.by == "type" else name
        return key if key in self.entries else "default"

    def for_node(self, name: str, op: str) -> Spec:
        return self.entries.get(self.key_for(name, op), self.default)

    def where(self, name: str, op: str, key: str | None = None) -> Place | None:
        """The line of `key`, or of the table, that rules this node, for problems found later."""
        return self.place_of(self.key_for(name, op), key)

    def place_of(self, entry: str, key: str | None = None) -> Place | None:
        if self.places is None:
            return None
        return self.places.of(*self.subject.split("."), entry, "config", *([key] if key else []))

    def subject_for(self, name: str, op: str) -> str:
        """How a message names the table that rules this node: `passes.quantize.linear`."""
        return f"{self.subject}.{self.key_for(name, op)}"

    def check_keys(
        self, names: Collection[str], types: Collection[str], problems: Collector, offered: Collection[str] = ()
    ) -> None:
        """Adds a problem for each entry that can rule nothing: `names` are the graph's nodes, `types` all operators.

        `offered` are the operators that a hint names; without it, all.
        """
        for key in self.entries:
            where = self.place_of(key)
            if self.by == "type" and key not in types:
                text, hint = f"{key} is no operator type", nearest(key, offered or types, "operator types")
            elif self.by == "name" and key not in names:
                text, hint = f"no node is named {key}", nearest(key, names, "nodes")
            elif self.by == "regex_name" and not any(re.fullmatch(key, name) for name in names):
                text, hint = f"no node's name matches {key}", f"nodes: {', '.join(sorted(names))}"
            else:
                continue
            problems.add(f"{self.subject}: {text}", where, hint)


def parse_entries(
    mapping: Mapping[str, Any],
    problems: Collector,
    places: Places | None,
    subject: str,
    parse: Callable[[Table], Spec],
) -> tuple[By, Spec | None, Mapping[str, Spec]]:
    """`by`, the default (None when missing) and the entries, each read by `parse` from its `config` table."""
    table = Table(mapping, tuple(subject.split(".")), problems, places)
    by = cast(By, table.choice("by", "type", BY))
    entries: dict[str, Spec] = {}
    for key in mapping:
        if key == "by":
            continue
        if by == "regex_name" and key != "default":
            _check_pattern(table, key)
        if not isinstance(mapping[key], Mapping):
            example = ".".join((*table.path, "linear" if by == "type" else "seq_blocks_2", "config"))
            text = f"{key} = {shown(mapping[key])} is not a table"
            table.problem(text, key, hint=f"every key but by is an entry, such as [{example}]")
            continue
        entry = Table(mapping[key], (*table.path, key), problems, places)
        config = entry.table("config")
        if config is None:
            if "config" not in entry.values:
                header = ".".join((*entry.path, "config"))
                entry.problem("has no config table", hint=f"put its keys under [{header}]")
            continue
        entry.only(["config"])
        entries[key] = parse(config)
    return by, entries.pop("default", None), MappingProxyType(entries)


def _check_pattern(table: Table, key: str) -> None:
    try:
        re.compile(key)
    except re.error as error:
        table.problem(f"{key} is not a regular expression: {error}", key)
