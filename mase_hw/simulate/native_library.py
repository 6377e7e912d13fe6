"""A compiled design called from numpy: settings in, blocks of beats in, beats with their cycles out, for every port."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
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
class PortSettings:
    """One port: its beats in the whole run, the seed of its stalls, its lanes. In the driver's order."""

    beats: int
    stall_seed: int
    lanes: int
    width: int
    signed: int


@dataclass(frozen=True)
class Settings:
    """What a run is to do. All are integers, in the driver's order, and then the ports."""

    gaps: int
    pressure: int
    watchdog: int
    drain: int
    fill: int
    some: int
    seed: int
    inputs: tuple[PortSettings, ...]
    outputs: tuple[PortSettings, ...]

    def integers(self) -> Integers:
        *own, inputs, outputs = astuple(self)
        return np.array([*own, *(value for port in (*inputs, *outputs) for value in port)], np.int64)


@dataclass(frozen=True)
class PortState:
    """One port after a call: beats of this block, and of the whole run; pins as they are. In the driver's order."""

    block: int
    moved: int
    broken: int  # the cycle in which an output broke the stream rule, or -1
    valid: int
    ready: int


@dataclass(frozen=True)
class State:
    """A run after a call."""

    status: int
    cycle: int
    inputs: tuple[PortState, ...]
    outputs: tuple[PortState, ...]


@dataclass(frozen=True)
class Captured:
    """What one call recorded: for each output values [beats, lanes] and cycles, for each input cycles."""

    state: State
    outputs: tuple[tuple[Integers, Integers], ...]
    input_cycles: tuple[Integers, ...]


class Library:
    """A loaded library. Many runs may be open at a time, each with a copy of the design's state."""

    def __init__(self, path: Path) -> None:
        self._calls: Any = ctypes.CDLL(str(path))
        pointer, number = ctypes.c_void_p, ctypes.c_int64
        self._calls.mase_open.argtypes, self._calls.mase_open.restype = [pointer], pointer
        self._calls.mase_close.argtypes, self._calls.mase_close.restype = [pointer], None
        self._calls.mase_message.argtypes, self._calls.mase_message.restype = [pointer], ctypes.c_char_p
        self._calls.mase_run.argtypes = [pointer, number, pointer, pointer, pointer]
        self._calls.mase_run.restype = None

    def open(self, settings: Settings) -> Run:
        return Run(self._calls, settings)


class Run:
    """One simulation from reset to its end. Close it."""

    def __init__(self, calls: Any, settings: Settings) -> None:
        self._calls, self._settings = calls, settings
        given = settings.integers()
        self._handle: int | None = calls.mase_open(given.ctypes.data)
        self._fresh = True
        idle = PortState(0, 0, -1, 0, 0)
        ports = [(idle,) * len(side) for side in (settings.inputs, settings.outputs)]
        self.state = State(int(Status.WANTS_INPUT), 0, *ports)

    def feed(self, beats: Sequence[Integers], used: Sequence[int], capacities: Sequence[int]) -> Captured:
        """Runs on with each input's `beats` [beats, lanes], of which `used` went in already, until it stops."""
        before, wanted = self.state, self._settings
        for block, port in zip(beats, wanted.inputs, strict=True):
            assert block.dtype == np.int64
            assert block.flags.c_contiguous
            assert block.shape[1] == port.lanes
        # Beats that went in and wait at the design's door count too.
        taken = [np.empty(len(block) - went + 2, np.int64) for block, went in zip(beats, used, strict=True)]
        rooms = [
            (np.empty((room, port.lanes), np.int64), np.empty(room, np.int64))
            for room, port in zip(capacities, wanted.outputs, strict=True)
        ]
        ins = [(b.ctypes.data, len(b), went, t.ctypes.data) for b, went, t in zip(beats, used, taken, strict=True)]
        outs = [(values.ctypes.data, cycles.ctypes.data, len(cycles), 0) for values, cycles in rooms]
        given = [np.array(side, np.int64) for side in (ins, outs)]
        fields = np.zeros((len(ins) + len(outs)) * 5 + 2, np.int64)
        pointers = [array.ctypes.data for array in (*given, fields)]
        self._calls.mase_run(self._handle, int(self._fresh), *pointers)
        self._fresh = False
        self.state = _state(fields.tolist(), len(ins))
        counts = [port.block for port in self.state.outputs]
        moved = [now.moved - then.moved for now, then in zip(self.state.inputs, before.inputs, strict=True)]
        return Captured(
            self.state,
            tuple((values[:n], cycles[:n]) for (values, cycles), n in zip(rooms, counts, strict=True)),
            tuple(cycles[:n] for cycles, n in zip(taken, moved, strict=True)),
        )

    @property
    def message(self) -> str:
        """What the design said when it failed."""
        text: bytes = self._calls.mase_message(self._handle)
        return text.decode("utf-8", errors="replace")

    def close(self) -> None:
        if self._handle is not None:
            self._calls.mase_close(self._handle)
            self._handle = None


def _state(fields: list[int], inputs: int) -> State:
    ports = tuple(PortState(*fields[k : k + 5]) for k in range(2, len(fields), 5))
    return State(fields[0], fields[1], ports[:inputs], ports[inputs:])
