"""A component of plain numbers between a source and a sink that keep to the rules of the streams."""

from __future__ import annotations

import numpy as np

from mase_hw.ir import Component
from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.netlist import Netlist
from mase_hw.prove.netlist.plain import PlainMachine, slices


class Driven:
    """Vectors `[vectors, samples, features]` go in one after the other, in every sample its own, after a reset."""

    def __init__(self, component: Component, netlist: Netlist, x: Integers, rng: np.random.Generator) -> None:
        lanes, width = component.input.lanes, component.input.fixed.width
        self.beats = [slices(part, width) for vector in x for part in np.split(vector, vector.shape[1] // lanes, 1)]
        self.taken = self.given = 0  # beats
        self.offered = False  # whether an output beat is there, in this cycle
        self._waits = False  # an input beat that is offered stays until it is taken
        self._moves: tuple[bool, bool] = (False, False)
        self._pipe = "enable" in netlist.ports
        self.machine = PlainMachine(netlist, rng, x.shape[1])
        for port, value in (("clk", 0), ("rst", 1), ("enable", 1), ("data_in_0_valid", 0), ("data_out_0_ready", 0)):
            self.machine.put(port, value)
        self.machine.put("data_in_0", 0)
        self.machine.settle()
        self.machine.tick()
        self.machine.put("rst", 0)

    def settle(self, offer: bool = True, ready: bool = True) -> None:
        """A cycle before its clock edge."""
        machine = self.machine
        valid = self.taken < len(self.beats) and (offer or self._waits)
        machine.put("data_in_0_valid", int(valid))
        if valid:
            machine.put_wires("data_in_0", self.beats[self.taken])
        else:
            machine.put("data_in_0", 0)
        machine.put("data_out_0_ready", int(ready))
        machine.settle()
        self.offered = self._is_high("data_out_0_valid")
        if self._pipe:
            machine.put("enable", int(ready or not self.offered))
            machine.settle()
        takes = valid and self._is_high("enable" if self._pipe else "data_in_0_ready")
        self._moves, self._waits = (takes, self.offered and ready), valid and not takes

    def tick(self) -> None:
        self.taken, self.given = self.taken + self._moves[0], self.given + self._moves[1]
        self.machine.tick()

    def _is_high(self, port: str) -> bool:
        """The handshake, which is the same in all samples or depends on data."""
        wire = self.machine.wires[self.machine.netlist.ports[port][0]]
        if wire not in (0, self.machine.gates.ones):
            raise NotProvedError(f"{port} is not the same for all inputs", refuted=True)
        return wire != 0
