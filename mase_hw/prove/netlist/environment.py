"""A random environment of a netlist, for 64 runs at once: data, stalls and resets, a bit of a word for each run.

A beat that is offered stays until it is taken, which `sim/netlist_run.cpp` sees to. What comes is drawn here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mase_hw.prove.netlist.netlist import Net

RUNS = 64  # at once: the bits of a word
BLOCK = 64  # cycles after which stalls are drawn with another probability
OFTEN = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0, 1.0)  # how often a beat is offered or taken, block by block
UNSTALLED = 8  # runs without stalls
FIRST = 2  # cycles of reset at the start
Words = npt.NDArray[np.uint64]


@dataclass(frozen=True)
class SourcePort:
    """An input: its nets, and lanes of `width` bits, each in `stride` bits of the port. `last` is one bit more."""

    valid: Net
    ready: Net
    data: tuple[Net, ...]
    width: int
    stride: int
    last: tuple[Net, ...] = ()


@dataclass(frozen=True)
class SinkPort:
    """An output."""

    valid: Net
    ready: Net


@dataclass(frozen=True)
class Environment:
    """What is around a netlist. `reset` is put there, inverted where it is active low."""

    reset: Net
    active: int
    sources: tuple[SourcePort, ...]
    sinks: tuple[SinkPort, ...]

    @property
    def inputs(self) -> list[Net]:
        """Every net that is put there: reset, the sinks' ready, then valid, last and data of each source."""
        own = [net for port in self.sources for net in (port.valid, *port.last, *port.data)]
        return [self.reset, *(port.ready for port in self.sinks), *own]

    def drawn(self, rng: np.random.Generator, cycles: int, usual: int) -> Words:
        """`[cycles, columns]`: reset, the sinks' ready, then of each source whether it offers, last and data.

        `usual` is the number of cycles that a vector takes. Resets come about as often, twice as often, more seldom, or
        never: a third of the runs have one at the start alone.
        """
        rate = np.array([0, 2 / usual, 0, 0.5 / usual, 0.15 / usual, 0.02])[np.arange(RUNS) % 6]
        resets = rng.random((cycles, RUNS)) < rate
        longer = rng.random((cycles, RUNS)) < 0.3
        resets[1:] |= resets[:-1] & longer[1:]
        resets[:FIRST] = True
        found = [_packed(resets if self.active else ~resets)[:, None]]
        found += [_packed(_stalls(rng, cycles))[:, None] for _ in self.sinks]
        for port in self.sources:
            found.append(_packed(_stalls(rng, cycles))[:, None])
            found += [_data(rng, cycles, 1, 1, len(port.last))] if port.last else []
            found.append(_data(rng, cycles, port.width, port.stride, len(port.data)))
        return np.ascontiguousarray(np.concatenate(found, axis=1))


def _packed(bits: npt.NDArray[np.bool_]) -> Words:
    """A word for each row of bits, run by run."""
    return np.packbits(bits, axis=1, bitorder="little").view(np.uint64)[:, 0]


def _stalls(rng: np.random.Generator, cycles: int) -> npt.NDArray[np.bool_]:
    """`[cycles, runs]`: whether a beat may move."""
    often = rng.choice(np.array(OFTEN), (-(-cycles // BLOCK), RUNS)).repeat(BLOCK, axis=0)[:cycles]
    often[:, :UNSTALLED] = 1.0
    return rng.random((cycles, RUNS)) < often


def _data(rng: np.random.Generator, cycles: int, width: int, stride: int, bits: int) -> Words:
    """Fresh data for every cycle: any bits; or in some lanes, or in all, the ends of the type, 0 and -1.

    These four are told apart by the highest bit and by all the others, which are alike.
    """
    found = _any(rng, cycles, bits)
    lanes = bits // stride
    kinds = np.arange(RUNS)[None] % 4
    some, each = _packed(kinds == 1), _packed(kinds == 2)  # runs with such lanes, and with such beats now and then
    chosen = (_any(rng, cycles, lanes) & some) | (_any(rng, cycles, 1) & _any(rng, cycles, 1) & each)
    high, low = _any(rng, cycles, lanes), _any(rng, cycles, lanes)
    for k in range(width):
        column = found[:, k : lanes * stride : stride]
        column[:] = (column & ~chosen) | ((high if k == width - 1 else low) & chosen)
    return found


def _any(rng: np.random.Generator, cycles: int, bits: int) -> Words:
    return rng.integers(0, (1 << 64) - 1, (cycles, bits), np.uint64, endpoint=True)
