"""QONNX files for the tests: a small builder, random networks, inputs that reach the ends, and qonnx's own results."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper, save
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes

DOMAIN = "qonnx.custom_op.general"


@dataclass
class Net:
    """A chain of nodes on the tensor `tensor`, from the input `x` of shape [batch, *shape]."""

    shape: tuple[int, ...]
    batch: int = 1
    tensor: str = "x"
    nodes: list[Any] = field(default_factory=list)
    tensors: list[Any] = field(default_factory=list)
    features: int = 0

    def __post_init__(self) -> None:
        self.features = int(np.prod(self.shape))

    def constant(self, values: Any, name: str = "", dtype: Any = np.float32) -> str:
        name = name or f"c{len(self.tensors)}"
        self.tensors.append(numpy_helper.from_array(np.asarray(values, dtype), name))
        return name

    def node(self, op: str, *inputs: str, domain: str = "", name: str = "", out: str = "", **attributes: Any) -> str:
        out = out or f"t{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [out], name=name, domain=domain, **attributes))
        return out

    def quant_of(self, tensor: str, frac: Any, bits: float, name: str = "", op: str = "Quant", **given: Any) -> str:
        """A Quant node on any tensor; `frac` may be one for each channel."""
        flags = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **given}
        scale = self.constant(2.0 ** -np.asarray(frac, np.float64))
        zero, width = self.constant(0.0), self.constant(float(bits))
        return self.node(op, tensor, scale, zero, width, domain=DOMAIN, name=name, **flags)

    def quant(self, frac: Any, bits: float, name: str = "", **given: Any) -> Net:
        self.tensor = self.quant_of(self.tensor, frac, bits, name, **given)
        return self

    def then(self, op: str, *inputs: str, **attributes: Any) -> Net:
        self.tensor = self.node(op, self.tensor, *inputs, **attributes)
        return self

    def relu(self, name: str = "") -> Net:
        return self.then("Relu", name=name)

    def norm(self, gamma: Any, beta: Any, mean: Any, var: Any, epsilon: float = 1e-5, name: str = "") -> Net:
        parts = (gamma, beta, mean, var)
        constants = [self.constant(np.broadcast_to(np.asarray(part, float), self.features)) for part in parts]
        return self.then("BatchNormalization", *constants, epsilon=epsilon, name=name)

    def gemm(self, weight: str, bias: str = "", outs: int = 0, name: str = "", **given: Any) -> Net:
        self.tensor = self.node("Gemm", self.tensor, weight, *([bias] if bias else []), name=name, transB=1, **given)
        self.features = outs
        return self

    def linear(self, weight: Any, name: str = "fc", frac: Any = 4, bits: int = 8, bias: Any = None) -> Net:
        """A Gemm with a quantized weight; `bias` are floats as they are."""
        stored = self.constant(weight, f"{name}.weight")
        added = "" if bias is None else self.constant(bias, f"{name}.bias")
        return self.gemm(self.quant_of(stored, frac, bits), added, len(weight), name=f"/{name}/Gemm")

    def model(self) -> ModelProto:
        value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [self.batch, *self.shape])
        result = helper.make_tensor_value_info(self.tensor, TensorProto.FLOAT, None)
        graph = helper.make_graph(self.nodes, "net", [value], [result], self.tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9)

    def save(self, path: Path) -> Path:
        save(self.model(), str(path))
        return path


def execute(path: Path, x: np.ndarray) -> np.ndarray:
    """What qonnx itself computes, in float32."""
    wrapper = ModelWrapper(str(path))
    wrapper.set_tensor_shape("x", list(x.shape))
    wrapper = wrapper.transform(InferShapes())
    result = execute_onnx(wrapper, {"x": x})
    return np.asarray(result[wrapper.graph.output[0].name])


def samples(rng: np.random.Generator, shape: tuple[int, ...], frac: int, bits: int, count: int) -> np.ndarray:
    """Random values within and beyond a type's range, exact halves, both ends and far beyond them."""
    unit, reach = 2.0**-frac, 2.0 ** (bits - frac)
    x = rng.uniform(-reach, reach, (count, *shape))
    halves = rng.random(x.shape) < 0.4
    x[halves] = (np.floor(x[halves] / unit) + 0.5) * unit
    x[0], x[1], x[2], x[3] = -1e6, 1e6, reach / 2 - unit, -reach / 2
    x[4] = rng.choice([-1e6, 1e6], shape)
    x[5] = 0.0
    return x.astype(np.float32)


