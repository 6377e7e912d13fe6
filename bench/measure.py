"""What every measurement shares: a row of the result, and how seconds are taken."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

REPEATS = 5


@dataclass(frozen=True)
class Row:
    """One figure. `ratio` is to the row called `against` in the same group; of that row itself it is 1.

    `value` is in `unit`: seconds ("s", smaller is better) or vectors a second ("vectors/s", larger is better).
    """

    group: str
    name: str
    value: float
    unit: str
    against: str
    ratio: float


class Group:
    """Rows that are compared with one of them, the first, which is measured in the same run."""

    def __init__(self, name: str, base: str, value: float, unit: str = "s") -> None:
        self.name, self.base, self.value, self.unit = name, base, value, unit
        self.rows = [Row(name, base, value, unit, base, 1.0)]

    def add(self, name: str, value: float) -> None:
        self.rows.append(Row(self.name, name, value, self.unit, self.base, value / self.value))


@contextmanager
def seconds(into: dict[str, float], name: str) -> Iterator[None]:
    """Wall-clock seconds of a block, added to `into[name]`."""
    started = time.perf_counter()
    yield
    into[name] = into.get(name, 0.0) + time.perf_counter() - started


def best(call: Callable[[], object], repeats: int = REPEATS) -> float:
    """The fastest of several calls: what the machine's other work adds is never negative."""
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return min(taken)


def median(values: list[dict[str, float]]) -> dict[str, float]:
    """Key by key."""
    return {key: statistics.median(value[key] for value in values) for key in values[0]}


def python(*arguments: str, repeats: int = 3) -> float:
    """Seconds of a whole Python process."""

    def call() -> None:
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"python {' '.join(arguments)}:\n{done.stderr[-2000:]}")

    call()  # the first one reads the files from disk and compiles them
    return best(call, repeats)
