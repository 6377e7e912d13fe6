"""Reductions, over the taps of a window or over a frame: their registers as stated, each compared by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import product

import numpy as np

from mase_hw.ir.control import Kind
from mase_hw.ir.meaning import Most, Weighted
from mase_hw.ops.window import GlobalReduce, Reduce
from mase_hw.ops.window.reduce_control import GLOBAL_REDUCE, REDUCE
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.netlist.cones import Cones, grid
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.reductions.lanes import Lanes
from mase_hw.prove.reductions.widths import prove_reduced_widths
from mase_hw.prove.windows.parts import check_counter, only_memory


class ReductionProof(ABC):
    """Handshake, then values, then widths; each says how it was proved, or raises."""

    kind: Kind

    def __init__(self, component: Reduce | GlobalReduce, netlist: Netlist) -> None:
        self.component, self.netlist = component, netlist
        self.cones = Cones(netlist)
        self._counted = False
        self._lanes: Lanes | None = None

    @property
    @abstractmethod
    def blocks(self) -> int:
        """Results of a vector of the output, in beats."""

    @property
    @abstractmethod
    def taps(self) -> int:
        """Elements of each that are reduced."""

    @abstractmethod
    def _check_counters(self) -> None: ...

    @abstractmethod
    def _accumulators(self) -> tuple[Lanes, tuple[Net, ...]]:
        """What is reduced, and the nets that hold a finished value; raises unless every step is as stated."""

    @abstractmethod
    def _after(self, state: tuple[int, int, int], takes: int, out: int) -> list[int]:
        """The words of the model after a cycle."""

    @abstractmethod
    def _ready(self, state: tuple[int, int, int], out: int) -> int: ...

    def handshake(self) -> str:
        self._check_meaning()
        self._check_model()
        self._check_counters()
        self._counted = True
        return (
            f"an invariant of its counters, each compared by itself, for {self.taps:,} beats that become one: "
            "as predicted, cycle by cycle; no deadlock: a beat moves within 2 cycles"
        )

    def values(self) -> str:
        if not self._counted:
            raise NotProvedError("its handshake was not proved")
        lanes, finished = self._accumulators()
        cones, moves = self.cones, self._moves
        held = cones.named("y_q")
        if held != self.netlist.ports["data_out_0"]:
            raise NotProvedError("data_out_0 is not y_q")
        taken = [cones.chosen(net, {moves: 1}) for net in cones.after("y_q")]
        if any(cones.chosen(net, {moves: 0}) != q for net, q in zip(cones.after("y_q"), held, strict=True)):
            raise NotProvedError("the output does not hold")
        rounded = lanes.check_result(tuple(taken), finished, self.component.output)
        self._lanes = lanes
        what = "the largest" if self.component.finish is None else "the exact sum, modulo its bits,"
        return f"after k elements the accumulator holds {what} of these k: one step for every value{rounded}"

    def widths(self) -> str | tuple[str, tuple[Reached, ...]]:
        if self._lanes is None:
            raise NotProvedError("its values were not proved")
        return prove_reduced_widths(self._lanes, self.taps)

    @property
    def _moves(self) -> Net:
        """What lets the output register take a finished value."""
        return self.cones.named("move" if "move" in self.cones else "valid_free")[0]

    def _check_meaning(self) -> None:
        x, y, meaning = self.component.input, self.component.output, self.component.meaning()
        if isinstance(meaning, Most):
            alike = self.component.finish is None and y.fixed == x.fixed
            found = meaning.taps, meaning.lanes * meaning.blocks
        elif isinstance(meaning, Weighted):
            alike = bool((meaning.factors == 1).all() and not meaning.constants.any())
            alike = alike and self.component.finish == meaning.finish
            found = meaning.factors.shape[1], meaning.factors.shape[0] * meaning.factors.shape[2]
        else:
            raise NotProvedError("it means neither the largest nor the sum")
        beats = y.lanes, y.beats, y.features, x.sample_beats
        wanted = x.lanes, self.blocks, self.blocks * x.lanes, self.taps * y.sample_beats
        if not alike or beats != wanted or found != (self.taps, y.features):
            raise NotProvedError("its streams are not those of what it means")

    def _check_model(self) -> None:
        """The model that predicts cycles moves so, at both ends of the counter and around its first finished beat."""
        control, last = self.component.control(), self._period - 1
        first = last - (self.blocks - 1 if isinstance(self, GlobalReduceProof) else 0)
        if control.kind is not self.kind or control.params != (last + 1, first) or any(control.state()):
            raise NotProvedError("its model counts otherwise")
        near = {0, 1, first - 1, first, first + 1, last - 1, last}
        for beat, bits in product(sorted(near & set(range(last + 1))), range(16)):
            state = bits & 1, bits >> 1 & 1, beat
            offered, out = bits >> 2 & 1, bits >> 3
            control.words[:] = list(state)
            ready = self._ready(state, out)
            if control.valids != (bits & 1 == 1,) or control.readies((offered == 1,), (out == 1,)) != (ready == 1,):
                raise NotProvedError("its model has another valid or ready")
            control.clock((bool(ready & offered),), (out == 1,))
            if list(control.state()) != self._after(state, ready & offered, out):
                raise NotProvedError("its model moves otherwise")

    @property
    @abstractmethod
    def _period(self) -> int:
        """Beats after which its counters are where they were."""

    def _check_valid(self) -> None:
        if self.netlist.ports["data_out_0_valid"] != self.cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")


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
