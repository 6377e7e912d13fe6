"""Readers: the netlist that was proved and Verilator's reading of the same files do the same, cycle by cycle.

Everything else in a certificate is about Yosys' reading of the text. Here the netlists of all components, joined as the
top's netlist says, are run on plain numbers in a random environment: data of all kinds, stalls, resets in the middle of
vectors. What was put there is replayed on what Verilator made of the files. Every data, valid, ready and enable of the
design and of every component in it is compared in every cycle, data wherever its valid is high. The two start with
different bits in their registers. This is a test, not a proof: it shows where the readers differ, if it meets that.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mase_hw.diagnostics import ProblemsError
from mase_hw.emit.axis import CLOCK, RESET, AxisPort, AxisTop
from mase_hw.ir import Component, Design, Pipe
from mase_hw.prove.claims.claim import NotProvedError
from mase_hw.prove.netlist.environment import FIRST, RUNS, Environment, SinkPort, SourcePort
from mase_hw.prove.netlist.netlist import Net, Netlist, component_of
from mase_hw.prove.netlist.program import Program, program_of
from mase_hw.prove.netlist.runner import record
from mase_hw.prove.netlist.whole import Part, Whole, check_drivers, join
from mase_hw.simulate.process import Background
from mase_hw.simulate.replay import Driven, Replay, Watched, Words, build_replay, harness

HARNESS = "mase_readers"
WORK = 150_000_000  # gates computed in all, 64 runs at once: some tenths of a second
MAX_WORK = 20 * WORK  # where that is less than three vectors
MOST = 2048  # cycles
MAX_BITS = 1 << 26  # that are recorded, for each run


@dataclass(frozen=True)
class Outside:
    """What is around the module that is replayed: how it is called, its ports and where the design is in it."""

    module: str
    clock: str
    reset: str
    active: int
    sources: tuple[tuple[str, str, str, str, int, int, int], ...]  # data, valid, ready, last; width, stride, bits
    sinks: tuple[tuple[str, str, str, int], ...]  # data, valid, ready, bits
    more: tuple[Watched, ...]  # its own outputs
    inside: str  # the place of the design, with a dot

    @property
    def driven(self) -> list[Driven]:
        """In the order of `Environment.inputs`."""
        found = [Driven(self.reset, 1), *(Driven(ready, 1) for _, _, ready, _ in self.sinks)]
        for data, valid, _, last, _, _, bits in self.sources:
            found += [Driven(valid, 1), *([Driven(last, 1)] if last else []), Driven(data, bits)]
        return found


def plain(design: Design) -> Outside:
    """The design's own top."""
    sources = tuple(
        (x.name, f"{x.name}_valid", f"{x.name}_ready", "", x.fixed.width, x.fixed.width, x.width) for x in design.inputs
    )
    sinks = tuple((y.name, f"{y.name}_valid", f"{y.name}_ready", y.width) for y in design.outputs)
    more = [Watched(ready, 1) for _, _, ready, *_ in sources]
    for data, valid, _, bits in sinks:
        more += [Watched(valid, 1), Watched(data, bits, valid)]
    return Outside(design.name, "clk", "rst", 1, sources, sinks, tuple(more), "")


def wrapped(axis: AxisTop, inside: str) -> Outside:
    """The AXI4-Stream top around the design, which is its instance `inside`."""

    def names(port: AxisPort) -> tuple[str, str, str]:
        return f"{port.prefix}_tdata", f"{port.prefix}_tvalid", f"{port.prefix}_tready"

    sources = tuple(
        (*names(port), f"{port.prefix}_tlast", port.stream.fixed.width, port.lane_bits, port.tdata_width)
        for port in axis.inputs
    )
    sinks = tuple((*names(port), port.tdata_width) for port in axis.outputs)
    more = [Watched("tlast_error", 1), Watched("tlast_error_count", 16)]
    more += [Watched(ready, 1) for _, _, ready, *_ in sources]
    for port, (data, valid, _, bits) in zip(axis.outputs, sinks, strict=True):
        more += [Watched(valid, 1), Watched(data, bits, valid), Watched(f"{port.prefix}_tlast", 1, valid)]
    return Outside(axis.module, CLOCK, RESET, 0, sources, sinks, tuple(more), f"{inside}.")


def watched(design: Design, outside: Outside) -> list[Watched]:
    """Every port of the top and of every component."""
    found = list(outside.more)
    for component in design.components:
        found += [
            Watched(
                f"{outside.inside}u_{component.name}.{port}",
                width,
                when and f"{outside.inside}u_{component.name}.{when}",
            )
            for port, width, when in _ports(component)
        ]
    return found


def _ports(component: Component) -> Iterator[tuple[str, int, str]]:
    """Name, width and the valid that it goes with."""
    pipe = isinstance(component, Pipe)
    if pipe:
        yield "enable", 1, ""
    for k, x in enumerate(component.inputs):
        valid = "data_in_0_valid" if pipe else f"data_in_{k}_valid"
        if k == 0 or not pipe:
            yield valid, 1, ""
        if not pipe:
            yield f"data_in_{k}_ready", 1, ""
        yield f"data_in_{k}", x.width, valid
    for k, y in enumerate(component.outputs):
        yield f"data_out_{k}_valid", 1, ""
        if not pipe:
            yield f"data_out_{k}_ready", 1, ""
        yield f"data_out_{k}", y.width, f"data_out_{k}_valid"


