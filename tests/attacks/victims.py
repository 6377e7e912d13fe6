"""What is attacked: a small emitted build of each kind, and how one is changed by somebody who knows what he does."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import branching
import numpy as np

from mase_hw.emit import write_build
from mase_hw.geometry import Geometry
from mase_hw.ir import Component, Design, Stream, full_range
from mase_hw.ir.plumbing import Fifo, Gather, Scatter, SkidBuffer
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result, cast
from mase_hw.ops.affine import align
from mase_hw.ops.linear.make import linear
from mase_hw.ops.thresholds import thresholds
from mase_hw.ops.window import depthwise, global_sum, reduce_sum, upsample, window, window_wide

F4 = Fixed(4, 2)
RESULT = Result(F4, Rounding.HALF_EVEN)
Change = Callable[[Path, Path], None]  # of a build; the second folder is not the build's, and must stay as it is
End = Literal["refused", "not proved", "harmless"]


@dataclass(frozen=True)
class Attack:
    """A change of a build, how `prove` must end, and what it must say (a pattern; any text, where there is none).

    Refused: no claim is made. Not proved: some claim is FALSE or open. Harmless: all is proved, and the simulation
    shows that all is right. `alone`: the command is a process of its own in the build's folder, which must end.
    """

    name: str
    victim: str
    change: Change
    end: End
    says: str = ""
    alone: bool = False


def _dense(name: str, x: Stream, outputs: int, seed: int) -> Component:
    rng = np.random.default_rng(seed)
    weight, bias = rng.integers(-7, 8, (outputs, x.features)), rng.integers(-7, 8, outputs)
    return linear(name, x, weight, bias, F4, F4, RESULT, out_lanes=outputs, folded=False)


def pipes() -> Design:
    """Two unrolled layers, of which one valid and one enable leads through both."""
    first = _dense("fc1", full_range("data_in_0", 3, 3, F4), 2, 0)
    return _checked(first, _dense("fc2", first.output, 2, 1))


def streams() -> Design:
    """Narrower beats, two registers, a FIFO, wide beats again, and a cast."""
    x = full_range("data_in_0", 4, 4, F4)
    scatter = Scatter("scatter", (x,), (x.with_lanes("scatter_out", 2),))
    skid = SkidBuffer("skid", scatter.outputs, (scatter.output.renamed("skid_out"),))
    fifo = Fifo("fifo", skid.outputs, (skid.output.renamed("fifo_out"),), 3)
    gather = Gather("gather", fifo.outputs, (fifo.output.with_lanes("gather_out", 4),))
    held = SkidBuffer("held", gather.outputs, (gather.output.renamed("held_out"),))
    return _checked(scatter, skid, fifo, gather, held, cast("cast", held.output, Result(Fixed(3, 1), Rounding.FLOOR)))


def folded() -> Design:
    rng = np.random.default_rng(0)
    x = full_range("data_in_0", 4, 2, F4)
    weight, bias = rng.integers(-7, 8, (3, 4)), rng.integers(-7, 8, 3)
    return _checked(linear("fc", x, weight, bias, F4, F4, RESULT, out_lanes=3, folded=True, array=(2, 3)))


def branched() -> Design:
    """A fork, two branches, a FIFO, a concatenation."""
    return branching.queued("net")


def pooled() -> Design:
    """A FIFO in front of a window with padding, and the average of its nine taps: a quotient."""
    x = full_range("data_in_0", 2, 1, F4, (3, 3))
    ahead = Fifo("ahead", (x,), (x.renamed("ahead_out"),), 4)
    taken = window("window", ahead.output, Geometry.of((3, 3), (3, 3), (2, 2), ((1, 1), (1, 1))), grouped=True)
    return _checked(ahead, taken, reduce_sum("pool", taken.output, RESULT, 9))


def wide() -> Design:
    """All taps of a window at once."""
    x = full_range("data_in_0", 1, 1, F4, (3, 3))
    return _checked(window_wide("taps", x, Geometry.of((3, 3), (2, 2), (1, 1), ((1, 0), (1, 0)))))


def enlarged() -> Design:
    """Upsampled, and the average of all positions: a quotient."""
    up = upsample("up", full_range("data_in_0", 2, 1, F4, (1, 3)), (2, 2))
    return _checked(up, global_sum("mean", up.output, RESULT))


def weighted() -> Design:
    """A depthwise convolution over windows, and thresholds in two beats of one lane."""
    x = full_range("data_in_0", 2, 1, F4, (3, 3))
    taken = window("window", x, Geometry.of((3, 3), (2, 2)), grouped=True)
    weight, bias = np.array([[3, -5, 7, 1], [-2, 6, -7, 5]]), np.array([3, -4])
    layer = depthwise("fc", taken.output, weight, bias, align(F4, F4, F4), RESULT)
    limits = np.array([[-6, -1, 4], [-3, 2, 5]])
    held = SkidBuffer("held", layer.outputs, (layer.output.renamed("held_out"),))
    return _checked(taken, layer, held, thresholds("steps", held.output, limits, (np.arange(4), 0), None))


VICTIMS: dict[str, Callable[[], Design]] = {
    "pipes": pipes, "streams": streams, "folded": folded, "branched": branched, "axis": folded,
    "pooled": pooled, "wide": wide, "enlarged": enlarged, "axis of frames": pooled,
    "weighted": weighted,
}  # fmt: skip


def _checked(*components: Component) -> Design:
    last = components[-1]
    design = Design("net", (*components[:-1], replace(last, outputs=(last.output.renamed("data_out_0"),))))
    design.verify()
    return design


def emit(name: str, folder: Path) -> Path:
    return write_build(
        folder, VICTIMS[name](), {}, None, interface="axis" if name.startswith("axis") else "stream"
    ).path


def edit(file: str, old: str, new: str) -> Change:
    """One text in a file of the RTL becomes another."""

    def change(build: Path, _: Path) -> None:
        path = build / "rtl" / file
        text = path.read_text("utf-8")
        assert text.count(old) == 1, f"{file} has {text.count(old)} of {old!r}:\n{text}"
        path.write_text(text.replace(old, new), encoding="utf-8")
        seal(build)

    return change


def within(file: str, text: str) -> Change:
    """A file's module has this text at its end."""

    def change(build: Path, outside: Path) -> None:
        path = build / "rtl" / file
        body, end, rest = path.read_text("utf-8").rpartition("endmodule")
        path.write_text(f"{body}{text.replace('OUTSIDE', str(outside))}\n{end}{rest}", encoding="utf-8")
        seal(build)

    return change


