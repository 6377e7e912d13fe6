"""What `emit` takes as a net grows, and beside da4ml: each measurement in a process of its own, the imports left out.

Run as a command it is that process: `python bench/growing.py JOB FOLDER` prints one line of JSON.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from nets import Net, random_net

FOLDED = (32, 100, 316, 1000)  # inputs and outputs of one layer: 1k, 10k, 100k, 1M weights
DEEP = (1, 10, 30)  # layers of 32 x 32: 1k, 10k, 30k weights
WIDE = (32, 64, 100, 173)  # inputs and outputs of one unrolled layer: 1k, 4k, 10k, 30k weights
SIDE = 32
LARGE = (16, 64, 32, 32, 5)

_UNROLLED = '[passes.hardware]\nby = "type"\n[passes.hardware.linear.config]\nimplementation = "unrolled"\n'
_FOLDED = _UNROLLED.replace("unrolled", "folded") + "array_in = 8\narray_out = 8\n"


@dataclass(frozen=True)
class Taken:
    """One run: seconds on the clock and of CPU, from the TOML to the last file, and the process's peak memory."""

    weights: int
    seconds: float
    cpu: float
    megabytes: float


def measure(job: str, repeats: int = 1) -> Taken:
    """The quickest of several runs of a job: `emit`, `da4ml`, or folded:N, deep:N, wide:N as above."""
    return min((_run(job) for _ in range(repeats)), key=lambda taken: taken.seconds)


def _run(job: str) -> Taken:
    with tempfile.TemporaryDirectory(prefix="mase-hw-bench-") as folder:
        command = [sys.executable, __file__, job, folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}:\n{done.stderr[-2000:]}")
    return Taken(**json.loads(done.stdout.splitlines()[-1]))


def _net(job: str) -> tuple[Net, str]:
    kind, _, size = job.partition(":")
    count = int(size or 0)
    if kind == "deep":
        return random_net((SIDE,) * (count + 1), 8, 4), _UNROLLED
    if kind in ("folded", "wide"):
        return random_net((count, count), 8, 4), _FOLDED if kind == "folded" else _UNROLLED
    return random_net(LARGE, 8, 4), "[hardware]\ntarget_interval = 1\n"


def _work(job: str, folder: Path) -> Callable[[], object]:
    """What is timed; everything that it needs has been imported."""
    net, hardware = _net(job)
    if job == "da4ml":
        import da4ml.codegen
        import da4ml.trace.pipeline
        from peers import Pipelining, da4ml

        return lambda: da4ml(net, folder / "peer", Pipelining(7, 9))
    from mase_hw import flow
    from mase_hw.config_file import load_config

    path = net.write(folder, hardware)
    return lambda: flow.emit(load_config(path), folder / "build")


def _child(job: str, folder: Path) -> None:
    call = _work(job, folder)
    started, cpu = time.perf_counter(), time.process_time()
    call()
    taken = {"seconds": time.perf_counter() - started, "cpu": time.process_time() - cpu}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    weights = sum(weight.size for weight, _ in _net(job)[0].layers)
    print(json.dumps({"weights": weights, "megabytes": peak, **taken}))


if __name__ == "__main__":
    _child(sys.argv[1], Path(sys.argv[2]))
