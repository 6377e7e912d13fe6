"""Components that move beats and compute nothing: width adapters, skid buffers, FIFOs, forks, concatenation.

All are library modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from mase_hw.ir.component import REGISTERED, THROUGH, Component, Instance
from mase_hw.ir.control import (
    Control,
    FifoControl,
    GatherControl,
    ScatterControl,
    SkidControl,
)
from mase_hw.ir.cost import Cost
from mase_hw.ir.meaning import Meaning, Move
from mase_hw.ir.stream import Stream
from mase_hw.numerics.rounding import Integers


@dataclass(frozen=True, eq=False)
class Plumbing(Component):
    """What all of them share: values pass unchanged."""

    def execute(self, *x: Integers) -> tuple[Integers, ...]:
        return x

    def meaning(self) -> Meaning:
        return Move.copies(self.input.features)

    @property
    def interval(self) -> int:
        return max(self.input.beats, self.output.beats)


@dataclass(frozen=True, eq=False)
class SkidBuffer(Plumbing):
    """Cuts the combinational path from the output's ready to the input's; one cycle, full rate."""

    kind = "skid_buffer"
    latency = 1
    ready_paths = REGISTERED

    def control(self) -> Control:
        return SkidControl()

    def instance(self) -> Instance:
        return Instance(library="mase_skid_buffer", values={"Width": self.input.width})

    def cost(self) -> Cost:
        return Cost(lut=self.input.width + 3, ff=2 * self.input.width + 2, depth=1)


@dataclass(frozen=True, eq=False)
class Fifo(Plumbing):
    """Holds up to `depth` beats, to absorb bursts."""

    kind = "fifo"
    latency = 1
    ready_paths = REGISTERED
    depth: int

    @property
    def interval(self) -> int:
        # A FIFO of one beat takes every second cycle: it cannot refill in the cycle in which it empties.
        return self.input.beats * (2 if self.depth == 1 else 1)

    def control(self) -> Control:
        return FifoControl(self.depth)

    def instance(self) -> Instance:
        return Instance(library="mase_fifo", values={"Width": self.input.width, "Depth": self.depth})

    def cost(self) -> Cost:
        index, deep = max(1, (self.depth - 1).bit_length()), -(-self.depth // 64)
        lut = 3 * index + 5 + 2 * wraps(self.depth)
        if deep > 1:  # a multiplexer over several RAMs, and which of them is written
            lut += self.input.width * -(-(deep - 1) // 3) + 2 * deep
        ff = 3 * index + self.depth.bit_length()  # one index more than the RTL names, as measured
        ram = memory_cells(self.input.width, self.depth)
        return Cost(lut, ram, ff, carry=3 * counter_carries(index), depth=4 + (deep > 1))


@dataclass(frozen=True, eq=False)
class Gather(Plumbing):
    """Narrow beats to wide ones."""

    kind = "gather"
    ready_paths = THROUGH

    @property
    def ratio(self) -> int:
        return self.output.lanes // self.input.lanes

    @property
    def latency(self) -> int:
        return self.ratio

    def control(self) -> Control:
        return GatherControl(self.ratio)

    def instance(self) -> Instance:
        return Instance(library="mase_gather", values={"Width": self.input.width, "Ratio": self.ratio})

    def cost(self) -> Cost:
        index = max(1, (self.ratio - 1).bit_length())
        return Cost(
            self.ratio + 3 + index * wraps(self.ratio),
            0,
            self.output.width + index + 1,
            counter_carries(index),
            depth=3,
        )


@dataclass(frozen=True, eq=False)
class Scatter(Plumbing):
    """Wide beats to narrow ones."""

    kind = "scatter"
    latency = 1
    ready_paths = THROUGH

    @property
    def ratio(self) -> int:
        return self.input.lanes // self.output.lanes

    def control(self) -> Control:
        return ScatterControl(self.ratio)

    def instance(self) -> Instance:
        return Instance(library="mase_scatter", values={"Width": self.output.width, "Ratio": self.ratio})

    def cost(self) -> Cost:
        index = max(1, (self.ratio - 1).bit_length())
        lut = self.input.width - self.output.width + 5 + index * wraps(self.ratio)
        return Cost(lut, 0, self.input.width + index + 1, counter_carries(index), depth=3)


def wraps(count: int) -> bool:
    """Whether a counter of so many steps has to be set back to 0: it does not overflow to it."""
    return count & (count - 1) != 0


def counter_carries(bits: int) -> int:
    """Carry cells of a counter; one bit toggles without."""
    return -(-bits // 4) if bits > 1 else 0


def memory_cells(width: int, depth: int) -> int:
    """RAM cells of a small memory with one write and one read port: 14 bits by 32 or 7 bits by 64 in a cell."""
    return -(-width // 14) if depth <= 32 else -(-width // 7) * -(-depth // 64)


def adapters(name: str, stream: Stream, lanes: int) -> list[Component]:
    """What stands between a stream and a reader of `lanes` lanes: nothing, a gather, a scatter, or both.

    The least common multiple of two divisors of `features` divides it too, so gathering first keeps the full rate.
    """
    found: list[Component] = []
    if (wide := lcm(stream.lanes, lanes)) != stream.lanes:
        found.append(Gather(f"{name}_gather", (stream,), (stream.with_lanes(f"{name}_gather_out", wide),)))
        stream = found[-1].output
    if stream.lanes != lanes:
        found.append(Scatter(f"{name}_scatter", (stream,), (stream.with_lanes(f"{name}_scatter_out", lanes),)))
    return found
