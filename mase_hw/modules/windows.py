"""The windows of torch's convolutions and pools, read off the modules' options."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor
from torch.nn.modules.conv import _ConvNd

from mase_hw.diagnostics import Problem, ProblemsError
from mase_hw.geometry import Frame
from mase_hw.ops.window_options import WindowOptions


def positions(x: Tensor) -> Frame:
    """The frame of a tensor [batch, channels, *frame]."""
    return tuple(x.shape[2:])


def sizes_of(value: Any, rank: int) -> Frame:
    """One number for each dimension: torch takes a single one for all of them."""
    if isinstance(value, Sequence):
        several = tuple(int(size) for size in value)
        return several * rank if len(several) == 1 else several
    return (int(value),) * rank


def conv_options(module: _ConvNd) -> WindowOptions:
    """Of a convolution; `same` is torch's: where the padding is odd, one more position comes after."""
    rank = len(module.kernel_size)
    kernel, stride, dilation = (sizes_of(v, rank) for v in (module.kernel_size, module.stride, module.dilation))
    if module.padding == "same":
        whole = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
        return WindowOptions(kernel, stride, tuple((each // 2, each - each // 2) for each in whole), dilation)
    sides = (0,) * rank if module.padding == "valid" else sizes_of(module.padding, rank)
    return WindowOptions(kernel, stride, tuple((side, side) for side in sides), dilation)


def max_pool_options(module: Any, rank: int) -> WindowOptions:
    kernel, stride = sizes_of(module.kernel_size, rank), sizes_of(module.stride or module.kernel_size, rank)
    sides, dilation = sizes_of(module.padding, rank), sizes_of(module.dilation, rank)
    return WindowOptions(kernel, stride, tuple((side, side) for side in sides), dilation, bool(module.ceil_mode))


def avg_pool_options(module: Any, rank: int) -> WindowOptions:
    kernel, stride = sizes_of(module.kernel_size, rank), sizes_of(module.stride or module.kernel_size, rank)
    pads = tuple((side, side) for side in sizes_of(module.padding, rank))
    counted = bool(module.ceil_mode), bool(module.count_include_pad), getattr(module, "divisor_override", None)
    return WindowOptions(kernel, stride, pads, (1,) * rank, *counted)


def adaptive_options(label: str, output_size: Any, frame: Frame) -> WindowOptions:
    """Windows that all have one size: a pool to a divisor of the frame. Any other is a Problem."""
    given = output_size if isinstance(output_size, Sequence) else (output_size,) * len(frame)
    outs = tuple(size if out is None else int(out) for out, size in zip(given, frame, strict=True))
    if any(out < 1 or size % out for out, size in zip(outs, frame, strict=True)):
        text = f"{label}: pools a frame of {shown(frame)} to {shown(outs)}, with windows of different sizes"
        raise ProblemsError(Problem(text, hint="choose an output size that divides the frame, such as 1"))
    kernel = tuple(size // out for out, size in zip(outs, frame, strict=True))
    return WindowOptions(kernel, kernel, ((0, 0),) * len(frame), (1,) * len(frame))


def whole_options(label: str, dim: Any, rank: int, frame: Frame) -> WindowOptions:
    """Of a mean or a maximum over all positions of [batch, channels, *frame]; over anything else it is a Problem."""
    dims = sorted(each % rank for each in (dim if isinstance(dim, Sequence) else () if dim is None else (dim,)))
    if not frame or dims != list(range(2, rank)):
        wanted = ", ".join(str(each) for each in range(2, rank)) or "2, 3"
        what = "everything" if dim is None else f"dim {dim}"
        text = f"{label}: reduces {what} of a tensor with {rank} dimensions"
        raise ProblemsError(Problem(text, hint=f"only all positions of an image together can be: dim=({wanted})"))
    return WindowOptions.whole(frame)


def pad_options(label: str, module: Any, rank: int) -> WindowOptions:
    """Of a zero padding; torch names the last dimension first."""
    given = module.padding if isinstance(module.padding, Sequence) else (module.padding,) * (2 * rank)
    sides = [int(side) for side in given]
    mode, value = getattr(module, "mode", "constant"), getattr(module, "value", 0) or 0
    if mode != "constant" or value != 0:
        told = f"mode {mode!r}" if mode != "constant" else f"the value {value}"
        raise ProblemsError(Problem(f"{label}: pads with {told}", hint="zeros are the only padding: nn.ZeroPad2d"))
    pads = [(sides[k], sides[k + 1]) for k in range(0, len(sides), 2)]
    pads += [(0, 0)] * (rank - len(pads))
    if any(min(pad) < 0 for pad in pads) or any(pad != (0, 0) for pad in pads[rank:]):
        what = "takes positions away" if any(min(pad) < 0 for pad in pads) else "pads channels or the batch"
        hint = "only positions can be added, and none be taken away"
        raise ProblemsError(Problem(f"{label}: {what}: padding {tuple(sides)}", hint=hint))
    ones = (1,) * rank
    return WindowOptions(ones, ones, tuple(reversed(pads[:rank])), ones)


def upsample_factors(label: str, module: Any, frame: Frame) -> Frame:
    """How often an upsampling repeats each position, for each dimension."""
    hint = "only nearest upsampling by an integer is supported: nn.Upsample(scale_factor=2, mode='nearest')"
    if module.mode not in ("nearest", "nearest-exact"):
        raise ProblemsError(Problem(f"{label}: upsamples with mode {module.mode!r}", hint=hint))
    if module.size is not None:
        outs = sizes_of(module.size, len(frame))
        factors = tuple(out / size for out, size in zip(outs, frame, strict=True))
    else:
        given = module.scale_factor
        factors = tuple(given) if isinstance(given, Sequence) else (given,) * len(frame)
    if any(factor < 1 or factor != int(factor) for factor in factors):
        raise ProblemsError(Problem(f"{label}: upsamples by {shown(factors)}", hint=hint))
    return tuple(int(factor) for factor in factors)


def shown(sizes: Sequence[float]) -> str:
    return " x ".join(f"{size:g}" for size in sizes)
