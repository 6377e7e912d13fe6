"""A mutant: one change to the emitted RTL, and where it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["source", "netlist"]


@dataclass(frozen=True)
class Mutant:
    """One change. A source mutant replaces a file; a netlist mutant is a Yosys command on one component's netlist."""

    kind: Kind
    operator: str  # which kind of change
    file: str
    line: int
    what: str  # the change in words
    text: str = ""  # source: the whole mutated file
    component: str = ""  # netlist: whose netlist it changes
    command: str = ""  # netlist: options of Yosys' `mutate`

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"