class Readers:
    """The claim, begun: Verilator and the compiler are at work, while others prove."""

    def __init__(self, design: Design, files: Sequence[Path], axis: AxisTop | None = None) -> None:
        self.design = design
        self.outside = plain(design) if axis is None else wrapped(axis, "u_design")
        self.watched = watched(design, self.outside)
        name = HARNESS
        while name in {path.stem for path in files}:
            name += "_"
        outside = self.outside
        text = harness(name, outside.module, outside.clock, outside.driven, self.watched)
        # Loaded at once: others share the cache, and may prune it before the proofs have ended.
        self._library = Background(lambda: Replay(build_replay(files, name, text)))

    def __enter__(self) -> Readers:
        self._library.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._library.__exit__(None, None, None)

    def compare(self, netlists: Mapping[str, Netlist], wrapper: Netlist | None = None) -> str:
        """How they were found to agree; raises where they differ, or nothing could be found out."""
        program, whole, around = self._program(netlists, wrapper)
        cycles = self._cycles(program)
        usual = int(self.design.schedule.latency + self.design.schedule.interval) + 2
        try:
            found = record(program, around, self._nets(whole), cycles, usual)
            replay = self._library.result()
        except ProblemsError as error:
            raise NotProvedError(f"Verilator's reading cannot be run: {error.problems[0].message}") from error
        for run in range(RUNS):
            got = replay.run(found.given[run], found.seen[run], FIRST - 1, run + 1, random=run % 4 != 0)
            if isinstance(got, str):
                raise NotProvedError(f"Verilator's reading stops the simulation: {got}", refuted=True)
            if got is not None:
                raise NotProvedError(self._said(run, got.cycle, found.seen[run, got.cycle], got.got), refuted=True)
        vectors = [int(beats) // y.sample_beats for beats, y in zip(found.offered, self.design.outputs, strict=True)]
        if not min(vectors):
            raise NotProvedError(f"no output came within {cycles:,} cycles, so nothing was compared")
        text = f"{RUNS} runs of {cycles:,} cycles with stalls and resets, {min(vectors):,} vectors given"
        return f"{text}: all {len(self.watched)} ports of the top and its components alike in every cycle"

    def _program(self, netlists: Mapping[str, Netlist], wrapper: Netlist | None) -> tuple[Program, Whole, Environment]:
        design, top = self.design, netlists[""]
        inside = {
            cell.type: netlists[component_of(cell.type, design.name)]
            for cell in top.cells
            if component_of(cell.type, design.name) in netlists and "$" in cell.type[1:]
        }
        whole = join(top, inside) if wrapper is None else join(wrapper, {**inside, design.name: top})
        nets, outside = whole.netlist.ports, self.outside
        with _missing():
            around = Environment(
                nets[outside.reset][0],
                outside.active,
                tuple(
                    SourcePort(nets[valid][0], nets[ready][0], nets[data], width, stride, nets[last] if last else ())
                    for data, valid, ready, last, width, stride, _ in outside.sources
                ),
                tuple(SinkPort(nets[valid][0], nets[ready][0]) for _, valid, ready, _ in outside.sinks),
            )
        check_drivers(whole.netlist, [*around.inputs, *nets[outside.clock]])
        return program_of(whole.netlist, [*around.inputs, *nets[outside.clock]]), whole, around

    def _nets(self, whole: Whole) -> list[tuple[Net, Net]]:
        """Of every bit that is watched: its net, and the one that has to be high."""
        parts: dict[str, Part] = {part.path: part for part in whole.parts}

        def nets(place: str) -> tuple[Net, ...]:
            path, _, port = place.rpartition(".")
            with _missing():
                return parts[path].ports[port]

        found: list[tuple[Net, Net]] = []
        for each in self.watched:
            own, when = nets(each.place), nets(each.when)[0] if each.when else "1"
            if len(own) != each.width:
                raise NotProvedError(f"{each.place} has {len(own)} bits, not {each.width}")
            found += [(net, when) for net in own]
        return found

    def _cycles(self, program: Program) -> int:
        """So many that it takes little time; where a vector takes long, three of them, if they can be had."""
        bits = sum(each.width for each in self.watched) + sum(each.width for each in self.outside.driven)
        size, room = max(1, len(program.gates)), max(1, MAX_BITS // bits)
        usual = self.design.schedule.latency + 3 * int(self.design.schedule.interval + 1)
        return int(min(room, max(min(MOST, WORK // size), min(usual, MAX_WORK // size), 64)))

    def _said(self, run: int, cycle: int, seen: Words, got: Words) -> str:
        """The first port that differs, with both values."""
        mine, other = (int.from_bytes(words.tobytes(), "little") for words in (seen, got))
        at = 0
        for each in self.watched:
            mask = (1 << each.width) - 1
            a, b = (mine >> at) & mask, (other >> at) & mask
            if a != b:
                text = f"run {run}, cycle {cycle}: {each.place} is {each.width}'h{a:x} in the netlist that was proved"
                return f"{text}, and {each.width}'h{b:x} as Verilator reads the files"
            at += each.width
        raise AssertionError("nothing differs")


@contextlib.contextmanager
def _missing() -> Iterator[None]:
    try:
        yield
    except KeyError as error:
        raise NotProvedError(f"there is no {error.args[0]}") from error
