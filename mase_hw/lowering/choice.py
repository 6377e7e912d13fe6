"""How a layer is built: what the user and the tool decide between them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Choice:
    """The implementation of a layer and the lanes of its input and output streams.

    An unrolled or serial matrix takes a whole vector at once, and a folded one what suits its array: where a stream has
    other lanes, width adapters stand between.
    """

    implementation: str  # unrolled | serial | folded for a matrix, stream for elementwise layers
    data_in_parallelism: int
    data_out_parallelism: int
    data_in_fifo_depth: int = 0
    digit_bits: int | None = None  # serial
    array_in: int | None = None  # folded
    array_out: int | None = None
    use_dsp: bool = False
    output_groups: int = 1  # serial

    @property
    def built(self) -> str:
        """In a word or two, for tables: `folded 4x8`."""
        if self.implementation == "serial":
            return f"serial {self.digit_bits}" + (f" x{self.output_groups}" if self.output_groups > 1 else "")
        if self.implementation == "folded":
            return f"folded {self.array_in}x{self.array_out}{' DSP' if self.use_dsp else ''}"
        return self.implementation
