"""Components that move beats and compute nothing: width adapters, skid buffers, FIFOs, forks, concatenation.

All are library modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from mase_hw.cost.cost import Cost
from mase_hw.cost.xilinx import plumbing
from mase_hw.ir.component import REGISTERED, THROUGH, Component, Instance
from mase_hw.ir.control import Control
from mase_hw.ir.meaning import Meaning, Move
from mase_hw.ir.plumbing_control import FifoControl, GatherControl, ScatterControl, SkidControl
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
        return plumbing.skid_buffer(self.input.width)


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
        return plumbing.fifo(self.input.width, self.depth)


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
        return plumbing.gather(self.input.width, self.ratio)


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
        return plumbing.scatter(self.output.width, self.ratio)


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
