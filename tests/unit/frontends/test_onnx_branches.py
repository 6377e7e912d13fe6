"""QONNX files whose tensors branch and join, against qonnx's own execution: every integer, with ==."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from click.testing import CliRunner
from onnx import TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.transformation.infer_shapes import InferShapes
from qonnx_nets import DOMAIN, Net, samples

from mase_hw.cli import cli
from mase_hw.config import Config, load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.flow import compile_model
from mase_hw.models import input_shapes, load_model
from mase_hw.numerics import Fixed, Rounding
from mase_hw.samples import forward, quantize_inputs

BATCH = 32
RNG = np.random.default_rng(11)
A, B, C, D = (RNG.normal(0, 0.7, (6, 6)) for _ in range(4))
WIDE, TALL = RNG.normal(0, 0.7, (4, 12)), RNG.normal(0, 0.7, (4, 6))
SCALE = np.array([0.5, -1.25, 3.0, 0.25, 0.0, 2.0])


class Graph(Net):
    """A Net with tensors by name: every method works on the tensor that `at` has set."""

    def __init__(self, **inputs: int) -> None:
        super().__init__((next(iter(inputs.values())),), BATCH)
        self.inputs, self.outputs = inputs, list[str]()

    def at(self, tensor: str) -> Graph:
        self.tensor, self.features = tensor, self.inputs.get(tensor, 6)
        return self

    def join(self, op: str, *inputs: str, name: str = "", **attributes: Any) -> Graph:
        self.tensor = self.node(op, *inputs, name=name, **attributes)
        return self

    def returns(self, *tensors: str) -> Graph:
        self.outputs = list(tensors)
        return self

    def save(self, path: Path) -> Path:
        inputs = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [BATCH, k]) for n, k in self.inputs.items()]
        results = [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in self.outputs or [self.tensor]]
        graph = helper.make_graph(self.nodes, "net", inputs, results, self.tensors)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), str(path))
        return path


def execute(path: Path, given: dict[str, np.ndarray]) -> list[np.ndarray]:
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


def matmul_shared() -> Graph:
    """A MatMul whose sums are read twice keeps them, and a Transpose is taken in by both readers."""
    net, h = trunk()
    y = net.node("MatMul", h, net.quant_of(net.constant(B, "mm.weight"), 3, 5))
    z = net.node("Identity", y)
    return net.join("Add", z, y, name="twice")


NETS: dict[str, Callable[[], Graph]] = {
    made.__name__: made
    for made in (
        *(residual, residual_twice, one_side, exact_sum, heads, returned_and_read, two_inputs, inputs_joined),
        *(concat, concat_mixed, concat_then_quants, scaled, quantized_scale, same_twice, typed_apart, matmul_shared),
    )
}


def loaded(path: Path) -> tuple[Config, Any]:
    config = load_config(path)
    return config, load_model(config.model, config.base)


@pytest.mark.parametrize("name", NETS)
def test_torch_and_integers_equal_qonnx(name: str, tmp_path: Path) -> None:
    net = NETS[name]()
    path = net.save(tmp_path / "net.onnx")
    rng = np.random.default_rng(3)
    given = {item: samples(rng, (size,), 3, 6, BATCH) for item, size in net.inputs.items()}
    expected = execute(path, given)
    config, model = loaded(path)
    compiled = compile_model(model, input_shapes(model), config.raw["passes"]["quantize"])
    got = forward(compiled.graph.model, tuple(given.values()))
    integers = compiled.design.results(*quantize_inputs(compiled.layers, tuple(given.values())))
    assert len(expected) == len(got) == len(integers) == len(compiled.design.outputs)
    for wanted, values, n, out in zip(expected, got, integers, compiled.design.outputs, strict=True):
        assert wanted.any()
        assert np.array_equal(values, wanted)
        assert np.array_equal(n, wanted * 2.0**out.fixed.frac)


def layers(path: Path) -> list[tuple[str, tuple[str, ...]]]:
    config, model = loaded(path)
    compiled = compile_model(model, input_shapes(model), config.raw["passes"]["quantize"])
    return [(layer.name, layer.inputs) for layer in compiled.layers.layers]


def test_layers_have_the_names_of_the_file(tmp_path: Path) -> None:
    assert layers(residual().save(tmp_path / "net.onnx")) == [
        ("fc1", ("x",)),
        ("act1", ("fc1",)),
        ("fc2", ("act1",)),
        ("skip", ("act1", "fc2")),
        ("act2", ("skip",)),
        ("fc3", ("act2",)),
    ]
    found = dict(layers(scaled().save(tmp_path / "net.onnx")))
    assert (found["gain"], found["m2"], found["total"]) == (("act1",), ("fc2",), ("gain", "m2"))
    assert dict(layers(two_inputs().save(tmp_path / "net.onnx")))["fcz"] == ("side",)


def test_the_types_of_a_residual_block(tmp_path: Path) -> None:
    entries = load_config(residual().save(tmp_path / "net.onnx")).quantize.entries
    assert list(entries) == ["fc1", "fc2", "skip", "fc3"]
    assert entries["fc1"].data_out is entries["fc2"].data_out is entries["skip"].data_out is None
    assert entries["fc2"].data_in == entries["skip"].data_in == Fixed(6, 3)
    assert entries["fc3"].data_in == Fixed(6, 2)


def test_a_sum_without_quants_is_exact(tmp_path: Path) -> None:
    assert list(load_config(exact_sum().save(tmp_path / "net.onnx")).quantize.entries) == ["fc1", "fc2", "fc3"]


def test_the_quant_behind_a_sum_of_exact_inputs_is_its_data_out(tmp_path: Path) -> None:
    spec = load_config(one_side().save(tmp_path / "net.onnx")).quantize.entries["skip"]
    assert (spec.data_out, spec.rounding) == (Fixed(5, 1), Rounding.HALF_EVEN)
    assert spec.data_in is not None
    assert spec.data_in.frac == 6  # of the exact sums of fc2; nothing is rounded before the sum


def test_a_copy_of_the_model_knows_its_inputs(tmp_path: Path) -> None:
    _, model = loaded(two_inputs().save(tmp_path / "net.onnx"))
    assert input_shapes(copy.deepcopy(copy.deepcopy(model))) == ((6,), (6,))


def test_emit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    net = two_inputs()
    net.returns(net.tensor, net.at(net.nodes[-3].output[0]).relu("act").tensor)
    net.save(Path("net.onnx"))
    result = CliRunner().invoke(cli, ["emit", "net.onnx", "--out", "build"])
    assert result.exit_code == 0, result.output
    assert all(name in result.output for name in ("fcx", "fcz", "diff", "head", "act"))
    top = Path("build/rtl/net.sv").read_text()
    assert all(port in top for port in ("data_in_0", "data_in_1", "data_out_0", "data_out_1"))


def test_a_toml_may_give_a_sum_its_type(tmp_path: Path) -> None:
    residual().save(tmp_path / "net.onnx")
    lines = ['model = "net.onnx"', "[passes.quantize]", 'by = "name"', "[passes.quantize.skip.config]"]
    lines += ['name = "integer"', "data_in_width = 4", "data_in_frac_width = 2"]
    (tmp_path / "net.toml").write_text("\n".join(lines))
    config = load_config(tmp_path / "net.toml")
    assert config.quantize.entries["skip"].data_in == Fixed(4, 2)
    assert config.notes == ("skip: the TOML's data_in fixed(4, 2) stands in place of the file's fixed(6, 3)",)


def refused(make: Callable[[Graph, str], Graph]) -> Graph:
    net, h = trunk()
    return make(net, h)


def different(net: Graph, h: str, **given: Any) -> Graph:
    y = net.linear(B, "fc2", frac=3, bits=5).quant(3, given.pop("bits", 6), "q2", **given).tensor
    return net.join("Add", h, y, name="skip")


ALIKE = "  hint: quantize its inputs alike (Brevitas: one QuantIdentity for all of them)"
REFUSED: dict[str, tuple[Callable[[], Graph], str]] = {
    "different types": (
        lambda: refused(lambda net, h: different(net, h, bits=5)),
        "node skip (Add): its inputs have different Quants, and a layer has one data_in: node q1 (Quant) gives "
        f"fixed(6, 3) and node q2 (Quant) gives fixed(5, 3)\n{ALIKE}",
    ),
    "different rounding": (
        lambda: refused(lambda net, h: different(net, h, rounding_mode="FLOOR")),
        "node skip (Add): its inputs have different Quants, and a layer has one data_in: node q1 (Quant) rounds by "
        f'"integer" and node q2 (Quant) rounds by "integer_floor"\n{ALIKE}',
    ),
    "inputs added without a type": (
        lambda: Graph(x=6, side=6).join("Add", "x", "side", name="total").quant(2, 4),
        "node total (Add): its input has no type: no Quant stands before it\n"
        "  hint: put a Quant before it (Brevitas: qnn.QuantIdentity), or name the type in the TOML:\n"
        '        [passes.quantize]\n        by = "name"\n        [passes.quantize.total.config]\n',
    ),
    "different sizes": (
        lambda: refused(lambda net, h: net.linear(TALL).join("Add", h, net.tensor, name="skip")),
        "node skip (Add): joins 6 and 4 features\n  hint: there is no broadcasting: give both inputs one shape",
    ),
    "a constant subtracted": (
        lambda: refused(lambda net, h: net.join("Sub", h, net.constant(SCALE), name="less")),
        "node less (Sub): a Sub with a constant is not supported\n"
        "  hint: give the constant to the layer before it as a bias",
    ),
    "axis": (
        lambda: refused(lambda net, h: net.join("Concat", h, h, name="both", axis=0)),
        "node both (Concat): axis = 0 does not join features\n  hint: use axis = 1",
    ),
    "product": (
        lambda: refused(lambda net, h: net.join("Mul", h, h, name="square")),
        "node square (Mul): multiplies two results of layers\n  hint: hardware multiplies by constants alone",
    ),
    "shape of a constant": (
        lambda: refused(lambda net, h: net.join("Mul", h, net.constant(np.ones((32, 6))), name="m")),
        "node m (Mul): multiplies 6 features by a constant of shape (32, 6)\n"
        "  hint: the constant is one number, or one for each feature",
    ),
    "float constant": (
        lambda: refused(lambda net, h: net.join("Mul", h, net.constant([0.1] * 5 + [1e-6]), name="m")),
        "node m (Mul): its weight has no Quant and is made of floats that no type of 32 bits or fewer has exactly\n"
        "  hint: put a Quant behind the constant, or let the TOML round it:\n",
    ),
    "unread input": (
        lambda: Graph(x=6, side=6).quant(2, 4).linear(A),
        "the input 'side' leads to no output\n  hint: export the model without this input",
    ),
    "output without an input": (
        lambda: refused(lambda net, h: net.returns(h, net.node("Identity", net.constant(SCALE), out="c"))),
        "the input 'x' does not lead to the output 'c'\n"
        "  hint: the graph is broken, or the output is a constant: export it again",
    ),
    "output twice": (
        lambda: refused(lambda net, h: net.returns(h, h)),
        "the graph has the output 't4' more than once\n  hint: export a model that names each output once",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    make, text = REFUSED[case]
    with pytest.raises(ProblemsError) as caught:
        load_config(make().save(Path("net.onnx")))
    assert str(caught.value).startswith(f"net.onnx: error: {text}")
