"""`choose_device`: where to compute, and a note when it is not where the user asked."""

from __future__ import annotations

import os

import torch


def choose_device(accelerator: str) -> tuple[torch.device, str | None]:
    """For "auto", "cpu", "gpu", "cuda" or "mps": the device, and a note when there is none such and the CPU steps in.

    "auto" never takes "mps": it has no float64, which exact quantized layers need.
    """
    if accelerator in ("auto", "gpu", "cuda") and torch.cuda.is_available():
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # without it CUDA's sums differ between runs
        return torch.device("cuda"), None
    if accelerator in ("gpu", "mps") and torch.backends.mps.is_available():
        return torch.device("mps"), None
    note = f'accelerator = "{accelerator}": no such device here, the CPU is used'
    return torch.device("cpu"), None if accelerator in ("auto", "cpu") else note