def before(file: str, text: str) -> Change:
    """A file begins with this text, behind its licence."""

    def change(build: Path, outside: Path) -> None:
        path = build / "rtl" / file
        line, end, rest = path.read_text("utf-8").partition("\n")
        path.write_text(line + end + text.replace("OUTSIDE", str(outside)) + "\n" + rest, encoding="utf-8")
        seal(build)

    return change


def both(*changes: Change) -> Change:
    def change(build: Path, outside: Path) -> None:
        for each in changes:
            each(build, outside)

    return change


def manifest(edit: Callable[[dict[str, Any]], object]) -> Change:
    """The manifest has other values."""

    def change(build: Path, _: Path) -> None:
        path = build / "manifest.json"
        found = json.loads(path.read_text("utf-8"))
        edit(found)
        path.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")

    return change


def seal(build: Path) -> None:
    """The hashes in the manifest are those of the files: who changes one changes the other."""

    def edited(found: dict[str, Any]) -> None:
        for entry in [*found["files"], found["parameters"]]:
            entry["sha256"] = hashlib.sha256((build / entry["path"]).read_bytes()).hexdigest()

    manifest(edited)(build, build)


def arrays(edit: Callable[[dict[str, Any]], object]) -> Change:
    """The parameters have other values."""

    def change(build: Path, _: Path) -> None:
        with np.load(build / "parameters.npz") as held:
            found = dict(held)
        edit(found)
        np.savez(build / "parameters.npz", **found)
        seal(build)

    return change
