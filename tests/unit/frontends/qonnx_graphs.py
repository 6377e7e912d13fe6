"""QONNX files whose tensors branch and join, for the tests: a builder, networks, and qonnx's own results."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes
from qonnx_nets import DOMAIN, Net

BATCH = 32
RNG = np.random.default_rng(11)
A, B, C, D = (RNG.normal(0, 0.7, (6, 6)) for _ in range(4))
WIDE, TALL = RNG.normal(0, 0.7, (4, 12)), RNG.normal(0, 0.7, (4, 6))
SCALE = np.array([0.5, -1.25, 3.0, 0.25, 0.0, 2.0])


class Graph(Net):
    """A Net with tensors by name: every method works on the tensor that `at` has set."""

    def __init__(self, **inputs: int | tuple[int, ...]) -> None:
        self.inputs = {name: (size,) if isinstance(size, int) else size for name, size in inputs.items()}
        self.outputs: list[str] = []
        super().__init__(next(iter(self.inputs.values())), BATCH)

    def at(self, tensor: str) -> Graph:
        self.tensor, self.features = tensor, int(np.prod(self.inputs.get(tensor, 6)))
        return self

    def join(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> Graph:
        self.tensor = self.node(op, *inputs, name=name, **attributes)
        return self

    def returns(self, *tensors: str) -> Graph:
        self.outputs = list(tensors)
        return self

    def save(self, path: Path) -> Path:
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [BATCH, *k]) for n, k in self.inputs.items()]
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.outputs or [self.tensor]]
        graph = helper.make_graph(self.nodes, "net", inputs, results, self.tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), str(path))
        return path


def run_graph(path: Path, given: dict[str, np.ndarray]) -> list[np.ndarray]:
    wrapper = ModelWrapper(str(path)).transform(InferShapes())
    found = execute_onnx(wrapper, given)
    return [np.asarray(found[value.name]) for value in wrapper.graph.output]


def trunk() -> tuple[Graph, str]:
    """Input, Quant, linear, ReLU, Quant: the tensor that branches start from."""
    net = Graph(x=6)
    net.quant(3, 6, "inp").linear(A, "fc1", frac=3, bits=5).relu("act1").quant(3, 6, "q1")
    return net, net.tensor


def residual() -> Graph:
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5, bias=np.arange(6) / 4).quant(3, 6, "q2").tensor
    net.join("Add", h, y, name="skip").relu("act2").quant(2, 6, "q3")
    return net.linear(TALL, "fc3", frac=3, bits=5)


def residual_twice() -> Graph:
    """The second block starts from the sum, which is quantized in another way."""
    net, h = trunk()
    for k, weight in enumerate((B, C)):
        y = net.linear(weight, f"block{k}", frac=3, bits=5).relu().quant(3, 6).tensor
        h = net.join("Add", y, h, name=f"skip{k}").quant(4, 6, rounding_mode="FLOOR").quant(3, 6).tensor
    return net.at(h).linear(TALL, "head", frac=3, bits=5)


def one_side() -> Graph:
    """One input of the sum has no Quant: it is exact."""
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).tensor
    return net.join("Add", h, y, name="skip").quant(1, 5)


def two_on_one_side() -> Graph:
    """Two Quants in a row on one input of the sum, none on the other."""
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).quant(4, 9).quant(1, 4, "coarse").tensor
    z = net.at(h).linear(C, "fc3", frac=2, bits=4).tensor
    return net.join("Add", y, z, name="skip")


def exact_difference() -> Graph:
    """A difference of sums of different reach, read by a layer without a Quant between them."""
    net, h = trunk()
    y = net.linear(B / 8, "fc2", frac=3, bits=3).tensor
    z = net.at(h).linear(C * 4, "fc3", frac=1, bits=6).tensor
    return net.join("Sub", y, z, name="diff").linear(TALL, "head", frac=1, bits=4)


def exact_sum() -> Graph:
    """No Quant on the inputs of the sum and none behind it."""
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).tensor
    z = net.at(h).linear(C, "fc3", frac=2, bits=4).tensor
    return net.join("Sub", y, z, name="diff")


def heads() -> Graph:
    net, h = trunk()
    first = net.linear(TALL, "left", frac=3, bits=5).quant(2, 5).tensor
    second = net.at(h).linear(B, "right", frac=2, bits=5).tensor
    return net.returns(second, first)


def returned_and_read() -> Graph:
    """The model returns what a layer reads too; so the Quant stands before both."""
    net, h = trunk()
    return net.returns(net.linear(TALL, "head", frac=3, bits=5).tensor, h)


def two_inputs() -> Graph:
    net = Graph(x=6, side=6)
    x = net.quant(3, 6).linear(A, "fcx", frac=3, bits=5).quant(2, 6).tensor
    z = net.at("side").quant(2, 5, signed=0).linear(B, "fcz", frac=3, bits=5).quant(2, 6).tensor
    return net.join("Sub", x, z, name="diff").linear(TALL, "head", frac=3, bits=5)


def inputs_joined() -> Graph:
    """The Quant behind the concatenation is the type of both inputs."""
    net = Graph(x=6, side=6)
    return net.join("Concat", "x", "side", name="both", axis=1).quant(3, 6).linear(WIDE, "head", frac=3, bits=5)


def concat() -> Graph:
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).quant(3, 6).tensor
    net.join("Concat", y, h, name="both", axis=-1)
    return net.linear(WIDE, "head", frac=3, bits=5)


def concat_mixed() -> Graph:
    """Narrow on one side, no Quant on the other."""
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).quant(2, 5, narrow=1).tensor
    z = net.at(h).linear(C, "fc3", frac=2, bits=4).tensor
    return net.join("Concat", y, z, name="both", axis=1).quant(1, 6, rounding_mode="FLOOR")


def concat_then_quants() -> Graph:
    """Parts with a Quant, and two others behind the concatenation, the last at the output."""
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).quant(3, 6).tensor
    return net.join("Concat", y, h, name="both", axis=1).quant(1, 6, rounding_mode="FLOOR").quant(0, 4, "last")


def scaled() -> Graph:
    net, h = trunk()
    y = net.join("Mul", net.constant(SCALE, "gain.weight"), h, name="m1").quant(3, 7).tensor
    z = net.at(h).linear(B, "fc2", frac=3, bits=5).join("Mul", net.tensor, net.constant(0.75), name="m2").tensor
    z = net.at(z).quant(3, 7).tensor
    return net.join("Add", y, z, name="total")


def quantized_scale() -> Graph:
    net, h = trunk()
    return net.join("Mul", h, net.quant_of(net.constant(SCALE / 3), 4, 6), name="gain").quant(2, 5)


def same_twice() -> Graph:
    net, h = trunk()
    return net.join("Add", h, h, name="double").quant(1, 5)


def typed_apart() -> Graph:
    """Readers of one layer with Quants of their own, one of them behind a ReLU."""
    net = Graph(x=6)
    h = net.quant(3, 6).linear(A, "fc1", frac=3, bits=5).tensor
    y = net.relu("act").quant(2, 4, signed=0, narrow=1).linear(B, "fc2", frac=3, bits=5).tensor
    z = net.at(h).quant(1, 5, rounding_mode="FLOOR").quant(1, 4, narrow=1).linear(C, "fc3", frac=3, bits=5).tensor
    return net.returns(y, z, net.at(h).quant(0, 5).tensor)


def image() -> Graph:
    """An image of two channels that streams pixel by pixel, a Transpose before a concatenation and a product."""
    net = Graph(x=(2, 3, 1), side=6)
    net.quant(3, 6).then("Transpose", perm=[0, 2, 3, 1]).then("Flatten")
    h = net.join("Mul", net.tensor, net.constant(SCALE, "gain.weight")).quant(3, 6).tensor
    z = net.at("side").quant(3, 6).tensor
    return net.join("Concat", z, h, axis=1).linear(WIDE, "head", frac=3, bits=5)


def matmul_shared() -> Graph:
    """A MatMul whose sums are read twice."""
    net, h = trunk()
    y = net.node("MatMul", h, net.quant_of(net.constant(B, "mm.weight"), 3, 5))
    z = net.node("Identity", y)
    return net.join("Add", z, y, name="twice")


def _different(**given: Any) -> Graph:
    """The Quants of the inputs of a sum differ."""
    net, h = trunk()
    y = net.linear(B, "fc2", frac=3, bits=5).quant(3, given.pop("bits", 6), "q2", **given).tensor
    return net.join("Add", h, y, name="skip").relu("act2").quant(2, 6, "q3").linear(TALL, "fc3", frac=3, bits=5)


def different_types() -> Graph:
    return _different(bits=5)


def different_rounding() -> Graph:
    return _different(rounding_mode="FLOOR")


NETS: dict[str, Callable[[], Graph]] = {
    made.__name__: made
    for made in (
        *(
            residual,
            residual_twice,
            one_side,
            two_on_one_side,
            exact_sum,
            exact_difference,
            heads,
            returned_and_read,
            two_inputs,
            inputs_joined,
        ),
        *(
            concat,
            concat_mixed,
            concat_then_quants,
            scaled,
            quantized_scale,
            same_twice,
            typed_apart,
            different_types,
            different_rounding,
            image,
            matmul_shared,
        ),
    )
}
