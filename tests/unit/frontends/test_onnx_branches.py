"""Networks with branches from QONNX files against qonnx's own execution: every integer, with ==."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from qonnx_graphs import BATCH, NETS, exact_sum, one_side, residual, returned_and_read, run_graph, scaled, two_inputs
from qonnx_nets import samples

from mase_hw.cli import cli
from mase_hw.config import Config
from mase_hw.config_file import load_config
from mase_hw.flow import compile_model
from mase_hw.models import input_shapes, load_model
from mase_hw.numerics import Fixed, Rounding
from mase_hw.samples import forward, quantize_inputs


def loaded(path: Path) -> tuple[Config, Any]:
    config = load_config(path)
    return config, load_model(config.model, config.base)


@pytest.mark.parametrize("name", NETS)
def test_torch_and_integers_equal_qonnx(name: str, tmp_path: Path) -> None:
    net = NETS[name]()
    path = net.save(tmp_path / "net.onnx")
    rng = np.random.default_rng(3)
    given = {item: samples(rng, shape, 3, 6, BATCH) for item, shape in net.inputs.items()}
    expected = run_graph(path, given)
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


def test_a_quant_on_what_is_returned_and_read_is_the_data_out(tmp_path: Path) -> None:
    entries = load_config(returned_and_read().save(tmp_path / "net.onnx")).quantize.entries
    assert list(entries) == ["fc1", "head"]
    assert entries["fc1"].data_out == entries["head"].data_in == Fixed(6, 3)


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
