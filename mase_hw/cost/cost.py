"""What a component costs, predicted or counted: cells of a Xilinx UltraScale+ as Yosys maps to them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields

COLUMNS = "sites, LUT, FF, DSP, BRAM"  # of the tables that show costs
PREDICTED = "predicted: Yosys' cells of a Xilinx UltraScale+, not a vendor's figure"
AS_LUT = -1  # sites that are left out are as many as the LUT cells


@dataclass(frozen=True)
class Cost:
    """Counts add up over components; `depth`, the levels of LUTs and carry chains between registers, is a maximum.

    A bit of a carry chain takes the LUT beside it on the chip. Where a register, a port or an inverter drives the bit,
    Yosys has no LUT cell there. `sites` counts it, and `lut` does not: size is compared in sites.
    """

    sites: int = field(default=AS_LUT, kw_only=True)  # LUT cells, and bits of carry chains that none of them drives
    lut: int = 0  # LUT1 .. LUT6
    lutram: int = 0  # LUTs used as memory or shift register
    ff: int = 0
    carry: int = 0  # CARRY4, four bits of a carry chain
    dsp: int = 0  # DSP48E2
    bram: int = 0  # RAMB18; a RAMB36 counts as two
    depth: int = 0

    def __post_init__(self) -> None:
        if self.sites == AS_LUT:
            object.__setattr__(self, "sites", self.lut)

    def __add__(self, other: Cost) -> Cost:
        sums = {f.name: getattr(self, f.name) + getattr(other, f.name) for f in fields(self)}
        return Cost(**{**sums, "depth": max(self.depth, other.depth)})

    def __radd__(self, other: int) -> Cost:
        """So that `sum` works, which starts from 0."""
        assert other == 0
        return self

    def times(self, count: int) -> Cost:
        """So many of them, side by side."""
        products = {f.name: getattr(self, f.name) * count for f in fields(self)}
        return Cost(**{**products, "depth": self.depth if count else 0})

    @property
    def logic(self) -> int:
        """Sites of every use: what a choice of hardware keeps small."""
        return self.sites + self.lutram

    @property
    def cells(self) -> int:
        """LUT cells of every use, as Yosys counts them."""
        return self.lut + self.lutram
