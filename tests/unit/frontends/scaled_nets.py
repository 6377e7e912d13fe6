"""ONNX files with scales of any size, for the tests: a builder, random networks, and an exact run of a file.

The exact run goes through the file node by node with Python's fractions. It shares nothing with what is tested.
"""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper
from qonnx_nets import DOMAIN, Net

MODES = ("ROUND", "FLOOR", "CEIL", "UP", "DOWN", "HALF_UP", "HALF_DOWN")
KINDS = {"int8": np.int8, "uint8": np.uint8}
_ROOT_BITS = 400


class ScaledNet(Net):
    """Quantizers with any scale and zero point, on the present tensor or on a constant."""

    def scaled_of(self, tensor: str, scale: Any, bits: float, zero: float = 0.0, **given: Any) -> str:
        flags = {"signed": 1, "narrow": 0, "rounding_mode": "ROUND", **given}
        inputs = [self.constant(scale), self.constant(zero), self.constant(float(bits))]
        return self.node("Quant", tensor, *inputs, domain=DOMAIN, **flags)

    def scaled(self, scale: Any, bits: float, zero: float = 0.0, **given: Any) -> ScaledNet:
        self.tensor = self.scaled_of(self.tensor, scale, bits, zero, **given)
        return self

    def bipolar_of(self, tensor: str, scale: Any = 1.0) -> str:
        return self.node("BipolarQuant", tensor, self.constant(scale), domain=DOMAIN)

    def bipolar(self, scale: Any = 1.0) -> ScaledNet:
        self.tensor = self.bipolar_of(self.tensor, scale)
        return self

    def qdq(self, scale: float, zero: int, kind: str) -> ScaledNet:
        given = [self.constant(scale), self.constant(zero, dtype=KINDS[kind])]
        self.tensor = self.node("QuantizeLinear", self.tensor, *given)
        self.tensor = self.node("DequantizeLinear", self.tensor, *given)
        return self

    def dequantized(self, values: Any, scale: Any, zero: Any, kind: Any, axis: int = 0) -> str:
        """A constant of integers behind a DequantizeLinear."""
        given = [self.constant(values, dtype=kind), self.constant(scale), self.constant(zero, dtype=kind)]
        return self.node("DequantizeLinear", *given, axis=axis)

    def matmul(self, weight: str, outs: int) -> ScaledNet:
        """`x @ W.T`"""
        self.tensor = self.node("MatMul", self.tensor, self.node("Transpose", weight, perm=[1, 0]))
        self.features = outs
        return self


