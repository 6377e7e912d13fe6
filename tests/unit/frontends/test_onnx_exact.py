"""Networks from QONNX files against qonnx's own execution: every integer, with ==."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from qonnx_nets import Net, execute, random_net, samples
from support import quantize_input, run_quantized

from mase_hw.cli import cli
from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Samples, write_build
from mase_hw.flow import Compiled, compile_model
from mase_hw.models import input_shape, load_model
from mase_hw.numerics import Fixed, Rounding, to_integers, to_narrow_integers
from mase_hw.pipeline.graphs import quantized_graph

BATCH = 48


def software(path: Path, x: np.ndarray) -> np.ndarray:
    """Our quantized torch model of the file."""
    config = load_config(path)
    model = load_model(config.model, config.base)
    graph = quantized_graph(model, input_shape(model), config.raw["passes"]["quantize"])
    with torch.inference_mode():
        return graph.model(torch.from_numpy(x)).double().numpy()


def hardware(path: Path) -> Compiled:
    config = load_config(path)
    model = load_model(config.model, config.base)
    return compile_model(model, input_shape(model), config.raw["passes"]["quantize"])


@pytest.mark.parametrize("seed", range(40))
def test_random_networks_equal_qonnx(seed: int, tmp_path: Path) -> None:
    net, x = random_net(seed, BATCH)
    path = net.save(tmp_path / "net.onnx")
    assert np.array_equal(software(path, x), execute(path, x))


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_random_networks_as_hardware_equal_qonnx(seed: int, tmp_path: Path) -> None:
    """The integer reference, which the RTL is compared with."""
    net, x = random_net(seed, BATCH)
    path = net.save(tmp_path / "net.onnx")
    compiled = hardware(path)
    out, expected = compiled.design.output, execute(path, x)
    order = compiled.layers.output_orders[0]
    expected = expected if order is None else expected[:, list(order)]
    assert np.array_equal(compiled.design.run(quantize_input(compiled, x))[out.name], expected * 2.0**out.fixed.frac)


def narrow_and_mixed() -> Net:
    """What takes layers of our own: narrow ranges of both signs, two Quants in a row, both roundings."""
    rng = np.random.default_rng(5)
    net = Net((2, 2, 2), BATCH).quant(3, 5, "inp", narrow=1, rounding_mode="FLOOR").then("Flatten")
    bias = rng.integers(-9, 9, 6) / 8
    net.linear(rng.normal(0, 0.5, (6, 8)), "fc1", frac=rng.integers(2, 5, (6, 1)), bits=4, bias=bias)
    net.relu("act1").quant(4, 7, "a", signed=0).quant(2, 4, "b", signed=0, narrow=1, rounding_mode="FLOOR")
    net.linear(rng.normal(0, 0.5, (4, 6)), "fc2", frac=3, bits=4)
    return net.quant(2, 6, "c").quant(1, 4, "d", narrow=1, rounding_mode="FLOOR")


def test_what_no_layer_takes_becomes_a_layer(tmp_path: Path) -> None:
    path = narrow_and_mixed().save(tmp_path / "net.onnx")
    model = load_model("net.onnx", tmp_path)
    kinds = [(name, type(layer).__name__) for name, layer in model.named_children()]
    clamp = ["BatchNorm1d", "ReLU", "BatchNorm1d"]
    assert [kind for _, kind in kinds] == ["Flatten", *clamp, "Linear", "ReLU", *clamp, "Linear", *clamp]
    assert [name for name, _ in kinds][1:6] == ["inp", "inp_relu", "inp_2", "fc1", "act1"]
    x = samples(np.random.default_rng(0), (2, 2, 2), 3, 5, BATCH)
    assert np.array_equal(software(path, x), execute(path, x))


@pytest.mark.parametrize("relu", [False, True])
def test_a_narrow_range_costs_nothing_after_a_relu(relu: bool, tmp_path: Path) -> None:
    net = Net((3,)).quant(2, 4).linear(np.eye(3))
    (net.relu() if relu else net).quant(2, 4, narrow=1).linear(np.eye(3), "b").save(tmp_path / "net.onnx")
    names = [name for name, _ in load_model("net.onnx", tmp_path).named_children()]
    assert names == (["fc", "relu", "b"] if relu else ["fc", "quant", "quant_relu", "quant_2", "b"])


def test_quants_that_change_nothing_are_dropped(tmp_path: Path) -> None:
    net = Net((3,)).quant(2, 4).quant(3, 6, rounding_mode="FLOOR").linear(np.eye(3)).quant(1, 4).quant(1, 5)
    config = load_config(net.save(tmp_path / "net.onnx"))
    assert list(config.quantize.entries) == ["fc"]
    spec = config.quantize.entries["fc"]
    assert (spec.data_in, spec.data_out, str(spec.rounding)) == (Fixed(4, 2), Fixed(4, 1), "integer")


def test_no_quant_between_layers_is_the_exact_sum(tmp_path: Path) -> None:
    net = Net((3,), BATCH).quant(2, 4).linear(np.eye(2, 3) * 3, "a", frac=1, bits=4).linear(np.eye(2), "b", frac=0)
    path = net.save(tmp_path / "net.onnx")
    assert load_config(path).quantize.entries["b"].data_in == Fixed(7, 3)  # -8 * 6 to 7 * 6
    x = samples(np.random.default_rng(0), (3,), 2, 4, BATCH)
    assert np.array_equal(software(path, x), execute(path, x))


@pytest.mark.parametrize(("relu", "width"), [(False, 8), (True, 7)])
def test_a_relu_narrows_the_exact_sum(relu: bool, width: int, tmp_path: Path) -> None:
    net = Net((3,)).quant(2, 4).linear(np.eye(2, 3) * 4.5, "a", frac=1, bits=6)  # -8 * 9 to 7 * 9
    path = (net.relu() if relu else net).linear(np.eye(2), "b", frac=0).save(tmp_path / "net.onnx")
    assert load_config(path).quantize.entries["b"].data_in == Fixed(width, 3)


def test_a_batch_norm_takes_a_transpose_in(tmp_path: Path) -> None:
    net = Net((2, 3), BATCH).quant(2, 5).then("Transpose", perm=[0, 2, 1]).then("Flatten")
    net.norm(np.arange(1, 7) / 4, np.arange(6) / 8, np.arange(6) / 2, np.ones(6), 0.0)
    net.linear(np.arange(12).reshape(2, 6) / 4 - 1, frac=2, bits=5)
    path = net.save(tmp_path / "net.onnx")
    x = samples(np.random.default_rng(0), (2, 3), 2, 5, BATCH)
    assert np.array_equal(software(path, x), execute(path, x))


def test_a_shift_that_float32_rounds_is_refused(tmp_path: Path) -> None:
    """beta - mean * scale is -2**-24, and 0 where the product is rounded to float32 first."""
    near = 1 + 2.0**-12
    net = Net((2,)).quant(10, 2).norm(near, 1 + 2.0**-11, near, 1.0, 0.0, name="bn")
    with pytest.raises(ProblemsError, match=r"node bn \(BatchNormalization\): its scale and shift are made of floats"):
        load_config(net.save(tmp_path / "net.onnx"))


def test_sums_that_float32_may_round_are_noted(tmp_path: Path) -> None:
    net = Net((8,)).quant(4, 12).linear(np.full((2, 8), 100.0), frac=4, bits=12)
    (note,) = load_config(net.save(tmp_path / "net.onnx")).notes
    assert note.startswith("fc: its sums can take 25 bits: hardware is exact, and what adds them in float32 (24 bits)")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [None, 7])
def test_rtl_equals_qonnx(seed: int | None, tmp_path: Path) -> None:
    """The samples that qonnx executes, through the RTL under Verilator."""
    if seed is None:
        net, x = narrow_and_mixed(), samples(np.random.default_rng(0), (2, 2, 2), 3, 5, BATCH)
    else:
        net, x = random_net(seed, BATCH)
    path = net.save(tmp_path / "net.onnx")
    compiled, expected = hardware(path), execute(path, x)
    out = compiled.design.output
    y = run_quantized(compiled, x)
    assert np.array_equal(y, expected * 2.0**out.fixed.frac)
    stored = Samples((quantize_input(compiled, x),), (y,), np.zeros(BATCH, np.int64), np.zeros(BATCH, np.int64))
    build = write_build(tmp_path / "build", compiled.design, dict(load_config(path).raw), stored, {})
    result = CliRunner().invoke(cli, ["sim", str(build.path), "--only", "design"])
    assert result.exit_code == 0, result.output
    assert f"{BATCH} data set" in result.output
    assert "passed: every integer of every stream equals the software reference" in result.output


@pytest.mark.parametrize("fixed", [Fixed(4, 1), Fixed(4, 1, signed=False), Fixed(2, -1)])
@pytest.mark.parametrize("rounding", list(Rounding))
def test_narrow_integers_lack_one_end(fixed: Fixed, rounding: Rounding) -> None:
    values = np.arange(-80, 80) / 8
    full, narrow = to_integers(values, fixed, rounding), to_narrow_integers(values, fixed, rounding)
    missing = fixed.lo if fixed.signed else fixed.hi
    assert (full == missing).any()
    assert not (narrow == missing).any()
    assert np.array_equal(full[full != missing], narrow[full != missing])
    assert set(narrow[full == missing]) == {missing + (1 if fixed.signed else -1)}
