"""A compiled design called from numpy: settings in, blocks of vectors in, beats with their cycles out."""

from __future__ import annotations

import ctypes
from dataclasses import astuple, dataclass
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]


class Status(IntEnum):
    """Why a call came back; as in native_driver.cpp."""

    WANTS_INPUT = 0
    FULL = 1
    DONE = 2
    HUNG = 3
    FAILED = 4


@dataclass(frozen=True)
class Settings:
    """What a run is to do. All are integers, in the driver's order."""

    beats_in: int
    beats_out: int
    gaps: int
    pressure: int
    source_seed: int
    sink_seed: int
    watchdog: int
    drain: int
    fill: int
    some: int
    seed: int
    in_lanes: int
    in_width: int
    in_signed: int
    out_lanes: int
    out_width: int
    out_signed: int


@dataclass(frozen=True)
class State:
    """A run after a call: counters of the whole run, pins as they are; in the driver's order."""

    status: int
    used: int
    captured: int
    cycle: int
    taken: int
    given: int
    broken: int  # cycle, or -1
    in_valid: int
    in_ready: int
    out_valid: int
    out_ready: int


@dataclass(frozen=True)
class Captured:
    """What one call recorded: the output's values [beats, lanes], and the cycles of output and input beats."""

    state: State
    values: Integers
    cycles: Integers
    input_cycles: Integers


class Library:
    """A loaded library. Many runs may be open at a time, each with a copy of the design's state."""

    def __init__(self, path: Path) -> None:
        self._calls: Any = ctypes.CDLL(str(path))
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._calls.mase_open.argtypes, self._calls.mase_open.restype = [pointer], pointer
        self._calls.mase_close.argtypes, self._calls.mase_close.restype = [pointer], None
        self._calls.mase_message.argtypes, self._calls.mase_message.restype = [pointer], ctypes.c_char_p
        self._calls.mase_run.argtypes = [
            *(pointer, number, pointer, number, number),
            *(pointer, pointer, pointer, number, pointer),
        ]
        self._calls.mase_run.restype = None

    def open(self, settings: Settings) -> Run:
        return Run(self._calls, settings)


class Run:
    """One simulation from reset to its end. Close it."""

    def __init__(self, calls: Any, settings: Settings) -> None:
        self._calls, self._settings = calls, settings
        given = np.array(astuple(settings), np.int64)
        self._handle: int | None = calls.mase_open(given.ctypes.data)
        self._fresh = True
        self.state = State(int(Status.WANTS_INPUT), 0, 0, 0, 0, 0, -1, 0, 0, 0, 0)

    def feed(self, beats: Integers, used: int, capacity: int) -> Captured:
        """Runs on with `beats` [beats, lanes], of which `used` went in already, until it stops for a reason."""
        assert beats.dtype == np.int64
        assert beats.flags.c_contiguous
        assert beats.shape[1] == self._settings.in_lanes
        values = np.empty((capacity, self._settings.out_lanes), np.int64)
        cycles = np.empty(capacity, np.int64)
        taken = np.empty(len(beats) - used + 2, np.int64)  # beats that went in and wait at the design's door count too
        fields = np.zeros(len(astuple(self.state)), np.int64)
        before = self.state.taken
        self._calls.mase_run(
            *(self._handle, int(self._fresh), beats.ctypes.data, len(beats), used),
            *(taken.ctypes.data, values.ctypes.data, cycles.ctypes.data, capacity, fields.ctypes.data),
        )
        self._fresh = False
        self.state = State(*fields.tolist())
        count = self.state.captured
        return Captured(self.state, values[:count], cycles[:count], taken[: self.state.taken - before])

    @property
    def message(self) -> str:
        """What the design said when it failed."""
        text: bytes = self._calls.mase_message(self._handle)
        return text.decode("utf-8", errors="replace")

    def close(self) -> None:
        if self._handle is not None:
            self._calls.mase_close(self._handle)
            self._handle = None
