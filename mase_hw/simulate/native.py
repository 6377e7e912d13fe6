"""The native engine: millions of vectors through the compiled design, compared with the integer reference in blocks."""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

import numpy as np

from mase_hw.ir import Design, Stream
from mase_hw.simulate.bench import clear
from mase_hw.simulate.job import Pattern, StreamSpec
from mase_hw.simulate.native_build import build_library
from mase_hw.simulate.native_library import Library, PortSettings, Settings
from mase_hw.simulate.native_pattern import PatternRun
from mase_hw.simulate.native_stimulus import Blocks
from mase_hw.simulate.outcome import Outcome

BLOCK = 16_384  # vectors: some megabytes for the reference, a few tenths of a second between looks at Ctrl-C
ALL_PATTERNS = ("none", "gaps", "pressure", "both")  # a pattern's place in it is part of its seed
Advance = Callable[[int, int], None]  # vectors done, of how many, over all patterns


def simulate_native(
    design: Design,
    files: tuple[Path, ...],
    blocks: Blocks,
    patterns: tuple[Pattern, ...],
    seed: int,
    work: Path,
    cache: Path | None = None,
    advance: Advance = lambda _done, _all: None,
) -> Outcome:
    """Every vector under every pattern. Ctrl-C ends it with what it has.

    All patterns run side by side on the same block, so that the reference is computed once. The first block in which
    something is wrong is the last.
    """
    clear(work)
    started = time.perf_counter()
    library = Library(build_library(files, design.name, cache).library)
    built = time.perf_counter()
    stopped = False
    with ExitStack() as stack:
        runs = [PatternRun(p, design, library, settings(design, blocks, p, seed)) for p in patterns]
        for run in runs:
            stack.callback(run.close)
        try:
            _feed(design, blocks, runs, advance)
        except KeyboardInterrupt:
            stopped = True
        results = tuple(run.result() for run in runs)
    failures = [f"{result.pattern}: {result.message}" for result in results if result.message]
    if not failures and not stopped and not all(result.passed for result in results):
        failures.append("a pattern ended before its last vector")
    outcome = Outcome(
        passed=not failures and not stopped,
        failures=tuple(failures),
        patterns=results,
        torch_imported=False,
        log=work / "results.json",
        waves=None,
        build_seconds=built - started,
        run_seconds=time.perf_counter() - built,
        stopped=stopped,
    )
    _write(outcome, work / "results.json")
    return outcome


def _feed(design: Design, blocks: Blocks, runs: list[PatternRun], advance: Advance) -> None:
    waiting = [np.empty((0, y.lanes), np.int64) for y in design.outputs]  # expected, and not yet given by all patterns
    bases = [0] * len(waiting)  # the numbers of the first of them
    done = 0
    for block in blocks(block_size(design)):
        results = design.results(*block)
        for k, y in enumerate(design.outputs):
            waiting[k] = np.concatenate([waiting[k], results[k].reshape(-1, y.lanes)])
        beats = [rows.reshape(-1, x.lanes) for x, rows in zip(design.inputs, block, strict=True)]
        for run in runs:
            run.feed(beats, waiting, bases)
            done += len(block[0]) // design.inputs[0].positions
            advance(done, len(runs) * blocks.vectors)
        if any(run.over for run in runs):
            return
        for k in range(len(waiting)):
            least = min(run.outputs[k].beats for run in runs)
            waiting[k], bases[k] = waiting[k][least - bases[k] :], least


def block_size(design: Design) -> int:
    """Samples at a time: so many that they are BLOCK vectors."""
    return max(1, BLOCK // max(stream.positions for stream in design.streams))


def settings(design: Design, blocks: Blocks, pattern: Pattern, seed: int) -> Settings:
    """The cocotb engine's seeds, so that both stall in the same cycles."""
    number = ALL_PATTERNS.index(pattern)
    slowest = max(component.interval + component.latency for component in design.components)
    fill = 64 + min(2 * slowest, 4096)
    stalls = int(np.random.default_rng([seed, number]).integers(2**32))

    def port(stream: Stream) -> PortSettings:
        shape = stream.lanes, stream.fixed.width, int(stream.fixed.signed)
        return PortSettings(blocks.vectors * stream.sample_beats, stalls ^ _salt(stream.name), *shape)

    return Settings(
        gaps=int(pattern in ("gaps", "both")),
        pressure=int(pattern in ("pressure", "both")),
        # Only the ports are watched: while they rest, a vector may be on its way through every component.
        watchdog=1000 + 16 * sum(component.interval + component.latency for component in design.components),
        drain=64 + 2 * slowest,
        fill=fill,
        some=int(np.random.default_rng([seed, number, 1]).integers(1, fill + 1)),
        seed=(len(ALL_PATTERNS) * seed + number) % (2**31 - 1) + 1,  # registers start differently in each
        inputs=tuple(port(x) for x in design.inputs),
        outputs=tuple(port(y) for y in design.outputs),
    )


def _salt(name: str) -> int:
    return zlib.crc32(StreamSpec(name, name, "input", 1, 1).id.encode())


def _write(outcome: Outcome, path: Path) -> None:
    patterns = [asdict(pattern) for pattern in outcome.patterns]
    document = {"schema": 1, "engine": "native", "stopped": outcome.stopped, "patterns": patterns}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
