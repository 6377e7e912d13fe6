"""The cocotb test of an AXI4-Stream top: cocotbext-axi's source and sink, one run per stall pattern."""

from __future__ import annotations

import itertools
import json
import logging
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from sim.axis_bytes import scribbled
from sim.axis_job import load
from sim.axis_judge import Frame, Taken, complaint
from sim.beats import Integers

GAPS = ("gaps", "both")
PRESSURE = ("pressure", "both")
PERIOD = 2  # time steps
LOOK = 64  # cycles between two looks at the sink
WRONG = 48  # vectors that are sent with TLAST in wrong places

FOLDER = Path.cwd()
JOB = load(FOLDER)
RESULTS: list[dict[str, Any]] = []
WRONG_LASTS: list[int] = []


@cocotb.test()
@cocotb.parametrize(pattern=JOB.patterns)
async def frames(dut: Any, pattern: str) -> None:
    """Every vector comes out whole, with the expected integers, TLAST in its place and the errors counted."""
    started = time.perf_counter()
    rng = np.random.default_rng([JOB.seed, JOB.patterns.index(pattern)])
    Clock(dut.aclk, PERIOD, "step").start()
    ends = _ends(dut)
    for end in ends:
        end.log.setLevel(logging.ERROR)  # or each frame is logged with all its bytes
    dut.fresh.value = 1
    await ClockCycles(dut.aclk, 2)
    dut.fresh.value = 0
    few = min(WRONG, JOB.vectors)
    beats = few * JOB.x.beats
    right = np.arange(1, beats + 1) % JOB.x.beats == 0
    # Flipped at random, but for the last vectors: the flag must stay high although the end is right again.
    flips = (rng.random(beats) < 0.3) & (np.arange(beats) < beats - JOB.x.beats * max(1, min(4, few - 1)))
    wrong, sent_wrong = await _run(dut, ends, rng, pattern, few, right ^ flips)
    fault, _ = complaint(JOB, wrong, JOB.y.values[:few], sent_wrong)
    taken, _ = await _run(dut, ends, rng, pattern, JOB.vectors, None)
    message, output = complaint(JOB, taken, JOB.y.values, 0)
    if pattern == "none" and not message:
        message = _check_cycles(taken, output)
    output["complaint"] = message
    message = message or (fault and f"with wrong TLASTs: {fault}")
    RESULTS.append(_result(pattern, taken, output, message, time.perf_counter() - started))
    WRONG_LASTS.append(sent_wrong)
    document = {
        "schema": 1,
        "torch_imported": "torch" in sys.modules,
        "wrong_lasts": sum(WRONG_LASTS),
        "patterns": RESULTS,
    }
    (FOLDER / "results.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
    if message:
        raise AssertionError(f"{pattern}: {message}")


def _ends(dut: Any) -> tuple[Any, Any]:
    return (
        AxiStreamSource(AxiStreamBus.from_prefix(dut, "s_axis"), dut.aclk, dut.aresetn, reset_active_level=False),
        AxiStreamSink(AxiStreamBus.from_prefix(dut, "m_axis"), dut.aclk, dut.aresetn, reset_active_level=False),
    )


def _stall(end: Any, pauses: Iterator[bool] | None) -> None:
    end.set_pause_generator(pauses)
    if pauses is None:
        end.pause = False  # it keeps what the generator before said last


def _pauses(rng: np.random.Generator) -> Iterator[bool]:
    """Runs of a few cycles, now and then of many: there are long pauses and long bursts."""
    own = np.random.default_rng(rng.integers(2**32))

    def generate() -> Iterator[bool]:
        for paused in itertools.cycle((True, False)):
            yield from [paused] * int(own.integers(1, 5) if own.random() < 0.8 else own.integers(5, 40))

    return generate()


async def _run(
    dut: Any, ends: tuple[Any, Any], rng: np.random.Generator, pattern: str, vectors: int, lasts: Any
) -> tuple[Taken, int]:
    """A reset within traffic, then `vectors` vectors; `lasts` says for every beat whether it has TLAST.

    None puts TLAST where it belongs. Also gives the number of beats with a wrong TLAST.
    """
    source, sink = ends
    await _reset_within_traffic(dut, ends, rng, pattern)
    raw = scribbled(JOB.x.values[:vectors], JOB.x.width, rng).reshape(vectors * JOB.x.beats, -1)
    right = np.arange(1, len(raw) + 1) % JOB.x.beats == 0
    sent = right if lasts is None else lasts
    starts: list[Any] = []
    begin = 0
    for end in np.flatnonzero(sent) + 1:  # what lies between two TLASTs is a frame to the source
        source.send_nowait(AxiStreamFrame(raw[begin:end].tobytes(), tx_complete=None if starts else starts.append))
        begin = int(end)
    assert begin == len(raw)
    hang = await _until_done(dut, ends, vectors)
    await ClockCycles(dut.aclk, JOB.drain)
    origin = starts[0].sim_time_start + PERIOD if starts else 0
    received = [sink.recv_nowait() for _ in range(sink.count())]
    taken = Taken(
        frames=[Frame(bytes(f.tdata), int(f.sim_time_end - origin) // PERIOD) for f in received],
        rest=bool(sink.active),
        beats_in=len(raw),
        error=bool(dut.tlast_error.value),
        error_count=int(dut.tlast_error_count.value),
        broken=bool(dut.broken.value),
        hang=hang,
    )
    return taken, int(np.count_nonzero(sent != right))


async def _until_done(dut: Any, ends: tuple[Any, Any], vectors: int) -> str | None:
    """Waits for the last vector; where nothing comes for too long, says who waits for whom."""
    source, sink = ends
    idle, before = 0, -1
    while sink.count() < vectors:
        if idle > JOB.watchdog and not source.pause and not sink.pause:
            pins = [f"{name} {int(getattr(dut, name).value)}" for name in ("s_axis_tvalid", "s_axis_tready")]
            pins += [f"{name} {int(getattr(dut, name).value)}" for name in ("m_axis_tvalid", "m_axis_tready")]
            return f"hang: {sink.count()} of {vectors} vectors came; {', '.join(pins)}"
        await ClockCycles(dut.aclk, LOOK)
        idle = idle + LOOK if sink.count() == before else 0
        before = sink.count()
    return None


async def _reset_within_traffic(dut: Any, ends: tuple[Any, Any], rng: np.random.Generator, pattern: str) -> None:
    """One cycle of reset in a design that is full and blocked, then in one at work: nothing may be left over.

    What is sent has its TLASTs in wrong places, so that there are errors to forget as well.
    """
    source, sink = ends
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 4)
    for blocked in (True, False, False):
        dut.aresetn.value = 1
        _stall(source, _pauses(rng) if pattern in GAPS else None)
        _stall(sink, itertools.repeat(True) if blocked else _pauses(rng) if pattern in PRESSURE else None)
        await ClockCycles(dut.aclk, 2)
        junk = rng.integers(0, 256, (JOB.fill, len(source.bus.tdata) // 8), dtype=np.uint8)
        source.send_nowait(AxiStreamFrame(junk.tobytes()))
        await ClockCycles(dut.aclk, JOB.fill if blocked else int(rng.integers(JOB.fill // 2, JOB.fill)))
        dut.aresetn.value = 0
        await ClockCycles(dut.aclk, 1)
        for end in ends:
            end.clear()
    dut.aresetn.value = 1
    _stall(sink, _pauses(rng) if pattern in PRESSURE else None)
    await ClockCycles(dut.aclk, 2)
    for end in ends:
        end.clear()


def _check_cycles(taken: Taken, output: dict[str, Any]) -> str | None:
    """The last beat of every vector comes in its predicted cycle: the wrapper adds none."""
    cycles: Integers = np.array([frame.cycle for frame in taken.frames], np.int64)
    output["cycles_checked"] = True
    differs = np.flatnonzero(cycles != JOB.last_cycles)
    if not len(differs):
        return None
    vector = int(differs[0])
    predicted, observed = int(JOB.last_cycles[vector]), int(cycles[vector])
    beat = (vector + 1) * JOB.y.beats - 1
    output["cycle_difference"] = {"beat": beat, "predicted": predicted, "observed": observed}
    return f"{JOB.y.name}: beat {beat} is predicted at cycle {predicted} and came at cycle {observed}"


def _result(pattern: str, taken: Taken, output: dict[str, Any], message: str | None, seconds: float) -> dict[str, Any]:
    x = JOB.x
    end = taken.frames[-1].cycle if taken.frames else 0
    return {
        "pattern": pattern,
        "passed": not message,
        "message": message,
        "vectors": JOB.vectors,
        "hang": taken.hang,
        "end_cycle": end,
        "cycles": end,
        "latency": None,
        "interval": None,
        "seconds": round(seconds, 3),
        "streams": [
            {
                **output,
                "name": x.name,
                "label": "input",
                "role": "input",
                "beats": taken.beats_in,
                "beats_expected": JOB.vectors * x.beats,
                "compared": 0,
                "equal": 0,
                "mismatch": None,
                "cycles_checked": False,
                "cycle_difference": None,
                "complaint": None,
            },
            output,
        ],
    }
