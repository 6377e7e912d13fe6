"""batch_norm2d: a batch norm of every position of a frame."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

from mase_hw.ops.batch_norm1d import BatchNormOperator
from mase_hw.ops.pages import Page


class BatchNorm2dOperator(BatchNormOperator):
    """`x * scale + shift` for each channel, at every position alike."""

    name = "batch_norm2d"
    modules = ("torch.nn.BatchNorm2d",)
    quantized = "mase_hw.modules.batch_norm1d:BatchNorm2dInteger"
    onnx: ClassVar[tuple[str, ...]] = ()

    def page(self) -> Page:
        return replace(super().page(), name="batch_norm2d", title="nn.BatchNorm2d in eval mode")
