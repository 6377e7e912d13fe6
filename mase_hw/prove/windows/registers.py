"""The counters and the handshake of a window's netlist are those of the closed form, register by register.

What a register takes is compared with what was stated for all values of what it depends on, the others unknown. Where
that would be many, the logic is cut at nets that have names: each of these is compared by itself, and taken for any
value that it may have where it is read. Names are hints: a net that is not what its name says is not proved.
"""

from __future__ import annotations

import numpy as np

from mase_hw.numerics.rounding import Integers
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import Cones, Given, grid
from mase_hw.prove.windows.level import Level
from mase_hw.prove.windows.reads import Reads


class Registers:
    """Raises where anything is not as stated."""

    def __init__(self, reads: Reads, level: Level, cones: Cones) -> None:
        self.reads, self.level, self.cones = reads, level, cones
        self.lasts = [f"{move}_last" for move in reads.moves[:-1]]
        self.nest = [name for name, _ in reads.plan.nest]

    def check(self) -> None:
        self._check_handshake()
        self._check_nest()
        self._check_column()
        self._check_line()
        self._check_slot()
        self._check_free()
        self._check_there()
        self._check_begun()
        self._check_write()

    def _check_handshake(self) -> None:
        cones, ports = self.cones, self.cones.netlist.ports
        a, b = grid(2, 2)
        self.cones.check_net("in_fire", {"data_in_0_valid": a, "data_in_0_ready": b}, a & b)
        self.cones.check_net("enable", {"valid_q": a, "data_out_0_ready": b}, (1 - a) | b)
        self.cones.check_net("issue", {"enable": a, "there": b}, a & b)
        valid, enable, there = grid(2, 2, 2)
        given = {"valid_q": valid, "enable": enable, "there": there}
        cones.check_register("valid_q", 0, given, np.where(enable, there, valid))
        if ports["data_out_0_valid"] != cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")

    def _check_nest(self) -> None:
        for k, (name, count) in enumerate(self.reads.plan.nest):
            value, issue, *lasts = grid(count, 2, *[2] * k)
            moves = issue & np.all([np.ones_like(issue), *lasts], axis=0)
            given = {f"{name}_q": value, "issue": issue, **dict(zip(self.lasts, lasts, strict=False))}
            self.cones.check_register(f"{name}_q", 0, given, np.where(moves, (value + 1) % count, value))
            value = np.arange(count)
            self.cones.check_net(f"{name}_last", {f"{name}_q": value}, value == count - 1)
        issue, *lasts = grid(2, *[2] * len(self.nest))
        given = {"issue": issue, **dict(zip(self.lasts, lasts, strict=False))}
        self.cones.check_net("window_end", given, issue & np.all([np.ones_like(issue), *lasts], axis=0))

    def _check_column(self) -> None:
        """It counts modulo its range, from any value."""
        columns = self.reads.columns
        if "column_q" in self.cones:
            value, kind, given = self._moved(1 << self.cones.bits("column_q"))
            steps = np.array([self.reads.steps[move][0] for move in self.reads.moves])
            wanted = np.where(given["issue"], value + steps[kind], value)
            self.cones.check_register("column_q", int(columns[0, 0]), {"column_q": value, **given}, wanted)
        elif columns.any():
            raise NotProvedError("there is no column_q")
        if "column_last" in self.lasts:  # it is asked for in the last read of a window
            last = np.arange(self.reads.out[1]) == self.reads.out[1] - 1
            self.cones.check_net("column_last", {"column_q": columns[:, -1]}, last)

    def _check_line(self) -> None:
        count = self.reads.out[0]
        if count == 1:
            return
        names = ["window_end", *(["column_last"] if "column_last" in self.lasts else [])]
        value, *ends = grid(count, *[2] * len(names))
        wanted = np.where(np.all(ends, axis=0), (value + 1) % count, value)
        self.cones.check_register("line_q", 0, {"line_q": value, **dict(zip(names, ends, strict=True))}, wanted)
        self.cones.check_net("row_last", {"line_q": np.arange(count)}, np.arange(count) == count - 1)

    def _check_slot(self) -> None:
        slots = self.reads.slots
        if slots == 1:
            return
        value, kind, given = self._moved(slots)
        steps = np.array([self.reads.steps[move][1] for move in self.reads.moves])
        wanted = np.where(given["issue"], (value + steps[kind]) % slots, value)
        self.cones.check_register("slot_q", -self.reads.pad[0] % slots, {"slot_q": value, **given}, wanted)

    def _moved(self, values: int) -> tuple[Integers, Integers, dict[str, Integers]]:
        """Every value of a register with every kind of move, and none; whatever is high of what is not asked for."""
        value, issue, *lasts = grid(values, 2, *[2] * len(self.lasts))
        kind = self.reads.kinds(np.array(lasts, np.int64).T.reshape(len(value), len(lasts)))
        return value, kind, {"issue": issue, **dict(zip(self.lasts, lasts, strict=True))}

    def _check_free(self) -> None:
        """Its changes, window by window, and its next value for each of them that there is."""
        level, cones = self.level, self.cones
        free = np.array(level.free)
        if len(free) > 1 << cones.bits("free_q"):
            raise NotProvedError(f"free_q has too few bits for {free[0]} to {free[-1]}")
        self.cones.check_net("data_in_0_ready", {"free_q": free}, free > 0)
        change = cones.named("change")
        cones.check(change, {"window_end": 0}, np.array([0]), "change within a window")
        ends: dict[str, int] = {"window_end": 1}
        if "column_last" in self.lasts:
            columns = self.reads.columns[:-1, -1]
            given: Given = {**ends, "column_last": 0, "column_q": columns}
            cones.check(change, given, level.column_steps, "change from column to column")
            ends["column_last"] = 1
        if "row_last" in self.lasts:
            given = {**ends, "row_last": 0, "line_q": np.arange(self.reads.out[0] - 1)}
            cones.check(change, given, level.row_steps[:-1], "change from row to row")
            ends["row_last"] = 1
        cones.check(change, ends, level.row_steps[-1:], "change from sample to sample")
        some = np.unique([0, *level.column_steps, *level.row_steps])
        value, moved, fire = grid(free, some, 2)
        given = {"free_q": value, "change": moved, "in_fire": fire}
        cones.check_register("free_q", level.room + int(level.need[0]), given, value + moved - fire)

    def _check_there(self) -> None:
        """The OR of what depends on the counter and of what depends on the row of windows."""
        cones, level = self.cones, self.level
        mine = {*cones.named("free_q"), *(cones.named("begun_q") if level.begin else ())}
        free, begun = grid(np.array(level.free), 2 if level.begin else 1)
        line = np.arange(self.reads.out[0])
        counted, tail = np.zeros_like(free), np.zeros_like(line)
        for net in cones.alternatives("there"):
            if cones.support(net) <= mine:
                given = {"free_q": free, **({"begun_q": begun} if level.begin else {})}
                counted |= cones.bit(net, given, len(free), "there")
            else:
                tail |= cones.bit(net, {"line_q": line}, len(line), "there")
        if not np.array_equal(counted, level.there(free, level.begun(free, begun))):
            raise NotProvedError("there is another function of the counter than the one that was stated")
        if not np.array_equal(tail == 1, line > level.last_row):
            raise NotProvedError("there is another function of the row of windows than the one that was stated")

    def _check_begun(self) -> None:
        if not self.level.begin:
            return
        names = ["window_end", *(name for name in ("column_last", "row_last") if name in self.lasts)]
        free, begun, *ends = grid(np.array(self.level.free), 2, *[2] * len(names))
        given = {"free_q": free, "begun_q": begun, **dict(zip(names, ends, strict=True))}
        wanted = self.level.begun(free, begun) & ~np.all(ends, axis=0)
        self.cones.check_register("begun_q", 0, given, wanted)

    def _check_write(self) -> None:
        """The place that is written goes round, slot after slot."""
        place = self.written()
        if not place:
            return
        ring, size = self.level.ring, self.reads.row_beats
        at, fire = grid(ring, 2)
        after = np.where(fire, (at + 1) % ring, at)
        given = {"in_fire": fire, **{name: values[at] for name, values in place.items()}}
        for name, values in place.items():
            self.cones.check_register(name, 0, given, values[after])
        assert size * self.reads.slots == ring

    def written(self) -> dict[str, Integers]:
        """What the registers of the place hold, for each place in turn."""
        at, size = np.arange(self.level.ring), self.reads.row_beats
        if "write_slot_q" in self.cones:
            return {"write_slot_q": at // size, "write_column_q": at % size}
        return {"write_q": at} if len(at) > 1 else {}
