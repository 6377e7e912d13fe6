"""What a file with scales may have, piece by piece, and what it may not."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from qonnx_nets import execute
from scaled_nets import ScaledNet, exact_run, random_scaled
from test_onnx_scaled import assert_exact, prepared, values_of

from mase_hw.config_file import config_of, load_config
from mase_hw.datasets import Dataset
from mase_hw.diagnostics import ProblemsError
from mase_hw.frontends.onnx_file import quantize_table, read_onnx
from mase_hw.frontends.onnx_steps import Linear, Staircase
from mase_hw.models import load_model
from mase_hw.models.fit import check_training_data

RNG = np.random.default_rng(5)
W = RNG.normal(0, 1, (4, 3))
KWS_SCALE, KWS_X = 0.8298503756523132, -57.674598693847656  # of a published file, and one of its inputs' values


def net() -> ScaledNet:
    made = ScaledNet((3,), 8)
    made.scaled(0.3, 4)
    return made.gemm(made.scaled_of(made.constant(W), 0.37, 3), outs=4)


def agrees(made: ScaledNet, folder: Path, spread: float = 2.0) -> None:
    """Exact, and what qonnx computes."""
    x = RNG.normal(0, spread, (made.batch, *made.shape)).astype(np.float32)
    found = values_of(prepared(made, folder), x)
    assert_exact(found, exact_run(folder / "net.onnx", x))
    assert np.allclose(found, execute(folder / "net.onnx", x), rtol=1e-4, atol=1e-4)


def test_a_quotient_that_float32_rounds_to_a_tie(tmp_path: Path) -> None:
    """qonnx's float32 has exactly -69.5 and takes -70; the exact quotient is -69.499997, and the design takes -69."""
    made = ScaledNet((1,), 1).scaled(KWS_SCALE, 8)
    made.gemm(made.scaled_of(made.constant([[1.0]]), 1.0, 2), outs=1)
    x = np.array([[KWS_X]], np.float32)
    found = values_of(prepared(made, tmp_path), x)
    quotient = Fraction(KWS_X) / Fraction(KWS_SCALE)
    assert round(quotient) == -69
    assert np.float32(KWS_X) / np.float32(KWS_SCALE) == np.float32(-69.5)
    assert round(found.item() / KWS_SCALE) == -69
    assert round(execute(tmp_path / "net.onnx", x).item() / KWS_SCALE) == -70


def test_shapes_that_are_computed_and_numbers_of_minus_one_and_one(tmp_path: Path) -> None:
    """As exporters wrote them in 2020: Shape, Gather, Concat, Reshape; 2x - 1; BipolarQuant; a Pow in a Div."""
    made = ScaledNet((1, 2, 3), 6)
    first = made.node("Gather", made.node("Shape", "x"), made.constant(0, dtype=np.int64), axis=0)
    axes, rest = (made.constant([value], dtype=np.int64) for value in (0, -1))
    made.then("Reshape", made.node("Concat", made.node("Unsqueeze", first, axes), rest, axis=0))
    made.features = 6
    made.then("Mul", made.constant(2.0)).then("Sub", made.constant([1.0])).scaled(1.0, 2, narrow=1)
    weight = np.sign(RNG.normal(0, 1, (5, 6)))
    made.matmul(made.bipolar_of(made.constant(weight)), 5).norm(RNG.normal(0, 1, 5), 0.1, 0.3, 2.0).bipolar(0.7)
    made.matmul(made.bipolar_of(made.constant(weight[:2, :5])), 2)
    made.then("Sub", made.constant([0.25])).then("Div", made.node("Pow", made.constant([3.0]), made.constant(0.5)))
    x = RNG.uniform(-0.2, 1.2, (6, 1, 2, 3)).astype(np.float32)
    found = values_of(prepared(made, tmp_path), x)
    assert np.allclose(found, execute(tmp_path / "net.onnx", x), rtol=1e-5, atol=1e-5)
    steps = [placed.step for placed in read_onnx(tmp_path / "net.onnx").layers]
    assert {step.fixed.width for step in steps if isinstance(step, Staircase)} == {1}  # -1 and 1 are one bit
    assert all(np.isin(step.weight.values, (-1, 1)).all() for step in steps if isinstance(step, Linear))


