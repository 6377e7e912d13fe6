"""An ONNX file as a TOML's model: what the file says, what the TOML says, and every command that takes a model."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from qonnx_nets import Net, execute, samples
from support import quantize_input
from torch import fx

from mase_hw.cli import cli
from mase_hw.config_file import load_config
from mase_hw.diagnostics import ProblemsError
from mase_hw.flow import compile_model, emit
from mase_hw.frontends.onnx_names import Names, identifier, layer_candidates
from mase_hw.models import input_shape, load_model
from mase_hw.numerics import Fixed
from mase_hw.pipeline.graphs import quantized_graph

W = np.arange(12.0).reshape(3, 4) / 8 - 0.5
LINEAR = """\
[passes.quantize.linear.config]
name = "integer"
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
"""


def quantized() -> Net:
    return Net((4,)).quant(4, 8, "inp").linear(W, "fc1", frac=3, bits=5).relu("act").quant(2, 6, "q", signed=0)


def normed() -> Net:
    """With a batch norm of floats, which only a TOML can type."""
    return Net((4,)).quant(4, 8, "inp").linear(W, "fc1", frac=3, bits=5).norm(0.3, 0.1, 0.2, 1.7, name="bn").relu()


def plain() -> Net:
    net = Net((2, 2)).then("Flatten")
    return net.gemm(net.constant(W, "fc1.weight"), net.constant([0.5, 0.25, -1], "fc1.bias"), 3).relu("act")


def write(folder: Path, net: Net, text: str = "") -> Path:
    net.save(folder / "net.onnx")
    path = folder / "model.toml"
    path.write_text(f'model = "net.onnx"\n{text}')
    return path


def problems(path: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        load_config(path)
    return str(caught.value)


def test_the_file_gives_types_and_weights(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, quantized()))
    assert config.raw["passes"]["quantize"] == {
        "by": "name",
        "default": {"config": {"name": "NA"}},
        "fc1": {
            "config": {
                "name": "integer",
                "data_in_width": 8,
                "data_in_frac_width": 4,
                "data_in_signed": True,
                "weight_width": 5,
                "weight_frac_width": 3,
                "weight_signed": True,
                "data_out_width": 6,
                "data_out_frac_width": 2,
                "data_out_signed": False,
            }
        },
    }
    model = load_model(config.model, config.base)
    assert input_shape(model) == (4,)
    assert np.array_equal(model.fc1.weight.detach().numpy(), W)
    assert config.notes == ()


def test_a_build_from_the_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    quantized().save(Path("net.onnx"))
    result = CliRunner().invoke(cli, ["emit", "net.onnx"])
    assert result.exit_code == 0, result.output
    manifest = json.loads(Path("build/net/manifest.json").read_text())
    assert [(node["name"], node["op"]) for node in manifest["nodes"]] == [("fc1", "linear"), ("act", "relu")]
    assert manifest["config"]["model"] == "net.onnx"
    assert manifest["sources"]["model"]["name"] == "net.onnx"
    assert "random" not in result.output


def test_a_toml_wins_and_a_note_says_so(tmp_path: Path) -> None:
    text = '[passes.quantize]\nby = "name"\n[passes.quantize.fc1.config]\nname = "integer_floor"\nweight_width = 3\n'
    config = load_config(write(tmp_path, quantized(), f"{text}weight_frac_width = 2\n"))
    spec = config.quantize.for_node("fc1", "linear")
    assert (spec.weight, spec.data_in, spec.data_out) == (Fixed(3, 2), Fixed(8, 4), Fixed(6, 2, signed=False))
    assert config.notes == (
        "fc1: the TOML's weight fixed(3, 2) stands in place of the file's fixed(5, 3)",
        'fc1: the TOML\'s "integer_floor" stands in place of the file\'s "integer"',
    )
    build, notes = emit(config, tmp_path / "build")
    assert notes == config.notes
    assert build.path.is_dir()


def test_a_toml_types_what_the_file_leaves_open(tmp_path: Path) -> None:
    text = """\
