"""Reading ONNX files: whatever the bytes are, the end is a model or a Problem; no file outside the folder is read."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data, set_external_data
from qonnx_nets import Net, random_net

from mase_hw.diagnostics import ProblemsError
from mase_hw.frontends.onnx_file import quantize_table, read_onnx
from mase_hw.frontends.onnx_steps import Linear

WEIGHT = np.arange(6.0).reshape(2, 3) / 4


def net() -> Net:
    return Net((3,)).quant(4, 8, name="inp").linear(WEIGHT, frac=2).relu().quant(3, 5, signed=0)


def problem(path: Path) -> str:
    with pytest.raises(ProblemsError) as caught:
        read_onnx(path)
    return str(caught.value)


def weight(path: Path) -> np.ndarray:
    (step,) = [placed.step for placed in read_onnx(path).layers if isinstance(placed.step, Linear)]
    return step.weight.values


@pytest.mark.parametrize("seed", range(4))
def test_any_bytes_give_a_model_or_a_problem(seed: int, tmp_path: Path) -> None:
    data = random_net(seed + 100, 8)[0].model().SerializeToString()
    rng = np.random.default_rng(seed)
    path = tmp_path / "net.onnx"
    read, refused = 0, []
    for trial in range(150):
        broken = bytearray(data)
        if trial % 3 == 0:
            broken = broken[: int(rng.integers(len(broken)))]
        for _ in range(int(rng.integers(1, 6))):
            if broken:
                broken[int(rng.integers(len(broken)))] = int(rng.integers(256))
        if trial % 10 == 0:
            broken = bytearray(rng.integers(0, 256, 60, np.uint8).tobytes())
        path.write_bytes(broken)
        try:
            quantize_table(read_onnx(path), {})
            read += 1
        except ProblemsError as error:
            refused.append(str(error))
    assert read > 0
    assert len(refused) > 20
    assert all("net.onnx: error: " in text for text in refused)


def test_what_is_no_onnx_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = Path("net.onnx")
    path.write_text("model = 1\n")
    assert problem(path) == (
        "net.onnx: error: is not an ONNX file: its bytes are no ONNX model\n"
        "  hint: was it written to its end? export it again"
    )
    path.write_bytes(b"")
    assert problem(path).startswith("net.onnx: error: is not an ONNX model with a graph: it has no nodes or no output")
    path.unlink()
    path.mkdir()
    assert problem(path).startswith('error: model = "net.onnx": no such file')


def test_a_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    net().save(tmp_path / "net.onnx")
    assert problem(tmp_path / "nt.onnx") == ('error: model = "nt.onnx": no such file\n  hint: did you mean net.onnx?')


def test_constants_nested_deeply_are_a_problem(tmp_path: Path) -> None:
    deep = Net((2,)).quant(2, 4)
    name = deep.constant(np.eye(2))
    for _ in range(3000):
        name = deep.node("Identity", name)
    path = deep.gemm(name, outs=2).save(tmp_path / "net.onnx")
    assert "its constants are nested too deeply" in problem(path)


def test_values_in_a_file_beside_the_model(tmp_path: Path) -> None:
    model = net().model()
    convert_model_to_external_data(model, location="net.data", size_threshold=0)
    path = tmp_path / "net.onnx"
    onnx.save(model, str(path))
    assert (tmp_path / "net.data").stat().st_size > 0
    assert np.array_equal(weight(path), WEIGHT)
    (tmp_path / "net.data").write_bytes(b"1234")
    assert "net.data has 4 bytes, and bytes" in problem(path)
    (tmp_path / "net.data").unlink()
    assert "and there is no such file" in problem(path)


@pytest.mark.parametrize("location", ["../secret.bin", "/ABS/secret.bin", "link.bin", "a/../../secret.bin", "", "a\0b"])
def test_values_outside_the_folder_are_not_read(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    secret = tmp_path / "secret.bin"
    secret.write_bytes(WEIGHT.astype(np.float32).tobytes())
    (folder / "link.bin").symlink_to(secret)
    model = net().model()
    tensor = next(item for item in model.graph.initializer if item.name == "fc.weight")
    set_external_data(tensor, location.replace("/ABS", str(tmp_path)))
    tensor.ClearField("raw_data")
    tensor.data_location = onnx.TensorProto.EXTERNAL
    path = folder / "net.onnx"
    path.write_bytes(model.SerializeToString())
    said = problem(path)
    assert "tensor 'fc.weight': its values" in said
    assert "outside the folder of the model" in said or (location == "a\0b" and "no such file" in said)


def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = net().save(tmp_path / "net.onnx")
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert problem(path) == (
        "error: net.onnx: reading ONNX files needs the package onnx, which is not installed\n"
        "  hint: pip install 'mase-hw[onnx]'"
    )


def test_reading_needs_neither_torch_nor_qonnx() -> None:
    import subprocess

    code = (
        "import sys, mase_hw.frontends.onnx_file, mase_hw.frontends.onnx_read as r, pathlib\n"
        "r._package(pathlib.Path('x.onnx'), None)\n"
        "print([name for name in ('torch', 'qonnx', 'onnxruntime') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert importlib.util.find_spec("torch") is not None
    assert done.stdout.strip() == "[]"
