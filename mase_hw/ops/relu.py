"""relu: `max(n, 0)`, exact; its output keeps the type of its input unless its reader wants another."""

from __future__ import annotations

from dataclasses import dataclass

from mase_hw.ir.finish import Result, result_stream
from mase_hw.ir.stream import Stream
from mase_hw.ops.elementwise import Elementwise


@dataclass(frozen=True, eq=False)
class ReLU(Elementwise):
    """`requantize(max(n, 0))` on every lane, which is `max(requantize(n), 0)`."""

    kind = "relu"


def relu(name: str, x: Stream, result: Result) -> ReLU:
    """A ReLU of `x`, handed on as `result`."""
    out, step = result_stream(f"{name}_out", x.lanes, x.bounds, x.fixed.frac, result, frame=x.frame, rectify=True)
    return ReLU(name, (x,), (out,), finish=step)
