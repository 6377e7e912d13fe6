"""What an ONNX file may not have: each is told with the node's name, why, and what to do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from qonnx_nets import DOMAIN, Net

from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError

W = np.eye(2, 3)
TYPES = (
    '        [passes.quantize]\n        by = "name"\n        [passes.quantize.{}.config]\n        name = "integer"\n'
)


def base() -> Net:
    return Net((3,)).quant(4, 8, name="inp")


def quant(scale: object = 0.5, zero: object = 0.0, bits: object = 8.0, **attributes: object) -> Net:
    net = base()
    given = {"signed": 1, "narrow": 0, **attributes}
    parts = [net.constant(values) for values in (scale, zero, bits)]
    net.tensor = net.node("Quant", net.tensor, *parts, domain=DOMAIN, name="q1", **given)
    return net.linear(W)


def custom(op: str, inputs: int, domain: str = DOMAIN) -> Net:
    net = base()
    net.tensor = net.node(op, net.tensor, *(net.constant(1.0) for _ in range(inputs)), domain=domain, name="n1")
    return net.linear(W)


def float_weight() -> Net:
    net = base()
    weight, bias = net.constant([[0.1, 0.2, 1e-6], [1, 2, 3]], "fc.weight"), net.constant([0.1, 1e-7], "fc.bias")
    return net.gemm(weight, bias, outs=2, name="gemm_1")


def gemm(**given: object) -> Net:
    net = base()
    return net.gemm(net.constant(W), outs=2, name="gemm_1", **given)


def added() -> Net:
    net = base().linear(W).relu()
    return net.then("Add", net.constant([1.0, 2.0]), name="skip")


def reshaped(*sizes: int) -> Net:
    net = Net((2, 2)).quant(2, 4)
    return net.then("Reshape", net.constant(sizes, dtype=np.int64), name="rs")


POWER = "  hint: train with scales that are powers of two: in Brevitas, the quantizers whose names have FixedPoint"
SUPPORTED = (
    "  hint: supported: Gemm, MatMul, Add, Sub, Concat, Mul, Relu, BatchNormalization, Quant, Conv, MaxPool, "
    "AveragePool, GlobalAveragePool, GlobalMaxPool, ReduceMean, ReduceMax, Pad, Flatten, Reshape, Squeeze, "
    "Transpose, Identity, Dropout, Cast"
)

CASES: dict[str, tuple[Callable[[], Net], str]] = {
    "scale, negative": (lambda: quant(-0.5), f"node q1 (Quant): its scale -0.5 is not a power of two\n{POWER}"),
    "scale, per channel": (
        lambda: quant([[0.5, 0.25, 0.5]]),
        "node q1 (Quant): has a scale for each channel, and a stream has one type\n"
        "  hint: quantize activations per tensor; weights may be quantized per channel",
    ),
    "scale, one of several": (
        lambda: quant([[0.5, 0.3, 0.5]]),
        "node /fc/Gemm (Gemm): its inputs have different scales, and integers of different scales cannot be added\n"
        "  hint: quantize activations per tensor; weights may be quantized per channel",
    ),
    "bits, not whole": (
        lambda: quant(bits=8.5),
        "node q1 (Quant): its bit width is 8.5\n  hint: one whole number from 1 to 32",
    ),
    "bits, too many": (
        lambda: quant(bits=33.0),
        "node q1 (Quant): its bit width is 33\n  hint: one whole number from 1 to 32",
    ),
    "flag": (
        lambda: quant(signed=2),
        "node q1 (Quant): its attribute signed is 2\n  hint: signed is 0 or 1",
    ),
    "trunc": (
        lambda: custom("Trunc", 4),
        "node n1 (Trunc): truncating to fewer bits is not supported\n"
        "  hint: use a Quant with rounding_mode FLOOR or ROUND",
    ),
    "operator": (lambda: custom("Sigmoid", 0, ""), f"node n1 (Sigmoid): Sigmoid is not supported\n{SUPPORTED}"),
    "domain": (lambda: custom("Relu", 0, "mine"), f"node n1 (Relu): Relu of mine is not supported\n{SUPPORTED}"),
    "no Quant before the first layer": (
        lambda: Net((3,)).linear(W),
        "node /fc/Gemm (Gemm): its input has no type: no Quant stands before it\n"
        "  hint: put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        f"{TYPES.format('fc')}        data_in_width = 8\n        data_in_frac_width = 4",
    ),
    "float bias": (
        lambda: base().linear(W, bias=[0.1, 1e-7]),
        "node /fc/Gemm (Gemm): its bias has no Quant and is made of floats that no type of 32 bits or fewer has "
        "exactly\n  hint: quantize them (Brevitas: bias_quant=Int16Bias), or let the TOML round them:\n"
        f"{TYPES.format('fc')}        bias_width = 8\n        bias_frac_width = 4",
    ),
    "float weight and bias": (
        float_weight,
        "node gemm_1 (Gemm): its weight and bias have no Quant and are made of floats that no type of 32 bits or "
        "fewer has exactly\n  hint: quantize them (Brevitas: weight_quant=Int8WeightPerTensorFixedPoint, "
        f"bias_quant=Int16Bias), or let the TOML round them:\n{TYPES.format('fc')}        weight_width = 8\n"
        "        weight_frac_width = 4\n        bias_width = 8\n        bias_frac_width = 4",
    ),
    "bias finer than float32 adds": (
        lambda: base().linear(W * 7, bias=[2.0**-20, 1.0]),
        "node /fc/Gemm (Gemm): its bias has no Quant and is made of floats, with which sums take 26 bits; float32 is "
        "exact up to 24\n  hint: quantize them (Brevitas: bias_quant=Int16Bias), or let the TOML round them:\n"
        f"{TYPES.format('fc')}        bias_width = 8\n        bias_frac_width = 4",
    ),
    "float batch norm": (
        lambda: base().linear(W).norm(1.0, 0.0, 0.5, 1.0, name="bn").quant(3, 8),
        "node bn (BatchNormalization): its scale and shift are made of floats that no type of 32 bits or fewer has "
        "exactly\n  hint: fold it into the layer before it (Brevitas: merge_bn), or let the TOML round it:\n"
        f"{TYPES.format('bn')}        weight_width = 8\n        weight_frac_width = 4\n        bias_width = 8\n"
        "        bias_frac_width = 4",
    ),
    "variance": (
        lambda: base().linear(W).norm(1.0, 0.0, 0.0, -1.0, name="bn"),
        "node bn (BatchNormalization): a variance is negative, or zero without an epsilon\n  hint: check the training",
    ),
    "exact input too wide": (
        lambda: base().linear(W * 2.0**20, bits=30).linear(np.eye(2) * 16, "b", bits=30).linear(np.eye(2), "c"),
        "node /c/Gemm (Gemm): no Quant stands before it, and its exact input takes 40 bits; 32 are the most\n"
        "  hint: put a Quant before it, or name the type in the TOML:\n"
        f"{TYPES.format('c')}        data_in_width = 8\n        data_in_frac_width = 4",
    ),
    "add": (
        added,
        "node skip (Add): a ReLU or a Clip is the last node\n  hint: put a Quant behind it",
    ),
    "NaN": (
        lambda: base().linear(np.where(W == 1, np.nan, 0)),
        "node t1 (Quant): 2 of the 6 values that it quantizes are NaN or infinite\n  hint: check the training",
    ),
    "sizes": (
        lambda: base().linear(np.eye(2, 5)),
        "node /fc/Gemm (Gemm): its weight has 5 inputs, and 3 features reach it",
    ),
    "batch moved": (
        lambda: Net((2, 2)).quant(2, 4).then("Transpose", perm=[1, 0, 2], name="tp").then("Flatten"),
        "node tp (Transpose): perm = [1, 0, 2] moves the batch\n  hint: the first axis must stay the first",
    ),
    "order of the output": (
        lambda: Net((2, 2)).quant(2, 4).then("Transpose", perm=[0, 2, 1], name="tp").then("Flatten"),
        "the output's elements are in another order than its layer gives them\n"
        "  hint: leave out the Transpose before the output",
    ),
    "reshape": (
        lambda: reshaped(1, 4, 1),
        "node rs (Reshape): reshapes [batch, 2, 2] to [1, 4, 1]\n"
        "  hint: only flattening to [batch, features] is supported",
    ),
    "alpha": (
        lambda: gemm(alpha=2.0),
        "node gemm_1 (Gemm): alpha = 2 is not supported\n  hint: use transA = 0, alpha = 1, beta = 1",
    ),
    "image": (
        lambda: Net((2, 2)).quant(2, 4).linear(np.eye(2)),
        "node /fc/Gemm (Gemm): multiplies [batch, 2, 2] by a constant of shape (2, 2)\n"
        "  hint: only [batch, features] by a matrix becomes hardware: flatten first",
    ),
    "scales of weights far apart": (
        lambda: base().linear(W, frac=[[0], [40]]),
        "node t1 (Quant): its scales differ so much that the numbers need 42 bits in the finest of them\n"
        "  hint: 32 bits are the most: use one scale, or scales that are nearer",
    ),
}


def said(path: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_config(path)
    return str(caught.value)


@pytest.mark.parametrize("case", CASES)
def test_what_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, text = CASES[case]
    assert said(make().save(Path("net.onnx"))) == f"net.onnx: error: {text}"


def test_all_wrong_quants_are_told_together(tmp_path: Path) -> None:
    net = quant(-0.3)
    net.tensor = net.node(
        "Quant", net.tensor, *(net.constant(v) for v in (-0.7, 0.0, 8.0)), domain=DOMAIN, name="q2", signed=1, narrow=0
    )
    text = said(net.save(tmp_path / "net.onnx"))
    assert text.count("is not a power of two") == 2


def test_all_unsupported_nodes_are_told_together(tmp_path: Path) -> None:
    text = said(base().linear(W).then("Softmax", name="a").then("Sigmoid", name="b").save(tmp_path / "net.onnx"))
    assert "node a (Softmax)" in text
    assert "node b (Sigmoid)" in text
