"""The engine that runs control models: as Python and compiled it does the same, and resting is what clocking is."""

from __future__ import annotations

import copy
import random
import runpy
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from branching import ALL

from mase_hw.geometry import Geometry, Pads
from mase_hw.ir import Design, compiled, cycles, full_range, layout
from mase_hw.ir.branch_control import ConcatControl, ForkControl
from mase_hw.ir.branches import concat, fork
from mase_hw.ir.control import FOREVER, KINDS, Control, Kind, Params, SingleControl, Words, ports_of
from mase_hw.ir.cycles import Check, DeadlockError, schedule_within
from mase_hw.ir.plumbing import Fifo, SkidBuffer
from mase_hw.ir.plumbing_control import (
    SKID,
    UNLIMITED,
    FifoControl,
    GatherControl,
    PipeControl,
    ScatterControl,
    SkidControl,
)
from mase_hw.numerics import Fixed, Rounding
from mase_hw.ops import Result
from mase_hw.ops.add import add
from mase_hw.ops.linear.fold import Fold
from mase_hw.ops.linear.folded_control import FoldedControl
from mase_hw.ops.linear.make import linear
from mase_hw.ops.linear.serial_control import SerialControl
from mase_hw.ops.window.control import WideControl, WindowControl
from mase_hw.ops.window.plan import WindowPlan
from mase_hw.ops.window.reduce_control import DepthwiseControl, GlobalReduceControl, ReduceControl
from mase_hw.ops.window.upsample_control import UpsampleControl

F8 = Fixed(8, 4)
RESULT = Result(F8, Rounding.HALF_EVEN)
NEVER = 1 << 50


def _window(padding: Pads) -> WindowControl:
    return WindowControl(WindowPlan.of(Geometry.of((4, 5), (2, 2), (1, 2), padding), 2, 8, grouped=False))


CONTROLS: dict[str, Callable[[], Control]] = {
    "pipe": lambda: PipeControl(3),
    "long pipe": lambda: PipeControl(130),
    "join": lambda: PipeControl(62, 3),
    "skid": SkidControl,
    "fifo": lambda: FifoControl(3),
    "gather": lambda: GatherControl(3),
    "scatter": lambda: ScatterControl(3),
    "fork": lambda: ForkControl(3, buffered=False),
    "buffered fork": lambda: ForkControl(2, buffered=True),
    "concat": lambda: ConcatControl((2, 3)),
    "folded": lambda: FoldedControl(Fold(12, 6, 2, 3, 2, 3), 4),
    "folded in parts": lambda: FoldedControl(Fold(12, 6, 3, 6, 3, 2), 9),
    "folded, joined": lambda: FoldedControl(Fold(6, 6, 1, 1, 1, 3), 2),
    "serial": lambda: SerialControl(5, 3, 2),
    "serial, one stage": lambda: SerialControl(4, 1),
    "window": lambda: _window(((1, 1), (0, 1))),
    "window, padded by more than it reaches": lambda: _window(((3, 1), (2, 2))),
    "window, wide": lambda: WideControl((4, 5, 1, 4, 1), (5, 6, 1, 5, 2)),
    "reduce": lambda: ReduceControl(3),
    "global reduce": lambda: GlobalReduceControl(12, 3),
    "depthwise": lambda: DepthwiseControl(3, 4),
    "upsample": lambda: UpsampleControl(2, 3, 2, 2),
}


def test_every_kind_is_tried() -> None:
    tried = {make().kind.name for make in CONTROLS.values()}
    assert tried == {kind.name for kind in KINDS.values() if kind.clock.__module__.startswith("mase_hw.")}


@pytest.mark.parametrize("name", CONTROLS)
def test_resting_is_clocking_without_beats(name: str) -> None:
    """In every state of a random walk: nothing is seen outside while it rests, and it ends where clocking ends."""
    control, rng, rested = CONTROLS[name](), random.Random(0), 0
    for _ in range(3000):
        offered = ports_of(rng.getrandbits(8), control.inputs)
        outs = ports_of(rng.getrandbits(8), control.outputs)
        bits = sum(bit << k for k, bit in enumerate(outs))
        readies = control.readies(offered, outs)
        takes = tuple(a and b for a, b in zip(offered, readies, strict=True))
        if not any(takes) and not any(a and b for a, b in zip(control.valids, outs, strict=True)):
            cycles = min(control.kind.resting(control.words, control.params, bits), 40)
            first = rng.randint(0, cycles)
            jumped = copy.deepcopy(control)
            for part in (first, cycles - first):
                control.kind.rest(jumped.words, jumped.params, part, bits)
            seen = control.valids, control.readies(offered, outs)
            for _ in range(cycles):
                assert (control.valids, control.readies(offered, outs)) == seen
                control.clock((False,) * control.inputs, outs)
            assert control.valids == seen[0]  # its readies are looked at again
            assert control.state() == jumped.state()
            rested += cycles
            continue
        control.clock(takes, outs)
    assert rested


