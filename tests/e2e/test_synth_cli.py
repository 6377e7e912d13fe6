"""`mase-hw synth` on a build of a small network, as a user runs it."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from torch import Tensor, nn

from mase_hw.cli import main
from mase_hw.emit import read_build, write_build

MAIN = "from mase_hw.cli import main; main()"


class Tiny(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(4, 3)
        self.act = nn.ReLU()
        self.fc2 = nn.Linear(3, 2)

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.act(self.fc1(x)))


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from support import eight_bit, randomized

    from mase_hw.flow import compile_model

    path = tmp_path_factory.mktemp("synth") / "tiny"
    compiled = compile_model(randomized(Tiny()), (4,), eight_bit(), target_interval=1, top="tiny")
    write_build(path, compiled.design, {}, None)
    return path


@pytest.fixture
def build(emitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return Path(shutil.copytree(emitted, tmp_path / "tiny")).relative_to(tmp_path)


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["synth", *arguments])
    assert ended.value.code == 1
    out, err = capsys.readouterr()
    assert out == ""
    return err


@pytest.mark.slow
@pytest.mark.parametrize(
    "target", ["xcup", "ice40", *(pytest.param(each, marks=pytest.mark.nightly) for each in ("xc7", "ecp5", "generic"))]
)
def test_every_target(target: str, build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["synth", str(build), "--target", target, "--json"])
    content = json.loads(capsys.readouterr().out)
    assert content == json.loads((build / "report" / f"synth-{target}.json").read_text("utf-8"))
    names = [entry["name"] for entry in read_build(build).manifest["components"]]
    assert [entry["name"] for entry in content["components"]] == names
    total, parts = content["total"], [*content["components"], content["outside"]]
    assert total["lut"] > 0
    assert (total["sites"] > total["lut"]) == (target in ("xcup", "xc7"))
    assert total["depth"] > 0
    assert total["dsp"] == 0
    counted = sum(total[kind] for kind in ("lut", "lutram", "ff", "carry", "dsp", "bram"))
    assert counted + sum(total["other"].values()) == sum(total["cells"].values())
    # Components apart lose what is optimized across their borders, but not by far.
    assert 0.8 * total["sites"] <= sum(part["sites"] for part in parts) <= 1.5 * total["sites"]
    assert {entry["path"] for entry in read_build(build).manifest["files"]} == set(content["rtl"])


def test_table(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["synth", str(build), "--target", "generic"])
    out = capsys.readouterr().out
    content = json.loads((build / "report" / "synth-generic.json").read_text("utf-8"))
    rows = {line.split()[0]: line.split() for line in out.splitlines() if line.strip()}
    for entry in content["components"]:
        numbers = [entry["sites"], entry["lut"], entry["ff"], sum(entry["other"].values()), entry["depth"]]
        assert rows[entry["name"]] == [entry["name"], entry["kind"], *map(str, numbers)]
    total = content["total"]
    numbers = [total["sites"], total["lut"], total["ff"], 0, total["depth"]]
    assert rows["in"] == ["in", "all,", "flat", "tiny", *map(str, numbers)]
    assert f"{total['lut']} $lut" in out
    assert f"from {total['path']['start']} to {total['path']['end']}" in out
    assert "predicted" not in out


@pytest.mark.slow
def test_predictions_stand_beside_what_was_measured(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = json.loads((build / "manifest.json").read_text("utf-8"))
    for entry in manifest["components"]:
        entry["cost"] |= {"sites": 12321, "lut": 777, "ff": 45654}
    (build / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")
    main(["synth", str(build)])
    out = capsys.readouterr().out
    assert out.count("12321") == out.count("45654") == len(manifest["components"])
    main(["synth", str(build), "--target", "generic"])
    assert "12321" not in capsys.readouterr().out


def test_flat(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["synth", str(build), "--target", "generic", "--flat", "--json"])
    content = json.loads(capsys.readouterr().out)
    assert (content["components"], content["outside"]) == ([], None)
    assert content["total"]["lut"] > 0
    assert list(content["scripts"]) == ["flat"]


def test_broken_rtl(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    top = build / "rtl" / "tiny.sv"
    top.write_text(top.read_text("utf-8").replace("endmodule", "wire taken = nowhere;\nendmodule"), encoding="utf-8")
    line = top.read_text("utf-8").splitlines().index("wire taken = nowhere;") + 1
    said = refused(capsys, str(build), "--target", "generic")
    assert said.startswith(f"tiny/rtl/tiny.sv:{line}: error: `wire` is not in the language\n")
    assert not (build / "report").exists()


def test_refused(build: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert refused(capsys, "nowhere") == (
        "error: nowhere is not a build: it has no manifest.json\n"
        "  hint: `mase-hw emit model.toml` writes one to build/<project>; there are tiny\n"
    )
    assert "target generic has no DSP blocks" in refused(capsys, str(build), "--target", "generic", "--dsp")
    assert "--pnr works with --target ecp5 only, not with xc7." in refused(
        capsys, str(build), "--target", "xc7", "--pnr"
    )
    (build / "rtl" / "tiny.sv").unlink()
    assert refused(capsys, str(build)) == (
        "error: tiny/rtl/tiny.sv is missing\n  hint: emit the build again: mase-hw emit model.toml --out tiny\n"
    )
    assert not (build / "report").exists()


def test_without_pyosys(build: Path) -> None:
    hide = (
        "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, *a: None if n == 'pyosys' else f(n, *a)"
    )
    hidden = f"{hide}\n{MAIN}"
    command = [sys.executable, "-c", hidden, "synth", str(build)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"error: pyosys: not installed for {sys.executable}\n  hint: pip install 'mase-hw[synth]'\n"


def test_ctrl_c(build: Path) -> None:
    """130, no report, no Yosys left behind."""
    command = [sys.executable, "-c", MAIN, "synth", str(build), "--target", "xcup"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 600
    while not (yosys := _children(child.pid)):
        assert child.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.02)
    child.send_signal(signal.SIGINT)
    _, said = child.communicate(timeout=600)
    assert child.returncode == 130
    assert "interrupted" in said
    assert not any(Path(f"/proc/{pid}").exists() for pid in yosys)
    assert not (build / "report").exists()


def _children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in listed.read_text("utf-8").split()] if listed.exists() else []


def test_the_command_starts_without_torch() -> None:
    code = "import sys, mase_hw.cli.synth; print('torch' in sys.modules, 'pyosys' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"
