"""An upsampling of any frame: its buffer goes round, and the next read is always so many beats ahead of its oldest one.

A read is a beat of a position, a repetition, a column and a repetition of the row. The counters go through these in
order. The oldest beat that is held is the first one that is still to be read: it is given up when it is read for the
last time. So the place that is read and the number of beats that must be there follow from the counters alone.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from mase_hw.ir.control import Control
from mase_hw.ir.meaning import Repeated
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window import Upsample
from mase_hw.ops.window.upsample_control import UPSAMPLE
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import Cones, grid
from mase_hw.prove.netlist.netlist import Netlist
from mase_hw.prove.windows.parts import check_counter, check_moved, only_memory, words_of

MODELLED = 256  # reads in which the model is tried


class UpsampleProof:
    """Handshake, then values; each says how it was proved, or raises."""

    def __init__(self, component: Upsample, netlist: Netlist) -> None:
        self.component, self.netlist, self.cones = component, netlist, Cones(netlist)
        rows, repeats = component.repeats
        counts = {"block": component.input.beats, "repeat": repeats, "column": component.width, "row": rows}
        self.counts = counts
        self.names = [name for name, count in counts.items() if count > 1 and f"{name}_q" in self.cones]
        self.words = component.input.beats * component.width
        row, column, repeat, block = grid(*reversed(counts.values()))
        self.at = {
            "block": block,
            "repeat": repeat,
            "column": column,
            "row": row,
        }  # of every read of a buffer, in order
        self._counted = False

    @property
    def source(self) -> Integers:
        """For each read of a buffer, the beat of the buffer that it reads."""
        return np.asarray(self.at["column"] * self.counts["block"] + self.at["block"])

    @property
    def released(self) -> Integers:
        """Whether a read is the last of its beat."""
        last = [self.at[name] == self.counts[name] - 1 for name in ("repeat", "row")]
        return np.asarray(last[0] & last[1])

    @property
    def ahead(self) -> Integers:
        """For each read, how many beats lie between the oldest one that is held and its own."""
        given_up = np.cumsum(self.released) - self.released
        return np.asarray(self.source - given_up)

    def handshake(self) -> str:
        self._check_reads()
        self._check_model()
        cones = self.cones
        a, b = grid(2, 2)
        cones.check_net("in_fire", {"data_in_0_valid": a, "data_in_0_ready": b}, a & b)
        cones.check_net("enable", {"valid_q": a, "data_out_0_ready": b}, (1 - a) | b)
        cones.check_net("issue", {"enable": a, "there": b}, a & b)
        valid, enable, there = grid(2, 2, 2)
        given = {"valid_q": valid, "enable": enable, "there": there}
        cones.check_register("valid_q", 0, given, np.where(enable, there, valid))
        if self.netlist.ports["data_out_0_valid"] != cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")
        self._check_counters()
        self._check_read()
        self._check_held()
        self._counted = True
        return (
            f"an invariant of its counters, each compared by itself, for {len(self.source):,} reads of "
            f"{self.words:,} beats: as predicted, cycle by cycle; no deadlock: a beat moves within 2 cycles"
        )

    def values(self) -> str:
        if not self._counted:
            raise NotProvedError("its handshake was not proved")
        cones, memory, place = self.cones, only_memory(self.netlist, self.component.input.width), np.arange(self.words)
        if words_of(memory) < self.words:
            raise NotProvedError("the buffer has too few words")
        for port, name in (("WR_ADDR", "write_q"), ("RD_ADDR", "read_q")):
            given = {name: place} if name in cones else {}
            cones.check(memory.ports[port], given, place, f"the address {port}")
        for net in memory.ports["WR_EN"]:
            cones.check([net], {"in_fire": np.arange(2)}, np.arange(2), "whether the buffer is written")
        if memory.ports["WR_DATA"] != self.netlist.ports["data_in_0"]:
            raise NotProvedError("something else than data_in_0 is written to the buffer")
        (issue,), held = cones.named("issue"), cones.named("data_q")
        if held != self.netlist.ports["data_out_0"]:
            raise NotProvedError("data_out_0 is not data_q")
        for q, d, read in zip(held, cones.after("data_q"), memory.ports["RD_DATA"], strict=True):
            if cones.chosen(d, {issue: 0}) != q or cones.chosen(d, {issue: 1}) != read:
                raise NotProvedError("the output takes something else than what is read, or does not hold")
        return "every position is read where it was written, as often as is meant, by the invariant of the counters"

    def widths(self) -> str:
        return check_moved(self.netlist)

    def _check_reads(self) -> None:
        """The reads of all buffers of a frame are the positions that the meaning says, in their order."""
        x, y, meaning = self.component.input, self.component.output, self.component.meaning()
        if not isinstance(meaning, Repeated) or meaning.frame != x.frame:
            raise NotProvedError("it does not mean positions that are repeated")
        shape = x.lanes, x.fixed, x.beats, tuple(n * f for n, f in zip(x.frame, meaning.factors, strict=True))
        if shape != (y.lanes, y.fixed, y.beats, y.frame) or x.sample_beats % self.words:
            raise NotProvedError("its streams are not those of what it means")
        buffers = np.arange(x.sample_beats // self.words)[:, None] * self.words + self.source
        wanted = meaning.evaluate(np.arange(x.sample_beats).reshape(-1, x.beats))[0]
        if not np.array_equal(buffers.ravel(), wanted.ravel()):
            raise NotProvedError("its reads are not the positions that it means")
        if self.ahead.min() < 0 or self.ahead.max() >= self.words or self.released.sum() != self.words:
            raise NotProvedError("a beat is given up before it is read")
        if not np.array_equal(self.source[self.released], np.arange(self.words)):
            raise NotProvedError("beats are not given up in their order")

    def _check_counters(self) -> None:
        """Those within a counter are at their last when it moves."""
        for k, name in enumerate(self.names):
            value = np.arange(self.counts[name])
            check_counter(
                self.cones, f"{name}_q", len(value), ["issue", *(f"{inner}_last" for inner in self.names[:k])]
            )
            self.cones.check_net(f"{name}_last", {f"{name}_q": value}, value == len(value) - 1)

    def _check_read(self) -> None:
        """The place that is read: each read leads to the next, and the last one of a buffer to its first."""
        for name, moves in (("write_q", ["in_fire"]), ("read_q", ["issue"])):
            if self.words == 1 and name in self.cones:
                check_counter(self.cones, name, 1, moves)
        if self.words == 1:
            return
        check_counter(self.cones, "write_q", self.words, ["in_fire"])
        given = {"read_q": self.source, **self._counters(), **self._lasts()}
        self.cones.check_register("read_q", 0, {**given, "issue": 1}, np.roll(self.source, -1))
        place = np.arange(self.words)
        self.cones.check_register("read_q", 0, {"read_q": place, "issue": 0}, place)

    def _counters(self) -> dict[str, Integers]:
        return {f"{name}_q": self.at[name] for name in self.names}

    def _lasts(self) -> dict[str, Integers]:
        return {f"{name}_last": (self.at[name] == self.counts[name] - 1).astype(np.int64) for name in self.names}

    def _check_held(self) -> None:
        """Beats that are held: one more with each that comes, one less with each that is given up."""
        cones, held = self.cones, np.arange(self.words + 1)
        cones.check_net("data_in_0_ready", {"held_q": held}, held < self.words)
        issue = np.repeat([0, 1], len(self.source))
        twice = {name: np.tile(values, 2) for name, values in self._lasts().items()}
        cones.check_net("release_one", {"issue": issue, **twice}, issue & np.tile(self.released, 2))
        place = {"read_q": self.source} if "read_q" in cones else {}
        cones.check(cones.named("ahead"), {**place, **self._counters(), **self._lasts()}, self.ahead, "ahead")
        some, ahead = grid(held, np.unique(self.ahead))
        cones.check_net("there", {"held_q": some, "ahead": ahead}, some > ahead)
        now, fire, release = grid(held, 2, 2)
        after = now + fire - release
        possible = ((fire == 0) | (now < self.words)) & ((release == 0) | (now > 0))
        given = {"held_q": now[possible], "in_fire": fire[possible], "release_one": release[possible]}
        cones.check_register("held_q", 0, given, after[possible])

    def _check_model(self) -> None:
        """The model that predicts cycles moves so: in every read, around the number of beats that it waits for."""
        control, counts = self.component.control(), self.counts
        params = counts["block"], counts["column"], counts["row"], counts["repeat"]
        if control.kind is not UPSAMPLE or control.params != params or any(control.state()):
            raise NotProvedError("its model counts otherwise")
        reads = np.stack([self.at[name] for name in ("block", "repeat", "column", "row")], axis=1).tolist()
        ends = [k + by for name in self.at for k in np.flatnonzero(np.diff(self.at[name])).tolist() for by in (0, 1)]
        places = {0, len(reads) - 1, *ends[:: len(ends) // MODELLED + 1], *ends[-4:]}
        for read, bits in product(sorted(places), range(8)):
            near = {0, int(self.ahead[read]), int(self.ahead[read]) + 1, self.words - 1, self.words}
            for held in near & set(range(self.words + 1)):
                self._check_move(control, reads, read, held, bits)

    def _check_move(self, control: Control, reads: list[list[int]], read: int, held: int, bits: int) -> None:
        """One cycle of the model, from a read and a number of beats that are held."""
        valid, offered, out = bits & 1, bits >> 1 & 1, bits >> 2
        control.words[:] = [valid, held, *reads[read]]
        ready, there, enable = held < self.words, held > self.ahead[read], not valid or out == 1
        if control.valids != (valid == 1,) or control.readies((offered == 1,), (out == 1,)) != (ready,):
            raise NotProvedError("its model has another valid or ready")
        takes, issues = ready and offered == 1, bool(enable and there)
        control.clock((takes,), (out == 1,))
        after = held + takes - (issues and bool(self.released[read]))
        then = reads[(read + issues) % len(reads)]
        if list(control.state()) != [int(there) if enable else valid, after, *then]:
            raise NotProvedError("its model moves otherwise")
