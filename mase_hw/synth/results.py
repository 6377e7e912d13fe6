"""What a synthesis gave: cells by kind, the longest path, in all and per component."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mase_hw.cost.cost import Cost
from mase_hw.synth.cells import kind_of


@dataclass(frozen=True)
class LongestPath:
    """The longest run of logic between registers (and ports)."""

    levels: int  # a LUT is one, a carry chain is one however long it is
    cells: int  # every carry cell counts
    start: str  # the register or port that it starts from, "" where there is no logic at all
    end: str


@dataclass(frozen=True)
class Usage:
    """The cells of a netlist. `cost` counts them by kind, and LUT sites; its depth is that of the longest path."""

    cost: Cost
    cells: Mapping[str, int]  # by cell type, all of them
    path: LongestPath

    @property
    def other(self) -> dict[str, int]:
        """Cells of no kind, by type: multiplexers, clock buffers, inverters."""
        return {cell: count for cell, count in self.cells.items() if kind_of(cell) is None}


@dataclass(frozen=True)
class Synthesis:
    """A design mapped to a target, once flat, and once more with its components kept apart if that was asked for."""

    target: str
    top: str
    dsp: bool
    whole: Usage  # flat: logic is shared and removed across the borders of components
    components: Mapping[str, Usage]  # each optimized alone, so their sum differs from the whole
    outside: Usage | None  # the top's own cells, beside its components
    scripts: Mapping[str, str]  # the exact Yosys commands: "flat" and "components"
    sources: Mapping[str, str]  # SHA-256 by file, as the scripts call them
    tool: str  # as the netlist says who wrote it
    seconds: float

    @property
    def total(self) -> Cost:
        return self.whole.cost

    @property
    def per_component(self) -> dict[str, Cost]:
        return {name: usage.cost for name, usage in self.components.items()}

    @property
    def depth(self) -> int:
        return self.whole.path.levels

    @property
    def cells(self) -> dict[str, int]:
        return dict(self.whole.cells)
