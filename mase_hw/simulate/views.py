"""Ready-made views of waves: a GTKWave save file and a Surfer command file, a group for each stream.

The test bench has a scope for each stream when it writes waves: valid, ready, and every lane as a real number, so that
any viewer shows fixed-point values as numbers.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from mase_hw.files import write_whole

ROOT = "mase_harness"
BEFORE = 40  # time steps that are shown to the left of the marker
ZOOM = 6  # Surfer's steps into the waves, by two each, before it goes to the cursor

# GTKWave's flags of a trace
_PLAIN, _REAL = "@28", "@420"
_GROUP, _GROUP_END = "@800200", "@1000200"


@dataclass(frozen=True)
class View:
    """What is shown of a stream."""

    scope: str
    title: str
    lanes: int

    @property
    def signals(self) -> list[str]:
        return ["valid", "ready", *(f"lane_{k}" for k in range(self.lanes))]


def write_views(waves: Path, views: Sequence[View], mark: int | None) -> tuple[Path, Path]:
    """Writes both files beside `waves`; `mark` is the time of a fault."""
    saved, commands = waves.with_suffix(".gtkw"), waves.with_suffix(".sucl")
    write_whole(saved, gtkwave(waves, saved, views, mark))
    write_whole(commands, surfer(views, mark))
    return saved, commands


def gtkwave(waves: Path, saved: Path, views: Sequence[View], mark: int | None) -> str:
    """With the places of both files, from which GTKWave finds the waves in a folder that was moved."""
    start = max(0, (mark or 0) - BEFORE)
    lines = [
        f'[dumpfile] "{waves.resolve()}"',
        f'[savefile] "{saved.resolve()}"',
        f"[timestart] {start}",
        "[size] 1600 900",
    ]
    lines += [f"*-3.0 {-1 if mark is None else mark}" + " -1" * 26, "[sst_expanded] 1"]
    lines += [_PLAIN, f"{ROOT}.clk", f"{ROOT}.rst"]
    for view in views:
        lines += [_GROUP, f"-{view.title}"]
        for name in view.signals:
            lines += [_REAL if name.startswith("lane") else _PLAIN, f"{ROOT}.{view.scope}.{name}"]
        lines += [_GROUP_END, f"-{view.title}"]
    return "\n".join([*lines, ""])


def surfer(views: Sequence[View], mark: int | None) -> str:
    """Commands that Surfer has had since 0.4.0."""
    lines = [f"variable_add {ROOT}.{name}" for name in ("clk", "rst")]
    for view in views:
        # A divider's name is one word of letters, digits and underscores; Surfer drops the command otherwise.
        lines.append(f"divider_add {re.sub(r'[^A-Za-z0-9_]+', '_', view.title).strip('_')}")
        lines += [f"variable_add {ROOT}.{view.scope}.{name}" for name in view.signals]
    lines.append("zoom_fit")
    if mark is not None:
        # goto_cursor moves the view only where it does not show the cursor: so zoom in first.
        lines += ["zoom_in"] * ZOOM
        lines += [f"cursor_set {mark}", "goto_cursor"]
    return "\n".join([*lines, ""])