def residual(frame: tuple[int, ...], depth: int, *, lanes: int = 1) -> Design:
    """A folded branch beside a FIFO; then a second fork whose branches are concatenated."""
    weight = np.random.default_rng(0).integers(-8, 8, (4, 4))
    x = full_range("data_in_0", 4, lanes, F8, frame)
    split = fork("split", x, 2, buffered=True)
    layer = linear("fc", split.outputs[0], weight, None, F8, None, RESULT, out_lanes=lanes, folded=True, array=(2, 2))
    skip = Fifo("skip", (split.outputs[1],), (split.outputs[1].renamed("skip_out"),), depth)
    total = add("sum", [skip.output, layer.output], (1, 1), RESULT)
    again = fork("again", total.output, 2, buffered=True)
    wait = Fifo("wait", (again.outputs[1],), (again.outputs[1].renamed("wait_out"),), 9)
    both = concat("both", [again.outputs[0], wait.output])
    cut = SkidBuffer("cut", (both.output,), (both.output.renamed("data_out_0"),))
    return Design("d", (split, layer, skip, total, again, wait, both, cut))


def outcome(design: Design) -> object:
    """All that is predicted."""
    progress = design.progress
    try:
        timing = design.schedule
    except DeadlockError as error:
        return progress, error.moved
    ports = [(port.seen.tolist(), port.period, port.period_cycles) for port in (*timing.inputs, *timing.outputs)]
    return progress, timing.interval, timing.latency, timing.most, ports


def predicted(monkeypatch: pytest.MonkeyPatch, design: Design, *, plain_steps: int, large: int) -> object:
    monkeypatch.setattr(layout, "PLAIN_STEPS", plain_steps)
    monkeypatch.setattr(layout, "LARGE", large)
    return outcome(Design(design.name, design.components))


@pytest.mark.slow
def test_compiled_and_plain_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    designs = [make() for make in ALL] + [residual((3, 5), depth) for depth in (1, 2, 6, 9)] + [residual((40, 40), 9)]
    stopped = 0
    for design in designs:
        plain = predicted(monkeypatch, design, plain_steps=NEVER, large=NEVER)
        assert predicted(monkeypatch, design, plain_steps=NEVER, large=NEVER) == plain
        assert predicted(monkeypatch, design, plain_steps=NEVER, large=0) == plain  # compiled from the first step
        assert predicted(monkeypatch, design, plain_steps=77, large=NEVER) == plain  # in the middle of a run
        stopped += not plain[0].goes_on  # type: ignore[index]
    assert 0 < stopped < 4


def _never_ready_twice(s: Words, p: Params, takes: int, outs: int) -> None:
    SKID.clock(s, p, takes, outs)  # an attribute of an object: this does not compile


def test_what_does_not_compile_is_run_as_python(monkeypatch: pytest.MonkeyPatch) -> None:
    kind = Kind("own", SKID.valids, SKID.readies, _never_ready_twice, compiles=False)

    class Own(SkidBuffer):
        def control(self) -> Control:
            return SingleControl(kind, (), 2)

    monkeypatch.setattr(layout, "compiled", None)  # nobody calls it
    design = residual((30, 30), 9)
    *others, cut = design.components
    own = Own(cut.name, cut.inputs, cut.outputs)
    found = predicted(monkeypatch, Design("d", (*others, own)), plain_steps=77, large=0)
    assert found == predicted(monkeypatch, design, plain_steps=NEVER, large=NEVER)


