"""Verdicts that are known already, by content: a run that was stopped, or is repeated, does nothing twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

from mase_hw import resources
from mase_hw.mutate.judge import Engine, Verdict
from mase_hw.mutate.mutant import Mutant
from mase_hw.mutate.subject import Subject
from mase_hw.simulate.cache import key, root

FILE = "verdicts.jsonl"


class Store:
    """A line for each verdict, written as soon as it is known. Half a line, from a run that was killed, is ignored.

    The file is not in the build: what a build from elsewhere says of its mutants is not believed.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._known: dict[str, dict[str, Any]] = {}
        self._torn = False  # whether the file ends within a line
        if self._path.exists():
            text = self._path.read_text("utf-8", errors="replace")
            self._torn = bool(text) and not text.endswith("\n")
            for line in text.splitlines():
                try:
                    entry = json.loads(line)
                    self._known[entry["key"]] = entry["value"]
                except (ValueError, LookupError, TypeError):
                    continue

    def get(self, name: str) -> dict[str, Any] | None:
        return self._known.get(name)

    def verdict(self, name: str) -> Verdict | None:
        try:
            return Verdict(**self._known[name])
        except (LookupError, TypeError):  # not there, or of another version
            return None

    def put(self, name: str, value: Mapping[str, Any] | Verdict) -> None:
        plain = asdict(value) if isinstance(value, Verdict) else dict(value)
        self._known[name] = plain
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with self._path.open("a", encoding="utf-8") as file:
            file.write("\n" * self._torn + json.dumps({"key": name, "value": plain}) + "\n")
        self._torn = False


def kept_verdicts(build: Path, cache: Path | None = None) -> Path:
    """The folder, in the user's cache, that the verdicts on a build's mutants are kept in."""
    return root(cache) / "mutate" / key([str(build.resolve())])


def subject_key(subject: Subject, engine: Engine) -> str:
    """Everything that an unmutated subject's result depends on: its files, and the code that judges."""
    parts = [_code(), engine, subject.component, repr(subject.part), *subject.texts, *subject.texts.values()]
    return key(parts)


def mutant_key(mutant: Mutant, engine: Engine, sounds: list[str]) -> str:
    return key([engine, *sounds, mutant.kind, mutant.file, mutant.text, mutant.component, mutant.command])


@cache
def _code() -> str:
    """The hash of this package and of what runs in the simulator."""
    own = sorted(Path(resources.__file__).parent.rglob("*.py"))
    return key([path.read_bytes() for path in (*own, *sorted(resources.sim().glob("*.*")))])
