"""How much processor time and memory a tool may take to read RTL: so much for every megabyte of its text.

A short text can ask for any amount of work: a vector of 2^24 bits, modules that hold a hundred of another. What the
language check counts before is the first line of defence. These limits are the second, and have ample room: they end
what nobody foresaw.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Any

_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Limits:
    """Seconds of a processor, and bytes of addresses."""

    seconds: int
    memory: int

    def __str__(self) -> str:
        return f"{self.seconds:,} s of a processor or {self.memory / _MEGABYTE:,.0f} MB of memory"

    def of_child(self, pid: int) -> None:
        """Sets them for a process that was just started, and all that it starts; where the system can do so."""
        if resource := _resource("prlimit"):
            with contextlib.suppress(ProcessLookupError):  # it has ended
                for kind, value in self._kinds(resource):
                    most = _most(resource, value, resource.prlimit(pid, kind)[1])
                    resource.prlimit(pid, kind, (most, most))

    def of_this(self) -> None:
        """Sets them for this process."""
        if resource := _resource("setrlimit"):
            for kind, value in self._kinds(resource):
                most = _most(resource, value, resource.getrlimit(kind)[1])
                with contextlib.suppress(ValueError):  # not every system has every limit
                    resource.setrlimit(kind, (most, most))

    def _kinds(self, resource: Any) -> list[tuple[int, int]]:
        return [(resource.RLIMIT_CPU, self.seconds), (resource.RLIMIT_AS, self.memory)]


def _most(resource: Any, value: int, there: int) -> int:
    """A limit that is there already is not raised: that is not ours to do."""
    return value if there == resource.RLIM_INFINITY else min(value, there)


def limits_for(texts: Iterable[int], seconds: tuple[float, float], megabytes: tuple[int, int]) -> Limits:
    """Each a number to start with, and one for every megabyte of texts with these sizes."""
    size = sum(texts) / _MEGABYTE
    return Limits(ceil(seconds[0] + seconds[1] * size), ceil((megabytes[0] + megabytes[1] * size) * _MEGABYTE))


def _resource(function: str) -> Any:
    """The module `resource`, where there is one that has the function: Linux has both."""
    with contextlib.suppress(ImportError):
        found = importlib.import_module("resource")
        return found if hasattr(found, function) else None
    return None
