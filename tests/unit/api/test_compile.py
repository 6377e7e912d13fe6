"""mase_hw.compile: every kind of model and configuration, what a design knows, and what is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from nets import Needs, Net, config, seeded, types
from torch import nn

import mase_hw
from mase_hw.config.write import toml_text
from mase_hw.emit import read_build
from mase_hw.numerics import Fixed


def refused(*arguments: Any, **named: Any) -> str:
    with pytest.raises(mase_hw.ProblemsError) as found:
        mase_hw.compile(*arguments, **named)
    return str(found.value)


def test_import_is_light() -> None:
    code = "import mase_hw, sys; assert not {'torch', 'numpy', 'rich'} & set(sys.modules); mase_hw.ProblemsError; "
    code += "assert 'torch' not in sys.modules; assert 'compile' in dir(mase_hw)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_module_keeps_its_own_weights() -> None:
    net = seeded().train()
    before = {key: value.clone() for key, value in net.state_dict().items()}
    design = mase_hw.compile(net, config())
    assert net.training
    assert all(torch.equal(before[key], value) for key, value in net.state_dict().items())
    assert design.notes == ()
    x = np.random.default_rng(0).normal(size=(16, 4)).astype(np.float32)
    with torch.no_grad():
        expected = design.graph.model(torch.from_numpy(x)).double().numpy()
        assert np.abs(expected - net(torch.from_numpy(x)).numpy()).max() < 0.5  # these weights and no others
        net.fc1.weight.zero_()
    assert np.array_equal(design.run(x), expected)  # the design is of the weights as they were


def test_figures() -> None:
    design = mase_hw.compile(seeded(), config(hardware={"top": "tiny"}))
    assert (design.name, design.interval, design.latency) == ("tiny", 1, design.hardware.schedule.latency)
    assert (design.input_type, design.inputs[0].features, design.outputs[0].features) == (Fixed(8, 4), 4, 2)
    assert design.output_type == design.hardware.output.fixed
    assert design.cost == design.hardware.cost()
    assert repr(design).startswith("<tiny: 4 x fixed(8, 4) -> 2 x ")


def test_class_and_file_and_toml_are_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seeded random weights, whichever way the class is named."""
    monkeypatch.chdir(tmp_path)
    text = Path(__file__).with_name("nets.py").read_text("utf-8")
    (tmp_path / "own.py").write_text(text, encoding="utf-8")
    (tmp_path / "net.toml").write_text(toml_text({"model": "own.py:Net", **config()}), encoding="utf-8")
    x = np.random.default_rng(0).normal(size=(8, 4))
    designs = [
        mase_hw.compile(Net, config()),
        mase_hw.compile("own.py:Net", config()),
        mase_hw.compile("net.toml"),
        mase_hw.compile(config=tmp_path / "net.toml"),
        mase_hw.compile(Net, "net.toml"),
    ]
    results = [design.run(x) for design in designs]
    assert all(np.array_equal(results[0], other) for other in results[1:])
    assert not np.array_equal(results[0], mase_hw.compile(Net, config(seed=1)).run(x))
    assert designs[0].notes == ("no load_name in config: the weights are random, from seed 0",)
    assert designs[2].notes == ("no load_name in net.toml: the weights are random, from seed 0",)


def test_load_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    net = seeded()
    torch.save(net.state_dict(), tmp_path / "net.pt")
    x = np.random.default_rng(0).normal(size=(8, 4))
    expected = mase_hw.compile(net, config()).run(x)
    loaded = mase_hw.compile(Net, config(load_name="net.pt"))
    assert np.array_equal(loaded.run(x), expected)
    other = mase_hw.compile(Net(), config(load_name="net.pt"))
    assert other.notes == ("load_name = net.pt is not read: the module's own weights are used",)
    assert not np.array_equal(other.run(x), expected)


def test_registered_name() -> None:
    entry = {"config": types()}
    passes = {"quantize": {"by": "type", "linear": entry, "batch_norm1d": entry}}
    design = mase_hw.compile("jsc-toy", {"passes": passes})
    assert (design.inputs[0].features, design.outputs[0].features) == (16, 5)
    assert design.config.project == "jsc_toy"


