"""The cocotb test of an AXI4-Stream top: cocotbext-axi's source and sink, one run per stall pattern."""

from __future__ import annotations

import itertools
import json
import logging
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ClockCycles
from cocotbext.axi import AxiStreamBus, AxiStreamFrame, AxiStreamSink, AxiStreamSource

from sim.axis_bytes import scribbled
from sim.axis_job import Side, load
from sim.axis_judge import Frame, Given, Taken, complaint
from sim.beats import Integers

GAPS = ("gaps", "both")
PRESSURE = ("pressure", "both")
PERIOD = 2  # time steps
LOOK = 64  # cycles between two looks at the sink
WRONG = 48  # samples that are sent with TLAST in wrong places

FOLDER = Path.cwd()
JOB = load(FOLDER)
RESULTS: list[dict[str, Any]] = []
WRONG_LASTS: list[int] = []


@cocotb.test()
@cocotb.parametrize(pattern=JOB.patterns)
async def frames(dut: Any, pattern: str) -> None:
    """Every sample comes out whole, with the expected integers, TLAST in its place and the errors counted."""
    started = time.perf_counter()
    rng = np.random.default_rng([JOB.seed, JOB.patterns.index(pattern)])
    Clock(dut.aclk, PERIOD, "step").start()
    ends = _ends(dut)
    for end in ends.all:
        end.log.setLevel(logging.ERROR)  # or each frame is logged with all its bytes
    dut.fresh.value = 1
    await ClockCycles(dut.aclk, 2)
    dut.fresh.value = 0
    few = min(WRONG, JOB.samples)
    wrong, sent_wrong = await _run(dut, ends, rng, pattern, few, flip=True)
    fault, _ = complaint(JOB, wrong, few, sent_wrong)
    taken, _ = await _run(dut, ends, rng, pattern, JOB.samples, flip=False)
    message, outputs = complaint(JOB, taken, JOB.samples, 0)
    if pattern == "none" and not message:
        message = _check_cycles(taken, outputs)
    message = message or (fault and f"with wrong TLASTs: {fault}")
    RESULTS.append(_result(pattern, taken, outputs, message, time.perf_counter() - started))
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


@dataclass(frozen=True)
class Ends:
    """A source for each input, a sink for each output."""

    sources: list[Any]
    sinks: list[Any]

    @property
    def all(self) -> list[Any]:
        return [*self.sources, *self.sinks]


