"""--json on the commands that load torch or run tools: stdout is one document, and it says what the tables say."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from mase_hw.cli import main

NET = """\
from torch import nn

class Net(nn.Module):
    input_shape = (4,)

    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x):
        return self.fc2(self.fc1(x).relu())
"""
TYPES = """\
data_in_width = 8
data_in_frac_width = 4
weight_width = 8
weight_frac_width = 4
bias_width = 8
bias_frac_width = 4
"""
TOML = f"""\
model = "net.py:Net"
dataset = "random"
seed = 1
max_epochs = 2
[passes.quantize.linear.config]
name = "integer"
{TYPES}
[search.search_space.setup]
by = "type"
[search.search_space.seed.linear.config]
name = ["integer"]
{TYPES.replace("weight_width = 8", "weight_width = [6, 8]")}
[search.strategy.sw_runner.basic_evaluation]
[search.strategy.hw_runner.average_bitwidth]
[search.strategy.setup]
sampler = "brute"
direction = "minimize"
[search.strategy.metrics]
average_bitwidth.scale = 1.0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("json")
    (made / "net.py").write_text(NET, encoding="utf-8")
    (made / "net.toml").write_text(TOML, encoding="utf-8")
    return made


@pytest.fixture(autouse=True)
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    """The document, and that stderr has notes alone."""
    with contextlib.suppress(SystemExit):  # `prove` ends so in any case
        main([*arguments, "--json"])
    out, err = capsys.readouterr()
    assert all(line.startswith("note: ") for line in err.splitlines()), err
    return json.loads(out)


def quiet(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    main([*arguments, "--quiet"])
    out, err = capsys.readouterr()
    assert err == ""
    return out


@pytest.mark.slow
def test_software(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    trained = run(capsys, "train", "--config", "net.toml")
    assert [epoch["epoch"] for epoch in trained["epochs"]] == [1, 2]
    assert (folder / trained["best"]).is_file()
    tested = run(capsys, "test", "--config", "net.toml", "--load", trained["best"])
    assert tested["dataset"] == "random"
    assert tested["scores"]["quantized"] == trained["test"]
    done = run(capsys, "transform", "--config", "net.toml", "--load", trained["best"])
    assert done["scores"]["transformed"] == trained["test"]
    assert (done["not_ready"], (folder / done["written"]).is_file()) == (None, True)
    assert quiet(capsys, "transform", "--config", "net.toml").startswith("written: ")
    assert quiet(capsys, "train", "--config", "net.toml").startswith("written: ")


@pytest.mark.slow
def test_search_and_explore(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run(capsys, "search", "--config", "net.toml", "--emit-best")
    assert (found["trials"], len(found["best"])) == (4, 1)
    assert found["emitted"]["trial"] == found["best"][0]["number"]
    assert (folder / found["emitted"]["build"] / "manifest.json").is_file()
    assert all((folder / file).is_file() for file in found["written"])
    front = run(capsys, "explore", "net.toml", "--max-interval", "4")
    assert front["points"]
    assert quiet(capsys, "explore", "net.toml", "--max-interval", "4").count("\n") == 1


@pytest.mark.slow
def test_hardware(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    build = run(capsys, "emit", "net.toml")["build"]
    claims = run(capsys, "prove", build)
    assert {claim["status"] for claim in claims} == {"proved"}
    assert run(capsys, "verify", build)["claims"] == len(claims)
    assert run(capsys, "synth", build, "--target", "generic", "--flat")["target"] == "generic"
    with pytest.raises(SystemExit):
        quiet(capsys, "prove", build)
    assert capsys.readouterr().out == f"{len(claims)} of {len(claims)} claims proved\n"
    with pytest.raises(SystemExit):
        main(["prove", build, "--verbose"])
    assert "mase_hw.prove.netlist.netlist: " in capsys.readouterr().err
    main(["synth", build, "--target", "generic", "--flat", "--verbose"])
    assert "mase_hw.synth.process: flat: " in capsys.readouterr().err
