"""Windows of frames, and what reduces frames: the components of convolutions and pools."""

from mase_hw.ops.window.depthwise import Depthwise, depthwise
from mase_hw.ops.window.reduce import GlobalReduce, Reduce, global_most, global_sum, reduce_most, reduce_sum
from mase_hw.ops.window.upsample import Upsample, upsample
from mase_hw.ops.window.wide import WindowWide, window_wide
from mase_hw.ops.window.window import Window, window

__all__ = [
    "Depthwise",
    "GlobalReduce",
    "Reduce",
    "Upsample",
    "Window",
    "WindowWide",
    "depthwise",
    "global_most",
    "global_sum",
    "reduce_most",
    "reduce_sum",
    "upsample",
    "window",
    "window_wide",
]
