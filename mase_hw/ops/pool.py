"""Pools: the largest value, or the average, of each window of a frame. Their declarations."""

from __future__ import annotations

from typing import ClassVar

from mase_hw.ops.operator import SoftwareOperator
from mase_hw.ops.pooling import AveragePooling, MaxPooling


class MaxPool2dOperator(MaxPooling):
    """The largest value of each window and channel; it commutes with all quantizers. A padded position never wins."""

    name = "max_pool2d"
    mase_type = "module_related_func"
    modules: ClassVar[tuple[str, ...]] = ("torch.nn.MaxPool2d",)
    functions: ClassVar[tuple[str, ...]] = ("torch.nn.functional.max_pool2d", "torch.max_pool2d")
    signature = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode", "return_indices")
    quantized = "mase_hw.modules.pool:MaxPool2dInteger"
    hands_on = True
    rounds = False


class MaxPool1dOperator(MaxPool2dOperator):
    """The same on a sequence."""

    name = "max_pool1d"
    modules = ("torch.nn.MaxPool1d",)
    functions = ("torch.nn.functional.max_pool1d", "torch.max_pool1d")
    quantized = "mase_hw.modules.pool:MaxPool1dInteger"


class AvgPool2dOperator(AveragePooling):
    """The sum of each window and channel, divided once. Left unquantized, it takes what it reads exactly as it comes.

    `layer.integers["divisor"]` has a divisor for each window: padding at a border may make them differ.
    """

    name = "avg_pool2d"
    mase_type = "module_related_func"
    modules: ClassVar[tuple[str, ...]] = ("torch.nn.AvgPool2d",)
    functions: ClassVar[tuple[str, ...]] = ("torch.nn.functional.avg_pool2d",)
    signature: ClassVar[tuple[str, ...]] = (
        *("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override"),
    )
    quantized = "mase_hw.modules.pool:AvgPool2dInteger"
    stays_exact = True


class AvgPool1dOperator(AvgPool2dOperator):
    """The same on a sequence."""

    name = "avg_pool1d"
    modules = ("torch.nn.AvgPool1d",)
    functions = ("torch.nn.functional.avg_pool1d",)
    signature = ("input", "kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")
    quantized = "mase_hw.modules.pool:AvgPool1dInteger"


class AdaptiveAvgPool2dOperator(SoftwareOperator):
    """An average over windows that divide the frame."""

    name = "adaptive_avg_pool2d"
    mase_type = "module_related_func"
    modules: ClassVar[tuple[str, ...]] = ("torch.nn.AdaptiveAvgPool2d",)
    functions: ClassVar[tuple[str, ...]] = ("torch.nn.functional.adaptive_avg_pool2d",)
    signature: ClassVar[tuple[str, ...]] = ("input", "output_size")
    quantized = "mase_hw.modules.pool:AdaptiveAvgPool2dInteger"
    becomes = "avg_pool2d"
    stays_exact = True


class AdaptiveAvgPool1dOperator(AdaptiveAvgPool2dOperator):
    """The same on a sequence."""

    name = "adaptive_avg_pool1d"
    modules = ("torch.nn.AdaptiveAvgPool1d",)
    functions = ("torch.nn.functional.adaptive_avg_pool1d",)
    quantized = "mase_hw.modules.pool:AdaptiveAvgPool1dInteger"
    becomes = "avg_pool1d"


class AdaptiveMaxPool2dOperator(SoftwareOperator):
    """The largest value of windows that divide the frame."""

    name = "adaptive_max_pool2d"
    mase_type = "module_related_func"
    modules: ClassVar[tuple[str, ...]] = ("torch.nn.AdaptiveMaxPool2d",)
    functions: ClassVar[tuple[str, ...]] = ("torch.nn.functional.adaptive_max_pool2d",)
    signature = ("input", "output_size", "return_indices")
    quantized = "mase_hw.modules.pool:AdaptiveMaxPool2dInteger"
    becomes = "max_pool2d"
    hands_on = True
    rounds = False


class AdaptiveMaxPool1dOperator(AdaptiveMaxPool2dOperator):
    """The same on a sequence."""

    name = "adaptive_max_pool1d"
    modules = ("torch.nn.AdaptiveMaxPool1d",)
    functions = ("torch.nn.functional.adaptive_max_pool1d",)
    quantized = "mase_hw.modules.pool:AdaptiveMaxPool1dInteger"
    becomes = "max_pool1d"


class MeanOperator(SoftwareOperator):
    """The mean over all positions."""

    name = "mean"
    functions = ("torch.mean",)
    methods = ("mean",)
    signature = ("input", "dim", "keepdim")
    quantized = "mase_hw.modules.pool:MeanInteger"
    becomes = "avg_pool2d"
    stays_exact = True


class AmaxOperator(SoftwareOperator):
    """The largest value of all positions."""

    name = "amax"
    functions = ("torch.amax",)
    methods = ("amax",)
    signature = ("input", "dim", "keepdim")
    quantized = "mase_hw.modules.pool:AmaxInteger"
    becomes = "max_pool2d"
    hands_on = True
    rounds = False
