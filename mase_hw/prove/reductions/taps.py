"""A reduction over the taps of a window: its registers as stated, each compared by itself."""

from __future__ import annotations

import numpy as np

from mase_hw.ops.window import Reduce
from mase_hw.ops.window.reduce_control import REDUCE
from mase_hw.prove.netlist.cones import grid
from mase_hw.prove.netlist.netlist import Net
from mase_hw.prove.reductions.lanes import Lanes
from mase_hw.prove.reductions.reduction import ReductionProof
from mase_hw.prove.windows.parts import check_counter


class ReduceProof(ReductionProof):
    """The taps of a window: an accumulator that waits while the output register is full."""

    kind = REDUCE
    component: Reduce

    @property
    def blocks(self) -> int:
        return self.component.input.frame[-1]

    @property
    def taps(self) -> int:
        return self.component.input.beats

    @property
    def _period(self) -> int:
        return self.taps

    def _ready(self, state: tuple[int, int, int], out: int) -> int:
        return int(not (state[0] and state[1]))

    def _after(self, state: tuple[int, int, int], takes: int, out: int) -> list[int]:
        valid, done, beat = state
        move = done and (not valid or out)
        then = 1 if takes and beat == self.taps - 1 else 0 if move else done
        return [1 if move else 0 if out else valid, then, (beat + takes) % self.taps]

    def _check_counters(self) -> None:
        cones, tap = self.cones, np.arange(self.taps)
        a, b, c = grid(2, 2, 2)
        cones.check_net("data_in_0_ready", {"done_q": a, "valid_q": b}, 1 - (a & b))
        cones.check_net("in_fire", {"data_in_0_valid": a, "data_in_0_ready": b}, a & b)
        cones.check_net("move", {"done_q": a, "valid_q": b, "data_out_0_ready": c}, a & ((1 - b) | c))
        check_counter(cones, "tap_q", self.taps, ["in_fire"])
        cones.check_net("first", {"tap_q": tap}, tap == 0)
        cones.check_net("last", {"tap_q": tap}, tap == self.taps - 1)
        done, fire, move, last = grid(2, 2, 2, cones.values("last"))
        given = {"done_q": done, "in_fire": fire, "move": move, "last": last}
        cones.check_register("done_q", 0, given, np.where(fire & last, 1, np.where(move, 0, done)))
        given = {"valid_q": a, "move": b, "data_out_0_ready": c}
        cones.check_register("valid_q", 0, given, np.where(b, 1, np.where(c, 0, a)))
        self._check_valid()

    def _accumulators(self) -> tuple[Lanes, tuple[Net, ...]]:
        cones = self.cones
        held, taken = cones.named("acc_q"), cones.after("acc_q")
        (fire,) = cones.named("in_fire")
        lanes = Lanes(cones, self.component.input, self.component.finish, held)
        lanes.check_holds(taken, held, fire)
        lanes.check_step(taken, {"in_fire": 1})
        return lanes, held
