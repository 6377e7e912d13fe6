"""Quantized torch modules: what training, evaluation and search run; equal to the integer reference, to the bit.

One class per op serves both roundings: `module.spec.rounding` says which.
"""

from mase_hw.modules.base import QuantizedMixin
from mase_hw.modules.batch_norm1d import BatchNorm1dInteger, Statistics
from mase_hw.modules.joins import AddInteger, CatInteger, SubInteger
from mase_hw.modules.linear import LinearInteger
from mase_hw.modules.mul import MulInteger
from mase_hw.modules.quantizer import Quantizer
from mase_hw.modules.relu import ReLUInteger

QUANTIZED_MODULES: dict[str, type[QuantizedMixin]] = {
    "linear": LinearInteger,
    "relu": ReLUInteger,
    "batch_norm1d": BatchNorm1dInteger,
    "add": AddInteger,
    "sub": SubInteger,
    "mul": MulInteger,
    "cat": CatInteger,
}

__all__ = [
    "QUANTIZED_MODULES",
    "AddInteger",
    "BatchNorm1dInteger",
    "CatInteger",
    "LinearInteger",
    "MulInteger",
    "QuantizedMixin",
    "Quantizer",
    "ReLUInteger",
    "Statistics",
    "SubInteger",
]