[passes.quantize.batch_norm1d.config]
name = "integer"
weight_width = 8
weight_frac_width = 6
bias_width = 8
bias_frac_width = 6
"""
    config = load_config(write(tmp_path, normed(), text))
    spec = config.quantize.for_node("bn", "batch_norm1d")
    assert (spec.weight, spec.bias) == (Fixed(8, 6), Fixed(8, 6))
    assert spec.data_in == Fixed(13, 7)  # the exact sums of fc1
    assert config.notes == ()
    model = load_model(config.model, config.base)
    compiled = compile_model(model, (4,), config.raw["passes"]["quantize"])
    x = samples(np.random.default_rng(0), (4,), 4, 8, 32)
    design = compiled.design
    assert design.run(quantize_input(compiled, x))[design.output.name].any()


def test_problems_of_both_are_told_once_and_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = '[passes.quantize.linear.config]\nname = "integr"\n[passes.fuse_batch_norm]\n'
    write(tmp_path, quantized(), text)
    said = problems(Path("model.toml"))
    assert said.count('name = "integr" is no quantizer') == 1
    assert (
        "model.toml:4: error: passes.fuse_batch_norm: net.onnx has Quant nodes, and its types would not fit the fused "
        "layers\n    4 | [passes.fuse_batch_norm]\n  hint: fold the batch norms before the export, or delete the table"
    ) in said
    text = '[passes.quantize]\nby = "name"\n[passes.quantize.fc9.config]\nname = "integer"\n'
    write(tmp_path, quantized(), text)
    assert problems(Path("model.toml")) == (
        "model.toml:4: error: passes.quantize: no node is named fc9\n    4 | [passes.quantize.fc9.config]\n"
        "  hint: did you mean fc1?"
    )


def test_a_missing_file_is_told_at_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.toml").write_text('seed = 1\nmodel = "nothing.onnx"\n')
    result = CliRunner().invoke(cli, ["emit", "model.toml"], standalone_mode=False)
    assert isinstance(result.exception, ProblemsError)
    assert str(result.exception).startswith(
        'model.toml:2: error: model = "nothing.onnx": no such file\n    2 | model = "nothing.onnx"\n'
    )


def test_without_quants_it_is_a_float_model(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, plain(), LINEAR))
    assert list(config.quantize.entries) == ["linear"]
    model = load_model(config.model, config.base)
    assert [name for name, _ in model.named_children()] == ["flatten", "fc1", "act"]
    x = samples(np.random.default_rng(0), (2, 2), 4, 8, 16)
    x = np.clip(np.round(x * 16) / 16, -8, 8).astype(np.float32)  # with which float32 sums are exact
    expected = execute(tmp_path / "net.onnx", x)
    with torch.inference_mode():
        assert np.array_equal(model(torch.from_numpy(x)).numpy(), expected)
        graph = quantized_graph(model, (2, 2), config.raw["passes"]["quantize"])
        clipped = torch.from_numpy(np.clip(x, -8, 127 / 16))
        assert np.array_equal(graph.model(clipped).numpy(), model(clipped).numpy())


def test_a_float_file_alone_is_not_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert problems(plain().save(Path("net.onnx"))) == (
        "net.onnx: error: has no Quant nodes, so nothing says the types of its layers\n"
        '  hint: write a TOML with model = "net.onnx" and [passes.quantize], and give that'
    )


@pytest.mark.parametrize(("weight", "taken"), [(W, True), (W + 0.01, False)])
def test_other_rounding_modes_are_taken_where_nothing_is_rounded(
    weight: np.ndarray, taken: bool, tmp_path: Path
) -> None:
    net = Net((4,)).quant(4, 8)
    stored = net.quant_of(net.constant(weight, "fc1.weight"), 3, 5, "wq", rounding_mode="CEIL")
    path = net.gemm(stored, outs=3).save(tmp_path / "net.onnx")
    if taken:
        model = load_model(load_config(path).model, tmp_path)
        assert np.array_equal(model.fc1.weight.detach().numpy(), W)
    else:
        said = 'node wq (Quant): rounding_mode = "CEIL" is not one of ours, and the numbers have to be rounded'
        assert said in problems(path)


@pytest.mark.slow
def test_every_command_takes_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    weights = np.random.default_rng(0).normal(0, 0.3, (10, 64))
    Net((64,)).quant(4, 8, "inp").linear(weights, "fc1", frac=5, bits=6).save(tmp_path / "net.onnx")

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    assert "accuracy" in run("test", "net.onnx", "digits")
    out = run("train", "net.onnx", "digits", "--max-epochs", "1", "--project", "p")
    assert "the weights start as those of net.onnx" in out
    assert "training through the quantizers" in out
    run("transform", "net.onnx", "digits", "--project", "p")
    saved = tmp_path / "mase_output/p/software/transform/transform.toml"
    assert load_config(saved).quantize.for_node("fc1", "linear").weight == Fixed(6, 5)
    assert load_config(saved).notes == ()
    ckpt = "mase_output/p/software/training_ckpts/best.ckpt"
    Path("model.toml").write_text(f'model = "net.onnx"\nload_name = "{ckpt}"\n')
    config = load_config(Path("model.toml"))
    assert config.load_name is not None
    run("emit", "model.toml")


def test_names_are_those_that_torch_fx_and_systemverilog_keep(tmp_path: Path) -> None:
    raw = ["train", "input", "output", "wire", "class", "Relu:0", "1.2", "FooBar", "input_1", "é", "", "a__b", "type"]
    net = Net((2,)).quant(2, 4)
    for name in raw:
        net.relu(name)
    net.linear(np.eye(2), "forward").save(tmp_path / "net.onnx")
    model = load_model("net.onnx", tmp_path)
    names = [name for name, _ in model.named_children()]
    graph = fx.symbolic_trace(model).graph
    assert [node.name for node in graph.nodes if node.op == "call_module"] == names
    assert len(set(names)) == len(raw) + 1
    assert all(name.isascii() and name.isidentifier() and name == name.lower() for name in names)
    assert not set(names) & set(dir(torch.nn.Sequential))


@pytest.mark.parametrize(
    ("node", "scope", "tensors", "name"),
    [
        ("/fc1/Gemm", "", ["fc1.weight", "fc1.bias"], "fc1"),
        ("/net/layers.0/MatMul", "", ["onnx::MatMul_15"], "net_layers_0"),
        ("node_linear", "fc1", ["slice_1", "inp.act_quant.export_handler.lifted_tensor_0"], "fc1"),
        ("node_3", "", ["slice_1", "fc1.weight_quant.export_handler.lifted_tensor_0"], "fc1"),
        ("MatMul_3", "", ["w"], "matmul_3"),
        ("", "", ["3"], "linear"),
    ],
)
def test_names_of_layers(node: str, scope: str, tensors: list[str], name: str) -> None:
    assert Names().take(layer_candidates(node, scope, tensors), "linear") == name


def test_identifiers() -> None:
    assert [identifier(text) for text in ("A-b", "0.x", "__", "relu:0")] == ["a_b", "layer_0_x", "", "relu_0"]
