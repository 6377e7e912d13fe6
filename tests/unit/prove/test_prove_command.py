"""`mase-hw prove` that cannot end as usual: no Yosys, no time, Ctrl-C. Nothing is left behind."""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_prove_pipes import HALF, design_of, fc

from mase_hw.cli import main
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, write_build
from mase_hw.prove.netlist import netlist
from mase_hw.prove.netlist.netlist import elaborate
from mase_hw.prove.prove import prove

SLOW = "import sys, time; open(sys.argv[2] + '.started', 'w').close(); time.sleep(600)"


@pytest.fixture
def build(tmp_path: Path) -> Build:
    return write_build(tmp_path / "net", design_of(fc("fc", HALF)), {}, None)


def test_a_missing_extra_is_named(build: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    find: Callable[..., object] = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *rest: None if name == "pyosys" else find(name, *rest)
    )
    with pytest.raises(ProblemsError, match=r"pip install 'mase-hw\[prove\]'"):
        prove(build)


def test_yosys_is_ended_after_its_time(
    build: Build, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(netlist, "_SCRIPT", SLOW)
    others = _children()  # of tests that ran in this process before
    started = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        main(["prove", str(build.path), "--timeout", "0.3"])
    assert ended.value.code == 1
    assert "within 0.3 seconds" in capfd.readouterr().err
    assert time.monotonic() - started < 60
    assert not [path for path in build.path.iterdir() if path.name.startswith("certificate")]
    assert set(_children()) <= set(others)


def test_ctrl_c_ends_yosys_and_leaves_nothing(build: Build, tmp_path: Path) -> None:
    code = f"import sys; from mase_hw.prove.netlist import netlist; netlist._SCRIPT = {SLOW!r}; "
    code += "from mase_hw.cli import main; main(sys.argv[1:])"
    environment = {**os.environ, "TMPDIR": str(tmp_path / "aside")}
    (tmp_path / "aside").mkdir()
    command = [sys.executable, "-c", code, "prove", str(build.path)]
    errors = tmp_path / "errors"
    with errors.open("w") as to, subprocess.Popen(command, stderr=to, env=environment) as process:
        for _ in range(12_000):
            if list(tmp_path.glob("aside/*/*.started")):
                break
            time.sleep(0.05)
        inside = _children(process.pid)
        assert inside
        process.send_signal(signal.SIGINT)
        process.wait(timeout=600)
    assert process.returncode == 130
    assert "interrupted" in errors.read_text()
    assert not [pid for pid in inside if Path(f"/proc/{pid}").exists()]
    assert not list((tmp_path / "aside").iterdir())
    assert not (build.path / "certificate.json").exists()


def test_progress_counts_the_components(build: Build) -> None:
    said: list[str] = []
    done: list[str] = []
    prove(build, said.append, lambda component: done.append(component.name))
    readings = ["the RTL is read in its language", "Yosys reads the RTL"]
    assert said == [*readings, "fc: linear_unrolled", "Verilator reads the RTL too"]
    assert done == ["fc"]


def test_rtl_that_yosys_cannot_read_is_a_problem(build: Build) -> None:
    (build.path / "rtl" / "net.sv").write_text("module net(; endmodule\n")
    with pytest.raises(ProblemsError, match="Yosys cannot read the RTL of net"):
        elaborate(build.rtl, "net", ["fc"])


def _children(of: int | None = None) -> list[int]:
    """Processes of which this one, or another, is the parent."""
    parent, found = of or os.getpid(), []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has just ended
        if int(fields[1]) == parent and fields[0] != "Z":
            found.append(int(status.parent.name))
    return found
