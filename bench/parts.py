"""The parts of `bench/hardware.py`: which designs each one builds, and which figures it judges.

A part starts its synthesis in the background and gives a function that waits for it, so that all parts run together.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import growing
import nets
import peers
from counting import say
from lab import Figure, Lab, Line, Ours, Part, at_most, yes
from peers import Pipelining

from mase_hw.emit import Build
from mase_hw.simulate import simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.stimulus import stimulus

Finish = Callable[[], Part]
Start = Callable[[Lab], Finish]

INTERVALS = tuple(1 << k for k in range(11))
MASE = {32: 13_558, 1024: 6_850}  # LUT cells of MASE's own RTL for the layer, by interval; its sites are no fewer
SMALL = nets.random_net((16, 32, 5), 6, 3)
LARGE = nets.random_net(growing.LARGE, 8, 4)
LAYER = nets.random_net((16, 64), 8, 4, narrow=True)
EVERY_CYCLE = "[hardware]\ntarget_interval = 1\n"
DEEP = Pipelining(7, 9)  # about as many cycles as ours
REPEATS = 3
FLAT = 2.0  # how much dearer a weight may be in a larger net


def _folded(p_in: int, p_out: int) -> str:
    text = '[passes.hardware]\nby = "type"\n[passes.hardware.linear.config]\nimplementation = "folded"\n'
    return f"{text}array_in = {p_in}\narray_out = {p_out}\n"


def _at(interval: int) -> str:
    return f"[hardware]\ntarget_interval = {interval}\n"


def against_peers(name: str, net: nets.Net, sites: int, cycles: int, how: Pipelining) -> Start:
    """A net at interval 1, with absolute limits."""

    def start(lab: Lab) -> Finish:
        ours = lab.ours(name, net, EVERY_CYCLE)
        others = [lab.peer(peer, name, net, how) for peer in peers.PEERS]

        def finish() -> Part:
            part = Part(name, net.name, [ours.line(), *(line for other in others for line in other.lines())])
            part.figures = [at_most("sites", ours.sites(), sites), at_most("cycles", ours.latency, cycles)]
            part.figures += [yes("exact", ours.exact), at_most("interval", ours.interval, 1)]
            return part

        return finish

    return start


def norm(lab: Lab) -> Finish:
    """A batch norm in front of the large net, against the same without it."""
    plain = lab.ours("large", LARGE, EVERY_CYCLE)
    normed = lab.ours("norm", nets.with_norm(LARGE), EVERY_CYCLE)

    def finish() -> Part:
        part = Part("norm", f"{LARGE.name}: a BatchNorm1d in front", [plain.line("without"), normed.line("with")])
        with_it, without = normed.sites(), plain.sites()
        ratio = with_it / without if with_it and without else None
        part.figures = [at_most("sites, ratio to the net without", ratio, 1.3), yes("exact", normed.exact)]
        return part

    return finish


def trained(lab: Lab) -> Finish:
    """Weights that training made, against the better of the peers in its better variant."""
    found = []
    for b, f in ((8, 4), (6, 3)):
        net = nets.trained_net(lab.trained, b, f)
        name = f"trained {b} bit"
        others = [lab.peer(peer, name, net, DEEP) for peer in peers.PEERS]
        found.append((net, lab.ours(name, net, EVERY_CYCLE), others))

    def finish() -> Part:
        part = Part("trained", "a trained net, interval 1")
        for net, ours, others in found:
            part.lines += [Line(net.name, {}), ours.line(), *(line for other in others for line in other.lines())]
            sites, best = ours.sites(), min(filter(None, (other.best() for other in others)), default=None)
            ratio = sites / best if sites and best else None
            part.figures += [at_most(f"{net.width} bit: sites, ratio to the best peer", ratio, 0.95)]
            part.figures += [yes(f"{net.width} bit: exact", ours.exact)]
        return part

    return finish


def folded(lab: Lab) -> Finish:
    """One layer on arrays of multipliers that the user names."""
    limits = {(1, 1): (350, 1024), (4, 8): (3200, 32)}
    found = {size: lab.ours("folded {}x{}".format(*size), LAYER, _folded(*size)) for size in limits}

    def finish() -> Part:
        part = Part("folded", f"{LAYER.name}, one layer, folded; MASE's RTL: 6,850 LUT for 1x1, 13,558 for 4x8")
        for size, ours in found.items():
            name, (sites, interval) = "{}x{}".format(*size), limits[size]
            part.lines.append(ours.line(name))
            part.figures += [at_most(f"{name}: sites", ours.sites(), sites), yes(f"{name}: exact", ours.exact)]
            part.figures += [at_most(f"{name}: interval", ours.interval, interval)]
        return part

    return finish


def intervals(lab: Lab) -> Finish:
    """One layer at every interval, implementation and parallelism left to the tool."""
    found = {interval: lab.ours(f"interval {interval}", LAYER, _at(interval)) for interval in INTERVALS}
    others = [lab.peer(peer, "layer", LAYER, Pipelining(6, 2)) for peer in peers.PEERS]

    def finish() -> Part:
        part = Part("intervals", f"{LAYER.name}, one layer, target_interval alone")
        part.lines = [ours.line(f"{interval}: {_chosen(ours)}") for interval, ours in found.items()]
        part.lines += [line for other in others for line in other.lines()]
        part.figures = [_falls("sites", found), _falls("sites and LUT RAM", found, ram=True)]
        slow = [interval for interval, ours in found.items() if ours.interval > interval]
        part.figures.append(Figure("intervals kept", f"all but {slow}" if slow else "all", "all", not slow))
        peer = min(filter(None, (other.best() for other in others)), default=None)
        for interval, limit in {1: peer, **MASE}.items():
            if limit is not None:
                who = "a peer" if interval == 1 else "MASE's RTL"
                part.figures.append(at_most(f"interval {interval}: sites, {who}", found[interval].sites(), limit))
        part.figures.append(yes("exact, all", all(ours.exact for ours in found.values())))
        return part

    return finish


def _falls(what: str, found: dict[int, Ours], ram: bool = False) -> Figure:
    costs = [ours.counted.result().cost for ours in found.values()]
    counts = [cost.logic if ram else cost.sites for cost in costs if cost]
    falls = sum(after < before for before, after in pairwise(counts))
    ok = falls == len(costs) - 1 if all(costs) else None
    return Figure(f"{what} falls at every step", f"at {falls} of {len(costs) - 1}", "all", ok)


def _chosen(ours: Ours) -> str:
    return str(ours.build.manifest["nodes"][0]["implementation"])


def cycles(lab: Lab) -> Finish:
    """Every design of the other parts through Verilator: all streams compared, and every cycle at both ends."""
    wanted = {
        "small": (SMALL, EVERY_CYCLE),
        "large": (LARGE, EVERY_CYCLE),
        "norm": (nets.with_norm(LARGE), EVERY_CYCLE),
    }
    for b, f in ((8, 4), (6, 3)):
        wanted[f"trained {b} bit"] = nets.trained_net(lab.trained, b, f), EVERY_CYCLE
    wanted |= {f"folded {p}x{q}": (LAYER, _folded(p, q)) for p, q in ((1, 1), (4, 8))}
    wanted |= {f"interval {interval}": (LAYER, _at(interval)) for interval in INTERVALS}

    def finish() -> Part:
        part = Part("cycles", "predicted against simulated cycles, never stalled")
        equal = 0
        for name, (net, hardware) in wanted.items():
            part.lines.append(_simulated(name, lab.emit(name, net, hardware), lab.folder / "sim"))
            equal += part.lines[-1].values["equal"] == "yes"
        value = f"{equal} of {len(wanted)} designs"
        part.figures = [
            Figure("predicted equal to simulated, and every integer right", value, "all", equal == len(wanted))
        ]
        return part

    return finish


def _simulated(name: str, build: Build, work: Path) -> Line:
    say(f"simulate: {name}")
    design = build.design
    interval = design.schedule.interval
    vectors = max(8, min(64, 4096 // int(interval)))
    request = SimRequest(vectors=vectors, patterns=("none",))
    job = make_job(design, tuple(build.rtl), stimulus(design, vectors, 0), request, None)
    outcome = simulate(job, work / name.replace(" ", "_"))
    values: dict[str, float | str | None] = {"cycles": design.schedule.latency, "interval": float(interval)}
    if not outcome.patterns:
        return Line(name, {**values, "equal": "NO"}, outcome.failures[0])
    seen = outcome.pattern("none")
    values |= {"cycles simulated": seen.latency, "interval simulated": seen.interval, "vectors": seen.vectors}
    return Line(name, {**values, "equal": "yes" if outcome.passed else "NO"}, "; ".join(outcome.failures))


def emit(lab: Lab) -> Part:
    """From the TOML to the build folder, beside what da4ml takes for the same net, one after the other."""
    part = Part("emit", f"{LARGE.name}: time to write it, imports aside, the quickest of {REPEATS}")
    runs: dict[str, list[growing.Taken]] = {"mase-hw": [], "da4ml": []}
    best: dict[str, dict[str, float]] = {}
    for _ in range(REPEATS):
        for name, job in (("mase-hw", "emit"), ("da4ml", "da4ml")):
            if name == "mase-hw" or peers.installed(name):
                say(f"time: {name}")
                runs[name].append(growing.measure(job))
    for name, taken in runs.items():
        if not taken:
            part.lines.append(Line(name, {}, "not installed"))
            continue
        best[name] = {"s": min(run.seconds for run in taken), "CPU s": min(run.cpu for run in taken)}
        part.lines.append(Line(name, {**best[name], "MB": min(run.megabytes for run in taken)}))
    both = all(runs.values())
    for unit in ("s", "CPU s"):
        ratio = best["mase-hw"][unit] / best["da4ml"][unit] if both else None
        part.figures.append(at_most(f"{unit}, ratio to da4ml", ratio, 1.5))
    return part


def growth(lab: Lab) -> Part:
    """Seconds per weight as a net grows."""
    part = Part("growth", "emit as a net grows, imports aside")
    kinds = {"folded": ("folded, one layer", growing.FOLDED), "deep": ("unrolled, layers of 32 x 32", growing.DEEP)}
    kinds["wide"] = ("unrolled, one layer", growing.WIDE)
    for kind, (title, sizes) in kinds.items():
        each, peak = [], 0.0
        for size in sizes:
            say(f"time: {title}, {size}")
            taken = growing.measure(f"{kind}:{size}", repeats=2 if size <= sizes[1] else 1)
            each.append(taken.cpu / taken.weights)
            peak = max(peak, taken.megabytes)
            values = {"weights": taken.weights, "s": taken.seconds, "CPU s": taken.cpu, "µs a weight": each[-1] * 1e6}
            part.lines.append(Line(title, {**values, "MB": taken.megabytes}))
        dearer = max(after / before for k, before in enumerate(each) for after in each[k:])
        part.figures.append(at_most(f"{title}: a weight is dearer in a larger net, times", dearer, FLAT))
        if kind == "folded":
            part.figures.append(at_most("folded, 1M weights: MB", peak, 4096))
    return part


TIMED = {"emit": emit, "growth": growth}  # these come first, while nothing else runs
STARTS: dict[str, Start] = {
    "small": against_peers("small", SMALL, 5_000, 5, Pipelining(6, 4)),
    "large": against_peers("large", LARGE, 40_000, 9, DEEP),
    "norm": norm,
    "trained": trained,
    "folded": folded,
    "intervals": intervals,
    "cycles": cycles,
}
