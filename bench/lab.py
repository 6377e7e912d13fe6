"""What the parts of `bench/hardware.py` share: designs being built and counted, and lines and figures to print."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path

import nets
import numpy as np
import peers
from counting import Counted, Counter, say

from mase_hw import flow
from mase_hw.config_file import load_config
from mase_hw.emit import Build

CHECKED = 20_000  # random vectors


@dataclass(frozen=True)
class Line:
    """A design, or a run of a tool: numbers by column. None is shown as `why`."""

    name: str
    values: Mapping[str, float | str | None]
    why: str = ""


@dataclass(frozen=True)
class Figure:
    """A figure with what it must reach. `ok` is None where it cannot be judged."""

    what: str
    value: str
    target: str
    ok: bool | None


@dataclass
class Part:
    """What is printed and written for one part."""

    name: str
    title: str
    lines: list[Line] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)


@dataclass(frozen=True)
class Lab:
    """What all parts share."""

    folder: Path
    counter: Counter
    unkept: bool  # also synthesize the peers' RTL as they write it
    trained: Path | None

    def emit(self, name: str, net: nets.Net, hardware: str) -> Build:
        """The public way, from files that a user would write."""
        say(f"emit: {name}")
        folder = self.folder / name.replace(" ", "_")
        build, *_ = flow.emit(load_config(net.write(folder, hardware)), folder / "build")
        return build

    def ours(self, name: str, net: nets.Net, hardware: str) -> Ours:
        """Emitted, its integer reference compared with the net's own arithmetic, and its cells being counted."""
        build = self.emit(name, net, hardware)
        x = net.vectors(CHECKED)
        exact = bool(np.array_equal(build.design.run(x)[build.design.output.name], net.reference(x)))
        return Ours(name, build, exact, self.counter.submit(f"{name}, mase-hw", build.rtl, build.manifest["top"]))

    def peer(self, name: str, of: str, net: nets.Net, pipelining: peers.Pipelining) -> Peer:
        if not peers.installed(name):
            return Peer(name, None, {})
        say(f"{name}: {of}")
        written = peers.write(name, net, self.folder / of.replace(" ", "_") / name, pipelining)
        variants = {"kept": written.kept} | ({"as written": written.plain} if self.unkept else {})
        found = {kind: self.counter.submit(f"{of}, {name}, {kind}", v, peers.TOP) for kind, v in variants.items()}
        return Peer(name, written, found)


@dataclass(frozen=True)
class Ours:
    """A design of ours whose cells are being counted."""

    name: str
    build: Build
    exact: bool
    counted: Future[Counted]

    @property
    def interval(self) -> float:
        return float(self.build.design.schedule.interval)

    @property
    def latency(self) -> int:
        return int(self.build.design.schedule.latency)

    @property
    def predicted(self) -> int:
        return int(self.build.design.cost().sites)

    def sites(self) -> int | None:
        cost = self.counted.result().cost
        return cost.sites if cost else None

    def line(self, name: str = "mase-hw") -> Line:
        cycles = {"cycles": self.latency, "interval": self.interval, "exact": "yes" if self.exact else "NO"}
        return _line(name, self.counted.result(), {**cycles, "sites predicted": self.predicted})


@dataclass(frozen=True)
class Peer:
    """A peer's design, in its variants."""

    name: str
    written: peers.Written | None
    counted: Mapping[str, Future[Counted]]

    def best(self) -> int | None:
        """The fewest LUT sites of the variants that were synthesized."""
        costs = [future.result().cost for future in self.counted.values()]
        return min((cost.sites for cost in costs if cost), default=None)

    def lines(self) -> list[Line]:
        if self.written is None:
            return [Line(self.name, {}, "not installed")]
        values = {"cycles": self.written.cycles, "interval": 1, "exact": "yes" if self.written.exact else "NO"}
        title = peers.title(self.name)
        return [_line(f"{title}, {kind}", future.result(), values) for kind, future in self.counted.items()]


def _line(name: str, counted: Counted, values: Mapping[str, float | str | None]) -> Line:
    cost = counted.cost
    if cost is None:
        return Line(name, values, counted.why)
    cells = {
        "sites": cost.sites,
        "LUT": cost.lut,
        "LUT RAM": cost.lutram,
        "FF": cost.ff,
        "BRAM": cost.bram,
        "depth": cost.depth,
    }
    return Line(name, {**cells, **values, "Yosys s": counted.seconds})


def at_most(what: str, value: float | None, limit: float) -> Figure:
    shown = "not measured" if value is None else _shown(value)
    return Figure(what, shown, f"<= {_shown(limit)}", None if value is None else value <= limit)


def _shown(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def yes(what: str, value: bool) -> Figure:
    return Figure(what, "yes" if value else "no", "yes", value)
