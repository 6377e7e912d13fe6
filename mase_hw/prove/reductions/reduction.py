"""What the proofs of all reductions share: what is meant, the model that predicts cycles, and the output."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import product

from mase_hw.ir.control import Kind
from mase_hw.ir.meaning import Most, Weighted
from mase_hw.ops.window import GlobalReduce, Reduce
from mase_hw.prove.claims.claim import NotProvedError, Reached
from mase_hw.prove.netlist.cones import Cones
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.reductions.lanes import Lanes
from mase_hw.prove.reductions.widths import prove_reduced_widths


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
        first = self._period - self._finishing
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

    @property
    def _finishing(self) -> int:
        """Beats of these that come with a finished value: the last ones."""
        return 1

    def _check_valid(self) -> None:
        if self.netlist.ports["data_out_0_valid"] != self.cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")
