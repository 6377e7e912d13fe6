"""No command gives a tool RTL that is not in the language: nothing is proved, simulated, synthesized or exported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from branching import copied

from mase_hw.cli import main
from mase_hw.diagnostics import ProblemsError
from mase_hw.emit import Build, read_build, write_build
from mase_hw.prove.prove import prove
from mase_hw.simulate.given import simulate_given

HOSTILE = 'assign u = $system("touch ran");'
SAYS = "the system name `$system` is not in the language"
COMMANDS: dict[str, Sequence[str]] = {
    "prove": ("prove",),
    "sim": ("sim",),
    "sim, native": ("sim", "--engine", "native"),
    "synth": ("synth",),
    "mutate": ("mutate", "--count", "1"),
    "export": ("export", "--to", "fusesoc"),
    "export of a model": ("export", "--to", "python"),
}


@pytest.fixture
def hostile(tmp_path: Path) -> Build:
    write_build(tmp_path / "build", copied("net"), {}, None)
    top = tmp_path / "build" / "rtl" / "net.sv"
    text = top.read_text("utf-8")
    top.write_text(text.replace("\nendmodule", f"\n  logic u;\n  {HOSTILE}\nendmodule"), encoding="utf-8")
    return read_build(tmp_path / "build")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_refuses_it(
    name: str, hostile: Build, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")  # no tool is started
    before = sorted(path for path in hostile.path.rglob("*"))
    command, *options = COMMANDS[name]
    with pytest.raises(SystemExit) as end:
        main([command, str(hostile.path), *options])
    said = capsys.readouterr().err
    assert end.value.code == 1
    assert SAYS in said
    assert f"net.sv:{1 + hostile.rtl[-1].read_text('utf-8').split(HOSTILE)[0].count(chr(10))}" in said
    assert sorted(path for path in hostile.path.rglob("*")) == before


def test_functions_refuse_it_too(hostile: Build) -> None:
    x = [np.zeros((1, stream.features), np.int64) for stream in hostile.design.inputs]
    with pytest.raises(ProblemsError, match=re.escape(SAYS)):
        prove(hostile)
    with pytest.raises(ProblemsError, match=re.escape(SAYS)):
        simulate_given(hostile, x)


def test_the_claim_is_in_the_proof(tmp_path: Path) -> None:
    proof = prove(write_build(tmp_path / "build", copied("net"), {}, None))
    first = proof.claims[0]
    assert (first.component, first.about, first.status) == ("net", "language", "proved")
    assert first.method == "3 files hold nothing but what docs/proof.md lists"
