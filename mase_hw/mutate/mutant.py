"""A mutant: one change to the emitted RTL, and where it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["source", "netlist"]


@dataclass(frozen=True)
class Mutant:
    """One change. A source mutant changes a file; a netlist mutant is a Yosys command on one component's netlist."""

    kind: Kind
    operator: str  # which kind of change
    file: str
    line: int
    what: str  # the change in words
    original: str = field(default="", repr=False)  # source: the unmutated file, in which `new` is put ...
    start: int = 0  # ... in the place of the bytes from here
    end: int = 0  # ... to here
    new: str = ""
    component: str = ""  # netlist: whose netlist it changes
    command: str = ""  # netlist: options of Yosys' `mutate`

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def text(self) -> str:
        """The whole mutated file. Made when it is asked for: thousands of them would fill the memory."""
        raw = self.original.encode()
        return (raw[: self.start] + self.new.encode() + raw[self.end :]).decode()
