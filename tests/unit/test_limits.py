"""Limits of tools: what takes more than its text can need is ended, and said so."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mase_hw.diagnostics import ProblemsError
from mase_hw.language import apart, check_apart, check_language
from mase_hw.limits import Limits, limits_for
from mase_hw.simulate.process import run

MODULE = b"module net (\n  input  logic a,\n  output logic y\n);\n  assign y = a;\nendmodule\n"
linux = pytest.mark.skipif(sys.platform != "linux", reason="resource.prlimit is Linux's")


def test_so_much_for_every_megabyte() -> None:
    assert limits_for([1 << 20, 1 << 19], (8, 4), (100, 10)) == Limits(14, 115 << 20)
    assert limits_for([], (8, 4), (100, 10)) == Limits(8, 100 << 20)


@linux
def test_a_tool_that_takes_too_long_is_ended() -> None:
    done = run([sys.executable, "-c", "while True: pass"], limits=Limits(1, 1 << 30))
    assert done.code in (-signal.SIGXCPU, -signal.SIGKILL)


@linux
def test_a_tool_gets_no_more_memory() -> None:
    program = "import time; time.sleep(0.5); bytearray(1 << 30)"
    assert "MemoryError" in run([sys.executable, "-c", program], limits=Limits(60, 1 << 29)).text
    assert run([sys.executable, "-c", program], limits=Limits(60, 1 << 33)).code == 0


@linux
def test_a_lower_limit_that_is_there_stays() -> None:
    program = (
        "import resource; from mase_hw.limits import Limits\n"
        "resource.setrlimit(resource.RLIMIT_CPU, (50, 50))\n"
        "Limits(100, 1 << 33).of_this(); print(resource.getrlimit(resource.RLIMIT_CPU))"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert said == "(50, 50)\n"


def test_the_language_is_checked_apart_as_here() -> None:
    assert check_apart({"net.sv": MODULE}, "net") == check_language({"net.sv": MODULE}, "net")
    wrong = {"net.sv": MODULE.replace(b"assign y = a", b"assign y = 1'bx")}
    said = []
    for check in (check_apart, check_language):
        with pytest.raises(ProblemsError) as caught:
            check(wrong, "net", Path("rtl"))
        said.append(str(caught.value))
    assert said[0] == said[1]
    assert "1'bx" in said[0]


@linux
def test_a_text_that_takes_too_much_to_read_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apart, "MEGABYTES", (1, 0))
    with pytest.raises(ProblemsError, match="it cannot be read with 9 s of a processor or 1 MB of memory"):
        check_apart({"net.sv": MODULE}, "net", Path("rtl"))
