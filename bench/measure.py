"""What every measurement shares: a row of the result, and how seconds are taken."""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

REPEATS = 3


@dataclass(frozen=True)
class Row:
    """One figure. `ratio` is to the row called `against` in the same group; of that row itself it is 1.

    `value` is in `unit`: CPU seconds (smaller is better), or vectors or cycles per CPU second (larger is better).
    """

    group: str
    name: str
    value: float
    unit: str
    against: str
    ratio: float


class Group:
    """Rows that are compared with one of them, the first, which is measured in the same run."""

    def __init__(self, name: str, base: str, value: float, unit: str = "CPU s") -> None:
        self.name, self.base, self.value, self.unit = name, base, value, unit
        self.rows = [Row(name, base, value, unit, base, 1.0)]

    def add(self, name: str, value: float) -> None:
        self.rows.append(Row(self.name, name, value, self.unit, self.base, value / self.value))


def cpu() -> float:
    """CPU seconds of this process and of all the children it has waited for: other work on the machine adds little."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@contextmanager
def seconds(into: dict[str, float], name: str) -> Iterator[None]:
    """CPU seconds of a block, as `into[name]`."""
    started = cpu()
    yield
    into[name] = cpu() - started


def best(call: Callable[[], object], repeats: int = REPEATS, loops: int = 1) -> float:
    """CPU seconds of one call, the least of several measurements of `loops` calls each."""
    taken = []
    for _ in range(repeats):
        started = cpu()
        for _ in range(loops):
            call()
        taken.append((cpu() - started) / loops)
    return min(taken)


def median(values: list[dict[str, float]]) -> dict[str, float]:
    """Key by key."""
    return {key: statistics.median(value[key] for value in values) for key in values[0]}


def python(*arguments: str, repeats: int = REPEATS) -> float:
    """CPU seconds of a whole Python process."""

    def call() -> None:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"python {' '.join(arguments)}:\n{done.stderr[-2000:]}")

    call()  # the first one reads the files from disk and compiles them
    return best(call, repeats)
