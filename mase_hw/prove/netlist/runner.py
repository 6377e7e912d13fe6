"""Runs the program of a netlist in a random environment: sources that keep to the rules, sinks, resets at odd times."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mase_hw.prove.netlist.environment import RUNS, Environment
from mase_hw.prove.netlist.netlist import Net
from mase_hw.prove.netlist.program import ONE, ZERO, MemoryPort, Numbers, Program, contents_of
from mase_hw.simulate.native_build import build_tool
from mase_hw.simulate.replay import Words, words

RUNNER = "netlist_run.cpp"
_NUMBERS = (
    *("slots", "first_gate", "stretches", "registers", "memories", "reads", "writes", "sources", "sinks", "driven"),
    *("watched", "cycles", "columns"),
)
_POINTERS = (
    *("gates", "stretch", "lists", "held", "next", "memory", "read", "write", "source", "sink", "drive", "watch"),
    *("contents", "environment", "start", "given"),
)


@dataclass(frozen=True)
class Recorded:
    """`[runs, cycles, words]` of what was put there and of what was seen; beats taken and given, by port."""

    given: Words
    seen: Words
    taken: Numbers
    offered: Numbers


class _Struct(ctypes.Structure):
    """`Program` of netlist_run.cpp."""

    _fields_ = [
        *((name, ctypes.c_int64) for name in _NUMBERS),
        *((name, ctypes.c_void_p) for name in _POINTERS),
        *((name, ctypes.c_int64) for name in ("inputs", "given_words", "seen_words", "reset", "active")),
        *((name, ctypes.c_void_p) for name in ("given_out", "seen_out", "counts")),
    ]


def record(
    program: Program, around: Environment, watched: Sequence[tuple[Net, Net]], cycles: int, usual: int
) -> Recorded:
    """64 runs of so many cycles. What is watched are nets, each with the one that has to be high, or the constant 1.

    `usual` is the number of cycles that a vector takes, in whose scale resets come.
    """
    rng = np.random.default_rng(0)
    slot, lists = program.slots, list[int]()

    def listed(slots: Sequence[int]) -> int:
        lists.extend(slots)
        return len(lists) - len(slots)

    def ports(each: Sequence[MemoryPort]) -> Numbers:
        rows = [(p.memory, listed(p.address), len(p.address), listed(p.data), listed(p.enables)) for p in each]
        return np.array(rows, np.int64).reshape(-1, 5)

    contents = [contents_of(memory) for memory in program.memories]
    starts = np.cumsum([0, *map(len, contents)]).tolist()
    written = {port.memory for port in program.writes}
    memories = [
        (memory.width, memory.size, memory.offset, int(k not in written), starts[k])
        for k, memory in enumerate(program.memories)
    ]
    columns = around.drawn(rng, cycles, usual)
    first = 1 + len(around.sinks)
    sources = []
    for port in around.sources:
        nets = (*port.last, *port.data)
        place = listed([slot[net] for net in nets])
        sources.append((slot[port.valid], slot[port.ready], place, len(nets), first, first + 1))
        first += 1 + len(nets)
    driven = [around.reset, *(port.ready for port in around.sinks)]
    start = rng.integers(0, 1 << 64, program.first_gate + len(program.gates), np.uint64, endpoint=False)
    start[: program.first_gate] &= np.uint64((1 << (RUNS // 2)) - 1)  # half of the runs start with zeros
    start[ZERO], start[ONE] = 0, np.uint64((1 << 64) - 1)
    given_words, seen_words = words(len(around.inputs)), words(len(watched))
    given = np.zeros((RUNS, cycles, given_words), np.uint64)
    seen = np.zeros((RUNS, cycles, seen_words), np.uint64)
    counts = np.zeros(len(around.sources) + len(around.sinks), np.int64)
    arrays: dict[str, Any] = {
        "gates": program.gates,
        "stretch": program.stretches,
        "held": program.held,
        "next": program.next,
        "memory": np.array(memories, np.int64).reshape(-1, 5),
        "read": ports(program.reads),
        "write": ports(program.writes),
        "source": np.array(sources, np.int64).reshape(-1, 6),
        "sink": np.array([(slot[p.valid], slot[p.ready]) for p in around.sinks], np.int64),
        "drive": np.array([(slot[net], k) for k, net in enumerate(driven)], np.int64),
        "watch": np.array([(slot[net], slot[when]) for net, when in watched], np.int64),
        "contents": np.concatenate([*contents, np.zeros(1, np.uint8)]),
        "environment": columns,
        "start": start,
        "given": np.array([slot[net] for net in around.inputs], np.int64),
        "given_out": given,
        "seen_out": seen,
        "counts": counts,
    }
    arrays["lists"] = np.array([*lists, 0], np.int32)
    made = _Struct(
        slots=len(start),
        first_gate=program.first_gate,
        stretches=len(program.stretches),
        registers=len(program.held),
        memories=len(memories),
        reads=len(program.reads),
        writes=len(program.writes),
        sources=len(around.sources),
        sinks=len(around.sinks),
        driven=len(driven),
        watched=len(watched),
        cycles=cycles,
        columns=columns.shape[1],
        inputs=len(around.inputs),
        given_words=given_words,
        seen_words=seen_words,
        reset=slot[around.reset],
        active=around.active,
        **{name: array.ctypes.data for name, array in arrays.items()},
    )
    library: Any = ctypes.CDLL(str(build_tool(RUNNER)))
    library.mase_netlist_run.argtypes, library.mase_netlist_run.restype = [ctypes.c_void_p], None
    library.mase_netlist_run(ctypes.addressof(made))
    return Recorded(given, seen, counts[: len(around.sources)], counts[len(around.sources) :])
