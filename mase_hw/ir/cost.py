"""What a component costs, predicted without synthesis: cells of a Xilinx UltraScale+ as Yosys counts them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Cost:
    """Counts add up over components; `depth`, the levels of LUTs and carry chains between registers, is a maximum."""

    lut: int = 0  # LUT1 .. LUT6
    lutram: int = 0  # LUTs used as memory or shift register
    ff: int = 0
    carry: int = 0  # CARRY4, four bits of a carry chain
    dsp: int = 0  # DSP48E2
    bram: int = 0  # RAMB18; a RAMB36 counts as two
    depth: int = 0

    def __add__(self, other: Cost) -> Cost:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return Cost(**{**sums, "depth": max(self.depth, other.depth)})

    def __radd__(self, other: int) -> Cost:
        """So that `sum` works, which starts from 0."""
        assert other == 0
        return self

    @property
    def logic(self) -> int:
        """LUTs of every use."""
        return self.lut + self.lutram
