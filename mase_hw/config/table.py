"""One table of a configuration, read key by key: every wrong key or value becomes a Problem."""

from __future__ import annotations

import difflib
import json
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from mase_hw.config.places import Keys, Places
from mase_hw.diagnostics import Collector, Place

_COMPARED = 500  # words, the most that one is compared with


def shown(value: object) -> str:
    """A value as a TOML would write it."""
    if value is None:
        return "null"
    if isinstance(value, bool | str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, Mapping):
        return "{...}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return str(value)


def nearest(word: str, known: Iterable[str], what: str = "known") -> str:
    """A hint: the known word most like `word`, or all of them."""
    words = sorted(known)[:_COMPARED]
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    return textwrap.fill(f"{what}: {', '.join(words)}", 100, break_long_words=False, break_on_hyphens=False)


class Table:
    """A mapping with its key path. A getter returns the default where the key is missing or wrong."""

    def __init__(self, values: Mapping[str, Any], path: Keys, problems: Collector, places: Places | None) -> None:
        self.values = values
        self.path = path
        self.problems = problems
        self.places = places

    @property
    def subject(self) -> str:
        """The key path for messages; `config` says nothing that the path before it does not."""
        return ".".join(self.path[:-1] if self.path and self.path[-1] == "config" else self.path)

    def where(self, *keys: str) -> Place | None:
        return self.places.of(*self.path, *keys) if self.places else None

    def problem(self, text: str, *keys: str, hint: str | None = None) -> None:
        self.problems.add(f"{self.subject}: {text}" if self.subject else text, self.where(*keys), hint)

    def only(self, known: Iterable[str]) -> None:
        """Every key that is not one of `known` is a problem."""
        names = list(known)
        for key in self.values:
            if key not in names:
                self.problem(f"unknown key {key}", key, hint=nearest(key, names, "known keys"))

    def integer(self, key: str, default: int | None, lo: int | None = None, hi: int | None = None) -> int | None:
        if key not in self.values:
            return default
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int):
            self.problem(f"{key} = {shown(value)} is not an integer", key)
            return default
        if (lo is not None and value < lo) or (hi is not None and value > hi):
            span = f"{lo} to {hi}" if hi is not None else f"{lo} or more"
            self.problem(f"{key} = {value} is out of range", key, hint=f"allowed: {span}")
            return default
        return value

    def number(self, key: str, default: float | None) -> float | None:
        if key not in self.values:
            return default
        value = self.values[key]
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problem(f"{key} = {shown(value)} is not a number", key)
            return default
        return value

    def boolean(self, key: str, default: bool) -> bool:
        value = self.values.get(key, default)
        if not isinstance(value, bool):
            self.problem(f"{key} = {shown(value)} is not true or false", key)
            return default
        return value

    def string(self, key: str, default: str | None) -> str | None:
        if key not in self.values:
            return default
        value = self.values[key]
        if not isinstance(value, str):
            self.problem(f"{key} = {shown(value)} is not a string", key)
            return default
        return value

    def choice(self, key: str, default: str, allowed: Iterable[str]) -> str:
        value = self.values.get(key, default)
        names = list(allowed)
        if not isinstance(value, str):
            self.problem(f"{key} = {shown(value)} is not a string", key, hint=f"allowed: {', '.join(names)}")
            return default
        if value not in names:
            self.problem(f"{key} = {shown(value)} is unknown", key, hint=nearest(value, names, "allowed"))
            return default
        return value

    def table(self, key: str) -> Table | None:
        """The table under `key`; None when it is missing, a problem when it is something else."""
        if key not in self.values:
            return None
        value = self.values[key]
        if not isinstance(value, Mapping):
            self.problem(f"{key} = {shown(value)} is not a table", key)
            return None
        return Table(value, (*self.path, key), self.problems, self.places)
