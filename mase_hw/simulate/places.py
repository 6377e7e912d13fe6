"""What a failure calls an element of a stream: its vector, or its sample and where in the frame it lies."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mase_hw.ir import Design, Stream
from mase_hw.ir.meaning import Windows

_AXES = {1: ("position",), 2: ("row", "column"), 3: ("row", "column", "group")}


def axes(design: Design, stream: Stream) -> tuple[str, ...]:
    """The names of a frame's dimensions and of what a vector holds; none where a sample is one vector."""
    if not stream.frame:
        return ()
    writer = design.writers.get(stream.name)
    taps = writer is not None and isinstance(writer.meaning(), Windows)
    return (*_AXES[len(stream.frame)], "element" if taps else "channel")


def place(vector: int, element: int, frame: Sequence[int], names: Sequence[str]) -> str:
    """`sim.judge` says it in the same words."""
    if not frame:
        return f"vector {vector} element {element}"
    sample, *position = (int(i) for i in np.unravel_index(vector, (vector + 1, *frame)))
    return " ".join(f"{name} {at}" for name, at in zip(("sample", *names), (sample, *position, element), strict=True))
