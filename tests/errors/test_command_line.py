"""The command line as a shell sees it: exit codes, no traceback, errors on stderr alone."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
from desk import Desk, mlp, toml

from mase_hw.passes.layers import supported

# name: (arguments, the last line). click's own words; a wrong command line ends with 1, as every user's mistake does.
COMMANDS: dict[str, tuple[list[str], str]] = {
    "unknown command": (["emitt", "model.toml"], "Error: No such command 'emitt'. Did you mean 'emit'?"),
    "a command like no other": (["frobnicate"], "Error: No such command 'frobnicate'."),
    "unknown option": (
        ["emit", "model.toml", "--outt", "x"],
        "Error: No such option '--outt'. (Did you mean one of: '--out', '--quiet'?)",
    ),
    "no argument": (["emit"], "Error: Missing argument 'MODEL'."),
    "unknown stall": (
        ["sim", "b", "--stall", "nonne"],
        "Error: Invalid value for '--stall': 'nonne' is not one of 'none', 'gaps', 'pressure', 'both', 'all'.",
    ),
    "negative vectors": (
        ["sim", "b", "--vectors", "-1"],
        "Error: Invalid value for '--vectors': -1 is not in the range x>=0.",
    ),
}


@pytest.mark.parametrize(("arguments", "last"), COMMANDS.values(), ids=list(COMMANDS))
def test_click(arguments: list[str], last: str, desk: Desk) -> None:
    said = desk.refused(*arguments).splitlines()
    assert said[0].startswith("Usage: mase-hw ")
    assert said[-1].replace('"', "'") == last


def test_unknown_bench(desk: Desk) -> None:
    desk.place_build("b")
    assert desk.refused("sim", "b", "--only", "fc3") == "error: b has no bench fc3\n  hint: did you mean fc2?\n"


def shell(*arguments: str) -> subprocess.CompletedProcess[str]:
    script = Path(sys.executable).with_name("mase-hw")
    command = [str(script)] if script.exists() else [sys.executable, "-c", "from mase_hw.cli import main; main()"]
    return subprocess.run([*command, *arguments], capture_output=True, text=True, check=False, timeout=600)


@pytest.mark.slow
def test_from_a_shell(desk: Desk) -> None:
    """Bad TOML, a layer without hardware, a build that is none: 1, nothing on stdout, no traceback, no colours."""
    desk.write(toml("mlp.py:MLP", "jsc-tyn"))
    done = shell("emit", "model.toml")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        'model.toml:1: error: model = "jsc-tyn" is unknown\n    1 | model = "jsc-tyn"\n  hint: did you mean jsc-toy?\n',
    )
    desk.write(toml("model", "model"))
    desk.write(mlp("self.fc = nn.Linear(6, 4)\nself.act = nn.Sigmoid()\n", "return self.act(self.fc(x))\n"))
    done = shell("emit", "model.toml")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "mlp.py:13: error: act: Sigmoid is not supported in hardware\n"
        "   13 |         return self.act(self.fc(x))\n"
        f"  hint: supported: {', '.join(supported())}\n",
    )
    done = shell("sim", "nowhere")
    assert (done.returncode, done.stdout, done.stderr) == (
        1,
        "",
        "error: nowhere is not a build: it has no manifest.json\n"
        "  hint: `mase-hw emit model.toml` writes one to build/<project>\n",
    )


def test_search_without_its_extra(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    absent = ("optuna", "matplotlib")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, package=None: None if name in absent else found(name))
    assert desk.refused("search", "--config", "model.toml") == (
        f"error: mase-hw search needs optuna and matplotlib, not installed for {sys.executable}\n"
        "  hint: pip install 'mase-hw[search]'\n"
    )
