"""The handshake of a component without its data: what decides in which cycle a beat moves.

A kind of control is a few plain functions on a list of words, its registers, and a list of parameters. They mirror the
control registers of one SystemVerilog module, clock edge by clock edge. The test benches check that the RTL takes
exactly those cycles, and the prover goes through the RTL beside them. `engine.py` runs the very same functions for all
components of a design, as Python or compiled. So they are written in what numba compiles: integers, loops, calls of
other such functions. Words fit 64 bits. Ports are bits of an integer, the first the lowest.
"""

from __future__ import annotations

from collections.abc import Callable, MutableSequence, Sequence
from dataclasses import dataclass

FOREVER = 1 << 62
MAX_PORTS = 62  # of one side: they are bits of a word
Ports = tuple[bool, ...]  # a bit for each port of one side
Words = MutableSequence[int]
Params = Sequence[int]


def always_rests(s: Words, p: Params, outs: int) -> int:
    """For a control that stands still as long as no beat moves."""
    return FOREVER


def stands_still(s: Words, p: Params, cycles: int, outs: int) -> None:
    return


@dataclass(frozen=True)
class Kind:
    """The functions of one kind of control: `s` are its words, which are 0 after reset, and `p` its parameters."""

    name: str
    valids: Callable[[Words, Params], int]  # of the outputs, from registers alone
    readies: Callable[[Words, Params, int, int], int]  # of the inputs, from their valids and the outputs' readies
    clock: Callable[[Words, Params, int, int], None]  # the clock edge: inputs on which a beat moved, outputs' readies
    # Cycles, from this one on, that change no valid and no ready as long as no beat moves and the outputs' readies
    # stay as they are; and what lets so many of them pass at once.
    resting: Callable[[Words, Params, int], int] = always_rests
    rest: Callable[[Words, Params, int, int], None] = stands_still
    compiles: bool = True  # if not, a design with it is run as Python


KINDS: dict[str, Kind] = {}


def registered(kind: Kind) -> Kind:
    """Makes a kind known to the engine, which is compiled for all of the package's kinds at once."""
    assert kind.name not in KINDS, kind.name
    KINDS[kind.name] = kind
    return kind


class Control:
    """The control of one component: a kind, its parameters, its words."""

    def __init__(
        self, kind: Kind, params: Sequence[int], registers: int, *, inputs: int = 1, outputs: int = 1, notes: int = 0
    ) -> None:
        """`notes` are words behind the registers that decide nothing."""
        assert max(inputs, outputs) <= MAX_PORTS, f"{kind.name}: more than {MAX_PORTS} ports"
        self.kind, self.params, self.registers = kind, tuple(params), registers
        self.inputs, self.outputs = inputs, outputs
        self.words = [0] * (registers + notes)

    @property
    def valids(self) -> Ports:
        """The outputs' valids, a register each."""
        return ports_of(self.kind.valids(self.words, self.params), self.outputs)

    def readies(self, offered: Ports, outs: Ports) -> Ports:
        """The inputs' readies in this cycle, given the inputs' valids and the outputs' readies."""
        return ports_of(self.kind.readies(self.words, self.params, bits_of(offered), bits_of(outs)), self.inputs)

    def clock(self, takes: Ports, outs: Ports) -> None:
        """The clock edge; `takes` says on which inputs a beat moved, `outs` are the outputs' readies."""
        self.kind.clock(self.words, self.params, bits_of(takes), bits_of(outs))

    def state(self) -> tuple[int, ...]:
        """All registers: two equal states have the same future."""
        return tuple(self.words[: self.registers])


class SingleControl(Control):
    """Control of a component with one input and one output, in single bits."""

    @property
    def valid(self) -> bool:
        return bool(self.kind.valids(self.words, self.params))

    def ready(self, out_ready: bool) -> bool:
        """The input's ready in this cycle, given the output's."""
        return bool(self.kind.readies(self.words, self.params, 0, int(out_ready)))

    def tick(self, take: bool, out_ready: bool) -> None:
        """The clock edge; `take` says whether an input beat moved."""
        self.kind.clock(self.words, self.params, int(take), int(out_ready))


def bits_of(ports: Ports) -> int:
    return sum(bit << k for k, bit in enumerate(ports))


def ports_of(bits: int, count: int) -> Ports:
    return tuple(bool(bits >> k & 1) for k in range(count))