@pytest.mark.parametrize("gamma", [[1.0, -1.0, 0.0, 2.0], [-3.0, -1.0, -2.0, -0.5]])
def test_a_falling_batch_norm_turns_the_rows_before_it(gamma: list[float], tmp_path: Path) -> None:
    agrees(net().norm(gamma, 0.2, 0.1, 0.7).relu().scaled(0.21, 3, signed=0), tmp_path)


def qdq_image(kind: str, zero: int) -> ScaledNet:
    """Convolutions with padding, a pool, numbers whose zero is not the integer 0."""
    made = ScaledNet((2, 5, 5), 3)
    made.qdq(0.11, 0, "int8")
    for k, (outs, ins) in enumerate(((3, 2), (2, 3))):
        values, scales = RNG.integers(-20, 21, (outs, ins, 3, 3)), RNG.uniform(0.01, 0.1, outs)
        weight = made.dequantized(values, scales, np.zeros(outs), np.int8)
        bias = made.dequantized(RNG.integers(-99, 99, outs), scales * 0.11, np.zeros(outs), np.int32)
        made.tensor = made.node("Conv", made.tensor, weight, bias, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        if not k:
            made.relu()
        made.qdq(0.05, zero, kind)
        made.then("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
    return made.then("Flatten", axis=1)


@pytest.mark.parametrize(("kind", "zero"), [("uint8", 128), ("uint8", 7), ("int8", -100), ("int8", 0)])
def test_images_behind_quantize_linear(kind: str, zero: int, tmp_path: Path) -> None:
    made = qdq_image(kind, zero)
    x = RNG.normal(0, 4, (3, 2, 5, 5)).astype(np.float32)
    found = values_of(prepared(made, tmp_path), x)
    assert np.allclose(found, execute(tmp_path / "net.onnx", x), atol=1e-4)


@pytest.mark.parametrize("op", ["AveragePool", "GlobalAveragePool", "ReduceMean"])
def test_averages(op: str, tmp_path: Path) -> None:
    made = ScaledNet((2, 4, 3), 5).qdq(0.07, 3, "uint8")
    given = {
        "AveragePool": {"kernel_shape": [2, 3], "strides": [2, 1]},
        "ReduceMean": {"axes": [2, 3], "keepdims": 0},
    }
    made.then(op, **given.get(op, {})).scaled(0.05, 6)
    if op != "ReduceMean":
        made.then("Flatten", axis=1)
    made.features = 4 if op == "AveragePool" else 2
    made.gemm(made.scaled_of(made.constant(RNG.normal(0, 1, (2, made.features))), 0.3, 4), outs=2)
    x = RNG.normal(6, 4, (5, 2, 4, 3)).astype(np.float32)
    found = values_of(prepared(made, tmp_path), x)
    assert np.allclose(found, execute(tmp_path / "net.onnx", x), atol=1e-4)


def test_an_output_has_the_type_of_its_quantize_linear(tmp_path: Path) -> None:
    made = prepared(net().qdq(0.3, 77, "uint8"), tmp_path).compiled
    (y,) = made.design.outputs
    assert (y.fixed.width, y.fixed.signed) == (8, False)
    (values,) = made.layers.output_values
    assert values is not None
    assert values.port() == {"scale": float(np.float32(0.3)), "zero_point": pytest.approx(77)}


def test_powers_of_two_keep_their_own_path(tmp_path: Path) -> None:
    made = ScaledNet((3,)).scaled(0.5, 4)
    made.gemm(made.scaled_of(made.constant(W), 0.25, 3), outs=4).relu().scaled(0.5, 3, signed=0)
    assert read_onnx(made.save(tmp_path / "net.onnx")).scaled is None
    assert read_onnx(net().save(tmp_path / "net.onnx")).scaled is not None


def test_a_softmax_at_the_end_is_left_out(tmp_path: Path) -> None:
    for made in (net(), ScaledNet((3,)).scaled(0.5, 4)):
        if made.tensor == "t0":
            made.gemm(made.scaled_of(made.constant(W), 0.25, 3), outs=4)
        last = made.tensor
        config = load_config(made.then("Softmax", name="sm", axis=1).save(tmp_path / "net.onnx"))
        text = "node sm (Softmax) at the end is left out: the class with the largest score is the same"
        assert text in config.notes
        assert last != made.tensor


def _behind_raw() -> ScaledNet:
    made = ScaledNet((3,))
    return made.gemm(made.scaled_of(made.constant(W), 0.37, 3), outs=4).scaled(0.3, 4)


def _falls() -> ScaledNet:
    made = ScaledNet((3,)).scaled(0.3, 4)
    made.then("Mul", made.constant(-1.0)).scaled(0.3, 3)
    return made.gemm(made.scaled_of(made.constant(W), 0.37, 3), outs=4)


def _product() -> ScaledNet:
    made = net()
    return made.then("Mul", made.tensor)


def _again(made: ScaledNet) -> ScaledNet:
    return made.gemm(made.scaled_of(made.constant(np.eye(4)), 0.3, 3), outs=4)


REFUSED: dict[str, tuple[Callable[[], ScaledNet], str]] = {
    "raw": (_behind_raw, "its input has no type: no Quant stands before it"),
    "relu": (lambda: net().relu(), "a ReLU or a Clip is the last node"),
    "unrounded": (
        lambda: _again(net().relu()),
        "no Quant stands between it and the ReLU, the Clip or the batch norm before it",
    ),
    "bits": (lambda: net().scaled(0.1, 13), "quantizes a result to 13 bits, and 12 are the most between layers"),
    "zero point": (lambda: net().scaled(0.1, 4, 0.5), "its zero point is 0.5"),
    "mode": (lambda: net().scaled(0.1, 4, rounding_mode="SIDEWAYS"), 'rounding_mode = "SIDEWAYS" is unknown'),
    "norms": (
        lambda: net().norm(1.0, 0.1, 0.0, 3.0).norm(1.0, 0.1, 0.0, 3.0).scaled(0.1, 4),
        "has two batch norms in front of it, one behind the other",
    ),
    "falls": (_falls, "numbers fall where those before it rise, and no matrix of its own stands before it"),
    "scales of inputs": (
        lambda: _again(net().scaled(np.array([[0.3, 0.4, 0.3, 0.3]], np.float32), 3)),
        "its inputs have different scales, and integers of different scales cannot be added",
    ),
    "product": (_product, "reads two results of layers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path) -> None:
    make, text = REFUSED[case]
    with pytest.raises(ProblemsError) as caught:
        load_config(make().save(tmp_path / "net.onnx"))
    assert text in str(caught.value)
    assert str(caught.value).startswith(f"{tmp_path}/net.onnx: error: node ")


def test_a_factor_that_falls_behind_a_quantizer(tmp_path: Path) -> None:
    made = net().scaled(0.3, 3)
    agrees(made.then("Mul", made.constant(-1.0)).scaled(0.3, 3), tmp_path)


def test_a_table_of_types_is_refused(tmp_path: Path) -> None:
    path = net().save(tmp_path / "net.onnx")
    values = {"model": str(path), "passes": {"quantize": {"by": "type", "linear": {"config": {"name": "integer"}}}}}
    with pytest.raises(ProblemsError, match="states every type itself, with scales that are no powers of two"):
        config_of(values)


def test_a_model_in_double_gives_the_same(tmp_path: Path) -> None:
    model = load_model("net.onnx", net().save(tmp_path / "net.onnx").parent)
    x = torch.from_numpy(RNG.normal(0, 2, (9, 3)).astype(np.float32))
    y = model(x)
    assert torch.equal(model.double()(x.double()), y)
    assert torch.equal(model.float()(x), y)


def test_training_is_refused(tmp_path: Path) -> None:
    model = load_model("net.onnx", net().save(tmp_path / "net.onnx").parent)
    x, y = np.zeros((4, 3), np.float32), np.zeros(4, np.int64)
    dataset = Dataset("mine", x, y, x, y, x, y)
    config = load_config(tmp_path / "net.onnx")
    with pytest.raises(ProblemsError, match="computes with the integers of its file, which have no gradients"):
        check_training_data(model, dataset, config.training)
    assert model(torch.zeros(2, 3)).shape == (2, 4)


@pytest.mark.parametrize("image", [False, True])
def test_any_bytes_give_a_model_or_a_problem(image: bool, tmp_path: Path) -> None:
    data = (qdq_image("uint8", 7) if image else random_scaled(5, 4)[0]).model().SerializeToString()
    rng, path, refused = np.random.default_rng(0), tmp_path / "net.onnx", []
    for _ in range(40):
        broken = bytearray(data)
        for _ in range(int(rng.integers(1, 6))):
            broken[int(rng.integers(len(broken)))] = int(rng.integers(256))
        path.write_bytes(broken)
        try:
            quantize_table(read_onnx(path), {})
        except ProblemsError as error:
            refused.append(str(error))
    assert refused
    assert all("net.onnx: error: " in text for text in refused)
