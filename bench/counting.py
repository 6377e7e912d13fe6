"""Cells of a design by Yosys, several designs at a time, kept in the user's cache folder by the content of the RTL."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

from mase_hw.cost.cost import Cost
from mase_hw.diagnostics import ProblemsError
from mase_hw.simulate import cache
from mase_hw.synth import synthesize
from mase_hw.synth.targets import script

TARGET = "xcup"
STARTED = time.monotonic()


@dataclass(frozen=True)
class Counted:
    """What Yosys found; `seconds` is what it took when it was run. Without `cost`, `why` says what came instead."""

    cost: Cost | None
    seconds: float = 0.0
    why: str = ""


class StoppedError(Exception):
    """The bench is ending: Yosys has been ended too."""


class Counter:
    """Runs Yosys in the background, `jobs` at a time; the same RTL once."""

    def __init__(self, jobs: int, timeout: float | None) -> None:
        self._pool = ThreadPoolExecutor(jobs)
        self._timeout = timeout
        self._running: dict[str, Future[Counted]] = {}
        self._stopped = threading.Event()

    def submit(self, what: str, files: Sequence[Path], top: str) -> Future[Counted]:
        names = [file.name for file in files]
        contents = [part for file in files for part in (file.name, file.read_bytes())]
        key = cache.key(["bench, sites", version("pyosys"), script(names, top, TARGET, dsp=False), *contents])
        if key not in self._running:
            self._running[key] = self._pool.submit(self._count, what, list(files), top, key)
        return self._running[key]

    def close(self) -> None:
        """Ends what still runs."""
        self._stopped.set()
        self._pool.shutdown(cancel_futures=True)

    def _count(self, what: str, files: list[Path], top: str, key: str) -> Counted:
        def make(folder: Path) -> None:
            say(f"Yosys: {what}")
            done = synthesize(files, top, TARGET, timeout=self._timeout, progress=self._go_on)
            result = {"cost": asdict(done.total), "seconds": done.seconds}
            (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")
            say(f"Yosys: {what}: {done.total.sites} sites, {done.total.lut} LUTs, {done.seconds:.0f} s")

        try:
            place = cache.entry(cache.root() / "bench", key, make)
        except ProblemsError as error:
            say(f"Yosys: {what}: {error.problems[0].message}")
            return Counted(None, why=error.problems[0].message)
        result = json.loads((place / "result.json").read_text("utf-8"))
        return Counted(Cost(**result["cost"]), result["seconds"])

    def _go_on(self, text: str) -> None:
        if self._stopped.is_set():  # synthesize() ends its processes when this raises
            raise StoppedError


def say(text: str) -> None:
    """Progress, with the seconds since the start."""
    print(f"[{time.monotonic() - STARTED:6.0f} s] {text}", file=sys.stderr, flush=True)