def _pick(rng: np.random.Generator, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _activation(rng: np.random.Generator, net: ScaledNet, reach: float) -> float:
    """A quantizer for numbers up to `reach`, and how far its own go."""
    kind = _pick(rng, "quant", "quant", "bipolar", "qdq")
    if kind == "bipolar":
        net.bipolar(scale := float(rng.uniform(0.3, 2)))
        return scale
    if kind == "qdq":
        scale, zero = reach / float(rng.uniform(3, 8)), int(rng.integers(-4, 5))
        kind = _pick(rng, *KINDS)
        net.qdq(scale, zero + 5 * (kind == "uint8"), kind)
        return reach
    bits, signed = int(rng.integers(2, 5)), _pick(rng, 0, 1)
    scale = reach * float(rng.uniform(0.5, 1.2)) / 2.0 ** (bits - signed)
    zero = float(_pick(rng, 0, 0, 1, 2))
    mode = _pick(rng, "ROUND", *MODES)
    net.scaled(scale, bits, zero, signed=signed, narrow=_pick(rng, 0, 1), rounding_mode=mode)
    return scale * 2.0**bits


def _layer(rng: np.random.Generator, net: ScaledNet, outs: int, reach: float) -> float:
    ins, kind = net.features, _pick(rng, "tensor", "channel", "bipolar", "int8")
    real = rng.normal(0, 1, (outs, ins))
    scale = np.float32(rng.uniform(0.1, 0.9, (outs, 1))) if kind != "tensor" else float(rng.uniform(0.2, 0.7))
    if kind == "bipolar":
        weight = net.bipolar_of(net.constant(real), float(rng.uniform(0.3, 2)))
    elif kind == "int8":
        weight = net.dequantized(rng.integers(-9, 10, (outs, ins)), scale.ravel(), np.zeros(outs), np.int8)
    else:
        given = {"narrow": _pick(rng, 0, 1), "rounding_mode": _pick(rng, "ROUND", "FLOOR", "HALF_UP")}
        weight = net.scaled_of(net.constant(real), scale, int(rng.integers(2, 5)), **given)
    bias = rng.normal(0, 1, outs)
    if rng.random() < 0.5:
        net.gemm(weight, net.constant(bias) if rng.random() < 0.5 else "", outs)
    else:
        net.matmul(weight, outs)
        if rng.random() < 0.5:
            net.then("Add", net.constant(bias))
    if rng.random() < 0.5:
        gamma = rng.normal(0, 1, outs)
        net.norm(gamma, rng.normal(0, 1, outs), rng.normal(0, 1, outs), rng.uniform(0.5, 3, outs) * ins)
    for op in rng.permutation(["Mul", "Div", "Sub", "Relu", "Clip"])[: int(rng.integers(0, 3))]:
        each = _pick(rng, 1, outs)
        if op in ("Mul", "Div"):
            net.then(str(op), net.constant(rng.uniform(0.5, 2, each) * _pick(rng, 1, -1)))
        elif op == "Sub":
            net.then("Sub", net.constant(rng.normal(0, 1, each)))
        elif op == "Clip":
            net.then("Clip", net.constant(-1.0), net.constant(3.0))
        else:
            net.relu()
    return 2.0 * math.sqrt(ins) * min(reach, 4.0)


def random_scaled(seed: int, batch: int) -> tuple[ScaledNet, np.ndarray]:
    """A network, and inputs that reach beyond its input's type and hit its ties."""
    rng = np.random.default_rng(seed)
    shape = _pick(rng, (int(rng.integers(2, 6)),), (2, 3, 1))
    net = ScaledNet(shape, batch)
    if rng.random() < 0.4:
        net.then("Mul", net.constant(2.0)).then("Sub", net.constant([1.0]))
    reach = _activation(rng, net, 4.0)
    if len(shape) > 1:
        net.then("Flatten", axis=1)
    for _ in range(int(rng.integers(1, 3))):
        reach = _layer(rng, net, int(rng.integers(2, 6)), reach)
        reach = _activation(rng, net, reach)
    if rng.random() < 0.6:
        weight = net.scaled_of(net.constant(rng.normal(0, 1, (3, net.features))), 0.3, 4)
        net.gemm(weight, net.constant(rng.normal(0, 1, 3)), 3)
    x = rng.normal(0, 3, (batch, *shape)).astype(np.float32)
    x[:2] = np.sign(x[:2]) * 1e6
    x[2] = 0
    return net, x


# -- the exact run --------------------------------------------------------------------------------------------------


def exact_run(path: Path, x: np.ndarray) -> np.ndarray:
    """The output of a file as fractions; square roots have 400 bits."""
    graph = onnx.load(str(path)).graph
    known: dict[str, Any] = {tensor.name: _exact(numpy_helper.to_array(tensor)) for tensor in graph.initializer}
    known[graph.input[0].name] = _exact(x)
    for node in graph.node:
        given = [known[name] for name in node.input if name]
        attributes = {item.name: onnx.helper.get_attribute_value(item) for item in node.attribute}
        known[node.output[0]] = _RUN[node.op_type](attributes, *given)
        if node.op_type in ("QuantizeLinear",):
            kind = {tensor.name: tensor.data_type for tensor in graph.initializer}[node.input[2]]
            lo, hi = (-128, 127) if kind == onnx.TensorProto.INT8 else (0, 255)
            known[node.output[0]] = _each(lambda n, lo=lo, hi=hi: min(max(n, Fraction(lo)), Fraction(hi)))(
                known[node.output[0]]
            )
    return np.asarray(known[graph.output[0].name])


def _exact(array: np.ndarray) -> np.ndarray:
    made = np.empty(array.shape, object)
    for index, value in np.ndenumerate(array):
        made[index] = Fraction(value.item())
    return made


def _each(function: Any) -> Any:
    return np.vectorize(function, otypes=[object])


def _even(x: Fraction) -> Fraction:
    return Fraction(round(x))  # Python's own: halves to even


def _rounding(mode: str) -> Any:
    def sign(x: Fraction) -> int:
        return -1 if x < 0 else 1

    half = Fraction(1, 2)
    found = {
        "ROUND": _even,
        "FLOOR": lambda x: Fraction(math.floor(x)),
        "CEIL": lambda x: Fraction(math.ceil(x)),
        "UP": lambda x: Fraction(sign(x) * math.ceil(abs(x))),
        "DOWN": lambda x: Fraction(sign(x) * math.floor(abs(x))),
        "HALF_UP": lambda x: Fraction(sign(x) * math.floor(abs(x) + half)),
        "HALF_DOWN": lambda x: Fraction(sign(x) * math.ceil(abs(x) - half)),
    }
    return found[mode]


def _quant(given: dict[str, Any], x: Any, scale: Any, zero: Any, bits: Any) -> Any:
    width, signed, narrow = int(bits.item()), given["signed"], given["narrow"]
    hi = 2 ** (width - 1) - 1 if signed else 2**width - 1 - narrow
    lo = -(2 ** (width - 1)) + narrow if signed else 0
    n = _each(_rounding(given["rounding_mode"].decode()))(x / scale + zero)
    return (_each(lambda v: min(max(v, Fraction(lo)), Fraction(hi)))(n) - zero) * scale


def _norm(given: dict[str, Any], x: Any, gamma: Any, beta: Any, mean: Any, var: Any) -> Any:
    shape = (1, -1, *[1] * (x.ndim - 2))

    def root(v: Fraction) -> Fraction:
        return Fraction(math.isqrt((v.numerator << 2 * _ROOT_BITS) // v.denominator), 1 << _ROOT_BITS)

    under = _each(root)(var + Fraction(given["epsilon"]))
    parts = [part.reshape(shape) for part in (gamma, beta, mean, under)]
    return (x - parts[2]) / parts[3] * parts[0] + parts[1]


def _gemm(given: dict[str, Any], x: Any, w: Any, b: Any = None) -> Any:
    y = x.dot(w.T if given.get("transB") else w)
    return y if b is None else y + b


def _dequantize(given: dict[str, Any], x: Any, scale: Any, zero: Any) -> Any:
    if scale.size > 1:
        shape = [1] * x.ndim
        shape[given.get("axis", 1)] = -1
        scale, zero = scale.reshape(shape), zero.reshape(shape)
    return (x - zero) * scale


_RUN: dict[str, Any] = {
    "Quant": _quant,
    "BipolarQuant": lambda given, x, scale: _each(lambda v: Fraction(1 if v >= 0 else -1))(x) * scale,
    "QuantizeLinear": lambda given, x, scale, zero: _each(_even)(x / scale) + zero,
    "DequantizeLinear": _dequantize,
    "BatchNormalization": _norm,
    "Gemm": _gemm,
    "MatMul": lambda given, x, w: x.dot(w),
    "Transpose": lambda given, x: x.transpose(given["perm"]),
    "Flatten": lambda given, x: x.reshape(len(x), -1),
    "Relu": lambda given, x: _each(lambda v: max(v, Fraction(0)))(x),
    "Clip": lambda given, x, lo, hi: _each(lambda v: min(max(v, lo.item()), hi.item()))(x),
    "Mul": lambda given, x, y: x * y,
    "Div": lambda given, x, y: x / y,
    "Add": lambda given, x, y: x + y,
    "Sub": lambda given, x, y: x - y,
}
