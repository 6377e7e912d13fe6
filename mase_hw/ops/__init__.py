"""The operators: integer semantics, streams, cycles and template values, one file each. No torch in sight."""

from mase_hw.ir.finish import Result
from mase_hw.ops.batch_norm1d import BatchNorm1d, batch_norm1d
from mase_hw.ops.cast import Cast, cast
from mase_hw.ops.linear.folded import LinearFolded
from mase_hw.ops.linear.make import Linear
from mase_hw.ops.linear.serial import LinearSerial, serial
from mase_hw.ops.linear.unrolled import LinearUnrolled
from mase_hw.ops.relu import ReLU, relu

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
    "relu",
    "serial",
]
