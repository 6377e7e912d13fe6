"""Ctrl-C in the native engine at every single instruction: what is reported was compared as a whole."""

from __future__ import annotations

import sys
from dataclasses import replace
from types import FrameType
from typing import Any

import numpy as np

from mase_hw.ir import Design
from mase_hw.ir.plumbing import SkidBuffer
from mase_hw.ir.stream import Stream
from mase_hw.numerics import Fixed
from mase_hw.simulate import native_pattern
from mase_hw.simulate.native import settings
from mase_hw.simulate.native_library import Captured, PortState, Settings, State, Status
from mase_hw.simulate.native_pattern import PatternRun
from mase_hw.simulate.native_stimulus import blocks
from mase_hw.simulate.outcome import PatternResult

VECTORS = 8


class Mirror:
    """In place of a compiled design: each beat comes out as it went in, in the predicted cycle."""

    def __init__(self, design: Design, set_: Settings) -> None:
        self._timing, self._set = design.schedule, set_
        self.state = _state(Status.WANTS_INPUT, 0, 0)

    def open(self, set_: Settings) -> Mirror:
        return self

    def feed(self, beats: Any, used: Any, rooms: Any) -> Captured:
        """Two calls for a block: the first one stops in its middle."""
        first = self.state.inputs[0].moved
        values = beats[0][used[0] : used[0] + len(beats[0]) // 2]
        total, end = first + len(values), used[0] + len(values)
        status = Status.FULL if end < len(beats[0]) else Status.WANTS_INPUT
        status = Status.DONE if total == self._set.inputs[0].beats else status
        self.state = _state(status, end, total)
        taken, given = (ports[0].cycles(first, len(values)) for ports in (self._timing.inputs, self._timing.outputs))
        return Captured(self.state, ((values, given),), (taken,))

    def close(self) -> None:
        """There is nothing to free."""


def _state(status: Status, block: int, moved: int) -> State:
    port = PortState(block, moved, -1, 0, 0)
    return State(int(status), moved, (port,), (port,))


class Interrupt:
    """Raises KeyboardInterrupt at instruction number `at` of native_pattern.py."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if frame.f_code.co_filename != native_pattern.__file__:
            return None
        frame.f_trace_opcodes = True
        if event == "opcode":
            self.left -= 1
            if self.left == 0:
                raise KeyboardInterrupt
        return self


def interrupted(design: Design, set_: Settings, at: int) -> tuple[PatternResult, bool]:
    """The result of a run in two blocks, interrupted at one instruction; and whether it came that far."""
    run = PatternRun("none", design, Mirror(design, set_), set_)  # type: ignore[arg-type]
    before, stopped = sys.gettrace(), False
    sys.settrace(Interrupt(at))
    try:
        for base in (0, VECTORS):
            beats = np.arange(base, base + VECTORS, dtype=np.int64).reshape(-1, 2)
            run.feed([beats], [beats], [base // 2])
    except KeyboardInterrupt:
        stopped = True
    finally:
        sys.settrace(before)
    return run.result(), stopped


def test_an_interrupt_at_any_instruction_leaves_counts_that_agree() -> None:
    x = Stream("data_in_0", 2, 2, Fixed(8, 0), (0, 0), (100, 100))
    design = Design("d", (SkidBuffer("s", (x,), (x.renamed("data_out_0"),)),))
    assert design.schedule.latency == 1  # made once, before instructions are counted
    made = settings(design, blocks(design, 0, 0), "none", 0)
    ends = {side: tuple(replace(p, beats=VECTORS) for p in getattr(made, side)) for side in ("inputs", "outputs")}
    set_ = replace(made, **ends)  # type: ignore[arg-type]
    counts, at = set(), 0
    while True:
        at += 1
        result, stopped = interrupted(design, set_, at)
        (output,) = result.outputs()
        assert output.compared == output.equal, f"instruction {at}"
        assert output.compared == 2 * result.vectors, f"instruction {at}"
        assert result.passed == (result.vectors == VECTORS), f"instruction {at}"
        counts.add(output.compared)
        if not stopped:
            break
    assert counts == {0, 4, 8, 12, 16}
    assert at > 300
