"""zero_pad, upsample: a frame with zeros around it, and one with every position repeated. Their declarations."""

from __future__ import annotations

from mase_hw.ops.pooling import Upsampling, ZeroPadding


class ZeroPadOperator(ZeroPadding):
    """Positions of zeros around a frame: the layer's geometry has windows of one tap. Zero commutes with quantizers."""

    name = "zero_pad"
    modules = (
        *("torch.nn.ZeroPad1d", "torch.nn.ZeroPad2d"),
        *("torch.nn.ConstantPad1d", "torch.nn.ConstantPad2d"),
    )
    functions = ("torch.nn.functional.pad",)
    signature = ("input", "pad", "mode", "value")
    quantized = "mase_hw.modules.resize:ZeroPadInteger"
    hands_on = True
    rounds = False


class UpsampleOperator(Upsampling):
    """Nearest upsampling: `layer.factor` says how often each position is repeated, in each dimension."""

    name = "upsample"
    modules = ("torch.nn.Upsample", "torch.nn.UpsamplingNearest2d")
    functions = ("torch.nn.functional.interpolate",)
    signature = ("input", "size", "scale_factor", "mode", "align_corners", "recompute_scale_factor", "antialias")
    quantized = "mase_hw.modules.resize:UpsampleInteger"
    hands_on = True
    rounds = False
