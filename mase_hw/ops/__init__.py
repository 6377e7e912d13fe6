"""The operators: integer semantics, streams, cycles and template values, one file each. No torch in sight."""

from mase_hw.ops.batch_norm1d import BatchNorm1d, batch_norm1d
from mase_hw.ops.elementwise import Cast, cast
from mase_hw.ops.linear import Linear, linear
from mase_hw.ops.linear_folded import LinearFolded
from mase_hw.ops.linear_serial import LinearSerial, serial
from mase_hw.ops.linear_unrolled import LinearUnrolled
from mase_hw.ops.relu import ReLU, relu
from mase_hw.ops.result import Result, rectified

__all__ = [
    "BatchNorm1d",
    "Cast",
    "Linear",
    "LinearFolded",
    "LinearSerial",
    "LinearUnrolled",
    "ReLU",
    "Result",
    "batch_norm1d",
    "cast",
    "linear",
    "rectified",
    "relu",
    "serial",
]
