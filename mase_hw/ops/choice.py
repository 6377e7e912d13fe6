"""How a layer is built: what the user and the tool decide between them. One class for each implementation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Choice:
    """An elementwise layer, and what all choices have: the lanes of the layer's input and output streams."""

    implementation: ClassVar[str] = "stream"
    data_in_parallelism: int
    data_out_parallelism: int
    data_in_fifo_depth: int = 0
    block_ram: bool | None = field(default=None, kw_only=True)  # where its memories are; None: by their depth

    @property
    def memories(self) -> str:
        """Where its memories are, for tables, unless their depth says it."""
        return {None: "", True: ", block RAM", False: ", LUT RAM"}[self.block_ram]

    @property
    def built(self) -> str:
        """In a word or two, for tables: `folded 4x8`."""
        return self.implementation + self.memories

    def metadata(self) -> dict[str, Any]:
        """What `parameters["hardware"]` of a node says of it."""
        own = {key: value for key, value in asdict(self).items() if value is not None}
        return {"implementation": self.implementation, **own}


@dataclass(frozen=True)
class Unrolled(Choice):
    """A matrix that takes a whole vector at once; where a stream has other lanes, width adapters stand between."""

    implementation = "unrolled"


@dataclass(frozen=True)
class Serial(Choice):
    """The same on digits of `digit_bits` bits; groups of outputs share one set of tables."""

    implementation = "serial"
    digit_bits: int = 1
    output_groups: int = 1

    @property
    def built(self) -> str:
        groups = f" x{self.output_groups}" if self.output_groups > 1 else ""
        return f"serial {self.digit_bits}{groups}{self.memories}"


@dataclass(frozen=True)
class Folded(Choice):
    """A matrix on an array of multipliers; its streams have the lanes that suit the array, or adapters."""

    implementation = "folded"
    array_in: int = 1
    array_out: int = 1
    use_dsp: bool = False
    window_lanes: int | None = None  # of a convolution: lanes between its window and the array

    @property
    def built(self) -> str:
        return f"folded {self.array_in}x{self.array_out}{' DSP' if self.use_dsp else ''}{self.memories}"


@dataclass(frozen=True)
class PerChannel(Choice):
    """A depthwise convolution: one multiplier a lane, tap after tap."""

    implementation = "depthwise"


@dataclass(frozen=True)
class Multiplied(Choice):
    """Thresholds as a multiplication by constants that cross at them; `stream` searches for the threshold."""

    implementation = "multiply"


@dataclass(frozen=True)
class Wide(Choice):
    """A concatenation of whole vectors in one beat; `stream` takes one beat of one part after the other."""

    implementation = "wide"
