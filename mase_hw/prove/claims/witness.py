"""An input for which a netlist is wrong: found by running it on plain numbers, without any of the proof's rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.ir import Component
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.netlist.driven import Driven
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.netlist.plain import PlainMachine

STALLS = ((1.0, 1.0), (0.5, 1.0), (1.0, 0.5), (0.5, 0.5))  # how often the input is valid and the output ready
MAX_WORK = 4_000_000  # bits computed in all: some seconds
RANDOM = 24  # vectors of a run, besides the suspects and the corners
TOGETHER = 1000  # vectors that are run side by side, without stalls


def find_witness(
    component: Component, netlist: Netlist, suspects: Sequence[Integers] = (), bounds: Sequence[Integers] = ()
) -> str | None:
    """In words, a beat that is not what it has to be; None where no run shows one, which proves nothing.

    `bounds` are vectors that reach the bounds of sums: there one that is too narrow shows.
    """
    rng = np.random.default_rng(0)
    lo, hi = (np.asarray(side) for side in component.input.bounds)
    work = sum(cell.width("Y") for cell in netlist.cells if "Y" in cell.ports) + 1
    if work * _cycles(component) <= MAX_WORK:
        many = np.stack([*suspects, lo, hi, *bounds, *rng.integers(lo, hi + 1, (TOGETHER, len(lo)))])
        if (found := _side_by_side(component, netlist, many)) is not None:
            return found
    x = np.stack([*suspects, lo, hi, *rng.integers(lo, hi + 1, (RANDOM, len(lo)))])
    y = component.execute(x)[0]
    cycles = MAX_WORK // (work * len(STALLS))
    for offers, takes in STALLS:
        run = _Run(component, netlist, x, y, np.random.default_rng(1))
        for _ in range(cycles):
            if run.given == len(y) * component.output.beats:
                break
            if (found := run.cycle(rng.random() < offers, rng.random() < takes)) is not None:
                return found
    return None


def _cycles(component: Component) -> int:
    """More than a vector takes."""
    return 2 * (component.latency + component.interval) + 2


def _side_by_side(component: Component, netlist: Netlist, x: Integers) -> str | None:
    """One vector in each sample, from any contents of the registers."""
    y, out = component.execute(x)[0], component.output
    run = Driven(component, netlist, x[None], np.random.default_rng(1))
    beats = np.split(y, out.beats, 1)
    for _ in range(_cycles(component)):
        run.settle()
        if run.offered and run.given < out.beats:
            wanted = [_packed(beat, out.fixed.width) for beat in beats[run.given]]
            for sample, given in enumerate(run.machine.numbers(netlist.ports["data_out_0"])):
                if given != wanted[sample]:
                    return _said(component, x[sample], y[sample], run.given, given)
        run.tick()
    return None


def _said(component: Component, x: Integers, y: Integers, beat: int, given: int) -> str:
    """In words: a vector, and the first lane of a beat that is not what it has to be."""
    out = component.output
    width, signed = out.fixed.width, out.fixed.signed
    numbers = [(given >> (width * k)) & ((1 << width) - 1) for k in range(out.lanes)]
    numbers = [n - ((n >> (width - 1)) << width) if signed else n for n in numbers]
    wanted = y[beat * out.lanes : (beat + 1) * out.lanes].tolist()
    lane = next(k for k in range(out.lanes) if numbers[k] != wanted[k])
    name = f"{out.name}[{beat * out.lanes + lane}]"
    return f"a run on numbers gives {name} = {numbers[lane]}, not {wanted[lane]}, for {x.tolist()}"


def seen_after_reset(netlist: Netlist, registers: Sequence[Net]) -> list[int]:
    """What these registers hold, as one number, after runs of one cycle of reset from any contents."""
    rng, found = np.random.default_rng(0), set()
    for _ in range(RANDOM):
        machine = PlainMachine(netlist, rng)
        for port, nets in netlist.ports.items():
            if not port.startswith("data_out_0") or port == "data_out_0_ready":
                machine.put(port, int.from_bytes(rng.bytes(len(nets) // 8 + 1), "little"))
        machine.put("rst", 1)
        machine.settle()
        machine.tick()
        found.add(machine.numbers(registers)[0])
    return sorted(found)


class _Run(Driven):
    """One sample, of which every output is known."""

    def __init__(
        self, component: Component, netlist: Netlist, x: Integers, y: Integers, rng: np.random.Generator
    ) -> None:
        super().__init__(component, netlist, x[:, None], rng)
        self.component, self.x, self.y = component, x, y
        self.wanted = [_packed(beat, component.output.fixed.width) for beat in y.reshape(-1, component.output.lanes)]

    def cycle(self, offer: bool, ready: bool) -> str | None:
        """In words, what is wrong in it."""
        self.settle(offer, ready)
        given = self.machine.number("data_out_0") if self.offered else 0
        found = None
        if self.offered and given != self.wanted[self.given]:
            vector, beat = divmod(self.given, self.component.output.beats)
            found = _said(self.component, self.x[vector], self.y[vector], beat, given)
        self.tick()
        return found


def _packed(beat: Integers, width: int) -> int:
    return sum((int(n) & ((1 << width) - 1)) << (width * k) for k, n in enumerate(beat))
