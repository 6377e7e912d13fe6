"""A wide window of any frame: a walk over the frame and beyond, of which every step is known.

A step is a row and a column. What decides about it (does it take a position, does it end a window, what lies outside)
is read from the netlist for every step at once. What each register and word of the memory holds after a step follows
from the step alone, by induction over the rows and the columns; this is compared with the geometry, window by window.
"""

from __future__ import annotations

from itertools import product
from math import prod

import numpy as np

from mase_hw.ir.meaning import Windows
from mase_hw.numerics.rounding import Integers
from mase_hw.ops.window import WindowWide
from mase_hw.ops.window.control import WIDE
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.cones import Cones, grid
from mase_hw.prove.netlist.netlist import Net, Netlist
from mase_hw.prove.windows.parts import check_counter, check_moved, only_memory, words_of

FILL, UNKNOWN = -1, -2  # in the place of a position: padding, or nothing that is known


class WideProof:
    """Handshake, then values; each says how it was proved, or raises."""

    def __init__(self, component: WindowWide, netlist: Netlist) -> None:
        self.component, self.netlist = component, netlist
        self._cones: Cones | None = None
        lines = component.lines
        self.frame, self.kernel, self.reach, self.dilation = lines.frame, lines.kernel, lines.reach, lines.dilation
        self.stored = self.reach[0] - 1  # rows above the one that enters
        self.walks = component.walks
        self.steps = tuple(walk.steps for walk in self.walks)
        self.row, self.column = grid(*self.steps)

    def handshake(self) -> str:
        self._check_streams()
        cones = Cones(self.netlist)
        takes, whole = self._takes(), self._whole()
        self._check_model()
        a, b, c = grid(2, 2, cones.values("takes"))
        cones.check_net("enable", {"valid_q": a, "data_out_0_ready": b}, (1 - a) | b)
        cones.check_net("step", {"enable": a, "data_in_0_valid": b, "takes": c}, a & (b | (1 - c)))
        cones.check_net("data_in_0_ready", {"enable": a, "takes": c}, a & c)
        cones.check_net("takes", self._place(cones), takes)
        valid, enable, step, end = grid(2, 2, 2, cones.values("whole"))
        given = {"valid_q": valid, "enable": enable, "step": step, "whole": end}
        cones.check_register("valid_q", 0, given, np.where(enable, step & end, valid))
        if self.netlist.ports["data_out_0_valid"] != cones.named("valid_q"):
            raise NotProvedError("data_out_0_valid is not valid_q")
        self._check_walk(cones, whole)
        self._cones = cones
        wait = _longest(~takes & ~whole) + 2
        return (
            f"an invariant of its counters, each compared by itself, for {prod(self.steps):,} steps over the frame: "
            f"as predicted, cycle by cycle; no deadlock: a beat moves within {wait} cycles"
        )

    def values(self) -> str:
        if self._cones is None:
            raise NotProvedError("its handshake was not proved")
        columns = self._columns(self._cones)
        taps = [self._held(self._cones, i, columns[i * self.dilation[0]]) for i in range(self.kernel[0])]
        across = [j * self.dilation[1] for j in range(self.kernel[1])]
        found = np.stack([rows[at] for rows in taps for at in across], axis=1)[self._whole()]
        if not np.array_equal(found, self.component.geometry.sources):
            raise NotProvedError("a tap of some window holds another position than that of the geometry")
        width = self.component.input.width
        held = [self._cones.named(f"taps{i}_q")[at * width :][:width] for i in range(self.kernel[0]) for at in across]
        if tuple(net for nets in held for net in nets) != self.netlist.ports["data_out_0"]:
            raise NotProvedError("data_out_0 is not the registers of the taps")
        return "every position is where the walk over the frame has left it, by an invariant; padding where it lies"

    def widths(self) -> str:
        return check_moved(self.netlist)

    def _place(self, cones: Cones) -> dict[str, Integers]:
        """The counters in every step of the walk; there is none where there is nothing to count."""
        both = (("row_q", self.row), ("column_q", self.column))
        return {name: values for name, values in both if name in cones or values.any()}

    def _takes(self) -> Integers:
        return np.asarray((self.row < self.frame[0]) & (self.column < self.frame[1]))

    def _whole(self) -> Integers:
        """Whether a window ends with a step."""
        ends = []
        for walk, at in zip(self.walks, (self.row, self.column), strict=True):
            ends.append((walk.first <= at) & (at <= walk.last) & ((at - walk.first) % walk.stride == 0))
        return np.asarray(ends[0] & ends[1])

    def _check_streams(self) -> None:
        """A position in each beat of the input, a window in each of the output; as many as the geometry has."""
        x, y, meaning = self.component.input, self.component.output, self.component.meaning()
        if not isinstance(meaning, Windows) or meaning.group is not None or meaning.geometry != self.component.geometry:
            raise NotProvedError("it does not mean windows")
        sizes = x.frame, x.beats, y.beats, y.features, y.fixed, y.positions
        windows, taps = meaning.geometry.sources.shape
        wanted = meaning.geometry.frame, 1, 1, taps * x.features, x.fixed, windows
        fits = all(walk.size == size <= walk.steps for walk, size in zip(self.walks, self.frame, strict=True))
        if sizes != wanted or not fits or prod(self.frame) != x.positions or taps != prod(self.kernel):
            raise NotProvedError("its streams are not those of its windows")
        if self._whole().sum() != windows or not x.fixed.holds(meaning.fill, meaning.fill):
            raise NotProvedError("its walk does not end every window once")

    def _check_model(self) -> None:
        """The model that predicts cycles has these numbers, and moves by them at every row and at every column."""
        control, (rows, columns) = self.component.control(), self.walks
        params = [(walk.size, walk.steps, walk.first, walk.last, walk.stride) for walk in (columns, rows)]
        if control.kind is not WIDE or control.params != (*params[0], *params[1]) or any(control.state()):
            raise NotProvedError("its model counts otherwise")
        takes, whole = (each.reshape(self.steps) for each in (self._takes(), self._whole()))
        rows_at, columns_at = ({0, walk.first, walk.last, walk.size - 1, walk.steps - 1} for walk in self.walks)
        places = {*product(range(rows.steps), columns_at), *product(rows_at, range(columns.steps))}
        for (row, column), bits in product(sorted(places), range(8)):
            valid, offered, out = bits & 1, bits >> 1 & 1, bits >> 2
            control.words[:] = [valid, column, row]
            enable, inside = not valid or out == 1, bool(takes[row, column])
            if control.valids != (valid == 1,) or control.readies((offered == 1,), (out == 1,)) != (enable and inside,):
                raise NotProvedError("its model has another valid or ready")
            control.clock((bool(enable and inside and offered),), (out == 1,))
            step = enable and (offered == 1 or not inside)
            at = (row * columns.steps + column + step) % prod(self.steps)
            after = [int(step and whole[row, column]) if enable else valid, at % columns.steps, at // columns.steps]
            if list(control.state()) != after:
                raise NotProvedError("its model moves otherwise")

    def _check_walk(self, cones: Cones, whole: Integers) -> None:
        """Column by column, row by row; what counts modulo the stride is in step with them."""
        (rows, columns), column = self.walks, np.arange(self.steps[1])
        given = self._place(cones)
        if "row_end" in cones or "row_q" in given:
            ends = {"column_q": column} if "column_q" in given else {}
            cones.check_net("row_end", ends, column == columns.steps - 1)
        counted = {"row": (rows, ["step", "row_end"]), "column": (columns, ["step"])}
        for name, (walk, moves) in counted.items():
            if f"{name}_q" not in given:
                continue
            check_counter(cones, f"{name}_q", walk.steps, moves)
            if walk.stride > 1 and f"{name}_phase_q" in cones:
                at, *moved = grid(walk.steps, *map(cones.values, moves))
                after = np.where(np.all(moved, axis=0), (at + 1) % walk.steps, at)
                own = {f"{name}_q": at, f"{name}_phase_q": at % walk.stride, **dict(zip(moves, moved, strict=True))}
                if name == "column":
                    own["row_end"] = (at == walk.steps - 1).astype(np.int64)
                cones.check_register(f"{name}_phase_q", 0, own, after % walk.stride)
                given[f"{name}_phase_q"] = given[f"{name}_q"] % walk.stride
        cones.check_net("whole", given, whole)

    def _columns(self, cones: Cones) -> list[tuple[Net, ...]]:
        """The nets that carry the positions of the current column, from the highest row down to the one that enters.

        Word `k` of the memory holds, for each column, the row `stored - k` above the one that enters: with a step it
        takes what the word below held, and the last one takes what enters.
        """
        entering, width = self.netlist.ports["data_in_0"], self.component.input.width
        if not self.stored:
            return [entering]
        memory = only_memory(self.netlist, self.stored * width)
        size = self.frame[1]
        column = np.arange(size)
        if words_of(memory) < size:
            raise NotProvedError("the memory has too few words")
        cones.check(memory.ports["WR_ADDR"], {"column_q": column}, column, "the address that is written")
        step, at = grid(2, self.steps[1])
        for k, net in enumerate(memory.ports["WR_EN"]):
            cones.check([net], {"step": step, "column_q": at}, step & (at < size), f"whether bit {k} is written")
        above = memory.ports["RD_DATA"]
        if self.component.block_ram:
            above = self._read_before(cones)
        else:
            cones.check(memory.ports["RD_ADDR"], {"column_q": column}, column, "the address that is read")
        if memory.ports["WR_DATA"] != (*above[width:], *entering):
            raise NotProvedError("the memory takes something else than the rows below and what enters")
        return [above[k * width : (k + 1) * width] for k in range(self.stored)] + [entering]

    def _read_before(self, cones: Cones) -> tuple[Net, ...]:
        """A register that takes with each step what is stored of the next column, which this step does not write."""
        memory, steps = only_memory(self.netlist, self.stored * self.component.input.width), self.steps[1]
        column = np.arange(steps)
        after = (column + 1) % steps
        asked = after < self.frame[1]
        if steps == 1:
            raise NotProvedError("a column is read while it is written")
        given = {"column_q": column[asked], "row_end": (column[asked] == steps - 1).astype(np.int64)}
        cones.check(memory.ports["RD_ADDR"], given, after[asked], "the address that is read")
        step, held = cones.named("step")[0], cones.named("above_q")
        for q, d, read in zip(held, cones.after("above_q"), memory.ports["RD_DATA"], strict=True):
            if cones.chosen(d, {step: 0}) != q or cones.chosen(d, {step: 1}) != read:
                raise NotProvedError("what is read is not held from step to step")
        return held

    def _held(self, cones: Cones, i: int, source: tuple[Net, ...]) -> list[Integers]:
        """For each register of a row of taps, from the left: the position that it holds after each step."""
        row = self.row - self.stored + i * self.dilation[0]
        inside = (row >= 0) & (row < self.frame[0]) & (self.column < self.frame[1])
        taken = np.where(inside, row * self.frame[1] + self.column, UNKNOWN)
        name = f"outside{i}"
        if name in cones:
            (net,) = cones.named(name)
            taken = np.where(cones.bit(net, self._place(cones), len(row), name) == 1, FILL, taken)
        cut = "line_start" in cones
        if cut:
            cones.check_net("line_start", {"column_q": np.arange(self.steps[1])}, np.arange(self.steps[1]) == 0)
        self._check_registers(cones, i, source)
        found, last = [], self.reach[1] - 1
        for back in range(last, -1, -1):
            before = np.concatenate([np.full(back, UNKNOWN), taken])[: len(taken)]
            found.append(np.where(self.column < back, FILL, before) if cut else before)
        return found

    def _check_registers(self, cones: Cones, i: int, source: tuple[Net, ...]) -> None:
        """With a step the last one takes the column or padding, and the others what lies right of them, or padding."""
        held, width = cones.named(f"taps{i}_q"), self.component.input.width
        (step,), fill = cones.named("step"), self.component.fill
        end = len(held) - width
        if len(held) != self.reach[1] * width:
            raise NotProvedError(f"taps{i}_q has {len(held)} bits")
        bits = [str(fill >> k % self.component.input.fixed.width & 1) for k in range(width)]
        for k, (q, d) in enumerate(zip(held, cones.after(f"taps{i}_q"), strict=True)):
            padding = f"outside{i}" if k >= end else "line_start"
            selects = cones.named(padding) if padding in cones else ("0",)
            right = source[k - end] if k >= end else held[k + width]
            for value, wanted in ((0, right), (1, bits[k % width])):
                if selects[0] in ("0", "1") and selects[0] != str(value):
                    continue
                found = [cones.chosen(d, {step: moves, selects[0]: value}) for moves in (0, 1)]
                if found != [q, wanted]:
                    raise NotProvedError(f"bit {k} of taps{i}_q takes something else than what is right of it")


def _longest(waits: Integers) -> int:
    """Steps of the walk, which goes round, in which no beat moves."""
    ends = np.flatnonzero(~waits)
    if not len(ends):
        raise NotProvedError("no beat ever moves")
    return int((np.diff(np.append(ends, ends[0] + len(waits))) - 1).max())
