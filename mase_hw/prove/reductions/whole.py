"""A reduction over all positions of a frame: its registers as stated, each compared by itself."""

from __future__ import annotations

import numpy as np

from mase_hw.ops.window import GlobalReduce
from mase_hw.ops.window.reduce_control import GLOBAL_REDUCE
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import grid
from mase_hw.prove.netlist.netlist import Net
from mase_hw.prove.reductions.lanes import Lanes
from mase_hw.prove.reductions.reduction import ReductionProof
from mase_hw.prove.windows.parts import check_counter, only_memory


class GlobalReduceProof(ReductionProof):
    """All positions of a frame: an accumulator for each beat of a position, and two registers behind it."""

    kind = GLOBAL_REDUCE
    component: GlobalReduce

    @property
    def blocks(self) -> int:
        return self.component.input.beats

    @property
    def taps(self) -> int:
        return self.component.input.positions

    @property
    def _period(self) -> int:
        return self.taps * self.blocks

    @property
    def _finishing(self) -> int:
        return self.blocks

    def _free(self, state: tuple[int, int, int], out: int) -> bool:
        return not state[1] or not state[0] or out == 1

    def _ready(self, state: tuple[int, int, int], out: int) -> int:
        return int(state[2] < self._period - self.blocks or self._free(state, out))

    def _after(self, state: tuple[int, int, int], takes: int, out: int) -> list[int]:
        valid, done, beat = state
        finishes = int(takes and beat >= self._period - self.blocks)
        then = finishes if self._free(state, out) else done
        return [done if out or not valid else valid, then, (beat + takes) % self._period]

    def _check_counters(self) -> None:
        cones = self.cones
        a, b, c = grid(2, 2, 2)
        cones.check_net("valid_free", {"valid_q": a, "data_out_0_ready": b}, (1 - a) | b)
        cones.check_net("done_free", {"done_q": a, "valid_free": b}, (1 - a) | b)
        free, last = grid(2, cones.values("last"))
        cones.check_net("data_in_0_ready", {"done_free": free, "last": last}, free | (1 - last))
        cones.check_net("in_fire", {"data_in_0_valid": a, "data_in_0_ready": b}, a & b)
        position, block = np.arange(self.taps), np.arange(self.blocks)
        check_counter(cones, "position_q", self.taps, ["in_fire", *(["position_last"] if self.blocks > 1 else [])])
        cones.check_net("first", {"position_q": position}, position == 0)
        cones.check_net("last", {"position_q": position}, position == self.taps - 1)
        if self.blocks > 1:
            check_counter(cones, "block_q", self.blocks, ["in_fire"])
            cones.check_net("position_last", {"block_q": block}, block == self.blocks - 1)
        done, fire, free, last = grid(2, 2, 2, cones.values("last"))
        given = {"done_q": done, "in_fire": fire, "done_free": free, "last": last}
        cones.check_register("done_q", 0, given, np.where(free, fire & last, done))
        cones.check_register("valid_q", 0, {"valid_q": a, "valid_free": b, "done_q": c}, np.where(b, c, a))
        self._check_valid()

    def _accumulators(self) -> tuple[Lanes, tuple[Net, ...]]:
        cones, x = self.cones, self.component.input
        (fire,), (free,) = cones.named("in_fire"), cones.named("done_free")
        finished = cones.named("result_q")
        result = tuple(cones.chosen(net, {free: 1}) for net in cones.after("result_q"))
        if self.blocks > 1:
            memory = only_memory(self.netlist, len(finished))
            self._check_memory(result)
            lanes = Lanes(cones, x, self.component.finish, memory.ports["RD_DATA"])
        else:
            held, taken = cones.named("acc_q"), cones.after("acc_q")
            lanes = Lanes(cones, x, self.component.finish, held)
            lanes.check_holds(taken, held, fire)
            if tuple(cones.chosen(net, {fire: 1}) for net in taken) != result:
                raise NotProvedError("the accumulator takes something else than what is finished")
        lanes.check_holds(cones.after("result_q"), finished, free)
        lanes.check_step(result, {})
        return lanes, finished

    def _check_memory(self, result: tuple[Net, ...]) -> None:
        """A word for each beat of a position, read and written where the beat is."""
        cones, memory = self.cones, only_memory(self.netlist, len(result))
        block = np.arange(self.blocks)
        for port in ("RD_ADDR", "WR_ADDR"):
            cones.check(memory.ports[port], {"block_q": block}, block, f"the address {port}")
        if memory.parameters["SIZE"] < self.blocks:
            raise NotProvedError("the memory has too few words")
        for net in memory.ports["WR_EN"]:
            cones.check([net], {"in_fire": np.arange(2)}, np.arange(2), "whether the memory is written")
        if memory.ports["WR_DATA"] != result:
            raise NotProvedError("the memory takes something else than what is finished")