def test_onnx_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file with types and weights of its own needs no configuration."""
    onnx = pytest.importorskip("onnx")
    helper, numpy_helper = onnx.helper, onnx.numpy_helper
    names = {"s": 0.25, "z": 0.0, "b": 6.0}
    matrix = np.array([[1.0, -0.5], [0.25, 1.5]], np.float32)
    constants = [numpy_helper.from_array(np.array(value, np.float32), name) for name, value in names.items()]
    constants.append(numpy_helper.from_array(matrix, "w"))
    quant = {"domain": "qonnx.custom_op.general", "signed": 1, "narrow": 0, "rounding_mode": "ROUND"}
    nodes = [
        helper.make_node("Quant", ["x", "s", "z", "b"], ["xq"], **quant),
        helper.make_node("Quant", ["w", "s", "z", "b"], ["wq"], **quant),
        helper.make_node("MatMul", ["xq", "wq"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, 2]) for name in ("x", "y")]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], constants)
    sets = [helper.make_opsetid("", 13), helper.make_opsetid("qonnx.custom_op.general", 1)]
    onnx.save(helper.make_model(graph, opset_imports=sets), tmp_path / "two.onnx")
    monkeypatch.chdir(tmp_path)
    design = mase_hw.compile("two.onnx")
    assert (design.config.project, design.input_type) == ("two", Fixed(6, 2))
    x = np.array([[1.25, -2.0], [7.75, 0.25]])
    assert np.array_equal(design.run(x), x @ matrix)


def test_emitted_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    design = mase_hw.compile(seeded(), config(project="net", dataset="random"))
    build = design.emit()
    assert build.path == Path("build/net")
    manifest = read_build(tmp_path / "build" / "net").manifest
    assert manifest["sources"] == {}
    assert manifest["config"]["model"] == "Net"
    assert (manifest["interval"], manifest["latency"]) == (design.interval, design.latency)
    assert build.samples is not None
    x = mase_hw.compile(seeded(), config()).run(build.samples.x, integers=True)
    assert np.array_equal(x, build.samples.y)
    (tmp_path / "net.toml").write_text(toml_text({"model": "jsc-toy", **config()}), encoding="utf-8")
    named = mase_hw.compile(seeded(), "net.toml").emit("other")
    assert [*named.manifest["sources"]] == ["config"]


def test_replaced_folder_is_noticed(tmp_path: Path) -> None:
    first, second = mase_hw.compile(seeded(), config()), mase_hw.compile(Net, config())
    first.emit(tmp_path / "b")
    second.emit(tmp_path / "b")
    with pytest.raises(mase_hw.ProblemsError, match="is no longer what this design wrote"):
        first.simulate([0, 0, 0, 0])


def test_mistakes() -> None:
    said = refused(Net(), {"passes": {"quantise": {}}, "sed": 1})
    assert said == (
        "config: error: unknown key sed\n  hint: did you mean seed?\n"
        "config: error: passes: unknown key quantise\n  hint: did you mean quantize?"
    )
    assert refused(config=config()).startswith("config: error: model is missing")
    assert refused("jsc-tyn", config()) == 'model: error: model = "jsc-tyn" is unknown\n  hint: did you mean jsc-toy?'
    assert "Needs() needs features" in refused(Needs, config())
    assert "dict is no subclass of torch.nn.Module" in refused(dict, config())
    assert refused(3, config()).startswith("error: model: a int is no model")
    assert refused(Net(), {1: 2}) == "error: config: the key 1 is no string"
    assert refused(Net(), {"passes": {None: 2}}) == "error: config: the key None of passes is no string"
    assert "no such file" in refused(Net(), "nowhere.toml")
    assert "fc1" in refused(Net(), {})  # without types there is no hardware


def test_the_configuration_is_not_changed() -> None:
    given = config()
    before = repr(given)
    mase_hw.compile(Net(), given)
    assert repr(given) == before


def test_unhandled_layer_has_its_line() -> None:
    class Sigmoid(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(2, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.fc(x))

    said = refused(Sigmoid(), config())
    assert "test_compile.py:" in said
    assert "sigmoid is not supported in hardware" in said