def test_a_control_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that the page on adding an operator shows: every beat twice, and no cycle is lost."""
    monkeypatch.setattr("mase_hw.ir.control.KINDS", dict(KINDS))
    twice = runpy.run_path(str(Path(__file__).parents[1] / "ops" / "toy" / "twice.py"))
    control: SingleControl = twice["TwiceControl"]()
    rng, taken, given = random.Random(0), 0, 0
    for _ in range(500):
        out_ready = rng.random() < 0.7
        take = control.ready(out_ready) and rng.random() < 0.7
        given += control.valid and out_ready
        control.tick(take, out_ready)
        taken += take
        assert 2 * taken - given == sum(control.state())
    assert taken > 50
    x = full_range("data_in_0", 4, 1, F8)

    class Twice(SkidBuffer):
        def control(self) -> Control:
            return twice["TwiceControl"]()  # type: ignore[no-any-return]

    design = Design("d", (Twice("twice", (x,), (replace(x, name="data_out_0", frame=(2,)),)),))
    assert design.schedule.interval == 8


def test_an_unlimited_fifo_that_fills_for_ever() -> None:
    """Behind the join comes a layer that is slower than the branches: the schedule repeats all the same."""

    def slow(depth: int) -> Design:
        split, layer, skip = residual((), depth).components[:3]
        wait = Fifo("wait", (layer.output,), (layer.output.renamed("wait_out"),), depth)
        total = add("sum", [skip.output, wait.output], (1, 1), RESULT)
        weight = np.ones((8, 4), np.int64)
        last = linear("slow", total.output, weight, None, F8, None, RESULT, out_lanes=1, folded=True, array=(1, 1))
        last = replace(last, outputs=(last.output.renamed("data_out_0"),))
        return Design("d", (split, layer, skip, wait, total, last))

    timing, large = slow(UNLIMITED).schedule, slow(60).schedule
    assert (timing.most["split_out_1"], large.most["split_out_1"]) == (UNLIMITED, 60)
    assert timing.interval == large.interval
    assert timing.no_later_than(large)
    assert large.no_later_than(timing)


def test_a_late_beat_is_seen_before_anything_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted, enough, slower, stops = (residual((3, 5), depth) for depth in (40, 5, 4, 2))
    found = schedule_within(enough.components, enough.inputs, enough.outputs, wanted.schedule)
    assert found is not None
    assert found.outputs[0].seen.tolist() == enough.schedule.outputs[0].seen.tolist()
    assert slower.schedule.interval > enough.schedule.interval
    monkeypatch.setattr(cycles.Run, "_repeat", None)
    for design in (slower, stops):
        assert schedule_within(design.components, design.inputs, design.outputs, wanted.schedule) is None


@pytest.mark.parametrize(
    ("before", "now", "least", "again"), [(1, 2, 0, False), (1, 2, 1, True), (2, 1, 1, False), (0, 0, 0, True)]
)
def test_when_an_unlimited_fifo_changes_nothing(before: int, now: int, least: int, again: bool) -> None:
    """A state comes back with more beats in it only if it was not empty in between."""
    design = residual((), UNLIMITED)
    (part,) = layout.separate(design.components, design.inputs, design.outputs)
    run = cycles.Run(cycles.layout_of(part))
    run.least = [(9,), (0,), (5,), (least,)]
    assert run._comes_again(Check(1, 10, (), (before,)), Check(3, 20, (), (now,))) is again


def test_small_designs_do_without_numba() -> None:
    program = (
        "import sys; sys.path.insert(0, 'tests'); import mase_hw.emit, mase_hw.lowering.build\n"
        "from branching import ALL; print([make().schedule.latency for make in ALL], 'numba' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    said = subprocess.run([sys.executable, "-c", program], cwd=root, capture_output=True, text=True, check=True).stdout
    assert said.strip().endswith("False")


def test_what_is_compiled_is_kept_only_where_it_can_be(tmp_path: Path) -> None:
    from numba.core import config

    before = config.CACHE_DIR
    (tmp_path / "file").write_text("")
    with compiled._kept(tmp_path / "file" / "engine") as keep:
        assert not keep
    with compiled._kept(tmp_path / "engine") as keep:
        assert keep
        assert str(tmp_path / "engine") == config.CACHE_DIR
    assert before == config.CACHE_DIR


def test_another_text_is_compiled_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASE_HW_CACHE", str(tmp_path))
    folders = []
    for text in ("def clock(s, p, takes, outs):\n    s[0] = 1\n", "def clock(s, p, takes, outs):\n    s[0] = 2\n"):
        path = tmp_path / "own.py"
        path.write_text(text)
        names: dict[str, Callable[..., None]] = {}
        exec(compile(text, str(path), "exec"), names)
        folders.append(compiled._folder([names["clock"]], [SKID]))
    assert folders[0] != folders[1]
    assert folders[0].parent == tmp_path / "engine"


def test_for_ever_is_for_ever() -> None:
    """Cycles and depths are compared with it in words of 64 bits."""
    assert FOREVER + FOREVER - 1 < 1 << 63
    assert UNLIMITED == FOREVER
