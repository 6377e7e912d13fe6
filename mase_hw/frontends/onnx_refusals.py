"""Why a node of an ONNX file does not become hardware, and what to do about it."""

from __future__ import annotations

from mase_hw.frontends.onnx_graph import STANDARD_DOMAINS, OnnxNode

SUPPORTED = (
    *("Gemm", "MatMul", "Add", "Sub", "Concat", "Mul", "Relu", "BatchNormalization", "Quant"),
    *("Conv", "MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", "ReduceMean", "ReduceMax", "Pad"),
    *("Flatten", "Reshape", "Squeeze", "Transpose", "Identity", "Dropout", "Cast"),
)
_CUT = "end the export before it: the class with the largest score is the same"

_WHY: dict[str, tuple[str, str]] = {
    "Trunc": ("truncating to fewer bits is not supported", "use a Quant with rounding_mode FLOOR or ROUND"),
    "FloatQuant": ("small floats are not one of our types", "use Quant: fixed-point types"),
    "MultiThreshold": ("thresholds are not supported", "hand over the model before FINN streamlines it"),
    "Softmax": ("is not supported in hardware", _CUT),
    "LogSoftmax": ("is not supported in hardware", _CUT),
    "ArgMax": ("is not supported in hardware", "end the export before it"),
    "TopK": ("is not supported in hardware", "end the export before it"),
    "ConvTranspose": ("is not supported in hardware", "use a nearest upsampling and a convolution instead"),
    "Shape": ("a shape that is computed is not supported", "export with torch.flatten(x, 1), or run qonnx-cleanup"),
}


def refusal(node: OnnxNode) -> tuple[str, str]:
    """Text and hint for a node whose operator is not supported."""
    if node.op in _WHY:
        return _WHY[node.op]
    domain = "" if node.domain in STANDARD_DOMAINS else f" of {node.domain}"
    return f"{node.op or 'an operator without a name'}{domain} is not supported", f"supported: {', '.join(SUPPORTED)}"
