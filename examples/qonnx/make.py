"""Writes net.onnx: a network of two layers with QONNX's Quant nodes, as other tools export them. Needs onnx."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

DOMAIN = "qonnx.custom_op.general"
FEATURES, HIDDEN, SCORES = 16, 12, 5


def quant(name: str, source: str, bits: int, frac: int, *, signed: bool = True) -> tuple[list, list]:
    """A Quant node whose scale is `2**-frac`, and its three constants."""
    constants = {"scale": 2.0**-frac, "zero": 0.0, "bits": float(bits)}
    tensors = [numpy_helper.from_array(np.float32(value), f"{name}.{key}") for key, value in constants.items()]
    inputs = [source, *(tensor.name for tensor in tensors)]
    attributes = {"signed": int(signed), "narrow": 0, "rounding_mode": "ROUND"}
    return [helper.make_node("Quant", inputs, [name], name=name, domain=DOMAIN, **attributes)], tensors


def main(path: Path) -> None:
    rng = np.random.default_rng(0)
    nodes, tensors = quant("x_q", "x", 8, 5)
    source = "x_q"
    for layer, (n_in, n_out) in {"fc1": (FEATURES, HIDDEN), "fc2": (HIDDEN, SCORES)}.items():
        values = {"weight": rng.normal(0, 0.4, (n_out, n_in)), "bias": rng.normal(0, 0.2, n_out)}
        for name, frac in (("weight", 5), ("bias", 6)):
            tensors.append(numpy_helper.from_array(values[name].astype(np.float32), f"{layer}.{name}"))
            node, constants = quant(f"{layer}.{name}_q", f"{layer}.{name}", 6 if name == "weight" else 8, frac)
            nodes, tensors = nodes + node, tensors + constants
        inputs = [source, f"{layer}.weight_q", f"{layer}.bias_q"]
        source = "y" if layer == "fc2" else f"{layer}.sum"
        nodes.append(helper.make_node("Gemm", inputs, [source], name=layer, transB=1))
        if layer == "fc1":
            nodes.append(helper.make_node("Relu", [source], ["relu.out"], name="relu"))
            node, constants = quant("relu_q", "relu.out", 7, 4, signed=False)
            nodes, tensors, source = nodes + node, tensors + constants, "relu_q"
    ends = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n]) for name, n in (("x", FEATURES), ("y", SCORES))
    ]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:], tensors)
    versions = [helper.make_opsetid("", 13), helper.make_opsetid(DOMAIN, 1)]
    save(helper.make_model(graph, opset_imports=versions, ir_version=8), path)


if __name__ == "__main__":
    main(Path(__file__).with_name("net.onnx"))
