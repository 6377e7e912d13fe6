"""Quantized torch modules: what training, evaluation and search run; equal to the integer reference, to the bit.

One class per op serves both roundings: `module.spec.rounding` says which.
"""

from functools import cache
from pkgutil import resolve_name

from mase_hw.modules.base import QuantizedMixin
from mase_hw.modules.batch_norm1d import BatchNorm1dInteger, BatchNorm2dInteger, Statistics
from mase_hw.modules.conv import Conv1dInteger, Conv2dInteger
from mase_hw.modules.joins import AddInteger, CatInteger, SubInteger
from mase_hw.modules.linear import LinearInteger
from mase_hw.modules.mul import MulInteger
from mase_hw.modules.pool import (
    AdaptiveAvgPool1dInteger,
    AdaptiveAvgPool2dInteger,
    AdaptiveMaxPool1dInteger,
    AdaptiveMaxPool2dInteger,
    AmaxInteger,
    AvgPool1dInteger,
    AvgPool2dInteger,
    MaxPool1dInteger,
    MaxPool2dInteger,
    MeanInteger,
)
from mase_hw.modules.quantizer import Quantizer
from mase_hw.modules.relu import ReLUInteger
from mase_hw.modules.resize import UpsampleInteger, ZeroPadInteger
from mase_hw.modules.thresholds import Thresholds, ThresholdsInteger
from mase_hw.ops.operator import Operator, operators


def quantized_modules() -> dict[str, type[QuantizedMixin]]:
    """By op, the class that its operator names as `quantized`."""
    return _named(tuple(each for each in operators().values() if each.quantized))


@cache
def _named(declared: tuple[Operator, ...]) -> dict[str, type[QuantizedMixin]]:
    return {each.name: resolve_name(each.quantized) for each in declared}


__all__ = [
    "AdaptiveAvgPool1dInteger",
    "AdaptiveAvgPool2dInteger",
    "AdaptiveMaxPool1dInteger",
    "AdaptiveMaxPool2dInteger",
    "AddInteger",
    "AmaxInteger",
    "AvgPool1dInteger",
    "AvgPool2dInteger",
    "BatchNorm1dInteger",
    "BatchNorm2dInteger",
    "CatInteger",
    "Conv1dInteger",
    "Conv2dInteger",
    "LinearInteger",
    "MaxPool1dInteger",
    "MaxPool2dInteger",
    "MeanInteger",
    "MulInteger",
    "QuantizedMixin",
    "Quantizer",
    "ReLUInteger",
    "Statistics",
    "SubInteger",
    "Thresholds",
    "ThresholdsInteger",
    "UpsampleInteger",
    "ZeroPadInteger",
    "quantized_modules",
]