def _pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _activation(rng: np.random.Generator, net: Net) -> None:
    given = {
        "signed": _pick(rng, 0, 1, 1),
        "narrow": _pick(rng, 0, 0, 1),
        "rounding_mode": _pick(rng, "ROUND", "FLOOR"),
    }
    net.quant(int(rng.integers(-1, 5)), int(rng.integers(2, 6)), name=_pick(rng, "", "/act/Quant"), **given)


def _weights(rng: np.random.Generator, net: Net, outs: int) -> None:
    frac, bits = int(rng.integers(0, 5)), int(rng.integers(2, 6))
    weight = rng.normal(0, 2.0 ** (bits - 2 - frac), (outs, net.features))
    per_channel = rng.random() < 0.4
    fracs = rng.integers(frac - 1, frac + 3, (outs, 1)) if per_channel else frac
    given = {"signed": _pick(rng, 1, 1, 0), "narrow": _pick(rng, 0, 1), "rounding_mode": _pick(rng, "ROUND", "FLOOR")}
    stored = net.constant(weight)
    finest = int(np.max(fracs))
    bias = rng.normal(0, 4, outs)
    kind = _pick(rng, "none", "quant", "on the grid", "finer")
    added = ""
    if kind == "quant":
        added = net.quant_of(net.constant(bias), int(rng.integers(0, 7)), int(rng.integers(4, 10)))
    elif kind != "none":
        finer = finest + (2 if kind == "finer" else -1)
        added = net.constant(np.round(bias * 2.0**finer) * 2.0**-finer)
    quantized = net.quant_of(stored, fracs, bits, **given)
    if rng.random() < 0.5:
        net.gemm(quantized, added, outs, name=_pick(rng, "", "/net/fc/Gemm"))
        return
    net.tensor = net.node("MatMul", net.tensor, net.node("Transpose", quantized, perm=[1, 0]))
    if added:
        pair = (net.tensor, added) if rng.random() < 0.5 else (added, net.tensor)
        net.tensor = net.node("Add", *pair)
    net.features = outs


def random_net(seed: int, batch: int) -> tuple[Net, np.ndarray]:
    """A network of every kind of node, in every order that makes sense, and inputs for it."""
    rng = np.random.default_rng(seed)
    shape = _pick(rng, (int(rng.integers(1, 9)),), (2, 3, 2), (1, 2, 2))
    net = Net(shape, batch)
    frac, bits = int(rng.integers(0, 5)), int(rng.integers(2, 7))
    given = {"signed": _pick(rng, 0, 1), "narrow": _pick(rng, 0, 0, 1), "rounding_mode": _pick(rng, "ROUND", "FLOOR")}
    net.quant(frac, bits, **given)
    if len(shape) > 1:
        if rng.random() < 0.5:
            net.then("Transpose", perm=_pick(rng, [0, 2, 3, 1], [0, 3, 2, 1], [0, 1, 3, 2]))
        if rng.random() < 0.3:
            net.relu()
        if rng.random() < 0.5:
            net.then("Flatten", axis=1)
        else:
            net.then("Reshape", net.constant([_pick(rng, 0, -1), net.features], dtype=np.int64))
    for _ in range(int(rng.integers(1, 4))):
        _weights(rng, net, int(rng.integers(1, 7)))
        if rng.random() < 0.3:
            scale, shift = rng.integers(-4, 5, net.features) / 4, rng.integers(-9, 10, net.features) / 8
            net.norm(scale, shift, rng.integers(-2, 3, net.features) / 2, np.ones(net.features), 0.0)
        if rng.random() < 0.5:
            net.relu()
        for _ in range(_pick(rng, 1, 1, 1, 2, 3)):
            _activation(rng, net)
            if rng.random() < 0.2:
                net.relu()
        if rng.random() < 0.2:
            net.then(_pick(rng, "Identity", "Dropout"))
    if rng.random() < 0.5:
        _weights(rng, net, 3)
    return net, samples(rng, shape, frac, bits, batch)
