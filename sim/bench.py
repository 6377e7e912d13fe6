"""The cocotb test: one run per stall pattern, all in one simulator process, with a reset between."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import FallingEdge, RisingEdge
from cocotb.utils import get_sim_time

from sim.beats import to_stimulus
from sim.job import load
from sim.judge import Seen, judge

GAPS = ("gaps", "both")
PRESSURE = ("pressure", "both")
RESET_CYCLES = 4

FOLDER = Path.cwd()
JOB = load(FOLDER)
RESULTS: list[dict[str, Any]] = []


@cocotb.test()
@cocotb.parametrize(pattern=JOB.patterns)
async def streams(dut: Any, pattern: str) -> None:
    """Every stream carries the expected integers, in order, under this stall pattern."""
    started = time.perf_counter()
    run = JOB.patterns.index(pattern)
    if run == 0:
        _write_stimulus()
    # Everything is set while the clock is low and reset is high, so that no rising edge sees half of it.
    await FallingEdge(dut.clk)
    dut.rst.value = 1
    dut.gaps.value = pattern in GAPS
    dut.pressure.value = pattern in PRESSURE
    dut.seed.value = int(np.random.default_rng([JOB.seed, run]).integers(2**32))
    dut.run.value = run
    dut.watchdog.value = JOB.watchdog
    dut.drain.value = JOB.drain
    for stream in JOB.streams:
        _pin(dut, f"{stream.id}_expected").value = stream.beats
    await _cycles(dut, RESET_CYCLES)
    await _reset_within_traffic(dut, run, pattern in GAPS)
    dut.rst.value = 0
    first_edge = int(get_sim_time("step")) + 1  # the clock changes with every time step
    await RisingEdge(dut.done)
    await FallingEdge(dut.clk)
    end, hung = int(dut.cycle.value), bool(dut.hung.value)
    pins = [_read(dut, s.id) for s in JOB.streams]
    dut.rst.value = 1  # the probes close their files
    await _cycles(dut, 2)
    records = [FOLDER / f"{run}.{s.id}.bin" for s in JOB.streams]
    seen = [replace(p, record=r.read_bytes()) for p, r in zip(pins, records, strict=True)]
    result = judge(JOB, pattern, seen, hung, end)
    result["start_time"] = first_edge
    result["seconds"] = round(time.perf_counter() - started, 3)
    RESULTS.append(result)
    _write_results()
    if result["message"]:
        raise AssertionError(f"{pattern}: {result['message']}")
    for record in records:
        record.unlink()


async def _reset_within_traffic(dut: Any, run: int, blocked_first: bool) -> None:
    """One cycle of reset in a design that is full and blocked, and in one at work: nothing may be left over.

    What the last of the two leaves over is seen in the run that follows, so each is the last in half of the patterns.
    The sources rewind and the probes start anew, so the run that counts begins as if nothing had been before.
    """
    some = int(np.random.default_rng([JOB.seed, run, 1]).integers(1, JOB.fill + 1))
    both = ((1, JOB.fill), (0, some))
    for hold, cycles in both if blocked_first else both[::-1]:
        dut.hold.value = hold
        dut.rst.value = 0
        await _cycles(dut, cycles)
        dut.rst.value = 1
        await _cycles(dut, 1)
    dut.hold.value = 0


def _read(dut: Any, stream: str) -> Seen:
    """A stream's counters and pins, as they are now; the record follows when its file is closed."""
    return Seen(
        beats=int(_pin(dut, f"{stream}_seen").value),
        valid=bool(_pin(dut, f"{stream}_valid").value),
        ready=bool(_pin(dut, f"{stream}_ready").value),
        broken_cycle=int(_pin(dut, f"{stream}_broken_cycle").value) if _pin(dut, f"{stream}_broken").value else None,
        record=b"",
    )


def _write_stimulus() -> None:
    for stream in JOB.streams:
        if stream.role == "input":
            beats = stream.values.reshape(-1, stream.lanes)
            (FOLDER / f"{stream.id}.stimulus.bin").write_bytes(to_stimulus(beats, stream.width))


def _write_results() -> None:
    """Rewritten after every pattern: a crash later leaves what was found before it."""
    document = {"schema": 1, "torch_imported": "torch" in sys.modules, "patterns": RESULTS}
    (FOLDER / "results.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def _pin(dut: Any, name: str) -> Any:
    return getattr(dut, name)


async def _cycles(dut: Any, count: int) -> None:
    for _ in range(count):
        await FallingEdge(dut.clk)