def _ends(dut: Any) -> Ends:
    def end(kind: Any, side: Side) -> Any:
        return kind(AxiStreamBus.from_prefix(dut, side.name), dut.aclk, dut.aresetn, reset_active_level=False)

    return Ends([end(AxiStreamSource, x) for x in JOB.inputs], [end(AxiStreamSink, y) for y in JOB.outputs])


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
    dut: Any, ends: Ends, rng: np.random.Generator, pattern: str, samples: int, *, flip: bool
) -> tuple[Taken, int]:
    """A reset within traffic, then so many samples; `flip` puts TLASTs into wrong places.

    Also gives the number of beats with a wrong TLAST.
    """
    await _reset_within_traffic(dut, ends, rng, pattern)
    starts: list[Any] = []
    beats_in, wrong = [], 0
    for source, x in zip(ends.sources, JOB.inputs, strict=True):
        raw = scribbled(x.values[:samples], x.width, rng).reshape(samples * x.beats, -1)
        right = np.arange(1, len(raw) + 1) % x.beats == 0
        sent = right ^ _flips(rng, samples, x.beats) if flip else right
        _send(source, raw, sent, starts)
        beats_in.append(len(raw))
        wrong += int(np.count_nonzero(sent != right))
    hang = await _until_done(dut, ends, samples)
    await ClockCycles(dut.aclk, JOB.drain)
    origin = min((start.sim_time_start + PERIOD for start in starts), default=0)
    outputs = []
    for sink in ends.sinks:
        received = [sink.recv_nowait() for _ in range(sink.count())]
        frames = [Frame(bytes(f.tdata), int(f.sim_time_end - origin) // PERIOD) for f in received]
        outputs.append(Given(frames, rest=bool(sink.active)))
    taken = Taken(
        outputs=outputs,
        beats_in=beats_in,
        error=bool(dut.tlast_error.value),
        error_count=int(dut.tlast_error_count.value),
        broken=bool(dut.broken.value),
        hang=hang,
    )
    return taken, wrong


def _flips(rng: np.random.Generator, samples: int, beats: int) -> Any:
    """At random, but for the last samples: the flag must stay high although the end is right again."""
    total = samples * beats
    return (rng.random(total) < 0.3) & (np.arange(total) < total - beats * max(1, min(4, samples - 1)))


def _send(source: Any, raw: Any, lasts: Any, starts: list[Any]) -> None:
    """The beats, TLAST on those that `lasts` says; `starts` gets the first frame when it has been sent."""
    begin = 0
    for end in np.flatnonzero(lasts) + 1:  # what lies between two TLASTs is a frame to the source
        done = starts.append if begin == 0 else None
        source.send_nowait(AxiStreamFrame(raw[begin:end].tobytes(), tx_complete=done))
        begin = int(end)
    assert begin == len(raw)


async def _until_done(dut: Any, ends: Ends, samples: int) -> str | None:
    """Waits for the last sample; where nothing comes for too long, says who waits for whom."""
    idle, before = 0, [-1]
    while min(counts := [sink.count() for sink in ends.sinks]) < samples:
        if idle > JOB.watchdog and not any(end.pause for end in ends.all):
            names = [f"{side.name}_t{wire}" for side in (*JOB.inputs, *JOB.outputs) for wire in ("valid", "ready")]
            pins = [f"{name} {int(getattr(dut, name).value)}" for name in names]
            came = " and ".join(str(count) for count in counts)
            return f"hang: {came} of {samples} vectors came; {', '.join(pins)}"
        await ClockCycles(dut.aclk, LOOK)
        idle = idle + LOOK if counts == before else 0
        before = counts
    return None


async def _reset_within_traffic(dut: Any, ends: Ends, rng: np.random.Generator, pattern: str) -> None:
    """One cycle of reset in a design that is full and blocked, then in one at work: nothing may be left over.

    What is sent has its TLASTs in wrong places, so that there are errors to forget as well.
    """
    dut.aresetn.value = 0
    await ClockCycles(dut.aclk, 4)
    for blocked in (True, False, False):
        dut.aresetn.value = 1
        for source in ends.sources:
            _stall(source, _pauses(rng) if pattern in GAPS else None)
        for sink in ends.sinks:
            _stall(sink, itertools.repeat(True) if blocked else _pauses(rng) if pattern in PRESSURE else None)
        await ClockCycles(dut.aclk, 2)
        for source in ends.sources:
            junk = rng.integers(0, 256, (JOB.fill, len(source.bus.tdata) // 8), dtype=np.uint8)
            source.send_nowait(AxiStreamFrame(junk.tobytes()))
        await ClockCycles(dut.aclk, JOB.fill if blocked else int(rng.integers(JOB.fill // 2, JOB.fill)))
        dut.aresetn.value = 0
        await ClockCycles(dut.aclk, 1)
        for end in ends.all:
            end.clear()
    dut.aresetn.value = 1
    for sink in ends.sinks:
        _stall(sink, _pauses(rng) if pattern in PRESSURE else None)
    await ClockCycles(dut.aclk, 2)
    for end in ends.all:
        end.clear()


def _check_cycles(taken: Taken, outputs: list[dict[str, Any]]) -> str | None:
    """The last beat of every sample comes in its predicted cycle: the wrapper adds none."""
    for y, given, entry in zip(JOB.outputs, taken.outputs, outputs, strict=True):
        cycles: Integers = np.array([frame.cycle for frame in given.frames], np.int64)
        entry["cycles_checked"] = True
        assert y.last_cycles is not None
        differs = np.flatnonzero(cycles != y.last_cycles)
        if len(differs):
            sample = int(differs[0])
            predicted, observed = int(y.last_cycles[sample]), int(cycles[sample])
            beat = (sample + 1) * y.beats - 1
            entry["cycle_difference"] = {"beat": beat, "predicted": predicted, "observed": observed}
            entry["complaint"] = f"{y.name}: beat {beat} is predicted at cycle {predicted} and came at cycle {observed}"
    return next((entry["complaint"] for entry in outputs if entry["complaint"]), None)


def _result(
    pattern: str, taken: Taken, outputs: list[dict[str, Any]], message: str | None, seconds: float
) -> dict[str, Any]:
    end = max((given.frames[-1].cycle for given in taken.outputs if given.frames), default=0)
    return {
        "pattern": pattern,
        "passed": not message,
        "message": message,
        "vectors": JOB.samples,
        "hang": taken.hang,
        "end_cycle": end,
        "cycles": end,
        "latency": None,
        "interval": None,
        "seconds": round(seconds, 3),
        "streams": [*map(_input, JOB.inputs, taken.beats_in), *outputs],
    }


def _input(x: Side, beats: int) -> dict[str, Any]:
    return {
        "name": x.name,
        "label": "input",
        "role": "input",
        "beats": beats,
        "beats_expected": JOB.samples * x.beats,
        "compared": 0,
        "equal": 0,
        "mismatch": None,
        "broken_cycle": None,
        "cycles_checked": False,
        "cycle_difference": None,
        "complaint": None,
    }
