"""mase-hw new: what it writes is what emit takes; what it refuses leaves nothing behind."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mase_hw.cli import main
from mase_hw.cli.new_text import SHAPES, toml_text
from mase_hw.config_file import config_of, load_config
from mase_hw.emit import read_build
from mase_hw.numerics import Fixed

NET = """\
from torch import nn

class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(3, 2), nn.BatchNorm1d(2), nn.ReLU())
"""
MAIN = "from mase_hw.cli import main; main()"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    before = sorted(Path().rglob("*"))
    with pytest.raises(SystemExit) as ended:
        main(["new", *arguments])
    assert ended.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert sorted(Path().rglob("*")) == before
    return err


def test_own_model_is_emitted(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--features", "6", "--classes", "3", "--hidden", "4", "--width", "6", "--frac", "3", "--interval", "2"]
    main(["new", "--with-model", *options])
    assert capsys.readouterr().out == "written: model.toml, model.py   next: mase-hw emit model.toml\n"
    main(["emit", "model.toml"])
    build = read_build(Path("build/model"))
    assert [node.op for node in build.design.nodes] == ["linear", "relu", "linear"]
    assert (build.design.input.features, build.design.output.features) == (6, 3)
    assert build.design.input.fixed == Fixed(6, 3)
    assert build.design.nodes[0].weight == Fixed(6, 4)
    assert build.manifest["interval"] <= 2
    assert "axis" not in build.manifest


def test_file_is_named_from_the_toml(capsys: pytest.CaptureFixture[str]) -> None:
    Path("net.py").write_text(NET, encoding="utf-8")
    main(["new", "deep/er/net.toml", "--model", "net.py:Net", "--data", "random", "--interface", "axis"])
    assert load_config(Path("deep/er/net.toml")).model == "../../net.py:Net"
    assert "next: mase-hw train --config deep/er/net.toml, or mase-hw emit deep/er/net.toml" in capsys.readouterr().out
    main(["emit", "deep/er/net.toml", "--out", "b"])
    assert "axis" in read_build(Path("b")).manifest
    assert read_build(Path("b")).samples is not None


def test_registered_model_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    main(["new", "jsc.toml", "--model", "jsc-toy", "--json"])
    said = json.loads(capsys.readouterr().out)
    assert said == {"written": ["jsc.toml"], "next": "mase-hw emit jsc.toml"}
    config = load_config(Path("jsc.toml"))
    assert (config.model, config.dataset, config.project) == ("jsc-toy", None, "jsc")
    assert config.quantize.for_node("x", "batch_norm1d").data_in == Fixed(8, 4)


def test_nothing_is_overwritten(capsys: pytest.CaptureFixture[str]) -> None:
    Path("model.py").write_text("mine", encoding="utf-8")
    said = refused(capsys, "--with-model")
    assert said == "error: model.py exists\n  hint: give another PATH, or delete it: nothing is overwritten\n"
    Path("model.toml").write_text("mine too", encoding="utf-8")
    assert refused(capsys, "--with-model").count("exists") == 2
    assert "model.toml exists" in refused(capsys, "--model", "jsc-toy")
    assert (Path("model.py").read_text("utf-8"), Path("model.toml").read_text("utf-8")) == ("mine", "mine too")


def test_refusals(capsys: pytest.CaptureFixture[str]) -> None:
    assert "no model is named\n  hint: --model NAME, or --with-model" in refused(capsys)
    said = refused(capsys, "--model", "jsc-tyn", "--data", "digit")
    assert 'model = "jsc-tyn" is unknown\n  hint: did you mean jsc-toy?' in said
    assert 'dataset = "digit" is unknown\n  hint: did you mean digits?' in said
    assert "no such file nowhere.py" in refused(capsys, "--model", "nowhere.py:Net")
    assert "no such file nowhere.onnx" in refused(capsys, "--model", "nowhere.onnx")
    assert "two models" in refused(capsys, "--model", "jsc-toy", "--with-model")
    Path("data.py").write_text("", encoding="utf-8")
    assert "--features N --classes M" in refused(capsys, "--with-model", "--data", "data.py:load")


@pytest.mark.parametrize("width", [None, 8])
def test_what_is_commented_out_is_right_too(width: int | None) -> None:
    text = toml_text("jsc-toy", "", "jsc", width=width, frac=4, interval=None, interface="stream")
    every = re.sub(r"^# (\w+ = |\[)", r"\1", text, flags=re.MULTILINE)
    config = config_of(tomllib.loads(every))
    assert config.dataset == "digits"
    assert config.load_name is not None
    assert (config.target.target_interval, config.target.dsp_budget) == (8, 20)
    assert config.hardware.for_node("fc1", "linear").array_in == 4
    assert config.quantize.for_node("x", "linear").quantized
    assert config_of(tomllib.loads(text)).quantize.for_node("x", "linear").quantized == (width is not None)


def test_shapes_of_the_data() -> None:
    from mase_hw.datasets import load_dataset

    data = load_dataset("digits", Path(), 0)
    assert SHAPES["digits"] == (data.sample_shape, data.classes)


def answer(arguments: list[str], words: str) -> tuple[int, str]:
    """The command on a terminal, its questions answered."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", MAIN, "new", *arguments], stdin=theirs, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as child:
        os.close(theirs)
        os.write(ours, words.encode())
        out, err = child.communicate(timeout=600)
        os.close(ours)
    return child.returncode, (out + err).decode()


def test_questions() -> None:
    code, said = answer([], "own\n-\n6\n\n4\naxis\n")
    assert code == 0, said
    config = load_config(Path("model.toml"))
    assert (config.model, config.dataset) == ("model.py:Net", None)
    assert config.quantize.for_node("fc1", "linear").data_in == Fixed(6, 3)  # half of 6, by default
    assert (config.target.target_interval, config.target.interface) == (4, "axis")
    assert "bits of data and weights [8]:" in said
    code, said = answer(["other.toml", "--with-model"], "")  # before anything is asked
    assert (code, "data set" in said) == (1, False)
